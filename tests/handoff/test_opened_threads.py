"""A request that only opens a thread: a schedule's run, or what was typed as a command."""

from __future__ import annotations

from handoff import events as ev
from handoff.contracts import Request
from handoff.effects import OpenThread, answer_key
from handoff.engine.engine import apply
from handoff.engine.opening import OPENED
from handoff.state.job_state import Job
from tests.handoff.kit import PLACE, R, ask, effects, job, planned, subtask


def to_open() -> Job:
    body = Request(id=R, user="U1", text="the week's figures", at=1.0, opens="schedule")
    return job(ev.RequestAdded(at=1.0, place=PLACE, request=body))


def opened(**how: object) -> Job:
    return apply(to_open(), ev.ThreadOpened.model_validate({"at": 2.0, "request": R, **how}))


def test_it_does_one_thing_and_is_over_with_it() -> None:
    assert effects(to_open()) == [OpenThread(R)]
    state = opened(ts="200.1")
    assert (ask(state).state, ask(state).run.answer) == ("completed", OPENED)
    assert ask(state).posted[answer_key(R)] == "200.1", "the thread's first message is its visible end"
    assert effects(state) == []


def test_a_thread_that_is_not_opened_is_a_failure_with_its_reason_unless_that_was_wanted() -> None:
    lost = ask(opened(why="I am not in #sales"))
    assert lost.state == "failed"
    assert lost.run.failure is not None
    assert lost.run.failure.reason == "I am not in #sales"
    quiet = ask(opened(why="nothing is new", quiet=True))
    assert (quiet.state, quiet.run.answer) == ("completed", "nothing is new")
    assert [one.what for one in quiet.decisions if one.why == "nothing is new"] == ["kept quiet"]


def test_a_second_word_on_it_and_one_on_another_request_change_nothing() -> None:
    state = opened(ts="200.1")
    assert ask(apply(state, ev.ThreadOpened(at=3.0, request=R, why="too late"))) == ask(state)
    other = job(ev.RequestAdded(at=1.0, place=PLACE, request=Request(id=R, user="U1", text="why", at=1.0)))
    other = apply(other, planned(subtask("a")))
    assert ask(apply(other, ev.ThreadOpened(at=3.0, request=R, ts="200.1"))) == ask(other)
