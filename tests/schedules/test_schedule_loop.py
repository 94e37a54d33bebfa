"""Each due time begins one run, whatever the number of instances and whoever dies where; and a week of 10,000."""

from __future__ import annotations

import asyncio
import secrets
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import pytest

from bot.features.schedules.cron_text import WEEKDAYS
from bot.features.schedules.loop import BATCH_SIZE, MAX_CATCH_UP_RUNS, ScheduleLoop
from bot.features.schedules.schedule import SCHEDULE_PREFIX, Schedule, ScheduleRule, make_store_name
from bot.features.schedules.service import ScheduleService, make_run_place, make_schedule_id, start_run
from bot.store.redis.redis_store import Store
from bot.store.values import JobKey, StoreError
from tests.store.kit import MovedClock
from tests.system.scene import eventually

DAY = 86_400.0
DAILY = ScheduleRule(cron="0 9 * * *")


def build_schedule(**more: Any) -> Schedule:
    of: dict[str, Any] = {"team": "T1", "channel": "C1", "owner": "U1", "asks": "summarise", "rule": DAILY}
    return Schedule(**{"state": "on", **of, **more})


def loop_on(store: Store) -> ScheduleLoop:
    return ScheduleLoop(store, ScheduleService(store))


@pytest.fixture
async def pair(server_url: str) -> AsyncIterator[tuple[Store, Store]]:
    """Two instances' stores: the same keys, each with a clock that can be moved."""
    prefix = f"t{secrets.token_hex(4)}"
    stores = [await Store.connect(server_url, prefix=prefix) for _ in range(2)]
    yield stores[0], stores[1]
    for store in stores:
        await store.close()


async def runs(store: Store) -> Counter[str]:
    """Count the requests that wait in the inbox of each job that was begun."""
    names = await store._server.run_command("KEYS", f"{store._keys.prefix}:*:in")
    lengths = await store._server.run_commands([("XLEN", name) for name in names])
    jobs = [name.decode().split("/", 1)[1].removesuffix(":in") for name in names]
    return Counter(dict(zip(jobs, lengths, strict=True)))


async def make_schedule(store: Store, **more: Any) -> Schedule:
    one = await ScheduleService(store).create(build_schedule(**more))
    assert isinstance(one, Schedule)
    return one


def job_of(one: Schedule, due: float) -> str:
    return make_run_place(one, due).job_id


async def test_two_instances_begin_each_due_time_once(pair: tuple[Store, Store]) -> None:
    one = await make_schedule(pair[0])
    assert one.next_at is not None
    for day in range(3):
        for store in pair:
            MovedClock(store).advance(one.next_at + day * DAY + 1 - store.clock())
        await asyncio.gather(*(loop_on(store).start_due_runs() for store in pair))
    assert await runs(pair[0]) == {job_of(one, one.next_at + day * DAY): 1 for day in range(3)}
    assert await pair[0].schedules.read_next_due(SCHEDULE_PREFIX) == one.next_at + 3 * DAY


async def test_no_run_begins_in_the_quiet_hours_of_its_channel(pair: tuple[Store, Store]) -> None:
    store, _ = pair
    one = await make_schedule(store)
    assert one.next_at is not None
    quiet = one.next_at + 7200

    async def quiet_until(team: str, channel: str) -> float:
        assert (team, channel) == ("T1", "C1")
        return max(quiet, store.clock())

    loop = ScheduleLoop(store, ScheduleService(store), quiet_until)
    MovedClock(store).advance(one.next_at + 1 - store.clock())
    await loop.start_due_runs()
    assert await runs(store) == {}
    MovedClock(store).advance(7200)
    await loop.start_due_runs()
    assert await runs(store) == {job_of(one, quiet): 1}
    assert await store.schedules.read_next_due(SCHEDULE_PREFIX) == one.next_at + DAY


class Dying:
    """The schedules of a store for a loop that dies at a call: before it, or after it was done."""

    def __init__(self, store: Store, call: str, *, after: bool) -> None:
        self._store, self._call, self._after = store, call, after
        self.schedules, self.jobs, self.clock = self, self, store.clock

    def __getattr__(self, name: str) -> Any:
        part = self._store.schedules if hasattr(self._store.schedules, name) else self._store.jobs

        async def call(*args: Any, **options: Any) -> Any:
            if name == self._call and not self._after:
                raise StoreError("it died")
            came = await getattr(part, name)(*args, **options)
            if name == self._call:
                raise StoreError("it died")
            return came

        return call


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("call", ["ingest", "fire"])
async def test_who_dies_in_between_loses_no_run_and_begins_none_twice(
    pair: tuple[Store, Store],
    call: str,
    after: bool,  # noqa: FBT001 - drawn by pytest
) -> None:
    one = await make_schedule(pair[0])
    assert one.next_at is not None
    for store in pair:
        MovedClock(store).advance(one.next_at + 1 - store.clock())
    with pytest.raises(StoreError, match="it died"):
        await ScheduleLoop(Dying(pair[0], call, after=after), ScheduleService(pair[0])).start_due_runs()  # type: ignore[arg-type]
    MovedClock(pair[1]).advance(2 * 3600.0)  # longer than a dedupe id is remembered would do no harm either
    await loop_on(pair[1]).start_due_runs()
    assert await runs(pair[1]) == {job_of(one, one.next_at): 1}


async def test_a_run_that_was_begun_long_ago_is_not_begun_again(store: Store) -> None:
    one = await make_schedule(store)
    key = await start_run(store, one, 5.0)
    await store._server.run_command("DEL", *(await store._server.run_command("KEYS", f"{store._keys.prefix}:*:seen:*")))
    assert await start_run(store, one, 5.0) == key
    lines = [entry.payload for entry in await store.jobs.read_inbox(key)]
    assert len({line.partition('"request":')[2].partition('"at":')[0] for line in lines}) == 1, "one request by its id"


@pytest.mark.parametrize(("missed_mode", "run_count"), [("once", 1), ("all", 5), ("skip", 0)])
async def test_missed_runs(store: Store, missed_mode: str, run_count: int) -> None:
    one = await make_schedule(store, missed=missed_mode)
    assert one.next_at is not None
    MovedClock(store).advance(one.next_at + 4 * DAY + 3600 - store.clock())
    await loop_on(store).start_due_runs()
    expected = {"once": [0], "all": range(5), "skip": []}[missed_mode]
    assert await runs(store) == {job_of(one, one.next_at + day * DAY): 1 for day in expected}
    assert len(list(expected)) == run_count
    assert await store.schedules.read_next_due(SCHEDULE_PREFIX) == one.next_at + 5 * DAY


async def test_of_many_missed_runs_the_last_ten_are_made_up_for(store: Store) -> None:
    one = await make_schedule(store, missed="all", rule=ScheduleRule(cron="0 * * * *"))
    assert one.next_at is not None
    MovedClock(store).advance(one.next_at + 400 * DAY + 1800 - store.clock())  # at the full hour one more falls due
    await loop_on(store).start_due_runs()
    assert len(await runs(store)) == MAX_CATCH_UP_RUNS


async def test_one_that_is_a_little_late_was_not_missed(store: Store) -> None:
    one = await make_schedule(store, missed="skip")
    assert one.next_at is not None
    MovedClock(store).advance(one.next_at + 300 - store.clock())
    await loop_on(store).start_due_runs()
    assert await runs(store) == {job_of(one, one.next_at): 1}


async def test_a_draft_is_dropped_and_a_paused_one_rests(store: Store) -> None:
    desk = ScheduleService(store)
    await make_schedule(store, state="draft")
    parsed = await make_schedule(store, state="draft")
    await desk.edit(parsed, "U1", lambda now: now.model_copy(update={"asks": "sum up"}), "read by a model")
    paused = await make_schedule(store)
    await desk.edit(paused, "U1", lambda now: now.model_copy(update={"state": "paused"}), "paused")
    MovedClock(store).advance(3 * DAY)
    await loop_on(store).start_due_runs()
    assert await runs(store) == {}
    assert [one.state for one in await desk.list_schedules("T1", "U1")] == ["paused"]
    assert len(await store.schedules.list_all("T1", SCHEDULE_PREFIX)) == 1


async def test_a_damaged_one_holds_nothing_up(store: Store) -> None:
    await store.schedules.put("T1", f"{SCHEDULE_PREFIX}U1:SBROKEN", "{", store.clock() - 1)
    strange = build_schedule(id="SNEWER", rule=ScheduleRule(cron="whatever a newer release writes")).model_dump_json()
    await store.schedules.put("T1", f"{SCHEDULE_PREFIX}U1:SNEWER", strange, store.clock() - 1)
    one = await make_schedule(store)
    assert one.next_at is not None
    MovedClock(store).advance(one.next_at + 1 - store.clock())
    await loop_on(store).start_due_runs()
    assert await runs(store) == {job_of(one, one.next_at): 1}


async def test_the_loop_wakes_when_one_is_made_and_sleeps_until_it_is_due(store: Store) -> None:
    desk = ScheduleService(store)
    loop = asyncio.create_task(ScheduleLoop(store, desk).run())
    await asyncio.sleep(0)
    one = await desk.create(build_schedule(rule=ScheduleRule(start=store.clock() + 0.3)))
    assert isinstance(one, Schedule)
    assert one.next_at is not None
    assert await eventually(lambda: runs(store))
    late = store.clock() - one.next_at
    loop.cancel()
    assert 0 <= late < 5, "and not ten minutes, or the longest nap, later"


TWO_THOUSAND = 2_000


async def test_a_week_of_two_thousand_schedules_on_two_instances(pair: tuple[Store, Store]) -> None:
    """Every due time once and none lost, over a restart in the middle and an instance that dies at work."""
    first, second = pair
    now = first.clock() // 60 * 60 + 30  # rules come up at full minutes: none falls due while the test looks
    every = [_weekly(number, now) for number in range(TWO_THOUSAND)]
    payloads, due, _ = first._keys.schedule_keys  # all in two commands: what is looked at is what becomes of them
    rows = [(f"T1/{make_store_name(one)}", one.model_dump_json(exclude_defaults=True), at) for one, at, _ in every]
    await first._server.run_command("HSET", payloads, *(part for name, payload, _ in rows for part in (name, payload)))
    await first._server.run_command("ZADD", due, *(part for name, _, at in rows for part in (repr(at), name)))
    hours = [now + hour * 3600 for hour in (5, 11, 26, 47, 48, 70, 100, 119, 145, 168)]
    for number, hour in enumerate(hours):
        for store in pair:
            MovedClock(store).advance(hour - store.clock())
        work = [asyncio.create_task(loop_on(store).start_due_runs()) for store in pair]
        if number % 3 == 1:  # one of them dies in the middle, and is started again next time
            await asyncio.sleep(0.05)
            work[0].cancel()
        await asyncio.gather(*work, return_exceptions=True)
    end = second.clock()
    expected = {
        job_of(one, at + turn * apart) for one, at, apart in every for turn in range(8) if at + turn * apart <= end
    }
    begun = await runs(first)
    assert set(begun) == expected
    assert set(begun.values()) == {1}
    assert len(expected) > TWO_THOUSAND
    assert not await second.schedules.list_due(kind=SCHEDULE_PREFIX, limit=BATCH_SIZE)


def _weekly(number: int, now: float) -> tuple[Schedule, float, float]:
    """A schedule, its first time after now and the seconds between its times: most are weekly, some daily."""
    daily = number % 40 == 0
    apart = DAY if daily else 7 * DAY
    week, hour, minute = number % 7, number % 24, number % 60
    rule = ScheduleRule(cron=f"{minute} {hour} * * {'*' if daily else WEEKDAYS[week]}")
    monday = now - now % (7 * DAY) - 3 * DAY  # the epoch began on a Thursday
    first = monday + (0 if daily else week * DAY) + hour * 3600 + minute * 60
    first += -((first - now) // apart) * apart
    return build_schedule(id=make_schedule_id(str(number)), owner=f"U{number}", rule=rule, missed="all"), first, apart


async def test_the_jobs_of_runs_are_known_to_the_store(store: Store) -> None:
    one = await make_schedule(store)
    key = await start_run(store, one, 5.0)
    assert key == JobKey("T1", job_of(one, 5.0))
    assert await store.jobs.read_heads_asked_by("T1", "U1") == [], "a list of jobs shows the thread, not what opened it"
