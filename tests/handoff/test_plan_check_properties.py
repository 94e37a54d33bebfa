"""Whatever a planner says: it is a plan that can run to its end, or faults that say what to change."""

import json
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from handoff import events as ev
from handoff.contracts import Member, Place, Request, Result
from handoff.effects import MakePlan, Post, RunSubtask, SelectAnswer, VerifyAnswer, WriteAnswer
from handoff.engine.answer import gaps
from handoff.engine.engine import apply
from handoff.engine.outstanding import outstanding
from handoff.planning.plan_check import MAX_DEPTH, MAX_FAULT_LENGTH, MAX_FAULTS, MAX_SUBTASKS, check
from handoff.state.job_state import ENDED
from tests.handoff.kit import read_plan

NAMES = ("analyst", "researcher", "writer", "reviewer")
MEMBERS = {name: Member(name=name) for name in NAMES}
HERE = Path(__file__).parent
BRIEFS = (HERE / "briefs" / "good.txt").read_text().splitlines()
PLANS = [json.loads(path.read_text(encoding="utf-8")) for path in sorted((HERE / "plans").glob("*.json"))]
ids = st.sampled_from([f"s{n}" for n in range(6)] + [""])
subtasks = st.fixed_dictionaries(
    {
        "id": ids,
        "title": st.sampled_from(["Find it", "", "Write it"]),
        "intent": st.one_of(st.sampled_from(BRIEFS), st.text(max_size=40)),
        "specialist": st.sampled_from([*NAMES, "wizard"]),
        "after": st.lists(ids, max_size=3),
    },
    optional={
        "done_when": st.text(max_size=20),
        "critical": st.booleans(),
        "tier": st.sampled_from(["deep", None, "x"]),
    },
)
plans = st.fixed_dictionaries(
    {"goal": st.text(max_size=10), "subtasks": st.lists(subtasks, max_size=8)},
    optional={
        "missing": st.lists(st.text(max_size=150), max_size=10),
        "strategy": st.sampled_from(["merge", "select", "vote"]),
    },
)


@given(st.one_of(plans.map(json.dumps), st.text(max_size=300)))
@settings(max_examples=60, deadline=None)
def test_it_is_a_plan_or_faults_and_never_both(reply: str) -> None:
    plan, faults = read_plan(reply, MEMBERS)
    assert (plan is None) == bool(faults)
    assert len(faults) <= MAX_FAULTS + 1
    assert all(0 < len(fault) <= MAX_FAULT_LENGTH + 1 for fault in faults)
    if plan is None:
        return
    assert check(plan, MEMBERS) == ()
    assert plan.subtasks or plan.missing
    assert len(plan.subtasks) <= MAX_SUBTASKS
    assert all(subtask.specialist in MEMBERS for subtask in plan.subtasks), "nobody was invented"
    assert runs_in_layers(plan.model_dump()) <= MAX_DEPTH


def runs_in_layers(plan: dict[str, Any]) -> int:
    left = {subtask["id"]: set(subtask["after"]) for subtask in plan["subtasks"]}
    layers = 0
    while left:
        ready = {name for name, after in left.items() if not after & left.keys()}
        assert ready, "it can never end"
        left = {name: after for name, after in left.items() if name not in ready}
        layers += 1
    return layers


@given(st.sampled_from(PLANS), st.randoms(use_true_random=False))
def test_a_good_plan_stays_good_in_any_order_and_by_any_names(plan: dict[str, Any], rng: Any) -> None:
    names = {subtask["id"]: f"p{n}" for n, subtask in enumerate(plan["subtasks"])}
    renamed = [
        {**subtask, "id": names[subtask["id"]], "after": [names[name] for name in subtask["after"]]}
        for subtask in plan["subtasks"]
    ]
    rng.shuffle(renamed)
    assert read_plan(json.dumps({**plan, "subtasks": renamed}), MEMBERS)[1] == ()


@given(st.sampled_from([plan for plan in PLANS if plan["subtasks"]]), st.data())
def test_one_fault_in_a_good_plan_is_found(plan: dict[str, Any], data: Any) -> None:
    subtask = data.draw(st.sampled_from(plan["subtasks"]))
    bad = data.draw(
        st.sampled_from(
            [
                {"specialist": "wizard"},
                {"intent": " ", "after": []},
                {"title": ""},
            ]
        )
    )
    broken = [{**one, **bad} if one is subtask else one for one in plan["subtasks"]]
    _, faults = read_plan(json.dumps({**plan, "subtasks": broken}), MEMBERS)
    assert any(subtask["id"] in fault for fault in faults)


@given(st.one_of(st.sampled_from(PLANS), plans))
@settings(max_examples=30, deadline=None)
def test_an_accepted_plan_comes_to_its_end(reply: dict[str, Any]) -> None:
    plan, _ = read_plan(json.dumps(reply), MEMBERS, mended=True)
    if plan is None or not plan.subtasks:
        return
    place = Place(team="T", channel="C", thread_ts="1.0")
    job = apply(None, ev.RequestAdded(at=1.0, place=place, request=Request(id="1.0", user="U", text="t", at=1.0)))
    for step in range(200):
        effects, _ = outstanding(job, 2.0 + step)
        if not effects:
            break
        effect, at = effects[0], 2.0 + step
        if isinstance(effect, MakePlan):
            event: ev.Event = ev.PlanProposed(at=at, request="1.0", plan=plan, members=tuple(MEMBERS.values()))
        elif isinstance(effect, RunSubtask):
            of = {"at": at, "request": "1.0", "subtask": effect.subtask, "attempt": effect.attempt}
            job = apply(job, ev.AttemptStarted(**of, specialist=effect.specialist, tier=effect.tier))
            event = ev.ResultReturned(**of, result=Result(summary="s", content="c", confidence=90))
        elif isinstance(effect, VerifyAnswer):
            event = ev.AnswerVerified(at=at, request="1.0")
        elif isinstance(effect, WriteAnswer | SelectAnswer):
            event = ev.AnswerWritten(at=at, request="1.0", text="the answer")
        else:
            assert isinstance(effect, Post)
            event = ev.Posted(at=at, request="1.0", key=effect.key, ts=str(at))
        job = apply(job, event)
    assert job.asks[0].state in ENDED
    named = [f"nobody in the crew can {part}" for part in plan.missing]
    assert set(named) <= set(gaps(job.asks[0], job.asks[0].run))
