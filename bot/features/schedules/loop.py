"""Starts the runs of schedules when they are due, each once, whatever the number of instances.

A run starts as a job whose id is derived from the schedule and the time. First the job is started, then the schedule
is moved to its next time. If an instance dies in between, the schedule stays due: another instance starts a job with
the same id, which the store drops as a repeat. Once started, the run is an ordinary job: leased, taken over, retried.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
from collections.abc import Awaitable, Callable

from bot.features.schedules.rule_times import list_missed_times
from bot.features.schedules.schedule import SCHEDULE_PREFIX, Schedule
from bot.features.schedules.service import ScheduleService, start_run
from bot.store.redis.redis_store import Store
from bot.store.values import StoreError

log = logging.getLogger(__name__)

MAX_POLL_SECONDS = 30.0
"""Maximum seconds between two polls: another instance may have made a schedule that is due earlier."""
STORE_RETRY_SECONDS = 1.0
"""Seconds to wait after the store could not be reached."""
GRACE_SECONDS = 600.0
"""Seconds by which a run may be late without counting as missed, so that a restart misses no run."""
MAX_CATCH_UP_RUNS = 10
"""Maximum number of missed runs that are made up for with `missed` "all": the latest ones."""
BATCH_SIZE = 200
MAX_CONCURRENT_SCHEDULES = 20
"""Maximum number of schedules that are handled concurrently: at nine on a Monday many are due."""


def select_runs(schedule: Schedule, due: float, times: tuple[float, ...], now: float) -> tuple[float, ...]:
    """Return which of a schedule's `times` since `due` get a run now, by its rule for missed runs. No I/O.

    A single run for all missed times is the run of the first time, so that it is the same run whenever this is called.
    """
    if schedule.missed == "all":
        return times[-MAX_CATCH_UP_RUNS:]
    in_time = tuple(at for at in times if now - at <= GRACE_SECONDS)
    return in_time if schedule.missed == "skip" else (due,)


FindQuietEnd = Callable[[str, str], Awaitable[float]]
"""A function of (team, channel) that returns the Unix time when quiet hours end; a past time if there are none now."""


async def find_no_quiet_end(_team: str, _channel: str) -> float:
    """Return 0: there are no quiet hours."""
    return 0.0


class ScheduleLoop:
    """The loop of one instance, for the schedules of one team. A change through its `service` wakes the loop.

    A run that is due in the quiet hours of its channel starts when they end.
    """

    def __init__(
        self,
        store: Store,
        service: ScheduleService,
        find_quiet_end: FindQuietEnd = find_no_quiet_end,
        *,
        team: str = "",
    ) -> None:
        self._store, self._team = store, team
        self._service = service
        self._find_quiet_end = find_quiet_end

    async def run(self) -> None:
        """Start due runs, until cancelled."""
        while True:
            self._service.change_event.clear()
            try:
                pause_seconds = await self.start_due_runs()
            except StoreError as error:
                log.warning("no schedule runs until the store is back: %s", error)
                pause_seconds = STORE_RETRY_SECONDS
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause_seconds):
                    await self._service.change_event.wait()

    async def start_due_runs(self) -> float:
        """Start all due runs, and return the seconds until the next poll."""
        while rows := await self._store.schedules.list_due(team=self._team, kind=SCHEDULE_PREFIX, limit=BATCH_SIZE):
            random.shuffle(rows)  # so that instances do not compete for the same schedules
            for start in range(0, len(rows), MAX_CONCURRENT_SCHEDULES):
                batch = rows[start : start + MAX_CONCURRENT_SCHEDULES]
                if not all(await asyncio.gather(*(self._process_due_schedule(*row) for row in batch))):
                    break  # another instance handles these: read again which are left
        next_at = await self._store.schedules.read_next_due(SCHEDULE_PREFIX, team=self._team)
        return MAX_POLL_SECONDS if next_at is None else min(MAX_POLL_SECONDS, max(0.0, next_at - self._store.clock()))

    async def _process_due_schedule(self, team: str, name: str, payload: str, due: float) -> bool:
        """Start a schedule's due runs and move it to its next time, or drop an unsaved draft.

        Returns False if another instance did that.
        """
        schedules, now = self._store.schedules, self._store.clock()
        try:
            schedule = Schedule.model_validate_json(payload)
            times, following = (
                list_missed_times(schedule, due, now, MAX_CATCH_UP_RUNS) if schedule.state == "on" else ((), None)
            )
        except ValueError:  # damaged, or of a newer release: the other schedules still run
            log.error("schedule %s cannot be read, and is looked at again in an hour", name)  # noqa: TRY400 - one line
            return await schedules.fire(team, name, due, now + 3600.0)
        if schedule.state == "draft":  # nobody saved it
            return await schedules.compare_and_set(team, name, payload, "")
        if schedule.state == "on":
            until = await self._find_quiet_end(team, schedule.channel)
            if until > self._store.clock():  # quiet hours: it runs when they end
                return await schedules.fire(team, name, due, until)
            for at in select_runs(schedule, due, times, now):
                await start_run(self._store, schedule, at)
        return await schedules.fire(team, name, due, following)
