"""Runs the effects of one job, each in an asyncio task of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass

from bot.jobs.lease import read_boot_clock
from handoff.effects import Effect, PostMessage, RunSubtask


@dataclass(frozen=True, slots=True)
class StuckLimits:
    """Seconds after which work counts as stuck: far more than the deadlines of the work itself."""

    attempt_grace_seconds: float = 120.0
    """For an attempt, in addition to its own timeout."""
    effect_seconds: float = 900.0
    """For any other effect, such as a call of a role."""
    post_seconds: float = 1800.0
    """For a post, with all the waiting that Slack may ask for."""
    step_seconds: float = 120.0
    """For one step of the job runner itself, such as reading a log or a commit."""

    def find_limit_seconds(self, effect: Effect) -> float:
        """Return the seconds after which this effect counts as stuck."""
        if isinstance(effect, RunSubtask):
            return effect.timeout + self.attempt_grace_seconds
        return self.post_seconds if isinstance(effect, PostMessage) else self.effect_seconds


class EffectTasks:
    """The asyncio tasks of one job's effects. `run` runs an effect; `on_end` is called each time one has ended."""

    def __init__(
        self, run: Callable[[Effect], Awaitable[None]], on_end: Callable[[], None], stuck_limits: StuckLimits
    ) -> None:
        self._run = run
        self._on_end = on_end
        self._stuck_limits = stuck_limits
        self._tasks: dict[Effect, asyncio.Task[None]] = {}
        self._started_at: dict[Effect, float] = {}

    def __len__(self) -> int:
        """Return how many effects are under way."""
        return len(self._tasks)

    def sync_effects(self, effects: Iterable[Effect]) -> None:
        """Start the effects that are new, and cancel those that are no longer outstanding."""
        outstanding = set(effects)
        self._cancel(lambda effect: effect not in outstanding)
        for effect in effects:
            if effect not in self._tasks:
                self._started_at[effect] = read_boot_clock()
                self._tasks[effect] = asyncio.create_task(self._run_effect(effect))

    async def _run_effect(self, effect: Effect) -> None:
        try:
            await self._run(effect)
        finally:
            self._tasks.pop(effect, None)
            self._started_at.pop(effect, None)
            self._on_end()

    def cancel_all_but_posts(self) -> None:
        """Cancel all effects but posts: if a post is cut off, nobody knows whether Slack received the message."""
        self._cancel(lambda effect: not isinstance(effect, PostMessage))

    def _cancel(self, is_unwanted: Callable[[Effect], bool]) -> None:
        for effect, task in self._tasks.items():
            if is_unwanted(effect):
                task.cancel()

    def describe_stuck_effect(self) -> str:
        """Return the name and age of an effect that counts as stuck, for logs; "" if none does."""
        now = read_boot_clock()
        for effect, since in self._started_at.items():
            if now - since > self._stuck_limits.find_limit_seconds(effect):
                of = f" {effect.subtask}" if isinstance(effect, RunSubtask) else ""
                return f"{type(effect).__name__}{of} (for {now - since:.0f} s)"
        return ""

    async def cancel_and_wait(self) -> None:
        """Cancel all effects and wait until they have ended. Await it with a timeout: a task may refuse to end."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
