"""Who may read what: material of one place goes into no other place unasked, unless all of the workspace may read it.

Whatever is posted outside of a job's own thread has to pass here first. A person may allow it who may read both places:
where it comes from and where it goes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from handoff.contracts import Audience, Material


@dataclass(frozen=True, slots=True)
class Crossing:
    """Material that would go where not everybody may read it: where it came from, where it would go, and its names."""

    came: Audience
    goes: Audience
    names: tuple[str, ...]


def may_go(came: Audience, goes: Audience) -> bool:
    """Return True if what came from one place may go to another without being asked about."""
    return came.kind == "public" or came.channel == goes.channel


def crossings(materials: Iterable[Material], here: Audience, goes: Audience) -> tuple[Crossing, ...]:
    """Return what of some materials may not go to a place unasked; `here` is the place of their job."""
    found: dict[Audience, list[str]] = {}
    for one in materials:
        came = one.audience or here
        if not may_go(came, goes):
            found.setdefault(came, []).append(one.name)
    return tuple(Crossing(came, goes, tuple(dict.fromkeys(names))) for came, names in found.items())


def may_allow(crossing: Crossing, user: str, readers: Mapping[str, Collection[str]]) -> bool:
    """Return True if a person may allow it: they may read both places. `readers` are the people of each, by channel."""
    places = (crossing.came.channel, crossing.goes.channel)
    return all(user in readers.get(channel, ()) for channel in places)
