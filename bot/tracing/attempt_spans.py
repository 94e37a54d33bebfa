"""Derives the spans of attempts, of their model turns and of their tool calls from the events of a log."""

from __future__ import annotations

from typing import Any

from bot.tracing.open_calls import AttemptKey, OpenCalls
from bot.tracing.span import SUPERVISORS_LANE, SpanState
from bot.tracing.span_book import SpanBook, SpanDraft, subtract_usage, sum_usages
from handoff import events as ev
from handoff.contracts import ToolCall
from handoff.state.job_state import SETTLED_STATES, RequestState, SubtaskState
from specialists.turns.finish_tools import FINISH_TOOLS as FINISHING

DERIVED_FROM_DURATION = "its end is logged; its beginning is that, less the seconds that the model took"
DERIVED_FROM_STEP = "the log holds its end; it began after the step before it"
DERIVED_FROM_TURN = "its end is logged; it began with the turn that asked for it"
DERIVED_FROM_RULING = "its end is logged; it began once people had decided"
DERIVED_FROM_RETRY = "it went on from where an earlier try was stopped; what came before is with that one"
MODEL_FAILURES = frozenset({"model", "timeout"})
"""Failures of an attempt that a model call caused, unless a tool call was open."""


class AttemptSpans:
    """Builds the spans of subtasks and attempts, and of their turns and tool calls, while a log is read."""

    def __init__(self, book: SpanBook, requests: dict[str, SpanDraft]) -> None:
        self._book = book
        self._requests = requests
        self._running_attempts: dict[AttemptKey, SpanDraft] = {}
        self._open_subtasks: dict[AttemptKey, SpanDraft] = {}
        self._calls = OpenCalls()
        self._turn_usages: dict[AttemptKey, list[Any]] = {}
        self._settled_subtasks: set[AttemptKey] = set()
        self.ready_seqs: dict[AttemptKey, int] = {}
        """By subtask, the `seq` of the event that allowed its next attempt."""

    # ---------------------------------------------------------------- the parents of other spans

    def find_parent_id(self, request: str, within: str) -> str:
        """Return the id of the span around the plan run at `within` (a subtask; empty: the request); "" if unknown."""
        place = (request, within)
        draft = (self._running_attempts.get(place) or self._open_subtasks.get(place)) if within else None
        draft = draft or self._requests.get(request)
        return draft["id"] if draft is not None else ""

    def find_attempt_span(self, request: str, subtask: str) -> SpanDraft | None:
        """Return the span of the attempt under way at a subtask; None if there is none."""
        return self._running_attempts.get((request, subtask))

    def ensure_subtask_span(self, request: RequestState, subtask: SubtaskState) -> SpanDraft:
        """Return the span of a subtask, and begin it if it has not begun yet."""
        place = (request.id, subtask.spec.id)
        draft = self._open_subtasks.get(place)
        if draft is None:
            draft = self._open_subtasks[place] = self._book.begin_span(
                "subtask",
                subtask.spec.title,
                subtask.specialist,
                self._book.entry_time,
                parent=self.find_parent_id(request.id, subtask.within),
                request=request.id,
                subtask=subtask.spec.id,
                brief=subtask.brief_text,
            )
        return draft

    # ---------------------------------------------------------------- events

    def apply_event(self, event: ev.Event, before: RequestState, after: RequestState) -> None:
        """Read an event of the attempt under way; others are ignored. `before` and `after` are the request's states."""
        if not isinstance(event, ev.AttemptEvent):
            return
        attempt_key = (event.request, event.subtask)
        if isinstance(event, ev.AttemptStarted):
            if before.subtasks.get(event.subtask) is not after.subtasks.get(event.subtask):
                self._begin_attempt(event, after, attempt_key)
            return
        running = self._running_attempts.get(attempt_key)
        if running is None or running["attempt"] != event.attempt:
            return
        running.add_event(self._book.entry_seq, event.at)
        match event:
            case ev.TurnTaken():
                self._end_turn_span(event, running, attempt_key)
            case ev.ToolStarted():
                self._record_intent(event, attempt_key)
            case ev.ToolReturned():
                self._end_tool_call(event, running, attempt_key)
            case ev.ResultReturned() | ev.AttemptFailed() | ev.Escalated():
                self._end_attempt(event, running, attempt_key, after.subtasks.get(event.subtask))

    def _begin_attempt(self, event: ev.AttemptStarted, request: RequestState, attempt_key: AttemptKey) -> None:
        subtask = request.subtasks[event.subtask]
        if (former_attempt := self._running_attempts.get(attempt_key)) is not None:
            self._stop_attempt(former_attempt, attempt_key, "")
        draft = self._begin_attempt_span(request, subtask, attempt_key, event.at)
        pauses = [one for one in self._book.ended_here if one["kind"] == "pause" and one["subtask"] == event.subtask]
        if pauses:
            draft.set(after=pauses[0]["id"])
        draft.set(model=event.model)

    def _begin_attempt_span(
        self, request: RequestState, subtask: SubtaskState, attempt_key: AttemptKey, at: float, derivation: str = ""
    ) -> SpanDraft:
        outer = self.ensure_subtask_span(request, subtask)
        after = self._book.find_cause_id(self.ready_seqs.pop(attempt_key, 0))
        self._calls.begin_attempt(attempt_key)
        self._turn_usages[attempt_key] = []
        draft = self._running_attempts[attempt_key] = self._book.begin_span(
            "attempt",
            subtask.specialist,
            subtask.specialist,
            at,
            parent=outer["id"],
            after=after,
            request=request.id,
            subtask=subtask.spec.id,
            attempt=subtask.attempt,
            words=f"attempt {subtask.attempt} of {subtask.specialist}",
            tier=subtask.tier,
            brief=subtask.brief_text,
            derived=derivation,
        )
        return draft

    def _end_turn_span(self, event: ev.TurnTaken, running: SpanDraft, attempt_key: AttemptKey) -> None:
        turn, usage = event.turn, event.turn.usage
        start = max(event.at - usage.duration, running["start"]) if usage.duration else running.previous_event_at
        call_names = [call.name for call in turn.calls]
        words = f"asks for {', '.join(call_names)}" if call_names else turn.text
        self._book.add_ended_span(
            "chat",
            usage.model or "model",
            running["lane"],
            (start, event.at),
            **_make_span_fields(event, running),
            words=words,
            outcome=turn.stop,
            derived=DERIVED_FROM_DURATION if usage.duration else DERIVED_FROM_STEP,
            model=usage.model,
            tier=running["tier"],
            usage=usage,
            text=turn.text,
        )
        self._turn_usages[attempt_key].append(usage)
        for call in turn.calls:
            self._calls.add_call(attempt_key, call, self._begin_call_span(event, running, call))

    def _begin_call_span(self, event: ev.TurnTaken, running: SpanDraft, call: ToolCall) -> SpanDraft | None:
        """Begin the span of a tool call. A call that hands in a result gets one only if the result is sent back."""
        if call.name in FINISHING:
            return None
        call_fields = {"call": call.id, "arguments": call.arguments, "derived": DERIVED_FROM_TURN}
        return self._book.begin_span(
            "tool", call.name, running["lane"], event.at, **_make_span_fields(event, running), **call_fields
        )

    def _record_intent(self, event: ev.ToolStarted, attempt_key: AttemptKey) -> None:
        draft = self._calls.find_span(attempt_key, event.call)
        if draft is not None:
            draft.set(start=max(draft["start"], event.at), derived="", words=event.what)
            draft.add_event(self._book.entry_seq, event.at)

    def _end_tool_call(self, event: ev.ToolReturned, running: SpanDraft, attempt_key: AttemptKey) -> None:
        call, draft = self._calls.pop_call(attempt_key, event.reply.call_id)
        if draft is None:
            call_fields = {
                "call": event.reply.call_id,
                "arguments": call.arguments if call else {},
                "derived": DERIVED_FROM_STEP,
            }
            name = call.name if call else "a tool"
            draft = self._book.begin_span(
                "tool",
                name,
                running["lane"],
                running.previous_event_at,
                **_make_span_fields(event, running),
                **call_fields,
            )
        has_failed = event.reply.failed
        words = draft.get("words") or ("failed" if has_failed else "returned")
        outcome_fields = {
            "text": event.reply.text,
            "words": words,
            "reason": event.reply.text[:300] if has_failed else "",
        }
        self._book.end_span(draft, event.at, "failed" if has_failed else "done", **outcome_fields)

    def set_ruled_calls_start(self, request: str, subtask: str, at: float) -> None:
        """Set the start of the calls that waited for people to `at`, when they decided."""
        for draft in self._calls.list_spans((request, subtask)):
            if draft["start"] < at:
                draft.set(start=at, derived=DERIVED_FROM_RULING)

    # ---------------------------------------------------------------- ends

    def _end_attempt(
        self,
        event: ev.ResultReturned | ev.AttemptFailed | ev.Escalated,
        running: SpanDraft,
        attempt_key: AttemptKey,
        subtask: SubtaskState | None,
    ) -> None:
        if subtask is not None and subtask.question is not None and subtask.question.doubt is not None:
            return  # people are asked what became of a call; the attempt goes on after that
        usage = event.result.usage if isinstance(event, ev.ResultReturned) else event.usage
        remaining_usage = (
            subtract_usage(usage, sum_usages(self._turn_usages[attempt_key])) if usage.model_fields_set else None
        )
        state: SpanState = "done" if isinstance(event, ev.ResultReturned) else "failed"
        fields: dict[str, Any] = {}
        match event:
            case ev.ResultReturned(result=result):
                fields = {"outcome": "result", "text": result.content, "words": result.summary}
                if event.faults or event.doubts:
                    fields["reason"] = "; ".join((*event.faults, *event.doubts))
            case ev.AttemptFailed():
                fields = {"outcome": event.kind, "reason": event.message, "words": event.message}
                if event.kind in MODEL_FAILURES and not self._calls.list_spans(attempt_key):
                    self._record_lost_calls(event, running, remaining_usage)
                    remaining_usage = None
            case ev.Escalated(escalation=escalation):
                fields = {"outcome": escalation.reason, "reason": escalation.message, "words": escalation.message}
                fields["text"] = escalation.partial_result.content if escalation.partial_result else ""
                state = "done" if escalation.reason == "ambiguous_input" else state  # a question is no failure
        self._drop_attempt(attempt_key, event.at)
        self._book.end_span(running, event.at, state, **fields, usage=remaining_usage)

    def _record_lost_calls(self, event: ev.AttemptFailed, running: SpanDraft, usage: Any) -> None:
        """Add a span for model calls that returned no turn."""
        outcome_fields = {
            "words": event.message,
            "reason": event.message,
            "outcome": event.kind,
            "derived": DERIVED_FROM_STEP,
        }
        model_name = usage.model if usage is not None else ""
        model_fields = {"model": model_name, "tier": running["tier"], "usage": usage}
        times = (running.previous_event_at, event.at)
        self._book.add_ended_span(
            "chat",
            model_name or "model",
            running["lane"],
            times,
            "failed",
            **_make_span_fields(event, running),
            **outcome_fields,
            **model_fields,
        )

    def _stop_attempt(self, running: SpanDraft, attempt_key: AttemptKey, why: str) -> None:
        self._drop_attempt(attempt_key, self._book.entry_time)
        self._book.end_span(running, self._book.entry_time, "stopped", reason=why)

    def _drop_attempt(self, attempt_key: AttemptKey, at: float) -> None:
        for draft in self._calls.end_attempt(attempt_key):
            self._book.end_span(draft, at, "stopped")
        self._running_attempts.pop(attempt_key, None)

    def end_settled_spans(self, request: RequestState) -> None:
        """End the spans of attempts and subtasks that are over by now: by a deadline, a Stop or a new plan."""
        is_request_over = request.run.failure is not None or request.is_over
        for place, running in [*self._running_attempts.items()]:
            subtask = request.subtasks.get(place[1])
            if place[0] != request.id:
                continue
            has_ended = (
                subtask is None
                or subtask.state in SETTLED_STATES
                or subtask.state == "pending"
                or subtask.attempt > running["attempt"]
            )
            if has_ended or is_request_over:
                self._stop_attempt(running, place, _explain_stop(request, subtask))
        for place, draft in [*self._open_subtasks.items()]:
            if place[0] == request.id:
                self._settle_subtask(request, place, draft, is_request_over=is_request_over)

    def _settle_subtask(
        self, request: RequestState, attempt_key: AttemptKey, draft: SpanDraft, *, is_request_over: bool
    ) -> None:
        subtask = request.subtasks.get(attempt_key[1])
        if subtask is not None and subtask.state not in SETTLED_STATES and not is_request_over:
            return
        del self._open_subtasks[attempt_key]
        self._settled_subtasks.add(attempt_key)
        if subtask is None:
            self._book.end_span(draft, self._book.entry_time, "stopped", outcome="given up")
            return
        state: SpanState = {"complete": "done", "error": "failed"}.get(subtask.state, "stopped")  # type: ignore[assignment]
        text = subtask.result.content if subtask.result is not None else ""
        words = subtask.result.summary if subtask.result is not None else subtask.reason
        outcome = subtask.state if subtask.state in SETTLED_STATES else "stopped"
        fields = {
            "outcome": outcome,
            "reason": subtask.reason,
            "words": words,
            "text": text,
            "brief": subtask.brief_text,
        }
        self._book.end_span(
            draft, subtask.ended_at if subtask.ended_at is not None else self._book.entry_time, state, **fields
        )

    def begin_continued_attempts(self, request: RequestState) -> None:
        """Begin the spans of attempts that a retry continues: these have no event for their start."""
        if request.run.failure is not None or request.is_over:
            return
        for name, subtask in request.subtasks.items():
            place = (request.id, name)
            if subtask.state != "in_progress" or not subtask.attempt or place in self._running_attempts:
                continue
            self._begin_attempt_span(request, subtask, place, self._book.entry_time, DERIVED_FROM_RETRY)

    def add_unattempted_subtasks(self, request: RequestState) -> None:
        """Add a span for each subtask that ended without an attempt: skipped, or taken over from an earlier try."""
        for name, subtask in request.subtasks.items():
            place = (request.id, name)
            if subtask.state not in SETTLED_STATES or place in self._settled_subtasks or place in self._open_subtasks:
                continue
            draft = self.ensure_subtask_span(request, subtask)
            self._settle_subtask(request, place, draft, is_request_over=False)
            if subtask.state == "complete":
                draft.set(words=f"taken over as it stood: {draft['words']}")
            else:
                draft.set(words="not needed" if subtask.is_dropped else f"{subtask.state}: {subtask.reason}")


def _make_span_fields(event: ev.AttemptEvent, running: SpanDraft) -> dict[str, Any]:
    return {"parent": running["id"], "request": event.request, "subtask": event.subtask, "attempt": event.attempt}


def _explain_stop(request: RequestState, subtask: SubtaskState | None) -> str:
    if request.cancelled_by:
        return "a person stopped it"
    return subtask.reason if subtask is not None else ""


def find_lane(request: RequestState, within: str) -> str:
    """Return the lane of the plan run at the subtask `within`: its crew's, or the supervisor's if `within` is empty."""
    subtask = request.subtasks.get(within)
    return subtask.specialist if subtask is not None else SUPERVISORS_LANE
