"""Parses quiet hours as people write them: `20-8`, `20:30-7:45, weekends`, `weekends`, or `off`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from bot.access.time_zones import offset_at
from handoff.contracts import NO_QUIET, QuietTimes

OFF = "off"
WEEKENDS = "weekends"
EXAMPLE = "20-8, weekends"
LEAST_FREE = 60
"""Minimum minutes of a day outside quiet hours: otherwise the bot could never post."""
_DAY = 24 * 60
_HOURS = re.compile(r"(\d{1,2})(?::(\d{2}))?\s*(?:-|\u2013|to)\s*(\d{1,2})(?::(\d{2}))?")


class BadQuietHours(ValueError):
    """Quiet hours are written in an invalid form. The text says how to write them."""


@dataclass(frozen=True, slots=True)
class _ParsedHours:
    begins: int = 0
    ends: int = 0
    weekends: bool = False


def read_quiet_hours(text: str) -> str:
    """Return quiet hours in the form that is stored, such as `20:30-8, weekends` or `off`. Raises BadQuietHours."""
    found = _read(text)
    hours = f"{_format_minutes(found.begins)}-{_format_minutes(found.ends)}" if found.begins != found.ends else ""
    return ", ".join(filter(None, (hours, WEEKENDS if found.weekends else ""))) or OFF


def resolve_quiet_times(text: str, zone: str, at: float) -> QuietTimes:
    """Return the quiet times in a zone, with its UTC offset at `at` (s since the epoch). `text` is in stored form."""
    if text in {"", OFF}:
        return NO_QUIET
    found = _read(text)
    return QuietTimes(begins=found.begins, ends=found.ends, weekends=found.weekends, offset=offset_at(zone, at))


def _read(text: str) -> _ParsedHours:
    words = text.strip().casefold()
    if words == OFF:
        return _ParsedHours()
    parts = [part.strip() for part in words.split(",")]
    weekends = WEEKENDS in parts
    hours = [part for part in parts if part != WEEKENDS]
    if len(hours) > 1 or len(parts) - len(hours) > 1 or not parts[0]:
        raise BadQuietHours(f"it takes hours such as `{EXAMPLE}`, or off")
    if not hours:
        return _ParsedHours(weekends=weekends)
    begins, ends = _parse_hours(hours[0])
    if (begins - ends) % _DAY < LEAST_FREE:
        raise BadQuietHours("these hours cover the whole day; leave an hour of it at least, or write off")
    return _ParsedHours(begins % _DAY, ends % _DAY, weekends)


def _parse_hours(text: str) -> tuple[int, int]:
    found = _HOURS.fullmatch(text)
    if found is None:
        raise BadQuietHours(f"it takes hours such as `{EXAMPLE}`, or off")
    begins, ends = (int(found[at]) * 60 + int(found[at + 1] or 0) for at in (1, 3))
    if max(begins, ends) > _DAY or any(int(found[at] or 0) >= 60 for at in (2, 4)):
        raise BadQuietHours(f"the hours of a day go from 0 to 24; write them such as `{EXAMPLE}`, or off")
    return begins, ends


def _format_minutes(minutes: int) -> str:
    hour, minute = divmod(minutes, 60)
    return f"{hour}:{minute:02}" if minute else str(hour)
