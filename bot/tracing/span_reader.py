"""Derives the spans of a job from its log: which steps ran when, by whom, below which other span, and why.

Spans follow from the log alone, so they are complete after a takeover, and the same on each instance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from bot.store.values import LogEntry
from bot.tracing.attempt_spans import AttemptSpans
from bot.tracing.role_spans import RoleSpans
from bot.tracing.span import SUPERVISORS_LANE, Span, SpanState
from bot.tracing.span_book import SpanBook, SpanDraft
from bot.tracing.steps import WalkedEntry, walk_log
from bot.tracing.wait_spans import WaitSpans
from handoff import events as ev
from handoff.engine.engine import CHECKPOINT_EVENTS
from handoff.state.job_state import Job, RequestStatus

_ANSWER_POST = "the answer"
_STEP_KINDS = frozenset({"gather", "plan", "attempt", "wait", "pause", "verify", "refine", "synthesis", "post"})


def mark_critical_paths(all_spans: Sequence[Span], last_inner_steps: Mapping[str, str]) -> tuple[Span, ...]:
    """Return the spans, with `critical` set on the critical paths: the steps that the end of a request waited for.

    Each step has in `after` the step whose end let it begin, so a path is followed backwards from the answer.
    `last_inner_steps` has, by the id of a crew's attempt, the id of its last inner step.
    """
    by_id = {one.id: one for one in all_spans}
    children: dict[str, list[Span]] = {}
    last: dict[str, Span] = {}
    for one in all_spans:
        children.setdefault(one.parent, []).append(one)
        if one.kind in _STEP_KINDS and one.request and _rank_as_end(one) >= _rank_as_end(last.get(one.request)):
            last[one.request] = one
    path: set[str] = set()
    for end in last.values():
        _collect_path(end.id, by_id, last_inner_steps, path)
    for name in [*path]:
        path |= {one.id for one in children.get(name, ()) if one.kind == "wait"}
    for request in {by_id[name].request for name in path}:
        path |= {one.id for one in all_spans if one.kind == "request" and one.request == request}
    return tuple(replace(one, critical=True) if one.id in path else one for one in all_spans)


def _rank_as_end(span: Span | None) -> tuple[bool, float]:
    """Return the rank of a step as the end of its request: the answer's post first, then the step that ended last."""
    if span is None:
        return (False, 0.0)
    return (span.kind == "post" and span.name == _ANSWER_POST, span.end if span.end is not None else float("inf"))


def _collect_path(span_id: str, by_id: Mapping[str, Span], last_inner_steps: Mapping[str, str], path: set[str]) -> None:
    while span_id and span_id not in path:
        path.add(span_id)
        span = by_id[span_id]
        inner_id = last_inner_steps.get(span_id, "")
        if inner_id and inner_id not in path:
            _collect_path(inner_id, by_id, last_inner_steps, path)
        parent = by_id.get(span.parent)
        span_id = span.after or (parent.id if parent is not None and parent.kind == "attempt" else "")


_END_STATES: dict[RequestStatus, SpanState] = {"completed": "done", "failed": "failed", "cancelled": "stopped"}


def read_spans(entries: Sequence[LogEntry]) -> tuple[Span, ...]:
    """Return the spans of a log in the order of their starts, each after its parent.

    Reading stops at the first entry that cannot be read: spans under way by then stay `open`. Takes time in proportion
    to the log.
    """
    reader = SpanReader()
    for one in walk_log(entries):
        if one.event is None or one.after is None:
            break
        reader.read_event(one, one.event, one.after)
    return reader.list_spans()


class SpanReader:
    """Collects the spans of a job while its log is read, entry by entry."""

    def __init__(self) -> None:
        self.last_event_at = 0.0
        """The time of the last event."""
        self._book = SpanBook()
        self._requests: dict[str, SpanDraft] = {}
        self._attempts = AttemptSpans(self._book, self._requests)
        self._roles = RoleSpans(self._book, self._attempts)
        self._waits = WaitSpans(self._book, self._attempts)

    def read_event(self, walked_entry: WalkedEntry, event: ev.Event, job: Job) -> None:
        """Read one event. The order of calls matters: a span that the event ends may be the cause of another."""
        self._book.begin_entry(walked_entry.entry.seq, event.at)
        self.last_event_at = max(self.last_event_at, event.at)
        request = job.find_request(event.request) if isinstance(event, ev.RequestEvent) else job.current_request
        before = (
            walked_entry.before.find_request(request.id)
            if walked_entry.before is not None and request is not None
            else None
        )
        if isinstance(event, CHECKPOINT_EVENTS):
            if request is not None and before is not None and request is not before:
                self._attempts.apply_event(event, before, request)
            return
        self._begin_requests(walked_entry.before, job)
        self._waits.apply_event(event)
        if request is not None:
            self._waits.end_pauses(request)
            if before is not None and request is not before:
                self._attempts.apply_event(event, before, request)
        self._roles.apply_event(event)
        for changed_request, _ in job.list_changed_requests(walked_entry.before):
            self._waits.update_questions(changed_request)
            self._attempts.end_settled_spans(changed_request)
            self._attempts.add_unattempted_subtasks(changed_request)
            self._attempts.begin_continued_attempts(changed_request)
            self._waits.begin_pauses(changed_request)
        self._roles.update_steps(job, event.at)
        self._end_requests(walked_entry.before, job)
        self._book.attach_decisions(walked_entry.decisions)

    def _begin_requests(self, before: Job | None, job: Job) -> None:
        for request in job.requests[len(before.requests) if before is not None else 0 :]:
            self._requests[request.id] = self._book.begin_span(
                "request",
                " ".join(request.text.split()) or "a request",
                SUPERVISORS_LANE,
                min(request.spec.at, self._book.entry_time),
                request=request.id,
                brief=request.text,
                words=f"asked by {request.spec.user}",
                reason=request.refusal,
            )

    def _end_requests(self, before: Job | None, job: Job) -> None:
        for request, earlier in job.list_changed_requests(before):
            if not request.is_over or (earlier is not None and earlier.is_over) or request.id not in self._requests:
                continue
            failure, run = request.run.failure, request.run
            reason = f"{failure.step}: {failure.reason}" if failure is not None else ""
            fields = {
                "outcome": request.state,
                "reason": reason,
                "text": run.answer or (failure.advice if failure else ""),
            }
            at = request.ended_at if request.ended_at is not None else self._book.entry_time
            self._book.end_span(self._requests[request.id], at, _END_STATES[request.state], **fields)

    def list_spans(self) -> tuple[Span, ...]:
        """Return the spans so far, with the critical path of each request marked."""
        return mark_critical_paths(self._book.list_spans(), self._roles.last_inner_steps)
