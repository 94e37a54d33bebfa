"""Parses and formats durations, and computes with working time and quiet hours. Pure.

Times are seconds since the epoch.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

from handoff.contracts import NO_QUIET_TIMES, AskingTerms, QuietTimes

DAY_SECONDS = 86_400
HOUR_SECONDS = 3_600
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_EPOCH_WEEKDAY = 3
"""The weekday of 1 January 1970, a Thursday, counted from Monday as 0."""
_MAX_DAYS = 3_660
_MAX_TRIES = 14
_FIRST_WEEKEND_DAY = 5
"""The first weekday of a weekend, counted from Monday as 0."""


def format_date(at: float, offset: int) -> str:
    """Format a time as a date, such as `3 Mar 2026`, in a time zone that is `offset` seconds ahead of UTC."""
    local = datetime.fromtimestamp(at + offset, UTC)
    return f"{local.day} {MONTHS[local.month - 1]} {local.year}"


def add_working_seconds(
    since: float, seconds: float, asking: AskingTerms, offset: int, quiet: QuietTimes = NO_QUIET_TIMES
) -> float:
    """Return the time at which `seconds` of working time have passed since `since`.

    The returned time is in working time and outside the channel's quiet hours, so that nobody is reminded at night.

    Args:
        since: The start.
        seconds: The seconds of working time.
        asking: The working hours. If `closes` is not after `opens`, the whole day counts.
        offset: The seconds by which the person's time zone is ahead of UTC.
        quiet: The channel's quiet hours. If they leave no working time, the working hours are ignored.
    """
    first = moment = _add_working_time(since, seconds, asking, offset)
    for _ in range(_MAX_TRIES):
        later = find_quiet_hours_end(moment, quiet)
        if later == moment:
            return moment
        moment = _add_working_time(later, 0.0, asking, offset)
    return find_quiet_hours_end(first, quiet)


def find_quiet_hours_end(at: float, quiet: QuietTimes) -> float:
    """Return the end of the quiet hours around a time; the time itself outside quiet hours."""
    moment = at + quiet.offset
    for _ in range(_MAX_TRIES):
        later = _skip_weekend(_skip_quiet_hours(moment, quiet), quiet)
        if later == moment:
            break
        moment = later
    return moment - quiet.offset if moment > at + quiet.offset else at


def _skip_quiet_hours(local: float, quiet: QuietTimes) -> float:
    day = local // DAY_SECONDS * DAY_SECONDS
    begins, ends = day + quiet.begins * 60, day + quiet.ends * 60
    if quiet.begins > quiet.ends:  # over midnight
        return ends if local < ends else ends + DAY_SECONDS if local >= begins else local
    return ends if begins <= local < ends else local


def _skip_weekend(local: float, quiet: QuietTimes) -> float:
    day = int(local // DAY_SECONDS)
    weekday = (day + _EPOCH_WEEKDAY) % 7
    return float((day + 7 - weekday) * DAY_SECONDS) if quiet.weekends and weekday >= _FIRST_WEEKEND_DAY else local


def _add_working_time(since: float, seconds: float, asking: AskingTerms, offset: int) -> float:
    """Return the time at which `seconds` of working time have passed since `since`. Quiet hours are ignored."""
    opens, closes = (asking.opens, asking.closes) if asking.closes > asking.opens else (0, 24)
    now, remaining_seconds = since + offset, seconds
    first = int(now // DAY_SECONDS)
    for day in range(first, first + _MAX_DAYS):
        if (day + _EPOCH_WEEKDAY) % 7 >= asking.days:
            continue
        begin, end = max(now, day * DAY_SECONDS + opens * HOUR_SECONDS), day * DAY_SECONDS + closes * HOUR_SECONDS
        if begin >= end:
            continue
        if remaining_seconds < end - begin:
            return begin + remaining_seconds - offset
        remaining_seconds -= end - begin
    return since + seconds


_DURATION = re.compile(r"(?P<number>[0-9]{1,5}(?:\.[0-9]{1,3})?)\s*(?P<unit>m|min|minutes?|h|hours?|d|days?)")
NEVER = "never"


def parse_duration(text: str) -> float | None:
    """Return the seconds of a duration such as `30 min`, `4h` or `2 days`, 0.0 for `never`; None for any other text."""
    if text.strip().casefold() == NEVER:
        return 0.0
    match = _DURATION.fullmatch(text.strip().casefold())
    if match is None or not float(match["number"]):
        return None
    return float(match["number"]) * {"m": 60, "h": HOUR_SECONDS, "d": DAY_SECONDS}[match["unit"][0]]


def format_duration(seconds: float) -> str:
    """Format a duration in its largest unit, such as `2 days`, `1.5 hours` or `30 minutes`."""
    for unit, size in (("day", DAY_SECONDS), ("hour", HOUR_SECONDS), ("minute", 60)):
        if seconds >= size:
            count = round(seconds / size, 1)
            return f"{count:g} {unit}{'' if count == 1 else 's'}"
    return f"{seconds:g} seconds"
