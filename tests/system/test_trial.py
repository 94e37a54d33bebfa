"""A job that lost its owners is tried by itself: its instance hands over all others, and takes them up again after."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest

from bot.jobs.exclusive_trial import TRIAL_FIELD
from bot.jobs.instance import Instance
from bot.jobs.job_runner import JobRunner
from bot.store.redis.redis_store import Store
from bot.store.values import Claim, JobKey
from handoff import events as ev
from handoff.contracts import Place
from handoff.effects import Effect, MakePlan
from handoff.engine.ladder import MAX_LOST_OWNERS
from handoff.summaries.summary import TrialNotice
from tests.patience import eventually
from tests.store.kit import add_request, read_head
from tests.system.test_poison import Breaking, running

LEASE = 0.5
SUSPECT, *OTHERS = (Place(team="T1", channel="C1", thread_ts=f"{number}.1") for number in (100, 200, 300))


def key_of(place: Place) -> JobKey:
    return JobKey(place.team, place.job_id)


class WaitingEffects(Breaking):
    """Effects that wait: planning ends, as a failure, once its job is let go on."""

    def __init__(self) -> None:
        super().__init__(RuntimeError("unused"))
        self.begin_counts: Counter[JobKey] = Counter()
        self.at_work: set[JobKey] = set()
        self.goes_on = {key_of(place): asyncio.Event() for place in (SUSPECT, *OTHERS)}
        self.first: frozenset[JobKey] = frozenset()
        """Jobs that are worked on before the word that another is suspect has been said."""
        self.begin_events = {key: asyncio.Event() for key in self.goes_on}

    async def run(self, effect: Effect, runner: JobRunner) -> ev.Event | None:
        key = runner.claim.key
        if not isinstance(effect, MakePlan):
            await asyncio.Event().wait()
        self.begin_counts[key] += 1
        self.begin_events[key].set()
        self.at_work.add(key)
        try:
            await self.goes_on[key].wait()
        finally:
            self.at_work.discard(key)
        return ev.RequestFailed(at=runner.now(), request=effect.request, step="planning", reason="r", advice="a")

    async def announce_trial(self, claim: Claim, notice: TrialNotice) -> None:
        await super().announce_trial(claim, notice)
        await asyncio.gather(*(self.begin_events[key].wait() for key in self.first))


async def make_suspect_job(store: Store) -> None:
    """A job that three owners in a row have lost, and its lease with it."""
    await add_request(store, SUSPECT)

    for number in range(MAX_LOST_OWNERS):

        async def claim_suspect(owner: str = f"gone{number}") -> Claim | None:
            return await store.jobs.claim(owner, lease=0.02, schema=ev.SCHEMA, preferred_job=key_of(SUSPECT))

        await eventually(claim_suspect)


@asynccontextmanager
async def at_work(store: Store, effects: WaitingEffects, count: int) -> AsyncIterator[list[Instance]]:
    """So many instances, one of which holds the suspect alone."""
    async with AsyncExitStack() as stack:
        how = {"slots": 3, "lease": LEASE}
        yield [await stack.enter_async_context(running(store, effects, **how)) for _ in range(count)]


async def on_trial(effects: WaitingEffects) -> None:
    """Wait until the suspect is worked on."""
    await eventually(lambda: key_of(SUSPECT) in effects.at_work)


@pytest.mark.parametrize("count", [1, 2])
async def test_an_instance_holds_nothing_else_while_it_tries_a_job(store: Store, count: int) -> None:
    effects = WaitingEffects()
    others = {key_of(place) for place in OTHERS}
    effects.first = frozenset(others)  # they go on while people are told, and during the pause behind it
    await make_suspect_job(store)
    for place in OTHERS:
        await add_request(store, place)
    async with at_work(store, effects, count) as instances:
        await on_trial(effects)
        (alone,) = [one for one in instances if key_of(SUSPECT) in one._runners]
        assert alone.owned_job_count == 1
        assert effects.trial_notices
        assert all(effects.begin_counts[key] >= 1 for key in others)
        if count > 1:
            await eventually(lambda: others <= effects.at_work)
            assert alone.owned_job_count == 1
        else:
            assert not others & effects.at_work
        effects.goes_on[key_of(SUSPECT)].set()
        await eventually(lambda: others <= effects.at_work)

        async def got_on() -> bool:
            head = await store.jobs.read_head(key_of(SUSPECT))
            return head is not None and (head.lost_owners, head.fields[TRIAL_FIELD], head.is_quarantined) == (
                0,
                "",
                False,
            )

        await eventually(got_on)
    (warned,) = effects.trial_notices
    assert (warned.lost_owners, warned.place) == (MAX_LOST_OWNERS, SUSPECT)
    assert not effects.quarantine_notices


async def test_others_do_not_wait_for_a_trial_that_proves_nothing(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.jobs.job_runner.MAX_TRIAL_SECONDS", 0.2)
    effects = WaitingEffects()
    await make_suspect_job(store)
    async with at_work(store, effects, 1):
        await on_trial(effects)
        for place in OTHERS:
            await add_request(store, place)
        await eventually(lambda: effects.at_work == {key_of(place) for place in (SUSPECT, *OTHERS)})
        head = await read_head(store, key_of(SUSPECT))
        assert (head.lost_owners, head.fields[TRIAL_FIELD]) == (MAX_LOST_OWNERS, ""), (
            "if it is lost again, it is tried again"
        )
    assert not effects.quarantine_notices


async def test_an_owner_that_is_told_to_end_during_a_trial_proves_nothing(store: Store) -> None:
    effects = WaitingEffects()
    await make_suspect_job(store)
    for _ in range(2):
        async with at_work(store, effects, 1):
            await on_trial(effects)
        head = await read_head(store, key_of(SUSPECT))
        assert (head.owner, head.lost_owners) == ("", MAX_LOST_OWNERS), "let go of at work, it keeps its count"
    assert len(effects.trial_notices) == 1
    assert not effects.quarantine_notices
