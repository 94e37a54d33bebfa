"""The engine's rules, one by one: what a fact changes, what is left to do then, and what only opens a thread."""

from __future__ import annotations

import pytest

from handoff import events as ev
from handoff.contracts import Artifact, Result
from handoff.effects import (
    MakePlan,
    OpenThread,
    PostMessage,
    RefineBrief,
    RunSubtask,
    WriteAnswer,
    make_answer_key,
    make_card_end_key,
    make_card_key,
    make_file_key,
    make_question_key,
)
from handoff.engine.answer import list_answer_gaps, list_resultless_subtasks
from handoff.engine.engine import apply_event, fold_log
from handoff.engine.opening_requests import OPENED_ANSWER
from handoff.engine.outstanding_effects import list_outstanding_effects
from handoff.state.job_state import Job
from tests.handoff.kit import (
    RUNNING_LOG,
    R,
    ask,
    effects,
    job,
    make_answer_event,
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


def test_a_request_wants_a_card_and_a_plan_once() -> None:
    state = job(make_request_event())
    assert ask(state).state == "submitted"
    assert effects(state) == [PostMessage(R, make_card_key(R)), MakePlan(R)]
    assert job(make_request_event(), make_request_event()).requests == state.requests


def test_a_refused_request_wants_one_message_only() -> None:
    state = job(make_request_event(refusal="say what you need"))
    assert effects(state) == [PostMessage(R, make_answer_key(R))]
    state = apply_event(state, ev.Posted(at=2, request=R, key=make_answer_key(R), ts="9"))
    assert ask(state).state == "failed"
    assert effects(state) == []


def test_a_subtask_starts_the_moment_its_own_dependencies_end() -> None:
    state = job(
        make_request_event(),
        make_plan_event(subtask("a"), subtask("b"), subtask("c", "a")),
        make_start_event("a"),
        make_start_event("b"),
        make_result_event("a"),
    )
    assert running(state) == [("b", 1, "analyst"), ("c", 1, "analyst")]


def test_a_handoff_carries_direct_dependencies_and_nothing_else() -> None:
    state = job(
        make_request_event(),
        make_plan_event(subtask("a"), subtask("b", "a"), subtask("c", "b")),
        make_start_event("a"),
        make_result_event("a"),
        make_start_event("b"),
        make_result_event("b"),
    )
    effect = to_run(state)
    assert [(note.source, note.text) for note in make_subtask_handoff(state, effect).context] == [
        ("Part b", "all of b")
    ]
    assert make_subtask_handoff(state, effect).to_agent == "analyst"
    assert make_subtask_handoff(state, effect).return_to == "supervisor"


def test_one_subtask_needs_no_synthesis() -> None:
    state = job(*RUNNING_LOG, make_result_event("a"))
    assert ask(state).run.answer == "all of a"
    assert WriteAnswer(R) not in effects(state)


def test_several_results_are_synthesized_once_all_have_ended() -> None:
    state = job(
        make_request_event(),
        make_plan_event(subtask("a"), subtask("b")),
        make_start_event("a"),
        make_start_event("b"),
        make_result_event("a"),
    )
    assert WriteAnswer(R) not in effects(state)
    state = apply_event(state, make_result_event("b"))
    assert WriteAnswer(R) in effects(state)
    assert ask(state).state == "synthesizing"


def test_a_passing_fault_is_tried_again_after_a_wait() -> None:
    state = job(*RUNNING_LOG, make_failure_event("a", at=10.0, transient=True))
    found, due = list_outstanding_effects(state, 10.0)
    assert not any(isinstance(e, RunSubtask) for e in found)
    assert due == 11.0
    assert running(state, 11.0) == [("a", 2, "analyst")]


def test_the_five_task_example_delivers_what_it_can() -> None:
    plan = make_plan_event(
        subtask("t1"), subtask("t2"), subtask("t3", "t1"), subtask("t4", "t2"), subtask("t5", "t3", "t4")
    )
    state = job(
        make_request_event(),
        plan,
        make_start_event("t1"),
        make_start_event("t2"),
        make_failure_event("t1"),
        make_result_event("t2"),
    )
    assert ask(state).subtasks["t3"].state == "skipped"
    state = apply_event(apply_event(state, make_start_event("t4")), make_result_event("t4"))
    effect = to_run(state)
    assert effect.subtask == "t5"
    assert "not available" in make_subtask_handoff(state, effect).context[0].text
    state = apply_event(apply_event(state, make_start_event("t5")), make_result_event("t5"))
    assert WriteAnswer(R) in effects(state)
    assert [work.spec.id for work in list_resultless_subtasks(ask(state), ask(state).run)] == ["t1", "t3"]
    assert any("the model broke" in gap for gap in list_answer_gaps(ask(state), ask(state).run))


def test_an_ambiguity_asks_people_while_siblings_go_on() -> None:
    state = job(
        make_request_event(), make_plan_event(subtask("a"), subtask("b")), make_start_event("a"), make_start_event("b")
    )
    state = apply_event(state, make_escalation_event("a", "ambiguous_input", options=("x", "y")))
    assert PostMessage(R, make_question_key(R, "a", 1)) in effects(state)
    assert running(state) == [("b", 1, "analyst")]
    assert ask(state).state == "working"
    state = apply_event(state, make_result_event("b"))
    assert ask(state).state == "input_required"
    answer = make_answer_event()
    state = apply_event(state, answer)
    effect = to_run(state)
    assert effect.attempt == 2
    assert make_subtask_handoff(state, effect).context[-1].text == "Answered by a person: x"
    assert apply_event(state, answer).requests == state.requests, "an answer to a closed question changes nothing"


CRITICAL = subtask("a", critical=True)
INTENT = ev.ToolStarted(at=4.0, request=R, subtask="a", attempt=1, call="c", tool="post", what="post it", digest="d")
ASKS: dict[str, list[ev.Event]] = {
    "its specialist": [
        make_plan_event(subtask("a")),
        make_start_event("a"),
        make_escalation_event("a", "ambiguous_input", options=("x",)),
    ],
    "the ladder": [make_plan_event(CRITICAL), make_start_event("a"), make_failure_event("a")],
    "the bot, of a call in doubt": [
        make_plan_event(subtask("a")),
        make_start_event("a"),
        INTENT,
        make_failure_event("a"),
    ],
}


@pytest.mark.parametrize("log", ASKS.values(), ids=ASKS)
def test_an_answer_counts_only_from_those_whom_the_question_is_for(log: list[ev.Event]) -> None:
    state = job(make_request_event(), *log)
    question = require(ask(state).subtasks["a"].question)
    assert question.whom == ("U1",), "who made the request"
    for text in ("x", *question.options):
        for number in (0, question.number):
            assert apply_event(state, make_answer_event(text, user="U2", number=number)).requests == state.requests
    after = apply_event(state, make_answer_event())
    assert ask(after).subtasks["a"].question is None
    assert [one.user for one in ask(after).subtasks["a"].question_answers] == ["U1"]


def test_whom_a_question_is_for_is_worked_out_and_not_stored() -> None:
    for log in ASKS.values():
        lines = [ev.dump_event(event) for event in (make_request_event(), *log)]
        assert not any("whom" in line for line in lines)
        assert fold_log(map(ev.load_event, lines)) == job(make_request_event(), *log)


def test_a_partial_result_is_kept_with_its_gap_when_nothing_more_helps() -> None:
    partial = Result(summary="half", content="half of it")
    late = make_escalation_event("a", "timeout", partial_result=partial).model_copy(update={"took": 300.0})
    state = job(*RUNNING_LOG, late)
    assert ask(state).subtasks["a"].state == "complete"
    assert ask(state).run.answer == "half of it"
    assert list_answer_gaps(ask(state), ask(state).run) == ("which one?",)


def test_a_stronger_tier_follows_low_confidence_and_a_brief_that_could_not_be_rewritten() -> None:
    state = job(*RUNNING_LOG, make_escalation_event("a", "confidence_too_low"))
    assert RefineBrief(R, "a", 1) in effects(state)
    assert running(state) == []
    state = apply_event(state, ev.BriefRefined(at=5, request=R, subtask="a", attempt=1))
    effect = to_run(state)
    assert effect.tier == "deep"


def test_a_plan_may_be_mended_once() -> None:
    state = job(make_request_event(), ev.PlanRejected(at=2, request=R, faults=("a cycle",)))
    assert MakePlan(R, ("a cycle",)) in effects(state)
    state = apply_event(state, ev.PlanRejected(at=3, request=R, faults=("still a cycle",)))
    assert ask(state).run.failure is not None
    assert "still a cycle" in ask(state).run.failure.reason


def test_cancelling_leaves_only_the_report_and_a_late_result_changes_nothing_visible() -> None:
    state = job(*RUNNING_LOG, ev.CancelRequested(at=4, user="U1"))
    for seen in (state, apply_event(state, make_result_event("a"))):
        assert (running(seen), ask(seen).run.answer, ask(seen).subtasks["a"].result) == ([], None, None)
        assert PostMessage(R, make_answer_key(R)) in effects(seen)
        assert ask(_apply_posts(seen, make_answer_key(R), make_card_key(R), make_card_end_key(R))).state == "cancelled"


def test_files_come_before_the_answer() -> None:
    chart = Artifact(id="c" * 64, name="chart.png", publish_as="file")
    state = job(*RUNNING_LOG, make_result_event("a", artifacts=(chart,)))
    posts = [e for e in effects(state) if isinstance(e, PostMessage)]
    assert PostMessage(R, make_file_key(R, chart.id)) in posts
    assert PostMessage(R, make_answer_key(R)) not in posts
    state = _apply_posts(state, make_file_key(R, chart.id))
    assert PostMessage(R, make_answer_key(R)) in effects(state)


def test_a_request_ends_when_its_answer_and_last_card_are_seen() -> None:
    state = job(*RUNNING_LOG, make_result_event("a"))
    state = _apply_posts(state, make_card_key(R), make_answer_key(R))
    assert ask(state).state == "synthesizing"
    state = _apply_posts(state, make_card_end_key(R))
    assert ask(state).state == "completed"
    assert effects(state) == []


def test_a_second_mention_waits_its_turn_and_knows_the_first() -> None:
    state = job(
        make_request_event(),
        make_request_event("2.0", at=2.0),
        make_plan_event(subtask("a")),
        make_start_event("a"),
        make_result_event("a"),
    )
    assert state.current_request is not None
    assert state.current_request.id == R
    state = _apply_posts(state, make_card_key(R), make_answer_key(R), make_card_end_key(R))
    assert state.current_request is not None
    assert state.current_request.id == "2.0"
    assert MakePlan("2.0") in effects(state)


def test_an_end_that_people_have_seen_stays_an_end_whatever_policy_is_today() -> None:
    """A ladder of an earlier release gave up here; today's would have the brief rewritten."""
    rows = make_plan_event(subtask("a"), subtask("b", "a"))
    log: list[ev.Event] = [make_request_event(), rows, make_start_event("a"), make_failure_event("a", kind="bad_reply")]
    state = job(*log)
    assert isinstance(effects(state)[-1], RefineBrief)
    state = _apply_posts(state, make_card_key(R), make_answer_key(R), make_card_end_key(R))
    assert ask(state).state == "failed"
    assert state.current_request is None
    assert effects(state) == []
    state = job(
        log[0], make_plan_event(subtask("a"), subtask("b")), *log[2:], make_start_event("b"), make_result_event("b")
    )
    state = _apply_posts(state, make_card_key(R), make_answer_key(R), make_card_end_key(R))
    assert ask(state).is_over, "with a part that came back, too"


def test_an_attempt_that_began_without_the_rung_of_today_is_gone_on_with() -> None:
    state = job(*RUNNING_LOG, make_failure_event("a", kind="bad_reply"), make_start_event("a", attempt=2))
    assert running(state) == [("a", 2, "analyst")], "its brief need not be rewritten first"
    assert not any(isinstance(effect, RefineBrief) for effect in effects(state))


def _apply_posts(state: Job, *keys: str) -> Job:
    for key in keys:
        state = apply_event(
            state, ev.Posted(at=50, request=state.current_request.id if state.current_request else R, key=key, ts="1")
        )
    return state


# ---------------------------------------------------------------- requests that only open a thread


def to_open() -> Job:
    return job(make_request_event(text="the week's figures", opens="schedule"))


def open_thread(**how: object) -> Job:
    return apply_event(to_open(), ev.ThreadOpened.model_validate({"at": 2.0, "request": R, **how}))


def test_it_does_one_thing_and_is_over_with_it() -> None:
    assert effects(to_open()) == [OpenThread(R)]
    state = open_thread(ts="200.1")
    assert (ask(state).state, ask(state).run.answer) == ("completed", OPENED_ANSWER)
    assert ask(state).posted_ids[make_answer_key(R)] == "200.1", "the thread's first message is its visible end"
    assert effects(state) == []


def test_a_thread_that_is_not_opened_is_a_failure_with_its_reason_unless_that_was_wanted() -> None:
    lost = ask(open_thread(why="I am not in #sales"))
    assert lost.state == "failed"
    assert lost.run.failure is not None
    assert lost.run.failure.reason == "I am not in #sales"
    quiet = ask(open_thread(why="nothing is new", quiet=True))
    assert (quiet.state, quiet.run.answer) == ("completed", "nothing is new")
    assert [one.what for one in quiet.decisions if one.why == "nothing is new"] == ["kept quiet"]


def test_a_second_word_on_it_and_one_on_another_request_change_nothing() -> None:
    state = open_thread(ts="200.1")
    assert ask(apply_event(state, ev.ThreadOpened(at=3.0, request=R, why="too late"))) == ask(state)
    other = job(make_request_event(text="why"))
    other = apply_event(other, make_plan_event(subtask("a")))
    assert ask(apply_event(other, ev.ThreadOpened(at=3.0, request=R, ts="200.1"))) == ask(other)
