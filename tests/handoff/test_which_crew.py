"""Which of several crews a request is for: a word at its start, the channel, the request before it."""

from __future__ import annotations

import pytest

from handoff import events as ev
from handoff.contracts import Request
from handoff.conversation.spoken import crew_called
from tests.handoff.kit import PLACE, R, ask, asked, job, planned, subtask

CREWS = ("general", "review", "Support-2")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("review: is it fine?", ("review", "is it fine?")),
        ("  REVIEW :is it fine?", ("review", "is it fine?")),
        ("support-2: https://a.example/x: why?", ("Support-2", "https://a.example/x: why?")),
        ("Note: it is large", ("", "Note: it is large")),
        ("the review: is it fine?", ("", "the review: is it fine?")),
        ("review it", ("", "review it")),
        ("review:", ("", "review:")),
        (": review", ("", ": review")),
    ],
)
def test_only_the_name_of_a_crew_is_a_word(text: str, expected: tuple[str, str]) -> None:
    assert crew_called(text, CREWS) == expected
    assert crew_called(text, ()) == ("", text), "where there is one crew, there are no words"


def added(name: str, crew: str = "", usual: str = "") -> ev.RequestAdded:
    body = Request(id=name, user="U1", text="and this?", at=1.0, crew=crew)
    return ev.RequestAdded(at=1.0, place=PLACE, request=body, usual=usual)


def test_a_request_is_for_the_crew_that_it_names_else_for_that_of_the_one_before() -> None:
    state = job(added("1.0", usual="general"), added("2.0", "review", "general"), added("3.0", usual="general"))
    assert [one.request.crew for one in state.asks] == ["general", "review", "review"]
    assert ask(job(asked())).request.crew == "", "one crew leaves nothing in the log"
    assert "crew" not in ev.dump(asked())
    assert "usual" not in ev.dump(asked())


def edited(text: str, crew: str = "", at: float = 5.0) -> ev.RequestEdited:
    return ev.RequestEdited(at=at, message=R, user="U1", text=text, stamp=at, crew=crew)


def test_an_edit_may_name_another_crew_until_there_is_a_plan() -> None:
    text = asked().request.text
    first = job(asked(), edited(text, "review"))
    assert ask(first).request.crew == "review"
    assert ask(first).edited == 5.0
    late = job(asked(), planned(subtask("a")), edited("another one", "review"))
    assert ask(late).request.crew == "", "a plan stays with the crew whose it is"
    assert ask(job(asked(), edited(text, "review"), edited("another one", at=6.0))).request.crew == "review"
