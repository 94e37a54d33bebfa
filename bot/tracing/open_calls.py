"""The tool calls of the attempts under way that have not returned, by request and subtask."""

from __future__ import annotations

from collections import deque

from bot.tracing.span_book import SpanDraft
from handoff.contracts import ToolCall

AttemptPlace = tuple[str, str]
"""A request's id and a subtask's."""
Call = tuple[ToolCall | None, SpanDraft | None]
"""A call and its span; it has none if it only hands in."""


class OpenCalls:
    """Calls wait for their replies in order: models use an id again."""

    def __init__(self) -> None:
        self._waiting: dict[AttemptPlace, dict[str, deque[Call]]] = {}

    def begin(self, place: AttemptPlace) -> None:
        """Begin an attempt: there are no calls of it."""
        self._waiting[place] = {}

    def add(self, place: AttemptPlace, call: ToolCall, draft: SpanDraft | None) -> None:
        """Add a call."""
        self._waiting[place].setdefault(call.id, deque()).append((call, draft))

    def find(self, place: AttemptPlace, call: str) -> SpanDraft | None:
        """Return the span of the open call of that id, the earliest first."""
        waiting = self._waiting.get(place, {}).get(call)
        return waiting[0][1] if waiting else None

    def take(self, place: AttemptPlace, call: str) -> Call:
        """Return the same, which is open no more, with the call itself."""
        waiting = self._waiting.get(place, {}).get(call)
        return waiting.popleft() if waiting else (None, None)

    def drafts(self, place: AttemptPlace) -> list[SpanDraft]:
        """List the spans of all open calls."""
        waiting = self._waiting.get(place, {}).values()
        return [draft for one in waiting for _, draft in one if draft is not None]

    def end(self, place: AttemptPlace) -> list[SpanDraft]:
        """End an attempt. Returns the spans of the calls that are still open."""
        left = self.drafts(place)
        self._waiting.pop(place, None)
        return left
