"""When a rule comes up. APScheduler says which days and times a cron rule names; the clock is here. Pure.

All times are seconds since the epoch, and only such are compared: local times go back in autumn. A local time that
summer time skips comes up once, when the clocks have gone forward; one that comes twice in autumn comes up the first
time. Only a rule for every hour goes by real time.
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

DAY = 86_400.0
FARTHEST = 90_000.0
"""Seconds within which a change of the clocks moves a local time: a day (Samoa left one out), and a little more."""
EVERY_HOUR = frozenset({"*", "*/1", "0-23", "0-23/1"})
"""Fields of hours that name each of them."""
PATIENCE = 500
"""Missed times that are counted one by one. Beyond them, only those of the last two days are looked at."""
COMPARED_TIMES = 50
"""Times of a rule that are compared to find out how often it comes up."""
ORDINALS = {"1": "1st", "2": "2nd", "3": "3rd", "4": "4th", "5": "5th", "last": "last"}


def next_time(rule: ScheduleRule, zone: str, after: float, until: float | None = None) -> float | None:
    """Return the first time after a moment, and not after `until`; None if there is none."""
    return next(iterate_times(rule, zone, after, until), None)


def iterate_times(rule: ScheduleRule, zone: str, after: float, until: float | None = None) -> Iterator[float]:
    """Give the times after a moment and not after `until`, each once and in order."""
    tz = find_zone(zone) or UTC
    last = after
    for at in _iterate_cron_times(rule.cron, tz, after) if rule.cron else _iterate_interval(rule, tz, after):
        if until is not None and at > until:
            return
        if at > last:
            last = at
            yield at


def next_times(one: Schedule, now: float, number: int = 3) -> tuple[float, ...]:
    """Return the next times of a schedule."""
    return tuple(islice(iterate_times(one.rule, one.zone, now, one.until), number))


def missed_times(one: Schedule, due: float, now: float, most: int) -> tuple[tuple[float, ...], float | None]:
    """Return the last times from `due` up to now, `most` at most, and the next one after now."""
    times = deque([due], maxlen=most)
    for number, at in enumerate(iterate_times(one.rule, one.zone, due, one.until)):
        if at > now:
            return tuple(times), at
        times.append(at)
        if number >= PATIENCE:
            break
    else:
        return tuple(times), None
    for at in iterate_times(one.rule, one.zone, max(times[-1], now - 2 * DAY), one.until):
        if at > now:
            return tuple(times), at
        times.append(at)
    return tuple(times), None


def least_gap(rule: ScheduleRule, zone: str, now: float) -> float | None:
    """Return the fewest seconds between two times that follow each other; None if there are not two."""
    times = islice(iterate_times(rule, zone, now), COMPARED_TIMES)
    return min((later - at for at, later in pairwise(times)), default=None)


def _iterate_interval(rule: ScheduleRule, tz: tzinfo, after: float) -> Iterator[float]:
    """Give the times of a rule without cron that come after a moment, in order; some of them twice."""
    if rule.days:
        first = datetime.fromtimestamp(rule.start, tz).replace(tzinfo=None)
        number = max(0, int((after - rule.start) // (rule.days * DAY)) - 1)
        while True:
            yield _resolve_local_time(first + timedelta(days=number * rule.days), tz)
            number += 1
    else:
        yield rule.start


def _iterate_cron_times(cron: str, tz: tzinfo, after: float) -> Iterator[float]:
    """Give the times of a cron rule that come after a moment, in order; some of them twice.

    They are found as local times, which do not come in the order of real ones: what was found waits in `due` until no
    later local time can come before it.
    """
    triggers, every_hour = _make_triggers(cron)
    lowest = min(_offset_at(after + away, tz) for away in (-FARTHEST, 0.0, FARTHEST))
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
    """Give the local times of a trigger from `since` on, without a zone."""
    at = trigger.get_next_fire_time(None, since)
    while at is not None:
        yield at.replace(tzinfo=None)
        at = trigger.get_next_fire_time(at, at)


def _resolve_local_time(wall: datetime, tz: tzinfo, *, fold: int = 0) -> float:
    """Return the moment of a local time: one that summer time skips is as long after the change as it would be."""
    return wall.replace(tzinfo=tz, fold=fold).timestamp()


def _offset_at(at: float, tz: tzinfo) -> timedelta:
    return datetime.fromtimestamp(at, tz).utcoffset() or timedelta()


@lru_cache(maxsize=10_000)
def _make_triggers(cron: str) -> tuple[tuple[Any, ...], bool]:
    """Make the triggers of a normal rule (see `cron_text`), which name local times, and tell if it names each hour.

    They are in UTC, which has no summer time: in any other zone APScheduler leaves days out. If both a day of the month
    and a weekday are given, either is enough: so it is in cron, but not in APScheduler.
    """
    from apscheduler.triggers.cron import CronTrigger  # noqa: PLC0415 - only where there are schedules

    minute, hour, day, month, week = cron.split()
    of: dict[str, Any] = {"minute": minute, "hour": hour, "month": month, "timezone": UTC}
    plain = ",".join(one for one in week.split(",") if "#" not in one)
    nth = [one.partition("#") for one in week.split(",") if "#" in one]
    days = [{"day": f"{ORDINALS[number]} {name}"} for name, _, number in nth]
    days += [{"day": day}] if day != "*" else []
    days += [{"day_of_week": plain}] if plain not in {"", "*"} else []
    return tuple(CronTrigger(**of, **each) for each in days or [{}]), hour in EVERY_HOUR
