"""The log of an attempt: keeps its checkpoints, and holds those of its predecessor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from handoff.approval_values import Approval
from handoff.contracts import ToolCall, ToolReply, Turn
from handoff.events import ToolStarted
from handoff.state_values import Checkpoint, Ruling
from specialists.toolkits.tool import ToolOutcome


class AttemptLog(Protocol):
    """The log of one attempt. A step that was kept here is never done again."""

    @property
    def history(self) -> Sequence[Checkpoint]:
        """The steps that an earlier owner of this attempt got done, in order; empty for a fresh one. Read at start."""

    @property
    def written(self) -> Mapping[str, str]:
        """The writes that earlier attempts made or may have made: by digest, what the model is told in their place."""

    def news(self) -> Sequence[str]:
        """Return what the requester said since this was last asked: the model is told at once. Mostly nothing."""

    async def turn(self, turn: Turn) -> None:
        """Keep a model turn: it is kept when `started` or `tool` of a call that it asks for is back."""

    def ruled_before(self, approval: Approval) -> Ruling | None:
        """Return the earlier ruling that holds for a call as well; None if people have to decide."""

    def intent(
        self, call: ToolCall, *, what: str, key: str, digest: str, approved_by: tuple[str, ...] = ()
    ) -> ToolStarted:
        """Word the intent of a call that writes. Nothing is kept yet: that is for `started`."""

    async def started(self, intent: ToolStarted) -> None:
        """Keep the intent of a call that writes. Awaited before the call; once it is back, the call may be made."""

    async def tool(self, reply: ToolReply, outcome: ToolOutcome) -> None:
        """Keep a tool's reply. Awaited before the model is told of it.

        Calls of one turn that only read run side by side, so this may be awaited several times at once.
        """
