"""Where an attempt leaves its checkpoints, and where it finds those of its predecessor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from handoff.contracts import Artifact
from specialists.toolkits.tool import ToolOutcome
from specialists.turns.dialogue import ToolReply, Turn


@dataclass(frozen=True, slots=True)
class ToolReturn:
    """A tool call that ended, as the log keeps it (see `handoff.events.ToolReturned`)."""

    reply: ToolReply
    artifacts: tuple[Artifact, ...] = ()
    gaps: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Intent:
    """A call of a tool that writes which is about to be made (see `handoff.events.ToolStarted`)."""

    call: str
    tool: str
    what: str
    key: str
    digest: str


@dataclass(frozen=True, slots=True)
class PersonSaid:
    """What a person said of a call in doubt. `words` are other words than the three answers that were offered."""

    call: str
    verdict: Literal["happened", "not_happened", "words"]
    words: str = ""


@dataclass(frozen=True, slots=True)
class InDoubt:
    """An attempt that cannot go on: nobody knows whether this was carried out. `reason` says why, for people."""

    intent: Intent
    reason: str


Checkpoint = Turn | ToolReturn | Intent | PersonSaid


class AttemptLog(Protocol):
    """The log of one attempt. What was kept here is never done again."""

    @property
    def history(self) -> Sequence[Checkpoint]:
        """What an earlier owner of this attempt got done, in order; empty for a fresh one. Read once, at start."""

    @property
    def written(self) -> Mapping[str, str]:
        """What earlier attempts wrote or may have written: by digest, what the model is told instead of a call."""

    async def turn(self, turn: Turn) -> None:
        """Keep a model turn: it is kept when `started` or `tool` of a call that it asks for is back."""

    async def started(self, intent: Intent) -> None:
        """Keep the intent of a call that writes. Awaited before the call; once it is back, the call may be made."""

    async def tool(self, reply: ToolReply, outcome: ToolOutcome) -> None:
        """Keep a tool's reply. Awaited before the model is told of it.

        Calls of one turn that only read run side by side, so this may be awaited several times at once.
        """
