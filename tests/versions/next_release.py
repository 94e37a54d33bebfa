"""The next release, as far as the schema of its events goes: a stand-in, for there is none yet.

    python -m tests.versions.next_release run

is the real bot, but that its schema is one higher, that events of two types
really look different on the wire (see `RENAMED`), and that the heads of its
jobs tell more. It reads older events through an upcaster in the real table.
In a true release the models of `handoff.events` would have the new names; here
they keep theirs, and `NextForm` stands between.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from pydantic import TypeAdapter

from handoff import events as ev
from handoff.state import Job
from handoff.upcasters import UPCASTERS

PRESENT = ev.SCHEMA
NEXT = PRESENT + 1
RENAMED: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {"Posted": {"ts": "message"}, "QuestionAnswered": {"user": "who", "text": "words"}}
)
"""For a type of event, what its names are called in the next schema."""

Json = dict[str, Any]


def from_present(event: Json) -> Json:
    """The upcaster: from the present schema to the next."""
    names = RENAMED.get(event["type"], {})
    return {names.get(name, name): value for name, value in event.items()}


class NextForm:
    """What the models of the next release would be: they take the next form only."""

    def __init__(self, models: TypeAdapter[ev.Event]) -> None:
        self._models = models

    def validate_python(self, event: Json) -> ev.Event:
        """An event of the next form. Raises ValueError for the present one."""
        names = {new: old for old, new in RENAMED.get(event["type"], {}).items()}
        if wrong := set(names.values()) & event.keys():
            raise ValueError(f"the next schema knows no {wrong} in {event['type']}")
        return self._models.validate_python({names.get(name, name): value for name, value in event.items()})

    def validate_json(self, line: str) -> ev.Event:
        """The same, of a line."""
        return self.validate_python(json.loads(line))


def dump_next(event: ev.Event) -> str:
    """An event in the next form, as a line of the log."""
    new = from_present({**event.model_dump(mode="json", exclude_defaults=True, exclude={"v"}), "type": event.type})
    del new["type"]
    return json.dumps({**new, "type": event.type, "v": NEXT}, separators=(",", ":"))


def become_next() -> None:
    """From here on this process is the next release. Before anything of `bot` is imported."""
    ev.SCHEMA = NEXT
    ev.UPCASTERS = MappingProxyType({**UPCASTERS, PRESENT: from_present})  # type: ignore[attr-defined]
    ev._adapter = NextForm(ev._adapter)  # type: ignore[assignment]
    ev.dump = dump_next

    import handoff.summary  # noqa: PLC0415 - knows nothing of schemas

    of_present = handoff.summary.projection

    def projection(job: Job) -> dict[str, str]:
        fields = of_present(job)
        questions = [{**one, "urgency": "high"} for one in json.loads(fields["questions"] or "[]")]
        return {**fields, "mood": "sunny", "questions": json.dumps(questions) if questions else ""}

    handoff.summary.projection = projection


if __name__ == "__main__":
    become_next()
    from bot.__main__ import main

    sys.exit(main())
