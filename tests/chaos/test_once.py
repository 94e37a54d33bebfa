"""The checks of a run can fail: a step that is done twice, a call made again for nothing, too many calls a minute."""

from __future__ import annotations

from collections import Counter

import pytest

from bot.store.values import Head, JobKey
from handoff import events as ev
from handoff.contracts import Plan
from tests.chaos.once import LATE, find_repeated_calls, too_many_a_minute, twice_in

OF = {"at": 1.0, "request": "r"}
PLAN = Plan(goal="Tea", subtasks=())
STEPS: list[ev.Event] = [
    ev.PlanProposed(**OF, plan=PLAN),
    ev.PlanProposed(**OF, plan=PLAN, within="a"),
    ev.BriefRefined(**OF, subtask="a/y", attempt=1),
    ev.PlanRevised(**OF, subtask="b"),
    ev.AnswerWritten(**OF, within="a", text="Tea."),
    ev.AnswerWritten(**OF, text="Tea.", draft=True),
    ev.AnswerVerified(**OF),
    ev.AnswerWritten(**OF, text="Tea."),
]


def head(owners: int) -> Head:
    return Head(JobKey("T", "J"), 0, 1, owners, None, "", 0.0)


def test_each_step_of_each_level_may_stand_once() -> None:
    assert list(twice_in(STEPS)) == []


@pytest.mark.parametrize("step", STEPS, ids=[f"{step.type}-{number}" for number, step in enumerate(STEPS)])
def test_a_step_that_is_done_twice_is_named(step: ev.Event) -> None:
    (found,) = twice_in([*STEPS, step.model_copy(update={"at": 2.0})])
    assert found.startswith(step.type)
    assert found.endswith("stands 2 times in the log")


def test_a_call_may_be_made_again_once_an_owner() -> None:
    assert list(find_repeated_calls(Counter({"refiner a": 1, "verifier": 2}), head(2), 0)) == []
    assert list(find_repeated_calls(Counter({"refiner a": 1, "verifier": 3}), head(2), 1)) == []
    (found,) = find_repeated_calls(Counter({"refiner a": 1, "verifier": 3}), head(2), 0)
    assert found == "verifier was answered 3 times, and the job had 2 owners"


def test_calls_are_counted_by_what_is_surely_a_minute() -> None:
    assert too_many_a_minute([0.0, 1.0, 61.0, 62.0], 2) == 0
    assert too_many_a_minute([0.0, 1.0, 59.0 - LATE], 2) == 3
