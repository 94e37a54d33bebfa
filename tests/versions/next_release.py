"""The next release, as far as the schema of its events goes: a stand-in, for there is none yet.

    python -m tests.versions.next_release run

is the real bot, but that its schema is one higher, that events of two types
really look different on the wire (see `RENAMED_FIELDS`), and that the heads of its
jobs tell more. In a true release the models of `handoff.events` would have the
new names and older events would be lifted to them; here the models keep their
names, and `NextForm` stands between.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from pydantic import TypeAdapter

from handoff import events as ev
from handoff.state.job_state import Job

PRESENT = ev.SCHEMA
NEXT = PRESENT + 1
RENAMED_FIELDS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {"Posted": {"ts": "message"}, "QuestionAnswered": {"user": "who", "text": "words"}}
)
"""For a type of event, what its names are called in the next schema."""

Json = dict[str, Any]


def from_present(event: Json) -> Json:
    """An event of the present schema in the form of the next."""
    names = RENAMED_FIELDS.get(event["type"], {})
    return {names.get(name, name): value for name, value in event.items()}


class NextForm:
    """What the models of the next release would be: they take the next form, and lift events of the present one."""

    def __init__(self, models: TypeAdapter[ev.Event]) -> None:
        self._models = models

    def validate_python(self, event: Json) -> ev.Event:
        """An event of either schema. Raises ValueError for one of the next in the present form."""
        event = from_present(event) if event.get("v", PRESENT) == PRESENT else event
        names = {new: old for old, new in RENAMED_FIELDS.get(event["type"], {}).items()}
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
    ev._EVENT_ADAPTER = NextForm(ev._EVENT_ADAPTER)  # type: ignore[assignment]
    ev.dump_event = dump_next

    import handoff.summaries.summary  # noqa: PLC0415 - knows nothing of schemas

    of_present = handoff.summaries.summary.make_summary_fields

    def projection(job: Job) -> dict[str, str]:
        fields = of_present(job)
        questions = [{**one, "urgency": "high"} for one in json.loads(fields["questions"] or "[]")]
        return {**fields, "mood": "sunny", "questions": json.dumps(questions) if questions else ""}

    handoff.summaries.summary.make_summary_fields = projection


if __name__ == "__main__":
    become_next()
    from bot.__main__ import main

    sys.exit(main())
