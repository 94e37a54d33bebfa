"""Runs an attempt of a specialist: model turns and tool calls, until it ends with a result or an escalation."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pydantic import ValidationError

from handoff.approval_values import Approval
from handoff.contracts import Escalation, Handoff, Material, Result, ToolCall, Turn
from handoff.evidence.binding import CheckedResult, ReadDocument, check_result
from handoff.evidence.grids import insert_rows
from handoff.state.state_values import UnknownWrite
from specialists.model import CallWithheld, Model, ModelCall, ModelError, ModelMessage
from specialists.specialist import Specialist
from specialists.tools.tool import ToolOutcome, ToolSpec, Workbench
from specialists.turns import briefing, finish_tools
from specialists.turns.attempt_ends import AttemptEnding
from specialists.turns.briefing import load_pictures
from specialists.turns.call_approval import CallApprovals
from specialists.turns.context_room import ContextWindow
from specialists.turns.conversation import Conversation
from specialists.turns.egress import EgressGuard
from specialists.turns.guarded_bench import GuardedWorkbench
from specialists.turns.one_call import ToolCrashed
from specialists.turns.sources import AttemptSources
from specialists.turns.text_calls import is_written_call, parse_turn_call, redirect_queries
from specialists.turns.tool_calls import ToolCallRunner

if TYPE_CHECKING:
    from specialists.turns.attempt_log import AttemptLog

AttemptEnd = Result | Escalation | UnknownWrite | Approval
"""The end of an attempt.

`UnknownWrite` if nobody knows whether a call that writes was carried out, and `Approval` if people have to approve a
call before it is made. Then the attempt rests until people have decided, and their decision becomes part of its
history.
"""

LAST_CALL_SHARE = 0.85
"""The share of the timeout after which no tool starts and the model is asked to finish."""

TOKEN_LIMIT = 200_000
"""Input and output tokens after which an attempt is asked to finish."""


async def run_specialist(
    specialist: Specialist,
    handoff: Handoff,
    *,
    model: Model,
    workbench: Workbench,
    log: AttemptLog,
    done_when: str = "",
    elapsed: float = 0.0,
    token_limit: int = TOKEN_LIMIT,
) -> AttemptEnd:
    """Run an attempt of a specialist, going on from where `log.history` ends.

    Args:
        specialist: The specialist that works.
        handoff: All that it gets. `constraints.timeout` limits the whole attempt.
        model: The model that it uses.
        workbench: The files of the handoff and, on resuming, those that the attempt has made already. Its provenance
            decides where calls may go (see `turns.egress`).
        log: Stores each turn and each tool's reply before anything follows from it.
        done_when: The subtask's acceptance criterion, for the model to read.
        elapsed: Seconds that the attempt took before this call.
        token_limit: Like `TOKEN_LIMIT`.

    Returns:
        How it ended, see `AttemptEnd`. An escalation is the specialist's own, or `out_of_scope` if the model refused,
        `confidence_too_low` if it came to no usable end, or `timeout` with the partial result.

    Raises:
        ModelError: A call brought no turn. Its `usage` is that of the whole attempt, and `partial` is the result so
            far.
        ToolCrashed: A tool has a bug, which is logged.
        WorkbenchLost: The place where files are kept cannot be reached. The attempt can go on later, from its last
            checkpoint.
    """
    if handoff.readable:
        specialist = add_reading_tools(specialist, handoff.readable)
    timeout = handoff.constraints.timeout
    ends = asyncio.get_running_loop().time() + timeout - elapsed
    limits = _Limits(ends, ends - timeout * (1 - LAST_CALL_SHARE), token_limit)
    provenance = workbench.provenance
    derived = provenance.has_derived_content or bool(handoff.context or handoff.given)
    egress = EgressGuard(provenance, specialist.toolbox, has_derived_content=derived, allow_out=specialist.allow_out)
    workbench = GuardedWorkbench(workbench, egress, log)
    room = ContextWindow(handoff.constraints.context, specialist.overhead_tokens)
    pictures, gaps = await load_pictures(handoff.artifacts, workbench, handoff.constraints.context)
    opening = ModelMessage(role="user", text=briefing.render_brief(handoff, done_when), pictures=pictures)
    files = list_table_files(handoff)
    handed = bool(handoff.context or handoff.given)
    ways = [spec.name for spec in specialist.finish_specs]
    conversation = Conversation(
        opening, files, egress, room, specialist.toolbox, handoff.intent, ways, has_other_material=handed
    )
    conversation.readings.update((material.name, True) for material in handoff.given_whole)
    conversation.add_gaps(gaps)
    approvals = CallApprovals(specialist.find_terms, log.find_rulings)
    barred = dict(log.earlier_writes)
    conversation.barred_replies = barred
    tools = ToolCallRunner(
        specialist.toolbox,
        workbench,
        log,
        conversation,
        limits.last_call_at,
        approvals=approvals,
        barred_replies=barred,
    )
    endings = AttemptEnding(conversation, handoff.constraints.max_tokens)
    sources = AttemptSources(handoff, workbench, opening.text, conversation)
    return await _Attempt(specialist, handoff, model, log, conversation, tools, endings, limits, sources).run_to_end()


def list_table_files(handoff: Handoff) -> list[str]:
    """Return the names of the files that table tools may open: all but those that are known to be plain text."""
    texts = {one.name for one in (*handoff.given_whole, *handoff.readable) if not one.is_table}
    return [artifact.name for artifact in handoff.artifacts if artifact.name not in texts]


@dataclass(frozen=True, slots=True)
class _Limits:
    """Limits of an attempt. `deadline` and `last_call_at` are times on the running loop's clock."""

    deadline: float
    last_call_at: float
    tokens: int


@dataclass(slots=True)
class _Attempt:
    """One attempt in progress. `reached_limit` names the limit that was reached; "" until then."""

    specialist: Specialist
    handoff: Handoff
    model: Model
    log: AttemptLog
    conversation: Conversation
    tools: ToolCallRunner
    endings: AttemptEnding
    limits: _Limits
    sources: AttemptSources
    reached_limit: str = ""

    async def run_to_end(self) -> AttemptEnd:
        """Replay the history, settle its unfinished writes, and work to the end."""
        for item in self.log.history:
            self.tools.replay_checkpoint(item)
        try:
            # Settling has a time limit of its own: it is done even if the attempt's time is up.
            return await self.tools.settle_writes() or await self._take_turns()
        except ModelError as error:
            error.usage = self.conversation.usage + error.usage
            error.partial = self.conversation.make_partial_result(gap=str(error))
            raise
        except ToolCrashed as error:
            error.usage = self.conversation.usage
            raise

    async def _take_turns(self) -> AttemptEnd:
        """Take turns until one of them ends the attempt, or the time is up."""
        turns = self.conversation.turns
        if turns > self.specialist.max_turns or 0 < self.conversation.loop_turn < turns:
            self.reached_limit = self._name_reached_limit()  # the last turn of the history was the last call
        clock = asyncio.timeout_at(self.limits.deadline)
        try:
            async with clock:
                outcome = await self._handle_turn(self.conversation.last_turn) if self.conversation.last_turn else None
                while outcome is None:
                    outcome = await self._handle_turn(await self._take_turn())
                return outcome
        except TimeoutError:
            if not clock.expired():
                raise
            return self._end_on_timeout()

    def _end_on_timeout(self) -> Escalation | UnknownWrite:
        """End an attempt that the deadline cut short."""
        what = f"time for this task ({self.handoff.constraints.timeout:g} s) ran out before it was done"
        if self.tools.open_intents:
            from specialists.turns import write_calls  # noqa: PLC0415 - only where a call writes

            return write_calls.make_unknown_write(self.tools.open_intents[0], f"the {what}")
        text = f"The {what}."
        return Escalation(
            reason="timeout", message=text, partial_result=self.conversation.make_partial_result(gap=text)
        )

    async def _take_turn(self) -> Turn:
        """Make the next model call, store its turn and add it to the conversation."""
        turn: Turn | None = None
        withheld, noted, shrunk = "", False, False
        self._tell_corrections()
        while turn is None:
            self.reached_limit = self.reached_limit or withheld or self._name_reached_limit()
            if self.reached_limit and not noted:
                given = self.conversation.work_done.last_text
                again = "\n\n" + briefing.render_note("limit_given", given=given) if given else ""
                self.conversation.add_note("limit", limit=self.reached_limit, given=again)
                noted = True
            self.conversation.room.make_room()
            try:
                turn = await self._call_model()
            except CallWithheld as error:
                withheld = await self._wait_or_end(error)
            except ModelError as error:
                if error.kind != "too_long" or shrunk or not self.conversation.room.shrink(error.share):
                    raise
                shrunk = True
        writing = [name for name, tool in self.specialist.toolbox.items() if tool.access == "write"]
        turn = parse_turn_call(turn, self.specialist.specs, writing, self.conversation.turns + 1)
        turn = redirect_queries(turn, self.specialist.toolbox)
        await self.log.keep_turn(turn)
        self.conversation.add_turn(turn)
        return turn

    async def _wait_or_end(self, error: CallWithheld) -> str:
        """Wait until the call can be made; or return the limit that was reached, so that the attempt can be concluded.

        Raises the error if no turn was taken yet, or if neither is possible.
        """
        if not self.conversation.turns:
            raise error
        if error.limit and not error.transient and not self.reached_limit:
            return error.limit
        left = self.limits.deadline - asyncio.get_running_loop().time()
        if not error.transient or error.pause >= left:
            raise error
        await asyncio.sleep(error.pause)
        return ""

    def _select_tools(self) -> tuple[ToolSpec, ...]:
        """Return the tools for the next call; for the last call only those that end the work."""
        if self.reached_limit:  # Some providers refuse a call without tools once the conversation has tool calls.
            return self.specialist.finish_specs
        specs = self.specialist.select_specs(list_table_files(self.handoff))
        if self._required_tools:
            return tuple(spec for spec in specs if spec.name in self._required_tools)
        if self.conversation.is_idle:  # a result without work was just sent back: another one is not offered yet
            return tuple(spec for spec in specs if spec.name != finish_tools.RETURN_RESULT)
        more = self.conversation.room.read_tool
        if more is None or more.name in self.specialist.toolbox:
            return specs
        return (*specs, more.spec)

    async def _call_model(self) -> Turn:
        # One second more than is left, so that our own deadline ends the attempt first, with "timeout".
        left = self.limits.deadline - asyncio.get_running_loop().time() + 1
        # Several tries only if turns would be lost: without turns, the whole attempt can be made again.
        tries = min(2, self.handoff.constraints.failed_calls) if self.conversation.turns else 1
        return await self.model.reply(
            ModelCall(
                purpose=self.specialist.purpose,
                system=self.specialist.system_prompt,
                messages=tuple(self.conversation.messages),
                tools=self._select_tools(),
                tool_choice="required" if self._must_call else "auto",
                tier=self.handoff.constraints.tier,
                max_tokens=self.handoff.constraints.max_tokens,
                deadline=left,
                tries=tries,
                is_last=bool(self.reached_limit),
                model=self.specialist.model_wish.name,
                effort=self.specialist.model_wish.effort,
                temperature=self.specialist.model_wish.temperature,
            )
        )

    @property
    def _must_call(self) -> bool:
        return bool(
            self.reached_limit or self.conversation.silent_turns or self.conversation.is_idle or self._required_tools
        )

    @property
    def _required_tools(self) -> list[str]:
        """The names of the file-reading tools if the next step has to be a call of one of them; otherwise empty."""
        work = self.conversation.work_done
        return (
            work.file_readers
            if work.has_only_previews and (self.conversation.is_idle or work.last_failure_read_no_file)
            else []
        )

    def _name_reached_limit(self) -> str:
        """Return the name of the limit that is reached; "" if none is."""
        if self.conversation.turns >= self.specialist.max_turns:
            return f"the limit of {self.specialist.max_turns} turns"
        if self.conversation.usage.tokens_in + self.conversation.usage.tokens_out >= self.limits.tokens:
            return f"the limit of {self.limits.tokens:,} tokens"
        if self.conversation.loop_turn:
            return "the limit of three turns with the same calls"
        if asyncio.get_running_loop().time() >= self.limits.last_call_at:
            return f"the end of the time for this task ({self.handoff.constraints.timeout:g} s)"
        return ""

    async def _handle_turn(self, turn: Turn) -> AttemptEnd | None:
        """Do what a turn asks for. Returns the attempt's end, or None if another turn can be taken."""
        if turn.stop == "refused":
            said = f": {turn.text.strip()}" if turn.text.strip() else "."
            return self.endings.give_up("out_of_scope", f"The model refused this task{said}")
        if turn.stop == "max_tokens":
            return await self._bind_and_end(self.endings.end_cut_off(turn, self.reached_limit))
        if turn.stop == "end" or not turn.calls:
            return await self._bind_and_end(self.endings.end_with_text(turn, self.reached_limit))
        if all(call.name in finish_tools.FINISH_TOOLS for call in turn.calls):
            return await self._finish()
        if self.reached_limit:
            return await self._bind_and_end(self.endings.end_without_finish(turn, self.reached_limit))
        return await self.tools.run_open_calls()

    async def _answer_with_corrections(self, calls: list[ToolCall]) -> bool:
        """Answer a finish call with the requester's new messages, and return True; False if there are none."""
        if self.reached_limit or not (said := self.log.take_new_messages()):
            return False
        text = briefing.render_note("not_taken_yet", words=" ".join(said))
        for call in calls:
            await self.tools.record_reply(call, ToolOutcome(text, failed=True))
        return True

    def _read_finish_call(self, call: ToolCall) -> tuple[Result | Escalation | None, str]:
        """Read a finish call. Returns (its result or escalation or None, the faults of its arguments or "")."""
        try:
            outcome, fault = finish_tools.read_finish_call(call), ""
        except ValidationError as error:
            lenient, fault = finish_tools.read_leniently(call), finish_tools.describe_faults(error)
            if lenient is None:
                return None, fault
            outcome = lenient
        if isinstance(outcome, Result) and is_written_call(outcome.content, self.specialist.specs):
            return None, "content: a tool call written as text is no result; make the call itself"
        return outcome, fault

    async def _bind_and_end(self, outcome: Result | Escalation | None) -> AttemptEnd | None:
        """End with a plain-text result, bound to its sources; None if the requester has written something meanwhile."""
        if not isinstance(outcome, Result):
            return outcome
        outcome = (await self._bind_result(outcome)).result
        return outcome if self.reached_limit or not self._tell_corrections() else None

    async def _bind_result(self, result: Result) -> CheckedResult:
        documents = await self.sources.load_documents()
        return await asyncio.to_thread(check_result, result, documents, tuple(self.log.list_known_texts()))

    def _tell_corrections(self) -> bool:
        """Tell the model the requester's new messages. False if there are none."""
        said = self.log.take_new_messages()
        for words in said:
            self.conversation.add_note("said_meanwhile", words=words)
            self.conversation.replies.append(ReadDocument("the requester", words, is_material=False))
        return bool(said)

    async def _check_result(self, result: Result) -> tuple[Result, str]:
        """Bind a result to its sources. Returns (the result, why it has to go back to the specialist or "").

        It goes back if there is no work behind it, or if it quotes words that no source has.
        """
        grids = [one.grid for one in self.conversation.replies if one.grid is not None and one.grid.rows]
        inserted = insert_rows(result.content, grids)
        if inserted.text != result.content:
            given = {"content": inserted.text, "summary": insert_rows(result.summary, grids).text}
            result = result.model_copy(update=given)
        binding = await self._bind_result(result)
        text = self.conversation.work_done.find_objection(result.content)
        if not text and (unopened := self._find_unread_file(result)):
            readers = ("read_material", "search_material", *self.conversation.work_done.file_readers)
            text = briefing.render_note("no_work_unread", file=unopened, tools=" or ".join(readers))
        text = text or inserted.fault
        if not text and binding.faults:
            text = briefing.render_note("not_found", faults="\n".join(f"- {each}" for each in binding.faults))
        return binding.result, text

    def _find_unread_file(self, result: Result) -> str:
        """Return the name of a file that the result mentions but nobody read; "" if there is none."""
        said = result.content.casefold()
        there = (one.name for one in self.handoff.readable if one.kind == "file")
        return next((one for one in there if one.casefold() in said and one not in self.conversation.readings), "")

    async def _finish(self) -> Result | Escalation | None:
        """Accept the turn's first finish call, or send it back once for correction."""
        calls = [call for call, _ in self.conversation.open_calls]
        if not calls:
            return None  # an earlier owner of the attempt has answered them
        outcome, fault = self._read_finish_call(calls[0])
        text = ""
        if isinstance(outcome, Result):
            outcome, text = await self._check_result(outcome)
        if await self._answer_with_corrections(
            calls
        ):  # last, as people may write something while the result is checked
            return None
        if fault and not text:
            text = f"{calls[0].name} was not accepted. Correct its arguments: {fault}"
        if text and not self.conversation.refused_finishes and not self.reached_limit:
            for call in calls:
                await self.tools.record_reply(call, ToolOutcome(text, failed=True))
            return None
        if outcome is None:
            return self.endings.give_up("confidence_too_low", "The specialist handed back nothing that can be used.")
        if isinstance(outcome, Escalation):
            return self.endings.escalate(outcome)
        return self.endings.end_with_result(outcome, self.reached_limit)


def add_reading_tools(specialist: Specialist, materials: Sequence[Material]) -> Specialist:
    """Return the specialist with tools that read and search material; tables are left out if it has table tools."""
    from specialists.turns.material_reading import make_reading_tools  # noqa: PLC0415 - only where there is more

    readers = make_reading_tools(materials, include_tables=not specialist.readable_endings)
    more = tuple(tool for tool in readers if tool.name not in specialist.toolbox)
    return replace(specialist, tools=(*specialist.tools, *more)) if more else specialist
