"""Several teams on one instance: however much one of them asks for, the others get their share of its slots."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

from bot.jobs.job_runner import JobRunner
from bot.store.redis.redis_jobs import Jobs
from bot.store.redis.redis_store import Store
from bot.store.values import DEFAULT_RETENTION, Claim, JobKey
from handoff import events as ev
from handoff.contracts import Place
from handoff.effects import Effect, PostMessage
from tests.patience import eventually
from tests.store.kit import add_request
from tests.system.test_poison import Breaking, running

BUSY, OTHER, THIRD = "T0BUSY", "T0OTHER", "T0THIRD"
SLOTS = 6


class LastingEffects(Breaking):
    """Effects whose requests are under way until the test ends them, oldest first, and which note whose were begun."""

    def __init__(self) -> None:
        super().__init__(RuntimeError("unused"))
        self.begun_keys: list[JobKey] = []
        self._ends: dict[JobKey, asyncio.Event] = {}

    async def run(self, effect: Effect, runner: JobRunner) -> ev.Event | None:
        of = {"at": runner.now(), "request": getattr(effect, "request", "")}
        if isinstance(effect, PostMessage):
            return ev.Posted(**of, key=effect.key, ts="5.5")
        key = runner.claim.key
        if key not in self._ends:
            self._ends[key] = asyncio.Event()
            self.begun_keys.append(key)
        await self._ends[key].wait()
        return ev.RequestFailed(**of, step="planning", reason="the test ended it", advice="none")

    def end_oldest(self) -> None:
        next(end for end in self._ends.values() if not end.is_set()).set()

    async def wait_until_begun(self, count: int) -> None:
        await eventually(lambda: len(self.begun_keys) >= count)


class CountingJobs(Jobs):
    """Jobs that count the claims that found none."""

    fruitless = 0

    async def claim(self, owner: str, **how: Any) -> Claim | None:
        claim = await super().claim(owner, **how)
        self.fruitless = 0 if claim is not None else self.fruitless + 1
        return claim


async def ask(store: Store, team: str, count: int) -> None:
    """So many requests of a team, each of another person; the people of all teams have the same ids."""
    for number in range(count):
        await add_request(store, Place(team=team, channel="C1", thread_ts=f"{number}.1"), f"U{number}")


async def test_a_busy_team_leaves_the_others_their_share(store: Store) -> None:
    store.jobs = jobs = CountingJobs(store._calls, DEFAULT_RETENTION)
    effects = LastingEffects()
    await ask(store, BUSY, 40)
    async with running(store, effects, slots=SLOTS, has_several_teams=lambda: True) as instance:
        await effects.wait_until_begun(5)
        await eventually(lambda: jobs.fruitless >= 8)  # every try of a look at the jobs that wait
        assert instance.owned_job_count == 5, "while 35 wait"
        await ask(store, OTHER, 12)
        await effects.wait_until_begun(6)
        assert Counter(key.team for key in effects.begun_keys) == {BUSY: 5, OTHER: 1}, "a slot was free for the next"
        await ask(store, THIRD, 12)
        for number in range(7, 25):
            effects.end_oldest()
            await effects.wait_until_begun(number)
            held = Counter(key.team for key in effects.begun_keys[-SLOTS:])  # those before have ended
            assert held[OTHER] >= 1, number
            assert held[THIRD] >= 1, number
            if number >= 6 + SLOTS:
                assert held == {BUSY: 2, OTHER: 2, THIRD: 2}, (number, "more than 20 of the busy team wait before them")


async def test_a_team_alone_has_all_slots(store: Store) -> None:
    effects = LastingEffects()
    await ask(store, BUSY, SLOTS)
    async with running(store, effects, slots=SLOTS) as instance:
        await effects.wait_until_begun(SLOTS)
        assert instance.owned_job_count == SLOTS
