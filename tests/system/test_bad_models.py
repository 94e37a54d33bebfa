"""What models do wrong: refuse, talk nonsense or instead of working, break down. Each ends in one clear message."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest

from handoff import events as ev
from handoff.state.job_state import Job
from specialists.registry import CREWS_FOLDER, load_crew
from specialists.tools.tool import Tool
from tests.own_tools import all_tools
from tests.providers.faults import Fault
from tests.providers.rendering import Reply
from tests.system.brains import (
    bot_with_provider,
    connect,
    in_turn,
    plan,
    provider,
    purposes,
    result,
    subtask,
    tool_call,
)
from tests.system.scene import SAMPLE, Scene, Talk, card_title, extract_shown_text, rows

GOOD = plan(subtask("text", "writer"))
TEA = in_turn(result("Tea is calm."))
"""The writer's work, which takes a model: the rehearsal adds no words of its own."""
WORDS = tuple("".join(letters) for letters in product("abcdefgh", repeat=6))
"""Words of six letters, no two alike: what repeats itself is given up before it is read."""


def check_failure(talk: Talk, job: Job, step: str, *parts: str) -> str:
    """One message that says the step, the reason and what to do."""
    assert job.latest_request.state == "failed"
    (end,) = talk.words()
    text = extract_shown_text(end)
    failure = job.latest_request.run.failure
    assert failure is not None
    assert (failure.step, bool(failure.advice)) == (step, True)
    for part in ("*I could not answer this.*", " ".join(failure.reason.split())[:60], failure.advice, *parts):
        assert part in text
    for word in ("Traceback", "Exception", "pydantic", ".py", "internal error"):
        assert word not in text
    (card,) = talk.cards()
    assert card_title(card).startswith("Failed after ")
    assert not {"in_progress", "pending"} & {status for status, _ in rows(card).values()}
    return text


@pytest.fixture(autouse=True)
def no_bug_is_logged(request: pytest.FixtureRequest, caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Whatever a model says, nothing of ours breaks: that would be in the log with its stack."""
    yield
    for when in ("setup", "call"):
        found = [record.getMessage() for record in caplog.get_records(when) if record.exc_info]
        assert found == (getattr(request.node, "expected_faults", []) if when == "call" else [])


@pytest.mark.parametrize(
    ("planner_reply", "parts", "options"),
    [
        (Reply("I can't help with that.", stop="refused"), ["the model declined this request"], {}),
        (Fault("bad_key"), ["leadhand check"], {}),
        (Fault("hang"), ["said nothing for", "LEADHAND_SILENCE"], {"silence": 0.5, "is_own_server": True}),
    ],
    ids=["the request", "the key", "every word"],
)
async def test_a_planner_that_refuses(
    scene: Scene, planner_reply: Reply | Fault, parts: list[str], options: dict[str, Any]
) -> None:
    async with (
        provider(planner=planner_reply) as server,
        scene.bot(connect("anthropic", server, **options)),
    ):
        talk = await scene.ask("Draft something odd about tea")
        job = await talk.over()
        await talk.wait_until_seen(lambda: talk.status() == "active")
    assert "sk-12345" not in check_failure(talk, job, "planning", *parts)
    assert purposes(server) == ["planner"]


async def test_a_synthesizer_that_refuses(scene: Scene) -> None:
    both = plan(subtask("a", "writer"), subtask("b", "reviewer"))
    async with bot_with_provider(
        scene,
        api="anthropic",
        planner=both,
        writer=result("Alpha."),
        reviewer=result("Beta."),
        synthesizer=Reply("No.", stop="refused"),
    ):
        talk = await scene.ask("Do two things")
        job = await talk.over()
    assert job.latest_request.state == "completed"
    (answer,) = talk.words()
    assert "The parts could not be put together" in extract_shown_text(answer)
    assert "Alpha." in extract_shown_text(answer)
    assert "Beta." in extract_shown_text(answer)


@pytest.mark.parametrize("reply_text", ["", " ".join(WORDS[:57_000])], ids=["nothing", "64 KB"])
async def test_a_specialist_that_talks_nonsense_still_ends_in_one_message(scene: Scene, reply_text: str) -> None:
    async with bot_with_provider(scene, planner=GOOD, specialist=Reply(reply_text)):
        talk = await scene.ask("Draft a short note about tea")
        job = await talk.over()
    assert job.latest_request.is_over
    if reply_text:
        assert job.latest_request.state == "completed"
        assert len(talk.words()) == 5, "in parts"
    else:
        check_failure(talk, job, "Do part text", "no answer")


async def test_a_tool_that_breaks(scene: Scene, request: pytest.FixtureRequest) -> None:
    async def raise_error(arguments: object, workbench: object) -> None:
        """Break."""
        raise ZeroDivisionError(f"{arguments} {workbench}"[:5])

    tools = all_tools()
    real = tools["publish_document"]
    tools["publish_document"] = Tool(real.name, real.access, real.arguments, raise_error)  # type: ignore[arg-type]
    crew = load_crew(CREWS_FOLDER / "general", tools)
    request.node.expected_faults = ["the tool publish_document broke"]
    say = tool_call("publish_document", title="Tea", markdown="# Tea")
    both = plan(subtask("a", "writer"), subtask("b", "reviewer"))
    async with (
        provider(
            planner=both,
            writer=say,
            reviewer=in_turn(result("Beta."), Fault("bad_request")),
        ) as server,
        scene.bot(connect("chat", server), crew=crew),
    ):
        talk = await scene.ask("Do two things")
        job = await talk.over()
    assert job.latest_request.state == "completed"
    assert "the tool publish_document broke" in str(await talk.of(ev.AttemptFailed))
    assert len(talk.words()) == 1


SALES = plan(subtask("sales", "analyst", intent="Work out the revenue by region from sales.csv."))
REFUSAL = "I cannot calculate the median because the pandas module is missing."
INNER_CALL = json.dumps({"name": "query_table", "arguments": {"query": "select 1"}})
WRITTEN_RESULT = json.dumps({"name": "return_result", "arguments": {"content": INNER_CALL, "confidence": 90}})


@pytest.mark.parametrize(
    ("reply_text", "words", "gap"),
    [
        (REFUSAL, REFUSAL, "No tool was used for it"),
        (f"<tool_call>\n{WRITTEN_RESULT}\n</tool_call>", "select 1", ""),
    ],
    ids=["talk without work", "a call as the content of a result"],
)
async def test_what_is_no_work_ends_as_a_failure_and_people_see_none_of_it(
    scene: Scene, reply_text: str, words: str, gap: str
) -> None:
    async with bot_with_provider(scene, planner=SALES, specialist=Reply(reply_text)) as server:
        talk = await scene.ask("What comes of it?", files=[SAMPLE])
        job = await talk.over()
        await talk.wait_until_seen(lambda: len(talk.words()) == 1)
    assert job.latest_request.state == "failed"
    assert card_title(talk.cards()[0]).startswith("Failed after ")
    assert not await talk.of(ev.ResultReturned)
    assert "verifier" not in purposes(server)
    said = talk.join_bot_texts()
    assert "I could not answer this" in said
    assert gap in said
    for sign in ("tool_call", '"name"', '"arguments"', "return_result", "{", words):
        assert sign not in said, said
