"""Jobs that break their owners, and logs that cannot be read: set aside with a word to the thread, and released."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from bot.jobs.effect_tasks import StuckLimits
from bot.jobs.instance import Instance
from bot.jobs.job_runner import JobRunner
from bot.jobs.quarantine import quarantine_job, read_log
from bot.store.redis.redis_store import Store
from bot.store.values import Claim, JobKey, PayloadTooLarge
from handoff import events as ev
from handoff.contracts import Place, Request
from handoff.effects import Effect
from handoff.engine.ladder import MAX_LOST_OWNERS
from handoff.state.job_state import Job
from handoff.summaries.summary import QuarantineNotice, TrialNotice
from tests.store.kit import MovedClock
from tests.system.brains import Gate, connect, plan, provider, result, subtask
from tests.system.scene import Scene, Talk, card_title, eventually, extract_shown_text

TWO = plan(subtask("first", "writer"), subtask("second", "reviewer"))
STEP = "Do part second (reviewer)"
PLACE = Place(team="T1", channel="C1", thread_ts="100.1")
KEY = JobKey(PLACE.team, PLACE.job_id)


class Breaking:
    """Effects that break the job runner with `error`; `mute`: telling the thread breaks as well."""

    def __init__(self, error: Exception, *, mute: bool = False) -> None:
        self._error = error
        self._mute = mute
        self.try_count = 0
        self.trial_notices: list[TrialNotice] = []
        self.quarantine_notices: list[QuarantineNotice] = []

    async def run(self, effect: Effect, runner: JobRunner) -> ev.Event | None:
        del effect, runner
        self.try_count += 1
        raise self._error

    def show_job_change(self, runner: JobRunner, before: Job, after: Job) -> None:
        """Nothing is shown."""

    async def stop_showing_job(self, runner: JobRunner) -> bool:
        del runner
        return True

    async def announce_trial(self, claim: Claim, notice: TrialNotice) -> None:
        del claim
        self.trial_notices.append(notice)
        if self._mute:
            raise self._error

    async def announce_quarantine(self, claim: Claim, notice: QuarantineNotice) -> None:
        del claim
        self.quarantine_notices.append(notice)
        if self._mute:
            raise self._error


async def lose_owners(scene: Scene, talk: Talk, count: int = MAX_LOST_OWNERS + 1) -> None:
    """Let owners claim the job and break, until so many were lost in a row; the last one in its trial."""
    breaking = Breaking(RuntimeError("a bug"))
    while (head := await scene.store.jobs.read_head(talk.key)) is not None and head.lost_owners < count:
        runner = JobRunner(await claim_job(scene, talk), scene.store, breaking, lease=0.02)
        with contextlib.suppress(RuntimeError):
            await runner.run()


async def claim_job(scene: Scene, talk: Talk) -> Claim:
    """A claim to the job, once there is one to be had."""

    async def look() -> Claim | None:
        return await scene.store.jobs.claim("breaks", lease=5, schema=ev.SCHEMA, preferred_job=talk.key)

    claim = await eventually(look)
    assert claim is not None
    return claim


@asynccontextmanager
async def poisoned_job(scene: Scene, **options: object) -> AsyncIterator[tuple[Talk, Gate]]:
    """A job half done whose owners broke three times, in front of a bot that has set it aside."""
    gate = Gate(result("Checked."))
    async with provider(planner=lambda _: TWO, writer=lambda _: result("Written."), reviewer=gate) as server:
        async with scene.bot(connect("chat", server)):
            talk = await scene.ask("Do two things")
            await talk.until(
                lambda job: job.latest_request.subtasks and job.latest_request.subtasks["first"].state == "complete"
            )
            await gate.arrival_event.wait()
            await talk.wait_until_seen(talk.cards)
        await lose_owners(scene, talk)
        async with scene.bot(connect("chat", server), **options):
            await talk.wait_until_seen(lambda: "set this job aside" in talk.join_bot_texts())
            await eventually(lambda: is_quarantined(scene, talk))
            yield talk, gate


async def is_quarantined(scene: Scene, talk: Talk) -> bool:
    """Whether the job is set aside."""
    head = await scene.store.jobs.read_head(talk.key)
    return head is not None and head.is_quarantined


async def test_the_thread_is_told_and_an_admin_releases_the_job(scene: Scene) -> None:
    cleo = scene.person("cleo").id
    async with poisoned_job(scene, admins=frozenset({cleo})) as (talk, gate):
        (told,) = talk.words()
        assert f"*Step:* {STEP}" in extract_shown_text(told)
        assert "4 times in a row" in extract_shown_text(told)
        assert f"`/leadhand release {talk.key.job}`" in extract_shown_text(told)
        await talk.wait_until_seen(lambda: talk.status() == "suspended")
        assert card_title(talk.cards()[0]).startswith("Set aside: ")
        listed = extract_shown_text(await scene.command("status"))
        assert f":warning: `{talk.key.job}`" in listed
        assert f"set aside: {STEP}" in listed
        assert "*Set aside* at" in extract_shown_text(await scene.command(f"status {talk.key.job}"))

        await talk.say("@leadhand and another thing")
        note = await talk.wait_until_seen(
            lambda: [m for m in scene.person().ephemerals(talk.channel) if "I noted" in m["text"]]
        )
        assert "set aside" in note[0]["text"]
        assert (await scene.command(f"release {talk.key.job}"))["text"] == f"Only an admin may do that: <@{cleo}>."
        assert await is_quarantined(scene, talk)
        gate.open()
        assert "goes on" in (await scene.command(f"release {talk.key.job}", who="cleo"))["text"]
        job = await talk.over(requests=2)
        await talk.wait_until_seen(lambda: talk.status() == "active")
        assert "not set aside" in (await scene.command(f"release {talk.key.job}", who="cleo"))["text"]
        assert "do not know" in (await scene.command("release J0000000000", who="cleo"))["text"]
    assert [request.state for request in job.requests] == ["completed", "completed"]
    assert job.requests[0].subtasks["first"].attempt == 1, "what was done before is kept"
    assert [event.lost for event in await talk.of(ev.TakenOver)] == [1, 2, 3]
    assert [event.user for event in await talk.of(ev.Released)] == [cleo]
    assert len([message for message in talk.words() if "set this job aside" in extract_shown_text(message)]) == 1


async def test_a_job_that_is_set_aside_can_be_stopped(scene: Scene) -> None:
    async with poisoned_job(scene) as (talk, gate):
        assert "LEADHAND_ADMINS" in (await scene.command(f"release {talk.key.job}"))["text"]
        await scene.command(f"cancel {talk.key.job}")
        job = await talk.over()
        gate.open()
        assert job.latest_request.state == "cancelled"
        assert job.quarantine is None
        told, report = talk.words()
        assert "set this job aside" in extract_shown_text(told)
        assert "*Stopped*" in extract_shown_text(report)
        assert "*Done:* Do part first" in extract_shown_text(report)


async def gap(store: Store, key: JobKey) -> None:
    await store._server.run_command("XDEL", store._keys.list_job_keys(key)[1], "2-0")


async def unknown_event(store: Store, key: JobKey) -> None:
    head = await store.jobs.read_head(key)
    assert head is not None
    odd = json.dumps({"type": "CoffeeMade", "at": 1.0, "v": ev.SCHEMA})
    await store._server.run_command("XADD", store._keys.list_job_keys(key)[1], f"{head.seq + 1}-0", "p", odd)
    await store._server.run_command("HSET", store._keys.list_job_keys(key)[0], "_seq", head.seq + 1)


async def set_aside_records(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    return [record for record in caplog.records if getattr(record, "event", "") == "set_aside"]


@pytest.mark.parametrize("damage", [gap, unknown_event])
async def test_a_log_that_cannot_be_read(scene: Scene, damage: object, caplog: pytest.LogCaptureFixture) -> None:
    assert isinstance(scene.store, Store)
    async with scene.bot(admins=frozenset({scene.person().id})):
        talk = await scene.ask("What is 3 * 4?")
        await talk.over()
        await damage(scene.store, talk.key)  # type: ignore[operator]
        await talk.say("@leadhand what is 5 * 6?")
        (told,) = await talk.wait_until_seen(
            lambda: [m for m in talk.words() if "set this job aside" in extract_shown_text(m)]
        )
        await eventually(lambda: is_quarantined(scene, talk))
        assert "*Step:* reading its log" in extract_shown_text(told)
        assert "ask again in a new thread" in extract_shown_text(told)
        (record,) = await eventually(lambda: set_aside_records(caplog))
        assert "\n" not in record.getMessage()
        # Released as it is, it is set aside again; everything else goes on.
        await scene.command(f"release {talk.key.job}")
        await talk.wait_until_seen(
            lambda: len([m for m in talk.words() if "set this job aside" in extract_shown_text(m)]) == 2
        )
        await scene.barrier()


async def ingest_request(store: Store) -> None:
    request = Request(id="100.1", user="U1", text="do", at=0.0)
    fields = {"channel": "C1", "thread_ts": "100.1", "user": "U1", "title": "do"}
    event = ev.RequestAdded(at=0.0, place=PLACE, request=request)
    await store.jobs.ingest(KEY, ev.dump_event(event), dedupe=("1",), user="U1", fields=fields)


@asynccontextmanager
async def running(store: Store, effects: Breaking, **options: Any) -> AsyncIterator[Instance]:
    """An instance at work, which is stopped at the end of the block. `options` are those of `Instance`."""
    instance = Instance(store, effects, **{"lease": 30.0, **options})
    work = asyncio.create_task(instance.run())
    try:
        yield instance
    finally:
        await instance.stop()
        await work


async def until_quarantined(
    store: Store, effects: Breaking, lease: float = 30.0, bounds: StuckLimits | None = None
) -> None:
    """Have an instance at work until the job is set aside. The clock is moved to when the job is due again.

    The lease is too long to run out on a busy machine: who takes up again what it held itself is not counted as lost.
    """
    clock = MovedClock(store)
    async with running(store, effects, slots=2, lease=lease, stuck_limits=bounds) as instance:

        async def look() -> bool:
            head = await store.jobs.read_head(KEY)
            if head is not None and not head.owner and head.due is not None:
                clock.advance(max(0.0, head.due - store.clock()) + 0.01)
                instance.nudge(KEY)
            return head is not None and head.is_quarantined

        await eventually(look)


async def test_work_that_breaks_its_owner_again_and_again(store: Store) -> None:
    effects = Breaking(PayloadTooLarge("too large"))
    await ingest_request(store)
    await until_quarantined(store, effects)
    (told,) = effects.quarantine_notices
    (warned,) = effects.trial_notices
    assert (warned.place, warned.step, warned.lost_owners) == (PLACE, "planning", MAX_LOST_OWNERS)
    assert effects.try_count <= 3 * (MAX_LOST_OWNERS + 1), "nobody works on it after the trial"
    assert (told.place, told.user, told.is_readable) == (PLACE, "U1", True)
    assert told.step == "planning"
    assert told.job is not None
    assert told.job.quarantine is not None
    assert told.job.quarantine.step == "planning"
    head = await store.jobs.read_head(KEY)
    assert head is not None
    assert (head.lost_owners, head.owner, head.due) == (MAX_LOST_OWNERS + 1, "", None)


async def test_where_even_telling_breaks_the_job_is_set_aside_in_silence(
    caplog: pytest.LogCaptureFixture, store: Store
) -> None:
    effects = Breaking(RuntimeError("a bug"), mute=True)
    await ingest_request(store)
    await until_quarantined(store, effects)
    for notices in (effects.trial_notices, effects.quarantine_notices):
        assert len(notices) == MAX_LOST_OWNERS
        assert len({told.key for told in notices}) == 1, "one message, however often it is tried"
    assert "its thread was not told" in caplog.text


async def test_a_job_that_no_owner_ever_began_can_be_released_and_goes_on(store: Store) -> None:
    asked = Request(id="100.1", user="U1", text="Say hello", at=1.0)
    line = ev.dump_event(ev.RequestAdded(at=1.0, place=PLACE, request=asked))
    await store.jobs.ingest(KEY, line, dedupe=[], fields={"channel": "C1", "thread_ts": "100.1"})
    claim = await store.jobs.claim("breaks", lease=60, schema=ev.SCHEMA)
    assert claim is not None
    breaking = Breaking(RuntimeError("a bug"))
    await quarantine_job(claim, store, breaking.announce_quarantine)
    assert [notice.step for notice in breaking.quarantine_notices] == ["taking up the request"]
    assert await store.jobs.release_quarantined(KEY, ev.dump_event(ev.Released(at=2.0, user="U2")))
    claim = await store.jobs.claim("next", lease=60, schema=ev.SCHEMA)
    assert claim is not None
    job = read_log(await store.jobs.read_log(KEY))
    assert job is not None
    assert (job.latest_request.spec.text, job.quarantine is not None) == ("Say hello", True), (
        "until the release is taken in"
    )
