"""A part that is only there for some findings: run where there is one, else left out, and looked at again."""

from __future__ import annotations

import json
from typing import Any

import pytest

from handoff import events as ev
from handoff.briefs.context import handoff_for
from handoff.contracts import Finding, OnlyFor, Subtask
from handoff.effects import WriteAnswer
from handoff.engine.answer import gaps
from handoff.engine.engine import apply
from handoff.planning.plan_check import parse_plan
from handoff.state.job_state import Job
from tests.handoff.kit import ask, asked, effects, failed, job, planned, returned, running, started, subtask
from tests.handoff.test_taken_up import all_failed, ended, proposed, wants

SEVERE_AND_UNSURE = OnlyFor(severity="high", below=80)
UNSURE = Finding(message="It may be lost.", severity="critical", confidence=79)


def look(*after: str, name: str = "look") -> Subtask:
    return subtask(name, *after).model_copy(update={"only_for": SEVERE_AND_UNSURE})


def found(*findings: Finding, then: tuple[Subtask, ...] = ()) -> Job:
    """Two parts, the first with these findings, and a look at both."""
    log = [planned(subtask("t1"), subtask("t2"), look("t1", "t2"), *then), started("t1"), started("t2")]
    return job(asked(), *log, returned("t1", findings=findings), returned("t2"))


@pytest.mark.parametrize(
    ("finding", "runs"),
    [
        (UNSURE, True),
        (Finding(message="Lost.", severity="high", confidence=0), True),
        (Finding(message="Sure.", severity="critical", confidence=80), False),
        (Finding(message="Small.", severity="medium", confidence=10), False),
    ],
)
def test_a_part_runs_where_there_is_what_it_is_for(finding: Finding, *, runs: bool) -> None:
    state = found(finding)
    assert bool(running(state)) is runs
    assert ask(state).work["look"].state == ("pending" if runs else "skipped")


def test_a_part_that_is_left_out_is_no_gap_and_the_trace_says_why() -> None:
    state = found()
    work = ask(state).work["look"]
    assert (work.state, work.dropped, work.attempt) == ("skipped", True, 0)
    assert [(one.subtask, one.what, one.why) for one in ask(state).decisions] == [
        ("look", "left out", "no finding is high or critical and less than 80 sure")
    ]
    assert gaps(ask(state), ask(state).run) == ()
    assert [type(one) for one in effects(state) if isinstance(one, WriteAnswer)] == [WriteAnswer]


def test_what_builds_on_a_part_that_is_left_out_goes_on() -> None:
    state = found(then=(subtask("last", "look"),))
    assert running(state) == [("last", 1, "analyst")]
    brief, _ = handoff_for(state, ask(state), ask(state).work["last"], 10.0)
    assert brief.context == ()
    state = found(then=(look("look", name="again"), subtask("last", "again")))
    assert [name for name, one in ask(state).work.items() if one.dropped] == ["look", "again"], "one after the other"


def test_it_waits_for_all_that_it_builds_on_and_is_lost_with_it() -> None:
    plan = planned(subtask("t1"), subtask("t2"), look("t1", "t2"))
    state = job(asked(), plan, started("t1"), returned("t1"))
    assert ask(state).work["look"].state == "pending"
    of: dict[str, Any] = {"attempt": 1, "failed_calls": 3}
    state = job(asked(), plan, started("t1"), failed("t1", **of), started("t2"), failed("t2", **of))
    work = ask(state).work["look"]
    assert (work.state, work.dropped, work.reason) == ("skipped", False, "it needed 'Part t1', 'Part t2'")


def test_while_its_plan_is_looked_at_nothing_is_left_out() -> None:
    state = found(Finding(message="There is a second half of it.", where="plan"))
    assert ask(state).work["look"].state == "pending"
    state = apply(state, ev.PlanRevised(at=9, request="1.0", subtask="t1"))
    assert ask(state).work["look"].dropped


def test_a_second_try_looks_again() -> None:
    log = [*all_failed("t1"), started("t2"), returned("t2")]
    before = job(asked(), planned(subtask("t1"), subtask("t2"), look("t1", "t2")), *log, *ended())
    assert ask(before).work["look"].dropped
    state = proposed(apply(before, wants()))
    work = ask(state).work
    assert (work["t2"].kept, work["look"].state) == (True, "pending")
    of: dict[str, Any] = {"request": "2.0", "findings": (UNSURE,)}
    begun = started("t1", at=12.0).model_copy(update={"request": "2.0"})
    result = returned("t1", at=13.0, findings=(UNSURE,)).model_copy(update={"request": of["request"]})
    state = apply(apply(state, begun), result)
    assert running(state) == [("look", 1, "analyst")]


def test_no_model_says_that_a_part_is_left_out() -> None:
    part = {"id": "a", "title": "A", "intent": "Do it.", "specialist": "x", "only_for": {"severity": "high"}}
    plan, faults = parse_plan(json.dumps({"goal": "g", "subtasks": [part]}))
    assert plan is not None
    assert (plan.subtasks[0].only_for, faults) == (None, ())
