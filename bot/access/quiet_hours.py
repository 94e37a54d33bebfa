"""Parses quiet hours as people write them: `20-8`, `20:30-7:45, weekends`, `weekends`, or `off`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from bot.access.time_zones import compute_utc_offset
from handoff.contracts import NO_QUIET_TIMES, QuietTimes

OFF = "off"
WEEKENDS = "weekends"
EXAMPLE_HOURS = "20-8, weekends"
MIN_FREE_MINUTES = 60
"""Minimum minutes of a day outside quiet hours, so that the bot can post at all."""
_DAY_MINUTES = 24 * 60
_HOURS_PATTERN = re.compile(r"(\d{1,2})(?::(\d{2}))?\s*(?:-|\u2013|to)\s*(\d{1,2})(?::(\d{2}))?")


class BadQuietHours(ValueError):
    """The text of quiet hours is invalid. The message says how to write them."""


@dataclass(frozen=True, slots=True)
class _ParsedHours:
    begin_minute: int = 0
    end_minute: int = 0
    includes_weekends: bool = False


def normalize_quiet_hours(text: str) -> str:
    """Return quiet hours in the form that is stored, such as `20:30-8, weekends` or `off`. Raises BadQuietHours."""
    quiet_hours = _parse_quiet_hours(text)
    hours = (
        f"{_format_minutes(quiet_hours.begin_minute)}-{_format_minutes(quiet_hours.end_minute)}"
        if quiet_hours.begin_minute != quiet_hours.end_minute
        else ""
    )
    return ", ".join(filter(None, (hours, WEEKENDS if quiet_hours.includes_weekends else ""))) or OFF


def resolve_quiet_times(text: str, zone: str, at: float) -> QuietTimes:
    """Return the quiet times in a zone, with its UTC offset at `at` (s since the epoch). `text` is in stored form."""
    if text in {"", OFF}:
        return NO_QUIET_TIMES
    quiet_hours = _parse_quiet_hours(text)
    return QuietTimes(
        begins=quiet_hours.begin_minute,
        ends=quiet_hours.end_minute,
        weekends=quiet_hours.includes_weekends,
        offset=compute_utc_offset(zone, at),
    )


def _parse_quiet_hours(text: str) -> _ParsedHours:
    words = text.strip().casefold()
    if words == OFF:
        return _ParsedHours()
    parts = [part.strip() for part in words.split(",")]
    weekends = WEEKENDS in parts
    hours = [part for part in parts if part != WEEKENDS]
    if len(hours) > 1 or len(parts) - len(hours) > 1 or not parts[0]:
        raise BadQuietHours(f"it takes hours such as `{EXAMPLE_HOURS}`, or off")
    if not hours:
        return _ParsedHours(includes_weekends=weekends)
    begins, ends = _parse_hours(hours[0])
    if (begins - ends) % _DAY_MINUTES < MIN_FREE_MINUTES:
        raise BadQuietHours("these hours cover the whole day; leave an hour of it at least, or write off")
    return _ParsedHours(begins % _DAY_MINUTES, ends % _DAY_MINUTES, weekends)


def _parse_hours(text: str) -> tuple[int, int]:
    match = _HOURS_PATTERN.fullmatch(text)
    if match is None:
        raise BadQuietHours(f"it takes hours such as `{EXAMPLE_HOURS}`, or off")
    begins, ends = (int(match[at]) * 60 + int(match[at + 1] or 0) for at in (1, 3))
    if max(begins, ends) > _DAY_MINUTES or any(int(match[at] or 0) >= 60 for at in (2, 4)):
        raise BadQuietHours(f"the hours of a day go from 0 to 24; write them such as `{EXAMPLE_HOURS}`, or off")
    return begins, ends


def _format_minutes(minutes: int) -> str:
    hour, minute = divmod(minutes, 60)
    return f"{hour}:{minute:02}" if minute else str(hour)
