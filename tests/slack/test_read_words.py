"""How much of a thread was read: in the card while the plan is made, and below the answer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bot.slack.views.answer_message import render_context_line
from bot.slack.views.card import render_card_title, render_plan_card
from bot.slack.views.thread_coverage import describe_thread_coverage
from handoff.contracts import Artifact, Material, Place, Request, Section
from handoff.state.job_state import Job, RequestState

PLACE = Place(team="T1", channel="C1", thread_ts="1.0")


def ask_of(*materials: Material, **more: Any) -> RequestState:
    request = Request(id="2.0", user="U1", text="sum it up", at=2.0, look_back="thread")
    return RequestState(spec=request, **{"is_gathered": True, "materials": materials, **more})


def thread(messages: int, *gaps: str) -> Material:
    outline = tuple(Section(name=f"message {number} by Ben", start=number) for number in range(1, messages + 1))
    return Material(name="thread", kind="thread", text="a" * 64, size=900, outline=outline, gaps=gaps)


def file(name: str, author: str = "Ben") -> Material:
    return Material(name=name, file=Artifact(id="f" * 64, name=name), author=author)


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (ask_of(), ""),
        (ask_of(file("own.csv", author="")), ""),
        (ask_of(Material(name="thread", kind="thread", fault="The thread could not be read.")), ""),
        (ask_of(thread(1)), "Read 1 message"),
        (
            ask_of(thread(34, "left out 12 older messages"), file("a.zip"), file("a.zip/in.csv"), file("b.csv")),
            "Read 34 messages and 2 files, left out 12 older messages",
        ),
        (ask_of(thread(2), file("b.csv"), file("own.csv", author="")), "Read 2 messages and 1 file"),
        (
            ask_of(thread(3).model_copy(update={"name": "#sales"}), file("b.csv")),
            "Read 3 messages and 1 file in #sales",
        ),
        (
            ask_of(thread(2), *(Material(name=f"{one}.pdf", author="Ben", fault="Broken.") for one in "abcde")),
            "Read 2 messages, could not read a.pdf, b.pdf, c.pdf and 2 files more",
        ),
    ],
)
def test_what_was_read_is_counted(state: RequestState, words: str) -> None:
    assert describe_thread_coverage(state) == words
    assert render_context_line(state, "a model") == " · ".join(filter(None, (words, "0.0 s")))
    assert "rehearsal (rules)" in render_context_line(state, "rehearsal (rules)"), (
        "that no model answered is for everybody"
    )


def test_a_gap_makes_no_mention() -> None:
    assert "<!channel>" not in describe_thread_coverage(ask_of(thread(1, "cut <!channel>")))


NO_SCOPE = "The thread could not be read: the app lacks a scope."
LATE = "Slack did not give the whole thread in time."


@pytest.mark.parametrize(
    ("state", "row"),
    [
        (ask_of(is_gathered=False), ("in_progress", "")),
        (ask_of(thread(3)), ("complete", "Read 3 messages")),
        (ask_of(Material(name="thread", kind="thread", fault=NO_SCOPE), file_faults=(NO_SCOPE,)), ("error", NO_SCOPE)),
        (ask_of(thread(3, LATE), file_faults=(LATE,)), ("error", "Read 3 messages, Slack did not give")),
    ],
)
def test_the_card_tells_of_the_thread_until_there_is_a_plan(state: RequestState, row: tuple[str, str]) -> None:
    assert render_card_title(state, 3.0) == (
        "Planning…: sum it up" if state.is_gathered else "Reading the thread: sum it up"
    )
    blocks = render_plan_card(Job(place=PLACE, requests=(state,)), state, 3.0).blocks
    task = blocks[0]["tasks"][0]
    assert (task["title"], task["status"]) == ("Read the thread", row[0])
    assert row[1] in str(task)


def test_a_look_for_files_that_may_not_be_is_not_shown() -> None:
    spec = Request(id="1.0", user="U1", text="sum it up", at=2.0, look_back="files")
    request = RequestState(spec=spec)
    assert render_card_title(request, 3.0) == "Planning…: sum it up"
    (task,) = render_plan_card(Job(place=PLACE, requests=(request,)), request, 3.0).blocks[0]["tasks"]
    assert (task["title"], task["status"]) == ("Make a plan", "in_progress")


def test_a_reply_without_a_plan_claims_no_more_than_that() -> None:
    request = ask_of(ended_at=3.5)
    request = replace(request, run=replace(request.run, answer="I can't do that.", concluded_at=3.5))
    assert render_card_title(request, 9.0).startswith("Replied in ")
