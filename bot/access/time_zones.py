"""Time zones by their names in the IANA database, read from what people write; a wrong one is told the nearest."""

from __future__ import annotations

from datetime import UTC, datetime
from difflib import get_close_matches
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

LONGEST = 60


class NoSuchZone(ValueError):
    """There is no time zone of that name. The text names the nearest."""


def read_zone(text: str) -> str:
    """Return the name of the zone as the database has it; the case of letters and blanks do not count.

    Raises NoSuchZone.
    """
    name = "_".join(text.split())[:LONGEST]
    known = {one.casefold(): one for one in _names()}
    if found := known.get(name.casefold()):
        return found
    near = _nearest(name.casefold(), known)
    hint = f"did you mean {near}?" if near else "it takes a name such as Europe/Berlin or America/New_York"
    raise NoSuchZone(f"there is no time zone {name or 'without a name'}; {hint}")


def offset_at(zone: str, at: float) -> int:
    """Return by how many seconds a zone is ahead of UTC at a moment; 0 for one that this machine does not know."""
    try:
        there = datetime.fromtimestamp(at, ZoneInfo(zone))
    except (ZoneInfoNotFoundError, ValueError, OSError):
        there = datetime.fromtimestamp(at, UTC)
    ahead = there.utcoffset()
    return int(ahead.total_seconds()) if ahead is not None else 0


@lru_cache(maxsize=1)
def _names() -> frozenset[str]:
    """List the names that this machine knows, without those that are files of the database."""
    return frozenset(one for one in available_timezones() if not one.startswith(("posix", "right", "localtime")))


def _nearest(name: str, known: dict[str, str]) -> str:
    """Find the name that was meant: whole, or by its city alone."""
    cities = {one.rpartition("/")[2]: one for one in sorted(known)}
    close = get_close_matches(name, known, n=1, cutoff=0.75)
    city = get_close_matches(name.rpartition("/")[2], cities, n=1, cutoff=0.75)
    return known[close[0]] if close else known[cities[city[0]]] if city else ""
