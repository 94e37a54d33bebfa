"""Begins the runs of schedules when they are due, each once whatever the number of instances.

A run begins as a job whose id follows from the schedule and the time. That job is begun first, and then the schedule
is moved on: an instance that dies in between leaves it due, and the next one begins the same job. From
then on the run is work like any other: leased, taken over, retried.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
from collections.abc import Awaitable, Callable

from bot.features.schedules.rule_times import missed_times
from bot.features.schedules.schedule import KIND, Schedule
from bot.features.schedules.service import ScheduleDesk, begin_run
from bot.store.redis.redis_store import Store
from bot.store.values import StoreError

log = logging.getLogger(__name__)

LONGEST_NAP = 30.0
"""Seconds between two looks, in case another instance has made a schedule that is due before all others."""
STORE_NAP = 1.0
"""Seconds to wait after the store could not be reached."""
GRACE = 600.0
"""Seconds by which a run may be late without being missed: a restart takes some of them."""
MOST_CAUGHT_UP = 10
"""The most missed runs that are made up for, if all of them are wanted: the latest ones."""
BATCH = 200
AT_ONCE = 20
"""Schedules that are looked at side by side: at nine on a Monday many are due."""


def select_runs(one: Schedule, due: float, times: tuple[float, ...], now: float) -> tuple[float, ...]:
    """Return the times that get a run: of `due` and the last `times` that have come since then. Pure.

    A single run for all missed times is that of the first: it stays the same run, however late this is asked.
    """
    if one.missed == "all":
        return times[-MOST_CAUGHT_UP:]
    in_time = tuple(at for at in times if now - at <= GRACE)
    return in_time if one.missed == "skip" else (due,)


QuietUntil = Callable[[str, str], Awaitable[float]]
"""Tells, of a channel of a team, when its quiet hours are over; the present or a time before it if it has none now."""


async def never_quiet(_team: str, _channel: str) -> float:
    """Find no quiet hours."""
    return 0.0


class ScheduleLoop:
    """The loop of one instance, for the schedules of one team. `desk` wakes it when one was made or changed here.

    No run begins in the quiet hours of its channel: it begins when they are over.
    """

    def __init__(
        self, store: Store, desk: ScheduleDesk, quiet_until: QuietUntil = never_quiet, *, team: str = ""
    ) -> None:
        self._store, self._team = store, team
        self._desk = desk
        self._quiet_until = quiet_until

    async def run(self) -> None:
        """Begin what is due, until cancelled."""
        while True:
            self._desk.changed.clear()
            try:
                nap = await self.begin_due_runs()
            except StoreError as error:
                log.warning("no schedule runs until the store is back: %s", error)
                nap = STORE_NAP
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(nap):
                    await self._desk.changed.wait()

    async def begin_due_runs(self) -> float:
        """Begin all that is due, and return the seconds until the next look."""
        while rows := await self._store.schedules.list_due(team=self._team, kind=KIND, limit=BATCH):
            random.shuffle(rows)  # so that instances do not race for each
            for start in range(0, len(rows), AT_ONCE):
                some = rows[start : start + AT_ONCE]
                if not all(await asyncio.gather(*(self._begin_runs(*row) for row in some))):
                    break  # another instance is at these: look again at what is left
        next_at = await self._store.schedules.next_due(KIND, team=self._team)
        return LONGEST_NAP if next_at is None else min(LONGEST_NAP, max(0.0, next_at - self._store.clock()))

    async def _begin_runs(self, team: str, name: str, payload: str, due: float) -> bool:
        """Begin the runs of one schedule and move it on. False if somebody else was quicker."""
        schedules, now = self._store.schedules, self._store.clock()
        try:
            one = Schedule.model_validate_json(payload)
            times, following = missed_times(one, due, now, MOST_CAUGHT_UP) if one.state == "on" else ((), None)
        except ValueError:  # it is damaged, or a newer release wrote it: the others go on
            log.error("schedule %s cannot be read, and is looked at again in an hour", name)  # noqa: TRY400 - one line
            return await schedules.fire(team, name, due, now + 3600.0)
        if one.state == "draft":  # nobody saved it
            return await schedules.swap(team, name, payload, "")
        if one.state == "on":
            until = await self._quiet_until(team, one.channel)
            if until > self._store.clock():  # nobody asked for it at this hour
                return await schedules.fire(team, name, due, until)
            for at in select_runs(one, due, times, now):
                await begin_run(self._store, one, at)
        return await schedules.fire(team, name, due, following)
