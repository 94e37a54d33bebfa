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

BY_DURATION = "its end is logged; its beginning is that, less the seconds that the model took"
SINCE_STEP = "the log holds its end; it began after the step before it"
SINCE_TURN = "its end is logged; it began with the turn that asked for it"
SINCE_RULING = "its end is logged; it began once people had decided"
CONTINUED = "it went on from where an earlier try was stopped; what came before is with that one"
MODEL_FAILURES = frozenset({"model", "timeout"})
"""Failures of an attempt that a model call caused, unless a tool call was open."""


class OpenAttempts:
    """The attempts under way, by request and subtask."""

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
        """Return the id of the span around the plan run at the subtask `within`; if that is empty, of the request."""
        place = (request, within)
        there = (self._running_attempts.get(place) or self._open_subtasks.get(place)) if within else None
        there = there or self._requests.get(request)
        return there["id"] if there is not None else ""

    def find_attempt(self, request: str, subtask: str) -> SpanDraft | None:
        """Return the span of the attempt under way at a subtask; None if there is none."""
        return self._running_attempts.get((request, subtask))

    def ensure_subtask(self, ask: RequestState, work: SubtaskState) -> SpanDraft:
        """Return the span of a subtask, and begin it if it has not begun yet."""
        place = (ask.id, work.subtask.id)
        there = self._open_subtasks.get(place)
        if there is None:
            there = self._open_subtasks[place] = self._book.begin(
                "subtask",
                work.subtask.title,
                work.specialist,
                self._book.at,
                parent=self.find_parent_id(ask.id, work.within),
                request=ask.id,
                subtask=work.subtask.id,
                brief=work.brief_text,
            )
        return there

    # ---------------------------------------------------------------- events

    def apply_event(self, event: ev.Event, before: RequestState, after: RequestState) -> None:
        """Read one event of an attempt. `before` and `after` are the request then. Ignored events leave no span."""
        if not isinstance(event, ev.AttemptEvent):
            return
        place = (event.request, event.subtask)
        if isinstance(event, ev.AttemptStarted):
            if before.work.get(event.subtask) is not after.work.get(event.subtask):
                self._begin_attempt(event, after, place)
            return
        running = self._running_attempts.get(place)
        if running is None or running["attempt"] != event.attempt:
            return
        running.add_event(self._book.seq, event.at)
        match event:
            case ev.TurnTaken():
                self._end_turn_span(event, running, place)
            case ev.ToolStarted():
                self._record_intent(event, place)
            case ev.ToolReturned():
                self._end_tool_call(event, running, place)
            case ev.ResultReturned() | ev.AttemptFailed() | ev.Escalated():
                self._end_attempt(event, running, place, after.work.get(event.subtask))

    def _begin_attempt(self, event: ev.AttemptStarted, ask: RequestState, place: AttemptKey) -> None:
        work = ask.work[event.subtask]
        if (late := self._running_attempts.get(place)) is not None:
            self._stop_attempt(late, place, "")
        draft = self._begin_attempt_span(ask, work, place, event.at)
        pauses = [one for one in self._book.ended_here if one["kind"] == "pause" and one["subtask"] == event.subtask]
        if pauses:
            draft.set(after=pauses[0]["id"])
        draft.set(model=event.model)

    def _begin_attempt_span(
        self, ask: RequestState, work: SubtaskState, place: AttemptKey, at: float, derived: str = ""
    ) -> SpanDraft:
        outer = self.ensure_subtask(ask, work)
        after = self._book.find_cause(self.ready_seqs.pop(place, 0))
        self._calls.begin_attempt(place)
        self._turn_usages[place] = []
        draft = self._running_attempts[place] = self._book.begin(
            "attempt",
            work.specialist,
            work.specialist,
            at,
            parent=outer["id"],
            after=after,
            request=ask.id,
            subtask=work.subtask.id,
            attempt=work.attempt,
            words=f"attempt {work.attempt} of {work.specialist}",
            tier=work.tier,
            brief=work.brief_text,
            derived=derived,
        )
        return draft

    def _end_turn_span(self, event: ev.TurnTaken, running: SpanDraft, place: AttemptKey) -> None:
        turn, usage = event.turn, event.turn.usage
        start = max(event.at - usage.duration, running["start"]) if usage.duration else running.before
        named = [call.name for call in turn.calls]
        words = f"asks for {', '.join(named)}" if named else turn.text
        self._book.add(
            "chat",
            usage.model or "model",
            running["lane"],
            (start, event.at),
            **_make_span_fields(event, running),
            words=words,
            outcome=turn.stop,
            derived=BY_DURATION if usage.duration else SINCE_STEP,
            model=usage.model,
            tier=running["tier"],
            usage=usage,
            text=turn.text,
        )
        self._turn_usages[place].append(usage)
        for call in turn.calls:
            self._calls.add_call(place, call, self._begin_call_span(event, running, call))

    def _begin_call_span(self, event: ev.TurnTaken, running: SpanDraft, call: ToolCall) -> SpanDraft | None:
        """Begin the span of a tool call. A call that hands in a result gets one only if the result is sent back."""
        if call.name in FINISHING:
            return None
        of = {"call": call.id, "arguments": call.arguments, "derived": SINCE_TURN}
        return self._book.begin("tool", call.name, running["lane"], event.at, **_make_span_fields(event, running), **of)

    def _record_intent(self, event: ev.ToolStarted, place: AttemptKey) -> None:
        draft = self._calls.find_span(place, event.call)
        if draft is not None:
            draft.set(start=max(draft["start"], event.at), derived="", words=event.what)
            draft.add_event(self._book.seq, event.at)

    def _end_tool_call(self, event: ev.ToolReturned, running: SpanDraft, place: AttemptKey) -> None:
        call, draft = self._calls.take_call(place, event.reply.call_id)
        if draft is None:
            of = {"call": event.reply.call_id, "arguments": call.arguments if call else {}, "derived": SINCE_STEP}
            name = call.name if call else "a tool"
            draft = self._book.begin(
                "tool", name, running["lane"], running.before, **_make_span_fields(event, running), **of
            )
        failed = event.reply.failed
        words = draft.get("words") or ("failed" if failed else "returned")
        said = {"text": event.reply.text, "words": words, "reason": event.reply.text[:300] if failed else ""}
        self._book.close(draft, event.at, "failed" if failed else "done", **said)

    def set_ruled_calls_start(self, request: str, subtask: str, at: float) -> None:
        """Set the start of the calls that waited for people to `at`, when they decided."""
        for draft in self._calls.list_spans((request, subtask)):
            if draft["start"] < at:
                draft.set(start=at, derived=SINCE_RULING)

    # ---------------------------------------------------------------- ends

    def _end_attempt(
        self,
        event: ev.ResultReturned | ev.AttemptFailed | ev.Escalated,
        running: SpanDraft,
        place: AttemptKey,
        work: SubtaskState | None,
    ) -> None:
        if work is not None and work.question is not None and work.question.doubt is not None:
            return  # people are asked what became of a call; the attempt goes on after that
        usage = event.result.usage if isinstance(event, ev.ResultReturned) else event.usage
        left = subtract_usage(usage, sum_usages(self._turn_usages[place])) if usage.model_fields_set else None
        state: SpanState = "done" if isinstance(event, ev.ResultReturned) else "failed"
        fields: dict[str, Any] = {}
        match event:
            case ev.ResultReturned(result=result):
                fields = {"outcome": "result", "text": result.content, "words": result.summary}
                if event.faults or event.doubts:
                    fields["reason"] = "; ".join((*event.faults, *event.doubts))
            case ev.AttemptFailed():
                fields = {"outcome": event.kind, "reason": event.message, "words": event.message}
                if event.kind in MODEL_FAILURES and not self._calls.list_spans(place):
                    self._record_lost_calls(event, running, left)
                    left = None
            case ev.Escalated(escalation=said):
                fields = {"outcome": said.reason, "reason": said.message, "words": said.message}
                fields["text"] = said.partial_result.content if said.partial_result else ""
                state = "done" if said.reason == "ambiguous_input" else state  # a question is no failure
        self._drop_attempt(place, event.at)
        self._book.close(running, event.at, state, **fields, usage=left)

    def _record_lost_calls(self, event: ev.AttemptFailed, running: SpanDraft, usage: Any) -> None:
        """Add a span for model calls that returned no turn."""
        of = {"words": event.message, "reason": event.message, "outcome": event.kind, "derived": SINCE_STEP}
        named = usage.model if usage is not None else ""
        told = {"model": named, "tier": running["tier"], "usage": usage}
        times = (running.before, event.at)
        self._book.add(
            "chat",
            named or "model",
            running["lane"],
            times,
            "failed",
            **_make_span_fields(event, running),
            **of,
            **told,
        )

    def _stop_attempt(self, running: SpanDraft, place: AttemptKey, why: str) -> None:
        self._drop_attempt(place, self._book.at)
        self._book.close(running, self._book.at, "stopped", reason=why)

    def _drop_attempt(self, place: AttemptKey, at: float) -> None:
        for draft in self._calls.end_attempt(place):
            self._book.close(draft, at, "stopped")
        self._running_attempts.pop(place, None)

    def end_settled_spans(self, ask: RequestState) -> None:
        """End the spans of attempts and subtasks that are over by now: by a deadline, a Stop or a new plan."""
        over = ask.run.failure is not None or ask.is_over
        for place, running in [*self._running_attempts.items()]:
            work = ask.work.get(place[1])
            if place[0] != ask.id:
                continue
            gone = (
                work is None
                or work.state in SETTLED_STATES
                or work.state == "pending"
                or work.attempt > running["attempt"]
            )
            if gone or over:
                self._stop_attempt(running, place, _explain_stop(ask, work))
        for place, draft in [*self._open_subtasks.items()]:
            if place[0] == ask.id:
                self._settle_subtask(ask, place, draft, is_request_over=over)

    def _settle_subtask(self, ask: RequestState, place: AttemptKey, draft: SpanDraft, *, is_request_over: bool) -> None:
        work = ask.work.get(place[1])
        if work is not None and work.state not in SETTLED_STATES and not is_request_over:
            return
        del self._open_subtasks[place]
        self._settled_subtasks.add(place)
        if work is None:
            self._book.close(draft, self._book.at, "stopped", outcome="given up")
            return
        state: SpanState = {"complete": "done", "error": "failed"}.get(work.state, "stopped")  # type: ignore[assignment]
        text = work.result.content if work.result is not None else ""
        words = work.result.summary if work.result is not None else work.reason
        outcome = work.state if work.state in SETTLED_STATES else "stopped"
        told = {"outcome": outcome, "reason": work.reason, "words": words, "text": text, "brief": work.brief_text}
        self._book.close(draft, work.ended if work.ended is not None else self._book.at, state, **told)

    def begin_resumed_attempts(self, ask: RequestState) -> None:
        """Begin the spans of attempts that a retry continues: these have no event for their start."""
        if ask.run.failure is not None or ask.is_over:
            return
        for name, work in ask.work.items():
            place = (ask.id, name)
            if work.state != "in_progress" or not work.attempt or place in self._running_attempts:
                continue
            self._begin_attempt_span(ask, work, place, self._book.at, CONTINUED)

    def add_untouched_subtasks(self, ask: RequestState) -> None:
        """Add a span for each subtask that ended without an attempt: skipped, or taken over from an earlier try."""
        for name, work in ask.work.items():
            place = (ask.id, name)
            if work.state not in SETTLED_STATES or place in self._settled_subtasks or place in self._open_subtasks:
                continue
            draft = self.ensure_subtask(ask, work)
            self._settle_subtask(ask, place, draft, is_request_over=False)
            if work.state == "complete":
                draft.set(words=f"taken over as it stood: {draft['words']}")
            else:
                draft.set(words="not needed" if work.dropped else f"{work.state}: {work.reason}")


def _make_span_fields(event: ev.AttemptEvent, running: SpanDraft) -> dict[str, Any]:
    return {"parent": running["id"], "request": event.request, "subtask": event.subtask, "attempt": event.attempt}


def _explain_stop(ask: RequestState, work: SubtaskState | None) -> str:
    if ask.cancelled_by:
        return "a person stopped it"
    return work.reason if work is not None else ""


def find_lane(ask: RequestState, within: str) -> str:
    """Return the lane of the plan run at the subtask `within`: its crew's; without a subtask, the supervisor's."""
    work = ask.work.get(within)
    return work.specialist if work is not None else SUPERVISORS_LANE
