"""Collects spans while a log is read: they are begun, closed, and at the end returned in order."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from bot.tracing.span import Span, SpanKind, SpanState
from handoff.contracts import Usage
from handoff.state.state_values import EngineDecision

CONTAINER_KINDS = frozenset({"request", "subtask"})
"""Kinds of spans that only contain others, and are no steps."""
_DECISION_KINDS = (
    "plan",
    "verify",
    "refine",
    "synthesis",
    "gather",
    "attempt",
    "tool",
    "wait",
    "post",
    "subtask",
    "request",
)
"""Kinds of spans to which `SpanBook.attach_decisions` adds a decision, the preferred kind first."""


class SpanDraft:
    """A span that may still change. Its fields are those of `Span`. `began_by` is the `seq` of its first event."""

    __slots__ = ("began_by", "event_seqs", "fields", "last_event_at", "planned_end", "previous_event_at")

    def __init__(self, began_by: int, fields: dict[str, Any]) -> None:
        self.began_by = began_by
        self.fields = fields
        self.last_event_at: float = fields["start"]
        """The time of its latest event; `previous_event_at` is that of the event before it."""
        self.previous_event_at = self.last_event_at
        self.planned_end: float = fields["start"]
        """For a pause, when it is to end."""
        self.event_seqs: list[int] = [began_by] if began_by else []

    def __getitem__(self, name: str) -> Any:
        return self.fields[name]

    def get(self, name: str, default: Any = "") -> Any:
        """Return a field, or `default` if it is not set."""
        return self.fields.get(name, default)

    def set(self, **fields: Any) -> None:
        """Set fields."""
        self.fields.update(fields)

    def add_event(self, seq: int, time: float) -> None:
        """Add an event, by its `seq` and time, to the events of the span."""
        if not self.event_seqs or self.event_seqs[-1] != seq:
            self.event_seqs.append(seq)
            self.previous_event_at = self.last_event_at
        self.last_event_at = max(self.last_event_at, time)

    def make_span(self) -> Span:
        """Return the finished `Span`."""
        return Span(**self.fields, events=tuple(sorted(set(self.event_seqs))))


class SpanBook:
    """The spans of one job. `seq` and `at` are the number and the time of the log entry being read."""

    def __init__(self) -> None:
        self.drafts: dict[str, SpanDraft] = {}
        self.entry_seq = 0
        self.entry_time = 0.0
        self._counts: dict[tuple[str, int], int] = {}
        self.ended_by_seq: dict[int, list[str]] = {}
        self.ended_here: list[SpanDraft] = []
        self.begun_here: list[SpanDraft] = []

    def begin_entry(self, seq: int, at: float) -> None:
        """Go to the next entry of the log."""
        self.entry_seq, self.entry_time = seq, at
        self.ended_here, self.begun_here = [], []

    def begin_span(self, kind: SpanKind, name: str, lane: str, start: float, **fields: Any) -> SpanDraft:
        """Begin a span at the present entry, or at the entry whose `seq` is in `fields` as `by`."""
        by = fields.pop("by", self.entry_seq)
        count = self._counts[kind, by] = self._counts.get((kind, by), 0) + 1
        number = f"{kind}-{by}" if count == 1 else f"{kind}-{by}-{count}"
        initial_fields = {
            "id": number,
            "kind": kind,
            "name": name,
            "lane": lane,
            "start": start,
            "end": None,
            "state": "open",
        }
        draft = self.drafts[number] = SpanDraft(by, initial_fields | fields)
        self.begun_here.append(draft)
        return draft

    def end_span(self, draft: SpanDraft, at: float, state: SpanState = "done", **fields: Any) -> None:
        """End a span at the time `at`, but not before its start. A span that has ended already stays as it is."""
        if draft["state"] != "open":
            return
        draft.set(**fields, end=max(at, draft["start"]), state=state)
        draft.add_event(self.entry_seq, at)
        self.ended_by_seq.setdefault(self.entry_seq, []).append(draft["id"])
        self.ended_here.append(draft)

    def add_ended_span(
        self, kind: SpanKind, name: str, lane: str, times: tuple[float, float], state: SpanState = "done", **fields: Any
    ) -> SpanDraft:
        """Add a span that is over when the log first mentions it. `times` are its start and end."""
        draft = self.begin_span(kind, name, lane, min(times), **fields)
        self.end_span(draft, times[1], state)
        return draft

    def find_cause_id(self, seq: int, excluded_ids: Iterable[str] = ()) -> str:
        """Return the id of a step that ended with the event `seq` and is not in `excluded_ids`, or ""."""
        without = {*excluded_ids}
        ended_ids = [one for one in self.ended_by_seq.get(seq, ()) if self.drafts[one]["kind"] not in CONTAINER_KINDS]
        return next((one for one in ended_ids if one not in without and self.drafts[one]["kind"] != "chat"), "")

    def attach_decisions(self, decisions: Iterable[EngineDecision]) -> None:
        """Add each decision at the present entry to its span: one that ended at the entry, otherwise one that began."""
        for one in decisions:
            about = _find_decision_span(self.ended_here, one) or _find_decision_span(self.begun_here, one)
            if about is not None:
                about.set(decisions=(*about.get("decisions", ()), one))

    def list_spans(self) -> tuple[Span, ...]:
        """Return all spans in the order of their starts, each after its parent."""
        depth: dict[str, int] = {}
        for name, draft in self.drafts.items():
            depth[name] = depth.get(draft.get("parent"), -1) + 1
        order = sorted(self.drafts, key=lambda name: (self.drafts[name]["start"], depth[name]))
        return _order_after_parents([self.drafts[name].make_span() for name in order])


def _order_after_parents(spans: list[Span]) -> tuple[Span, ...]:
    """Return the spans, each after its parent, even if the parent began later by the clocks."""
    listed_ids: set[str] = set()
    ordered_spans: list[Span] = []
    waiting_by_parent: dict[str, list[Span]] = {}
    names = {one.id for one in spans}
    for one in spans:
        if one.parent and one.parent not in listed_ids and one.parent in names:
            waiting_by_parent.setdefault(one.parent, []).append(one)
            continue
        queue = [one]
        while queue:
            span = queue.pop(0)
            ordered_spans.append(span)
            listed_ids.add(span.id)
            queue += waiting_by_parent.pop(span.id, [])
    return tuple(ordered_spans)


def _find_decision_span(drafts: list[SpanDraft], decision: EngineDecision) -> SpanDraft | None:
    candidates = [one for one in drafts if one["kind"] in _DECISION_KINDS and one.get("subtask") == decision.subtask]
    return min(candidates, key=lambda one: _DECISION_KINDS.index(one["kind"]), default=None)


def has_usage(usage: Usage | None) -> bool:
    """Return True if a usage has calls, tokens or seconds."""
    return usage is not None and bool(usage.calls or usage.tokens_in or usage.tokens_out or usage.duration)


def sum_usages(usages: Iterable[Usage | None]) -> Usage:
    """Add usages up."""
    return sum((one for one in usages if one is not None), Usage())


def subtract_usage(usage: Usage, subtrahend: Usage) -> Usage | None:
    """Return `usage` less `subtrahend`; None if no calls and tokens remain."""
    cost = None
    if usage.cost is not None:
        cost = max(0.0, usage.cost - (subtrahend.cost or 0.0))
    remainder = Usage(
        model=usage.model,
        calls=max(0, usage.calls - subtrahend.calls),
        tokens_in=max(0, usage.tokens_in - subtrahend.tokens_in),
        tokens_out=max(0, usage.tokens_out - subtrahend.tokens_out),
        tokens_cached=max(0, usage.tokens_cached - subtrahend.tokens_cached),
        cost=cost,
        duration=max(0.0, usage.duration - subtrahend.duration),
    )
    return remainder if remainder.calls or remainder.tokens_in or remainder.tokens_out else None
