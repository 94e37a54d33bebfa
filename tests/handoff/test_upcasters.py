"""Older events are lifted step by step, newer ones refused by name, and those of today read at once."""

import json
from types import MappingProxyType
from typing import Any

import pytest

from handoff import events as ev
from handoff.contracts import ToolCall, ToolReply, Turn, Usage
from handoff.upcasters import UPCASTERS, NewerEvent, lifted

EVENT = ev.Posted(at=1.0, request="1.0", key="1.0:card", ts="2.0")
STEPS = MappingProxyType(
    {
        1: lambda event: {**event, "seen": [*event.get("seen", []), 1]},
        2: lambda event: {"renamed" if name == "old" else name: value for name, value in event.items()},
        3: lambda event: {**event, "seen": [*event["seen"], 3]},
    }
)


def test_there_is_a_step_from_each_schema_to_the_present_one() -> None:
    assert sorted(UPCASTERS) == list(range(1, ev.SCHEMA))


def test_steps_are_taken_in_order_and_change_nothing_that_was_given() -> None:
    event = {"old": 1, "v": 1}
    assert lifted(event, 4, STEPS) == {"renamed": 1, "seen": [1, 3], "v": 4}
    assert event == {"old": 1, "v": 1}
    assert lifted({"old": 1, "seen": []}, 2, STEPS) == {"old": 1, "seen": [1], "v": 2}, "without `v` it is the first"
    assert lifted({"old": 1, "v": 4}, 4, STEPS) == {"old": 1, "v": 4}


def test_what_is_written_names_the_schema_and_the_type_last() -> None:
    line = ev.dump(EVENT)
    assert line.endswith(f'"type":"Posted","v":{ev.SCHEMA}}}')
    assert ev.load(line) == ev.load(line.encode()) == EVENT
    older = ev.load(line.replace(f'"v":{ev.SCHEMA}}}', '"v":1}'))
    assert older == EVENT
    assert ev.dump(older) == line, "what was read of an older schema is written of the present one"
    assert ev.load(line.replace(f',"v":{ev.SCHEMA}}}', "}")) == EVENT
    assert ev.load(json.dumps(json.loads(line), indent=2)) == EVENT


def test_files_that_were_fetched_are_material_since_schema_5() -> None:
    file = {"id": "x", "name": "a.csv", "media_type": "text/csv", "size": 3, "about": "attached"}
    old = {"at": 1.0, "request": "1.0", "artifacts": [file], "faults": ["b.csv is too large"], "v": 4}
    event = ev.load(json.dumps({**old, "type": "AttachmentsFetched"}))
    assert isinstance(event, ev.MaterialGathered)
    assert event.faults == ("b.csv is too large",)
    assert [(one.name, one.file and one.file.media_type) for one in event.materials] == [("a.csv", "text/csv")]


def test_a_newer_event_is_for_a_newer_release() -> None:
    with pytest.raises(NewerEvent) as caught:
        ev.load(ev.dump(EVENT).replace(f'"v":{ev.SCHEMA}}}', '"v":77}'))
    assert caught.value.schema == 77
    assert "\n" not in str(caught.value)
    assert "leave the job to it" in str(caught.value)


@pytest.mark.parametrize("version", [0, -1, True, "2", 1.0, None, [2]])
def test_a_schema_that_is_no_number_is_refused(version: Any) -> None:
    with pytest.raises(ValueError, match="an event's schema is a whole number"):
        ev.load(json.dumps({**json.loads(ev.dump(EVENT)), "v": version, "more": 1}))


@pytest.mark.parametrize("line", ["", "null", "[]", "7", "{", '{"v":2}', "\x00", '{"type":"Unheard","at":1,"v":1}'])
def test_what_is_no_event_of_ours_is_a_value_error(line: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - each has a message of its own
        ev.load(line)


OF: dict[str, Any] = {"at": 1.0, "request": "1.0", "subtask": "s", "attempt": 1}
CALL = {"id": "c", "name": "look", "arguments": {"at": "sea"}}
LEAST = Turn(text="", stop="tool_use", usage=Usage())
ODD_TURNS = [
    ({}, LEAST),
    (
        {"text": "t", "mood": "good", "usage": {"calls": 1}},
        LEAST.model_copy(update={"text": "t", "usage": Usage(calls=1)}),
    ),
    (
        {"text": None, "calls": [CALL], "stop": "paused", "usage": None},
        LEAST.model_copy(update={"calls": (ToolCall(**CALL),)}),
    ),
    (
        {"text": "t", "calls": [{"id": "c"}], "stop": "end", "usage": {"calls": "many"}},
        LEAST.model_copy(update={"text": "t", "stop": "end"}),
    ),
]


@pytest.mark.parametrize("version", range(1, ev.SCHEMA + 1))
@pytest.mark.parametrize(("given", "read"), ODD_TURNS)
def test_a_turn_that_was_kept_without_a_look_at_it_is_read_as_far_as_it_can_be(
    version: int, given: dict[str, Any], read: Turn
) -> None:
    line = json.dumps({**OF, "turn": given, "type": "TurnTaken", "v": version}, separators=(",", ":"))
    assert ev.load(line) == ev.TurnTaken(turn=read, **OF)


@pytest.mark.parametrize("version", range(1, ev.SCHEMA + 1))
def test_a_reply_that_was_kept_without_a_look_at_it_is_read_as_far_as_it_can_be(version: int) -> None:
    given = {"call_id": "c", "text": ["no", "text"], "failed": True, "since": 1}
    line = json.dumps({**OF, "reply": given, "type": "ToolReturned", "v": version}, separators=(",", ":"))
    assert ev.load(line) == ev.ToolReturned(reply=ToolReply(call_id="c", text="", failed=True), **OF)


@pytest.mark.parametrize("turn", [None, [], "text"])
def test_what_is_no_turn_at_all_is_refused(turn: Any) -> None:
    with pytest.raises(ValueError, match="turn"):
        ev.load(json.dumps({**OF, "turn": turn, "type": "TurnTaken", "v": ev.SCHEMA}, separators=(",", ":")))


def test_a_turn_is_written_so_that_an_earlier_release_can_read_it() -> None:
    """Those keep it as it stands, and ask for these names once they go on from it; the others have defaults there."""
    turn = json.loads(ev.dump(ev.TurnTaken(turn=Turn(text="", stop="end", usage=Usage()), **OF)))["turn"]
    assert turn == {"text": "", "stop": "end", "usage": {}}
    reply = json.loads(ev.dump(ev.ToolReturned(reply=ToolReply(call_id="c", text=""), **OF)))["reply"]
    assert reply == {"call_id": "c", "text": ""}
    call = ev.TurnTaken(turn=LEAST.model_copy(update={"calls": (ToolCall(**CALL),)}), **OF)
    assert json.loads(ev.dump(call))["turn"]["calls"] == [CALL]
