"""The port to an attempt's log: it stores checkpoints, and returns those of an earlier owner."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from handoff.approval_values import Approval
from handoff.contracts import ToolCall, ToolReply, Turn
from handoff.events import ToolStarted
from handoff.state.state_values import ApplicableRuling, Checkpoint, Ruling
from specialists.tools.tool import ToolOutcome


class AttemptLog(Protocol):
    """The log of one attempt. A step that is stored here is never repeated."""

    @property
    def history(self) -> Sequence[Checkpoint]:
        """The checkpoints that an earlier owner of this attempt stored, in order; empty for a new attempt.

        Read at start.
        """

    @property
    def earlier_writes(self) -> Mapping[str, str]:
        """The writes that earlier attempts made or may have made: call digest -> reply that the model gets instead."""

    @property
    def can_ask(self) -> bool:
        """True if there are people who can be asked to approve something."""

    def take_new_messages(self) -> Sequence[str]:
        """Return the messages that the requester wrote since the last call of this method. Mostly there are none."""

    def list_known_texts(self) -> Iterable[str]:
        """Return the texts that people and earlier results gave the specialist, nearest first.

        Their figures count as known.
        """

    async def keep_turn(self, turn: Turn) -> None:
        """Store a model turn.

        It is stored for certain once `keep_intent` or `keep_reply` returns for one of its calls.
        """

    async def find_rulings(self, approval: Approval) -> ApplicableRuling:
        """Return the earlier rulings that may cover this call too."""

    def make_intent(
        self, call: ToolCall, *, what: str, key: str, digest: str, ruling: Ruling | None = None
    ) -> ToolStarted:
        """Return the intent of a call that writes. `keep_intent` has to store it."""

    async def keep_intent(self, intent: ToolStarted) -> None:
        """Store the intent of a call that writes. The call may be made only after this has returned."""

    async def record_sending(self, tool: str, to: str, *, refusal: str = "", ruling: Ruling | None = None) -> None:
        """Record that a call sends data to a host or a service, or was refused; never the data itself.

        `refusal` names the reason; "" if it was sent. `ruling` is the approval that allowed it; None if none was
        needed.
        """

    async def keep_reply(self, reply: ToolReply, outcome: ToolOutcome) -> None:
        """Store a tool's reply. Awaited before the model sees it.

        Reading calls of one turn run in parallel, so this may be awaited several times at once.
        """
