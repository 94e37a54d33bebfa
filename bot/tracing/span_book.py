"""Where spans are kept while a log is read: they are begun, closed, and at the end given out in order."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from bot.tracing.span import Span, SpanKind, SpanState
from handoff.contracts import Usage
from handoff.state.state_values import EngineDecision

CONTAINERS = frozenset({"request", "subtask"})
"""Kinds that hold others and are no step themselves."""
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
"""Kinds that a decision can be about, by rank: a span that ended when it was made, or else one that began then."""


class SpanDraft:
    """A span that may still change. Its fields are those of `Span`."""

    __slots__ = ("at", "before", "began_by", "fields", "last", "until")

    def __init__(self, began_by: int, fields: dict[str, Any]) -> None:
        self.began_by = began_by
        self.fields = fields
        self.last: float = fields["start"]
        """When its latest event happened; `before` is when the event before that did."""
        self.before = self.last
        self.until: float = fields["start"]
        """When it is to end, if that is known before."""
        self.at: list[int] = [began_by] if began_by else []

    def __getitem__(self, name: str) -> Any:
        return self.fields[name]

    def get(self, name: str, otherwise: Any = "") -> Any:
        """Return a field, or `otherwise` where it was not set."""
        return self.fields.get(name, otherwise)

    def set(self, **fields: Any) -> None:
        """Change fields."""
        self.fields.update(fields)

    def touch(self, seq: int, at: float) -> None:
        """Note one more event of it."""
        if not self.at or self.at[-1] != seq:
            self.at.append(seq)
            self.before = self.last
        self.last = max(self.last, at)

    def span(self) -> Span:
        """Return the span as it stands."""
        return Span(**self.fields, events=tuple(sorted(set(self.at))))


class SpanBook:
    """The spans of one job. `seq` and `at` are those of the entry that is being read."""

    def __init__(self) -> None:
        self.drafts: dict[str, SpanDraft] = {}
        self.seq = 0
        self.at = 0.0
        self._counts: dict[tuple[str, int], int] = {}
        self.ended_with: dict[int, list[str]] = {}
        self.ended_here: list[SpanDraft] = []
        self.begun_here: list[SpanDraft] = []

    def turn_to(self, seq: int, at: float) -> None:
        """Go on to the next entry."""
        self.seq, self.at = seq, at
        self.ended_here, self.begun_here = [], []

    def begin(self, kind: SpanKind, name: str, lane: str, start: float, **fields: Any) -> SpanDraft:
        """Begin a span with the present entry, or with the one that `by` names."""
        by = fields.pop("by", self.seq)
        count = self._counts[kind, by] = self._counts.get((kind, by), 0) + 1
        number = f"{kind}-{by}" if count == 1 else f"{kind}-{by}-{count}"
        filled = {"id": number, "kind": kind, "name": name, "lane": lane, "start": start, "end": None, "state": "open"}
        draft = self.drafts[number] = SpanDraft(by, filled | fields)
        self.begun_here.append(draft)
        return draft

    def close(self, draft: SpanDraft, at: float, state: SpanState = "done", **fields: Any) -> None:
        """End a span at `at`, but never before it began. One that has ended stays as it is."""
        if draft["state"] != "open":
            return
        draft.set(**fields, end=max(at, draft["start"]), state=state)
        draft.touch(self.seq, at)
        self.ended_with.setdefault(self.seq, []).append(draft["id"])
        self.ended_here.append(draft)

    def add(
        self, kind: SpanKind, name: str, lane: str, times: tuple[float, float], state: SpanState = "done", **fields: Any
    ) -> SpanDraft:
        """Add a span of which the log tells only once it is over."""
        draft = self.begin(kind, name, lane, min(times), **fields)
        self.close(draft, times[1], state)
        return draft

    def find_cause(self, seq: int, but: Iterable[str] = ()) -> str:
        """Return the id of the step that ended with an event; empty if none did."""
        without = {*but}
        found = [one for one in self.ended_with.get(seq, ()) if self.drafts[one]["kind"] not in CONTAINERS]
        return next((one for one in found if one not in without and self.drafts[one]["kind"] != "chat"), "")

    def attach_decisions(self, decisions: Iterable[EngineDecision]) -> None:
        """Put each decision of the present entry to the span that it is about."""
        for one in decisions:
            about = _find_decision_span(self.ended_here, one) or _find_decision_span(self.begun_here, one)
            if about is not None:
                about.set(decisions=(*about.get("decisions", ()), one))

    def spans(self) -> tuple[Span, ...]:
        """Return all spans by the time at which they began, each after the one that it is below."""
        depth: dict[str, int] = {}
        for name, draft in self.drafts.items():
            depth[name] = depth.get(draft.get("parent"), -1) + 1
        order = sorted(self.drafts, key=lambda name: (self.drafts[name]["start"], depth[name]))
        return _order_after_parents([self.drafts[name].span() for name in order])


def _order_after_parents(found: list[Span]) -> tuple[Span, ...]:
    """Return the spans, each behind its parent, even where clocks say that the parent began later."""
    there: set[str] = set()
    done: list[Span] = []
    held: dict[str, list[Span]] = {}
    names = {one.id for one in found}
    for one in found:
        if one.parent and one.parent not in there and one.parent in names:
            held.setdefault(one.parent, []).append(one)
            continue
        queue = [one]
        while queue:
            now = queue.pop(0)
            done.append(now)
            there.add(now.id)
            queue += held.pop(now.id, [])
    return tuple(done)


def _find_decision_span(drafts: list[SpanDraft], decision: EngineDecision) -> SpanDraft | None:
    there = [one for one in drafts if one["kind"] in _DECISION_KINDS and one.get("subtask") == decision.subtask]
    return min(there, key=lambda one: _DECISION_KINDS.index(one["kind"]), default=None)


def has_usage(usage: Usage | None) -> bool:
    """Return True if there is anything to tell of a usage."""
    return usage is not None and bool(usage.calls or usage.tokens_in or usage.tokens_out or usage.duration)


def sum_usages(usages: Iterable[Usage | None]) -> Usage:
    """Add usages up."""
    return sum((one for one in usages if one is not None), Usage())


def subtract_usage(usage: Usage, known: Usage) -> Usage | None:
    """Return what `usage` holds beyond `known`; None if that is nothing."""
    cost = None
    if usage.cost is not None:
        cost = max(0.0, usage.cost - (known.cost or 0.0))
    left = Usage(
        model=usage.model,
        calls=max(0, usage.calls - known.calls),
        tokens_in=max(0, usage.tokens_in - known.tokens_in),
        tokens_out=max(0, usage.tokens_out - known.tokens_out),
        tokens_cached=max(0, usage.tokens_cached - known.tokens_cached),
        cost=cost,
        duration=max(0.0, usage.duration - known.duration),
    )
    return left if left.calls or left.tokens_in or left.tokens_out else None
