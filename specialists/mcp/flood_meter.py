"""Measures how much a server sends: too much in a short time is a flood, which ends its connection."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

LONGEST_MESSAGE = 4 * 1024 * 1024
"""Most bytes of one message."""
WINDOW = 10.0
"""The length of the counting window, in seconds."""
MOST_BYTES = 16 * 1024 * 1024
MOST_MESSAGES = 2_000
MOST_JUNK = 50
"""Most lines in a window that are no messages: some servers print a greeting."""


class Flood(Exception):
    """A server sent too much. The text says for people what was too much."""


@dataclass(slots=True)
class FloodMeter:
    """Counts what one connection receives within a window of time."""

    clock: Callable[[], float] = time.monotonic
    _since: float = 0.0
    _counts: dict[str, int] = field(default_factory=dict)

    def count_message(self, size: int) -> None:
        """Count a message. Raises Flood."""
        if size > LONGEST_MESSAGE:
            raise Flood(f"it sent a message of more than {LONGEST_MESSAGE // 1024 // 1024} MB")
        self.count_piece(size, 1)

    def count_piece(self, size: int, messages: int) -> None:
        """Count a piece of a stream, in which `messages` messages end. Raises Flood."""
        self._add("bytes", size, MOST_BYTES, f"it sent more than {MOST_BYTES // 1024 // 1024} MB in {WINDOW:g} seconds")
        words = f"it sent more than {MOST_MESSAGES:,} messages in {WINDOW:g} seconds"
        self._add("messages", messages, MOST_MESSAGES, words)

    def count_junk(self) -> None:
        """Count a line that is no message. Raises Flood."""
        self._add("junk", 1, MOST_JUNK, f"it sent more than {MOST_JUNK} lines that are no messages")

    def _add(self, what: str, count: int, most: int, words: str) -> None:
        now = self.clock()
        if now - self._since > WINDOW:
            self._since = now
            self._counts.clear()
        self._counts[what] = self._counts.get(what, 0) + count
        if self._counts[what] > most:
            raise Flood(words)
