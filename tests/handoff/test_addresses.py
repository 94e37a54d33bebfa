"""Which addresses a job knows: those of people and of what tools were given, as they were written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handoff import events as ev
from handoff.briefs.addresses import addresses_in, endings, filter_cited_addresses, given_in, known_addresses
from handoff.contracts import Finding, Material, Request, Result, Section
from tests.handoff.kit import PLACE, R, asked, job, planned, returned, started, subtask

A, B = "https://a.org/x", "https://b.org/y?q=1&r=2#z"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"See {A}.", {A}),
        (f"({A}), then <{B}>", {A, B}),
        (f"[x]({A}) and [y]({B})", {A, B}),
        (f"**{A}**, _{B}_ and `{A}`", {A, B}),
        (f'"{A}"; {B}!', {A, B}),
        ("https://en.wikipedia.org/wiki/P_(film).", {"https://en.wikipedia.org/wiki/P_(film)"}),
        ("(https://en.wikipedia.org/wiki/P_(film))", {"https://en.wikipedia.org/wiki/P_(film)"}),
        (f"({A})said", {A, f"{A})said"}),
        (f"{A}を", {A}),
        (f"{A}é", set()),
        ("a.org, ftp://a.org/x and mailto:a@a.org", set()),
        ("", set()),
    ],
)
def test_addresses_in_texts(text: str, found: set[str]) -> None:
    assert addresses_in(text) == found


def test_material_gives_what_people_wrote_and_nothing_of_models_and_apps() -> None:
    people, app = f"[..] Ben: {A}\n", f"[..] leadhand (app): {B}\n"
    said = [Section(name="message 1 by Ben"), Section(name="message 2 by leadhand (app)", start=len(people))]
    thread = Material(name="thread", kind="thread", outline=tuple(said))
    assert given_in(thread, people + app) == {A}
    assert given_in(thread.model_copy(update={"outline": ()}), people + app) == set()
    assert given_in(Material(name="a.md"), people) == {A}
    assert given_in(Material(name="a.md", author="leadhand (app)"), people) == set()
    assert given_in(Material(name="answer", kind="answer", origin="model"), people) == set()


def test_a_result_keeps_only_what_it_holds_and_was_given() -> None:
    result = Result(
        summary="In short.", content=f"See {A}. Or https://c.org/", findings=(Finding(message="m", source=B),)
    )
    assert filter_cited_addresses(result, {A, B, "https://d.org/"}) == (A, B)
    assert filter_cited_addresses(result, set()) == ()


def request(text: str, request_id: str = R, at: float = 1.0) -> ev.RequestAdded:
    return ev.RequestAdded(at=at, place=PLACE, request=Request(id=request_id, user="U1", text=text, at=at))


def test_what_people_wrote_is_known_and_what_models_wrote_is_not() -> None:
    state = job(
        request(f"Read {A} please"),
        planned(subtask("a")),
        started("a"),
        returned("a", addresses=(B,)),
    )
    assert known_addresses(state, state.asks[0]) == {A, B}


def test_an_option_that_a_model_offered_is_no_word_of_the_person_who_clicks_it() -> None:
    offered = ev.PlannerAsked(at=2.0, request=R, question=f"Is it {B}?", options=(f"Yes, {B}", "No"))

    def said(text: str) -> frozenset[str]:
        answer = ev.QuestionAnswered(at=3.0, request=R, subtask="", user="U1", text=text, number=1)
        state = job(request("Read it"), offered, answer)
        return known_addresses(state, state.asks[0])

    assert said(f"Yes, {B}") == set()
    assert said(f"No, {A}") == {A}


def test_a_later_request_knows_the_earlier_ones_and_not_the_other_way_round() -> None:
    state = job(request(f"Read {A}"), request(f"And {B}", "2.0", 2.0))
    assert known_addresses(state, state.asks[0]) == {A}
    assert known_addresses(state, state.asks[1]) == {A, B}


def test_a_job_without_any_address() -> None:
    state = job(asked())
    assert known_addresses(state, state.asks[0]) == frozenset()


@given(st.text("ab.)!(,/:htp", min_size=1, max_size=20))
def test_what_a_word_may_end_as_is_part_of_it_the_longest_first(token: str) -> None:
    found = list(endings(token))
    assert found[0] == token
    assert all(token.startswith(one) for one in found)


def test_signs_behind_an_address_may_be_none_of_it() -> None:
    assert list(endings("https://a.example/b)."))[-1] == "https://a.example/b"
