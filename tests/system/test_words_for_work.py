"""Models that talk instead of working, in the whole bot: each request ends visibly, and no talk passes as an answer."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from handoff import events as ev
from handoff.state.job_state import Job
from tests.providers.rendering import Reply
from tests.system.brains import Words, in_turn, plan, played, purposes, subtask
from tests.system.scene import SAMPLE, Scene, Talk, card_title, shown

PRODUCT = plan(subtask("product", "analyst", intent="Work out 1234*5678."))
SALES = plan(subtask("sales", "analyst", intent="Work out the revenue by region from sales.csv."))
REFUSAL = "I cannot calculate the median because the pandas module is missing."


def written(name: str, **arguments: Any) -> Reply:
    call = json.dumps({"name": name, "arguments": arguments})
    return Reply(f"<tool_call>\n{call}\n</tool_call>")


def no_talk(talk: Talk, *words: str) -> None:
    """Nothing that people see holds a tool call, a schema or any of these words."""
    said = talk.said()
    for sign in ("tool_call", '"name"', '"arguments"', "return_result", "{", *words):
        assert sign not in said, said


async def asked(scene: Scene, words: Words, plan_: Reply = PRODUCT) -> tuple[Talk, Job, list[str]]:
    async with played(scene, planner=lambda _: plan_, specialist=words) as server:
        talk = await scene.ask("What comes of it?", files=[SAMPLE])
        job = await talk.over()
        await talk.seen(lambda: len(talk.words()) == 1)
    return talk, job, purposes(server)


async def test_calls_written_as_text_are_made_and_the_answer_is_what_they_said(scene: Scene) -> None:
    moves = in_turn(
        written("calculate", code="1234*5678"),
        written("return_result", content="1234 times 5678 is 7006652.", confidence=95),
    )
    talk, job, asked_by = await asked(scene, moves)
    assert job.latest.state == "completed"
    assert asked_by == ["planner", "specialist:analyst", "specialist:analyst", "verifier"]
    assert "1234 times 5678 is 7006652." in talk.said()
    assert [event.reply.text for event in await talk.of(ev.ToolReturned)] == ["7006652"]
    assert "Answered in part" not in talk.said()
    no_talk(talk)


async def test_talk_without_work_is_sent_back_and_ends_as_a_failure(scene: Scene) -> None:
    talk, job, asked_by = await asked(scene, lambda _: Reply(REFUSAL), SALES)
    assert job.latest.state == "failed"
    assert card_title(talk.cards()[0]).startswith("Failed after ")
    assert "No tool was used for it" in talk.said()
    no_talk(talk, REFUSAL)
    assert not await talk.of(ev.ResultReturned)
    assert "verifier" not in asked_by


BAD: dict[str, Callable[[], Words]] = {
    "nothing": lambda: lambda _: Reply(""),
    "arguments that do not fit, as text": lambda: lambda _: written("query_table", query="select 1"),
    "a call in a call": lambda: (
        lambda _: written("return_result", content=json.dumps({"name": "query_table", "arguments": {}}), confidence=90)
    ),
}


@pytest.mark.parametrize("kind", BAD)
async def test_whatever_is_said_the_request_ends_in_one_message(scene: Scene, kind: str) -> None:
    talk, job, _ = await asked(scene, BAD[kind](), SALES)
    assert job.latest.over
    assert job.latest.state == "failed"
    assert len(talk.words()) == 1
    assert re.search(r"I could not answer this|Answered in part", shown(talk.words()[0]))
    no_talk(talk, "select 1")
