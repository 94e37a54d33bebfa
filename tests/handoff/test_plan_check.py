"""A plan is checked before a token is spent on work, and each fault says what to change."""

import json
from pathlib import Path
from typing import Any

import pytest

from handoff.contracts import Member
from handoff.planning.plan_check import MAX_SUBTASKS, check
from tests.handoff.kit import read_plan

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
        ([part("a"), part("a")], "Two subtasks are called 'a'"),
        ([part("a", specialist="wizard")], "unknown specialist 'wizard'; there are: analyst, writer"),
        ([part("a", intent=" ")], "has no brief"),
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
    faults = faults_of(*[part(f"s{n}", title="") for n in range(20)])
    assert len(faults) < 20
    assert "more faults" in faults[-1]


PLANS = sorted((Path(__file__).parent / "plans").glob("*.json"))
CREW = {name: Member(name=name) for name in ("analyst", "researcher", "reviewer", "writer")}


@pytest.mark.parametrize("path", PLANS, ids=lambda path: path.stem)
def test_plans_as_planners_make_them_pass(path: Path) -> None:
    plan, faults = read_plan(path.read_text(encoding="utf-8"), CREW)
    assert faults == ()
    assert plan is not None


def read(**more: Any) -> tuple[Any, tuple[str, ...]]:
    return read_plan(json.dumps({"goal": "g", "subtasks": [part()], **more}), MEMBERS)


def test_a_plan_may_say_that_nobody_can_do_some_or_all_of_it() -> None:
    plan, faults = read(missing=["book a flight. ", " none", ""])
    assert (plan.missing, faults) == (("book a flight",), ())
    plan, faults = read(subtasks=[], missing=["book a flight"])
    assert (plan.subtasks, faults) == ((), ())
    plan, faults = read(subtasks=[], missing=["nothing"])
    assert plan is None
    assert "`missing` must say what nobody can do" in faults[0]


def test_what_is_missing_is_said_briefly() -> None:
    assert "at most 8" in read(missing=["book a flight"] * 9)[1][0]
    assert "a few words a part" in read(missing=["x" * 200])[1][0]


def test_one_who_does_not_exist_is_never_planned_with() -> None:
    fault = faults_of(part(specialist="travel_agent"))[0]
    assert fault.endswith("A part that none of them can do is left out and named in `missing`.")


def test_ones_own_work_cut_in_slices_is_put_together() -> None:
    def slices(count: int) -> list[dict[str, Any]]:
        return [part(f"s{n}", *([f"s{n - 1}"] if n else []), specialist="writer") for n in range(count)]

    assert faults_of(*slices(3)) == ()
    assert faults_of(*slices(4)) == ("Subtasks s0, s1, s2, s3 are writer's work one after the other; make them one.",)
    other = part("x", "s1")
    assert faults_of(*slices(4), other) == (), "somebody else needs a slice: it is a part of its own"


def test_a_shared_decision_comes_first() -> None:
    side = "Define the schema of the export and write it"
    both = [part("a", intent=side), part("b", intent=side)]
    assert "each define the schema" in faults_of(*both)[0]
    assert faults_of(part("c", intent=side), part("a", "c", intent=side), part("b", "c", intent=side)) == ()


def test_what_is_a_matter_of_judgement_is_let_pass_the_second_time() -> None:
    side = "Define the schema of the export and write it"
    slices = [part(f"s{n}", *([f"s{n - 1}"] if n else []), specialist="writer") for n in range(4)]
    for parts in ([part("a", intent=side), part("b", intent=side)], slices):
        text = json.dumps({"goal": "g", "subtasks": parts})
        assert read_plan(text, MEMBERS)[0] is None
        plan, faults = read_plan(text, MEMBERS, mended=True)
        assert faults == ()
        assert plan is not None
        assert check(plan, MEMBERS), "what it was let pass with can still be told"
