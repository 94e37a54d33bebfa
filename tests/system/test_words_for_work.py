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
from tests.providers.wire import WireRequest
from tests.system.brains import Words, in_turn, plan, played, purposes, result, subtask, tool_call
from tests.system.scene import SAMPLE, Scene, Talk, card_title, shown

PRODUCT = plan(subtask("product", "analyst", intent="Work out 1234*5678."))
SALES = plan(subtask("sales", "analyst", intent="Work out the revenue by region from sales.csv."))
ANNOUNCEMENT = "I will now query the table to get the total by region."
REFUSAL = "I cannot calculate the median because the pandas module is missing."
NO_RESULT = Reply(json.dumps({"verdict": "revise", "faults": [{"quote": "", "problem": "Nothing was worked out."}]}))
ACCEPTED = Reply(json.dumps({"verdict": "accept", "faults": []}))


def written(name: str, form: str = "<tool_call>\n{}\n</tool_call>", **arguments: Any) -> Reply:
    return Reply(form.format(json.dumps({"name": name, "arguments": arguments})))


def told_to_call(request: WireRequest) -> bool:
    """Return True if its words were sent back, or only the tools that end the work are left: now the model obeys."""
    return bool(request.body.get("tool_choice") == "required")


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


@pytest.mark.parametrize("form", ["<tool_call>\n{}\n</tool_call>", "```json\n{}\n```", "First the sum.\n{}"])
async def test_calls_written_as_text_are_made_and_the_answer_is_what_they_said(scene: Scene, form: str) -> None:
    moves = in_turn(
        written("calculate", form, code="1234*5678"),
        written("return_result", form, content="1234 times 5678 is 7006652.", confidence=95),
    )
    talk, job, asked_by = await asked(scene, moves)
    assert job.latest.state == "completed"
    assert asked_by == ["planner", "specialist:analyst", "specialist:analyst", "verifier"]
    assert "1234 times 5678 is 7006652." in talk.said()
    assert [event.reply.text for event in await talk.of(ev.ToolReturned)] == ["7006652"]
    assert "Answered in part" not in talk.said()
    no_talk(talk)


async def test_calls_that_nobody_can_read_are_never_an_answer(scene: Scene) -> None:
    broken = Reply('<tool_call>{"name": "query_table", "arguments": {"sql": "select reg')
    talk, job, asked_by = await asked(scene, lambda _: broken, SALES)
    assert job.latest.state == "failed"
    assert "verifier" not in asked_by, "there is nothing to verify"
    assert "The specialist wrote a tool call as text, and no result." in talk.said()
    no_talk(talk, "select reg")


@pytest.mark.parametrize("text", [ANNOUNCEMENT, REFUSAL], ids=["announcement", "refusal"])
async def test_talk_without_work_is_sent_back_and_ends_as_a_failure(scene: Scene, text: str) -> None:
    talk, job, asked_by = await asked(scene, lambda _: Reply(text), SALES)
    assert job.latest.state == "failed"
    assert card_title(talk.cards()[0]).startswith("Failed after ")
    assert "No tool was used for it" in talk.said()
    no_talk(talk, text)
    assert not await talk.of(ev.ResultReturned)
    assert "verifier" not in asked_by


async def test_a_model_that_works_when_it_is_told_to_costs_a_turn_each_time(scene: Scene) -> None:
    def words(request: WireRequest) -> Reply:
        replies = [reply.text for message in request.messages for reply in message.replies]
        if not told_to_call(request):
            return Reply(f"It is {replies[-1]}." if replies else ANNOUNCEMENT)
        if not replies:
            return tool_call("calculate", code="1234*5678")
        return result(f"It is {replies[-1]}.")

    talk, job, asked_by = await asked(scene, words)
    assert job.latest.state == "completed"
    assert "It is 7006652." in talk.said()
    assert asked_by == ["planner", *["specialist:analyst"] * 4, "verifier"]
    no_talk(talk, ANNOUNCEMENT)


async def test_a_loop_ends_with_the_answer_that_the_tool_gave(scene: Scene) -> None:
    """The same call for ever, unless it has to finish: fifteen calls once, four now."""

    def words(request: WireRequest) -> Reply:
        if told_to_call(request):
            return result("1234 times 5678 is 7006652.")
        return tool_call("calculate", code="1234*5678")

    talk, job, asked_by = await asked(scene, words)
    assert job.latest.state == "completed"
    assert asked_by.count("specialist:analyst") == 4
    assert "7006652" in talk.said()
    assert "the third turn with the very same calls" in talk.said()


async def test_a_loop_that_nothing_ends_is_a_failure_that_says_what_there_was(scene: Scene) -> None:
    talk, job, asked_by = await asked(scene, lambda _: tool_call("calculate", code="1234*5678"))
    assert job.latest.over
    assert asked_by.count("specialist:analyst") <= 4 * 3
    assert "7006652" in talk.said()
    assert "without a result" in talk.said()
    no_talk(talk)


BAD: dict[str, Callable[[], Words]] = {
    "words in another language": lambda: lambda _: Reply("Ich werde jetzt die Tabelle abfragen."),
    "nothing": lambda: lambda _: Reply(""),
    "a tool that is not there, as text": lambda: lambda _: written("run_sql", sql="select 1"),
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
