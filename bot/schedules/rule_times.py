"""When a rule comes up: APScheduler's cron, mended where it differs from cron or from what people mean. Pure.

All times are seconds since the epoch. A fixed time that summer time skips comes up once, when the clocks have gone
forward; one that comes twice in autumn comes up the first time. A rule by the hour goes by real time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import islice, pairwise
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from bot.schedules.schedule import Rule, Schedule

DAY = 86_400.0
PATIENCE = 500
"""Missed times that are counted one by one. Who missed more has those of the last two days looked at."""
LOOKED_AT = 50
"""Times of a rule that are compared to find out how often it comes up."""
ORDINALS = {"1": "1st", "2": "2nd", "3": "3rd", "4": "4th", "5": "5th", "last": "last"}


def zone_of(name: str) -> ZoneInfo | None:
    """Return a zone by its IANA name; None if there is none of that name."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):  # a folder's name, or a path out of it
        return None


def following(rule: Rule, zone: str, after: float, until: float | None = None) -> float | None:
    """Return the first time after a moment, and not after `until`; None if there is none."""
    tz = zone_of(zone) or ZoneInfo("UTC")
    if rule.cron:
        found = min((at for at in (_cron(one, tz, after) for one in _triggers(rule.cron, str(tz))) if at), default=None)
    elif rule.minutes:
        step = rule.minutes * 60.0
        found = rule.start + max(0.0, (after - rule.start) // step + 1) * step
    elif rule.days:
        found = _days(rule, tz, after)
    else:
        found = rule.start if rule.start > after else None
    return None if found is None or (until is not None and found > until) else found


def upcoming(rule: Rule, zone: str, after: float, until: float | None = None) -> Iterator[float]:
    """Give the times after a moment, one after the other."""
    at: float | None = after
    while at is not None and (at := following(rule, zone, at, until)) is not None:
        yield at


def next_times(one: Schedule, now: float, number: int = 3) -> tuple[float, ...]:
    """Return the next times of a schedule."""
    return tuple(islice(upcoming(one.rule, one.zone, now, one.until), number))


def passed(one: Schedule, due: float, now: float, most: int) -> tuple[tuple[float, ...], float | None]:
    """Return the last times from `due` up to now, `most` at most, and the next one after now."""
    times = deque([due], maxlen=most)
    for number, at in enumerate(upcoming(one.rule, one.zone, due, one.until)):
        if at > now:
            return tuple(times), at
        times.append(at)
        if number >= PATIENCE:
            break
    else:
        return tuple(times), None
    for at in upcoming(one.rule, one.zone, max(times[-1], now - 2 * DAY), one.until):
        if at > now:
            return tuple(times), at
        times.append(at)
    return tuple(times), None


def least_gap(rule: Rule, zone: str, now: float) -> float | None:
    """Return the fewest seconds between two times that follow each other; None if there are not two."""
    times = islice(upcoming(rule, zone, now), LOOKED_AT)
    return min((later - at for at, later in pairwise(times)), default=None)


def _days(rule: Rule, tz: ZoneInfo, after: float) -> float:
    """Return the next of every so many days at the wall clock's time of the first one."""
    first = datetime.fromtimestamp(rule.start, tz).replace(tzinfo=None)
    begin = max(0, int((after - rule.start) // (rule.days * DAY)) - 1)
    for number in range(begin, begin + 4):
        at = (first + timedelta(days=number * rule.days)).replace(tzinfo=tz).timestamp()
        if at > after:
            return at
    raise AssertionError("a day is at most 25 hours long")


def _cron(trigger: tuple[Any, bool], tz: ZoneInfo, after: float) -> float | None:
    """Return the next time of one trigger. Where the hour is fixed, the repeat of an hour in autumn is left out."""
    fires, fixed = trigger
    # One is left with the epoch between two looks: APScheduler compares local times, and those go back in autumn.
    last = datetime.fromtimestamp(after, tz)
    while (found := fires.get_next_fire_time(last, last)) is not None:
        at = found.astimezone(UTC).timestamp()
        if at > after and not (fixed and datetime.fromtimestamp(at, tz).fold):
            return float(at)
        last = found
    return None


@lru_cache(maxsize=10_000)
def _triggers(cron: str, zone: str) -> tuple[tuple[Any, bool], ...]:
    """Make the triggers of a normal rule (see `cron_text`), each with whether its hour is fixed.

    If both a day of the month and a weekday are given, either is enough: so it is in cron, but not in APScheduler.
    """
    from apscheduler.triggers.cron import CronTrigger  # noqa: PLC0415 - only where there are schedules

    minute, hour, day, month, week = cron.split()
    fixed = not set("*/") & set(hour)
    of: dict[str, Any] = {"minute": minute, "hour": hour, "month": month, "timezone": ZoneInfo(zone)}
    plain = ",".join(one for one in week.split(",") if "#" not in one)
    nth = [one.partition("#") for one in week.split(",") if "#" in one]
    days = [{"day": f"{ORDINALS[number]} {name}"} for name, _, number in nth]
    days += [{"day": day}] if day != "*" else []
    days += [{"day_of_week": plain}] if plain not in {"", "*"} else []
    return tuple((CronTrigger(**of, **each), fixed) for each in days or [{}])
