"""The trace of a job, limited to what its reader may see: steps, spans, and the figures of each request."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from bot.store.values import LogEntry
from bot.tracing.span import SUPERVISORS_LANE, Span
from bot.tracing.span_book import sum_usages
from bot.tracing.span_reader import SpanReader
from bot.tracing.steps import TraceStep, walk_log
from handoff.access.rights import concerns_requests
from handoff.contracts import PATH_SEPARATOR, Usage
from handoff.state.job_state import Job, RequestState
from handoff.summaries.summary import describe_speed_up, measure_parallel_work

MAX_SPANS = 20_000
"""Most spans of a trace. A log of 10,000 events has fewer, unless models make many calls at once."""
BUSY_KINDS = frozenset({"attempt", "gather", "plan", "verify", "refine", "synthesis"})
"""Kinds of spans that count as time at work."""


@dataclass(frozen=True, slots=True)
class TraceLane:
    """The figures of one specialist, or of the supervisor, for a request.

    `busy_seconds` is the seconds at work, `waited_seconds` the seconds of waiting for people or for a retry, and
    `failed_count` the number of failed attempts.
    """

    name: str
    usage: Usage
    busy_seconds: float
    waited_seconds: float
    attempt_count: int
    failed_count: int


@dataclass(frozen=True, slots=True)
class RequestFigures:
    """The figures of one request. Times are seconds since the epoch."""

    id: str
    user: str
    text: str
    state: str
    start: float
    end: float | None
    """None while the request is under way."""
    answered_at: float | None
    """When the answer or the failure was decided, which ends the duration that people see; None before."""
    sequential_seconds: float
    """The sum of the seconds of its subtasks; 0 if fewer than two have ended."""
    parallel_seconds: float
    """The seconds from the first start to the last end of its subtasks; 0 if fewer than two have ended."""
    gain_line: str
    """Compares both durations in the words of the answer's context line; empty if little time was gained."""
    usage: Usage
    lanes: tuple[TraceLane, ...]


@dataclass(frozen=True, slots=True)
class Trace:
    """The trace of a job, or of one person's requests in it."""

    job: str
    team: str
    state: str
    steps: tuple[TraceStep, ...]
    spans: tuple[Span, ...]
    requests: tuple[RequestFigures, ...]
    last_event_at: float = 0.0
    """The time of the last event that could be read."""
    first_unreadable_seq: int = 0
    """The `seq` of the first entry that cannot be read; 0 if all can."""
    unreadable_count: int = 0
    """The number of entries from `first_unreadable_seq` on. Only their text is known."""
    omitted_spans: int = 0
    """The number of spans beyond `MAX_SPANS`, which are not in `spans`."""
    budget_lines: tuple[str, ...] = ()
    """Lines for people on the budgets of the job."""

    def list_request_spans(self, request: str) -> tuple[Span, ...]:
        """Return the spans of one request."""
        return tuple(one for one in self.spans if one.request == request)


class UnreadableEntry(ValueError):
    """An entry of the log cannot be read, so it is unknown whose request it is about."""


def derive_trace(
    entries: Sequence[LogEntry],
    *,
    job: str = "",
    team: str = "",
    request_ids: frozenset[str] | None = None,
    user: str = "",
) -> Trace:
    """Derive the trace from a log: of all requests, or of `request_ids` alone, all of them by `user`.

    Takes time in proportion to the log. Raises UnreadableEntry if `request_ids` is set and an entry cannot be read.
    """
    reader, steps, job_state = SpanReader(), [], None
    first_unreadable_seq = unreadable_count = 0
    for one in walk_log(entries, request_ids):
        if one.event is None or one.after is None:
            if request_ids is not None:
                raise UnreadableEntry("an entry of the log cannot be read")
            first_unreadable_seq, unreadable_count = first_unreadable_seq or one.entry.seq, unreadable_count + 1
        else:
            reader.read_event(one, one.event, one.after)
            job_state = one.after
        if request_ids is None or (one.event is not None and concerns_requests(one.event, request_ids, user)):
            steps.append(TraceStep(one.entry, one.decisions))
    spans = reader.list_spans()
    shown_spans = spans if request_ids is None else _select_spans(spans, request_ids)
    return Trace(
        job=job or (job_state.id if job_state is not None else ""),
        team=team or (job_state.place.team if job_state is not None else ""),
        state=job_state.latest_request.state if job_state is not None and job_state.requests else "",
        steps=tuple(steps),
        spans=shown_spans[:MAX_SPANS],
        requests=_sum_up_requests(job_state, shown_spans, request_ids),
        last_event_at=reader.last_event_at,
        first_unreadable_seq=first_unreadable_seq,
        unreadable_count=unreadable_count,
        omitted_spans=max(0, len(shown_spans) - MAX_SPANS),
    )


def _select_spans(spans: Iterable[Span], request_ids: frozenset[str]) -> tuple[Span, ...]:
    """Return the spans of the requests `request_ids`, and those about the whole job."""
    kept_spans = [one for one in spans if one.request in request_ids or (not one.request and one.kind != "sort")]
    kept_ids = {one.id for one in kept_spans}
    return tuple(one if one.after in kept_ids or not one.after else replace(one, after="") for one in kept_spans)


def _sum_up_requests(
    job: Job | None, spans: Sequence[Span], request_ids: frozenset[str] | None
) -> tuple[RequestFigures, ...]:
    requests = (
        [request for request in job.requests if request_ids is None or request.id in request_ids]
        if job is not None
        else []
    )
    spans_by_request: dict[str, list[Span]] = {}
    for one in spans:
        spans_by_request.setdefault(one.request, []).append(one)
    return tuple(_sum_up_request(request, spans_by_request.get(request.id, [])) for request in requests)


def _sum_up_request(request: RequestState, spans: Sequence[Span]) -> RequestFigures:
    sequential_seconds, parallel_seconds = measure_parallel_work(request)
    return RequestFigures(
        id=request.id,
        user=request.spec.user,
        text=request.text,
        state=request.state,
        start=request.spec.at,
        end=request.ended_at,
        answered_at=request.run.concluded_at,
        sequential_seconds=sequential_seconds,
        parallel_seconds=parallel_seconds,
        gain_line=describe_speed_up(request),
        usage=request.usage,
        lanes=sum_up_lanes(spans),
    )


def sum_up_lanes(spans: Sequence[Span]) -> tuple[TraceLane, ...]:
    """Return the lanes of a request's spans: the supervisor's, then each specialist's, a crew's before its members'."""
    spans_by_lane: dict[str, list[Span]] = {}
    for one in spans:
        spans_by_lane.setdefault(one.lane, []).append(one)
    first = {name: place for place, name in enumerate(spans_by_lane)}

    def make_sort_key(name: str) -> list[int]:
        """Return the sort key of a lane: the positions of its outer crews, then its own, so that it follows them."""
        parts = name.split(PATH_SEPARATOR)
        return [first.get(PATH_SEPARATOR.join(parts[:count]), len(first)) for count in range(1, len(parts) + 1)]

    names = sorted((name for name in spans_by_lane if name != SUPERVISORS_LANE), key=make_sort_key)
    ordered_names = [name for name in (SUPERVISORS_LANE, *names) if name in spans_by_lane]
    crews = find_crew_attempts(spans)
    return tuple(_sum_up_lane(name, spans_by_lane[name], crews) for name in ordered_names)


def find_crew_attempts(spans: Sequence[Span]) -> frozenset[str]:
    """Return the ids of crews' attempts: those with plans or subtasks below them."""
    attempts = {one.id for one in spans if one.kind == "attempt"}
    return frozenset(one.parent for one in spans if one.kind in {"subtask", "plan"} and one.parent in attempts)


def _sum_up_lane(name: str, spans: Sequence[Span], crew_attempts: frozenset[str]) -> TraceLane:
    """Sum up a lane. The lane of a crew counts its plans and answers; its members' work is in their own lanes."""
    attempts = [one for one in spans if one.kind == "attempt"]
    work_intervals = _list_intervals(one for one in spans if one.kind in BUSY_KINDS and one.id not in crew_attempts)
    wait_intervals = _list_intervals(one for one in spans if one.kind in {"wait", "pause"})
    return TraceLane(
        name=name,
        usage=sum_usages(one.usage for one in spans),
        busy_seconds=_sum_covered_seconds(work_intervals + wait_intervals) - _sum_covered_seconds(wait_intervals),
        waited_seconds=_sum_covered_seconds(wait_intervals),
        attempt_count=len(attempts),
        failed_count=sum(one.state == "failed" for one in attempts),
    )


def _list_intervals(spans: Iterable[Span]) -> list[tuple[float, float]]:
    return [(one.start, one.end) for one in spans if one.end is not None]


def _sum_covered_seconds(intervals: list[tuple[float, float]]) -> float:
    """Return the seconds that the time intervals cover; overlaps count once."""
    total, covered_until = 0.0, float("-inf")
    for start, end in sorted(intervals):
        total += max(0.0, end - max(start, covered_until))
        covered_until = max(covered_until, end)
    return total
