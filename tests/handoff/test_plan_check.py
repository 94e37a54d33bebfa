"""A plan is checked before a token is spent on work, and each fault says what to change."""

import json
from typing import Any

import pytest

from handoff.contracts import Member
from handoff.plan_check import MAX_SUBTASKS, read_plan

MEMBERS = {name: Member(name=name) for name in ("analyst", "writer")}


def part(name: str = "a", *after: str, **more: Any) -> dict[str, Any]:
    fields = {"title": "Find it", "intent": "Find the total of it", "specialist": "analyst", "after": list(after)}
    return {"id": name, **fields, **more}


def faults_of(*subtasks: dict[str, Any]) -> tuple[str, ...]:
    plan, faults = read_plan(json.dumps({"goal": "g", "subtasks": subtasks}), MEMBERS)
    assert (plan is None) == bool(faults)
    return faults


def test_a_good_plan_passes() -> None:
    assert faults_of(part("a"), part("b", "a", specialist="writer")) == ()


def test_a_plan_may_stand_in_a_code_fence() -> None:
    text = "Here you are:\n```json\n" + json.dumps({"goal": "g", "subtasks": [part()]}) + "\n```"
    plan, faults = read_plan(text, MEMBERS)
    assert faults == ()
    assert plan is not None


@pytest.mark.parametrize(
    ("subtasks", "fault"),
    [
        ([], "no subtasks"),
        ([part("a", "a")], "waits for itself"),
        ([part("a", "b"), part("b", "a")], "cycle among a, b"),
        ([part("a", "zz")], "'zz', which is not in the plan"),
        ([part("a"), part("a")], "Two subtasks are called 'a'"),
        ([part("a", specialist="wizard")], "unknown specialist 'wizard'; there are: analyst, writer"),
        ([part("a", intent="analyze data")], "too vague"),
        ([part("a", title=" ")], "has no title"),
        ([part(f"s{n}") for n in range(10_000)], f"10,000 subtasks; at most {MAX_SUBTASKS}"),
        ([part(f"s{n}", *([f"s{n - 1}"] if n else [])) for n in range(9)], "9 steps deep"),
    ],
)
def test_a_bad_plan_is_told_exactly(subtasks: list[dict[str, Any]], fault: str) -> None:
    assert any(fault in said for said in faults_of(*subtasks)), faults_of(*subtasks)


@pytest.mark.parametrize("text", ["", "I'd rather not.", "{", "{}", "[1]", '{"goal": 1, "subtasks": "x"}', "}{"])
def test_nonsense_is_a_fault_and_never_raises(text: str) -> None:
    plan, faults = read_plan(text, MEMBERS)
    assert plan is None
    assert faults


def test_a_flood_of_faults_is_capped() -> None:
    faults = faults_of(*[part(f"s{n}", "x", "y", "z") for n in range(15)])
    assert len(faults) < 20
    assert "more faults" in faults[-1]
