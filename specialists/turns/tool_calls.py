"""The tool calls of a turn: those that read side by side, those that write one by one, none of these ever twice."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, TypeVar

from handoff.contracts import ToolCall, ToolReply
from handoff.events import ToolStarted, TurnTaken
from handoff.state import Checked, Checkpoint, UnknownWrite
from specialists.toolkits.tool import Tool, ToolOutcome, Workbench
from specialists.turns import briefing, finish, write_calls
from specialists.turns.attempt_log import AttemptLog
from specialists.turns.conversation import Conversation
from specialists.turns.one_call import Ready, check, perform

GRACE = 0.5
"""Seconds that a call which writes gets to end by itself when its attempt is told to stop."""

_T = TypeVar("_T")
_MIXED = "The other calls of this turn ran first. Read their replies, then call {name} again, on its own."
_LATE = "Not run: the work has to end now."


@dataclass(slots=True)
class ToolCalls:
    """Runs the open calls of a conversation. `until`, on the running loop's clock, is when no more may run.

    `intents` are the calls that write and have no outcome yet; `barred` says by digest what is told instead
    of one that must not be made again.
    """

    toolbox: dict[str, Tool]
    workbench: Workbench
    log: AttemptLog
    talk: Conversation
    until: float
    intents: list[ToolStarted] = field(default_factory=list)
    barred: dict[str, str] = field(default_factory=dict)

    def replay(self, item: Checkpoint) -> None:
        """Take in a checkpoint of the history."""
        if isinstance(item, TurnTaken):
            self.talk.took(item.turn)
        elif isinstance(item, ToolStarted):
            self.intents.append(item)
        elif isinstance(item, Checked):
            self._hear(item)
        else:
            self._ended(item.reply.call_id)
            self.talk.returned(item.reply, item)

    async def settle(self) -> UnknownWrite | None:
        """Find out what became of the calls that write which the history began and did not end."""
        for intent in tuple(self.intents):
            call, times = next(one for one in self.talk.open_calls if one[0].id == intent.call)
            outcome = await write_calls.find_out(check(call, self.toolbox, times=times), intent, self.workbench)
            if isinstance(outcome, UnknownWrite):
                return outcome
            await self.replied(call, outcome)
        return None

    async def run(self) -> UnknownWrite | None:
        """Run the open calls in order: those that follow each other and only read side by side."""
        for writing, calls in groupby(self.talk.open_calls, key=lambda one: self._writes(one[0])):
            if not writing:
                await _side_by_side([self._read(call, times) for call, times in calls])
                continue
            for call, times in calls:
                doubt = await _not_cut_short(self._write(call, times))
                if doubt is not None:
                    return doubt
        return None

    async def replied(self, call: ToolCall, outcome: ToolOutcome) -> None:
        """A call ended: keep what came of it, and let the model know."""
        reply = ToolReply(call_id=call.id, text=outcome.text, failed=outcome.failed)
        await self.log.tool(reply, outcome)
        self._ended(call.id)
        self.talk.returned(reply, outcome)

    def _writes(self, call: ToolCall) -> bool:
        tool = self.toolbox.get(call.name)
        return tool is not None and tool.access == "write"

    async def _read(self, call: ToolCall, times: int) -> None:
        if call.name in finish.NAMES:
            outcome = ToolOutcome(_MIXED.format(name=call.name), failed=True)
        elif self._late():
            outcome = ToolOutcome(_LATE, failed=True)
        else:
            ready = self._checked(call, times)
            outcome = await perform(ready, self.workbench, until=self.until) if isinstance(ready, Ready) else ready
        await self.replied(call, outcome)

    def _checked(self, call: ToolCall, times: int) -> Ready | ToolOutcome:
        ready = check(call, self.toolbox, times=times)
        if not isinstance(ready, Ready) or ready.tool.goes_to is None:
            return ready
        if self.talk.trail.allows(ready.tool.goes_to(ready.arguments)):
            return ready
        return ToolOutcome(briefing.note("astray", tool=call.name), failed=True)

    async def _write(self, call: ToolCall, times: int) -> UnknownWrite | None:
        """A call that writes: its intent, the call, its outcome, each kept before anything follows from it."""
        ready = self._checked(call, times)
        outcome = await self._make(ready) if isinstance(ready, Ready) else ready
        if isinstance(outcome, UnknownWrite):
            return outcome
        await self.replied(call, outcome)
        return None

    async def _make(self, ready: Ready) -> ToolOutcome | UnknownWrite:
        told = self.barred.get(write_calls.digest(ready))
        if told is not None or self._late():
            return ToolOutcome(told or _LATE, failed=True)
        intent = write_calls.intent_of(ready, self.log)
        self.intents.append(intent)
        await self.log.started(intent)
        if self._late():
            return ToolOutcome(_LATE, failed=True)
        return await write_calls.carry_out(ready, intent, self.workbench, until=self.until)

    def _late(self) -> bool:
        return asyncio.get_running_loop().time() >= self.until

    def _hear(self, said: Checked) -> None:
        """Take a person's word for the outcome of a call that was in doubt."""
        intent = self._ended(said.call)
        if intent is None:
            return
        # A person who says "stop" ends the subtask, so that no attempt ever hears it.
        verdict = "words" if said.verdict == "stop" else said.verdict
        text = briefing.note(f"said_{verdict}", tool=intent.tool, words=said.words)
        if said.verdict != "not_happened":
            self.barred[intent.digest] = text
        self.talk.returned(ToolReply(call_id=said.call, text=text, failed=said.verdict != "happened"))

    def _ended(self, call_id: str) -> ToolStarted | None:
        """The intent of a call that has an outcome now; None where the call only read."""
        intent = next((one for one in self.intents if one.call == call_id), None)
        if intent is not None:
            self.intents.remove(intent)
        return intent


async def _not_cut_short(work: Coroutine[Any, Any, _T]) -> _T:
    """Do it. Told to stop meanwhile, stop a little later if it ends by then: cut off, its outcome is in doubt."""
    task = asyncio.create_task(work)
    clock = asyncio.get_running_loop().time
    until: float | None = None
    told = asyncio.CancelledError()
    while until is None or clock() < until:
        try:
            await asyncio.wait({task}, timeout=None if until is None else until - clock())
        except asyncio.CancelledError as error:
            until, told = until or clock() + GRACE, error
        if task.done() and until is None:
            return task.result()
        if task.done():
            break
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    raise told


async def _side_by_side(works: list[Coroutine[Any, Any, None]]) -> None:
    """One that breaks ends the others too."""
    if len(works) == 1:
        await works[0]
        return
    tasks = [asyncio.create_task(work) for work in works]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
