"""Runs the tool calls of a turn: reads in parallel, writes one by one and never twice."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, TypeVar

from handoff.approval_values import Approval
from handoff.contracts import ToolCall, ToolReply
from handoff.events import ToolStarted, TurnTaken
from handoff.state.state_values import Checkpoint, Ruling, UnknownWrite, WriteVerdict
from specialists.tools.tool import Tool, ToolOutcome, Workbench
from specialists.turns import briefing, finish_tools
from specialists.turns.call_approval import CallApprovals, SignInCheck, combine_for_card, describe_target
from specialists.turns.conversation import Conversation, make_call_key
from specialists.turns.egress import EgressVerdict
from specialists.turns.one_call import ReadyCall, check_call, prepare_call, run_read_call

if TYPE_CHECKING:
    from specialists.turns.attempt_log import AttemptLog

MAX_TURN_CALLS = 32
"""Most calls of one turn that are run."""

GRACE_SECONDS = 0.5
"""Seconds that a running write gets to finish after its attempt was cancelled."""

_T = TypeVar("_T")
_MIXED_REPLY = "The other calls of this turn ran first. Read their replies, then call {name} again, on its own."
_LATE_REPLY = "Not run: the work has to end now."
_APPROVED_LATE_GAP = "{what} was approved and not run: the time for this part was up by then"

PendingDecision = UnknownWrite | Approval
"""What people have to decide before an attempt goes on: what became of a call, or whether it may be made."""
_TOO_MANY_REPLY = (
    f"Not run: at most {MAX_TURN_CALLS} calls run in one turn. Read the replies to the others first; then "
    "make this call "
    "again "
    "if it is still needed."
)


@dataclass(slots=True)
class ToolCallRunner:
    """Runs the open calls of a conversation.

    Attributes:
        toolbox: The specialist's own tools by name.
        deadline: When no more calls may start, on the running loop's clock.
        approvals: Decides which calls people have to approve.
        open_intents: The intents of writing calls that have no outcome yet.
        barred_replies: By digest, the calls that must not be made again, each with the reply that the model gets
            instead.
        sign_in_check: Finds the calls that need a sign-in.
    """

    toolbox: dict[str, Tool]
    workbench: Workbench
    log: AttemptLog
    conversation: Conversation
    deadline: float
    approvals: CallApprovals
    open_intents: list[ToolStarted] = field(default_factory=list)
    barred_replies: dict[str, str] = field(default_factory=dict)
    sign_in_check: SignInCheck = field(init=False)

    def __post_init__(self) -> None:
        self.sign_in_check = SignInCheck(self.workbench, self.log.can_ask)

    def replay_checkpoint(self, item: Checkpoint) -> None:
        """Apply one checkpoint of the attempt's history."""
        if isinstance(item, TurnTaken):
            self.conversation.add_turn(item.turn)
        elif isinstance(item, ToolStarted):
            self.open_intents.append(item)
        elif isinstance(item, WriteVerdict):
            self._record_checked_write(item)
        elif isinstance(item, Ruling):
            self.approvals.record_ruling(item)
        else:
            self._close_intent(item.reply.call_id)
            self.conversation.add_reply(item.reply, item)

    async def settle_writes(self) -> UnknownWrite | None:
        """Settle the writes that the history began and did not end.

        Returns the first whose outcome stays unknown, or None.
        """
        for intent in tuple(self.open_intents):
            from specialists.turns import write_calls  # noqa: PLC0415 - only where a call writes

            call, request_count = next(one for one in self.conversation.open_calls if one[0].id == intent.call)
            ready = check_call(call, self.toolbox, request_count=request_count, approved_call=self._apply_ruling(call))
            outcome = await write_calls.settle_write(ready, intent, self.workbench)
            if isinstance(outcome, UnknownWrite):
                return outcome
            await self.record_reply(call, outcome)
        return None

    async def run_open_calls(self) -> PendingDecision | None:
        """Run the open calls in order, up to `MAX_TURN_CALLS` of the turn; consecutive reads run in parallel.

        Returns what people have to decide, or None. The first call that needs approval ends the run, after the calls
        before it and the reads beside it have run.
        """
        open_calls = self.conversation.open_calls
        remaining_calls = max(0, MAX_TURN_CALLS - self.conversation.answered_count)
        for is_write, calls in groupby(open_calls[:remaining_calls], key=lambda one: self._is_write(one[0])):
            if not is_write:
                approval = await self._run_reads(list(calls))
                if approval is not None:
                    return approval
                continue
            writes = list(calls)
            for index, (call, times) in enumerate(writes):
                decision = await _finish_despite_cancellation(self._run_write(call, times))
                if isinstance(decision, Approval):
                    later_checks = [await self._check_write(*one) for one in writes[index + 1 :]]
                    return combine_for_card(decision, (one for one in later_checks if isinstance(one, Approval)))
                if decision is not None:
                    return decision
        # Last, so that after a takeover the same calls are run and refused.
        for call, _ in open_calls[remaining_calls:]:
            await self.record_reply(call, ToolOutcome(_TOO_MANY_REPLY, failed=True))
        return None

    async def record_reply(self, call: ToolCall, outcome: ToolOutcome) -> None:
        """Store the outcome of a call, then add it to the conversation."""
        private = self.conversation.egress.is_private_tool(call.name)
        outcome = replace(self.approvals.mention_edited_arguments(call, outcome), private=private)
        reply = ToolReply(call_id=call.id, text=outcome.text, failed=outcome.failed)
        await self.log.keep_reply(reply, outcome)
        self._close_intent(call.id)
        self.conversation.add_reply(reply, outcome)

    @property
    def offered_tools(self) -> dict[str, Tool]:
        """The tools that may be called now, by name: the specialist's own, and `read_reply` if replies are left out."""
        read_tool = self.conversation.window.read_tool
        return self.toolbox if read_tool is None else {read_tool.name: read_tool, **self.toolbox}

    def _apply_ruling(self, call: ToolCall) -> ToolCall:
        """Return the call as people approved it: as edited, or as it was prepared then.

        Without a ruling it is unchanged.
        """
        tool = self.toolbox.get(call.name)
        return self.approvals.apply_ruling(call, use_prepared=tool is not None and tool.prepare is not None)

    def _is_write(self, call: ToolCall) -> bool:
        tool = self.toolbox.get(call.name)
        return tool is not None and tool.access == "write"

    async def _run_reads(self, calls: list[tuple[ToolCall, int]]) -> Approval | None:
        """Make calls that only read, in parallel; the same call twice is made once.

        Calls that need approval stay open. Returns the approval to ask for, or None.
        """
        while calls:
            for call, _ in calls:
                await self.sign_in_check.check_sign_in(call, self.offered_tools.get(call.name))
            approvals = [await self._find_needed_approval(*one) for one in calls]
            allowed_calls = [one for one, approval in zip(calls, approvals, strict=True) if approval is None]
            needed_approvals = [one for one in approvals if one is not None]
            if not allowed_calls:
                return combine_for_card(needed_approvals[0], needed_approvals[1:])
            first_indexes = {
                make_call_key(call): index for index, (call, _) in reversed(list(enumerate(allowed_calls)))
            }.values()
            await _run_in_parallel([self._run_read(*allowed_calls[index]) for index in sorted(first_indexes)])
            await _run_in_parallel(
                [self._run_read(*each) for index, each in enumerate(allowed_calls) if index not in first_indexes]
            )
            still_open = [call for call, _ in self.conversation.open_calls]
            calls = [one for one in calls if any(one[0] is call for call in still_open)]
        return None

    async def _find_needed_approval(self, call: ToolCall, request_count: int) -> Approval | None:
        """Return what people have to approve before a reading call is made; None if nothing."""
        if (
            call.name in finish_tools.FINISH_TOOLS
            or self.conversation.find_earlier_reply(call) is not None
            or self._is_out_of_time()
        ):
            return None
        check_result = await self._check_call(call, request_count)
        return check_result if isinstance(check_result, Approval) else None

    async def _run_read(self, call: ToolCall, request_count: int) -> None:
        if call.name in finish_tools.FINISH_TOOLS:
            outcome = ToolOutcome(_MIXED_REPLY.format(name=call.name), failed=True)
        elif (earlier_reply := self.conversation.find_earlier_reply(call)) is not None:
            outcome = ToolOutcome(briefing.render_note("again", reply=earlier_reply.text))
        elif self._is_out_of_time():
            outcome = ToolOutcome(_LATE_REPLY, failed=True)
        else:
            check_result = await self._check_call(call, request_count)
            # Since the calls beside it were made, it needs approval: it stays open.
            if isinstance(check_result, Approval):
                return
            outcome = (
                await self._run_allowed_read(check_result)
                if isinstance(check_result, ReadyCall)
                else await self._refuse_call(call, check_result)
            )
        await self.record_reply(call, outcome)

    async def _run_allowed_read(self, ready: ReadyCall) -> ToolOutcome:
        if ready.recipient:
            await self.log.record_sending(ready.tool.name, ready.recipient, ruling=ready.ruling)
        return replace(
            await run_read_call(ready, self.workbench, deadline=self.deadline), target=describe_target(ready)
        )

    async def _refuse_call(self, call: ToolCall, refusal: ToolOutcome | EgressVerdict) -> ToolOutcome:
        """Return the outcome that says why a call is not made; record a refusal to send something."""
        if isinstance(refusal, ToolOutcome):
            return refusal
        await self.log.record_sending(call.name, refusal.recipient, refusal=refusal.refusal_note)
        return ToolOutcome(briefing.render_note(refusal.refusal_note, tool=call.name), failed=True)

    async def _check_call(
        self, call: ToolCall, request_count: int
    ) -> ReadyCall | ToolOutcome | EgressVerdict | Approval:
        """Return a call that may be made, or the reason why not: it is wrong, is refused or needs approval."""
        if (refusal := self.approvals.find_refusal(call)) is not None:
            return refusal
        return await self._judge_call(
            check_call(call, self.offered_tools, request_count=request_count, approved_call=self._apply_ruling(call))
        )

    async def _judge_call(self, ready: ReadyCall | ToolOutcome) -> ReadyCall | ToolOutcome | EgressVerdict | Approval:
        if not isinstance(ready, ReadyCall):
            return ready
        verdict = self.conversation.egress.judge_call(ready.tool, ready.arguments)
        if verdict.refusal_note:
            return verdict
        ready = replace(ready, arguments=verdict.arguments, recipient=verdict.recipient)
        if (needed_sign_in := await self.sign_in_check.find_sign_in(ready, self.approvals)) is not None:
            return needed_sign_in
        approval_or_ruling = await self.approvals.find_needed_approval(
            ready, verdict.unreleased_data, self.conversation.egress.sources
        )
        if isinstance(approval_or_ruling, Approval) and not self.log.can_ask:
            return (
                replace(verdict, refusal_note="nobody_to_ask")
                if approval_or_ruling.kind == "egress"
                else _report_nobody_to_ask(approval_or_ruling)
            )
        return (
            replace(ready, ruling=approval_or_ruling)
            if approval_or_ruling is None or isinstance(approval_or_ruling, Ruling)
            else approval_or_ruling
        )

    async def _run_write(self, call: ToolCall, request_count: int) -> PendingDecision | None:
        """Make a call that writes. Its intent is stored before the call, and its outcome before the model sees it."""
        check_result = await self._check_write(call, request_count)
        if isinstance(check_result, EgressVerdict):
            check_result = await self._refuse_call(call, check_result)
        outcome = await self._run_allowed_write(check_result) if isinstance(check_result, ReadyCall) else check_result
        if isinstance(outcome, ToolOutcome):
            await self.record_reply(call, outcome)
            return None
        return outcome

    async def _check_write(
        self, call: ToolCall, request_count: int
    ) -> ReadyCall | ToolOutcome | EgressVerdict | Approval:
        """Check a call that writes, prepared as it would be made.

        People are not asked about a call that cannot be made.
        """
        ready = self.approvals.find_refusal(call) or check_call(
            call, self.offered_tools, request_count=request_count, approved_call=self._apply_ruling(call)
        )
        ready = await prepare_call(ready, self.workbench)
        await self.sign_in_check.check_sign_in(call, self.offered_tools.get(call.name))
        check_result = await self._judge_call(ready)
        if isinstance(check_result, Approval) and (
            self._is_out_of_time() or self._find_barred_reply(ready) is not None
        ):
            return ToolOutcome(self._find_barred_reply(ready) or _LATE_REPLY, failed=True)
        return check_result

    def _find_barred_reply(self, ready: ReadyCall | ToolOutcome) -> str | None:
        """Return the reply in place of a call that must not be made again; None if the call may be made."""
        from specialists.turns import write_calls  # noqa: PLC0415 - only where a call writes

        return self.barred_replies.get(write_calls.digest_call(ready)) if isinstance(ready, ReadyCall) else None

    async def _run_allowed_write(self, ready: ReadyCall) -> ToolOutcome | UnknownWrite:
        from specialists.turns import write_calls  # noqa: PLC0415 - only where a call writes

        late_gaps = (
            (_APPROVED_LATE_GAP.format(what=ready.tool.describe_call(ready.arguments)),)
            if ready.ruling is not None
            else ()
        )
        barred_reply = self.barred_replies.get(write_calls.digest_call(ready))
        if barred_reply is not None:
            return ToolOutcome(barred_reply, failed=True)
        if self._is_out_of_time():
            return ToolOutcome(_LATE_REPLY, failed=True, gaps=late_gaps)
        intent = write_calls.make_intent(ready, self.log)
        self.open_intents.append(intent)
        await self.log.keep_intent(intent)
        if ready.recipient:
            await self.log.record_sending(ready.tool.name, ready.recipient, ruling=ready.ruling)
        if self._is_out_of_time():
            return ToolOutcome(_LATE_REPLY, failed=True, gaps=late_gaps)
        outcome = await write_calls.run_write(ready, intent, self.workbench, deadline=self.deadline)
        return replace(outcome, target=describe_target(ready)) if isinstance(outcome, ToolOutcome) else outcome

    def _is_out_of_time(self) -> bool:
        return asyncio.get_running_loop().time() >= self.deadline

    def _record_checked_write(self, checked_write: WriteVerdict) -> None:
        """Record what a person said about the outcome of a call that was in doubt."""
        intent = self._close_intent(checked_write.call)
        if intent is None:
            return
        # "stop" ends the subtask, so it normally reaches no attempt; there is no note for it.
        verdict = "words" if checked_write.verdict == "stop" else checked_write.verdict
        text = briefing.render_note(f"said_{verdict}", tool=intent.tool, words=checked_write.words)
        if checked_write.verdict != "not_happened":
            self.barred_replies[intent.digest] = text
        self.conversation.add_reply(
            ToolReply(call_id=checked_write.call, text=text, failed=checked_write.verdict != "happened")
        )

    def _close_intent(self, call_id: str) -> ToolStarted | None:
        """Close and return the intent of a call that now has an outcome; None if the call only read."""
        self.approvals.discard_ruling(call_id)
        intent = next((one for one in self.open_intents if one.call == call_id), None)
        if intent is not None:
            self.open_intents.remove(intent)
        return intent


def _report_nobody_to_ask(approval: Approval) -> ToolOutcome:
    gap = f"{approval.what}: not done, as a person has to approve it and nobody was there to ask"
    return ToolOutcome(briefing.render_note("nobody_to_ask", tool=approval.tool), failed=True, gaps=(gap,))


async def _finish_despite_cancellation(work: Coroutine[Any, Any, _T]) -> _T:
    """Await the work. If cancelled, give it `GRACE_SECONDS` seconds to finish, then raise CancelledError.

    A write that is cut off has an unknown outcome, so it gets this time.
    """
    task = asyncio.create_task(work)
    clock = asyncio.get_running_loop().time
    grace_end: float | None = None
    cancellation = asyncio.CancelledError()
    while grace_end is None or clock() < grace_end:
        try:
            await asyncio.wait({task}, timeout=None if grace_end is None else grace_end - clock())
        except asyncio.CancelledError as error:
            grace_end, cancellation = grace_end or clock() + GRACE_SECONDS, error
        if task.done() and grace_end is None:
            return task.result()
        if task.done():
            break
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    raise cancellation


async def _run_in_parallel(coroutines: list[Coroutine[Any, Any, None]]) -> None:
    """Run all coroutines in parallel. If one raises, the others are cancelled."""
    if len(coroutines) <= 1:
        for work in coroutines:
            await work
        return
    tasks = [asyncio.create_task(work) for work in coroutines]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
