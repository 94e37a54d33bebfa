"""Runs an attempt of a specialist: model turns and tool calls, until it ends with a result or an escalation."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pydantic import ValidationError

from handoff.approval_values import Approval
from handoff.contracts import Escalation, Handoff, Material, Result, ToolCall, Turn
from handoff.evidence.evidence_check import CheckedResult, SourceDocument, check_result
from handoff.evidence.grids import insert_rows
from handoff.state.state_values import UnknownWrite
from specialists.model import CallWithheld, Model, ModelCall, ModelError, ModelMessage
from specialists.specialist import Specialist
from specialists.tools.tool import ToolOutcome, ToolSpec, Workbench
from specialists.turns import briefing, finish_tools
from specialists.turns.attempt_ends import AttemptEnding
from specialists.turns.attempt_sources import AttemptSources
from specialists.turns.briefing import load_pictures
from specialists.turns.call_approval import CallApprovals
from specialists.turns.context_window import ContextWindow
from specialists.turns.conversation import Conversation
from specialists.turns.egress import EgressGuard
from specialists.turns.guarded_workbench import GuardedWorkbench
from specialists.turns.one_call import ToolCrashed
from specialists.turns.text_calls import is_written_call, parse_turn_call, redirect_queries
from specialists.turns.tool_calls import ToolCallRunner

if TYPE_CHECKING:
    from specialists.turns.attempt_log import AttemptLog

AttemptEnd = Result | Escalation | UnknownWrite | Approval
"""The end of an attempt.

It is an `UnknownWrite` if nobody knows whether a writing call was carried out, and an `Approval` if people have to
approve a call first. After either, the attempt rests until people decide. Their decision becomes part of its history.
"""

LAST_CALL_SHARE = 0.85
"""The share of the timeout after which no tool starts and the model is asked to finish."""

TOKEN_LIMIT = 200_000
"""Input and output tokens, summed over all calls, after which an attempt is asked to finish."""


async def run_specialist(
    specialist: Specialist,
    handoff: Handoff,
    *,
    model: Model,
    workbench: Workbench,
    log: AttemptLog,
    done_when: str = "",
    elapsed_seconds: float = 0.0,
    token_limit: int = TOKEN_LIMIT,
) -> AttemptEnd:
    """Run an attempt of a specialist, or continue it from the end of `log.history`.

    Args:
        specialist: The specialist that works.
        handoff: All that it gets. `constraints.timeout` limits the whole attempt.
        model: The model that it uses.
        workbench: The files of the handoff and, on resuming, those that the attempt has made already. Its provenance
            decides where calls may go (see `turns.egress`).
        log: Stores each turn and each tool's reply before anything follows from it.
        done_when: The subtask's acceptance criterion, for the model to read.
        elapsed_seconds: Seconds that the attempt took before this call.
        token_limit: Input and output tokens after which the attempt is asked to finish.

    Returns:
        The end of the attempt. An escalation is the specialist's own, or `out_of_scope` if the model refused,
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
    deadline = asyncio.get_running_loop().time() + timeout - elapsed_seconds
    limits = _Limits(deadline, deadline - timeout * (1 - LAST_CALL_SHARE), token_limit)
    provenance = workbench.provenance
    has_derived_content = provenance.has_derived_content or bool(handoff.context or handoff.given)
    egress = EgressGuard(
        provenance, specialist.toolbox, has_derived_content=has_derived_content, allow_out=specialist.allow_out
    )
    workbench = GuardedWorkbench(workbench, egress, log)
    context_window = ContextWindow(handoff.constraints.context, specialist.overhead_tokens)
    pictures, gaps = await load_pictures(handoff.artifacts, workbench, handoff.constraints.context)
    brief_message = ModelMessage(role="user", text=briefing.render_brief(handoff, done_when), pictures=pictures)
    files = list_table_files(handoff)
    has_other_material = bool(handoff.context or handoff.given)
    finish_tool_names = [spec.name for spec in specialist.finish_specs]
    conversation = Conversation(
        brief_message,
        files,
        egress,
        context_window,
        specialist.toolbox,
        handoff.intent,
        finish_tool_names,
        has_other_material=has_other_material,
    )
    conversation.readings.update((material.name, True) for material in handoff.given_whole)
    conversation.add_gaps(gaps)
    approvals = CallApprovals(specialist.find_approval_terms, log.find_rulings)
    barred_replies = dict(log.earlier_writes)
    conversation.barred_replies = barred_replies
    tools = ToolCallRunner(
        specialist.toolbox,
        workbench,
        log,
        conversation,
        limits.last_call_at,
        approvals=approvals,
        barred_replies=barred_replies,
    )
    endings = AttemptEnding(conversation, handoff.constraints.max_tokens)
    sources = AttemptSources(handoff, workbench, brief_message.text, conversation)
    return await _Attempt(specialist, handoff, model, log, conversation, tools, endings, limits, sources).run_to_end()


def list_table_files(handoff: Handoff) -> list[str]:
    """Return the names of the files that table tools may open: all artifacts but those known to be no tables."""
    texts = {one.name for one in (*handoff.given_whole, *handoff.readable) if not one.is_table}
    return [artifact.name for artifact in handoff.artifacts if artifact.name not in texts]


@dataclass(frozen=True, slots=True)
class _Limits:
    """Limits of an attempt. `deadline` and `last_call_at` are times on the running loop's clock."""

    deadline: float
    last_call_at: float
    token_limit: int


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
            return await self.tools.settle_writes() or await self._run_turns()
        except ModelError as error:
            error.usage = self.conversation.usage + error.usage
            error.partial = self.conversation.make_partial_result(gap=str(error))
            raise
        except ToolCrashed as error:
            error.usage = self.conversation.usage
            raise

    async def _run_turns(self) -> AttemptEnd:
        """Take turns until one of them ends the attempt, or the time is up."""
        turns = self.conversation.turn_count
        if turns > self.specialist.max_turns or 0 < self.conversation.loop_turn < turns:
            self.reached_limit = self._describe_reached_limit()  # the last turn of the history was the last call
        clock = asyncio.timeout_at(self.limits.deadline)
        try:
            async with clock:
                outcome = await self._execute_turn(self.conversation.last_turn) if self.conversation.last_turn else None
                while outcome is None:
                    outcome = await self._execute_turn(await self._request_turn())
                return outcome
        except TimeoutError:
            if not clock.expired():
                raise
            return self._end_on_timeout()

    def _end_on_timeout(self) -> Escalation | UnknownWrite:
        """End an attempt that the deadline cut short."""
        cause = f"time for this task ({self.handoff.constraints.timeout:g} s) ran out before it was done"
        if self.tools.open_intents:
            from specialists.turns import write_calls  # noqa: PLC0415 - only where a call writes

            return write_calls.make_unknown_write(self.tools.open_intents[0], f"the {cause}")
        text = f"The {cause}."
        return Escalation(
            reason="timeout", message=text, partial_result=self.conversation.make_partial_result(gap=text)
        )

    async def _request_turn(self) -> Turn:
        """Make the next model call, store its turn and add it to the conversation."""
        turn: Turn | None = None
        withheld_limit, has_noted_limit, has_shrunk_context = "", False, False
        self._add_new_messages()
        while turn is None:
            self.reached_limit = self.reached_limit or withheld_limit or self._describe_reached_limit()
            if self.reached_limit and not has_noted_limit:
                last_text = self.conversation.work_record.last_text
                last_text_note = "\n\n" + briefing.render_note("limit_given", given=last_text) if last_text else ""
                self.conversation.add_note("limit", limit=self.reached_limit, given=last_text_note)
                has_noted_limit = True
            self.conversation.window.omit_old_replies()
            try:
                turn = await self._call_model()
            except CallWithheld as error:
                withheld_limit = await self._wait_or_end(error)
            except ModelError as error:
                if error.kind != "too_long" or has_shrunk_context or not self.conversation.window.shrink(error.share):
                    raise
                has_shrunk_context = True
        writing_tools = [name for name, tool in self.specialist.toolbox.items() if tool.access == "write"]
        turn = parse_turn_call(turn, self.specialist.specs, writing_tools, self.conversation.turn_count + 1)
        turn = redirect_queries(turn, self.specialist.toolbox)
        await self.log.keep_turn(turn)
        self.conversation.add_turn(turn)
        return turn

    async def _wait_or_end(self, error: CallWithheld) -> str:
        """Wait until a withheld call is possible, and return ""; or return the limit that has to end the attempt.

        Raises the error if no turn was taken yet, or if neither is possible.
        """
        if not self.conversation.turn_count:
            raise error
        if error.limit and not error.transient and not self.reached_limit:
            return error.limit
        seconds_left = self.limits.deadline - asyncio.get_running_loop().time()
        if not error.transient or error.pause >= seconds_left:
            raise error
        await asyncio.sleep(error.pause)
        return ""

    def _select_tools(self) -> tuple[ToolSpec, ...]:
        """Return the tools to offer in the next call; in the last call only those that end the work."""
        if self.reached_limit:  # Some providers refuse a call without tools once the conversation has tool calls.
            return self.specialist.finish_specs
        specs = self.specialist.select_specs(list_table_files(self.handoff))
        if self._required_tools:
            return tuple(spec for spec in specs if spec.name in self._required_tools)
        if self.conversation.is_idle:  # a result without work was just sent back: another one is not offered yet
            return tuple(spec for spec in specs if spec.name != finish_tools.RETURN_RESULT)
        read_tool = self.conversation.window.read_tool
        if read_tool is None or read_tool.name in self.specialist.toolbox:
            return specs
        return (*specs, read_tool.spec)

    async def _call_model(self) -> Turn:
        # One second more than is left, so that our own deadline ends the attempt first, with "timeout".
        seconds_left = self.limits.deadline - asyncio.get_running_loop().time() + 1
        # Several tries only if turns would be lost: without turns, the whole attempt can be made again.
        tries = min(2, self.handoff.constraints.failed_calls) if self.conversation.turn_count else 1
        return await self.model.reply(
            ModelCall(
                purpose=self.specialist.purpose,
                system=self.specialist.system_prompt,
                messages=tuple(self.conversation.messages),
                tools=self._select_tools(),
                tool_choice="required" if self._must_call_tool else "auto",
                tier=self.handoff.constraints.tier,
                max_tokens=self.handoff.constraints.max_tokens,
                timeout_seconds=seconds_left,
                max_tries=tries,
                is_last=bool(self.reached_limit),
                model=self.specialist.model_overrides.name,
                effort=self.specialist.model_overrides.effort,
                temperature=self.specialist.model_overrides.temperature,
            )
        )

    @property
    def _must_call_tool(self) -> bool:
        return bool(
            self.reached_limit
            or self.conversation.silent_turn_count
            or self.conversation.is_idle
            or self._required_tools
        )

    @property
    def _required_tools(self) -> list[str]:
        """The names of the tools that read files, if the next call must be one of them; otherwise empty."""
        work = self.conversation.work_record
        return (
            work.file_readers
            if work.has_only_previews and (self.conversation.is_idle or work.last_failure_read_no_file)
            else []
        )

    def _describe_reached_limit(self) -> str:
        """Return the name of the limit that is reached; "" if none is."""
        if self.conversation.turn_count >= self.specialist.max_turns:
            return f"the limit of {self.specialist.max_turns} turns"
        if self.conversation.usage.tokens_in + self.conversation.usage.tokens_out >= self.limits.token_limit:
            return f"the limit of {self.limits.token_limit:,} tokens"
        if self.conversation.loop_turn:
            return "the limit of three turns with the same calls"
        if asyncio.get_running_loop().time() >= self.limits.last_call_at:
            return f"the end of the time for this task ({self.handoff.constraints.timeout:g} s)"
        return ""

    async def _execute_turn(self, turn: Turn) -> AttemptEnd | None:
        """Make a turn's tool calls, or end the attempt with its reply. Returns None if another turn can be taken."""
        if turn.stop == "refused":
            model_text = f": {turn.text.strip()}" if turn.text.strip() else "."
            return self.endings.give_up("out_of_scope", f"The model refused this task{model_text}")
        if turn.stop == "max_tokens":
            return await self._bind_and_end(self.endings.end_with_cut_turn(turn, self.reached_limit))
        if turn.stop == "end" or not turn.calls:
            return await self._bind_and_end(self.endings.end_with_text(turn, self.reached_limit))
        if all(call.name in finish_tools.FINISH_TOOLS for call in turn.calls):
            return await self._accept_finish_call()
        if self.reached_limit:
            return await self._bind_and_end(self.endings.end_at_limit(turn, self.reached_limit))
        return await self.tools.run_open_calls()

    async def _answer_with_messages(self, calls: list[ToolCall]) -> bool:
        """Reply to finish calls with the requester's new messages. Returns False if there are none to tell."""
        if self.reached_limit or not (messages := self.log.take_new_messages()):
            return False
        text = briefing.render_note("not_taken_yet", words=" ".join(messages))
        for call in calls:
            await self.tools.record_reply(call, ToolOutcome(text, failed=True))
        return True

    def _read_finish_call(self, call: ToolCall) -> tuple[Result | Escalation | None, str]:
        """Read a finish call. Returns (its result or escalation or None, the faults of its arguments or "")."""
        try:
            outcome, fault = finish_tools.read_finish_call(call), ""
        except ValidationError as error:
            lenient, fault = finish_tools.read_finish_call_leniently(call), finish_tools.describe_argument_faults(error)
            if lenient is None:
                return None, fault
            outcome = lenient
        if isinstance(outcome, Result) and is_written_call(outcome.content, self.specialist.specs):
            return None, "content: a tool call written as text is no result; make the call itself"
        return outcome, fault

    async def _bind_and_end(self, outcome: Result | Escalation | None) -> AttemptEnd | None:
        """Return an escalation unchanged, or a result bound to its sources.

        Returns None if there is no outcome, or if the requester has written new messages, which the model then gets.
        """
        if not isinstance(outcome, Result):
            return outcome
        outcome = (await self._bind_result(outcome)).result
        return outcome if self.reached_limit or not self._add_new_messages() else None

    async def _bind_result(self, result: Result) -> CheckedResult:
        documents = await self.sources.load_documents()
        return await asyncio.to_thread(check_result, result, documents, tuple(self.log.list_known_texts()))

    def _add_new_messages(self) -> bool:
        """Add the requester's new messages to the conversation. Returns False if there are none."""
        messages = self.log.take_new_messages()
        for words in messages:
            self.conversation.add_note("said_meanwhile", words=words)
            self.conversation.replies.append(SourceDocument("the requester", words, is_material=False))
        return bool(messages)

    async def _check_result(self, result: Result) -> tuple[Result, str]:
        """Bind a result to its sources. Returns (the result, why it has to go back to the specialist or "").

        It goes back if no work or no reading of a named file is behind it, or if it quotes words that no source has.
        """
        grids = [one.grid for one in self.conversation.replies if one.grid is not None and one.grid.rows]
        content, summary = insert_rows(result.content, grids), insert_rows(result.summary, grids)
        if (content.text, summary.text) != (result.content, result.summary):
            result = result.model_copy(update={"content": content.text, "summary": summary.text})
        binding = await self._bind_result(result)
        objection = self.conversation.work_record.find_objection(result.content)
        if not objection and (unread_file := self._find_unread_file(result)):
            readers = ("read_material", "search_material", *self.conversation.work_record.file_readers)
            objection = briefing.render_note("no_work_unread", file=unread_file, tools=" or ".join(readers))
        objection = objection or content.fault or summary.fault
        if not objection and binding.faults:
            objection = briefing.render_note("not_found", faults="\n".join(f"- {each}" for each in binding.faults))
        return binding.result, objection

    def _find_unread_file(self, result: Result) -> str:
        """Return the name of a readable file that the result mentions but the specialist has not read; "" if none."""
        content = result.content.casefold()
        file_names = (one.name for one in self.handoff.readable if one.kind == "file")
        return next(
            (one for one in file_names if one.casefold() in content and one not in self.conversation.readings), ""
        )

    async def _accept_finish_call(self) -> Result | Escalation | None:
        """Accept the turn's first finish call and return its outcome; None if the specialist has to continue.

        A faulty call goes back for correction only once.
        """
        calls = [call for call, _ in self.conversation.open_calls]
        if not calls:
            return None  # an earlier owner of the attempt has answered them
        outcome, fault = self._read_finish_call(calls[0])
        text = ""
        if isinstance(outcome, Result):
            outcome, text = await self._check_result(outcome)
        if await self._answer_with_messages(calls):  # last, as people may write something while the result is checked
            return None
        if fault and not text:
            text = f"{calls[0].name} was not accepted. Correct its arguments: {fault}"
        if text and not self.conversation.refused_finish_count and not self.reached_limit:
            for call in calls:
                await self.tools.record_reply(call, ToolOutcome(text, failed=True))
            return None
        if outcome is None:
            return self.endings.give_up("confidence_too_low", "The specialist handed back nothing that can be used.")
        if isinstance(outcome, Escalation):
            return self.endings.complete_escalation(outcome)
        return self.endings.end_with_result(outcome, self.reached_limit)


def add_reading_tools(specialist: Specialist, materials: Sequence[Material]) -> Specialist:
    """Return the specialist with tools to read and search materials; without tables if it has table tools."""
    from specialists.turns.material_tools import make_reading_tools  # noqa: PLC0415 - only where there is more

    readers = make_reading_tools(materials, include_tables=not specialist.readable_endings)
    new_tools = tuple(tool for tool in readers if tool.name not in specialist.toolbox)
    return replace(specialist, tools=(*specialist.tools, *new_tools)) if new_tools else specialist
