"""A planner may answer, ask, hand over or plan; and what is certain in its plan is mended without asking it again."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handoff.contracts import Artifact, Member, Plan, Subtask
from handoff.planning.mending import mend
from handoff.planning.plan_brief import PlanBrief
from handoff.planning.planner_reply import PlannerReply, read_reply

MEMBERS = {name: Member(name=name) for name in ("analyst", "researcher", "writer")}
BRIEF = PlanBrief("Which team lost most?", may_answer=True, may_ask=True)


def part(name: str = "a", *after: str, **more: Any) -> dict[str, Any]:
    fields = {"title": "Find it", "intent": "Find the total of it", "specialist": "analyst", "after": list(after)}
    return {"id": name, **fields, **more}


def read(who: str, brief: PlanBrief = BRIEF, *, mended: bool = False, **fields: Any) -> PlannerReply:
    text = json.dumps({"why": "one skill", "next": {"who": who, **fields}})
    return read_reply(text, brief, MEMBERS, mended=mended)


def planned(*subtasks: dict[str, Any], brief: PlanBrief = BRIEF, mended: bool = False, **more: Any) -> PlannerReply:
    return read("several", brief, mended=mended, goal="g", subtasks=subtasks, **more)


# ---------------------------------------------------------------- the four decisions


def test_an_answer_is_taken_with_its_reason() -> None:
    reply = read("answer", text=" You are welcome. ")
    assert (reply.answer, reply.reasons, reply.plan, reply.faults) == ("You are welcome.", ("one skill",), None, ())


def test_an_answer_may_repeat_figures_that_were_said() -> None:
    assert read("answer", PlanBrief("Thanks for the 12 pages!", may_answer=True), text="12 pages, and 3 of us.").answer


@pytest.mark.parametrize(
    ("request_text", "text", "fault"),
    [
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
    plan = read("analyst").plan
    assert plan is not None
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
    read = read_reply(f"So:\n```json\n{json.dumps(reply)}\n```", BRIEF, MEMBERS)
    assert read.faults == ()
    assert getattr(read, field)


@given(st.one_of(st.text(max_size=80), st.recursive(st.text(max_size=9), st.lists).map(json.dumps)))
def test_nonsense_is_a_fault_and_never_raises(text: str) -> None:
    for reply in (text, json.dumps({"why": text, "next": text}), json.dumps({"who": text, "after": text})):
        assert read_reply(reply, BRIEF, MEMBERS).faults


# ---------------------------------------------------------------- mended without a model


def afters(plan: Plan | None) -> dict[str, tuple[str, ...]]:
    assert plan is not None
    return {one.id: one.after for one in plan.subtasks}


def test_a_circle_loses_the_dependency_against_the_plans_own_order() -> None:
    reply = planned(part("region"), part("total", "region", "chart"), part("chart", "total"))
    assert afters(reply.plan) == {"region": (), "total": ("region",), "chart": ("total",)}
    assert "mended: total no longer waits for chart, which waits for total" in reply.reasons


def test_dependencies_on_nothing_and_on_oneself_are_dropped() -> None:
    reply = planned(part("a", "", "a", "zz"), part("b", "a", "a"))
    assert afters(reply.plan) == {"a": (), "b": ("a",)}
    assert [one for one in reply.reasons if one.startswith("mended")] == [
        "mended: a no longer waits for nothing, which is not there",
        "mended: a no longer waits for itself",
        "mended: a no longer waits for 'zz', which is not there",
    ]


def test_a_good_plan_is_left_as_it_is() -> None:
    reply = planned(part("a"), part("b"), part("c", "b", "a"))
    assert (afters(reply.plan)["c"], reply.reasons) == (("b", "a"), ("one skill",))


ids = st.sampled_from("abcdef")


@given(st.lists(st.tuples(ids, st.lists(ids, max_size=4)), unique_by=lambda one: one[0], max_size=6))
def test_whatever_the_dependencies_they_end(parts: list[tuple[str, list[str]]]) -> None:
    subtasks = tuple(Subtask(id=n, title="t", intent="i", specialist="s", after=tuple(a)) for n, a in parts)
    left = {one.id: set(one.after) for one in mend(Plan(goal="g", subtasks=subtasks))[0].subtasks}
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
    reply = planned(*subtasks, strategy=strategy)
    assert reply.plan is not None
    assert reply.plan.strategy == ("merge" if why else strategy)
    assert [one for one in reply.reasons if "mended" in one] == (
        [f"mended: merged instead of {strategy}: {why}"] if why else []
    )


# ---------------------------------------------------------------- files from nowhere


def naming(intent: str, brief: PlanBrief = BRIEF) -> tuple[str, ...]:
    return planned(part(intent=intent), brief=brief).faults


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
    assert planned(*two).faults == ()


def test_all_faults_are_told_at_once() -> None:
    faults = planned(part(intent="Analyze sales.csv", title="", specialist="wizard"), part("b", intent=""))
    told = " ".join(faults.faults)
    for fault in ("unknown specialist 'wizard'", "has no title", "names sales.csv", "'b' has no brief"):
        assert fault in told, fault


def test_the_second_time_a_matter_of_judgement_is_let_pass_and_told() -> None:
    side = "Define the schema of the export and write it"
    reply = planned(part("a", intent=side), part("b", intent=side), mended=True)
    assert reply.plan is not None
    assert reply.reasons[-1].startswith("taken as it is: ")


def test_nobody_can_tell_what_a_doubled_id_waits_for() -> None:
    reply = planned(part("a", "zz"), part("a"))
    assert any("Two subtasks are called 'a'" in fault for fault in reply.faults)


def test_a_name_without_letters_is_about_nothing() -> None:
    both = [part(name, title="1", intent="2 + 2 =", done_when="4") for name in ("a", "b")]
    assert planned(*both, strategy="select").plan is not None
