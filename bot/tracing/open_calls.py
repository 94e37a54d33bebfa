"""The open tool calls, which have not returned yet, of the attempts under way."""

from __future__ import annotations

from collections import deque

from bot.tracing.span_book import SpanDraft
from handoff.contracts import ToolCall

AttemptPlace = tuple[str, str]
"""The ids of a request and of a subtask."""
Call = tuple[ToolCall | None, SpanDraft | None]
"""A call and its span. The span is None for a call that hands in a result; both are None if no call was found."""


class OpenCalls:
    """The open calls of each attempt: by id in a queue, because models use ids repeatedly."""

    def __init__(self) -> None:
        self._waiting: dict[AttemptPlace, dict[str, deque[Call]]] = {}

    def begin(self, place: AttemptPlace) -> None:
        """Begin an attempt, without calls."""
        self._waiting[place] = {}

    def add(self, place: AttemptPlace, call: ToolCall, draft: SpanDraft | None) -> None:
        """Add an open call with its span."""
        self._waiting[place].setdefault(call.id, deque()).append((call, draft))

    def find(self, place: AttemptPlace, call: str) -> SpanDraft | None:
        """Return the span of the earliest open call with the id `call`; None if there is none."""
        waiting = self._waiting.get(place, {}).get(call)
        return waiting[0][1] if waiting else None

    def take(self, place: AttemptPlace, call: str) -> Call:
        """Remove the earliest open call with the id `call`, and return it with its span; a pair of None without one."""
        waiting = self._waiting.get(place, {}).get(call)
        return waiting.popleft() if waiting else (None, None)

    def drafts(self, place: AttemptPlace) -> list[SpanDraft]:
        """Return the spans of all open calls of an attempt."""
        waiting = self._waiting.get(place, {}).values()
        return [draft for one in waiting for _, draft in one if draft is not None]

    def end(self, place: AttemptPlace) -> list[SpanDraft]:
        """End an attempt, and return the spans of its open calls."""
        left = self.drafts(place)
        self._waiting.pop(place, None)
        return left
