"""When rules come up: daylight saving both ways in three zones, cron's own rules, missed times, the end."""

from __future__ import annotations

from datetime import datetime
from itertools import islice
from zoneinfo import ZoneInfo

import pytest

from bot.features.schedules.cron_text import normalize_cron
from bot.features.schedules.rule_times import find_next_time, find_shortest_interval, iterate_times, list_missed_times
from bot.features.schedules.schedule import Schedule, ScheduleRule

DAYLIGHT = [  # cron, zone, from then on, and the next ones
    ("30 2 * * *", "Europe/Berlin", "2027-03-27T12:00", ["03-28 03:30+0200", "03-29 02:30+0200"]),
    ("30 2 * * *", "Europe/Berlin", "2027-10-30T12:00", ["10-31 02:30+0200", "11-01 02:30+0100"]),
    ("30 2 * * *", "America/New_York", "2027-03-13T12:00", ["03-14 03:30-0400", "03-15 02:30-0400"]),
    ("30 1 * * *", "America/New_York", "2027-11-06T12:00", ["11-07 01:30-0400", "11-08 01:30-0500"]),
    ("15 2 * * *", "Australia/Lord_Howe", "2027-10-02T12:00", ["10-03 02:45+1100", "10-04 02:15+1100"]),
    ("30 1 * * *", "Australia/Lord_Howe", "2027-04-03T12:00", ["04-04 01:30+1100", "04-05 01:30+1030"]),
    ("0 * * * *", "Europe/Berlin", "2027-10-31T01:30", ["10-31 02:00+0200", "10-31 02:00+0100", "10-31 03:00+0100"]),
    ("0 * * * *", "Europe/Berlin", "2027-03-28T01:30", ["03-28 03:00+0200", "03-28 04:00+0200"]),
    ("0 9 * * *", "Europe/Berlin", "2027-03-27T12:00", ["03-28 09:00+0200", "03-29 09:00+0200"]),
]
DAYS = [  # every so many days, from a first one, over the same nights
    ("Europe/Berlin", "2027-03-27T02:30", ["03-28 03:30+0200", "03-29 02:30+0200"]),
    ("Europe/Berlin", "2027-10-30T02:30", ["10-31 02:30+0200", "11-01 02:30+0100"]),
    ("Australia/Lord_Howe", "2027-04-03T01:45", ["04-04 01:45+1100", "04-05 01:45+1030"]),
]


def at(text: str, zone: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp()


def render_times(rule: ScheduleRule, zone: str, after: float, number: int) -> list[str]:
    found = islice(iterate_times(rule, zone, after), number)
    return [f"{datetime.fromtimestamp(one, ZoneInfo(zone)):%m-%d %H:%M%z}" for one in found]


def cron(text: str) -> ScheduleRule:
    found = normalize_cron(text)
    assert isinstance(found, str)
    return ScheduleRule(cron=found)


@pytest.mark.parametrize(("text", "zone", "since", "times"), DAYLIGHT)
def test_daylight_saving(text: str, zone: str, since: str, times: list[str]) -> None:
    assert render_times(cron(text), zone, at(since, zone), len(times)) == times


@pytest.mark.parametrize(("zone", "first", "times"), DAYS)
def test_days_are_those_of_the_wall_clock(zone: str, first: str, times: list[str]) -> None:
    assert render_times(ScheduleRule(days=1, start=at(first, zone)), zone, at(first, zone), len(times)) == times


def test_a_day_and_a_weekday_are_one_or_the_other() -> None:
    found = render_times(cron("0 9 13 * 5"), "UTC", at("2027-01-01T10:00", "UTC"), 4)
    assert found == ["01-08 09:00+0000", "01-13 09:00+0000", "01-15 09:00+0000", "01-22 09:00+0000"]


def test_a_day_that_never_comes_has_no_next_time() -> None:
    assert find_next_time(cron("0 9 31 2 *"), "UTC", 1.8e9) is None
    assert find_next_time(ScheduleRule(start=1.0), "UTC", 1.8e9) is None


def test_how_often_a_rule_comes_up() -> None:
    gaps = [find_shortest_interval(cron(text), "UTC", 1.8e9) for text in ("* * * * *", "0,10 9 * * *", "0 9 * * mon")]
    assert gaps == [60.0, 600.0, 7 * 86_400.0]


def test_missed_times_are_counted_from_the_last_due_one() -> None:
    zone = "Europe/Berlin"
    one = Schedule(team="T1", channel="C1", owner="U1", asks="x", rule=cron("30 2 * * *"), zone=zone)
    due = at("2027-10-30T02:30", zone)
    # Before the hour that comes twice comes again.
    times, later = list_missed_times(one, due, at("2027-10-31T02:40", zone), 10)
    assert [datetime.fromtimestamp(time, ZoneInfo(zone)).day for time in times] == [30, 31]
    assert later == at("2027-11-01T02:30", zone), "and not the 31st once more"
    hourly = one.model_copy(update={"rule": cron("0 * * * *")})
    times, later = list_missed_times(hourly, due, due + 90 * 86_400, 10)
    assert len(times) == 10
    assert later is not None
    assert later - times[-1] == 3600.0
    assert list_missed_times(one.model_copy(update={"until": due + 3600}), due, due + 7200, 10) == ((due,), None)


def test_every_other_week_keeps_its_weeks_from_the_first_on() -> None:
    rule = ScheduleRule(days=14, start=at("2027-03-15T09:00", "Europe/Berlin"))
    assert render_times(rule, "Europe/Berlin", at("2027-03-22T12:00", "Europe/Berlin"), 2) == [
        "03-29 09:00+0200",
        "04-12 09:00+0200",
    ]
