"""Calls that write and whose end nobody knows: people are asked, and nothing goes on over their heads."""

import pytest

from handoff import events as ev
from handoff.contracts import Usage
from handoff.effects import PostMessage, RunSubtask, make_question_key
from handoff.engine.answer import list_answer_gaps
from handoff.engine.outstanding_effects import list_outstanding_effects
from handoff.engine.unknown_writes import VERDICT_OPTIONS, parse_verdict
from handoff.state.job_state import Job, SubtaskState
from handoff.state.state_values import WriteVerdict
from tests.handoff.kit import (
    RUNNING_LOG,
    R,
    ask,
    job,
    make_escalation_event,
    make_failure_event,
    make_subtask_handoff,
    require,
)

OF = {"request": R, "subtask": "a", "attempt": 1}
TURN = ev.TurnTaken(at=4.0, turn={"text": "", "stop": "tool_use", "usage": {}}, **OF)


def make_call_event(call: str = "c1", at: float = 5.0, attempt: int = 1) -> ev.ToolStarted:
    of = {**OF, "attempt": attempt}
    return ev.ToolStarted(at=at, call=call, tool="post", what=f"post {call}", digest=f"d-{call}", **of)


def make_reply_event(call: str = "c1", *, fails: bool = False) -> ev.ToolReturned:
    return ev.ToolReturned(at=6.0, reply={"call_id": call, "text": "posted", "failed": fails}, **OF)


def make_doubt_event(call: str = "c1", at: float = 10.0) -> ev.ToolInDoubt:
    spent = Usage(calls=1, tokens_in=7)
    return ev.ToolInDoubt(at=at, call=call, tool="post", what=f"post {call}", reason="cut off", usage=spent, **OF)


def make_doubt_answer(text: str, at: float = 110.0, number: int = 1) -> ev.QuestionAnswered:
    return ev.QuestionAnswered(at=at, request=R, subtask="a", user="U1", text=text, number=number)


OPEN = (*RUNNING_LOG, TURN, make_call_event())
DOUBT = (*OPEN, make_doubt_event())


def work(state: Job) -> SubtaskState:
    return ask(state).subtasks["a"]


def running(state: Job) -> list[int]:
    effects, _ = list_outstanding_effects(state, 250.0)
    return [effect.attempt for effect in effects if isinstance(effect, RunSubtask)]


def test_a_doubt_is_asked_about_and_nothing_runs_meanwhile() -> None:
    state = job(*DOUBT)
    assert ask(state).state == "input_required"
    effects, due = list_outstanding_effects(state, 250.0)
    assert (running(state), due) == ([], None)
    assert PostMessage(R, make_question_key(R, "a", 1)) in effects
    asking = require(work(state).question)
    assert (asking.message, asking.options) == ("Was this carried out? post c1", VERDICT_OPTIONS)
    assert work(state).checkpoints == (TURN, make_call_event()), "the attempt can go on from them"


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("It happened", "happened"),
        (" it HAPPENED. ", "happened"),
        ("It did not happen", "not_happened"),
        ("I think it happened", "words"),
        ("no", "words"),
    ],
)
def test_the_same_attempt_goes_on_with_what_a_person_said(text: str, verdict: str) -> None:
    state = job(*DOUBT, make_doubt_answer(text))
    assert running(state) == [1]
    assert work(state).checkpoints[-1] == WriteVerdict(110.0, "c1", verdict, "U1", text)  # type: ignore[arg-type]
    assert work(state).open_intents == ()
    assert work(state).attempt_started == 3.0 + 100.0, "its clock stood still while people were asked"
    assert work(state).unknown_writes == (("post c1",) if verdict == "words" else ())
    assert [(one.question.number, one.user, one.text) for one in work(state).question_answers] == [(1, "U1", text)]
    assert work(state).failures == ()


def test_stopping_ends_the_part_with_a_gap_that_names_the_doubt() -> None:
    state = job(*DOUBT, make_doubt_answer("Stop this part"))
    assert (work(state).state, work(state).reason) == ("error", "stopped by a person")
    assert list_answer_gaps(ask(state), ask(state).run) == (
        "Part a: stopped by a person",
        "unknown, please check: post c1",
    )
    assert ask(state).run.failure is not None
    assert ask(state).usage.tokens_in == 7
    assert running(state) == []


@pytest.mark.parametrize(
    "trouble",
    [
        make_failure_event("a"),
        make_failure_event("a", kind="lost"),
        make_escalation_event("a", "timeout"),
        make_escalation_event("a", "ambiguous_input"),
    ],
)
def test_no_trouble_starts_a_fresh_attempt_over_a_doubt(trouble: ev.Event) -> None:
    state = job(*OPEN, trouble)
    assert (work(state).state, running(state), work(state).failures) == ("input_required", [], ())
    assert require(work(state).question).doubt is not None
    cleared = (*OPEN, trouble, make_doubt_answer("It did not happen"))
    assert running(job(*cleared)) == [1]
    assert running(job(*cleared, make_failure_event("a", at=200.0, transient=True))) == [2]


def test_two_doubts_are_asked_one_after_the_other_and_a_late_click_answers_only_its_own() -> None:
    log = (*OPEN, make_call_event("c2"), make_doubt_event("c1"), make_doubt_answer("It happened"))
    assert running(job(*log)) == [1]
    log = (*log, make_doubt_event("c2", at=120.0))
    second = require(work(job(*log)).question)
    assert second.number == 2
    assert work(job(*log, make_doubt_answer("It did not happen", number=1))).question == second
    assert running(job(*log, make_doubt_answer("It did not happen", number=2))) == [1]


def test_doubts_do_not_use_up_the_questions_of_a_specialist() -> None:
    log: list[ev.Event] = [*OPEN]
    for n in range(1, 6):
        log += [make_doubt_event(f"c{n}"), make_doubt_answer("It happened", number=n), make_call_event(f"c{n + 1}")]
    assert work(job(*log, make_doubt_event("c6"))).state == "input_required"
    log += [make_reply_event("c6"), make_escalation_event("a", "ambiguous_input", options=("x",))]
    state = job(*log)
    assert work(state).question_count == 1
    asking = require(work(state).question)
    assert (asking.number, asking.doubt) == (6, None)


def test_a_doubt_about_a_call_that_has_an_outcome_changes_nothing() -> None:
    assert work(job(*OPEN, make_reply_event(), make_doubt_event())) == work(job(*OPEN, make_reply_event()))
    assert work(job(*OPEN[:-1], make_doubt_event())) == work(job(*OPEN[:-1]))


def test_the_next_attempt_is_told_what_was_written_and_what_may_have_been() -> None:
    log = (
        *OPEN,
        make_reply_event("c1"),
        make_call_event("c2"),
        make_doubt_event("c2"),
        make_doubt_answer("who knows"),
        make_call_event("c3"),
        make_reply_event("c3", fails=True),
    )
    state = job(*log, make_failure_event("a", at=200.0, transient=True))
    (effect,) = [one for one in list_outstanding_effects(state, 250.0)[0] if isinstance(one, RunSubtask)]
    assert effect.attempt == 2
    note = make_subtask_handoff(state, effect).context[-1].text
    assert note == "- carried out: post c1\n- may have been carried out: post c2"
    assert [(one.digest, one.is_confirmed, one.outcome_text) for one in work(state).earlier_writes] == [
        ("d-c1", True, "posted"),
        ("d-c2", False, "who knows"),
    ]
    assert list_answer_gaps(ask(state), ask(state).run) == ("unknown, please check: post c2",)


@pytest.mark.parametrize("log", [OPEN, DOUBT])
def test_a_stop_names_what_may_have_been_carried_out(log: tuple[ev.Event, ...]) -> None:
    state = job(*log, ev.CancelRequested(at=20.0, user="U1"))
    assert ask(state).unknown_writes == ("post c1",)
    assert running(state) == []
    answered = job(*log, ev.CancelRequested(at=20.0, user="U1"), make_doubt_answer("It did not happen"))
    assert ask(answered).unknown_writes == ("post c1",), "an answer that comes too late changes nothing"


def test_only_the_words_of_a_button_count() -> None:
    assert [parse_verdict(option) for option in VERDICT_OPTIONS] == ["happened", "not_happened", "stop"]
    assert parse_verdict("stop") == parse_verdict("") == parse_verdict("It happened, I guess") == "words"
