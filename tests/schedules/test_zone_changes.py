"""No day, week or month is skipped or comes twice where clocks change, in any zone."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from itertools import islice, pairwise
from zoneinfo import ZoneInfo, available_timezones

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.features.schedules.rule_times import iterate_times
from bot.features.schedules.schedule import ScheduleRule
from tests.schedules.zone_changes import (
    DAY,
    HALF_HOURS,
    Change,
    change_day,
    changes,
    check,
    comes_at,
    daily,
    kinds_of_zones,
    moment,
)

YEAR = 2027
WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
MORE = [
    ("Pacific/Apia", 2011),  # left 30 December out
    ("Pacific/Kwajalein", 1993),  # left 21 August out
    ("Pacific/Fakaofo", 2011),
    ("Asia/Beirut", 2026),  # at midnight
    ("Africa/Cairo", 2026),
    ("America/Asuncion", 2023),
    ("America/Havana", 2026),
    ("America/Santiago", 2026),
    ("Africa/Casablanca", 2026),  # back for Ramadan
    ("Australia/Lord_Howe", 2026),  # by half an hour
    ("America/Scoresbysund", 2026),  # the hour before midnight
    ("Antarctica/Troll", 2026),  # by two hours
    ("Europe/Volgograd", 2020),  # for good
    ("Asia/Pyongyang", 2018),
]


def half_hours_near(zone: str, change: Change) -> list[tuple[int, int]]:
    """List the half hours of the day that lie within three hours of a change, by the clock after it, and noon."""
    after = datetime.fromtimestamp(change.at, ZoneInfo(zone))
    minute = after.hour * 60 + after.minute
    away = {time: abs((time[0] * 60 + time[1] - minute + 720) % 1440 - 720) for time in HALF_HOURS}
    return [time for time in HALF_HOURS if away[time] <= 180 or time == (12, 0)]


def check_around(zone: str, change: Change) -> None:
    """Check the half hours around a change on the days around it, and rules of other kinds for the times it moves."""
    since, end = change.at - 4 * DAY, change.at + 3 * DAY
    for time in half_hours_near(zone, change):
        check(daily(time), lambda _: True, time, zone, since, end)
    day = change_day(change)
    weekday, since, end = WEEKDAYS[day.weekday()], change.at - 8 * DAY, change.at + 8 * DAY
    for time in ((0, 0), (0, 30), (1, 30), (2, 15), (2, 30), (9, 0), (23, 30)):
        at = f"{time[1]} {time[0]}"
        check(
            ScheduleRule(cron=f"{at} * * {weekday}"), lambda one: one.weekday() == day.weekday(), time, zone, since, end
        )
        check(ScheduleRule(cron=f"{at} {day.day} * *"), lambda one: one.day == day.day, time, zone, since, end)
        nth = (day.day + 6) // 7
        check(
            ScheduleRule(cron=f"{at} * * {weekday}#{nth}"),
            lambda one, nth=nth: one.weekday() == day.weekday() and (one.day + 6) // 7 == nth,  # type: ignore[misc]
            time,
            zone,
            since,
            end,
        )
        first = day - timedelta(days=6)
        start = comes_at(first, time, zone)
        check(
            ScheduleRule(days=2, start=start),
            lambda one, first=first: one >= first and (one - first).days % 2 == 0,  # type: ignore[misc]
            time,
            zone,
            start,
            end,
        )


def test_every_half_hour_comes_once_a_day_around_each_change_of_each_zone() -> None:
    for zone in kinds_of_zones(YEAR):
        for change in changes(zone, YEAR):
            check_around(zone, change)


@pytest.mark.parametrize(("zone", "year"), MORE)
def test_changes_of_rare_kinds(zone: str, year: int) -> None:
    assert changes(zone, year)
    for change in changes(zone, year):
        check_around(zone, change)


@settings(max_examples=15, deadline=None)
@given(
    zone=st.sampled_from(sorted(available_timezones())),
    year=st.integers(1975, 2037),
    time=st.tuples(st.integers(0, 23), st.integers(0, 59)),
    week=st.sets(st.sampled_from(WEEKDAYS), min_size=1, max_size=6),
)
def test_a_whole_year_in_a_drawn_zone(zone: str, year: int, time: tuple[int, int], week: set[str]) -> None:
    since, end = moment(year), moment(year + 1)
    check(daily(time), lambda _: True, time, zone, since, end)

    def is_named(day: date) -> bool:
        return WEEKDAYS[day.weekday()] in week

    names = ",".join(name for name in WEEKDAYS if name in week)
    check(ScheduleRule(cron=f"{time[1]} {time[0]} * * {names}"), is_named, time, zone, since, end)


@settings(max_examples=60, deadline=None)
@given(
    zone=st.sampled_from(sorted(available_timezones())),
    after=st.floats(moment(1975), moment(2037)).map(round),
    cron=st.sampled_from(
        ["0 * * * *", "*/15 * * * *", "0 */2 * * *", "*/30 9-17 * * *", "0 0,2,3 1 * *", "5 1 * * sun#last"]
    ),
)
def test_times_come_in_order_and_each_is_the_next_of_the_one_before(zone: str, after: float, cron: str) -> None:
    times = list(islice(iterate_times(ScheduleRule(cron=cron), zone, after), 12))
    assert all(early < late for early, late in pairwise([after, *times]))
    for early, late in pairwise([after, *times]):
        assert next(iterate_times(ScheduleRule(cron=cron), zone, early)) == late


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/Havana", "Australia/Lord_Howe", "Africa/Casablanca"])
def test_a_rule_for_every_hour_goes_by_real_time(zone: str) -> None:
    for change in changes(zone, YEAR):
        times = list(iterate_times(ScheduleRule(cron="*/30 * * * *"), zone, change.at - DAY, change.at + DAY))
        assert [late - early for early, late in pairwise(times)] == [1800.0] * 95
