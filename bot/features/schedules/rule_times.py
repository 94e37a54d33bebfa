"""Computes the times of a rule. APScheduler finds a cron rule's local times; changes of the clocks are handled here.

All times are seconds since the epoch, and only these are compared, since local times repeat in autumn. A local time
that the change to summer time skips counts once, after the change. A local time that occurs twice in autumn counts
once, the first time; only a rule for every hour counts it twice. No I/O.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from heapq import heappop, heappush, merge
from itertools import islice, pairwise
from typing import Any

from bot.access.time_zones import find_zone
from bot.features.schedules.schedule import Schedule, ScheduleRule

DAY_SECONDS = 86_400.0
MAX_CLOCK_CHANGE = 90_000.0
"""Maximum seconds by which a change of the clocks moves a local time: a day (Samoa skipped one), and a margin."""
EVERY_HOUR_FIELDS = frozenset({"*", "*/1", "0-23", "0-23/1"})
"""Cron fields of hours that include every hour."""
MAX_ITERATED_TIMES = 500
"""Maximum number of missed times that are iterated one by one. Beyond it, only the last two days are iterated."""
COMPARED_TIMES = 50
"""Number of a rule's next times that are compared to find its shortest interval."""
ORDINALS = {"1": "1st", "2": "2nd", "3": "3rd", "4": "4th", "5": "5th", "last": "last"}


def find_next_time(rule: ScheduleRule, zone: str, after: float, until: float | None = None) -> float | None:
    """Return a rule's first time after `after` and not after `until`; None if there is none."""
    return next(iterate_times(rule, zone, after, until), None)


def iterate_times(rule: ScheduleRule, zone: str, after: float, until: float | None = None) -> Iterator[float]:
    """Yield a rule's times after `after` and not after `until`, each once and in order."""
    tz = find_zone(zone) or UTC
    last = after
    for at in _iterate_cron_times(rule.cron, tz, after) if rule.cron else _iterate_dated_times(rule, tz, after):
        if until is not None and at > until:
            return
        if at > last:
            last = at
            yield at


def list_next_times(schedule: Schedule, now: float, number: int = 3) -> tuple[float, ...]:
    """Return the next `number` times of a schedule."""
    return tuple(islice(iterate_times(schedule.rule, schedule.zone, now, schedule.until), number))


def list_missed_times(
    schedule: Schedule, due: float, now: float, max_times: int
) -> tuple[tuple[float, ...], float | None]:
    """Return the latest times from `due` up to now, `max_times` at most, and the first time after now or None."""
    times = deque([due], maxlen=max_times)
    for number, at in enumerate(iterate_times(schedule.rule, schedule.zone, due, schedule.until)):
        if at > now:
            return tuple(times), at
        times.append(at)
        if number >= MAX_ITERATED_TIMES:
            break
    else:
        return tuple(times), None
    for at in iterate_times(schedule.rule, schedule.zone, max(times[-1], now - 2 * DAY_SECONDS), schedule.until):
        if at > now:
            return tuple(times), at
        times.append(at)
    return tuple(times), None


def find_shortest_interval(rule: ScheduleRule, zone: str, now: float) -> float | None:
    """Return the shortest interval in seconds between a rule's next `COMPARED_TIMES` times; None for fewer than two."""
    times = islice(iterate_times(rule, zone, now), COMPARED_TIMES)
    return min((later - at for at, later in pairwise(times)), default=None)


def _iterate_dated_times(rule: ScheduleRule, tz: tzinfo, after: float) -> Iterator[float]:
    """Yield the times of a rule without cron in order. The first ones can be at or before `after`."""
    if rule.days:
        first = datetime.fromtimestamp(rule.start, tz).replace(tzinfo=None)
        number = max(0, int((after - rule.start) // (rule.days * DAY_SECONDS)) - 1)
        while True:
            yield _resolve_local_time(first + timedelta(days=number * rule.days), tz)
            number += 1
    else:
        yield rule.start


def _iterate_cron_times(cron: str, tz: tzinfo, after: float) -> Iterator[float]:
    """Yield the times of a cron rule in order. Some can repeat, and the first ones can be at or before `after`.

    The triggers find local times, whose order is not that of real times. So each time waits in `due` until no later
    local time can precede it.
    """
    triggers, every_hour = _make_triggers(cron)
    lowest = min(_find_offset(after + away, tz) for away in (-MAX_CLOCK_CHANGE, 0.0, MAX_CLOCK_CHANGE))
    since = datetime.fromtimestamp(after, UTC) + lowest
    due: list[float] = []
    for wall in merge(*(_iterate_fire_times(trigger, since) for trigger in triggers)):
        at, repeat = _resolve_local_time(wall, tz), _resolve_local_time(wall, tz, fold=1)
        while due and due[0] < min(at, repeat):
            yield heappop(due)
        heappush(due, at)
        if every_hour and repeat > at:
            heappush(due, repeat)
    while due:
        yield heappop(due)


def _iterate_fire_times(trigger: Any, since: datetime) -> Iterator[datetime]:
    """Yield the local times of a trigger from `since` on, without a zone."""
    at = trigger.get_next_fire_time(None, since)
    while at is not None:
        yield at.replace(tzinfo=None)
        at = trigger.get_next_fire_time(at, at)


def _resolve_local_time(local_time: datetime, tz: tzinfo, *, fold: int = 0) -> float:
    """Return a local time in seconds since the epoch. A time that summer time skips is moved behind the change."""
    return local_time.replace(tzinfo=tz, fold=fold).timestamp()


def _find_offset(at: float, tz: tzinfo) -> timedelta:
    return datetime.fromtimestamp(at, tz).utcoffset() or timedelta()


@lru_cache(maxsize=10_000)
def _make_triggers(cron: str) -> tuple[tuple[Any, ...], bool]:
    """Make the triggers for a cron rule as `normalize_cron` returns it. Also returns whether it includes every hour.

    The triggers are in UTC, which has no summer time: in other zones APScheduler skips days. If a rule has both a day
    of the month and a weekday, either one suffices, as in cron but not in APScheduler.
    """
    from apscheduler.triggers.cron import CronTrigger  # noqa: PLC0415 - only where there are schedules

    minute, hour, day, month, week = cron.split()
    shared_fields: dict[str, Any] = {"minute": minute, "hour": hour, "month": month, "timezone": UTC}
    plain = ",".join(one for one in week.split(",") if "#" not in one)
    nth = [one.partition("#") for one in week.split(",") if "#" in one]
    days = [{"day": f"{ORDINALS[number]} {name}"} for name, _, number in nth]
    days += [{"day": day}] if day != "*" else []
    days += [{"day_of_week": plain}] if plain not in {"", "*"} else []
    return tuple(CronTrigger(**shared_fields, **each) for each in days or [{}]), hour in EVERY_HOUR_FIELDS
