"""Parses and formats spans of time, and computes with working time and quiet hours. Pure.

Times are seconds since the epoch.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

from handoff.contracts import NO_QUIET_TIMES, AskingTerms, QuietTimes

DAY = 86_400
HOUR = 3_600
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_EPOCH_WEEKDAY = 3
"""The weekday of 1 January 1970, a Thursday, counted from Monday as 0."""
_MAX_DAYS = 3_660
_MAX_TRIES = 14
_FIRST_WEEKEND_DAY = 5
"""The first weekday of a weekend, counted from Monday as 0."""


def format_day(at: float, offset: int) -> str:
    """Format the day of a time, such as `3 Mar 2026`, in a time zone that is `offset` seconds ahead of UTC."""
    local = datetime.fromtimestamp(at + offset, UTC)
    return f"{local.day} {MONTHS[local.month - 1]} {local.year}"


def add_working_seconds(
    since: float, seconds: float, asking: AskingTerms, offset: int, quiet: QuietTimes = NO_QUIET_TIMES
) -> float:
    """Return the time at which `seconds` of working time have passed since `since`.

    The returned time lies in working time and outside the channel's quiet hours, so that nobody is reminded at night.

    Args:
        since: The start.
        seconds: The seconds of working time.
        asking: The working hours. If they close no later than they open, the whole day counts.
        offset: The seconds by which the person's time zone is ahead of UTC.
        quiet: The channel's quiet hours. If they leave no working time, only they count.
    """
    first = moment = _add_working_time(since, seconds, asking, offset)
    for _ in range(_MAX_TRIES):
        later = find_quiet_hours_end(moment, quiet)
        if later == moment:
            return moment
        moment = _add_working_time(later, 0.0, asking, offset)
    return find_quiet_hours_end(first, quiet)


def find_quiet_hours_end(at: float, quiet: QuietTimes) -> float:
    """Return the end of the quiet hours that a time lies in; the time itself if it lies in none."""
    moment = at + quiet.offset
    for _ in range(_MAX_TRIES):
        later = _skip_weekend(_skip_quiet_hours(moment, quiet), quiet)
        if later == moment:
            break
        moment = later
    return moment - quiet.offset if moment > at + quiet.offset else at


def _skip_quiet_hours(local: float, quiet: QuietTimes) -> float:
    day = local // DAY * DAY
    begins, ends = day + quiet.begins * 60, day + quiet.ends * 60
    if quiet.begins > quiet.ends:  # over midnight
        return ends if local < ends else ends + DAY if local >= begins else local
    return ends if begins <= local < ends else local


def _skip_weekend(local: float, quiet: QuietTimes) -> float:
    day = int(local // DAY)
    weekday = (day + _EPOCH_WEEKDAY) % 7
    return float((day + 7 - weekday) * DAY) if quiet.weekends and weekday >= _FIRST_WEEKEND_DAY else local


def _add_working_time(since: float, seconds: float, asking: AskingTerms, offset: int) -> float:
    """Return the time at which `seconds` of working time have passed since `since`, whatever the quiet hours."""
    opens, closes = (asking.opens, asking.closes) if asking.closes > asking.opens else (0, 24)
    now, left = since + offset, seconds
    first = int(now // DAY)
    for day in range(first, first + _MAX_DAYS):
        if (day + _EPOCH_WEEKDAY) % 7 >= asking.days:
            continue
        begin, end = max(now, day * DAY + opens * HOUR), day * DAY + closes * HOUR
        if begin >= end:
            continue
        if left < end - begin:
            return begin + left - offset
        left -= end - begin
    return since + seconds


_SPAN = re.compile(r"(?P<number>[0-9]{1,5}(?:\.[0-9]{1,3})?)\s*(?P<unit>m|min|minutes?|h|hours?|d|days?)")
NEVER = "never"


def parse_span(text: str) -> float | None:
    """Parse a span such as `30 min`, `4h`, `2 days` or `never` into seconds (`never` is 0); None if it is no span."""
    if text.strip().casefold() == NEVER:
        return 0.0
    found = _SPAN.fullmatch(text.strip().casefold())
    if found is None or not float(found["number"]):
        return None
    return float(found["number"]) * {"m": 60, "h": HOUR, "d": DAY}[found["unit"][0]]


def format_span(seconds: float) -> str:
    """Format a span of seconds in words, such as `2 days`, `4 hours` or `30 minutes`."""
    for unit, size in (("day", DAY), ("hour", HOUR), ("minute", 60)):
        if seconds >= size:
            count = round(seconds / size, 1)
            return f"{count:g} {unit}{'' if count == 1 else 's'}"
    return f"{seconds:g} seconds"
