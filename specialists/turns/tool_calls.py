"""Runs the tool calls of a turn: reads side by side, writes one by one and never twice."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, TypeVar

from handoff.approval_values import Approval
from handoff.contracts import ToolCall, ToolReply
from handoff.events import ToolStarted, TurnTaken
from handoff.state.state_values import CheckedWrite, Checkpoint, Ruling, UnknownWrite
from specialists.tools.tool import Tool, ToolOutcome, Workbench
from specialists.turns import briefing, finish_tools
from specialists.turns.call_approval import Approvals, SignInCheck, combine_on_card, describe_target
from specialists.turns.conversation import Conversation, key_of
from specialists.turns.egress import EgressVerdict
from specialists.turns.one_call import ReadyCall, check, perform, prepare_call

if TYPE_CHECKING:
    from specialists.turns.attempt_log import AttemptLog

MOST = 32
"""Calls of one turn that are run."""

GRACE = 0.5
"""Seconds that a write gets to end by itself when its attempt is told to stop."""

_T = TypeVar("_T")
_MIXED = "The other calls of this turn ran first. Read their replies, then call {name} again, on its own."
_LATE = "Not run: the work has to end now."
_APPROVED_LATE = "{what} was approved and not run: the time for this part was up by then"

WaitsFor = UnknownWrite | Approval
"""What an attempt rests for: people say what became of a call, or whether it may be made."""
_TOO_MANY = (
    f"Not run: at most {MOST} calls run in one turn. Read the replies to the others first; then make this call again "
    "if it is still needed."
)


@dataclass(slots=True)
class ToolCalls:
    """Runs the open calls of a conversation. `until`, on the running loop's clock, is when no more may run.

    `intents` are the calls that write and have no outcome yet. `barred` are the calls that must not be made again, by
    digest, each with the reply that the model gets in their place. `approvals` says which calls people have to approve.
    """

    toolbox: dict[str, Tool]
    workbench: Workbench
    log: AttemptLog
    conversation: Conversation
    until: float
    approvals: Approvals
    intents: list[ToolStarted] = field(default_factory=list)
    barred: dict[str, str] = field(default_factory=dict)
    signed_out: SignInCheck = field(init=False)

    def __post_init__(self) -> None:
        self.signed_out = SignInCheck(self.workbench, self.log.can_ask)

    def replay(self, item: Checkpoint) -> None:
        """Take in a checkpoint of the history."""
        if isinstance(item, TurnTaken):
            self.conversation.add_turn(item.turn)
        elif isinstance(item, ToolStarted):
            self.intents.append(item)
        elif isinstance(item, CheckedWrite):
            self._record_check(item)
        elif isinstance(item, Ruling):
            self.approvals.note_ending(item)
        else:
            self._close_intent(item.reply.call_id)
            self.conversation.add_reply(item.reply, item)

    async def settle_writes(self) -> UnknownWrite | None:
        """Find out what became of the writes that the history began and did not end."""
        for intent in tuple(self.intents):
            from specialists.turns import write_calls  # noqa: PLC0415 - only where a call writes

            call, times = next(one for one in self.conversation.open_calls if one[0].id == intent.call)
            ready = check(call, self.toolbox, times=times, ruled=self._apply_ruling(call))
            outcome = await write_calls.settle(ready, intent, self.workbench)
            if isinstance(outcome, UnknownWrite):
                return outcome
            await self.reply(call, outcome)
        return None

    async def run(self) -> WaitsFor | None:
        """Run the open calls in order, up to `MOST` of the turn; reads that follow each other run side by side.

        The first call that people have to approve ends it, once those before it and the reads beside it have run.
        """
        due = self.conversation.open_calls
        room = max(0, MOST - self.conversation.answered_count)
        for writing, calls in groupby(due[:room], key=lambda one: self._is_write(one[0])):
            if not writing:
                asked = await self._run_reads(list(calls))
                if asked is not None:
                    return asked
                continue
            writes = list(calls)
            for place, (call, times) in enumerate(writes):
                rest = await _finish_despite_stop(self._write(call, times))
                if isinstance(rest, Approval):
                    beside = [await self._check_write(*one) for one in writes[place + 1 :]]
                    return combine_on_card(rest, (one for one in beside if isinstance(one, Approval)))
                if rest is not None:
                    return rest
        for call, _ in due[room:]:  # last, so that after a takeover the same calls are run and refused
            await self.reply(call, ToolOutcome(_TOO_MANY, failed=True))
        return None

    async def reply(self, call: ToolCall, outcome: ToolOutcome) -> None:
        """Keep the outcome of a call, then tell the model of it."""
        private = self.conversation.egress.is_private(call.name)
        outcome = replace(self.approvals.tell_edited(call, outcome), private=private)
        reply = ToolReply(call_id=call.id, text=outcome.text, failed=outcome.failed)
        await self.log.keep_reply(reply, outcome)
        self._close_intent(call.id)
        self.conversation.add_reply(reply, outcome)

    @property
    def offered(self) -> dict[str, Tool]:
        """The tools that may be called now: the specialist's own, and the one that gives left-out replies again."""
        more = self.conversation.room.tool
        return self.toolbox if more is None else {more.name: more, **self.toolbox}

    def _apply_ruling(self, call: ToolCall) -> ToolCall:
        """Return the call as people ruled: edited, or as it was prepared when they approved it."""
        tool = self.toolbox.get(call.name)
        return self.approvals.apply_ruling(call, prepared=tool is not None and tool.prepare is not None)

    def _is_write(self, call: ToolCall) -> bool:
        tool = self.toolbox.get(call.name)
        return tool is not None and tool.access == "write"

    async def _run_reads(self, calls: list[tuple[ToolCall, int]]) -> Approval | None:
        """Make calls that only read, side by side; the same call twice is made once.

        Those that need approval are left open, and what to ask for them is returned.
        """
        while calls:
            for call, _ in calls:
                await self.signed_out.note_call(call, self.offered.get(call.name))
            asked = [await self._find_needed_approval(*one) for one in calls]
            free = [one for one, approval in zip(calls, asked, strict=True) if approval is None]
            waiting = [one for one in asked if one is not None]
            if not free:
                return combine_on_card(waiting[0], waiting[1:])
            firsts = {key_of(call): index for index, (call, _) in reversed(list(enumerate(free)))}.values()
            await _side_by_side([self._read(*free[index]) for index in sorted(firsts)])
            await _side_by_side([self._read(*each) for index, each in enumerate(free) if index not in firsts])
            still_open = [call for call, _ in self.conversation.open_calls]
            calls = [one for one in calls if any(one[0] is call for call in still_open)]
        return None

    async def _find_needed_approval(self, call: ToolCall, times: int) -> Approval | None:
        """Return what people have to approve before a call that only reads is made; None if it is not for them."""
        if (
            call.name in finish_tools.NAMES
            or self.conversation.find_earlier_reply(call) is not None
            or self._is_out_of_time()
        ):
            return None
        found = await self._check_call(call, times)
        return found if isinstance(found, Approval) else None

    async def _read(self, call: ToolCall, times: int) -> None:
        if call.name in finish_tools.NAMES:
            outcome = ToolOutcome(_MIXED.format(name=call.name), failed=True)
        elif (earlier := self.conversation.find_earlier_reply(call)) is not None:
            outcome = ToolOutcome(briefing.read_note("again", reply=earlier.text))
        elif self._is_out_of_time():
            outcome = ToolOutcome(_LATE, failed=True)
        else:
            found = await self._check_call(call, times)
            if isinstance(found, Approval):  # a call beside it made it one: it stays open
                return
            outcome = (
                await self._perform(found) if isinstance(found, ReadyCall) else await self._refuse_call(call, found)
            )
        await self.reply(call, outcome)

    async def _perform(self, ready: ReadyCall) -> ToolOutcome:
        if ready.to:
            await self.log.record_sending(ready.tool.name, ready.to, ruling=ready.ruling)
        return replace(await perform(ready, self.workbench, until=self.until), target=describe_target(ready))

    async def _refuse_call(self, call: ToolCall, found: ToolOutcome | EgressVerdict) -> ToolOutcome:
        """Say why a call is not made, and record the refusal if the call would have sent something out."""
        if isinstance(found, ToolOutcome):
            return found
        await self.log.record_sending(call.name, found.to, refused=found.refused)
        return ToolOutcome(briefing.read_note(found.refused, tool=call.name), failed=True)

    async def _check_call(self, call: ToolCall, times: int) -> ReadyCall | ToolOutcome | EgressVerdict | Approval:
        """Return a call if it may be made, else why not: it is wrong, refused, or waits for people's approval."""
        if (refusal := self.approvals.refusal(call)) is not None:
            return refusal
        return await self._judge_call(check(call, self.offered, times=times, ruled=self._apply_ruling(call)))

    async def _judge_call(self, ready: ReadyCall | ToolOutcome) -> ReadyCall | ToolOutcome | EgressVerdict | Approval:
        if not isinstance(ready, ReadyCall):
            return ready
        verdict = self.conversation.egress.judge(ready.tool, ready.arguments)
        if verdict.refused:
            return verdict
        ready = replace(ready, arguments=verdict.arguments, to=verdict.to)
        if (first := await self.signed_out.find_sign_in(ready, self.approvals)) is not None:
            return first
        needed = await self.approvals.find_needed(ready, verdict.asks, self.conversation.egress.sources)
        if isinstance(needed, Approval) and not self.log.can_ask:
            return (
                replace(verdict, refused="nobody_to_ask") if needed.kind == "egress" else _report_nobody_to_ask(needed)
            )
        return replace(ready, ruling=needed) if needed is None or isinstance(needed, Ruling) else needed

    async def _write(self, call: ToolCall, times: int) -> WaitsFor | None:
        """Make a call that writes: its intent, the call, its outcome, each kept before anything follows from it."""
        found = await self._check_write(call, times)
        if isinstance(found, EgressVerdict):
            found = await self._refuse_call(call, found)
        outcome = await self._write_once(found) if isinstance(found, ReadyCall) else found
        if isinstance(outcome, ToolOutcome):
            await self.reply(call, outcome)
            return None
        return outcome

    async def _check_write(self, call: ToolCall, times: int) -> ReadyCall | ToolOutcome | EgressVerdict | Approval:
        """Check a call that writes, as it would be made. Nobody is asked about one that could not be made anyway."""
        ready = self.approvals.refusal(call) or check(call, self.offered, times=times, ruled=self._apply_ruling(call))
        ready = await prepare_call(ready, self.workbench)
        await self.signed_out.note_call(call, self.offered.get(call.name))
        found = await self._judge_call(ready)
        if isinstance(found, Approval) and (self._is_out_of_time() or self._find_barred_reply(ready) is not None):
            return ToolOutcome(self._find_barred_reply(ready) or _LATE, failed=True)
        return found

    def _find_barred_reply(self, ready: ReadyCall | ToolOutcome) -> str | None:
        """Return the reply in place of a call that must not be made again; None if it may be."""
        from specialists.turns import write_calls  # noqa: PLC0415 - only where a call writes

        return self.barred.get(write_calls.digest_call(ready)) if isinstance(ready, ReadyCall) else None

    async def _write_once(self, ready: ReadyCall) -> ToolOutcome | UnknownWrite:
        from specialists.turns import write_calls  # noqa: PLC0415 - only where a call writes

        late = (
            (_APPROVED_LATE.format(what=ready.tool.describe_call(ready.arguments)),) if ready.ruling is not None else ()
        )
        barred = self.barred.get(write_calls.digest_call(ready))
        if barred is not None:
            return ToolOutcome(barred, failed=True)
        if self._is_out_of_time():
            return ToolOutcome(_LATE, failed=True, gaps=late)
        intent = write_calls.intent_of(ready, self.log)
        self.intents.append(intent)
        await self.log.keep_intent(intent)
        if ready.to:
            await self.log.record_sending(ready.tool.name, ready.to, ruling=ready.ruling)
        if self._is_out_of_time():
            return ToolOutcome(_LATE, failed=True, gaps=late)
        outcome = await write_calls.carry_out(ready, intent, self.workbench, until=self.until)
        return replace(outcome, target=describe_target(ready)) if isinstance(outcome, ToolOutcome) else outcome

    def _is_out_of_time(self) -> bool:
        return asyncio.get_running_loop().time() >= self.until

    def _record_check(self, said: CheckedWrite) -> None:
        """Take a person's word for the outcome of a call that was in doubt."""
        intent = self._close_intent(said.call)
        if intent is None:
            return
        # A person who says "stop" ends the subtask, so that no attempt ever hears it.
        verdict = "words" if said.verdict == "stop" else said.verdict
        text = briefing.read_note(f"said_{verdict}", tool=intent.tool, words=said.words)
        if said.verdict != "not_happened":
            self.barred[intent.digest] = text
        self.conversation.add_reply(ToolReply(call_id=said.call, text=text, failed=said.verdict != "happened"))

    def _close_intent(self, call_id: str) -> ToolStarted | None:
        """Close the intent of a call that has an outcome now; None if the call only read."""
        self.approvals.use_up(call_id)
        intent = next((one for one in self.intents if one.call == call_id), None)
        if intent is not None:
            self.intents.remove(intent)
        return intent


def _report_nobody_to_ask(approval: Approval) -> ToolOutcome:
    gap = f"{approval.what}: not done, as a person has to approve it and nobody was there to ask"
    return ToolOutcome(briefing.read_note("nobody_to_ask", tool=approval.tool), failed=True, gaps=(gap,))


async def _finish_despite_stop(work: Coroutine[Any, Any, _T]) -> _T:
    """Do the work; when told to stop, give it a little time to end: the outcome of a write cut off is in doubt."""
    task = asyncio.create_task(work)
    clock = asyncio.get_running_loop().time
    until: float | None = None
    stop = asyncio.CancelledError()
    while until is None or clock() < until:
        try:
            await asyncio.wait({task}, timeout=None if until is None else until - clock())
        except asyncio.CancelledError as error:
            until, stop = until or clock() + GRACE, error
        if task.done() and until is None:
            return task.result()
        if task.done():
            break
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    raise stop


async def _side_by_side(works: list[Coroutine[Any, Any, None]]) -> None:
    """Do all works at once; one that breaks ends the others too."""
    if len(works) <= 1:
        for work in works:
            await work
        return
    tasks = [asyncio.create_task(work) for work in works]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
