"""What a planner may say: an answer, a question, one specialist or a plan; what is mended, and each fault."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handoff import events as ev
from handoff.contracts import Artifact, Member, Plan, Subtask
from handoff.engine.answer import list_answer_gaps
from handoff.planning.plan_brief import PlanBrief
from handoff.planning.plan_check import MAX_DEPTH, MAX_FAULT_LENGTH, MAX_FAULTS, MAX_SUBTASKS, find_plan_faults
from handoff.planning.plan_repair import repair_plan
from handoff.planning.planner_reply import PlannerReply, parse_reply
from tests.handoff.kit import R, ask, job, make_request_event, read_plan, require

MEMBERS = {name: Member(name=name) for name in ("analyst", "researcher", "writer")}
BRIEF = PlanBrief("Which team lost most?", may_answer=True, may_ask=True)


def part(name: str = "a", *after: str, **more: Any) -> dict[str, Any]:
    fields = {"title": "Find it", "intent": "Find the total of it", "specialist": "analyst", "after": list(after)}
    return {"id": name, **fields, **more}


def read(who: str, brief: PlanBrief = BRIEF, *, is_second_try: bool = False, **fields: Any) -> PlannerReply:
    text = json.dumps({"why": "one skill", "next": {"who": who, **fields}})
    return parse_reply(text, brief, MEMBERS, is_second_try=is_second_try)


def read_plan_reply(
    *subtasks: dict[str, Any], brief: PlanBrief = BRIEF, is_second_try: bool = False, **more: Any
) -> PlannerReply:
    return read("several", brief, is_second_try=is_second_try, goal="g", subtasks=subtasks, **more)


# ---------------------------------------------------------------- the four decisions


def test_an_answer_is_taken_with_its_reason() -> None:
    reply = read("answer", text=" You are welcome. ")
    assert (reply.answer, reply.reasons, reply.plan, reply.faults) == ("You are welcome.", ("one skill",), None, ())


@pytest.mark.parametrize(
    ("request_text", "text", "fault"),
    [
        ("Thanks for the 12 pages!", "12 pages, and 3 of us.", ""),
        ("We sold 24,800 in May.", "You said 24.800 for May.", ""),
        ("We sold 24800 in May.", "Thanks, 24,800 it is.", ""),
        ("It came in 1) boxes and 2) bags.", "Noted: 14 boxes.", "14"),
        ("Our budget is 1764 euros.", "You have 764 euros left.", "764"),
    ],
)
def test_an_answers_figures_are_read_as_those_of_results_are(request_text: str, text: str, fault: str) -> None:
    """Not as digits that stand anywhere in what was said, however it is written."""
    reply = read("answer", PlanBrief(request_text, may_answer=True), text=text)
    assert (reply.answer == text) is not bool(fault)
    assert not fault or f"The answer states {fault}: that is work" in reply.faults[0]


def test_a_question_is_taken_with_likely_answers() -> None:
    reply = read("ask", text="Which year?", options=["2025", " 2026 ", "", "2025", 7])
    assert (reply.question, reply.options) == ("Which year?", ("2025", "2026", "7"))
    assert read("ask", text="Which year?", options=None).options == ()


def test_one_specialist_gets_the_request_word_for_word() -> None:
    plan = require(read("analyst").plan)
    (subtask,) = plan.subtasks
    assert (subtask.intent, subtask.specialist, subtask.title) == (BRIEF.text, "analyst", BRIEF.text)


@pytest.mark.parametrize(
    ("who", "fields", "fault"),
    [
        ("answer", {"text": "..."}, "The answer has no text."),
        ("answer", {}, "The answer has no text."),
        (
            "answer",
            {"text": "It is 765, of 4250."},
            "The answer states 765, 4250: that is work; hand it on or plan it.",
        ),
        ("ask", {"text": " "}, "The question has no text."),
        ("wizard", {}, "There is no specialist 'wizard'; there are: analyst, researcher, writer."),
        ("several", {}, "goal: Field required"),
        ("dance", {"goal": "g", "subtasks": []}, "The plan has no subtasks"),
    ],
)
def test_what_cannot_be_used_is_told_exactly(who: str, fields: dict[str, Any], fault: str) -> None:
    reply = read(who, **fields)
    assert reply.faults[0].startswith(fault)
    assert (reply.plan, reply.answer, reply.question) == (None, "", "")


def test_a_part_of_a_request_is_neither_answered_nor_asked_about() -> None:
    inner = PlanBrief("Find the terms")
    assert "nobody reads an answer" in read("answer", inner, text="Hello!").faults[0]
    assert "Nobody can be asked any more" in read("ask", inner, text="Which?").faults[0]
    assert read("writer", inner).plan is not None


@pytest.mark.parametrize(
    ("reply", "field"),
    [
        ({"text": "Hello!"}, "answer"),
        ({"question": "Which?"}, "question"),
        ({"specialist": "writer"}, "plan"),
        ({"goal": "g", "subtasks": [part()]}, "plan"),
    ],
)
def test_a_reply_that_does_not_say_what_it_does_shows_it(reply: dict[str, Any], field: str) -> None:
    read = parse_reply(f"So:\n```json\n{json.dumps(reply)}\n```", BRIEF, MEMBERS)
    assert read.faults == ()
    assert getattr(read, field)


@given(st.one_of(st.text(max_size=80), st.recursive(st.text(max_size=9), st.lists).map(json.dumps)))
def test_nonsense_is_a_fault_and_never_raises(text: str) -> None:
    for reply in (text, json.dumps({"why": text, "next": text}), json.dumps({"who": text, "after": text})):
        assert parse_reply(reply, BRIEF, MEMBERS).faults


# ---------------------------------------------------------------- mended without a model


def afters(plan: Plan | None) -> dict[str, tuple[str, ...]]:
    assert plan is not None
    return {one.id: one.after for one in plan.subtasks}


def test_a_circle_loses_the_dependency_against_the_plans_own_order() -> None:
    reply = read_plan_reply(part("region"), part("total", "region", "chart"), part("chart", "total"))
    assert afters(reply.plan) == {"region": (), "total": ("region",), "chart": ("total",)}
    assert "mended: total no longer waits for chart, which waits for total" in reply.reasons


def test_dependencies_on_nothing_and_on_oneself_are_dropped() -> None:
    reply = read_plan_reply(part("a", "", "a", "zz"), part("b", "a", "a"))
    assert afters(reply.plan) == {"a": (), "b": ("a",)}
    assert [one for one in reply.reasons if one.startswith("mended")] == [
        "mended: a no longer waits for nothing, which is not there",
        "mended: a no longer waits for itself",
        "mended: a no longer waits for 'zz', which is not there",
    ]


names = st.sampled_from("abcdef")


@given(st.lists(st.tuples(names, st.lists(names, max_size=4)), unique_by=lambda one: one[0], max_size=6))
def test_whatever_the_dependencies_they_end(parts: list[tuple[str, list[str]]]) -> None:
    subtasks = tuple(Subtask(id=n, title="t", intent="i", specialist="s", after=tuple(a)) for n, a in parts)
    left = {one.id: set(one.after) for one in repair_plan(Plan(goal="g", subtasks=subtasks))[0].subtasks}
    while left:
        free = [name for name, after in left.items() if not after]
        assert free
        left = {name: after - set(free) for name, after in left.items() if name not in free}


SLOGANS = (
    part("bold", intent="Write a bold slogan for the spring fair", title="Write a bold slogan", specialist="writer"),
    part("calm", intent="Write a calm slogan for the spring fair", title="Write a calm slogan", specialist="writer"),
)


@pytest.mark.parametrize(
    ("subtasks", "strategy", "why"),
    [
        (SLOGANS, "select", ""),
        (SLOGANS[:1], "select", "there is one part"),
        (SLOGANS[:1], "reduce", "there is one part"),
        ((part("a"), part("b", "a")), "select", "only one part has a result that nothing builds on"),
        (
            (
                part("welcome", title="Welcome", intent="Write a welcome message for new colleagues"),
                part("reminder", title="Reminder", intent="Draft two lines on the Friday deadline"),
            ),
            "select",
            "welcome, reminder do not answer the same question",
        ),
        ((part("a"), part("b")), "reduce", ""),
    ],
)
def test_only_rivals_are_chosen_between(subtasks: tuple[dict[str, Any], ...], strategy: str, why: str) -> None:
    reply = read_plan_reply(*subtasks, strategy=strategy)
    assert reply.plan is not None
    assert reply.plan.strategy == ("merge" if why else strategy)
    assert [one for one in reply.reasons if "mended" in one] == (
        [f"mended: merged instead of {strategy}: {why}"] if why else []
    )


# ---------------------------------------------------------------- files from nowhere


def naming(intent: str, brief: PlanBrief = BRIEF) -> tuple[str, ...]:
    return read_plan_reply(part(intent=intent), brief=brief).faults


@pytest.mark.parametrize("name", ["sales.csv", "Q3 report.xlsx", "terms.pdf", "über-uns.docx"])
def test_a_file_that_nobody_mentioned_is_refused(name: str) -> None:
    (fault,) = naming(f"Total the revenue in {name}, by region")
    assert name.rpartition(" ")[2] in fault
    assert "name only files that are listed" in fault


@pytest.mark.parametrize(
    "intent",
    [
        "Total the revenue by region",
        "Publish the memo as Memo.docx",
        "Read https://example.com/terms.pdf and node.js pages",
        "Write to ana@example.com about v1.2.3",
    ],
)
def test_what_is_no_file_at_hand_is_let_pass(intent: str) -> None:
    assert naming(intent) == ()


def test_files_at_hand_may_be_named() -> None:
    intent = "Total the revenue in Sales 2026.CSV"
    file = Artifact(id="0" * 64, name="Sales 2026.csv")
    assert naming(intent)
    assert naming(intent, PlanBrief("total it", files=(file,))) == ()
    assert naming(intent, PlanBrief("total SALES 2026.csv")) == ()
    assert naming(intent, PlanBrief("total it", file_faults=("Sales 2026.csv is too large",))) == ()
    two = [part("a", intent="Save the totals as totals.csv"), part("b", "a", intent="Draw a chart of totals.csv")]
    assert read_plan_reply(*two).faults == ()


def test_all_faults_are_told_at_once() -> None:
    faults = read_plan_reply(part(intent="Analyze sales.csv", title="", specialist="wizard"), part("b", intent=""))
    told = " ".join(faults.faults)
    unknown, untitled = "Subtask 'a' names the unknown specialist 'wizard'", "Subtask 'a' has no title"
    for fault in (unknown, untitled, "Subtask 'a' names sales.csv", "Subtask 'b' has no brief"):
        assert fault in told, fault


def test_the_second_time_a_matter_of_judgement_is_let_pass_and_told() -> None:
    side = "Define the schema of the export and write it"
    for parts in ([part("a", intent=side), part("b", intent=side)], slices(4)):
        assert read_plan_reply(*parts).plan is None
        reply = read_plan_reply(*parts, is_second_try=True)
        assert reply.reasons[-1].startswith("taken as it is: ")
        assert find_plan_faults(require(reply.plan), MEMBERS), "what it was let pass with can still be told"


def test_a_name_without_letters_is_about_nothing() -> None:
    both = [part(name, title="1", intent="2 + 2 =", done_when="4") for name in ("a", "b")]
    assert read_plan_reply(*both, strategy="select").plan is not None


# ---------------------------------------------------------------- what is wrong with a plan


def faults_of(*subtasks: dict[str, Any]) -> tuple[str, ...]:
    plan, faults = read_plan(json.dumps({"goal": "g", "subtasks": subtasks}), MEMBERS)
    assert (plan is None) == bool(faults)
    return faults


MISSING_ADVICE = "A part that none of them can do is left out and named in `missing`."


@pytest.mark.parametrize(
    ("subtasks", "fault"),
    [
        ([], "no subtasks"),
        ([part("a", "zz"), part("a")], "Two subtasks are called 'a'"),
        (
            [part("a", specialist="wizard")],
            f"unknown specialist 'wizard'; there are: {', '.join(MEMBERS)}. {MISSING_ADVICE}",
        ),
        ([part("a", intent=" ")], "has no brief"),
        ([part("a", title=" ")], "has no title"),
        ([part(f"s{n}") for n in range(10_000)], f"10,000 subtasks; at most {MAX_SUBTASKS}"),
        ([part(f"s{n}", *([f"s{n - 1}"] if n else [])) for n in range(9)], "9 steps deep"),
    ],
)
def test_a_bad_plan_is_told_exactly(subtasks: list[dict[str, Any]], fault: str) -> None:
    assert any(fault in said for said in faults_of(*subtasks)), faults_of(*subtasks)


def test_a_flood_of_faults_is_capped() -> None:
    faults = faults_of(*[part(f"s{n}", title="") for n in range(20)])
    assert len(faults) < 20
    assert "more faults" in faults[-1]


CREW = {name: Member(name=name) for name in ("analyst", "researcher", "reviewer", "writer")}


def read_with(**more: Any) -> tuple[Any, tuple[str, ...]]:
    return read_plan(json.dumps({"goal": "g", "subtasks": [part()], **more}), MEMBERS)


def test_a_plan_may_say_that_nobody_can_do_some_or_all_of_it() -> None:
    plan, faults = read_with(missing=["book a flight. ", " none", ""])
    assert (plan.missing, faults) == (("book a flight",), ())
    planned = ev.PlanProposed(at=2.0, request=R, plan=plan, members=tuple(CREW.values()))
    request = ask(job(make_request_event(), planned))
    assert list_answer_gaps(request, request.run) == ("nobody in the crew can book a flight",)
    plan, faults = read_with(subtasks=[], missing=["book a flight"])
    assert (plan.subtasks, faults) == ((), ())
    plan, faults = read_with(subtasks=[], missing=["nothing"])
    assert plan is None
    assert "`missing` must say what nobody can do" in faults[0]


def test_what_is_missing_is_said_briefly() -> None:
    assert "at most 8" in read_with(missing=["book a flight"] * 9)[1][0]
    assert "a few words a part" in read_with(missing=["x" * 200])[1][0]


def slices(count: int) -> list[dict[str, Any]]:
    return [part(f"s{n}", *([f"s{n - 1}"] if n else []), specialist="writer") for n in range(count)]


def test_ones_own_work_cut_in_slices_is_put_together() -> None:
    assert faults_of(*slices(3)) == ()
    assert faults_of(*slices(4)) == ("Subtasks s0, s1, s2, s3 are writer's work one after the other; make them one.",)
    other = part("x", "s1")
    assert faults_of(*slices(4), other) == (), "somebody else needs a slice: it is a part of its own"


# ---------------------------------------------------------------- whatever a planner says

NAMES = ("analyst", "researcher", "writer", "reviewer")
HERE = Path(__file__).parent
BRIEFS = (
    "Define the schema of the events table: names, types, keys",
    "Werte sales.csv nach Regionen aus und nenne die drei größten",
    "売上データを月別に集計し、最大の下落を三つ挙げる",
    "In churn.csv find when, where and for which plan churn rose, with numbers and one chart.",
    "What were total sales by region?",
    "Translate the attached letter into French, keeping names and dates",
)
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
    plan, faults = read_plan(reply, CREW)
    assert (plan is None) == bool(faults)
    assert len(faults) <= MAX_FAULTS + 1
    assert all(0 < len(fault) <= MAX_FAULT_LENGTH + 1 for fault in faults)
    if plan is None:
        return
    assert find_plan_faults(plan, CREW) == ()
    assert plan.subtasks or plan.missing
    assert len(plan.subtasks) <= MAX_SUBTASKS
    assert all(subtask.specialist in CREW for subtask in plan.subtasks), "nobody was invented"
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
    assert read_plan(json.dumps({**plan, "subtasks": renamed}), CREW)[1] == ()
