"""One thread from its first request to its last: what people see of it, and what is kept."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bot.slack.send.lookup import METADATA_EVENT_TYPE
from bot.slack.show import notices
from handoff import events as ev
from handoff.effects import make_answer_key
from handoff.engine.answer import list_answer_gaps
from tests.providers.rendering import Reply
from tests.providers.wire import WireRequest
from tests.system.brains import Gate, bot_with_provider, purposes
from tests.system.scene import SAMPLE, Scene, block_of, card_title, extract_shown_text, rows

QUESTION = "why did churn rise? draft a short note to the board"


async def test_a_question_for_two_specialists_becomes_one_card_one_chart_and_one_answer(scene: Scene) -> None:
    async with scene.bot():
        talk = await scene.ask(QUESTION, files=[SAMPLE])
        await talk.wait_until_seen(lambda: "eyes" in talk.reactions())
        await talk.wait_until_seen(lambda: talk.status() == "processing")
        job = await talk.over()
        await talk.wait_until_seen(lambda: talk.status() == "active")

    (card,) = talk.cards()
    assert rows(card)["analysis"][0] == rows(card)["text"][0] == "complete"
    assert rows(card)["analysis"][1].startswith("analyst · ")
    assert card_title(card).startswith("Done in ")
    assert not block_of(card, "actions"), "nothing is left to stop"
    assert len(talk.files()) == 1
    assert talk.files()[0].endswith(".png")
    (answer,) = talk.words()
    assert block_of(answer, "markdown")
    assert "churned customers rose from" in extract_shown_text(answer)
    assert "rehearsal (no language model) · " in extract_shown_text(answer)
    assert "Answered in part" not in extract_shown_text(answer)
    assert block_of(answer, "context_actions")
    assert answer["metadata"]["event_type"] == METADATA_EVENT_TYPE
    assert answer["metadata"]["event_payload"] == {"key": make_answer_key(talk.ts), "job": talk.key.job}

    counts = {call.method: scene.workspace.call_count(call.method) for call in scene.workspace.calls()}
    assert counts["files.completeUploadExternal"] == 1
    assert counts["reactions.add"] == 1
    assert 2 <= counts["chat.update"] <= 8
    assert not [call for call in scene.workspace.calls() if not call.ok]

    assert job.latest_request.state == "completed"
    assert job.latest_request.usage.calls == len(await talk.of(ev.TurnTaken)) + 3, (
        "turns, planner, synthesizer, verifier"
    )
    kinds = [event.type for event in await talk.events()]
    assert kinds[0] == "RequestAdded"
    assert [kinds.count(kind) for kind in ("PlanProposed", "MaterialGathered", "AnswerWritten")] == [1, 1, 1]
    assert kinds.count("AttemptStarted") == kinds.count("ResultReturned") == 2
    keys = sorted(event.key.partition(":")[2].partition(":")[0] for event in await talk.of(ev.Posted))
    assert keys == ["answer", "card", "card_end", "file"]
    assert not [event for event in await talk.of(ev.Posted) if event.fault]


async def test_a_mention_that_comes_twice_or_only_the_second_time_is_one_request(scene: Scene) -> None:
    scene.workspace.faults.add("app_mention", "duplicate_delivery")
    scene.workspace.faults.add("message.channels", "lost_delivery")
    async with scene.bot():
        talk = await scene.ask("What is 3 * 4?")
        job = await talk.over()
        await scene.barrier()

    assert len(job.requests) == 1
    assert len(talk.cards()) == len(talk.words()) == 1


REVENUE = ("revenue.csv", b"month,revenue\n2026-01,10\n2026-02,20\n")


async def test_a_file_of_the_first_request_serves_the_second(scene: Scene) -> None:
    async with scene.bot():
        talk = await scene.ask("total revenue by month", files=[REVENUE])
        await talk.over()
        await talk.say("@leadhand what is the average revenue in revenue.csv?")
        job = await talk.over(2)

    assert job.requests[1].state == "completed"
    assert [subtask.specialist for subtask in job.requests[1].subtasks.values()] == ["analyst"]
    assert not list_answer_gaps(job.requests[1], job.requests[1].run)
    assert "average revenue" in (job.requests[1].run.answer or "").lower()
    fetched = [one.name for event in await talk.of(ev.MaterialGathered) for one in event.materials]
    assert fetched == ["revenue.csv"], "fetched once"


async def test_a_mention_while_a_request_is_under_way_waits_its_turn(scene: Scene) -> None:
    first, second = Gate(), Gate()

    async def analyst(call: WireRequest) -> Reply | None:
        return await (second if "5 * 6" in call.messages[0].text else first)(call)

    async with bot_with_provider(scene, analyst=analyst) as server:
        talk = await scene.ask("What is 3 * 4?")
        await first.arrival_event.wait()
        await talk.say("@leadhand what is 5 * 6?", who="ben")
        await talk.until(lambda job: len(job.requests) == 2)
        assert purposes(server).count("planner") == 1
        first.open()
        await second.arrival_event.wait()
        await talk.wait_until_seen(lambda: len(talk.cards()) == 2 and card_title(talk.cards()[1]).startswith("Working"))
        second.open()
        job = await talk.over(2)
        await talk.wait_until_seen(lambda: talk.status() == "active")

    assert [request.state for request in job.requests] == ["completed", "completed"]
    assert [request.spec.user for request in job.requests] == [scene.person("ana").id, scene.person("ben").id]
    answers = [extract_shown_text(message) for message in talk.words()]
    assert talk.join_private_texts("ben") == "Noted. I'll start on this once the request before it is done."
    assert talk.join_private_texts("ana") == ""
    assert ["3 * 4 = 12" in answers[0], "5 * 6 = 30" in answers[1]] == [True, True]
    assert len(talk.cards()) == 2
    assert all(card_title(card).startswith("Done in ") for card in talk.cards())


async def test_a_direct_message_needs_no_mention(scene: Scene) -> None:
    async with scene.bot():
        talk = await scene.ask("What is 3 * 4?", channel="@leadhand")
        await talk.wait_until_seen(lambda: "eyes" in talk.reactions())
        job = await talk.over()
        await talk.say("And what is 5 * 6?")
        job = await talk.over(2)

    assert [request.state for request in job.requests] == ["completed", "completed"]
    assert len(talk.cards()) == len(talk.words()) == 2
    assert "5 * 6 = 30" in extract_shown_text(talk.words()[1])


async def test_a_job_cannot_begin_where_the_bot_is_not(scene: Scene) -> None:
    ana = scene.person("ana")
    ts = await scene.person("ben").say("#sales", "What is 3 * 4?")
    await ana.kick("#sales")
    async with scene.bot():
        await ana.shortcut("start_job", "#sales", ts)
        (view,) = await scene.workspace.until(ana.views)
        assert not await ana.submit(view["id"], {"text": "What is 3 * 4?"})
        talk = scene.thread("#sales", ts)
        assert await scene.store.jobs.read_head(talk.key) is None, "nothing is done that nobody could be shown"
        await ana.invite("#sales")
        assert await ana.submit(view["id"], {"text": "What is 3 * 4?"})
        await talk.over()
    assert "3 * 4 = 12" in extract_shown_text(talk.words()[0])


@pytest.fixture(autouse=True)
def no_bug_is_logged(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Whatever comes in, nothing of ours breaks: that would be in the log with its stack."""
    yield
    assert not [record.getMessage() for record in caplog.get_records("call") if record.exc_info]


async def test_an_empty_mention(scene: Scene) -> None:
    async with bot_with_provider(scene) as server:
        talk = await scene.ask("")
        job = await talk.over()
        await talk.wait_until_seen(lambda: talk.status() in {"active", ""})
    (end,) = talk.words()
    assert "You mentioned me without a request" in extract_shown_text(end)
    assert "for example" in extract_shown_text(end)
    internals = ("Traceback", "Error(", "Exception", "None", "pydantic", "/bot/", ".py")
    assert not [word for word in internals if word in extract_shown_text(end)]
    assert job.latest_request.state == "failed"
    assert (await talk.of(ev.RequestAdded))[0].refusal
    assert not talk.cards()
    assert not server.requests


async def test_another_bot_that_mentions_us_is_told_why_that_does_nothing_and_then_left_alone(scene: Scene) -> None:
    world = scene.workspace._world
    channel = scene.workspace.channel_id("#general")

    async def send_mention(ts: str) -> None:
        event = {"type": "app_mention", "channel": channel, "ts": ts, "event_ts": ts, "bot_id": "B1"}
        said = {"subtype": "bot_message", "text": f"<@{scene.workspace.bot_user_id}> do something"}
        assert world.sockets is not None
        assert (await world.sockets.send("events_api", world.delivery._make_event_callback({**event, **said}), None)).ok

    async with bot_with_provider(scene) as server:
        talk = await scene.ask("What is 3 * 4?")
        await talk.over()
        calls = len(server.requests)
        ts = (await talk.of(ev.Posted))[0].ts
        await send_mention(ts)
        told = scene.thread("#general", ts)
        await told.over()
        await send_mention("1700000000.000100")
        await scene.barrier()
    (added,) = await told.of(ev.RequestAdded)
    assert added.refusal == notices.PEOPLE_ONLY
    assert added.request.user == "B1"
    posted = [call.args["text"] for call in scene.workspace.calls("chat.postMessage")]
    assert posted.count(notices.PEOPLE_ONLY) == 1, "or two bots would talk on and on"
    assert await scene.store.jobs.read_head(scene.thread("#general", "1700000000.000100").key) is None
    assert len(server.requests) == calls


async def test_a_channel_that_the_bot_is_removed_from(scene: Scene) -> None:
    gate = Gate()
    async with bot_with_provider(scene, analyst=gate) as server:
        talk = await scene.ask("What is 3 * 4?", channel="#sales")
        await gate.arrival_event.wait()
        await talk.wait_until_seen(talk.cards)
        await scene.person().kick("#sales")
        gate.open()
        job = await talk.over()
    assert job.latest_request.run.answer
    posted = {event.key.rpartition(":")[2]: event for event in await talk.of(ev.Posted)}
    assert posted["answer"].ts == ""
    assert posted["answer"].fault == "I am no longer in that channel"
    assert purposes(server) == ["planner", "specialist:analyst", "specialist:analyst"]
    assert not talk.words()
    (told,) = scene.workspace.messages(scene.person().dm)
    assert "I am no longer in that channel" in told["text"]
    assert job.id in told["text"]
    assert "3 * 4 = 12" in extract_shown_text(told), "what was made is not lost"
