"""Several instances on one store: who gets what, who acts at once, and that stuck work is left to others."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from bot.jobs.effect_tasks import StuckLimits
from bot.jobs.job_runner import JobRunner
from bot.jobs.lease import Fenced, read_boot_clock
from bot.store.redis.redis_jobs import Jobs
from bot.store.redis.redis_store import Store
from bot.store.values import DEFAULT_RETENTION, Claim, JobKey
from handoff import events as ev
from handoff.contracts import Place
from handoff.effects import Effect, PostMessage
from handoff.engine.ladder import MAX_LOST_OWNERS
from tests.patience import eventually, patience
from tests.store.kit import MovedClock, add_request, read_head, take_job
from tests.system.brains import Gate, connect, escalation, in_turn, plan, provider, result, subtask
from tests.system.scene import Scene, extract_shown_text
from tests.system.test_poison import KEY, Breaking, ingest_request, running, until_quarantined

ONE = plan(subtask("only", "writer"))
OTHER = plan(subtask("other", "reviewer"))
WHICH = escalation("ambiguous_input", "Which one?", ["Tea", "Scones"])


async def test_what_reaches_one_instance_acts_at_once_on_a_job_of_another(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.jobs.instance.MAX_POLL_SECONDS", 600.0)  # told by the other, not found at the next look
    gate = Gate(result("Checked."))
    words = in_turn(WHICH, WHICH, result("Done."))
    plans = in_turn(OTHER, ONE, OTHER)
    async with provider(planner=plans, writer=words, reviewer=gate) as server:
        model = connect("chat", server)
        async with scene.bot(model, slots=1) as ear:
            busy = await scene.ask("Be busy", channel="#sales")
            await gate.arrival_event.wait()
            async with scene.bot(model, slots=2, hears=False) as hand:
                # Whatever people do reaches the one that has no free slot; whatever goes on is the other's.
                talk = await scene.ask("Do it")
                await scene.person().click(talk.channel, (await talk.question(1))["ts"], "answer:0")
                await talk.question(2)
                await talk.say("Scones")
                job = await talk.over()
                assert [answer.text for answer in job.latest_request.subtasks["only"].answer_notes] == [
                    "Answered by a person: Tea",
                    "Answered by a person: Scones",
                ]
                stopped = await scene.ask("Be stopped")
                await stopped.until(
                    lambda job: (
                        "other" in job.latest_request.subtasks and job.latest_request.subtasks["other"].attempt == 1
                    )
                )
                await stopped.wait_until_seen(stopped.cards)
                assert (ear.instance.owned_job_count, hand.instance.owned_job_count) == (1, 1)
                await scene.person().stop(stopped.channel, stopped.ts)
                assert (await stopped.over()).latest_request.state == "cancelled"
            gate.open()
            await busy.over()
    assert "*Stopped*" in extract_shown_text(stopped.words()[0])


class Endless(Breaking):
    """Effects whose work never ends; `stubborn`: not even when it is told to."""

    def __init__(self, *, stubborn: bool = False) -> None:
        super().__init__(RuntimeError("unused"))
        self._stubborn = stubborn
        self.begin_event = asyncio.Event()
        self.told_to_end = 0
        self.give_up = asyncio.Event()

    async def run(self, effect: Effect, runner: JobRunner) -> ev.Event | None:
        del effect, runner
        self.try_count += 1
        self.begin_event.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.told_to_end += 1
            if self._stubborn:
                await self.give_up.wait()
        return None


QUICK = StuckLimits(attempt_grace_seconds=0.2, effect_seconds=0.2, post_seconds=0.2, step_seconds=5.0)


async def test_a_lease_is_renewed_only_while_work_gets_on(caplog: pytest.LogCaptureFixture, store: Store) -> None:
    effects = Endless()
    await ingest_request(store)
    await until_quarantined(store, effects, lease=3.0, bounds=QUICK)
    assert effects.told_to_end == effects.try_count, "all of it is cancelled"
    assert effects.try_count <= 2 * (MAX_LOST_OWNERS + 1)
    assert [told.step for told in effects.quarantine_notices] == ["planning"]
    stalled = [record for record in caplog.records if getattr(record, "event", "") == "stalled"]
    assert len(stalled) == MAX_LOST_OWNERS + 1, "the last one in its trial"
    assert "is stuck" in caplog.text


class LongLeaseJobs(Jobs):
    """Jobs whose leases are long, however often their owner renews them."""

    lease = 600.0
    renewals = 0

    async def beat(self, claim: Claim, *, lease: float) -> bool:
        del lease
        held = await super().beat(claim, lease=self.lease)
        self.renewals += held
        return held


async def test_work_that_gets_on_is_renewed_again_and_again(store: Store) -> None:
    store.jobs = jobs = LongLeaseJobs(store._calls, DEFAULT_RETENTION)
    clock, effects = MovedClock(store), Endless()
    await ingest_request(store)
    claim = await take_job(store, "me", lease=jobs.lease)
    runner = JobRunner(claim, store, effects, lease=0.1)
    work = asyncio.create_task(runner.run())
    await effects.begin_event.wait()
    for _ in range(5):  # without renewals the second one would find the lease run out
        clock.advance(jobs.lease - 120)
        assert await jobs.claim("other", lease=5, schema=ev.SCHEMA) is None
        enough = jobs.renewals + 2  # the first one may have been under way when the clock moved
        await eventually(lambda enough=enough: jobs.renewals >= enough)
    runner.stop()
    await asyncio.wait_for(work, patience())
    left = await read_head(store, KEY)
    assert (left.owner, left.lost_owners) == ("", 0)
    assert left.due is not None
    assert left.due <= store.clock()


class Hanging(Jobs):
    """Jobs that do not come back from reading an inbox."""

    async def read_inbox(self, key: JobKey) -> list[Any]:
        del key
        await asyncio.Event().wait()
        return []


async def test_an_owner_that_hangs_itself_is_stalled_too(caplog: pytest.LogCaptureFixture, store: Store) -> None:
    store.jobs = Hanging(store._calls, DEFAULT_RETENTION)
    await ingest_request(store)
    claim = await take_job(store, "me", lease=0.1)
    await asyncio.wait_for(
        JobRunner(claim, store, Endless(), lease=0.1, stuck_limits=StuckLimits(step_seconds=0.2)).run(), patience()
    )
    assert "its owner is stuck" in caplog.text
    head = await read_head(store, KEY)
    assert (head.owner, head.lost_owners) == ("", 1)


async def test_an_owner_that_lost_its_lease_unseen_starts_nothing(
    caplog: pytest.LogCaptureFixture, store: Store
) -> None:
    clock, effects = MovedClock(store), Endless()
    await ingest_request(store)
    claim = await take_job(store, "me", lease=30)
    clock.advance(31)
    await take_job(store, "other", lease=30)
    # Its lease is over by its own clock: it asks before it begins anything.
    runner = JobRunner(claim, store, effects, lease=30, claimed_at=read_boot_clock() - 31)
    with pytest.raises(Fenced):
        await runner.ensure_held()
    await asyncio.wait_for(runner.run(), patience())
    assert effects.try_count == 0
    assert await store.jobs.read_log(KEY) == []
    assert [name for record in caplog.records if (name := getattr(record, "event", ""))] == ["fenced"]


class Full(Store):
    """A store whose server is nearly full, until it has room again."""

    line = "The server's memory is 84 % full. Raise its `maxmemory`."
    ask_count = 0

    async def explain_fullness(self) -> str:
        self.ask_count += 1
        return self.line

    async def wait_for_looks(self, times: int) -> None:
        """Wait until it was asked so many times."""
        await eventually(lambda: self.ask_count >= times)


async def test_a_store_that_is_nearly_full_gets_no_new_work(
    caplog: pytest.LogCaptureFixture, server_url: str, scene: Scene
) -> None:
    caplog.set_level("INFO")
    store, effects = await Full.connect(server_url, prefix=scene.prefix), Endless()
    assert isinstance(store, Full)
    await ingest_request(store)
    async with running(store, effects, slots=1, lease=1.0) as instance:
        for looks in range(1, 5):
            instance.nudge(KEY)
            await store.wait_for_looks(looks)
        assert effects.try_count == 0
        assert instance.hold_reason == Full.line
        store.line = ""
        instance.nudge(KEY)
        await asyncio.wait_for(effects.begin_event.wait(), patience())
    await store.close()
    events = [record for record in caplog.records if getattr(record, "event", "") == "memory_full"]
    assert [record.getMessage() for record in events] == [f"no job is claimed: {Full.line}"]
    assert "jobs are claimed again" in caplog.text


async def test_an_instance_does_not_spin_for_a_job_that_it_is_not_given(store: Store) -> None:
    class Elusive(Jobs):
        looks = 0

        async def claim(self, owner: str, **how: Any) -> Claim | None:
            del owner, how
            self.looks += 1
            return None

    store.jobs = elusive = Elusive(store._calls, DEFAULT_RETENTION)
    await ingest_request(store)
    async with running(store, Endless(), slots=1, lease=1.0):
        await asyncio.sleep(0.6)
    assert 1 <= elusive.looks <= 4


async def test_one_person_leaves_slots_to_others(store: Store) -> None:
    for number in range(30):
        await add_request(store, Place(team="T1", channel="C1", thread_ts=f"{number}.1"), "UANA")
    async with running(store, Endless(), slots=8) as instance:
        await eventually(lambda: instance.owned_job_count == 6)
        of_ben = await add_request(store, Place(team="T1", channel="C1", thread_ts="100.1"), "UBEN")
        instance.nudge(of_ben)
        await eventually(lambda: instance.owned_job_count == 7)
        assert (await read_head(store, of_ben)).owner, "while 24 jobs of Ana wait"


async def test_a_job_that_is_heard_of_several_times_is_claimed_once(store: Store) -> None:
    class JobsThatRecord(Jobs):
        preferred_jobs: list[JobKey]

        async def claim(self, owner: str, *, preferred_job: JobKey | None = None, **how: Any) -> Claim | None:
            self.preferred_jobs += [preferred_job] if preferred_job is not None else []
            return await super().claim(owner, preferred_job=preferred_job, **how)

    store.jobs = asked = JobsThatRecord(store._calls, DEFAULT_RETENTION)
    asked.preferred_jobs, effects = [], Endless()
    await ingest_request(store)
    async with running(store, effects, slots=4) as instance:
        for _ in range(3):  # Slack sends two events for a mention, and the store tells of it too
            instance.nudge(KEY)
        await effects.begin_event.wait()
    assert asked.preferred_jobs == [KEY]


class Posting(Endless):
    """Effects whose posts are on their way for a moment, while all else never ends."""

    async def run(self, effect: Effect, runner: JobRunner) -> ev.Event | None:
        if not isinstance(effect, PostMessage):
            return await super().run(effect, runner)
        await self.begin_event.wait()
        await asyncio.sleep(0.3)
        return ev.Posted(at=runner.now(), request=effect.request, key=effect.key, ts="5.5")


async def test_a_post_on_its_way_arrives_before_a_job_is_handed_over(store: Store) -> None:
    effects = Posting()
    await ingest_request(store)
    async with running(store, effects, slots=1):
        await effects.begin_event.wait()
    kinds = [ev.load_event(entry.payload).type for entry in await store.jobs.read_log(KEY)]
    assert kinds == ["RequestAdded", "Posted"], "its id is known, so that nobody has to look for it"
    head = await read_head(store, KEY)
    assert (head.owner, head.lost_owners) == ("", 0)
    assert effects.told_to_end == 1, "all else is cut off at once"


async def test_stubborn_work_does_not_keep_a_job_from_being_handed_over(store: Store) -> None:
    effects = Endless(stubborn=True)
    await ingest_request(store)
    async with running(store, effects, slots=1):
        await effects.begin_event.wait()
    head = await read_head(store, KEY)
    assert head.owner == ""
    await take_job(store, "other")
    effects.give_up.set()
