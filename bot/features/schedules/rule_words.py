"""Describes the rule of a schedule in words for people. No I/O."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

from bot.access.time_zones import find_zone
from bot.features.schedules.cron_text import DAYS, MONTHS, WEEKDAYS
from bot.features.schedules.schedule import Schedule, ScheduleRule

ORDINAL_WORDS = {"1": "first", "2": "second", "3": "third", "4": "fourth", "5": "fifth", "last": "last"}


def describe_rule(rule: ScheduleRule, zone: str) -> str:
    """Describe the times of a rule, such as "every Monday at 9:00"."""
    if rule.cron:
        return _describe_cron(rule.cron) or f"at the times of the cron rule `{rule.cron}`"
    at = datetime.fromtimestamp(rule.start, find_zone(zone))
    if rule.days:
        weeks, rest = divmod(rule.days, 7)
        if rest == 0:
            interval_words = "other week" if weeks == 2 else f"{weeks} weeks" if weeks > 1 else "week"
            return f"every {interval_words} on {DAYS[at.weekday()]} at {at:%-H:%M}"
        return f"every {'other day' if rule.days == 2 else f'{rule.days} days'} at {at:%-H:%M}"
    return f"once, on {render_day(at)} at {at:%-H:%M}"


def describe_schedule_times(schedule: Schedule) -> str:
    """Describe when a schedule runs, with its zone and its end, such as "every Monday at 9:00 (Berlin time)"."""
    ends = ""
    if schedule.until is not None:
        ends = f", until {render_day(datetime.fromtimestamp(schedule.until, find_zone(schedule.zone)))}"
    return f"{describe_rule(schedule.rule, schedule.zone)} ({render_zone(schedule.zone)}){ends}"


def render_zone(zone: str) -> str:
    """Render a zone for people: Berlin time, UTC+2."""
    if zone.startswith("UTC"):
        return re.sub(r"^UTC([+-])0?(\d+)(?::00|(:\d+))$", r"UTC\1\2\3", zone)
    city = zone.rpartition("/")[2].replace("_", " ")
    return f"{city} time" if "/" in zone else zone


def render_day(at: datetime) -> str:
    """Render a day: Monday 1 March 2027."""
    return f"{DAYS[at.weekday()]} {at.day} {MONTHS[at.month - 1]} {at.year}"


def render_time(at: float, zone: str) -> str:
    """Render a time in a zone: Monday 1 March 2027, 9:00."""
    when = datetime.fromtimestamp(at, find_zone(zone))
    return f"{render_day(when)}, {when:%-H:%M}"


def _describe_cron(cron: str) -> str:
    """Describe a common cron rule in words; empty for any other rule."""
    if len(cron.split()) != 5:  # a newer release wrote it
        return ""
    minute, hour, day, month, week = cron.split()
    if (day, month, week) == ("*", "*", "*") and minute.isdigit() and hour == "*":
        return "every hour" if minute == "0" else f"every hour at {int(minute)} past"
    if (day, month, week) == ("*", "*", "*") and hour.startswith("*/") and minute.isdigit():
        return f"every {hour[2:]} hours" + (f" at {int(minute)} past" if minute != "0" else "")
    if (hour, day, month, week) == ("*", "*", "*", "*") and minute.startswith("*/"):
        return f"every {minute[2:]} minutes"
    times = _describe_times(minute, hour)
    days = _describe_days(day, week)
    if not times or not days:
        return ""
    if month != "*":
        numbers = month.split(",")
        if not all(one.isdigit() for one in numbers):
            return ""
        days = f"{days} of {join_list([MONTHS[int(one) - 1] for one in numbers])}".replace(" of each month of", " of")
    return f"{days} at {times}"


def _describe_times(minute: str, hour: str) -> str:
    hours = hour.split(",")
    if not minute.isdigit() or not all(one.isdigit() for one in hours):
        return ""
    return join_list([f"{int(one)}:{int(minute):02}" for one in hours])


def _describe_days(day: str, week: str) -> str:
    if day == "*" and week == "*":
        return "every day"
    if day != "*":
        numbers = day.split(",")
        if week != "*" or not all(one.isdigit() or one == "last" for one in numbers):
            return ""
        return f"on the {join_list([_format_ordinal(one) for one in numbers])} of each month"
    if week == ",".join(WEEKDAYS[:5]):
        return "every weekday"
    names = week.split(",")
    if all("#" in one for one in names):
        ordinal_days = [
            f"{ORDINAL_WORDS[number]} {_find_weekday_name(one)}"
            for one, _, number in (each.partition("#") for each in names)
        ]
        return f"on the {join_list(ordinal_days)} of each month"
    return "" if any("#" in one for one in names) else f"every {join_list([_find_weekday_name(one) for one in names])}"


def _find_weekday_name(short: str) -> str:
    return DAYS[WEEKDAYS.index(short)]


def _format_ordinal(number: str) -> str:
    if number == "last":
        return "last day"
    suffixes = {"1": "st", "2": "nd", "3": "rd"}
    return f"{number}{'th' if number in {'11', '12', '13'} else suffixes.get(number[-1], 'th')}"


def join_list(names: Sequence[str]) -> str:
    """Join names as a list in a sentence: a, b and c."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
