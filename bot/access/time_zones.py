"""Finds time zones by the names that people use: Europe/Berlin, new york, CET, UTC+2; suggests the nearest name."""

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
"""Names that are no city of the IANA list. An abbreviation such as `est` stands for a zone, with its summer time."""
AMBIGUOUS_ZONES = {
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
"""Abbreviations that several zones share. `ZONE_ALIASES` has the most common zone, if there is one."""
_OFFSET_PATTERN = re.compile(r"(?:UTC|GMT)?\s*([+\-\u2212\u2013])(\d{1,2})(?::?([0-5]\d))?", re.IGNORECASE)
_MAX_OFFSET = timedelta(hours=14)
_TIME_SUFFIX = re.compile(r"(?:\s+(?:local|standard|daylight|summer|winter))?\s+time$", re.IGNORECASE)
MAX_ZONE_NAME_CHARS = 60


class NoSuchZone(ValueError):
    """There is no time zone with this name. The text suggests the nearest name."""


def parse_zone_name(text: str) -> str:
    """Return the name of the zone that a person named, as `find_zone_name` does. Raises NoSuchZone."""
    name = " ".join(text.split())[:MAX_ZONE_NAME_CHARS]
    if zone_name := find_zone_name(name):
        return zone_name
    near = find_nearest_zone(name)
    hint = f"did you mean {near}?" if near else "it takes a name such as Europe/Berlin or America/New_York"
    raise NoSuchZone(f"there is no time zone {name or 'without a name'}; {hint}")


def find_zone_name(name: str, speaker_zone: str = "") -> str:
    """Return the name of the zone that a person named, an IANA name or one such as `UTC+02:00`; empty if none matches.

    An abbreviation that several zones share means `speaker_zone`, the speaker's zone, if that is one of them. Otherwise
    it means the most common of these zones, if `ZONE_ALIASES` has one.
    """
    normalized_name = _normalize_name(name)
    name_without_suffix = _TIME_SUFFIX.sub("", normalized_name)
    if (
        "/" in name_without_suffix
        and len(same := {ZONE_ALIASES.get(one.strip(), "") for one in name_without_suffix.split("/")}) == 1
        and (zone := same.pop())
    ):
        return zone  # EST/EDT
    if speaker_zone in AMBIGUOUS_ZONES.get(name_without_suffix, ()):
        return speaker_zone
    return (
        ZONE_ALIASES.get(normalized_name)
        or _map_zone_names().get(normalized_name)
        or ZONE_ALIASES.get(name_without_suffix)
        or _map_zone_names().get(name_without_suffix)
        or _find_fixed_zone(normalized_name)
    )


def find_zone(name: str) -> tzinfo | None:
    """Return a zone by its name, as `find_zone_name` returns it; None if there is no such zone."""
    if (match := _OFFSET_PATTERN.fullmatch(name)) is not None and (ahead := _parse_offset(match)) is not None:
        return timezone(ahead)
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):  # the name of a folder, or a path outside the database
        return None


def _find_fixed_zone(name: str) -> str:
    """Return the name of a fixed-offset zone, such as `UTC+02:00`; empty if `name` is no offset up to 14 hours."""
    match = _OFFSET_PATTERN.fullmatch(name)
    ahead = _parse_offset(match) if match is not None else None
    return str(timezone(ahead)) if ahead is not None else ""


def _parse_offset(match: re.Match[str]) -> timedelta | None:
    offset = timedelta(hours=int(match[2]), minutes=int(match[3] or 0))
    if offset > _MAX_OFFSET:
        return None
    return offset if match[1] == "+" else -offset


def explain_unknown_zone(name: str) -> str:
    """Return a sentence saying that a zone is unknown or its abbreviation ambiguous, and how to name it."""
    several = AMBIGUOUS_ZONES.get(name.lower(), ())
    if several:
        cities = [f"{zone.rpartition('/')[2].replace('_', ' ')} time" for zone in several]
        return f"{name} is the time of several places. Write {' or '.join(cities)}."
    bare = _TIME_SUFFIX.sub("", name)
    near = find_nearest_zone(bare)
    return f"I know no time zone {bare!r}.{f' Did you mean {near}?' if near else ' Name a city of it, such as Berlin.'}"


def find_nearest_zone(name: str) -> str:
    """Return the zone whose name or alias is most similar to an unknown name; empty if none is similar."""
    search_name = _normalize_name(name)
    zones_by_name = {**_map_zone_names(), **ZONE_ALIASES}
    near = get_close_matches(search_name, zones_by_name, 1, 0.75) or get_close_matches(
        search_name.rpartition("/")[2], zones_by_name, 1, 0.75
    )
    return zones_by_name[near[0]] if near else ""


def compute_utc_offset(zone: str, at: float) -> int:
    """Return the seconds by which a zone is ahead of UTC at `at` (s since the epoch); 0 for an unknown zone."""
    there = datetime.fromtimestamp(at, find_zone(zone) or UTC)
    ahead = there.utcoffset()
    return int(ahead.total_seconds()) if ahead is not None else 0


def _normalize_name(name: str) -> str:
    return " ".join(name.replace("_", " ").lower().split())


@cache
def _map_zone_names() -> dict[str, str]:
    """Map IANA names and cities, in small letters, to zones. A city in two zones maps to the first by alphabet."""
    zones = sorted(
        one for one in available_timezones() if "/" in one and not one.startswith(("Etc/", "posix/", "right/"))
    )
    cities = {_normalize_name(one.rpartition("/")[2]): one for one in reversed(zones)}
    return {**cities, **{_normalize_name(one): one for one in zones}, "utc": "UTC"}
