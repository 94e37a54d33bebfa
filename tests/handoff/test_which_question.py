"""Several questions are open: a reply is for the one that it fits, and for none if it could be for two."""

from __future__ import annotations

import pytest

from handoff import events as ev
from handoff.contracts import Plan, Request, Subtask
from handoff.engine import hearing
from handoff.engine.engine import apply
from handoff.state.job_state import Job
from handoff.state.state_values import Heard
from tests.handoff.kit import MEMBERS, R, ask, asked, escalated, job, started

TITLES = {"place": "Find a place", "food": "Order the food", "time": "Set the time"}
OPTIONS = {"place": ["Oslo", "Bergen"], "food": ["Soup", "Fish"], "time": []}


def open_questions(*names: str) -> Job:
    parts = tuple(Subtask(id=name, title=TITLES[name], intent="Do it", specialist="analyst") for name in names)
    plan = ev.PlanProposed(at=2.0, request=R, plan=Plan(goal="Meet", subtasks=parts), members=MEMBERS)
    asks = [escalated(name, "ambiguous_input", message=f"{name}?", options=OPTIONS[name]) for name in names]
    return job(asked(), plan, *(started(name) for name in names), *asks)


def said(state: Job, text: str, user: str = "U1") -> Job:
    message = Request(id="5.0", user=user, text=text, at=6.0)
    return apply(state, ev.MessageHeard(at=6.0, message=message))


def sort(state: Job, aim: ev.Aim = "answer") -> Job:
    return apply(state, ev.MessageSorted(at=7.0, message="5.0", aim=aim))


def heard(state: Job) -> Heard:
    (one,) = state.heard
    return one


@pytest.mark.parametrize(
    ("text", "subtask", "answer"),
    [
        ("Bergen", "place", "Bergen"),
        ("the fish please", "food", "the fish please"),
        ("Food: whatever", "food", "whatever"),
        ("find a place: Trondheim", "place", "Trondheim"),
        ("Set: at nine", "time", "at nine"),
        ("time: 9:30", "time", "9:30"),
    ],
)
def test_a_reply_is_for_the_question_that_it_names_or_whose_answers_it_chooses_from(
    text: str, subtask: str, answer: str
) -> None:
    state = sort(said(open_questions("place", "food", "time"), text))
    assert heard(state).outcome == "taken"
    answered = {name: [one.text for one in work.answered] for name, work in ask(state).work.items() if work.answered}
    assert answered == {subtask: [answer]}


@pytest.mark.parametrize("text", ["nine", "Oslo and fish", "1", "the: same", "both of them, if you can"])
def test_a_reply_that_could_be_for_two_is_for_none_and_its_author_is_asked_which(text: str) -> None:
    state = sort(said(open_questions("place", "food", "time"), text))
    assert heard(state).outcome == "which"
    assert not any(work.answered for work in ask(state).work.values())


def test_who_asks_back_is_asked_which_too_unless_it_is_named() -> None:
    state = said(open_questions("place", "food"), "what do you mean?")
    assert heard(sort(state, "explain")).outcome == "which"
    state = said(open_questions("place", "food"), "food: what do you mean?")
    assert (heard(sort(state, "explain")).outcome, heard(sort(state, "explain")).question) == ("explained", "food")


def test_the_only_question_takes_any_answer() -> None:
    state = sort(said(open_questions("time"), "food: at nine"))
    assert [one.text for one in ask(state).work["time"].answered] == ["food: at nine"]


def test_free_rules_know_an_answer_to_any_of_them() -> None:
    state = said(open_questions("place", "food"), "Fish")
    assert hearing.by_rules(state, heard(state)) == "answer"
    state = said(
        open_questions("place", "food"), "I should say that we rather do not eat at all, it is too late by then"
    )
    assert hearing.by_rules(state, heard(state)) is None


def test_a_question_for_others_is_not_answered_in_passing() -> None:
    state = said(open_questions("place"), "Oslo", user="U2")
    assert hearing.asked_of(state, heard(state)) == []
    assert hearing.meant_by(state, heard(state)) is None
    assert hearing.by_rules(state, heard(state)) == "nothing"
