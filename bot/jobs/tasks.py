"""The effects of one job that are being performed, each in a task of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass

from bot.jobs.lease import steady
from handoff.effects import Effect, Post, RunSubtask


@dataclass(frozen=True, slots=True)
class Bounds:
    """Seconds after which work counts as stuck: far beyond the deadlines that it keeps by itself.

    `beyond` is counted from an attempt's own timeout. `post` covers all the waiting that Slack may ask for.
    `step` is for one step of an owner itself: reading a log, a commit.
    """

    beyond: float = 120.0
    effect: float = 900.0
    post: float = 1800.0
    step: float = 120.0

    def of(self, effect: Effect) -> float:
        """The bound of an effect."""
        if isinstance(effect, RunSubtask):
            return effect.timeout + self.beyond
        return self.post if isinstance(effect, Post) else self.effect


class SideBySide:
    """What is going on for one job. `perform` does one effect; `ended` is called when one has ended."""

    def __init__(self, perform: Callable[[Effect], Awaitable[None]], ended: Callable[[], None], bounds: Bounds) -> None:
        self._perform = perform
        self._ended = ended
        self._bounds = bounds
        self._tasks: dict[Effect, asyncio.Task[None]] = {}
        self._since: dict[Effect, float] = {}

    def __len__(self) -> int:
        """How many are under way."""
        return len(self._tasks)

    def match(self, effects: Iterable[Effect]) -> None:
        """Start what is new, and cancel what is no longer wanted."""
        wanted = set(effects)
        self._cancel(lambda effect: effect not in wanted)
        for effect in effects:
            if effect not in self._tasks:
                self._since[effect] = steady()
                self._tasks[effect] = asyncio.create_task(self._run(effect))

    async def _run(self, effect: Effect) -> None:
        try:
            await self._perform(effect)
        finally:
            self._tasks.pop(effect, None)
            self._since.pop(effect, None)
            self._ended()

    def only_posts(self) -> None:
        """Cancel all but the messages that are on their way: cut off, they would be in doubt."""
        self._cancel(lambda effect: not isinstance(effect, Post))

    def _cancel(self, unwanted: Callable[[Effect], bool]) -> None:
        for effect, task in self._tasks.items():
            if unwanted(effect):
                task.cancel()

    def stuck(self) -> str:
        """What has gone on for longer than it ever should, as logs name it; empty where nothing has."""
        now = steady()
        for effect, since in self._since.items():
            if now - since > self._bounds.of(effect):
                of = f" {effect.subtask}" if isinstance(effect, RunSubtask) else ""
                return f"{type(effect).__name__}{of} (for {now - since:.0f} s)"
        return ""

    async def drop(self) -> None:
        """Cancel all, and wait until they have ended. Not to be awaited for ever: a task may refuse to."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
