"""Specialists made for a job: what a plan may ask for, and that nothing it says gives more than the crew lends."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handoff.contracts import MadeSpecialist, Member, Plan, Tier
from handoff.engine.ladder import LADDER, FailureSituation, choose_recovery_step
from handoff.planning import adhoc
from handoff.planning.adhoc import AdhocAllowance
from handoff.planning.plan_check import MAX_FAULT_LENGTH, MAX_FAULTS
from tests.handoff.kit import read_plan

TIERS: tuple[Tier, ...] = get_args(Tier)
MEMBERS = {name: Member(name=name) for name in ("writer", "analyst")}
ALLOWANCE = AdhocAllowance(
    tools=("web_search", "calculate"),
    tiers=("fast", "balanced"),
    at_most=2,
    fallback="writer",
    reserved_names=frozenset({"writer", "analyst", "analyst_b"}),
    writing_tools=frozenset({"send_mail"}),
)
BRIEF = "Render contract clauses in Danish legal register, keep clause numbers, and list terms without an equivalent."


def wish(name: str = "jurist", **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "why": "nobody there writes Danish legal prose",
        "description": "Renders contract clauses in Danish.",
        "brief": BRIEF,
        "tools": ["calculate"],
        "tier": "fast",
        **more,
    }


def part(specialist: str = "jurist", name: str = "p1", **more: Any) -> dict[str, Any]:
    return {
        "id": name,
        "title": "Render the clauses",
        "intent": f"Render clauses 1 to 4 of contract.txt in Danish ({name}).",
        "specialist": specialist,
        "done_when": "All four clauses are there.",
        **more,
    }


def read(
    *made_specialists: dict[str, Any],
    parts: Sequence[dict[str, Any]] = (),
    allowance: AdhocAllowance | None = ALLOWANCE,
) -> tuple[Plan | None, tuple[str, ...]]:
    reply = {"goal": "g", "subtasks": list(parts) or [part()], "made": list(made_specialists)}
    return read_plan(json.dumps(reply), MEMBERS, allowance)


def test_a_sound_wish_passes_and_becomes_a_member() -> None:
    plan, faults = read(wish())
    assert faults == ()
    assert plan is not None
    (made,) = plan.made
    assert adhoc.find_made_specialist(plan, "jurist") is made
    assert adhoc.find_made_specialist(plan, "writer") is None
    (member,) = adhoc.make_adhoc_members(plan, ALLOWANCE).values()
    assert (member.made, member.tier, member.fallback, member.tiers) == (True, "fast", "writer", ("fast", "balanced"))
    assert adhoc.list_adhoc_reasons(plan) == (
        "jurist made for this job (fast, calculate): nobody there writes Danish legal prose",
    )


FAULTS: dict[str, tuple[dict[str, Any], str]] = {
    "a member's name": (wish("writer"), "'writer' has the name of a specialist that there is"),
    "an equal's name, which the planner never saw": (wish("analyst_b"), "'analyst_b' has the name of a specialist"),
    "the bot's name": (wish("supervisor"), "'supervisor' needs a name of small letters"),
    "no name": (wish(""), "needs a name of small letters"),
    "a path as a name": (wish("crew/jurist"), "needs a name of small letters"),
    "no description": (wish(description=" "), "has no description"),
    "a long description": (wish(description="x" * 201), "has a description of 201 characters; at most 200"),
    "no reason": (wish(why=""), "has no `why`"),
    "a long reason": (wish(why="x" * 201), "has a `why` of 201 characters"),
    "no brief": (wish(brief="\n\u200b"), "has no brief"),
    "a long brief": (wish(brief="Clause " * 300), "has a brief of 2,099 characters; at most 2,000"),
    "a brief that says nothing more": (
        wish(brief="renders contract  clauses in Danish."),
        "only repeats its description",
    ),
    "a tool that is not lent": (wish(tools=["query_table"]), "'query_table', which is not lent; it may have: web_sea"),
    "a tool that writes": (wish(tools=["send_mail"]), "asks for the tool send_mail, which writes; a made one only"),
    "a tool twice": (wish(tools=["calculate", "calculate"]), "asks for the tool calculate twice"),
    "a tier beyond": (wish(tier="deep"), "asks for the tier deep; it may have: fast, balanced"),
}


@pytest.mark.parametrize(("wished_specialist", "fault"), FAULTS.values(), ids=FAULTS)
def test_a_fault_is_said_exactly(wished_specialist: dict[str, Any], fault: str) -> None:
    plan, faults = read(wished_specialist, parts=[part(wished_specialist["name"])])
    assert plan is None
    assert any(fault in one for one in faults), faults


def test_each_must_be_of_use_once_and_not_too_many() -> None:
    assert "works on no subtask" in read(wish(), wish("other"))[1][0]
    assert "Two made specialists are called 'jurist'" in read(wish(), wish())[1][0]
    many = [wish(f"m{n}") for n in range(3)]
    assert read(*many, parts=[part(f"m{n}", f"p{n}") for n in range(3)])[1] == (
        "`made` has 3 specialists; at most 2 are allowed.",
    )


def test_a_crew_that_allows_none_says_so() -> None:
    _, faults = read(wish(), allowance=None)
    assert "This crew has no specialists made" in faults[0]
    assert "unknown specialist 'jurist'" in faults[1]
    assert read(parts=[part("writer")], allowance=None)[1] == ()


def test_a_second_try_is_let_off_words_and_no_rights() -> None:
    reply = {"goal": "g", "subtasks": [part()], "made": [wish(brief=wish()["description"])]}
    assert read_plan(json.dumps(reply), MEMBERS, ALLOWANCE, is_second_try=True)[1] == ()
    reply["made"] = [wish(brief=wish()["description"], tools=["send_mail"])]
    assert len(read_plan(json.dumps(reply), MEMBERS, ALLOWANCE, is_second_try=True)[1]) == 2


def test_what_nobody_sees_is_taken_out_of_its_texts() -> None:
    plan, _ = read(
        wish(brief=f"{BRIEF}\u202e\u200b\x07\r\nKeep names.", description="Renders\nclauses in\u2028Danish.")
    )
    assert plan is not None
    assert plan.made[0].brief == f"{BRIEF}\nKeep names."
    assert plan.made[0].description == "Renders clauses in Danish."


TOOLS = ("web_search", "calculate", "send_mail", "query_table", "drop_all")
NAMES = ("jurist", "coder", "writer", "analyst_b", "supervisor", "", "A b")
wishes = st.fixed_dictionaries(
    {
        "name": st.one_of(st.sampled_from(NAMES), st.text(max_size=5)),
        "description": st.sampled_from(["Renders clauses.", "", "x" * 300]),
        "brief": st.one_of(st.sampled_from([BRIEF, "", "Be helpful."]), st.text(max_size=80)),
    },
    optional={
        "tools": st.lists(st.one_of(st.sampled_from(TOOLS), st.text(max_size=4)), max_size=4),
        "tier": st.sampled_from([*TIERS, "huge"]),
        "why": st.sampled_from(["nobody can", ""]),
        "rights": st.just(["send_mail"]),
    },
)
good = st.builds(
    lambda name, tools, tier: wish(name, tools=tools, tier=tier),
    st.sampled_from(["jurist", "coder", "poet"]),
    st.lists(st.sampled_from(TOOLS), max_size=3, unique=True),
    st.sampled_from(TIERS),
)
parts = st.builds(
    lambda specialist, tier, name: part(specialist, name, tier=tier),
    st.sampled_from(["jurist", "coder", "poet", "writer"]),
    st.sampled_from([None, *TIERS]),
    st.sampled_from(["a", "b", "c"]),
)
replies = st.builds(
    lambda made, subtasks: {"goal": "g", "made": made, "subtasks": subtasks},
    st.lists(st.one_of(good, wishes), max_size=4),
    st.lists(parts, max_size=4, unique_by=lambda one: str(one["id"])),
)
allowances = st.builds(
    lambda lent, tiers, at_most: AdhocAllowance(
        lent, tiers, at_most, "writer", frozenset(MEMBERS), frozenset({"send_mail"})
    ),
    st.sets(st.sampled_from(["web_search", "calculate", "send_mail"])).map(tuple),
    st.sets(st.sampled_from(TIERS), min_size=1).map(tuple),
    st.integers(1, adhoc.MAX_SPECIALISTS_PER_PLAN),
)


@given(replies, st.one_of(st.none(), allowances), st.booleans())
@settings(max_examples=90, deadline=None)
def test_whatever_a_plan_says_it_gets_no_more_than_is_lent(
    reply: dict[str, Any],
    allowance: AdhocAllowance | None,
    is_second_try: bool,  # noqa: FBT001 - drawn
) -> None:
    plan, faults = read_plan(json.dumps(reply), MEMBERS, allowance, is_second_try=is_second_try)
    assert (plan is None) == bool(faults)
    assert len(faults) <= MAX_FAULTS + 1
    assert all(0 < len(fault) <= MAX_FAULT_LENGTH + 1 for fault in faults)
    if plan is None or not plan.made:
        return
    assert allowance is not None
    assert len(plan.made) <= allowance.at_most
    assert len({one.name for one in plan.made} | set(MEMBERS)) == len(plan.made) + len(MEMBERS)
    for one in plan.made:
        assert set(one.tools) <= set(allowance.tools) - allowance.writing_tools, "not even where a file would list one"
        mine = [subtask for subtask in plan.subtasks if subtask.specialist == one.name]
        assert mine
        assert {subtask.tier or one.tier for subtask in mine} <= set(allowance.tiers)
        assert 0 < len(one.brief) <= adhoc.MAX_BRIEF_LENGTH
        assert 0 < len(one.description) <= adhoc.MAX_DESCRIPTION_LENGTH


@given(st.lists(st.sampled_from(sorted(LADDER)), max_size=12), st.sets(st.sampled_from(TIERS), min_size=1), st.data())
@settings(max_examples=60, deadline=None)
def test_no_history_lifts_a_made_one_above_its_tiers(troubles: list[Any], tiers: set[Tier], data: Any) -> None:
    tier = data.draw(st.sampled_from(sorted(tiers)))
    allowed = tuple(tiers)
    rungs: tuple[Any, ...] = ()
    name = "jurist"
    for count, trouble in enumerate(troubles, start=1):
        standing = FailureSituation(name, tier, count, steps_taken=rungs, fallback="writer", tiers=allowed)
        following = choose_recovery_step(trouble, standing)
        if following.step in {"without", "fallback"}:
            return  # over, or a member's with a member's tiers
        rungs, tier = (*rungs, following.step), following.tier
        assert tier in tiers
        assert following.specialist == name


def test_a_plan_without_made_ones_is_written_as_ever() -> None:
    plan = Plan(goal="g", subtasks=())
    assert "made" not in plan.model_dump_json(exclude_defaults=True)
    assert Plan(goal="g", subtasks=(), made=(MadeSpecialist(name="a", description="d", brief="b"),)) != plan
