"""Whom people are sent to when nothing works: in a failure with a mention, in an answer in part without one."""

from __future__ import annotations

from typing import Any

import pytest

from bot.slack.views.answer_message import render_answer_footer
from bot.slack.views.request_ends import render_failure as failed_message
from handoff import events as ev
from handoff.contracts import RequestSetting
from handoff.state.job_state import Job
from tests.handoff.kit import (
    R,
    ask,
    job,
    make_failure_event,
    make_plan_event,
    make_request_event,
    make_result_event,
    make_start_event,
    subtask,
)

NAMES = {"S034CD": "@it-help", "U077KD": "Kim Dee"}


def make_setting_event(contact: str) -> ev.SettingKnown:
    """What was found out of who asks, and whom the crew sends people to."""
    setting = RequestSetting(contact=contact, contact_name=NAMES.get(contact, contact))
    return ev.SettingKnown(at=1.5, request=R, setting=setting)


def end(contact: str) -> str:
    """The end of a request of which nobody can do anything."""
    nobody = ev.RequestFailed(at=2.0, request=R, step="planning", reason="nobody in the crew can sing", advice="Hum.")
    state = job(make_request_event(), make_setting_event(contact), nobody)
    return str(failed_message(state, ask(state)).blocks)


@pytest.mark.parametrize(
    ("contact", "words"),
    [
        ("S034CD", "Somebody at <!subteam^S034CD> can take it from here."),
        ("U077KD", "<@U077KD> can take it from here."),
        ("C0123ABCD", "Somebody in <#C0123ABCD> can take it from here."),
        ("it-help@acme.org", "Somebody at `it-help@acme.org` can take it from here."),
        ("https://help.acme.org", "Somebody at <https://help.acme.org> can take it from here."),
        ("the CEO", "Somebody at the CEO can take it from here."),
        ("CEO", "Somebody at CEO can take it from here."),
    ],
)
def test_a_failure_says_once_who_can_go_on(contact: str, words: str) -> None:
    said = end(contact)
    assert said.count(f"*Who can help:* {words}") == 1
    assert said.count("take it from here") == 1


def test_nobody_is_named_where_the_crew_names_nobody_or_the_requester() -> None:
    assert "Who can help" not in end("")
    requester = ask(job(make_request_event())).spec.user
    assert "Who can help" not in end(requester)


def in_part(contact: str, *lost_events: ev.Event) -> Any:
    """What stands below an answer of which one part was lost."""
    of_answer: dict[str, Any] = {"at": 9.0, "request": R, "text": "Half of it."}
    log = (
        make_request_event(),
        make_setting_event(contact),
        make_plan_event(subtask("x"), subtask("y")),
        make_start_event("x"),
        make_start_event("y"),
    )
    state: Job = job(*log, make_result_event("x"), *lost_events, ev.AnswerWritten(**of_answer))
    return render_answer_footer(state, ask(state), "model")[0]["text"]["text"]


FAILURE_EVENT = make_failure_event("y")


@pytest.mark.parametrize(
    ("contact", "words"),
    [
        ("S034CD", "For the rest, turn to @it-help."),
        ("U077KD", "For the rest, turn to Kim Dee."),
        ("C0123ABCD", "For the rest, turn to <#C0123ABCD>."),
    ],
)
def test_an_answer_in_part_names_them_and_notifies_nobody(contact: str, words: str) -> None:
    said = in_part(contact, FAILURE_EVENT)
    assert said.endswith(words)
    assert "<@" not in said
    assert "<!" not in said


def test_a_small_gap_sends_nobody_anywhere() -> None:
    there = make_result_event("y", at=6.0).model_copy(update={"attempt": 1})
    result = there.result.model_copy(update={"gaps": ("page 3 was not read",)})
    said = in_part("S034CD", there.model_copy(update={"result": result}))
    assert "page 3 was not read" in said
    assert "turn to" not in said
