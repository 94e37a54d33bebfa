"""A second look at a plan: when it is asked for, what it may change; and parts that are there for some findings."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bot.supervisor.prompts import read_prompt
from handoff import events as ev
from handoff.briefs.handoff_builder import make_handoff
from handoff.contracts import Escalation, Finding, FindingCondition, Material, Member, Result, Subtask
from handoff.effects import RevisePlan, RunSubtask, WriteAnswer
from handoff.engine.answer import list_answer_gaps
from handoff.engine.engine import apply_event
from handoff.engine.replan import MAX_REVISIONS, find_due_trigger, join_plan_findings, list_changeable_ids
from handoff.planning.plan_check import parse_plan
from handoff.planning.revision import MAX_ADDED_SUBTASKS, Revision, parse_revision
from handoff.state.job_state import Job, RequestState, SubtaskState
from tests.handoff.kit import (
    MEMBERS,
    R,
    ask,
    effects,
    job,
    make_end_events,
    make_failure_event,
    make_plan_event,
    make_request_event,
    make_result_event,
    make_start_event,
    make_subtask_handoff,
    require,
    running,
    subtask,
    to_run,
)
from tests.handoff.test_opening import play_requests
from tests.handoff.test_taken_up import all_failed, propose_plan, wants

FINDING_TEXT = "No bug here, this is configuration."
BRIEF = "In billing.yml set send_twice to off and say how to check it."


def upset(name: str, *, where: str = "plan", message: str = FINDING_TEXT) -> ev.ResultReturned:
    return make_result_event(name, findings=({"message": message, "where": where},))


def looked_at(*more: ev.Event) -> Job:
    """a is done and says that the plan is wrong; b goes on; fix waits for a, note for fix."""
    rows = make_plan_event(subtask("a"), subtask("b"), subtask("fix", "a"), subtask("note", "fix", specialist="writer"))
    return job(make_request_event(), rows, make_start_event("a"), make_start_event("b"), upset("a"), *more)


def reply(**lists: list[dict[str, Any]]) -> str:
    return json.dumps({"why": "It is configuration.", "add": [], "drop": [], "reassign": [], "rebrief": [], **lists})


def make_added_subtask(name: str, **more: Any) -> dict[str, Any]:
    return {"id": name, "title": f"Part {name}", "intent": BRIEF, "specialist": "writer", "why": "It is so.", **more}


def read(state: Job, text: str) -> Revision:
    about = require(find_due_trigger(ask(state)))
    return parse_revision(text, ask(state), ask(state).get_run(about.within), about)


def revise_plan(state: Job, text: str, at: float = 7.0) -> Job:
    about, made = require(find_due_trigger(ask(state))), read(state, text)
    of = {"at": at, "request": R, "within": about.within, "subtask": about.subtask}
    given = {"plan": made.plan, "changes": made.changes, "faults": made.faults}
    return apply_event(state, ev.PlanRevised.model_validate({**of, **given}))


def looks(state: Job) -> list[str]:
    return [effect.subtask for effect in effects(state) if isinstance(effect, RevisePlan)]


def decisions(state: Job) -> list[tuple[str, str]]:
    return [(one.subtask, one.what) for one in ask(state).decisions]


# ---------------------------------------------------------------- when it is asked for


GRAVE = {"message": "The list is of 2019.", "severity": "high"}


@pytest.mark.parametrize("result_fields", [{"findings": (GRAVE,)}, {"gaps": ("The list holds no prices for 2024.",)}])
def test_the_planner_is_asked_where_a_part_that_builds_on_it_has_not_started(result_fields: dict[str, Any]) -> None:
    rows = make_plan_event(subtask("a"), subtask("b"), subtask("fix", "a"), subtask("note", "fix", specialist="writer"))
    state = job(
        make_request_event(),
        rows,
        make_start_event("a"),
        make_start_event("b"),
        make_result_event("a", **result_fields),
    )
    assert looks(state) == ["a"]
    trigger = require(find_due_trigger(ask(state)))
    assert trigger.words in {"The list is of 2019.", "The list holds no prices for 2024."}


def test_the_planner_is_not_asked_where_nothing_builds_on_the_news_or_it_was_foreseen() -> None:
    beside = make_plan_event(subtask("a"), subtask("b"), subtask("note", "b", specialist="writer"))
    small = make_plan_event(subtask("a"), subtask("note", "a", specialist="writer"))
    minor = {"message": "A title is misspelt.", "severity": "low"}
    pipeline = small.model_copy(update={"pipeline": True})
    for plan, finding in ((beside, GRAVE), (small, minor), (pipeline, GRAVE)):
        assert (
            looks(job(make_request_event(), plan, make_start_event("a"), make_result_event("a", findings=(finding,))))
            == []
        )


def test_the_planner_is_asked_only_where_a_finding_is_about_the_plan() -> None:
    assert join_plan_findings(Result(summary="s", content="c")) == ""
    state = looked_at()
    assert looks(state) == ["a"]
    assert ("a", "ask the planner again") in decisions(state)
    rows = make_plan_event(subtask("a"), subtask("b", "a"))
    for where in ("", "billing.yml", "plan.md", "the plan, section 2"):
        state = job(make_request_event(), rows, make_start_event("a"), upset("a", where=where))
        assert looks(state) == []
        assert running(state) == [("b", 1, "analyst")]


def test_what_has_started_goes_on_and_what_has_not_waits() -> None:
    state = looked_at()
    assert running(state) == [("b", 1, "analyst")], "fix is ready, and waits for the planner"
    state = apply_event(state, make_failure_event("b", transient=True))
    assert ("b", 2, "analyst") in running(state), "a retry is no start"
    state = revise_plan(state, reply())
    assert ("fix", 1, "analyst") in running(state)
    assert looks(state) == []


def test_nobody_is_asked_where_all_has_started() -> None:
    state = job(
        make_request_event(),
        make_plan_event(subtask("a"), subtask("b")),
        make_start_event("a"),
        make_start_event("b"),
        upset("a"),
    )
    assert looks(state) == []
    assert ask(state).decisions[-1].why == f"“{FINDING_TEXT}”: everything in it has started"


def test_the_planner_is_asked_so_many_times_and_no_more() -> None:
    rows = [subtask(f"p{n}") for n in range(4)]
    state = job(
        make_request_event(),
        make_plan_event(*rows, subtask("end", *(row.id for row in rows))),
        *(make_start_event(row.id) for row in rows),
    )
    for row in rows:
        state = apply_event(state, upset(row.id))
    for _ in range(MAX_REVISIONS):
        assert len(looks(state)) == 1, "one after the other"
        assert running(state) == []
        state = revise_plan(state, "Bananas!")
    assert looks(state) == []
    assert running(state) == [("end", 1, "analyst")]
    kept = [one.why for one in ask(state).decisions if one.what == "plan kept"]
    assert len(kept) == len(rows)
    assert any("at most" in why for why in kept)


# ---------------------------------------------------------------- what it may change


def test_added_dropped_reassigned_and_briefed_anew() -> None:
    state = revise_plan(
        looked_at(),
        reply(
            add=[
                make_added_subtask("option", instead_of="fix"),
                make_added_subtask("check", specialist="analyst", needed_by=["note"]),
            ],
            rebrief=[{"id": "note", "intent": "Tell the board which option to set.", "done_when": "", "why": "News."}],
        ),
    )
    subtasks = ask(state).subtasks
    assert list(subtasks) == ["a", "b", "fix", "option", "note", "check"]
    assert subtasks["option"].spec.after == ("a",), "it waits for what the replaced one waited for"
    assert subtasks["note"].spec.after == ("option", "check")
    assert (subtasks["fix"].state, subtasks["fix"].is_dropped) == ("skipped", True)
    assert subtasks["note"].change_note == "new brief: News."
    assert subtasks["option"].change_note == "new: It is so."
    assert {("fix", "plan changed: replaced"), ("note", "plan changed: rebriefed")} <= set(decisions(state))
    assert set(running(state)) == {("b", 1, "analyst"), ("option", 1, "writer"), ("check", 1, "analyst")}


def test_a_needless_part_is_no_gap_and_one_that_was_given_up_is() -> None:
    gone = [{"id": "fix", "needless": True, "why": "There is no bug."}]
    state = revise_plan(looked_at(make_result_event("b")), reply(drop=gone))
    subtasks = ask(state).subtasks
    assert (subtasks["fix"].state, subtasks["fix"].reason) == ("skipped", "no longer needed: There is no bug.")
    assert subtasks["note"].spec.after == ("a",), "it works from what the dropped one would have worked from"
    state = apply_event(apply_event(state, make_start_event("note")), make_result_event("note"))
    assert WriteAnswer(R) in effects(state)
    assert list_answer_gaps(ask(state), ask(state).run) == ()

    given_up = [{"id": "fix", "needless": False, "why": "Nobody may change it."}]
    state = revise_plan(looked_at(make_result_event("b")), reply(drop=given_up))
    assert list_answer_gaps(ask(state), ask(state).run) == (
        "Part fix: Nobody may change it.",
        "Part note: it needed 'Part fix'",
    )


def test_dependants_of_what_changed_see_the_right_results() -> None:
    state = revise_plan(
        looked_at(),
        reply(add=[make_added_subtask("option", instead_of="fix"), make_added_subtask("check", needed_by=["note"])]),
    )
    for name in ("option", "check"):
        state = apply_event(apply_event(state, make_start_event(name)), make_result_event(name))
    (note,) = [e for e in effects(state) if isinstance(e, RunSubtask) and e.subtask == "note"]
    assert [(one.source, one.text) for one in make_subtask_handoff(state, note).context] == [
        ("Part option", "all of option"),
        ("Part check", "all of check"),
    ]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("Bananas!", "no usable reply"),
        ('{"add": "many"}', "no usable reply"),
        (reply(), "nothing to change: It is configuration."),
        (reply(drop=[{"id": "a", "why": "w"}]), "a cannot be dropped: it has started."),
        (reply(drop=[{"id": "b", "why": "w"}]), "b cannot be dropped: it has started."),
        (reply(rebrief=[{"id": "b", "intent": BRIEF, "why": "w"}]), "b cannot be changed: it has started."),
        (reply(reassign=[{"id": "ghost", "specialist": "writer", "why": "w"}]), "ghost cannot be changed: there is no"),
        (reply(reassign=[{"id": "fix", "specialist": "plumber", "why": "w"}]), "unknown specialist 'plumber'"),
        (reply(reassign=[{"id": "fix", "specialist": "analyst", "why": "w"}]), "fix is analyst's as it is."),
        (reply(drop=[{"id": "fix", "why": ""}]), "The change of fix has no reason."),
        (reply(add=[make_added_subtask("x", intent=" ")]), "has no brief"),
        (reply(add=[make_added_subtask("note")]), "There is a subtask 'note' already"),
        (reply(add=[make_added_subtask("x"), make_added_subtask("x")]), "Two new subtasks have one id"),
        (reply(add=[make_added_subtask("x", needed_by=["b"])]), "b cannot wait for x"),
        (reply(add=[make_added_subtask(f"x{n}") for n in range(MAX_ADDED_SUBTASKS + 1)]), "at most 6 are allowed"),
        (
            reply(drop=[{"id": "fix", "why": "w"}], rebrief=[{"id": "fix", "intent": BRIEF, "why": "w"}]),
            "fix is dropped and changed at once.",
        ),
    ],
)
def test_what_cannot_be_done_leaves_the_plan_as_it_was(text: str, fault: str) -> None:
    before = looked_at()
    assert any(fault in one for one in read(before, text).faults), read(before, text).faults
    after = revise_plan(before, text)
    assert ask(after).run.plan == ask(before).run.plan
    assert ask(after).subtasks == ask(before).subtasks
    assert (ask(after).decisions[-1].what, fault in ask(after).decisions[-1].why) == ("plan kept", True)
    assert ("fix", 1, "analyst") in running(after)


@pytest.mark.parametrize(
    ("rows", "after", "mending_text"),
    [
        (
            [make_added_subtask("x", after=["a", "ghost"])],
            {"x": ("a",)},
            "x no longer waits for 'ghost', which is not there",
        ),
        ([make_added_subtask("x", after=["x"])], {"x": ()}, "x no longer waits for itself"),
        (
            [make_added_subtask("x", after=["y"]), make_added_subtask("y", after=["x"])],
            {"x": (), "y": ("x",)},
            "x no longer waits for y, which",
        ),
    ],
)
def test_dependencies_that_cannot_hold_are_mended(
    rows: list[dict[str, Any]], after: dict[str, tuple[str, ...]], mending_text: str
) -> None:
    made = read(looked_at(), reply(add=rows))
    assert made.faults == ()
    assert made.plan is not None
    there = {one.id: one.after for one in made.plan.subtasks}
    assert {name: there[name] for name in after} == after
    assert (there["fix"], there["note"]) == (("a",), ("fix",)), "what was there waits as it did"
    assert f"mended: {mending_text}" in made.changes[0].why
    assert len(ask(revise_plan(looked_at(), reply(add=rows))).subtasks) == 4 + len(rows)


def test_a_plan_that_touches_what_has_started_meanwhile_is_refused() -> None:
    before = looked_at()
    made = read(before, reply(rebrief=[{"id": "fix", "intent": BRIEF, "why": "w"}]))
    late = ev.PlanRevised(at=9.0, request=R, subtask="a", plan=made.plan, changes=made.changes)
    for meanwhile in (make_start_event("fix"), ev.DeadlineReached(at=8.0, request=R, subtask="fix")):
        state = apply_event(before, meanwhile)
        after = apply_event(state, late)
        assert ask(after).subtasks["fix"] == ask(state).subtasks["fix"]
        if find_due_trigger(ask(state)) is not None:
            assert ask(after).decisions[-1].why == "fix has started, and would be changed."
    assert apply_event(apply_event(before, late), late).requests == apply_event(before, late).requests, (
        "a second one changes nothing"
    )


# ---------------------------------------------------------------- the rung of the ladder


def stuck(reason: str = "out_of_scope", **more: Any) -> Job:
    """a said that it is not for its specialist, who has no fallback; note waits for it."""
    escalation = Escalation.model_validate({"reason": reason, "message": "I cannot open pages.", **more})
    out = ev.Escalated(at=4.0, request=R, subtask="a", attempt=1, escalation=escalation)
    return job(
        make_request_event(),
        make_plan_event(subtask("a"), subtask("note", "a", specialist="writer")),
        make_start_event("a"),
        out,
    )


def test_what_failed_is_split_and_its_dependants_wait_for_its_replacements() -> None:
    state = stuck(partial_result={"summary": "half", "content": "half of a"})
    assert (looks(state), running(state)) == (["a"], [])
    parts = [make_added_subtask("pages", specialist="researcher", instead_of="a")]
    parts.append(make_added_subtask("rates", specialist="analyst", instead_of="a", after=["pages"]))
    state = revise_plan(state, reply(add=parts))
    subtasks = ask(state).subtasks
    assert subtasks["note"].spec.after == ("pages", "rates")
    assert (subtasks["a"].state, subtasks["a"].is_dropped) == ("skipped", True)
    pages = to_run(state)
    told = {note.source: note.text for note in make_subtask_handoff(state, pages).context}
    assert told == {
        "Part a: tried before, and failed": "I cannot open pages.",
        "Part a: what there was of it, not accepted": "half of a",
    }
    for name in ("pages", "rates", "note"):
        state = apply_event(apply_event(state, make_start_event(name)), make_result_event(name))
    assert list_answer_gaps(ask(state), ask(state).run) == ()
    assert WriteAnswer(R) in effects(state)


@pytest.mark.parametrize("text", ["Bananas!", reply(), reply(drop=[{"id": "a", "needless": False, "why": "w"}])])
def test_where_it_brings_nothing_the_next_rung_follows(text: str) -> None:
    state = revise_plan(stuck(), text)
    assert ask(state).subtasks["a"].state == "error"
    assert [what for _, what in decisions(state)] == ["replan", "plan kept", "without", "skipped"]
    assert ask(state).subtasks["a"].reason == "I cannot open pages."
    assert ask(state).run.failure is not None


def test_what_failed_may_go_to_another_or_be_briefed_anew() -> None:
    state = revise_plan(stuck(), reply(reassign=[{"id": "a", "specialist": "researcher", "why": "It opens pages."}]))
    assert running(state) == [("a", 2, "researcher")]
    state = revise_plan(stuck(), reply(rebrief=[{"id": "a", "intent": BRIEF, "why": "Without pages."}]))
    effect = to_run(state)
    assert make_subtask_handoff(state, effect).intent == BRIEF
    assert [note.text for note in make_subtask_handoff(state, effect).context] == ["I cannot open pages."]


def test_a_part_keeps_its_tier_only_where_its_new_specialist_may_work_on_it() -> None:
    made = Member(name="made", tier="fast", tiers=("fast",), made=True)
    rows = make_plan_event(subtask("a"), subtask("fix", "a", tier="deep"), members=(*MEMBERS, made))
    state = job(make_request_event(), rows, make_start_event("a"), upset("a"))
    for name, tier in (("made", "fast"), ("writer", "deep")):
        after = revise_plan(state, reply(reassign=[{"id": "fix", "specialist": name, "why": "w"}]))
        assert (ask(after).subtasks["fix"].specialist, ask(after).subtasks["fix"].tier) == (name, tier)


# ---------------------------------------------------------------- whatever is said


def list_untouched_subtasks(before: RequestState, event: ev.PlanRevised) -> dict[str, SubtaskState]:
    free: frozenset[str] = frozenset()
    for one in before.replan_triggers:
        if (one.within, one.subtask) == (event.within, event.subtask):
            free = list_changeable_ids(before, one)
    return {name: subtask for name, subtask in before.subtasks.items() if name not in free}


def is_stranded(request: RequestState, before: SubtaskState, after: SubtaskState) -> bool:
    """Whether it was to be tried once more, and what it waited for has come to nothing: the rung after the look."""
    lost = all(request.subtasks[name].state in {"error", "skipped"} for name in after.spec.after)
    return (before.state, after.state) == ("pending", "skipped") and after.reason.startswith("it needed") and lost


@given(seed=st.integers(0, 2**32))
@example(seed=448)
@settings(max_examples=36, deadline=None)
def test_what_is_done_or_under_way_is_never_touched(seed: int) -> None:
    log = play_requests(seed)
    for place, event in enumerate(log):
        if isinstance(event, ev.PlanRevised):
            old = require(job(*log[:place]).find_request(event.request))
            new = require(job(*log[: place + 1]).find_request(event.request))
            for name, subtask in list_untouched_subtasks(old, event).items():
                assert new.subtasks[name] == subtask or is_stranded(new, subtask, new.subtasks[name])
            assert new.revision_count <= MAX_REVISIONS
            assert all(name in new.subtasks for one in require(new.run.plan).subtasks for name in one.after)


def test_the_examples_in_the_prompt_can_be_carried_out() -> None:
    goods = [
        json.loads(line.partition("Good: ")[2]) for line in read_prompt("replanner").splitlines() if "Good: " in line
    ]
    assert len(goods) == 4
    rows = [subtask("option", "cause"), subtask("fix", "cause"), subtask("trend", "cause"), subtask("note", "fix")]
    state = job(
        make_request_event(), make_plan_event(subtask("cause"), *rows), make_start_event("cause"), upset("cause")
    )
    for good in (goods[0], goods[1]):
        good["add"] = [{**one, "id": f"new-{one['id']}"} for one in good["add"]]
        assert read(state, json.dumps(good)).faults == ()
    out = ev.Escalated(
        at=4.0,
        request=R,
        subtask="study",
        attempt=1,
        escalation=Escalation(reason="out_of_scope", message="I cannot open web pages."),
    )
    state = job(
        make_request_event(),
        make_plan_event(subtask("study"), subtask("note", "study")),
        make_start_event("study"),
        out,
    )
    assert read(state, json.dumps(goods[2])).faults == ()
    assert "nothing to change" in read(state, json.dumps(goods[3])).faults[0]


# ---------------------------------------------------------------- what an added part needs


def test_an_added_part_needs_the_material_that_it_names() -> None:
    there = (Material(name="terms.pdf"), Material(name="labs.csv"))
    state = looked_at()
    about = require(find_due_trigger(ask(state)))

    def needs_of(**more: Any) -> tuple[str, ...] | None:
        text = json.dumps(
            {"why": "w", "add": [make_added_subtask("more", **more)], "drop": [], "reassign": [], "rebrief": []}
        )
        made = parse_revision(text, ask(state), ask(state).get_run(about.within), about, there)
        assert made.plan is not None, made.faults
        return made.plan.get_subtask("more").needs

    assert needs_of(needs=["labs.csv", "TERMS", "nothing.txt"]) == ("labs.csv", "terms.pdf")
    assert needs_of(needs=[]) == ()
    assert needs_of() is None, "an older model's reply: it gets all that there is"


# ---------------------------------------------------------------- parts that are only there for some findings

SEVERE_AND_UNSURE = FindingCondition(severity="high", below=80)
UNSURE = Finding(message="It may be lost.", severity="critical", confidence=79)


def look(*after: str, name: str = "look") -> Subtask:
    return subtask(name, *after, only_for=SEVERE_AND_UNSURE)


def found_so(*findings: Finding, then: tuple[Subtask, ...] = ()) -> Job:
    """Two parts, the first with these findings, and a look at both."""
    log = [
        make_plan_event(subtask("t1"), subtask("t2"), look("t1", "t2"), *then),
        make_start_event("t1"),
        make_start_event("t2"),
    ]
    return job(make_request_event(), *log, make_result_event("t1", findings=findings), make_result_event("t2"))


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
    state = found_so(finding)
    assert bool(running(state)) is runs
    assert ask(state).subtasks["look"].state == ("pending" if runs else "skipped")


def test_a_part_that_is_left_out_is_no_gap_and_the_trace_says_why() -> None:
    state = found_so()
    subtask = ask(state).subtasks["look"]
    assert (subtask.state, subtask.is_dropped, subtask.attempt) == ("skipped", True, 0)
    assert [(one.subtask, one.what, one.why) for one in ask(state).decisions] == [
        ("look", "left out", "no finding is high or critical and less than 80 sure")
    ]
    assert list_answer_gaps(ask(state), ask(state).run) == ()
    assert [type(one) for one in effects(state) if isinstance(one, WriteAnswer)] == [WriteAnswer]


def test_what_builds_on_a_part_that_is_left_out_goes_on() -> None:
    state = found_so(then=(subtask("last", "look"),))
    assert running(state) == [("last", 1, "analyst")]
    brief, _ = make_handoff(state, ask(state), ask(state).subtasks["last"], 10.0)
    assert brief.context == ()
    state = found_so(then=(look("look", name="again"), subtask("last", "again")))
    assert [name for name, one in ask(state).subtasks.items() if one.is_dropped] == ["look", "again"], (
        "one after the other"
    )


def test_it_waits_for_all_that_it_builds_on_and_is_lost_with_it() -> None:
    plan = make_plan_event(subtask("t1"), subtask("t2"), look("t1", "t2"))
    state = job(make_request_event(), plan, make_start_event("t1"), make_result_event("t1"))
    assert ask(state).subtasks["look"].state == "pending"
    of: dict[str, Any] = {"attempt": 1, "failed_calls": 3}
    state = job(
        make_request_event(),
        plan,
        make_start_event("t1"),
        make_failure_event("t1", **of),
        make_start_event("t2"),
        make_failure_event("t2", **of),
    )
    work = ask(state).subtasks["look"]
    assert (work.state, work.is_dropped, work.reason) == ("skipped", False, "it needed 'Part t1', 'Part t2'")


def test_while_its_plan_is_looked_at_nothing_is_left_out() -> None:
    state = found_so(Finding(message="There is a second half of it.", where="plan"))
    assert ask(state).subtasks["look"].state == "pending"
    state = apply_event(state, ev.PlanRevised(at=9, request="1.0", subtask="t1"))
    assert ask(state).subtasks["look"].is_dropped


def test_a_second_try_looks_again() -> None:
    log = [*all_failed("t1"), make_start_event("t2"), make_result_event("t2")]
    before = job(
        make_request_event(), make_plan_event(subtask("t1"), subtask("t2"), look("t1", "t2")), *log, *make_end_events()
    )
    assert ask(before).subtasks["look"].is_dropped
    state = propose_plan(apply_event(before, wants()))
    subtasks = ask(state).subtasks
    assert (subtasks["t2"].is_reused, subtasks["look"].state) == (True, "pending")
    begun = make_start_event("t1", at=12.0, request="2.0")
    result = make_result_event("t1", at=13.0, request="2.0", findings=(UNSURE,))
    state = apply_event(apply_event(state, begun), result)
    assert running(state) == [("look", 1, "analyst")]


def test_no_model_says_that_a_part_is_left_out() -> None:
    part = {"id": "a", "title": "A", "intent": "Do it.", "specialist": "x", "only_for": {"severity": "high"}}
    plan, faults = parse_plan(json.dumps({"goal": "g", "subtasks": [part]}))
    assert plan is not None
    assert (plan.subtasks[0].only_for, faults) == (None, ())
