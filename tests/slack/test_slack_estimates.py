"""What a subtask is likely to take stands in its row before it runs, and beside what it took afterwards."""

from __future__ import annotations

from typing import Any

import pytest

from bot.slack.views.answer_message import list_usage_words
from bot.slack.views.card import render_plan_card
from bot.slack.views.estimate import describe_estimates
from bot.slack.views.status import render_job_status, render_timeline
from bot.store.values import LogEntry
from bot.tracing.steps import list_steps
from handoff import events as ev
from handoff.contracts import Estimate, Member, Place, Plan, Request, Result, Subtask, Usage
from handoff.engine.engine import fold_log
from handoff.state.job_state import Job

PARTS = tuple(
    Subtask(id=name, title=f"Part {name}", intent="Write one sentence about the sea.", specialist="writer", after=after)
    for name, after in (("a", ()), ("b", ("a",)))
)
ESTIMATES = (
    Estimate(subtask="a", calls=2, tokens=4_321, cost=0.0213),
    Estimate(subtask="b", calls=3, tokens=12_345, cost=None),
)
LOG: list[ev.Event] = [
    ev.RequestAdded(
        at=1.0,
        place=Place(team="T", channel="C", thread_ts="1.0"),
        request=Request(id="1.0", user="U", text="t", at=1.0),
    ),
    ev.PlanProposed(
        at=2.0,
        request="1.0",
        plan=Plan(goal="The sea", subtasks=PARTS, missing=("book a boat",)),
        members=(Member(name="writer"),),
        estimates=ESTIMATES,
        reasons=("a: writer of writer (0 under way), poet (1 under way)",),
    ),
]
OF: dict[str, Any] = {"request": "1.0", "subtask": "a", "attempt": 1}
TOOK = Usage(calls=2, tokens_in=3_900, tokens_out=100, cost=0.02)


def job_of(log: list[ev.Event]) -> Job:
    job = fold_log(log)
    assert job is not None
    return job


def row(log: list[ev.Event], name: str) -> str:
    job = job_of(log)
    plan = render_plan_card(job, job.requests[0], 5.0).blocks[0]
    return next(str(task.get("details")) for task in plan["tasks"] if task["task_id"] == name)


def status(log: list[ev.Event]) -> str:
    """What `/leadhand status JOB` shows of the parts."""
    shown = render_job_status(job_of(log), 5.0, "U1")
    return "\n".join(str(block["text"]["text"]) + "\n" for block in shown.blocks if block["type"] == "section")


def test_before_it_runs_and_while_it_does() -> None:
    started = ev.AttemptStarted(at=3.0, **OF, specialist="writer", tier="balanced")
    for log in (LOG, [*LOG, started]):
        assert "about 4.3k tokens, $0.02" in status(log)
        assert "tokens" not in row(log, "a"), "the team sees who works and for how long"
    assert "about 12k tokens\n" in status(LOG), "no cost where no price is known"


def test_afterwards_it_stands_beside_what_it_took() -> None:
    started = ev.AttemptStarted(at=3.0, **OF, specialist="writer", tier="balanced")
    result = Result(summary="The sea is wide.", content="The sea is wide.", confidence=90, usage=TOOK)
    log = [*LOG, started, ev.ResultReturned(at=4.0, **OF, result=result)]
    assert "4k tokens, $0.02 (about 4.3k tokens, $0.02 expected)" in status(log)
    assert "tokens" not in row(log, "a")


def test_a_plan_of_an_older_release_says_nothing_of_it() -> None:
    old = [LOG[0], LOG[1].model_copy(update={"estimates": ()})]
    assert "tokens" not in status(old)


def test_the_trace_says_all_of_it() -> None:
    entries = [LogEntry(seq, ev.dump_event(event)) for seq, event in enumerate(LOG, 1)]
    text = render_timeline(job_of(LOG).id, list_steps(entries))
    assert "plan of 2 subtasks, about 17k tokens; a: writer of writer" in text
    assert "nobody can book a boat" in text


def test_words_of_estimates() -> None:
    assert describe_estimates([]) == ""
    assert describe_estimates(ESTIMATES[:1]) == "about 4.3k tokens, $0.02"
    assert describe_estimates([Estimate(subtask="a", calls=1, tokens=20)]) == "about 100 tokens"
    assert describe_estimates([Estimate(subtask="a", calls=1, tokens=880, cost=0.0004)]) == "about 900 tokens, $0.0004"


@pytest.mark.parametrize(
    ("tokens", "words"),
    [(1, "1 token"), (950, "950 tokens"), (1000, "1k tokens"), (12_345, "12.3k tokens"), (999_970, "1M tokens")],
)
def test_words_of_tokens(tokens: int, words: str) -> None:
    assert list_usage_words(Usage(tokens_in=tokens)) == [words]
