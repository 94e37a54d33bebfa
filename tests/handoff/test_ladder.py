"""The ladder, results that are sent back, and the deadlines: what each table says, and that nothing climbs for ever."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handoff import events as ev
from handoff.briefs.handoff_builder import join_subtask_sources
from handoff.contracts import Member, Result, Terms
from handoff.effects import RecordDeadline, RefineBrief, RunSubtask, VerifyAnswer, WriteAnswer
from handoff.engine.answer import MIN_CALL_SECONDS, compute_call_seconds, list_answer_gaps, list_resultless_subtasks
from handoff.engine.engine import apply_event
from handoff.engine.ladder import (
    LADDER,
    MAX_FAILURES,
    MAX_QUESTIONS,
    MIN_ATTEMPT_SECONDS,
    RECOVERY_STEPS,
    RETRY_DELAY_SECONDS,
    FailureSituation,
    choose_recovery_step,
)
from handoff.engine.outstanding_effects import CUTOFF_DELAY_SECONDS, list_outstanding_effects
from handoff.engine.returned_results import MAX_FAULTY_RESULTS
from handoff.state.job_state import Job
from handoff.state.state_values import FailureCause, RecoveryStep
from tests.handoff.kit import (
    RUNNING_LOG,
    R,
    ask,
    effects,
    job,
    make_escalation_event,
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

TROUBLES: tuple[FailureCause, ...] = tuple(LADDER)
HERE = FailureSituation("researcher", "balanced", fallback="analyst")
TERMS = Terms(job_seconds=600, subtask_seconds=60, confidence=80)


def under(*log: ev.Event, terms: Terms = TERMS) -> Job:
    return job(*(e.model_copy(update={"terms": terms}) if isinstance(e, ev.PlanProposed) else e for e in log))


def make_faulty_result(*faults: str, attempt: int = 1, **more: object) -> ev.ResultReturned:
    of = {"at": 5.0, "request": R, "subtask": "a", "attempt": attempt, "faults": faults}
    return ev.ResultReturned.model_validate({**of, "result": Result(summary="s", content=f"try {attempt}"), **more})


# ---------------------------------------------------------------- the tables


def test_every_trouble_has_its_rungs_and_every_rung_its_cost() -> None:
    literals = {kind for part in get_args(FailureCause) for kind in get_args(part) or (part,)}
    assert set(LADDER) == literals
    assert {rung for rungs in LADDER.values() for rung in rungs} <= set(RECOVERY_STEPS) == set(get_args(RecoveryStep))
    assert all(rungs[-1] == "without" for rungs in LADDER.values())
    cost = [
        (RECOVERY_STEPS[rung].model_calls, RECOVERY_STEPS[rung].attempts) for rung in ("retry", "refine", "without")
    ]
    assert cost == [(0, 1), (1, 1), (0, 0)]


@pytest.mark.parametrize(
    ("trouble", "rungs"),
    [
        ("passing", ["retry", "fallback", "without"]),
        ("lost", ["retry", "retry", "without"]),
        ("bad_reply", ["refine", "stronger", "without"]),
        ("confidence_too_low", ["refine", "stronger", "without"]),
        ("model", ["fallback", "without"]),
        ("unavailable", ["fallback", "without"]),
        ("timeout", ["fallback", "without"]),
        ("ambiguous_input", ["ask", "ask", "ask", "without"]),
    ],
)
def test_the_rungs_are_climbed_in_order(trouble: FailureCause, rungs: list[RecoveryStep]) -> None:
    assert climb_ladder(trouble, HERE) == rungs


@pytest.mark.parametrize(
    ("trouble", "fallback", "rungs"),
    [
        ("out_of_scope", "analyst", ["fallback", "replan", "without"]),
        ("out_of_scope", "", ["replan", "without"]),
        ("tool", "", ["replan", "without"]),
        ("bad_reply", "", ["refine", "stronger", "without"]),
        ("model", "", ["without"]),
    ],
)
def test_the_planner_is_asked_once_where_another_plan_may_help(
    trouble: FailureCause, fallback: str, rungs: list[RecoveryStep]
) -> None:
    assert (
        climb_ladder(trouble, FailureSituation("researcher", "balanced", fallback=fallback, may_replan=True)) == rungs
    )
    never = climb_ladder(trouble, FailureSituation("researcher", "balanced", fallback=fallback))
    assert never == [rung for rung in rungs if rung != "replan"]


def climb_ladder(trouble: FailureCause, at: FailureSituation) -> list[RecoveryStep]:
    found: list[RecoveryStep] = []
    failures = questions = 0
    while not found or found[-1] != "without":
        failures += trouble != "ambiguous_input"
        now = replace(at, failure_count=failures, question_count=questions, steps_taken=tuple(found))
        found.append(choose_recovery_step(trouble, now).step)
        questions += found[-1] == "ask"
        # Which has none of its own.
        at = replace(at, tried_specialists=(at.fallback,)) if found[-1] == "fallback" else at
        assert len(found) <= MAX_FAILURES + MAX_QUESTIONS + 1
    return found


@pytest.mark.parametrize(
    ("trouble", "at", "rung", "delay"),
    [
        ("passing", {}, "retry", RETRY_DELAY_SECONDS[0]),
        ("passing", {"pause_seconds": 20.0}, "retry", 20.0),
        ("passing", {"pause_seconds": 20.0, "seconds_left": 15.0}, "without", 0.0),
        ("passing", {"steps_taken": ("retry",), "fallback": "b"}, "fallback", RETRY_DELAY_SECONDS[1]),
        (
            "passing",
            {"failure_count": 2, "steps_taken": ("retry",), "fallback": "b", "pause_seconds": 20.0},
            "fallback",
            20.0,
        ),
        (
            "passing",
            {
                "failure_count": 2,
                "steps_taken": ("retry",),
                "fallback": "b",
                "pause_seconds": 20.0,
                "seconds_left": 15.0,
            },
            "without",
            0.0,
        ),
        ("unavailable", {"fallback": "b", "pause_seconds": 20.0}, "fallback", 0.0),  # only a is out
    ],
)
def test_a_pause_that_was_asked_for_is_kept_by_whoever_goes_on_within_the_deadline(
    trouble: FailureCause, at: dict[str, Any], rung: RecoveryStep, delay: float
) -> None:
    following = choose_recovery_step(trouble, FailureSituation("a", "fast", **at))
    assert (following.step, following.delay_seconds) == (rung, delay)
    assert following.specialist == ("b" if rung == "fallback" else "a")


def test_whoever_steps_in_works_on_a_tier_of_its_own_unless_the_plan_says_which() -> None:
    members = (Member(name="analyst", fallback="deep_one"), Member(name="deep_one", tier="deep"))
    for tier, expected in ((None, "deep"), ("fast", "fast")):
        plan = make_plan_event(subtask("a", tier=tier), members=members)
        begun = make_start_event("a", tier=tier or "balanced")
        state = job(make_request_event(), plan, begun, make_failure_event("a"))
        work = ask(state).subtasks["a"]
        assert (work.specialist, work.tier) == ("deep_one", expected)


CHAIN = tuple(Member(name=name, fallback=other) for name, other in (("x", "y"), ("y", "z"), ("z", "")))


def passed_on(*members: Member) -> list[str]:
    """Who has the subtask of x after each failure that only a fallback can help."""
    log: list[ev.Event] = [make_request_event(), make_plan_event(subtask("a", specialist="x"), members=members)]
    had = []
    for attempt in range(1, MAX_FAILURES + 1):
        work = ask(job(*log)).subtasks["a"]
        if work.state != "pending":
            break
        had.append(work.specialist)
        log += [make_start_event("a", attempt, specialist=work.specialist), make_failure_event("a", attempt)]
    assert ask(job(*log)).subtasks["a"].state == "error"
    return had


def test_a_fallback_has_one_of_its_own_and_the_chain_never_goes_back_nor_beyond_three() -> None:
    assert passed_on(*CHAIN) == ["x", "y", "z"]
    there_and_back = (Member(name="x", fallback="y"), Member(name="y", fallback="x"))
    assert passed_on(*there_and_back) == ["x", "y"], "as a plan may name made ones: a crew's files may not"
    longer = (*CHAIN[:2], Member(name="z", fallback="w"), Member(name="w"))
    assert passed_on(*longer) == ["x", "y", "z"]


STANDINGS = st.builds(
    FailureSituation,
    specialist=st.just("a"),
    tier=st.sampled_from(["fast", "balanced", "deep"]),
    failure_count=st.integers(1, 6),
    failed_calls=st.integers(0, 6),
    question_count=st.integers(0, 5),
    steps_taken=st.lists(st.sampled_from(list(RECOVERY_STEPS)), max_size=6).map(tuple),
    fallback=st.sampled_from(["", "a", "b"]),
    tried_specialists=st.lists(st.sampled_from(["a", "b", "c"]), max_size=3).map(tuple),
    is_critical=st.booleans(),
    seconds_left=st.floats(0, 400),
    pause_seconds=st.floats(0, 400),
    may_replan=st.booleans(),
)


@given(trouble=st.sampled_from(TROUBLES), at=STANDINGS)
@settings(max_examples=120, deadline=None)
def test_no_rung_is_taken_that_cannot_be(trouble: FailureCause, at: FailureSituation) -> None:
    following = choose_recovery_step(trouble, at)
    assert following.step in LADDER[trouble]
    assert following.delay_seconds < max(at.seconds_left, 0.001)
    if at.failure_count >= MAX_FAILURES or at.failed_calls >= MAX_FAILURES:
        assert following.step == "without" or trouble == "ambiguous_input"
    assert following.step != "replan" or at.may_replan
    if following.step == "fallback":
        assert following.specialist == at.fallback != at.specialist
        assert following.specialist not in at.tried_specialists
    if following.step == "ask":
        assert at.question_count < MAX_QUESTIONS


def test_a_doubt_stands_in_the_trace_and_sends_nothing_back() -> None:
    state = job(*RUNNING_LOG, make_faulty_result(doubts=("is it?",)))
    assert ask(state).run.answer == "try 1"
    assert [(one.what, one.why) for one in ask(state).decisions] == [("accepted in doubt", "is it?")]


def test_what_is_wrong_is_quoted_to_the_specialist_and_the_rest_is_capped() -> None:
    state = job(*RUNNING_LOG)
    for attempt in range(1, MAX_FAULTY_RESULTS):
        state = apply_event(state, make_faulty_result(f"“try {attempt}”: no", attempt=attempt))
        notes = {note.source: note.text for note in make_subtask_handoff(state, to_run(state)).context}
        assert notes["Your earlier result"] == f"try {attempt}"
        assert f"- “try {attempt}”: no" in notes.values()
        state = apply_event(state, make_start_event("a", attempt + 1))
    state = apply_event(state, make_faulty_result("“try 3”: still no", attempt=MAX_FAULTY_RESULTS))
    assert ask(state).run.answer == "try 3"
    assert list_answer_gaps(ask(state), ask(state).run) == ("not mended: “try 3”: still no",)
    assert "after 3 rounds" in ask(state).decisions[-1].why


def test_the_best_of_the_rounds_is_taken_also_where_the_last_attempt_fails() -> None:
    state = job(*RUNNING_LOG, make_faulty_result("“try 1”: no"))
    state = apply_event(
        apply_event(state, make_start_event("a", 2)), make_faulty_result("“try 2”: no", "and that", attempt=2)
    )
    state = apply_event(apply_event(state, make_start_event("a", 3)), make_failure_event("a", 3))
    assert ask(state).run.answer == "try 1"
    assert list_answer_gaps(ask(state), ask(state).run) == ("not mended: “try 1”: no", "the model broke")


WORDS = Result(summary="s", content="I will look.", confidence=50, doubts=("It was given in plain words.",))


def test_words_that_are_found_wanting_are_a_failed_attempt_and_never_the_best_of_the_rounds() -> None:
    state = job(*RUNNING_LOG, make_faulty_result("“I will look.”: nothing was done", result=WORDS))
    assert [one.what for one in ask(state).decisions] == ["sent back", "refine"]
    state = apply_event(state, ev.BriefRefined(at=7, request=R, subtask="a", attempt=1, intent=""))
    for attempt in (2, 3):
        wrong = make_faulty_result("“I will look.”: nothing was done", attempt=attempt, result=WORDS)
        state = apply_event(apply_event(state, make_start_event("a", attempt)), wrong)
    work = ask(state).subtasks["a"]
    assert (work.state, work.result, work.best_candidate) == ("error", None, None)
    assert work.reason == "“I will look.”: nothing was done"
    assert not ask(state).run.answer


def test_words_without_a_fault_are_a_result_that_the_verifier_reads() -> None:
    state = job(*RUNNING_LOG, make_faulty_result(result=WORDS))
    assert ask(state).run.draft == "I will look."
    assert VerifyAnswer(R) in effects(state)


# ---------------------------------------------------------------- refining


def test_a_rewritten_brief_is_the_next_attempts() -> None:
    state = job(*RUNNING_LOG, make_failure_event("a", kind="bad_reply"))
    assert next(e for e in effects(state) if isinstance(e, RefineBrief)).error == "the model broke"
    state = apply_event(state, ev.BriefRefined(at=6, request=R, subtask="a", attempt=1, intent="Do half of it"))
    effect = to_run(state)
    assert (effect.attempt, effect.tier, make_subtask_handoff(state, effect).intent) == (2, "balanced", "Do half of it")
    state = apply_event(apply_event(state, make_start_event("a", 2)), make_failure_event("a", 2, kind="bad_reply"))
    effect = to_run(state)
    assert effect.tier == "deep", "a brief is rewritten once"


def test_a_person_is_asked_of_a_critical_part_and_may_let_it_go() -> None:
    plan = make_plan_event(subtask("a", critical=True), subtask("b"))
    state = job(make_request_event(), plan, make_start_event("a"), make_failure_event("a"))
    question = require(ask(state).subtasks["a"].question)
    assert "the model broke" in question.message
    once = ev.QuestionAnswered(at=9, request=R, subtask="a", user="U1", text=question.options[0])
    assert ("a", 2, "analyst") in running(apply_event(state, once))
    state = apply_event(state, ev.QuestionAnswered(at=9, request=R, subtask="a", user="U1", text=question.options[1]))
    assert ask(state).subtasks["a"].state == "error"


# ---------------------------------------------------------------- deadlines


def test_all_attempts_share_the_deadline_of_their_subtask() -> None:
    state = under(*RUNNING_LOG, make_failure_event("a", transient=True, took=45.0))
    effect = to_run(state)
    assert make_subtask_handoff(state, effect).constraints.timeout == effect.timeout == 14.0, (
        "the pause before it counts too"
    )
    assert make_subtask_handoff(state, effect).constraints.failed_calls == 2
    state = apply_event(
        apply_event(state, make_start_event("a", 2)), make_failure_event("a", 2, transient=True, took=13.5)
    )
    assert ask(state).subtasks["a"].state == "error", "no time is left for a third"


@given(st.lists(st.tuples(st.floats(0, 59), st.floats(0, 90)), min_size=MAX_FAILURES, max_size=MAX_FAILURES))
def test_pauses_that_a_provider_asks_for_never_exceed_the_deadline(turns: list[tuple[float, float]]) -> None:
    state, at = under(make_request_event(), make_plan_event(subtask("a"))), 10.0
    for attempt, (takes, pause) in enumerate(turns, 1):
        work = ask(state).subtasks["a"]
        if work.state != "pending":
            break
        at = max(at, work.not_before)
        (effect,) = [e for e in list_outstanding_effects(state, at)[0] if isinstance(e, RunSubtask)]
        took = min(takes, effect.timeout)
        state = apply_event(state, make_start_event("a", attempt, at=at))
        at += took
        state = apply_event(state, make_failure_event("a", attempt, transient=True, at=at, took=took, pause=pause))
    assert ask(state).subtasks["a"].state == "error"
    assert at <= 10.0 + 60.0 + MIN_ATTEMPT_SECONDS


def test_what_an_attempt_had_when_its_call_failed_is_not_thrown_away() -> None:
    half = Result(summary="Half of it", content="19 of them.", confidence=0)
    work = ask(under(*RUNNING_LOG, make_failure_event("a", partial=half))).subtasks["a"]
    assert (work.state, require(work.result).content) == ("complete", "19 of them.")
    assert any("the model broke" in gap for gap in require(work.result).gaps)


def test_an_attempt_that_does_not_end_is_cut_beyond_its_deadline() -> None:
    state = under(
        make_request_event(),
        make_plan_event(subtask("a"), subtask("b")),
        make_start_event("a", at=10.0),
        make_start_event("b", at=60.0),
    )
    found, due = list_outstanding_effects(state, 69.0)
    assert due == 70.0 + CUTOFF_DELAY_SECONDS
    assert RecordDeadline(R, "a") not in found
    assert RecordDeadline(R, "a") in list_outstanding_effects(state, 70.0 + CUTOFF_DELAY_SECONDS)[0]
    state = apply_event(state, ev.DeadlineReached(at=91.0, request=R, subtask="a"))
    assert ask(state).subtasks["a"].state == "error"
    assert running(state, 91.0) == [("b", 1, "analyst")]


def test_at_the_jobs_deadline_the_answer_is_what_is_there() -> None:
    plan = make_plan_event(subtask("a"), subtask("b"), subtask("c", "b"))
    state = under(make_request_event(), plan, make_start_event("a"), make_start_event("b"), make_result_event("a"))
    assert RecordDeadline(R) not in effects(state, 601.0)
    assert RecordDeadline(R) in list_outstanding_effects(state, 602.0)[0]
    state = apply_event(state, ev.DeadlineReached(at=602.0, request=R))
    assert WriteAnswer(R) in effects(state, 602.0)
    lost = [(work.state, "600 s" in work.reason) for work in list_resultless_subtasks(ask(state), ask(state).run)]
    assert lost == [("error", True), ("skipped", True)]
    assert len(list_answer_gaps(ask(state), ask(state).run)) == 2


def test_waiting_for_people_and_being_away_cost_no_time() -> None:
    state = under(*RUNNING_LOG, make_escalation_event("a", "ambiguous_input", at=102.0))
    assert ask(state).run.deadline is None
    state = apply_event(state, ev.QuestionAnswered(at=90_000.0, request=R, subtask="a", user="U1", text="x"))
    assert ask(state).run.deadline == 90_500.0
    state = apply_event(state, ev.WorkResumed(at=99_000.0, away=5_000.0))
    assert ask(state).run.deadline == 95_500.0


def test_a_check_that_a_specialist_stands_against_is_only_a_doubt() -> None:
    wrong = "A tool said “41,207”, and the result says “42,107”."
    again = (make_start_event("a", attempt=2, at=7.0), make_faulty_result(wrong, attempt=2, at=8.0))
    work = ask(under(*RUNNING_LOG, make_faulty_result(wrong), *again)).subtasks["a"]
    assert (work.state, require(work.result).gaps) == ("complete", ())


@pytest.mark.parametrize(
    ("call", "after", "seconds"),
    [(180.0, 0.0, 180.0), (180.0, 500.0, 100.0), (180.0, 599.0, MIN_CALL_SECONDS), (30.0, 900.0, 30.0)],
)
def test_the_writer_gets_little_time_beyond_the_deadline(call: float, after: float, seconds: float) -> None:
    run = ask(
        under(
            make_request_event(),
            make_plan_event(subtask("a"), subtask("b")),
            make_start_event("a"),
            make_result_event("a"),
        )
    ).run
    run = replace(run, terms=run.terms.model_copy(update={"call_seconds": call}))
    assert compute_call_seconds(run, (run.clock_started or 0.0) + after) == seconds


def test_what_a_complaint_quotes_is_not_known_and_what_people_and_results_say_is() -> None:
    doubt = "“4,200” is said by no tool, file or person, and follows from nothing that they say."
    log = (
        make_request_event(),
        make_plan_event(subtask("a"), subtask("b", "a")),
        make_start_event("a"),
        make_result_event("a", evidence=("North | 17",)),
    )
    state = job(*log, make_start_event("b"), make_result_event("b").model_copy(update={"faults": (doubt,)}))
    known = join_subtask_sources(ask(state), ask(state).subtasks["b"])
    for text in ("why did churn rise", "Do the whole of it", "all of a", "sum a", "North | 17"):
        assert text in known
    assert not [text for text in ("4,200", "all of b") if text in known]
