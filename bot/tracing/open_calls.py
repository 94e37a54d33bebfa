"""The open tool calls, which have not returned yet, of the attempts under way."""

from __future__ import annotations

from collections import deque

from bot.tracing.span_book import SpanDraft
from handoff.contracts import ToolCall

AttemptKey = tuple[str, str]
"""The ids of a request and of a subtask."""
OpenCall = tuple[ToolCall | None, SpanDraft | None]
"""A call and its span. The span is None for a call that hands in a result; both are None if no call was found."""


class OpenCalls:
    """The open calls of each attempt: a queue for each call id, as models use an id repeatedly."""

    def __init__(self) -> None:
        self._open_calls: dict[AttemptKey, dict[str, deque[OpenCall]]] = {}

    def begin_attempt(self, attempt_key: AttemptKey) -> None:
        """Begin an attempt, without calls."""
        self._open_calls[attempt_key] = {}

    def add_call(self, attempt_key: AttemptKey, call: ToolCall, draft: SpanDraft | None) -> None:
        """Add an open call with its span."""
        self._open_calls[attempt_key].setdefault(call.id, deque()).append((call, draft))

    def find_span(self, attempt_key: AttemptKey, call_id: str) -> SpanDraft | None:
        """Return the span of the earliest open call with the id `call_id`; None if there is none."""
        queue = self._open_calls.get(attempt_key, {}).get(call_id)
        return queue[0][1] if queue else None

    def pop_call(self, attempt_key: AttemptKey, call_id: str) -> OpenCall:
        """Remove the earliest open call with the id `call_id` and return it with its span; (None, None) for none."""
        queue = self._open_calls.get(attempt_key, {}).get(call_id)
        return queue.popleft() if queue else (None, None)

    def list_spans(self, attempt_key: AttemptKey) -> list[SpanDraft]:
        """Return the spans of all open calls of an attempt."""
        queues = self._open_calls.get(attempt_key, {}).values()
        return [draft for one in queues for _, draft in one if draft is not None]

    def end_attempt(self, attempt_key: AttemptKey) -> list[SpanDraft]:
        """End an attempt, and return the spans of its open calls."""
        drafts = self.list_spans(attempt_key)
        self._open_calls.pop(attempt_key, None)
        return drafts
