"""Lifts events of older schemas to the present one, with one pure function for each step.

An event is lifted step by step, as JSON, before it is validated. So the rest of the program knows one schema only, and
a log is never rewritten. A step returns a new object, leaves `v` alone (that is set in the end), and must keep the
names `request`, `subtask` and `attempt` if the event has them. It keeps its `type` too, unless `handoff.engine.replay`,
which looks for all of them in lines that it does not read whole, knows the old one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

Json = dict[str, Any]
Upcaster = Callable[[Json], Json]


def _from_1(event: Json) -> Json:
    """Schema 2 added events (TakenOver, SetAside, Released, ToolStarted, ToolInDoubt) and changed none."""
    return event


def _from_2(event: Json) -> Json:
    """Schema 3 added events and fields with defaults (judging, refining, deadlines, conflicts) and changed none."""
    return event


def _from_3(event: Json) -> Json:
    """Schema 4 added events and fields with defaults (thoughts, circumstances, figures, answers) and changed none."""
    return event


def _from_4(event: Json) -> Json:
    """Schema 5 made material of attached files: what was fetched became something that was read."""
    if event.get("type") != "AttachmentsFetched":
        return event
    files = [one for one in event.get("artifacts") or () if isinstance(one, dict)]
    kept = {name: value for name, value in event.items() if name != "artifacts"}
    materials = [{"name": one.get("name", ""), "kind": "file", "file": one} for one in files]
    return {**kept, "type": "MaterialGathered", "materials": materials}


def _from_5(event: Json) -> Json:
    """Schema 6 added events and fields with defaults (approvals, rights, what leaves).

    A Stop ended the whole job before, and only people who might do that were let through.
    """
    return {**event, "admin": True} if event.get("type") == "CancelRequested" else event


def _from_6(event: Json) -> Json:
    """Schema 7 added fields with defaults (the crew of a request, pipelines, contacts) and changed none."""
    return event


def _from_7(event: Json) -> Json:
    """Schema 8 added events and fields with defaults (schedules, second tries, memory, reasons) and changed none."""
    return event


UPCASTERS: Mapping[int, Upcaster] = MappingProxyType(
    {1: _from_1, 2: _from_2, 3: _from_3, 4: _from_4, 5: _from_5, 6: _from_6, 7: _from_7}
)
"""The step for each schema before the present one, by the schema that it starts from. It leads to the next schema."""

FIRST = 1
"""The schema of an event that names none."""


class NewerEvent(ValueError):
    """An event was written by a newer release, of schema `schema`. An instance of that release has to take the job."""

    def __init__(self, schema: int, known: int) -> None:
        super().__init__(
            f"an event of schema {schema}, and this release knows up to {known}: "
            "run the newer release, or leave the job to it"
        )
        self.schema = schema


def lifted(event: Any, schema: int, steps: Mapping[int, Upcaster]) -> Json:
    """Lift the JSON of an event to `schema`. Raises ValueError if it names no schema, NewerEvent if it is newer."""
    if not isinstance(event, dict):
        raise ValueError(f"an event is a JSON object, not {type(event).__name__}")  # noqa: TRY004 - of bad data
    version = event.get("v", FIRST)
    if type(version) is not int or version < FIRST:
        raise ValueError(f"an event's schema is a whole number from {FIRST}, not {version!r}")
    if version > schema:
        raise NewerEvent(version, schema)
    for step in range(version, schema):
        event = steps[step](event)
    return {**event, "v": schema}
