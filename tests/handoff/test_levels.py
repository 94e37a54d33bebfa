"""A crew inside the crew, rule by rule: how it begins, what reaches down, and what travels up."""

from __future__ import annotations

from typing import Any

import pytest

from bot.jobs.effect_runner import EffectBug, find_handler
from handoff import events as ev
from handoff.contracts import Artifact, Finding, Member, Plan, PlanChange, Result, Subtask, Terms, Usage
from handoff.effects import (
    Effect,
    MakePlan,
    PostMessage,
    RecordDeadline,
    ReportCrewOutcome,
    RevisePlan,
    RunSubtask,
    VerifyAnswer,
    WriteAnswer,
    make_card_key,
    make_file_key,
    make_question_key,
)
from handoff.engine.answer import list_answer_gaps, render_contents
from handoff.engine.crew_runs import is_answer_unchanged, make_crew_outcome, prefix_plan_ids
from handoff.engine.engine import apply_event
from handoff.evidence.work_receipts import list_unsourced_statements
from handoff.state.job_state import SETTLED_STATES, Job
from tests.handoff.kit import (
    R,
    ask,
    effects,
    job,
    level,
    make_escalation_event,
    make_failure_event,
    make_plan_event,
    make_request_event,
    make_start_event,
    make_subtask_handoff,
    require,
    running,
)

CREW = Terms(job_seconds=100.0, subtask_seconds=40.0, confidence=50)
MEMBERS = (Member(name="analyst"), Member(name="legal", fallback="analyst", crew=CREW))
INNER = (Member(name="legal/reader"), Member(name="legal/checker"))


def part(name: str, *after: str, to: str = "analyst", critical: bool = False) -> Subtask:
    return Subtask(id=name, title=f"Part {name}", intent="Do all of it", specialist=to, after=after, critical=critical)


def outer(*subtasks: Subtask, terms: Terms | None = None) -> ev.PlanProposed:
    return make_plan_event(*subtasks, members=MEMBERS, terms=terms or Terms())


def make_crew_start(name: str, attempt: int = 1, at: float = 3.0, who: str = "legal") -> ev.AttemptStarted:
    return make_start_event(name, attempt, at, specialist=who)


def apply_events(state: Job, *events: ev.Event) -> Job:
    for event in events:
        state = apply_event(state, event)
    return state


def within(state: Job, *subtasks: Subtask, at: float = 4.0, strategy: Any = "merge") -> Job:
    """The plan of the crew that is at `law`."""
    plan = prefix_plan_ids(ask(state).subtasks["law"], Plan(goal="g", subtasks=subtasks, strategy=strategy))
    return apply_event(state, ev.PlanProposed(at=at, request=R, within="law", plan=plan, members=INNER))


def finish_subtask(state: Job, name: str, content: str = "", *, at: float = 6.0, **more: Any) -> Job:
    result = Result(summary=f"sum {name}", content=content or f"all of {name}", usage=Usage(calls=1), **more)
    begin = make_crew_start(name, at=at - 1, who=ask(state).subtasks[name].specialist)
    return apply_events(state, begin, ev.ResultReturned(at=at, request=R, subtask=name, attempt=1, result=result))


def fail_subtask(state: Job, name: str, at: float = 6.0) -> Job:
    return apply_events(
        state,
        make_crew_start(name, at=at - 1, who=ask(state).subtasks[name].specialist),
        make_failure_event(name, at=at),
    )


def result_of(state: Job, name: str = "law") -> Result:
    return require(ask(state).subtasks[name].result)


def up(state: Job, at: float = 9.0, name: str = "law") -> Job:
    """What the crew hands up."""
    return apply_event(state, make_crew_outcome(ask(state), ask(state).subtasks[name], at))


def of_kind(state: Job, kind: type[Effect], now: float = 10.0) -> list[Any]:
    return [effect for effect in effects(state, now) if isinstance(effect, kind)]


def at_law(*others: Subtask, critical: bool = False, terms: Terms | None = None) -> Job:
    """`law` is with the crew, which has no plan yet."""
    return job(
        make_request_event(),
        outer(part("law", to="legal", critical=critical), *others, terms=terms),
        make_crew_start("law"),
    )


READ_AND_CHECK = (part("read", to="legal/reader"), part("check", "read", to="legal/checker"))


def test_a_crew_is_asked_to_plan_what_it_is_given() -> None:
    state = job(make_request_event(), outer(part("law", to="legal"), part("sum")))
    (effect,) = of_kind(state, MakePlan)
    assert (effect.within, effect.attempt, effect.faults) == ("law", 1, ())
    assert make_subtask_handoff(state, effect).intent == "Do all of it"
    assert running(state) == [("sum", 1, "analyst")]
    state = apply_event(state, make_crew_start("law"))
    assert of_kind(state, MakePlan) == [effect], "the same work, begun"
    state = apply_event(state, ev.PlanRejected(at=4, request=R, within="law", faults=("too vague",)))
    assert [(one.within, one.faults) for one in of_kind(state, MakePlan)] == [("law", ("too vague",))]


def test_what_is_inside_lies_beside_all_others() -> None:
    state = within(at_law(part("sum", "law")), *READ_AND_CHECK)
    view = ask(state)
    assert list(view.subtasks) == ["law", "sum", "law/read", "law/check"]
    assert [subtask.spec.id for subtask in view.list_subtasks("")] == ["law", "sum"]
    assert [subtask.spec.id for subtask in view.list_subtasks("law")] == ["law/read", "law/check"]
    assert view.subtasks["law/check"].spec.after == ("law/read",)
    assert (level(view, "law"), level(view, "law/read")) == (0, 1)
    assert [one.id for one in require(view.get_run("law").plan).subtasks] == ["law/read", "law/check"]
    assert running(state) == [("law/read", 1, "legal/reader")]
    taken = job(make_request_event(), outer(part("law", to="legal"), part("law/read")), make_crew_start("law"))
    taken = within(taken, part("read", to="legal/reader"))
    assert ask(taken).get_run("law").plan is None
    assert of_kind(taken, MakePlan)[0].faults == ("The ids law/read are taken; choose others.",)


def test_those_inside_work_under_the_terms_of_their_own_crew_and_within_the_deadline_around_it() -> None:
    state = within(at_law(), *READ_AND_CHECK)
    (effect,) = of_kind(state, RunSubtask)
    assert make_subtask_handoff(state, effect).constraints.timeout == effect.timeout == 40.0
    findings = (Finding(message="sure", confidence=80), Finding(message="unsure", confidence=40))
    state = finish_subtask(state, "law/read", "sure and unsure", findings=findings)
    inner = ask(state).get_run("law")
    assert inner.terms.confidence == 50
    assert render_contents(ask(state), inner)[0]["law/read"].endswith("_Less sure: “unsure”_")
    state = within(at_law(terms=Terms(job_seconds=30.0)), *READ_AND_CHECK)
    (effect,) = of_kind(state, RunSubtask)
    assert make_subtask_handoff(state, effect).constraints.timeout == effect.timeout <= 30.0
    assert ask(state).get_run("law").deadline == 33.0


def test_one_result_inside_stands_as_it_is() -> None:
    files = (Artifact(id="f", name="f.md", publish_as="file"),)
    state = finish_subtask(
        within(at_law(part("sum")), part("read", to="legal/reader")), "law/read", "# All", artifacts=files
    )
    assert of_kind(state, ReportCrewOutcome) == [ReportCrewOutcome(R, "law", 1)]
    assert of_kind(state, PostMessage) == [PostMessage(R, make_card_key(R))], (
        "its file goes out with the result of what it is inside"
    )
    state = up(state)
    result = result_of(state)
    assert (result.content, result.artifacts, result.usage) == ("# All", files, Usage())
    assert PostMessage(R, make_file_key(R, "f")) in of_kind(state, PostMessage)
    assert ask(state).usage.calls == 1, "counted once"


def test_several_are_put_together_inside() -> None:
    state = finish_subtask(within(at_law(part("sum")), *READ_AND_CHECK), "law/read", confidence=90, gaps=("page 3",))
    state = finish_subtask(state, "law/check", confidence=60, evidence=("4,200",))
    assert of_kind(state, WriteAnswer) == [WriteAnswer(R, within="law")]
    written = ev.AnswerWritten(at=8, request=R, within="law", text="Together: 4,200.", usage=Usage(calls=1))
    state = apply_event(state, written)
    assert ask(state).run.answer is None
    assert of_kind(state, ReportCrewOutcome) == [ReportCrewOutcome(R, "law", 1)]
    state = up(state)
    result = result_of(state)
    assert (result.content, result.confidence, result.evidence) == ("Together: 4,200.", 60, ("4,200",))
    assert result.summary == "Part read: sum law/read\nPart check: sum law/check"
    both = ask(finish_subtask(state, "sum"))
    assert list_answer_gaps(both, both.run) == ("Part law: Part read: page 3",)
    assert (ask(state).usage.calls, ask(state).subtasks["law"].usage.calls) == (3, 3), "what it took in all"


def test_what_a_crew_keeps_apart_or_has_joined_goes_up_no_other_way() -> None:
    crew = CREW.model_copy(update={"unsure": "apart"})
    members = (MEMBERS[0], MEMBERS[1].model_copy(update={"crew": crew}))
    plan = make_plan_event(part("law", to="legal"), part("sum"), members=members)
    parts = (part("read", to="legal/reader"), part("check", to="legal/checker"))
    state = within(job(make_request_event(), plan, make_crew_start("law")), *parts)
    deposit = Finding(message="The deposit is kept.", where="a.py:3", severity="low", confidence=90)
    worse = Finding(message="Cents of the deposit are lost.", where="a.py:3", severity="high", confidence=70)
    guess = Finding(message="Somebody may mind.", where="a.py:9", severity="critical", confidence=30)
    state = finish_subtask(finish_subtask(state, "law/read", findings=(deposit, guess)), "law/check", findings=(worse,))
    cut = apply_event(state, ev.DeadlineReached(at=103.0, request=R, subtask="law"))
    for end in (cut, up(apply_event(state, ev.AnswerWritten(at=8, request=R, within="law", text="One.")))):
        [one] = result_of(end).findings
        assert (one.severity, one.confidence) == ("high", 90)
        assert one.message == "Cents of the deposit are lost. / The deposit is kept."
        assert "Somebody may mind" not in result_of(end).content


def test_a_crews_figures_of_no_source_are_told_to_people() -> None:
    text = "Late (reader, 92). It took 45 days."
    for others in ((part("sum"),), ()):
        state = within(at_law(*others), *READ_AND_CHECK)
        state = finish_subtask(state, "law/read", findings=(Finding(message="Late.", confidence=92),))
        state = finish_subtask(state, "law/check", confidence=80)
        of: dict[str, Any] = {"at": 8, "request": R, "within": "law", "text": text, "unsupported": ("45",)}
        state = apply_event(state, ev.AnswerWritten(**of))
        event = make_crew_outcome(ask(state), ask(state).subtasks["law"], 9.0)
        assert isinstance(event, ev.ResultReturned)
        assert event.result.unsupported == ("45",)
    last = require(apply_event(up(state), ev.AnswerVerified(at=20.0, request=R)).current_request)
    assert list_unsourced_statements(last) == ("45",), "people are told of it"


@pytest.mark.parametrize(("others", "is_read"), [((), True), ((part("sum"),), False)])
def test_people_read_what_a_crew_writes_where_nothing_is_joined_with_it(
    others: tuple[Subtask, ...], *, is_read: bool
) -> None:
    state = finish_subtask(within(at_law(*others), *READ_AND_CHECK), "law/read")
    assert is_answer_unchanged(ask(state), ask(state).get_run("law")) is is_read
    assert is_answer_unchanged(ask(state), ask(state).run)


def test_the_one_that_was_picked_goes_up_alone() -> None:
    state = within(at_law(), part("a", to="legal/reader"), part("b", to="legal/checker"), strategy="select")
    rival = (Finding(message="It is 3.", source="b.md"),)
    state = finish_subtask(
        finish_subtask(state, "law/a", "It is 4.", confidence=70), "law/b", "It is 3.", confidence=90, findings=rival
    )
    state = apply_event(
        state, ev.AnswerWritten(at=8, request=R, within="law", text="It is 4.", chosen="law/a", why="w")
    )
    assert (result_of(up(state)).confidence, result_of(up(state)).findings) == (70, ())


def sent_back(state: Job, fault: str) -> Job:
    """The crew at `law` hands up its result, and a check finds a fault in it."""
    event = make_crew_outcome(ask(state), ask(state).subtasks["law"], 10.0)
    assert isinstance(event, ev.ResultReturned)
    return apply_event(state, event.model_copy(update={"faults": (fault,)}))


def test_the_result_of_a_crew_is_checked_as_any_other() -> None:
    state = sent_back(finish_subtask(within(at_law(), part("read", to="legal/reader")), "law/read"), "“x”: wrong")
    (effect,) = of_kind(state, MakePlan)
    assert (effect.within, effect.attempt) == ("law", 2)
    assert "“x”: wrong" in make_subtask_handoff(state, effect).context[-1].text
    state = within(apply_event(state, make_crew_start("law", 2, at=11)), part("read", to="legal/reader"), at=12)
    assert list(ask(state).subtasks) == ["law", "law/read~2"], "no message of the first is taken for one of the second"


def test_what_wrote_inside_an_attempt_is_known_to_the_next() -> None:
    state = within(at_law(critical=True), part("read", to="legal/reader"))
    of: dict[str, Any] = {"at": 5, "request": R, "subtask": "law/read", "attempt": 1}
    wrote = ev.ToolStarted(**of, call="c", tool="post", what="Post it", digest="d")
    replied = ev.ToolReturned(**of, reply={"call_id": "c", "text": "ok"})
    came = ev.ResultReturned(**{**of, "at": 6}, result=Result(summary="s", content="c"))
    state = sent_back(
        apply_events(state, make_crew_start("law/read", who="legal/reader"), wrote, replied, came), "wrong"
    )
    state = within(apply_event(state, make_crew_start("law", 2, at=11)), part("read", to="legal/reader"), at=12)
    (effect,) = of_kind(state, RunSubtask)
    assert "- carried out: Post it" in make_subtask_handoff(state, effect).context[-1].text


def test_where_all_inside_failed_the_ladder_outside_follows() -> None:
    state = fail_subtask(within(at_law(part("sum", "law")), *READ_AND_CHECK), "law/read")
    assert ask(state).subtasks["law/check"].state == "skipped", "the cascade inside"
    assert of_kind(state, ReportCrewOutcome) == [ReportCrewOutcome(R, "law", 1)]
    event = make_crew_outcome(ask(state), ask(state).subtasks["law"], 9.0)
    assert isinstance(event, ev.AttemptFailed)
    assert (event.kind, event.subtask, event.message, event.took) == ("crew", "law", "Part read: the model broke", 6.0)
    state = apply_event(state, event)
    assert running(state) == [("law", 2, "analyst")]
    assert not of_kind(state, ReportCrewOutcome)
    state = apply_events(state, make_crew_start("law", 2, who="analyst"), make_failure_event("law", 2, at=12))
    assert {name: subtask.state for name, subtask in ask(state).subtasks.items()} == {"law": "error", "sum": "skipped"}
    assert ask(state).run.failure is not None


def test_of_a_critical_part_people_are_asked_before_it_is_given_up() -> None:
    members = (Member(name="legal", crew=CREW),)
    proposed = make_plan_event(part("law", to="legal", critical=True), members=members)
    state = up(
        fail_subtask(
            within(job(make_request_event(), proposed, make_crew_start("law")), part("read", to="legal/reader")),
            "law/read",
        )
    )
    while not (question := ask(state).subtasks["law"].question):
        (effect,) = [one for one in effects(state) if not isinstance(one, PostMessage)]
        of = {"at": 10.0, "request": R, "subtask": "law"}
        state = apply_event(
            state, ev.PlanRevised.model_validate({**of, "faults": ("nothing",), "within": effect.within})
        )  # type: ignore[union-attr]
    assert ask(state).subtasks["law"].state == "input_required"
    assert ask(state).state == "input_required"
    assert not of_kind(state, ReportCrewOutcome)
    again = ev.QuestionAnswered(at=30, request=R, subtask="law", user="U1", text=question.options[0])
    assert [(one.within, one.attempt) for one in of_kind(apply_event(state, again), MakePlan, now=31.0)] == [("law", 2)]


def test_what_was_known_outside_is_known_inside() -> None:
    state = finish_subtask(
        job(make_request_event(), outer(part("sum"), part("law", "sum", to="legal"))), "sum", "Sum: 4,200."
    )
    (planning,) = of_kind(state, MakePlan)
    assert [(note.source, note.text) for note in make_subtask_handoff(state, planning).context] == [
        ("Part sum", "Sum: 4,200.")
    ]
    state = within(apply_event(state, make_crew_start("law")), part("read", to="legal/reader"))
    (effect,) = of_kind(state, RunSubtask)
    assert [(note.source, note.text) for note in make_subtask_handoff(state, effect).context] == [
        ("Part sum", "Sum: 4,200.")
    ]


def test_at_the_deadline_of_a_crew_what_it_has_is_taken() -> None:
    state = finish_subtask(within(at_law(part("sum")), *READ_AND_CHECK), "law/read", "Read.")
    assert of_kind(state, RecordDeadline, now=105.0) == [RecordDeadline(R, "law")]
    assert running(state, now=102.0)[0] == ("law/check", 1, "legal/checker")
    state = apply_event(state, ev.DeadlineReached(at=105.0, request=R, subtask="law"))
    subtasks = ask(state).subtasks
    assert (subtasks["law"].state, subtasks["law/check"].state) == ("complete", "skipped")
    assert result_of(state).content == "Read."
    out_of_time = "the time for this part (100 s) ran out"
    assert any(out_of_time in gap for gap in result_of(state).gaps)
    planning = at_law(part("sum"))
    assert of_kind(planning, RecordDeadline, now=103.0) == [RecordDeadline(R, "law")], "it runs while the crew plans"
    law = ask(apply_event(planning, ev.DeadlineReached(at=103.0, request=R, subtask="law"))).subtasks["law"]
    assert (law.state, law.reason) == ("error", out_of_time)


def test_at_the_deadline_of_the_job_what_is_inside_is_not_lost() -> None:
    state = within(at_law(part("sum"), terms=Terms(job_seconds=60.0)), *READ_AND_CHECK)
    state = apply_event(
        finish_subtask(state, "law/read", "Read."), make_crew_start("law/check", who="legal/checker", at=7.0)
    )
    of: dict[str, Any] = {"at": 8.0, "request": R, "subtask": "law/check", "attempt": 1}
    state = apply_event(state, ev.ToolStarted(**of, call="c", tool="post", what="Post it", digest="d"))
    assert of_kind(state, RecordDeadline, now=63.0) == [RecordDeadline(R)]
    state = apply_event(state, ev.DeadlineReached(at=63.0, request=R))
    assert ask(state).subtasks["law"].state == "complete"
    assert ask(state).subtasks["sum"].state == "skipped"
    assert not running(state, now=63.0)
    assert [gap for gap in list_answer_gaps(ask(state), ask(state).run) if "Post it" in gap] == [
        "unknown, please check: Post it"
    ], "named once"


def test_where_people_are_asked_inside_no_clock_runs_around_it() -> None:
    state = within(at_law(), part("read", to="legal/reader"))
    state = apply_event(
        apply_event(state, make_crew_start("law/read", who="legal/reader")),
        make_escalation_event("law/read", "ambiguous_input", at=6),
    )
    assert ask(state).state == "input_required"
    assert (ask(state).run.deadline, ask(state).get_run("law").deadline) == (None, None)
    assert PostMessage(R, make_question_key(R, "law/read", 1)) in effects(state)
    state = apply_event(
        state, ev.QuestionAnswered(at=1006, request=R, subtask="law/read", user="U1", text="this", number=1)
    )
    assert ask(state).subtasks["law"].state == "in_progress"
    assert ask(state).get_run("law").deadline == 3.0 + 100.0 + 1000.0
    assert running(state, now=1007.0) == [("law/read", 2, "legal/reader")]


def test_a_stop_reaches_down() -> None:
    state = within(at_law(), *READ_AND_CHECK)
    state = apply_event(state, ev.CancelRequested(at=5, user="U1"))
    assert not running(state)
    assert apply_event(state, make_crew_start("law/read")).requests[0].subtasks["law/read"].state in {
        "pending",
        "in_progress",
    }
    assert not of_kind(apply_event(state, make_crew_start("law/read")), RunSubtask)


# ---------------------------------------------------------------- a second look at a plan inside


def upset_inside() -> Job:
    """`law/read` says that the plan is wrong; `law/check` has not started."""
    state = within(at_law(part("note"), critical=True), *READ_AND_CHECK, part("sum", to="legal/reader"))
    state = apply_event(state, make_crew_start("law/sum", who="legal/reader"))
    return finish_subtask(state, "law/read", findings=(Finding(message="It is not so.", where="plan"),))


def test_what_a_crew_lets_go_of_ends_with_all_inside() -> None:
    state = upset_inside()
    assert of_kind(state, RevisePlan) == [RevisePlan(R, "law", "law/read")]
    state = apply_event(
        state, ev.AttemptFailed(at=7.0, request=R, subtask="law", attempt=1, kind="crew", message="broke")
    )
    assert not of_kind(state, RevisePlan), "nobody works by that plan any more"
    assert all(subtask.state in SETTLED_STATES for subtask in ask(state).list_subtasks("law"))
    state = within(apply_event(state, make_crew_start("law", attempt=2, at=8.0)), *READ_AND_CHECK, at=9.0)
    assert not of_kind(state, RevisePlan), "the second plan is another one"
    assert {effect.subtask for effect in of_kind(state, RunSubtask)} == {"note", "law/read~2"}


def test_a_look_that_ends_too_late_changes_nothing_and_is_paid_for() -> None:
    state = apply_event(upset_inside(), ev.DeadlineReached(at=7.0, request=R, subtask="law"))
    plan = require(ask(state).get_run("law").plan)
    more = plan.model_copy(update={"subtasks": (*plan.subtasks, part("law/late", to="legal/reader"))})
    changes = (PlanChange(kind="added", subtask="law/late", why="w"),)
    late = ev.PlanRevised(
        at=8.0, request=R, within="law", subtask="law/read", plan=more, changes=changes, usage=Usage(calls=1)
    )
    after = apply_event(state, late)
    assert "law/late" not in ask(after).subtasks
    assert ask(after).usage.calls == ask(state).usage.calls + 1
    assert not of_kind(after, RevisePlan)


def test_a_look_inside_is_paid_for_on_every_level_around() -> None:
    deep = (Member(name="legal/reader"), Member(name="legal/checker", crew=CREW))
    state = apply_event(
        at_law(),
        ev.PlanProposed(
            at=4.0,
            request=R,
            within="law",
            plan=prefix_plan_ids(
                ask(at_law()).subtasks["law"], Plan(goal="g", subtasks=(part("check", to="legal/checker"),))
            ),
            members=deep,
        ),
    )
    state = apply_event(state, make_crew_start("law/check", who="legal/checker"))
    rows = (part("one", to="legal/checker/a"), part("two", "one", to="legal/checker/a"))
    plan = prefix_plan_ids(ask(state).subtasks["law/check"], Plan(goal="g", subtasks=rows))
    crew = (Member(name="legal/checker/a"),)
    state = apply_event(state, ev.PlanProposed(at=5.0, request=R, within="law/check", plan=plan, members=crew))
    state = finish_subtask(state, "law/check/one", findings=(Finding(message="It is not so.", where="plan"),))
    of: dict[str, Any] = {"request": R, "within": "law/check", "subtask": "law/check/one"}
    state = apply_event(state, ev.PlanRevised(at=7.0, **of, faults=("Nothing to change.",), usage=Usage(calls=1)))
    assert [ask(state).usage.calls, *(ask(state).subtasks[name].usage.calls for name in ("law", "law/check"))] == [
        2,
        2,
        2,
    ]


def test_a_bug_in_a_second_look_leaves_the_plan_as_it_was() -> None:
    state = upset_inside()
    bug = EffectBug("a bug", 7.0, ask(state))
    second_look = RevisePlan(R, "law", "law/read")
    kept = find_handler(second_look).make_bug_event(second_look, bug)
    assert isinstance(kept, ev.PlanRevised)
    assert (kept.within, kept.plan, kept.faults) == ("law", None, ("The planner broke (a bug).",))
    writing = WriteAnswer(R, within="law")
    broke = find_handler(writing).make_bug_event(writing, bug)
    assert isinstance(broke, ev.AttemptFailed)
    assert (broke.subtask, broke.attempt, broke.kind) == ("law", 1, "crew")


def test_what_one_crew_alone_made_is_verified_once_outside_of_it() -> None:
    members = (Member(name="legal", crew=CREW.model_copy(update={"verifier": True})),)
    first = make_plan_event(part("law", to="legal"), members=members)
    found = (Finding(message="The fee is 40 euros.", source="fees.md"),)
    state = finish_subtask(
        within(job(make_request_event(), first, make_crew_start("law")), READ_AND_CHECK[0]), "law/read", findings=found
    )
    assert of_kind(state, VerifyAnswer) == []
    state = up(state)
    assert of_kind(state, VerifyAnswer) == [VerifyAnswer(R)]
    assert ask(apply_event(state, ev.AnswerVerified(at=20.0, request=R))).run.answer is not None


@pytest.mark.parametrize("end", [ev.DeadlineReached(at=8.0, request=R), ev.CancelRequested(at=8.0, user="U1")])
def test_what_is_cut_off_is_paid_for_up_to_its_last_turn(end: ev.Event) -> None:
    state = apply_event(within(at_law(), READ_AND_CHECK[0]), make_crew_start("law/read", who="legal/reader"))
    turn = {"text": "", "stop": "end", "usage": {"calls": 1, "tokens_in": 100}}
    for event in [ev.TurnTaken(at=7.0, request=R, subtask="law/read", attempt=1, turn=turn)] * 2 + [end]:
        state = apply_event(state, event)
    view = ask(state)
    assert [one.calls for one in (view.usage, view.subtasks["law"].usage, view.subtasks["law/read"].usage)] == [2, 2, 2]
    assert view.usage.tokens_in == 200
