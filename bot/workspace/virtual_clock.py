"""The workspace's own clock: it runs like the wall clock and can be moved forward by a test."""

import asyncio
import heapq
import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(order=True)
class Timer:
    """A call that is due at `due_at` (seconds since the epoch, workspace time)."""

    due_at: float
    sequence: int
    callback: Callable[[], None] = field(compare=False)
    is_cancelled: bool = field(default=False, compare=False)

    def cancel(self) -> None:
        """Prevent the call. A call that was made already is not undone."""
        self.is_cancelled = True


class Clock:
    """Tells the time, gives message timestamps, and makes calls when they are due."""

    def __init__(self) -> None:
        self._offset = 0.0
        self._last_micro = 0
        self._numbers = itertools.count()
        self._timers: list[Timer] = []
        self._change_event = asyncio.Event()

    def now(self) -> float:
        """Return the seconds since the epoch."""
        return time.time() + self._offset

    def advance(self, seconds: float) -> None:
        """Move the time forward. `run_timers` then makes the calls that became due."""
        self._offset += seconds
        self._change_event.set()

    def next_ts(self) -> str:
        """Return a message timestamp that is later than every one before it."""
        micro = max(int(self.now() * 1_000_000), self._last_micro + 1)
        self._last_micro = micro
        return f"{micro // 1_000_000}.{micro % 1_000_000:06d}"

    def skip_past(self, ts: str) -> None:
        """Make later timestamps follow `ts`, the timestamp of a message that was stored before a restart."""
        seconds, _, micro = ts.partition(".")
        self._last_micro = max(self._last_micro, int(seconds) * 1_000_000 + int(micro or 0))

    def call_later(self, seconds: float, call: Callable[[], None]) -> Timer:
        """Call `call` after `seconds` of workspace time."""
        timer = Timer(self.now() + seconds, next(self._numbers), call)
        heapq.heappush(self._timers, timer)
        if self._timers[0] is timer:
            self._change_event.set()
        return timer

    async def run_timers(self) -> None:
        """Make the calls as they fall due, until cancelled."""
        while True:
            self._change_event.clear()
            while self._timers and (self._timers[0].is_cancelled or self._timers[0].due_at <= self.now()):
                timer = heapq.heappop(self._timers)
                if not timer.is_cancelled:
                    timer.callback()
            wait = self._timers[0].due_at - self.now() if self._timers else None
            try:
                async with asyncio.timeout(wait):
                    await self._change_event.wait()
            except TimeoutError:
                continue
