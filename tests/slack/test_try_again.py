"""What people see of second tries: the buttons below an end, the line on the card, what it cost on top, and why not."""

from __future__ import annotations

from typing import Any, get_args

from bot.features.budgets.service import ExceededBudget
from bot.features.budgets.view import render_exceeded_budget
from bot.features.retries.actions import describe_refusal, describe_retry, explain_retry_schedule
from bot.features.retries.service import RecordedRetry, RetryRefusal, RetryRefusalReason
from bot.slack.views.answer_message import list_detail_lines, render_answer
from bot.slack.views.outgoing import Outgoing
from bot.slack.views.question import render_question
from bot.slack.views.request_ends import render_cancellation, render_failure
from bot.slack.views.try_again import render_retry_buttons, render_try_line
from handoff import events as ev
from handoff.contracts import Usage
from handoff.engine.engine import apply_event
from handoff.state.job_state import replace
from handoff.state.state_values import Question, QuestionAnswer, Ruling
from tests.handoff.kit import PLACE, make_request_event
from tests.handoff.test_taken_up import AGAIN, in_part, make_stopped_job, propose_plan, wants, with_writes
from tests.system.scene import buttons, extract_shown_text

DENIED_ANSWER = QuestionAnswer(
    Question(number=1, message="May I?", options=(), asked_at=1.0),
    user="U2",
    text="no",
    at=2.0,
    ruling=Ruling(at=2.0, call="c1", tool="mail", outcome="denied", digest="", arguments={}, users=("U2",)),
)


def message(one: Outgoing) -> dict[str, Any]:
    return {"text": one.text, "blocks": list(one.blocks)}


def labels(one: Outgoing) -> list[str]:
    return list(buttons(message(one)))


def test_buttons_stand_below_an_end_that_lacks_something() -> None:
    job, halted = in_part(), make_stopped_job()
    whole, half = job.requests[0], halted.requests[0]
    assert labels(render_answer(job, whole, "model")[-1]) == ["Evidence", "Try what is missing again"]
    assert labels(render_cancellation(halted, half)) == ["Continue", "Restart the open parts"]
    assert labels(render_cancellation(halted, half, is_private=True)) == []
    unplanned = apply_event(apply_event(None, make_request_event()), ev.CancelRequested(at=2, user="U1"))
    assert labels(render_cancellation(unplanned, unplanned.requests[0])) == ["Continue"]
    broke = apply_event(
        apply_event(None, make_request_event()), ev.RequestFailed(at=2, request="1.0", step="s", reason="r", advice="a")
    )
    assert labels(render_failure(broke, broke.requests[0])) == ["Try again"]
    assert (
        render_retry_buttons(job, replace(whole, refusal="no"))
        == render_retry_buttons(job, replace(whole, is_withdrawn=True))
        == []
    )
    done = replace(whole, subtasks={"t2": whole.subtasks["t2"]})
    assert render_retry_buttons(job, done) == [], "nothing of it failed"


def test_what_nobody_here_can_do_offers_no_second_try() -> None:
    job = in_part()
    whole = job.requests[0]
    lost = {
        name: replace(one, failure_cause="out_of_scope") for name, one in whole.subtasks.items() if one.state == "error"
    }
    assert lost
    beyond = replace(whole, subtasks={**whole.subtasks, **lost})
    assert labels(render_answer(job, beyond, "model")[-1]) == ["Evidence"]
    denied = {name: replace(one, question_answers=(DENIED_ANSWER,)) for name, one in lost.items()}
    approvable = replace(whole, subtasks={**whole.subtasks, **denied})
    assert labels(render_answer(job, approvable, "model")[-1]) == ["Evidence", "Try what is missing again"]


def test_the_card_says_what_is_kept_and_the_answer_what_it_cost_on_top() -> None:
    first = in_part()
    assert render_try_line(first.requests[0]) == []
    costly = replace(first, requests=(replace(first.requests[0], usage=Usage(tokens_in=10, cost=0.25)),))
    job = propose_plan(apply_event(costly, wants(user="U9", admin=True)))
    again = replace(job.requests[-1], usage=Usage(tokens_in=10, cost=0.5))
    line = "Second try, asked for by <@U9>: runs again “Part t1”, “Part t3” and “Part t5”, keeps 2 of 5 parts"
    assert extract_shown_text({"blocks": render_try_line(again)}) == line
    assert "Spent: 10 tokens, $0.50, on top of $0.25 before" in list_detail_lines(job, again)


def test_the_card_of_what_was_written_says_which_answer_does_it_again() -> None:
    job = apply_event(with_writes(), wants())
    said = render_question(job, job.requests[-1], "")
    assert labels(said) == ["Keep what is done", "Do it again", "Stop"]
    text = extract_shown_text(message(said))
    assert "Before I begin: what I would run again has done this already:\n• post A" in text
    assert "Unless you choose “Do it again”, none of it is done again." in text
    assert job.requests[-1].id == AGAIN


def test_a_budget_that_is_used_up_is_named_also_the_second_time() -> None:
    told = render_exceeded_budget(
        ExceededBudget("person", "your budget for today", ""), PLACE, "U1", "1.0", has_admins=False
    )
    assert extract_shown_text(message(told)).startswith("your budget for today is used up.")


def test_each_reason_why_nothing_is_tried_has_its_words() -> None:
    for why in set(get_args(RetryRefusalReason)) - {"asked"}:
        assert len(describe_refusal(RetryRefusal(why, users=("U1",)))) > 20, why
    hostile = describe_refusal(RetryRefusal("no_step", steps=("1. <!channel> *all*",)))
    assert "<!channel>" not in hostile
    assert describe_retry(RecordedRetry(PLACE, "retry", ("Part a", "Part b"))) == (
        "I run “Part a” and “Part b” again, in its thread in <#C1>."
    )
    assert explain_retry_schedule("on Friday", "Do it").endswith("“Do it”")
