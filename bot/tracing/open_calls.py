"""The tool calls of the attempts under way that have not returned, by request and subtask."""

from __future__ import annotations

from collections import deque

from bot.tracing.span_book import SpanDraft
from handoff.contracts import ToolCall

AttemptPlace = tuple[str, str]
"""A request's id and a subtask's."""
Call = tuple[ToolCall | None, SpanDraft | None]
"""A call and its span; a call that only hands in a result has none."""


class OpenCalls:
    """The open calls of each attempt by id, in order, because models use an id again."""

    def __init__(self) -> None:
        self._waiting: dict[AttemptPlace, dict[str, deque[Call]]] = {}

    def begin(self, place: AttemptPlace) -> None:
        """Begin an attempt, which has no calls yet."""
        self._waiting[place] = {}

    def add(self, place: AttemptPlace, call: ToolCall, draft: SpanDraft | None) -> None:
        """Add a call."""
        self._waiting[place].setdefault(call.id, deque()).append((call, draft))

    def find(self, place: AttemptPlace, call: str) -> SpanDraft | None:
        """Return the span of the earliest open call with that id; None if there is none."""
        waiting = self._waiting.get(place, {}).get(call)
        return waiting[0][1] if waiting else None

    def take(self, place: AttemptPlace, call: str) -> Call:
        """Remove the earliest open call with that id, and return it with its span."""
        waiting = self._waiting.get(place, {}).get(call)
        return waiting.popleft() if waiting else (None, None)

    def drafts(self, place: AttemptPlace) -> list[SpanDraft]:
        """List the spans of all open calls of an attempt."""
        waiting = self._waiting.get(place, {}).values()
        return [draft for one in waiting for _, draft in one if draft is not None]

    def end(self, place: AttemptPlace) -> list[SpanDraft]:
        """End an attempt. Returns the spans of the calls that are still open."""
        left = self.drafts(place)
        self._waiting.pop(place, None)
        return left
