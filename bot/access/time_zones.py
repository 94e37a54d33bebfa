"""Time zones as people call them: Europe/Berlin, Berlin, new york, CET; with the nearest name for a wrong one."""

from __future__ import annotations

from datetime import UTC, datetime
from difflib import get_close_matches
from functools import cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

USUAL = {
    "utc": "UTC", "gmt": "UTC", "z": "UTC", "cet": "Europe/Berlin", "cest": "Europe/Berlin", "bst": "Europe/London",
    "est": "America/New_York", "edt": "America/New_York", "eastern": "America/New_York",
    "cst": "America/Chicago", "cdt": "America/Chicago", "central": "America/Chicago",
    "mst": "America/Denver", "mdt": "America/Denver", "mountain": "America/Denver",
    "pst": "America/Los_Angeles", "pdt": "America/Los_Angeles", "pacific": "America/Los_Angeles",
    "san francisco": "America/Los_Angeles", "boston": "America/New_York", "munich": "Europe/Berlin",
    "hamburg": "Europe/Berlin", "zürich": "Europe/Zurich", "geneva": "Europe/Zurich", "delhi": "Asia/Kolkata",
    "mumbai": "Asia/Kolkata", "beijing": "Asia/Shanghai",
}  # fmt: skip
"""Names that are no city of the list: abbreviations of a zone that has summer time mean the zone."""
LONGEST = 60


class NoSuchZone(ValueError):
    """There is no time zone of that name. The text names the nearest."""


def read_zone(text: str) -> str:
    """Return the IANA name of the zone that people call so. Raises NoSuchZone."""
    name = " ".join(text.split())[:LONGEST]
    if found := zone_called(name):
        return found
    near = nearest_zone(name)
    hint = f"did you mean {near}?" if near else "it takes a name such as Europe/Berlin or America/New_York"
    raise NoSuchZone(f"there is no time zone {name or 'without a name'}; {hint}")


def zone_called(name: str) -> str:
    """Return the IANA name of a zone; empty if nothing is called so."""
    wanted = _plain(name)
    return USUAL.get(wanted) or _named().get(wanted, "")


def nearest_zone(name: str) -> str:
    """Return the zone whose name is nearest to one that nothing is called by; empty if none is near."""
    wanted = _plain(name)
    known = {**_named(), **USUAL}
    near = get_close_matches(wanted, known, 1, 0.75) or get_close_matches(wanted.rpartition("/")[2], known, 1, 0.75)
    return known[near[0]] if near else ""


def offset_at(zone: str, at: float) -> int:
    """Return by how many seconds a zone is ahead of UTC at a moment; 0 for one that this machine does not know."""
    try:
        there = datetime.fromtimestamp(at, ZoneInfo(zone))
    except (ZoneInfoNotFoundError, ValueError, OSError):
        there = datetime.fromtimestamp(at, UTC)
    ahead = there.utcoffset()
    return int(ahead.total_seconds()) if ahead is not None else 0


def _plain(name: str) -> str:
    return " ".join(name.replace("_", " ").lower().split())


@cache
def _named() -> dict[str, str]:
    """Map whole names and the names of cities to zones; of two cities of one name, the zone first in the list."""
    zones = sorted(
        one for one in available_timezones() if "/" in one and not one.startswith(("Etc/", "posix/", "right/"))
    )
    cities = {_plain(one.rpartition("/")[2]): one for one in reversed(zones)}
    return {**cities, **{_plain(one): one for one in zones}, "utc": "UTC"}
