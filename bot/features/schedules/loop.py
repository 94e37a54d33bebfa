"""Starts the runs of schedules when they are due, each once, whatever the number of instances.

A run starts as a job whose id is derived from the schedule and the time. First the job is started, then the schedule
is moved to its next time. If an instance dies in between, the schedule stays due, and the next instance starts the
same job. From then on the run is an ordinary job: leased, taken over, retried.
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

LONGEST_POLL_PAUSE = 30.0
"""Maximum seconds between two polls: another instance may have made a schedule that is due earlier."""
STORE_RETRY_PAUSE = 1.0
"""Seconds to wait after the store could not be reached."""
GRACE_SECONDS = 600.0
"""Seconds by which a run may be late without counting as missed: a restart takes some of them."""
MAX_CAUGHT_UP = 10
"""Maximum number of missed runs that are made up for with `missed` "all": the latest ones."""
BATCH_SIZE = 200
MAX_CONCURRENT = 20
"""Maximum number of schedules that are handled concurrently: at nine on a Monday many are due."""


def select_runs(schedule: Schedule, due: float, times: tuple[float, ...], now: float) -> tuple[float, ...]:
    """Return which of a schedule's `times` since `due` get a run now, by its rule for missed runs. No I/O.

    A single run for all missed times is the run of the first time, so that it is the same run whenever this is called.
    """
    if schedule.missed == "all":
        return times[-MAX_CAUGHT_UP:]
    in_time = tuple(at for at in times if now - at <= GRACE_SECONDS)
    return in_time if schedule.missed == "skip" else (due,)


FindQuietEnd = Callable[[str, str], Awaitable[float]]
"""A function of (team, channel) that returns the end of the quiet hours; outside of them, a time not after now."""


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
        self._desk = service
        self._quiet_until = find_quiet_end

    async def run(self) -> None:
        """Start due runs, until cancelled."""
        while True:
            self._desk.changed.clear()
            try:
                nap = await self.start_due_runs()
            except StoreError as error:
                log.warning("no schedule runs until the store is back: %s", error)
                nap = STORE_RETRY_PAUSE
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(nap):
                    await self._desk.changed.wait()

    async def start_due_runs(self) -> float:
        """Start all due runs, and return the seconds until the next poll."""
        while rows := await self._store.schedules.list_due(team=self._team, kind=SCHEDULE_PREFIX, limit=BATCH_SIZE):
            random.shuffle(rows)  # so that instances do not compete for the same schedules
            for start in range(0, len(rows), MAX_CONCURRENT):
                some = rows[start : start + MAX_CONCURRENT]
                if not all(await asyncio.gather(*(self._start_runs(*row) for row in some))):
                    break  # another instance handles these: read again which are left
        next_at = await self._store.schedules.next_due(SCHEDULE_PREFIX, team=self._team)
        return (
            LONGEST_POLL_PAUSE if next_at is None else min(LONGEST_POLL_PAUSE, max(0.0, next_at - self._store.clock()))
        )

    async def _start_runs(self, team: str, name: str, payload: str, due: float) -> bool:
        """Start the due runs of a schedule and move it to its next time. Returns False if another instance did that."""
        schedules, now = self._store.schedules, self._store.clock()
        try:
            one = Schedule.model_validate_json(payload)
            times, following = list_missed_times(one, due, now, MAX_CAUGHT_UP) if one.state == "on" else ((), None)
        except ValueError:  # damaged, or of a newer release: the other schedules still run
            log.error("schedule %s cannot be read, and is looked at again in an hour", name)  # noqa: TRY400 - one line
            return await schedules.fire(team, name, due, now + 3600.0)
        if one.state == "draft":  # nobody saved it
            return await schedules.swap(team, name, payload, "")
        if one.state == "on":
            until = await self._quiet_until(team, one.channel)
            if until > self._store.clock():  # quiet hours: it runs when they end
                return await schedules.fire(team, name, due, until)
            for at in select_runs(one, due, times, now):
                await start_run(self._store, one, at)
        return await schedules.fire(team, name, due, following)
