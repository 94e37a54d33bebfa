"""Measures how much an MCP server sends. Too much in a short time is a flood, which ends its connection."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

LONGEST_MESSAGE = 4 * 1024 * 1024
"""Most bytes of one message."""
WINDOW_SECONDS = 10.0
"""The length of the counting window, in seconds."""
MAX_BYTES = 16 * 1024 * 1024
MAX_MESSAGES = 2_000
MAX_JUNK_LINES = 50
"""Most lines in a window that are no messages. Some are allowed, as some servers print a greeting."""


class FloodError(Exception):
    """A server sent too much. The text says for people what was too much."""


@dataclass(slots=True)
class FloodMeter:
    """Counts what one connection receives within a window of time."""

    clock: Callable[[], float] = time.monotonic
    _window_start: float = 0.0
    _counts: dict[str, int] = field(default_factory=dict)

    def count_message(self, size: int) -> None:
        """Count a message. Raises FloodError."""
        if size > LONGEST_MESSAGE:
            raise FloodError(f"it sent a message of more than {LONGEST_MESSAGE // 1024 // 1024} MB")
        self.count_piece(size, 1)

    def count_piece(self, size: int, messages: int) -> None:
        """Count a piece of a stream, in which `messages` messages end. Raises FloodError."""
        self._count(
            "bytes", size, MAX_BYTES, f"it sent more than {MAX_BYTES // 1024 // 1024} MB in {WINDOW_SECONDS:g} seconds"
        )
        words = f"it sent more than {MAX_MESSAGES:,} messages in {WINDOW_SECONDS:g} seconds"
        self._count("messages", messages, MAX_MESSAGES, words)

    def count_junk_line(self) -> None:
        """Count a line that is no message. Raises FloodError."""
        self._count("junk", 1, MAX_JUNK_LINES, f"it sent more than {MAX_JUNK_LINES} lines that are no messages")

    def _count(self, counter: str, count: int, limit: int, words: str) -> None:
        now = self.clock()
        if now - self._window_start > WINDOW_SECONDS:
            self._window_start = now
            self._counts.clear()
        self._counts[counter] = self._counts.get(counter, 0) + count
        if self._counts[counter] > limit:
            raise FloodError(words)
