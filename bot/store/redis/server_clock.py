"""The server's clock, told between its answers by the seconds that this machine counts."""

from __future__ import annotations

import time

SOON = 0.25
"""Seconds: an answer that took longer says little about what time it is."""


class ServerClock:
    """The server's clock as last heard. `offset_ms` moves it, there and here; only tests set that."""

    def __init__(self, offset_ms: int = 0) -> None:
        self.offset_ms = offset_ms
        self._ahead = 0.0

    def __call__(self) -> float:
        """Tell the time. Any clock of this machine's may be wrong or be set: only the seconds since are its own."""
        return time.monotonic() + self._ahead + self.offset_ms / 1000

    def heard(self, told: bytes, asked: float) -> float:
        """Note the time that the server told, unless the answer took too long to be news, and give it.

        Args:
            told: As scripts answer it, the offset included.
            asked: `time.monotonic()` of the question.
        """
        at, heard = float(told), time.monotonic()
        if self._ahead == 0 or heard - asked < SOON:
            self._ahead = at - self.offset_ms / 1000 - heard
        return at
