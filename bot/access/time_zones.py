"""Time zones as people call them: Europe/Berlin, new york, CET, UTC+2; with the nearest name for a wrong one."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from difflib import get_close_matches
from functools import cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

ZONE_ALIASES = {
    "utc": "UTC", "gmt": "UTC", "z": "UTC", "zulu": "UTC", "greenwich mean": "UTC", "coordinated universal": "UTC",
    "et": "America/New_York", "est": "America/New_York", "edt": "America/New_York", "eastern": "America/New_York",
    "ct": "America/Chicago", "cst": "America/Chicago", "cdt": "America/Chicago", "central": "America/Chicago",
    "mt": "America/Denver", "mst": "America/Denver", "mdt": "America/Denver", "mountain": "America/Denver",
    "pt": "America/Los_Angeles", "pst": "America/Los_Angeles", "pdt": "America/Los_Angeles",
    "pacific": "America/Los_Angeles", "akst": "America/Anchorage", "akdt": "America/Anchorage",
    "hst": "Pacific/Honolulu", "nst": "America/St_Johns", "ndt": "America/St_Johns", "brt": "America/Sao_Paulo",
    "wet": "Europe/Lisbon", "west": "Europe/Lisbon", "bst": "Europe/London", "british": "Europe/London",
    "uk": "Europe/London", "cet": "Europe/Berlin", "cest": "Europe/Berlin", "central european": "Europe/Berlin",
    "mez": "Europe/Berlin", "mesz": "Europe/Berlin", "german": "Europe/Berlin", "germany": "Europe/Berlin",
    "swiss": "Europe/Zurich", "french": "Europe/Paris", "eet": "Europe/Helsinki", "eest": "Europe/Helsinki",
    "eastern european": "Europe/Helsinki", "trt": "Europe/Istanbul", "msk": "Europe/Moscow",
    "sast": "Africa/Johannesburg", "eat": "Africa/Nairobi", "cat": "Africa/Maputo", "wat": "Africa/Lagos",
    "pkt": "Asia/Karachi", "npt": "Asia/Kathmandu", "india": "Asia/Kolkata", "indian": "Asia/Kolkata",
    "ict": "Asia/Bangkok", "wib": "Asia/Jakarta", "sgt": "Asia/Singapore", "hkt": "Asia/Hong_Kong",
    "pht": "Asia/Manila", "china": "Asia/Shanghai", "jst": "Asia/Tokyo", "kst": "Asia/Seoul", "korea": "Asia/Seoul",
    "awst": "Australia/Perth", "acst": "Australia/Adelaide", "acdt": "Australia/Adelaide", "aest": "Australia/Sydney",
    "aedt": "Australia/Sydney", "nzst": "Pacific/Auckland", "nzdt": "Pacific/Auckland",
    "san francisco": "America/Los_Angeles", "seattle": "America/Los_Angeles", "boston": "America/New_York",
    "washington": "America/New_York", "miami": "America/New_York", "austin": "America/Chicago",
    "dallas": "America/Chicago", "houston": "America/Chicago", "munich": "Europe/Berlin", "hamburg": "Europe/Berlin",
    "cologne": "Europe/Berlin", "frankfurt": "Europe/Berlin", "zürich": "Europe/Zurich", "geneva": "Europe/Zurich",
    "barcelona": "Europe/Madrid", "milan": "Europe/Rome", "edinburgh": "Europe/London", "delhi": "Asia/Kolkata",
    "mumbai": "Asia/Kolkata", "bangalore": "Asia/Kolkata", "bengaluru": "Asia/Kolkata", "beijing": "Asia/Shanghai",
    "shenzhen": "Asia/Shanghai", "osaka": "Asia/Tokyo", "abu dhabi": "Asia/Dubai", "tel aviv": "Asia/Jerusalem",
    "rio de janeiro": "America/Sao_Paulo", "cape town": "Africa/Johannesburg", "canberra": "Australia/Sydney",
}  # fmt: skip
"""Names that are no city of the list: abbreviations of a zone that has summer time mean the zone."""
AMBIGUOUS = {
    "ist": ("Asia/Kolkata", "Asia/Jerusalem", "Europe/Dublin"),
    "ast": ("America/Halifax", "Asia/Riyadh"),
    "adt": ("America/Halifax",),
    "amt": ("America/Manaus", "Asia/Yerevan"),
    "gst": ("Asia/Dubai", "Atlantic/South_Georgia"),
    "sst": ("Pacific/Pago_Pago", "Asia/Singapore"),
    "bdt": ("Asia/Dhaka", "Asia/Brunei"),
    "cst": ("America/Chicago", "Asia/Shanghai", "America/Havana"),
    "bst": ("Europe/London", "Asia/Dhaka"),
    "pst": ("America/Los_Angeles", "Asia/Manila"),
    "est": ("America/New_York", "Australia/Sydney"),
}
"""Abbreviations that several zones share. `ZONE_ALIASES` may have the one meant by people in none of them."""
_FIXED = re.compile(r"(?:UTC|GMT)?\s*([+\-\u2212\u2013])(\d{1,2})(?::?([0-5]\d))?", re.IGNORECASE)
_MOST_AHEAD = timedelta(hours=14)
_KINDS = re.compile(r"(?:\s+(?:local|standard|daylight|summer|winter))?\s+time$", re.IGNORECASE)
LONGEST = 60


class NoSuchZone(ValueError):
    """There is no time zone of that name. The text names the nearest."""


def read_zone(text: str) -> str:
    """Return the IANA name of the zone that people call so. Raises NoSuchZone."""
    name = " ".join(text.split())[:LONGEST]
    if found := find_zone_name(name):
        return found
    near = nearest_zone(name)
    hint = f"did you mean {near}?" if near else "it takes a name such as Europe/Berlin or America/New_York"
    raise NoSuchZone(f"there is no time zone {name or 'without a name'}; {hint}")


def find_zone_name(name: str, own: str = "") -> str:
    """Return the name of a zone, an IANA name or such as `UTC+02:00`; empty if nothing is called so.

    An abbreviation that several zones share means `own`, the speaker's zone, if that is one of them; else the zone that
    people mostly mean, if there is one.
    """
    wanted = _normalize_name(name)
    bare = _KINDS.sub("", wanted)
    if (
        "/" in bare
        and len(same := {ZONE_ALIASES.get(one.strip(), "") for one in bare.split("/")}) == 1
        and (zone := same.pop())
    ):
        return zone  # EST/EDT
    if own in AMBIGUOUS.get(bare, ()):
        return own
    return (
        ZONE_ALIASES.get(wanted)
        or _zones_by_name().get(wanted)
        or ZONE_ALIASES.get(bare)
        or _zones_by_name().get(bare)
        or _find_fixed_zone(wanted)
    )


def find_zone(name: str) -> tzinfo | None:
    """Return a zone by its name, as `find_zone_name` gives it; None if there is none of that name."""
    if (found := _FIXED.fullmatch(name)) is not None and (ahead := _parse_offset(found)) is not None:
        return timezone(ahead)
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):  # a folder's name, or a path out of it
        return None


def _find_fixed_zone(name: str) -> str:
    """Return the name of the zone that is so many hours from UTC, such as `UTC+02:00`; empty if the words are none."""
    found = _FIXED.fullmatch(name)
    ahead = _parse_offset(found) if found is not None else None
    return str(timezone(ahead)) if ahead is not None else ""


def _parse_offset(found: re.Match[str]) -> timedelta | None:
    ahead = timedelta(hours=int(found[2]), minutes=int(found[3] or 0))
    if ahead > _MOST_AHEAD:
        return None
    return ahead if found[1] == "+" else -ahead


def unknown_zone(name: str) -> str:
    """Say that a zone is not known, or that its abbreviation has several meanings, and how to name it."""
    several = AMBIGUOUS.get(name.lower(), ())
    if several:
        cities = [f"{zone.rpartition('/')[2].replace('_', ' ')} time" for zone in several]
        return f"{name} is the time of several places. Write {' or '.join(cities)}."
    bare = _KINDS.sub("", name)
    near = nearest_zone(bare)
    return f"I know no time zone {bare!r}.{f' Did you mean {near}?' if near else ' Name a city of it, such as Berlin.'}"


def nearest_zone(name: str) -> str:
    """Return the zone whose name is nearest to a name that no zone has; empty if none is near."""
    wanted = _normalize_name(name)
    known = {**_zones_by_name(), **ZONE_ALIASES}
    near = get_close_matches(wanted, known, 1, 0.75) or get_close_matches(wanted.rpartition("/")[2], known, 1, 0.75)
    return known[near[0]] if near else ""


def offset_at(zone: str, at: float) -> int:
    """Return by how many seconds a zone is ahead of UTC at a moment; 0 for one that this machine does not know."""
    there = datetime.fromtimestamp(at, find_zone(zone) or UTC)
    ahead = there.utcoffset()
    return int(ahead.total_seconds()) if ahead is not None else 0


def _normalize_name(name: str) -> str:
    return " ".join(name.replace("_", " ").lower().split())


@cache
def _zones_by_name() -> dict[str, str]:
    """Map whole names and the names of cities to zones; of two cities of one name, the zone first in the list."""
    zones = sorted(
        one for one in available_timezones() if "/" in one and not one.startswith(("Etc/", "posix/", "right/"))
    )
    cities = {_normalize_name(one.rpartition("/")[2]): one for one in reversed(zones)}
    return {**cities, **{_normalize_name(one): one for one in zones}, "utc": "UTC"}
