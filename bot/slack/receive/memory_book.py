"""What the listeners need to have things remembered and forgotten."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from handoff.contracts import Place
from handoff.memory import Memory

Unkept = Literal["empty", "too_long", "full"]
"""Why a thing is not remembered. `empty`: its message has no words of the person's own."""
Changed = Literal["done", "not_yours", "gone", "changed", "empty", "too_long"]
"""What became of an edit or of forgetting. `gone`: it is forgotten by now. `changed`: somebody changed it meanwhile."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A thing that is remembered: for which place (the id of a channel or a person), under which name.

    `new` is False if it was remembered before; `again`, if the very same message was.
    """

    place: str
    name: str
    memory: Memory
    new: bool = True
    again: bool = False


class MemoryBook(Protocol):
    """What is remembered. Whoever calls has passed the gate: who may use the bot in a place may have it remember there.

    Everything raises StoreError while the store is away.
    """

    async def remember(
        self, place: Place, text: str, *, user: str, mine: bool, mark: str, message: str = ""
    ) -> Kept | Unkept:
        """Remember a text that a person said. `mark` names the command; `message` is the ts of what they wrote."""

    async def of(self, team: str, place: str) -> list[Kept]:
        """List what is remembered for a place, the newest first."""

    async def edit(self, team: str, place: str, name: str, text: str, *, user: str, was: str) -> Changed:
        """Change the words of one, that were `was` when the person saw them."""

    async def forget(
        self, team: str, place: str, name: str, *, user: str, mark: str = ""
    ) -> tuple[Changed, Memory | None]:
        """Forget one, for good, and give back what it was, to be told once. `mark` names the command, if any."""

    def has_forgotten(self, mark: str) -> bool:
        """Return True if that command has forgotten something: it was delivered again."""

    async def said_anew(self, place: Place, message: str, text: str | None, *, user: str) -> Memory | None:
        """Take in that a message was edited, or (None) deleted: what was remembered of it goes with it.

        Gives what is remembered of it now, or with empty words what is forgotten; None if nothing was remembered of it.
        """

    async def remembers(self, place: Place) -> bool:
        """Return True if anything is remembered in the workspace of a place: then an edit may be about that."""

    def may_change(self, kept: Kept, user: str) -> bool:
        """Return True if a person may edit and forget it: who said it, or an admin."""
