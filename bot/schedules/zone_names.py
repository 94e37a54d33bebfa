"""Time zones as people call them: Berlin, New York, UTC, Europe/Berlin. Pure, but for the machine's list of zones."""

from __future__ import annotations

from difflib import get_close_matches
from functools import cache
from zoneinfo import available_timezones

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


def zone_called(name: str) -> str:
    """Return the IANA name of a zone; empty if nothing is called so."""
    wanted = " ".join(name.replace("_", " ").lower().split())
    return USUAL.get(wanted) or _named().get(wanted, "")


def nearest_zone(name: str) -> str:
    """Return the zone whose name is nearest to one that nothing is called by; empty if none is near."""
    wanted = " ".join(name.replace("_", " ").lower().split())
    known = {**_named(), **USUAL}
    near = get_close_matches(wanted, known, 1, 0.6) or get_close_matches(wanted.rpartition("/")[2], known, 1, 0.6)
    return known[near[0]] if near else ""


@cache
def _named() -> dict[str, str]:
    """Map whole names and the names of cities to zones; of two cities of one name, the zone first in the list."""
    zones = sorted(
        one for one in available_timezones() if "/" in one and not one.startswith(("Etc/", "posix/", "right/"))
    )
    cities = {one.rpartition("/")[2].replace("_", " ").lower(): one for one in reversed(zones)}
    return {**cities, **{one.replace("_", " ").lower(): one for one in zones}, "utc": "UTC"}
