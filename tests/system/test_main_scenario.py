"""A table and a question that take an analyst and a writer: what people see, and what is kept of it."""

from __future__ import annotations

import pytest

from bot.slack.send.lookup import EVENT_TYPE
from handoff import events as ev
from handoff.effects import answer_key
from tests.system.brains import played, purposes
from tests.system.scene import SAMPLE, Scene, block_of, card_title, rows, shown

QUESTION = "why did churn rise? draft a short note to the board"


async def test_a_question_for_two_specialists_becomes_one_card_one_chart_and_one_answer(scene: Scene) -> None:
    async with scene.bot():
        talk = await scene.ask(QUESTION, files=[SAMPLE])
        await talk.seen(lambda: "eyes" in talk.reactions())
        await talk.seen(lambda: talk.status() == "processing")
        job = await talk.over()
        await talk.seen(lambda: talk.status() == "active")

    (card,) = talk.cards()
    assert rows(card)["analysis"][0] == rows(card)["text"][0] == "complete"
    assert rows(card)["analysis"][1].startswith("analyst · ")
    assert card_title(card).startswith("Done in ")
    assert not block_of(card, "actions"), "nothing is left to stop"
    assert len(talk.files()) == 1
    assert talk.files()[0].endswith(".png")
    (answer,) = talk.words()
    assert block_of(answer, "markdown")
    assert "churned customers rose from" in shown(answer)
    assert "rehearsal (no language model) · " in shown(answer)
    assert "Answered in part" not in shown(answer)
    assert block_of(answer, "context_actions")
    assert answer["metadata"]["event_type"] == EVENT_TYPE
    assert answer["metadata"]["event_payload"] == {"key": answer_key(talk.ts), "job": talk.key.job}

    counts = {call.method: scene.workspace.call_count(call.method) for call in scene.workspace.calls()}
    assert counts["files.completeUploadExternal"] == 1
    assert counts["reactions.add"] == 1
    assert 2 <= counts["chat.update"] <= 8
    assert not [call for call in scene.workspace.calls() if not call.ok]

    assert job.latest.state == "completed"
    assert job.latest.usage.calls == len(await talk.of(ev.TurnTaken)) + 3, "turns, planner, synthesizer, verifier"
    kinds = [event.type for event in await talk.events()]
    assert kinds[0] == "RequestAdded"
    assert [kinds.count(kind) for kind in ("PlanProposed", "MaterialGathered", "AnswerWritten")] == [1, 1, 1]
    assert kinds.count("AttemptStarted") == kinds.count("ResultReturned") == 2
    keys = sorted(event.key.partition(":")[2].partition(":")[0] for event in await talk.of(ev.Posted))
    assert keys == ["answer", "card", "card_end", "file"]
    assert not [event for event in await talk.of(ev.Posted) if event.fault]


async def test_the_chart_is_the_picture_that_the_analyst_made(scene: Scene) -> None:
    async with scene.bot():
        talk = await scene.ask("chart the churned customers per month", files=[SAMPLE])
        job = await talk.over()

    (work,) = job.latest.work.values()
    assert work.result is not None
    (artifact,) = work.result.artifacts
    (message,) = [message for message in talk.replies() if message.get("files")]
    data = await scene.workspace.file(message["files"][0]["id"])
    assert data.startswith(b"\x89PNG")
    assert data == await scene.store.blobs.get(talk.key, artifact.id)


async def test_one_skill_is_one_subtask_and_no_synthesis(scene: Scene) -> None:
    async with played(scene, api="anthropic") as server:
        talk = await scene.ask("What is 3 * 4?")
        job = await talk.over()

    assert purposes(server) == ["planner", "specialist:analyst", "specialist:analyst"]
    assert list(job.latest.work) == ["analysis"]
    (answer,) = talk.words()
    assert "3 * 4 = 12" in shown(answer)
    assert "side by side" not in shown(answer)
    assert job.latest.usage.calls == 3
    assert job.latest.usage.tokens_in > 500
    assert "tokens" not in shown(answer), "what it took is one click away"


@pytest.mark.parametrize("kind", ["duplicate_delivery", "lost_delivery"])
async def test_a_mention_that_comes_twice_or_only_the_second_time_is_one_request(scene: Scene, kind: str) -> None:
    scene.workspace.faults.add("app_mention", kind)  # type: ignore[arg-type]  # one of the workspace's own words
    async with scene.bot():
        talk = await scene.ask("What is 3 * 4?")
        job = await talk.over()
        await scene.barrier()

    assert len(job.asks) == 1
    assert len(talk.cards()) == len(talk.words()) == 1
