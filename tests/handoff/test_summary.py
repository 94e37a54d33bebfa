"""The read model: what is told of a job without its log, and the rows of its plan."""

from __future__ import annotations

import json

import pytest

from handoff import events as ev
from handoff.contracts import Artifact, Attachment, Finding, Request, Result
from handoff.engine import outstanding
from handoff.state.job_state import Job
from handoff.state.state_values import may_answer
from handoff.summaries.summary import open_questions, projection, rows, speed_up, step
from handoff.text.reply_text import is_shallow, json_in, replace_surrogates
from tests.handoff.kit import PLACE, R, ask, asked, escalated, failed, job, planned, returned, started, subtask


def posted(key: str, at: float = 9.0) -> ev.Posted:
    return ev.Posted(at=at, request=R, key=f"{R}:{key}", ts="200.1")


def written(text: str = "42") -> ev.AnswerWritten:
    return ev.AnswerWritten(at=8.0, request=R, text=text)


TWO = planned(subtask("a"), subtask("b"))
BROKEN = ev.RequestFailed(at=2.0, request=R, step="planning", reason="x", advice="y")
DONE = (returned("a"), returned("b", at=6.0))


def with_a_file() -> ev.RequestAdded:
    body = Request(id=R, user="U1", text="why", at=1.0, attachments=(Attachment(file_id="F1", name="a.csv"),))
    return ev.RequestAdded(at=1.0, place=PLACE, request=body)


@pytest.mark.parametrize(
    ("log", "words"),
    [
        ((with_a_file(),), "reading the attached files"),
        ((asked(),), "planning"),
        ((asked(), TWO), "Part a (analyst), Part b (analyst)"),
        ((asked(), planned(*map(subtask, "abc"))), "Part a (analyst), Part b (analyst) and 1 more"),
        ((asked(), TWO, started("a")), "Part a (analyst)"),
        ((asked(), TWO, started("a"), started("b"), *DONE), "writing the answer"),
        ((asked(), TWO, started("a"), started("b"), *DONE, written()), "posting the answer"),
        (
            (asked(), ev.RequestFailed(at=2.0, request=R, step="planning", reason="x", advice="y")),
            "saying how it ended",
        ),
        ((asked(), TWO, started("a"), started("b"), *DONE, written(), posted("answer"), posted("card_end")), ""),
    ],
)
def test_each_step_has_its_words(log: tuple[ev.Event, ...], words: str) -> None:
    assert step(ask(job(*log))) == words


def test_a_second_look_at_the_plan_is_told_while_nothing_else_goes_on() -> None:
    found = Result(summary="s", content="c", findings=(Finding(message="no bug here", where="plan"),))
    upset = ev.ResultReturned(at=5.0, request=R, subtask="a", attempt=1, result=found)
    state = job(asked(), planned(subtask("a"), subtask("b", "a")), started("a"), upset)
    assert step(ask(state)) == "taking a second look at the plan"


def test_the_fields_of_a_job_follow_it_to_its_end() -> None:
    log = (asked(), TWO, started("a"), started("b"), *DONE)
    assert (projection(job(*log[:1]))["state"], projection(job(*log[:1]))["title"]) == (
        "submitted",
        "why did churn rise",
    )
    fields = projection(job(*log))
    assert (fields["state"], fields["title"], fields["in_part"]) == ("synthesizing", "Find out", "")
    ended = projection(job(*log, written(), posted("answer"), posted("card_end")))
    assert (ended["state"], ended["step"], ended["in_part"], ended["questions"]) == ("completed", "", "", "")


def test_an_answer_with_gaps_is_told_as_one_in_part() -> None:
    lost = failed("b", kind="unavailable")
    state = job(asked(), TWO, started("a"), started("b"), returned("a"), lost, written())
    assert projection(state)["in_part"] == "1"


def waiting() -> Job:
    return job(asked(), TWO, started("a"), escalated("a", "ambiguous_input"))


def test_open_questions_are_told_with_whom_they_are_for() -> None:
    (question,) = open_questions(projection(waiting()))
    assert (question.request, question.subtask, question.number, question.whom) == (R, "a", 1, ("U1",))
    assert question.may_answer("U1")
    assert not question.may_answer("U2")
    assert may_answer((), "U2"), "a question that names nobody is for anybody in the thread"


def test_questions_as_an_earlier_release_wrote_them_are_for_the_one_it_named() -> None:
    old = [{"request": R, "subtask": "a", "number": 1, "user": "U7"}]
    (question,) = open_questions({"questions": json.dumps(old)})
    assert question.may_answer("U7")
    assert not question.may_answer("U1")
    assert open_questions({}) == open_questions({"questions": ""}) == ()


def test_the_gain_of_working_side_by_side() -> None:
    alone = job(asked(), planned(subtask("a")), started("a"), returned("a"))
    assert speed_up(ask(alone)) == 1.0
    both = job(asked(), TWO, started("a", at=3.0), started("b", at=3.0), returned("a", at=7.0), returned("b", at=7.0))
    assert speed_up(ask(both)) == 2.0


def test_rows_are_the_subtasks_in_the_plans_order() -> None:
    assert [work.subtask.id for work in rows(ask(job(asked(), TWO, started("b"))))] == ["a", "b"]


def test_what_is_made_is_posted_before_the_answer() -> None:
    chart = Artifact(id="c" * 64, name="chart.png", publish_as="file")
    state = job(asked(), planned(subtask("a")), started("a"), returned("a", artifacts=(chart,)))
    keys = [effect.key for effect in outstanding.outstanding(state, 9.0)[0] if hasattr(effect, "key")]
    assert f"{R}:file:{'c' * 16}" in keys
    assert f"{R}:answer" not in keys


def test_what_a_model_replies_is_read_as_leniently_as_can_be() -> None:
    assert json_in('Here: ```json\n{"a": 1}\n```') == '{"a": 1}'
    assert json_in("nothing") == ""
    half = {"a\ud83d": ["b\ude00", 1, None]}
    assert replace_surrogates(half) == {"a\ufffd": ["b\ufffd", 1, None]}
    assert is_shallow({"a": [1]}, 2)
    assert not is_shallow({"a": [1]}, 1)
