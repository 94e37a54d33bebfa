"""Derives the spans of a job from its log: which steps ran when, by whom, below which other span, and why.

They follow from the log alone, so they are complete after a takeover, and the same on each instance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from bot.store.values import LogEntry
from bot.tracing.attempt_spans import OpenAttempts
from bot.tracing.role_spans import OpenRoleSteps
from bot.tracing.span import SUPERVISORS_LANE, Span, SpanState
from bot.tracing.span_book import SpanBook, SpanDraft
from bot.tracing.steps import WalkedEntry, walk_log
from bot.tracing.wait_spans import OpenWaits
from handoff import events as ev
from handoff.engine.engine import CHECKPOINTS
from handoff.state.job_state import Job, RequestStatus

_ANSWER_POST = "the answer"
_STEP_KINDS = frozenset({"gather", "plan", "attempt", "wait", "pause", "verify", "refine", "synthesis", "post"})


def mark_critical_paths(all_spans: Sequence[Span], last_inner_steps: Mapping[str, str]) -> tuple[Span, ...]:
    """Return the spans, with `critical` set on the critical paths: the steps that the end of a request waited for.

    Each step has in `after` the step whose end let it begin, so a path is followed backwards from the answer.
    `last_inner_steps` has, by the id of a crew's attempt, the id of its last inner step.
    """
    by_id = {one.id: one for one in all_spans}
    below: dict[str, list[Span]] = {}
    last: dict[str, Span] = {}
    for one in all_spans:
        below.setdefault(one.parent, []).append(one)
        if one.kind in _STEP_KINDS and one.request and _rank_as_end(one) >= _rank_as_end(last.get(one.request)):
            last[one.request] = one
    path: set[str] = set()
    for end in last.values():
        _collect_path(end.id, by_id, last_inner_steps, path)
    for name in [*path]:
        path |= {one.id for one in below.get(name, ()) if one.kind == "wait"}
    for request in {by_id[name].request for name in path}:
        path |= {one.id for one in all_spans if one.kind == "request" and one.request == request}
    return tuple(replace(one, critical=True) if one.id in path else one for one in all_spans)


def _rank_as_end(span: Span | None) -> tuple[bool, float]:
    """Return the rank of a step as the end of its request: the answer's post first, then the step that ended last."""
    if span is None:
        return (False, 0.0)
    return (span.kind == "post" and span.name == _ANSWER_POST, span.end if span.end is not None else float("inf"))


def _collect_path(name: str, by_id: Mapping[str, Span], last_inner_steps: Mapping[str, str], path: set[str]) -> None:
    while name and name not in path:
        path.add(name)
        here = by_id[name]
        inside = last_inner_steps.get(name, "")
        if inside and inside not in path:
            _collect_path(inside, by_id, last_inner_steps, path)
        around = by_id.get(here.parent)
        name = here.after or (around.id if around is not None and around.kind == "attempt" else "")


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
        self.until = 0.0
        """The time of the last event."""
        self._book = SpanBook()
        self._requests: dict[str, SpanDraft] = {}
        self._attempts = OpenAttempts(self._book, self._requests)
        self._roles = OpenRoleSteps(self._book, self._attempts)
        self._waits = OpenWaits(self._book, self._attempts)

    def read_event(self, walked_entry: WalkedEntry, event: ev.Event, job: Job) -> None:
        """Read one event. The order of calls matters: a span that the event ends may be the cause of another."""
        self._book.begin_entry(walked_entry.entry.seq, event.at)
        self.until = max(self.until, event.at)
        ask = job.find_request(event.request) if isinstance(event, ev.RequestEvent) else job.current_request
        before = (
            walked_entry.before.find_request(ask.id) if walked_entry.before is not None and ask is not None else None
        )
        if isinstance(event, CHECKPOINTS):
            if ask is not None and before is not None and ask is not before:
                self._attempts.apply_event(event, before, ask)
            return
        self._begin_requests(walked_entry.before, job)
        self._waits.apply_event(event)
        if ask is not None:
            self._waits.end_pauses(ask)
            if before is not None and ask is not before:
                self._attempts.apply_event(event, before, ask)
        self._roles.apply_event(event)
        for changed, _ in job.list_changed_requests(walked_entry.before):
            self._waits.update_questions(changed)
            self._attempts.end_settled_spans(changed)
            self._attempts.add_untouched_subtasks(changed)
            self._attempts.begin_resumed_attempts(changed)
            self._waits.begin_pauses(changed)
        self._roles.update_steps(job, event.at)
        self._end_requests(walked_entry.before, job)
        self._book.attach_decisions(walked_entry.decisions)

    def _begin_requests(self, before: Job | None, job: Job) -> None:
        for ask in job.asks[len(before.asks) if before is not None else 0 :]:
            self._requests[ask.id] = self._book.begin(
                "request",
                " ".join(ask.text.split()) or "a request",
                SUPERVISORS_LANE,
                min(ask.request.at, self._book.at),
                request=ask.id,
                brief=ask.text,
                words=f"asked by {ask.request.user}",
                reason=ask.refusal,
            )

    def _end_requests(self, before: Job | None, job: Job) -> None:
        for ask, earlier in job.list_changed_requests(before):
            if not ask.is_over or (earlier is not None and earlier.is_over) or ask.id not in self._requests:
                continue
            failure, run = ask.run.failure, ask.run
            reason = f"{failure.step}: {failure.reason}" if failure is not None else ""
            told = {"outcome": ask.state, "reason": reason, "text": run.answer or (failure.advice if failure else "")}
            at = ask.ended if ask.ended is not None else self._book.at
            self._book.close(self._requests[ask.id], at, _END_STATES[ask.state], **told)

    def list_spans(self) -> tuple[Span, ...]:
        """Return the spans so far, with the critical path of each request marked."""
        return mark_critical_paths(self._book.list_spans(), self._roles.last_inner_steps)
