"""Where an attempt leaves its checkpoints, and where it finds those of its predecessor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from handoff.contracts import Artifact
from specialists.dialogue import ToolReply, Turn
from specialists.toolkits.tool import ToolOutcome


@dataclass(frozen=True, slots=True)
class ToolReturn:
    """A tool call that ended, as the log keeps it (see `handoff.events.ToolReturned`)."""

    reply: ToolReply
    artifacts: tuple[Artifact, ...] = ()
    gaps: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()


class AttemptLog(Protocol):
    """The log of one attempt. What was kept here is never done again."""

    @property
    def history(self) -> Sequence[Turn | ToolReturn]:
        """What an earlier owner of this attempt got done, in order; empty for a fresh one. Read once, at start."""

    async def turn(self, turn: Turn) -> None:
        """Keep a model turn. Awaited before any tool runs that it asks for."""

    async def tool(self, reply: ToolReply, outcome: ToolOutcome) -> None:
        """Keep a tool's reply, or see to it that it is kept before the next turn.

        Calls of one turn run side by side, so this may be awaited several times at once.
        """
