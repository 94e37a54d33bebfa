"""What rules should come up at, worked out from each zone's offsets alone; and a check of all zones for a whole year.

`python -m tests.schedules.zone_changes [YEAR]` checks every half hour of a year in every zone (some minutes).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cache
from itertools import pairwise
from zoneinfo import ZoneInfo, available_timezones

from bot.features.schedules.rule_times import iterate_times
from bot.features.schedules.schedule import ScheduleRule

STEP = 6 * 3600.0
"""Seconds between two looks at a zone's offset. No zone changes its clocks twice within them."""
DAY = 86_400.0
HALF_HOURS = [(hour, minute) for hour in range(24) for minute in (0, 30)]


@dataclass(frozen=True)
class Change:
    """A change of the clocks at a moment: offsets from UTC before and after, in seconds."""

    at: float
    before: float
    after: float


def moment(year: int, month: int = 1, day: int = 1) -> float:
    """The beginning of a day in UTC."""
    return datetime(year, month, day, tzinfo=UTC).timestamp()


def offset(at: float, zone: str) -> float:
    """A zone's offset from UTC at a moment."""
    ahead = datetime.fromtimestamp(at, ZoneInfo(zone)).utcoffset()
    assert ahead is not None
    return ahead.total_seconds()


def change_day(change: Change) -> date:
    """The local day on which the clocks change."""
    return datetime.fromtimestamp(change.at + change.before, UTC).date()


@cache
def changes(zone: str, year: int) -> tuple[Change, ...]:
    """All changes of a zone's clocks in a year, and two days on either side."""
    at, end = moment(year) - 2 * DAY, moment(year + 1) + 2 * DAY
    looks = [(at + number * STEP, offset(at + number * STEP, zone)) for number in range(int((end - at) / STEP) + 1)]
    found = []
    for (early, before), (late, after) in pairwise(looks):
        if before != after:
            found.append(Change(_first_with_other_offset(early, late, before, zone), before, after))
    return tuple(found)


def _first_with_other_offset(low: float, high: float, before: float, zone: str) -> float:
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if offset(middle, zone) == before else (low, middle)
    return high


def kinds_of_zones(year: int) -> list[str]:
    """One zone of each kind: those that change alike in a year count once."""
    first = {}
    for zone in sorted(available_timezones()):
        first.setdefault((offset(moment(year), zone), changes(zone, year)), zone)
    return list(first.values())


def comes_at(day: date, time: tuple[int, int], zone: str) -> float:
    """The one moment at which a local time should come up."""
    wall = datetime(day.year, day.month, day.day, *time, tzinfo=UTC).timestamp()
    near = [one for year in {day.year - 1, day.year, day.year + 1} for one in changes(zone, year)]
    offsets = {offset(wall + away, zone) for away in (-2 * DAY, 2 * DAY)}
    offsets |= {each for one in near if abs(one.at - wall) < 2 * DAY for each in (one.before, one.after)}
    exists = [wall - each for each in offsets if offset(wall - each, zone) == each]
    if exists:
        return min(exists)
    gap = next(one for one in near if one.at + one.before <= wall < one.at + one.after)
    return wall - gap.before


def check(
    rule: ScheduleRule, days: Callable[[date], bool], time: tuple[int, int], zone: str, since: float, end: float
) -> None:
    """Compare the times of a rule between two moments with those of the days that it names."""
    first = datetime.fromtimestamp(since, UTC).date() - timedelta(days=3)
    named = [first + timedelta(days=number) for number in range(int((end - since) / DAY) + 7)]
    right = sorted({comes_at(day, time, zone) for day in named if days(day)})
    right = [at for at in right if since < at <= end]
    found = list(iterate_times(rule, zone, since, end))
    assert found == right, f"{rule} in {zone}: {_differences(found, right, zone)}"


def _differences(found_times: list[float], right: list[float], zone: str) -> str:
    words = [
        f"{name} {datetime.fromtimestamp(at, ZoneInfo(zone)):%Y-%m-%d %H:%M%z}"
        for name, times in (("lacks", set(right) - set(found_times)), ("has", set(found_times) - set(right)))
        for at in sorted(times)[:3]
    ]
    return ", ".join(words) or "in another order"


def daily(time: tuple[int, int]) -> ScheduleRule:
    """Every day at a time."""
    return ScheduleRule(cron=f"{time[1]} {time[0]} * * *")


def whole_year(year: int) -> Iterator[str]:
    """Check every half hour of a year in every kind of zone, and give the name of each."""
    for zone in kinds_of_zones(year):
        for time in HALF_HOURS:
            check(daily(time), lambda _: True, time, zone, moment(year), moment(year + 1))
        yield zone


if __name__ == "__main__":
    for name in whole_year(int(sys.argv[1]) if len(sys.argv) > 1 else 2027):
        print(name, flush=True)  # noqa: T201 - a command
