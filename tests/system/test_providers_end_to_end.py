"""The main scenario over each provider's own wire format, through its real SDK, with streaming and tool calls."""

from __future__ import annotations

import asyncio

import pytest

from bot.slack.views.answer_message import list_detail_lines
from handoff import events as ev
from handoff.effects import make_answer_key
from handoff.summaries.summary import compute_speed_up
from tests.providers.rendering import Reply
from tests.providers.wire import Api
from tests.system.brains import bot_with_provider, plan, purposes, result, subtask
from tests.system.scene import SAMPLE, Scene, Talk, block_of, rows, scene_on

QUESTION = "why did churn rise? draft a short note to the board"


def read_answer(talk: Talk) -> str:
    """The Markdown of the one answer."""
    (answer,) = talk.words()
    block = block_of(answer, "markdown")
    assert block is not None
    return str(block["text"])


@pytest.fixture(scope="module")
def rehearsal_outcome(server_url: str) -> tuple[str, list[str]]:
    """The answer and the files of the rehearsal."""

    async def run() -> tuple[str, list[str]]:
        async with scene_on(server_url) as scene, scene.bot():
            talk = await scene.ask(QUESTION, files=[SAMPLE])
            job = await talk.over()
            return job.latest_request.run.answer or "", talk.files()

    return asyncio.run(run())


@pytest.mark.parametrize("api", ["anthropic", "responses", "chat"])
async def test_the_answer_is_that_of_the_rehearsal(
    scene: Scene, api: Api, rehearsal_outcome: tuple[str, list[str]]
) -> None:
    async with bot_with_provider(scene, api=api) as server:
        talk = await scene.ask(QUESTION, files=[SAMPLE])
        job = await talk.over()
        seen = list(server.requests)

    # Not the message: what was quick enough to need no stream has its tables in blocks of their own.
    assert (job.latest_request.run.answer, talk.files()) == rehearsal_outcome
    assert read_answer(talk).startswith(rehearsal_outcome[0][:200])
    assert {name: status for name, (status, _) in rows(talk.cards()[0]).items()} == {
        "analysis": "complete",
        "text": "complete",
    }
    assert {request.api for request in seen} == {api}
    assert [each for each in purposes(server) if not each.startswith("specialist")] == [
        "planner",
        "synthesizer",
        "verifier",
    ]
    asked_for_json = [request.stream for request in seen if request.answer_schema]
    assert asked_for_json == [seen[0].stream] * 2, "planner and verifier"
    assert seen[-2].stream
    turns = await talk.of(ev.TurnTaken)
    assert job.latest_request.usage.calls == len(seen) == len(turns) + 3
    assert job.latest_request.usage.tokens_in >= sum(request.prompt_tokens for request in seen)
    names = {call.name for turn in turns for call in turn.turn.calls}
    assert {"profile_table", "query_table", "draw_chart", "return_result"} <= names
    assert (job.latest_request.usage.cost is not None) == (api != "chat"), (
        "a compatible server's price is nobody's to know"
    )


async def test_a_slow_answer_is_streamed_into_the_one_message(scene: Scene) -> None:
    text = "Tea is ready. " * 30 + "\n\nSo are the **scones**."
    async with bot_with_provider(
        scene,
        is_verified=False,
        planner=lambda _: plan(subtask("a", "writer"), subtask("b", "reviewer")),
        specialist=lambda _: result("Done."),
        synthesizer=lambda _: Reply(text, pause=0.08),
    ):
        talk = await scene.ask("Do two things")
        await talk.wait_until_seen(lambda: [message for message in talk.words() if message["streaming"]])
        job = await talk.over()

    counts = {name: scene.workspace.call_count(f"chat.{name}Stream") for name in ("start", "append", "stop")}
    assert counts["start"] == counts["stop"] == 1
    assert counts["append"] >= 1
    (answer,) = talk.words()
    assert not answer["streaming"]
    assert "".join(read_answer(talk).split()) == "".join(text.split())
    assert answer["metadata"]["event_payload"]["key"] == make_answer_key(talk.ts)
    assert (
        "specialists side by side" in str(list_detail_lines(job, job.latest_request))
        or compute_speed_up(job.latest_request) < 1.1
    )
    assert block_of(answer, "context_actions")
