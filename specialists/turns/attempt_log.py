"""The log of an attempt: keeps its checkpoints, and holds those of its predecessor."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from handoff.approval_values import Approval
from handoff.contracts import ToolCall, ToolReply, Turn
from handoff.events import ToolStarted
from handoff.state.state_values import Checkpoint, EarlierRulings, Ruling
from specialists.tools.tool import ToolOutcome


class AttemptLog(Protocol):
    """The log of one attempt. A step that was kept here is never done again."""

    @property
    def history(self) -> Sequence[Checkpoint]:
        """The steps that an earlier owner of this attempt got done, in order; empty for a fresh one. Read at start."""

    @property
    def written(self) -> Mapping[str, str]:
        """The writes that earlier attempts made or may have made: by digest, what the model is told in their place."""

    @property
    def can_ask(self) -> bool:
        """True if there are people who can be asked to approve something."""

    def take_new_words(self) -> Sequence[str]:
        """Return what the requester said since this was last asked: the model is told at once. Mostly nothing."""

    def list_known_texts(self) -> Iterable[str]:
        """Return what people and earlier results told the specialist, nearest first: figures in it count as known."""

    async def keep_turn(self, turn: Turn) -> None:
        """Keep a model turn. It is surely kept once `keep_intent` or `keep_reply` has returned for one of its calls."""

    async def find_rulings(self, approval: Approval) -> EarlierRulings:
        """Say what earlier rulings say of a call: one may hold for it as well."""

    def make_intent(
        self, call: ToolCall, *, what: str, key: str, digest: str, ruling: Ruling | None = None
    ) -> ToolStarted:
        """Make the intent of a call that writes. It is not kept yet: `keep_intent` does that."""

    async def keep_intent(self, intent: ToolStarted) -> None:
        """Keep the intent of a call that writes. Awaited before the call; once it is back, the call may be made."""

    async def record_sending(self, tool: str, to: str, *, refused: str = "", ruling: Ruling | None = None) -> None:
        """Record that a call sends something out to a host or a service, or why it was kept from it; no contents.

        `ruling` is that by which people approved it; None: nobody had to.
        """

    async def keep_reply(self, reply: ToolReply, outcome: ToolOutcome) -> None:
        """Keep a tool's reply. Awaited before the model is told of it.

        Calls of one turn that only read run side by side, so this may be awaited several times at once.
        """
