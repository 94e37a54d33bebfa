"""Says of a crew that has grown too large for one planner what to do about it."""

from __future__ import annotations

from specialists.crew import Crew

FLAT = 8
"""Specialists side by side from which on planners choose worse: they read all of them with each request."""


def suggest_inner_crews(crew: Crew) -> str:
    """Suggest crews inside a crew with many specialists side by side; empty if it has not so many.

    A crew whose plan is fixed asks no planner, so there it does not matter.
    """
    many = [
        _describe_crowding(one) for one in _list_crews(crew) if one.pipeline is None and len(one.specialists) >= FLAT
    ]
    return "; ".join(many)


def _describe_crowding(crew: Crew) -> str:
    where = f"in {crew.path}, " if crew.path else ""
    return (
        f"{where}{len(crew.specialists)} specialists are in one crew, and planners choose worse among so many; move "
        "those that belong together into a crew of their own: a folder with a crew.yml"
    )


def _list_crews(crew: Crew) -> list[Crew]:
    return [crew, *(one for inner in crew.crews.values() for one in _list_crews(inner))]
