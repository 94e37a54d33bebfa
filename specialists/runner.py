"""The inner loop of a specialist: model turn, tool calls, until it hands something back."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from pydantic import ValidationError

from handoff.contracts import Escalation, EscalationReason, Handoff, Result
from specialists.specialist import Specialist
from specialists.toolkits.tool import ToolOutcome, Workbench
from specialists.turns import briefing, finish
from specialists.turns.checkpoint import AttemptLog, InDoubt
from specialists.turns.conversation import Conversation
from specialists.turns.dialogue import Model, ModelCall, ModelError, ToolSpec, Turn, Withheld
from specialists.turns.egress import Trail
from specialists.turns.one_call import ToolBroke
from specialists.turns.tool_calls import ToolCalls

End = Result | Escalation | InDoubt
"""How an attempt ends.

`InDoubt` where nobody knows whether a call that writes was carried out: it rests until a person has said so, which then
is part of its history.
"""

LAST_CALL_SHARE = 0.85
"""The share of the timeout after which no tool runs and the model is asked to finish."""

CALL_DEADLINE = 120.0
"""Seconds that one model call may take at most, however much time the attempt still has."""

TOKEN_LIMIT = 200_000
"""Tokens, in and out, after which an attempt is asked to finish."""


async def run(
    specialist: Specialist,
    handoff: Handoff,
    *,
    model: Model,
    workbench: Workbench,
    log: AttemptLog,
    done_when: str = "",
    elapsed: float = 0.0,
    token_limit: int = TOKEN_LIMIT,
) -> End:
    """Have a specialist do its part, going on from where `log.history` ends.

    Args:
        specialist: Who works.
        handoff: What it gets. `constraints.timeout` bounds the whole attempt.
        model: What it thinks with.
        workbench: The files of the handoff and, on resuming, those that the attempt made already; and what people
            said and whether the brief holds more, which says where calls may go (see `turns.trail`).
        log: Where each turn and each tool's reply is kept before anything follows from it.
        done_when: The subtask's acceptance criterion, for the model to read.
        elapsed: Seconds that the attempt took before this call.
        token_limit: As `TOKEN_LIMIT`.

    Returns:
        How it ended, see `End`. An escalation is the specialist's own, or `out_of_scope` where the model refused,
        `confidence_too_low` where it came to no usable end, `timeout` with what there was by then.

    Raises:
        ModelError: A call brought no turn; its `usage` is that of the whole attempt, and `partial` what there is.
        ToolBroke: A tool has a bug; it is logged.
        WorkbenchLost: The place where files are kept is away. The attempt can go on later, from its last checkpoint.
    """
    timeout = handoff.constraints.timeout
    ends = asyncio.get_running_loop().time() + timeout - elapsed
    limits = _Limits(ends, ends - timeout * (1 - LAST_CALL_SHARE), token_limit)
    finders = [name for name, tool in specialist.toolbox.items() if tool.finds_addresses]
    trail = Trail(workbench.origin.words, finders, told=workbench.origin.told or bool(handoff.context))
    talk = Conversation(briefing.render(handoff, done_when), trail)
    tools = ToolCalls(specialist.toolbox, workbench, log, talk, limits.last_call_at, barred=dict(log.written))
    return await _Attempt(specialist, handoff, model, log, talk, tools, limits).whole()


@dataclass(frozen=True, slots=True)
class _Limits:
    """`ends` and `last_call_at` are times on the running loop's clock."""

    ends: float
    last_call_at: float
    tokens: int


@dataclass(slots=True)
class _Attempt:
    """One run of the loop. `limit` names the limit that was reached, once one was."""

    specialist: Specialist
    handoff: Handoff
    model: Model
    log: AttemptLog
    talk: Conversation
    tools: ToolCalls
    limits: _Limits
    limit: str = ""

    async def whole(self) -> End:
        """All of it, from its history to its end."""
        for item in self.log.history:
            self.tools.replay(item)
        try:
            # On a clock of its own: it is due even where the time is up.
            return await self.tools.settle() or await self._in_time()
        except ModelError as error:
            error.usage = self.talk.usage + error.usage
            error.partial = self.talk.partial(gap=str(error))
            raise
        except ToolBroke as error:
            error.usage = self.talk.usage
            raise

    async def _in_time(self) -> End:
        clock = asyncio.timeout_at(self.limits.ends)
        try:
            async with clock:
                return await self._work()
        except TimeoutError:
            if not clock.expired():
                raise
            return self._out_of_time()

    async def _work(self) -> End:
        """End what the history left open, and go on to the end."""
        if self.talk.turns > self.specialist.max_turns:
            self.limit = self._reached()  # the last turn of the history was the last call
        outcome = await self._settle(self.talk.last) if self.talk.last else None
        while outcome is None:
            outcome = await self._settle(await self._turn())
        return outcome

    def _out_of_time(self) -> Escalation | InDoubt:
        """What is said when the deadline cut the work short."""
        what = f"time for this task ({self.handoff.constraints.timeout:g} s) ran out before it was done"
        if self.tools.intents:
            return InDoubt(self.tools.intents[0], f"the {what}")
        text = f"The {what}."
        return Escalation(reason="timeout", message=text, partial_result=self.talk.partial(gap=text))

    async def _turn(self) -> Turn:
        turn: Turn | None = None
        withheld, told = "", False
        while turn is None:
            self.limit = self.limit or withheld or self._reached()
            if self.limit and not told:
                self.talk.ask("limit", limit=self.limit)
                told = True
            try:
                # Not without any tool: some providers refuse that once calls are part of the conversation.
                turn = await self._reply(finish.FINISHERS if self.limit else self.specialist.specs)
            except Withheld as error:
                withheld = await self._held_up(error)
        await self.log.turn(turn)
        self.talk.took(turn)
        return turn

    async def _held_up(self, error: Withheld) -> str:
        """Wait where that is all it takes, or say which limit was reached, so that what there is is not thrown away.

        Raises what was given where there is nothing yet, or neither helps.
        """
        if not self.talk.turns:
            raise error
        if error.limit and not error.transient and not self.limit:
            return error.limit
        left = self.limits.ends - asyncio.get_running_loop().time()
        if not error.transient or error.pause >= left:
            raise error
        await asyncio.sleep(error.pause)
        return ""

    async def _reply(self, tools: tuple[ToolSpec, ...]) -> Turn:
        # A second more than is left, so that our deadline cuts first and its word is "timeout".
        left = self.limits.ends - asyncio.get_running_loop().time() + 1
        return await self.model.reply(
            ModelCall(
                purpose=self.specialist.purpose,
                system=self.specialist.system,
                messages=tuple(self.talk.messages),
                tools=tools,
                tier=self.handoff.constraints.tier,
                max_tokens=self.handoff.constraints.max_tokens,
                deadline=min(CALL_DEADLINE, left),
                tries=self._tries(),
                last=bool(self.limit),
            )
        )

    def _tries(self) -> int:
        """How often a call may be sent: more than once only where turns would be lost with it.

        Else the attempt itself can be made again, later or by another.
        """
        return min(2, self.handoff.constraints.failed_calls) if self.talk.turns else 1

    def _reached(self) -> str:
        if self.talk.turns >= self.specialist.max_turns:
            return f"the limit of {self.specialist.max_turns} turns"
        if self.talk.usage.tokens_in + self.talk.usage.tokens_out >= self.limits.tokens:
            return f"the limit of {self.limits.tokens:,} tokens"
        if asyncio.get_running_loop().time() >= self.limits.last_call_at:
            return f"the end of the time for this task ({self.handoff.constraints.timeout:g} s)"
        return ""

    async def _settle(self, turn: Turn) -> End | None:
        """Draw what follows from a turn: an end, or None once the next turn can be taken."""
        if turn.stop == "refused":
            said = f": {turn.text.strip()}" if turn.text.strip() else "."
            return self._given_up("out_of_scope", f"The model refused this task{said}")
        if turn.stop == "max_tokens":
            return self._cut_off(turn)
        if turn.stop == "end" or not turn.calls:
            return self._plain(turn)
        if all(call.name in finish.NAMES for call in turn.calls):
            return await self._finish()
        if self.limit:
            return self._never_ended(turn)
        return await self.tools.run()

    def _cut_off(self, turn: Turn) -> Result | Escalation | None:
        if self.talk.cuts == 1 and not self.limit:
            return None
        gap = f"The answer was cut off at its limit of {self.handoff.constraints.max_tokens:,} tokens."
        if turn.text.strip():
            return self.talk.complete(finish.from_text(turn.text), gap=gap)
        return self._given_up("confidence_too_low", gap)

    def _plain(self, turn: Turn) -> Result | Escalation | None:
        if turn.text.strip():
            return self.talk.complete(finish.from_text(turn.text), gap=self._limit_gap())
        if self.talk.blanks == 1 and not self.limit:
            return None
        return self._given_up("confidence_too_low", "The model gave no answer.")

    def _never_ended(self, turn: Turn) -> Result | Escalation:
        """The last call brought no end: hand over what was said beside it, or give up."""
        ends = [call for call in turn.calls if call.name in finish.NAMES]
        outcome = finish.read_leniently(ends[0]) if ends else None
        if isinstance(outcome, Escalation):
            return self._escalated(outcome)
        if outcome is None and turn.text.strip():
            outcome = finish.from_text(turn.text)
        if outcome is not None:
            return self.talk.complete(outcome, gap=self._limit_gap())
        return self._given_up("confidence_too_low", f"Reached {self.limit} without a result.")

    async def _finish(self) -> Result | Escalation | None:
        """Take the first call to end the work, or have it mended once."""
        calls = [call for call, _ in self.talk.open_calls]
        if not calls:
            return None  # they were answered before the attempt changed hands
        try:
            outcome: Result | Escalation | None = finish.read(calls[0])
        except ValidationError as error:
            if not self.talk.finishes and not self.limit:
                text = f"{calls[0].name} was not accepted. Mend its arguments: {finish.faults_of(error)}"
                for call in calls:
                    await self.tools.replied(call, ToolOutcome(text, failed=True))
                return None
            outcome = finish.read_leniently(calls[0])
        if outcome is None:
            return self._given_up("confidence_too_low", "The specialist handed back nothing that can be used.")
        if isinstance(outcome, Escalation):
            return self._escalated(outcome)
        return self.talk.complete(outcome, gap=self._limit_gap())

    def _escalated(self, escalation: Escalation) -> Escalation:
        partial = escalation.partial_result
        whole = self.talk.complete(partial) if partial else None
        if whole is None and self.talk.artifacts:
            whole = self.talk.partial()
        return escalation.model_copy(update={"partial_result": whole})

    def _given_up(self, reason: EscalationReason, message: str) -> Escalation:
        return Escalation(reason=reason, message=message, partial_result=self.talk.partial(gap=message))

    def _limit_gap(self) -> str:
        return f"Stopped at {self.limit}; the work may be incomplete." if self.limit else ""
