"""What people and files do wrong: each ends in one clear message in the thread and in the trace."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bot.slack.receive.attachments import LARGEST
from bot.slack.show import notices
from bot.workspace.person import Attached
from handoff import events as ev
from handoff.state.job_state import Job
from tests.system.brains import Gate, played, purposes
from tests.system.scene import SAMPLE, Scene, Talk, card_title, shown

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 8
INTERNALS = ("Traceback", "Error(", "Exception", "None", "pydantic", "/bot/", ".py")
"""What people should never get to read."""


def one_message(talk: Talk, *, parts: tuple[str, ...]) -> str:
    """The one end of a request, with all that it should say and nothing that is only for developers."""
    (end,) = [message for message in talk.words() if not message["metadata"]["event_payload"]["key"].endswith(":card")]
    text = shown(end)
    assert not [part for part in parts if part not in text], text
    assert not [word for word in INTERNALS if word in text], text
    return text


@pytest.fixture(autouse=True)
def no_bug_is_logged(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Whatever comes in, nothing of ours breaks: that would be in the log with its stack."""
    yield
    assert not [record.getMessage() for record in caplog.get_records("call") if record.exc_info]


async def test_an_empty_mention(scene: Scene) -> None:
    async with played(scene) as server:
        talk = await scene.ask("")
        job = await talk.over()
        await talk.seen(lambda: talk.status() in {"active", ""})
    one_message(talk, parts=("You mentioned me without a request", "for example"))
    assert job.latest.state == "failed"
    assert (await talk.of(ev.RequestAdded))[0].refusal
    assert not talk.cards()
    assert not server.requests


async def test_files_without_a_word(scene: Scene) -> None:
    async with scene.bot():
        talk = await scene.ask("", files=[SAMPLE])
        await talk.over()
    one_message(talk, parts=("I got your files, but no request",))


async def test_another_bot_that_mentions_us_is_told_why_that_does_nothing_and_then_left_alone(scene: Scene) -> None:
    world = scene.workspace._world
    channel = scene.workspace.channel_id("#general")

    async def mentioned(ts: str) -> None:
        event = {"type": "app_mention", "channel": channel, "ts": ts, "event_ts": ts, "bot_id": "B1"}
        said = {"subtype": "bot_message", "text": f"<@{scene.workspace.bot_user_id}> do something"}
        assert world.sockets is not None
        assert (await world.sockets.send("events_api", world.delivery._callback({**event, **said}), None)).ok

    async with played(scene) as server:
        talk = await scene.ask("What is 3 * 4?")
        await talk.over()
        calls = len(server.requests)
        ts = (await talk.of(ev.Posted))[0].ts
        await mentioned(ts)
        told = scene.thread("#general", ts)
        await told.over()
        await mentioned("1700000000.000100")
        await scene.barrier()
    (added,) = await told.of(ev.RequestAdded)
    assert added.refusal == notices.PEOPLE_ONLY
    assert added.request.user == "B1"
    posted = [call.args["text"] for call in scene.workspace.calls("chat.postMessage")]
    assert posted.count(notices.PEOPLE_ONLY) == 1, "or two bots would talk on and on"
    assert await scene.store.jobs.head(scene.thread("#general", "1700000000.000100").key) is None
    assert len(server.requests) == calls


async def answered_in_part_or_not(talk: Talk, job: Job, file: str) -> str:
    """The one message names the file, and so does the trace."""
    text = one_message(talk, parts=(file,))
    assert "could not answer" in text or "Answered in part" in text
    assert any(file in str(event) for event in await talk.events() if event.type != "RequestAdded")
    assert job.latest.state == ("failed" if "could not answer" in text else "completed")
    return text


async def test_a_picture_that_is_called_a_table(scene: Scene) -> None:
    async with scene.bot():
        talk = await scene.ask("why did churn rise? draft a short note to the board", files=[("sales.csv", PNG)])
        job = await talk.over()
    text = await answered_in_part_or_not(talk, job, "sales.csv")
    assert "really a picture" in text


async def test_a_good_file_beside_a_bad_one(scene: Scene) -> None:
    async with scene.bot():
        files: list[Attached] = [SAMPLE, ("huge.csv", b"a,b\n" + b"1,2\n" * (LARGEST // 4))]
        talk = await scene.ask("total revenue by region", files=files)
        job = await talk.over()
    text = one_message(talk, parts=("Answered in part", "huge.csv is too large (33 MB); at most 32 MB", "South"))
    assert job.latest.state == "completed"
    assert text.count("is too large") == 1
    assert card_title(talk.cards()[0]).startswith("Done in part")


async def test_a_channel_that_the_bot_is_removed_from(scene: Scene) -> None:
    gate = Gate()
    async with played(scene, analyst=gate) as server:
        talk = await scene.ask("What is 3 * 4?", channel="#sales")
        await gate.reached.wait()
        await talk.seen(talk.cards)
        await scene.person().kick("#sales")
        gate.open()
        job = await talk.over()
    assert job.latest.run.answer
    posted = {event.key.rpartition(":")[2]: event for event in await talk.of(ev.Posted)}
    assert posted["answer"].ts == ""
    assert posted["answer"].fault == "I am no longer in that channel"
    assert purposes(server) == ["planner", "specialist:analyst", "specialist:analyst"]
    assert not talk.words()
    (told,) = scene.workspace.messages(scene.person().dm)
    assert "I am no longer in that channel" in told["text"]
    assert job.id in told["text"]
    assert "3 * 4 = 12" in shown(told), "what was made is not lost"


async def test_an_archived_channel(scene: Scene) -> None:
    gate = Gate()
    async with played(scene, analyst=gate):
        talk = await scene.ask("What is 3 * 4?", channel="#sales")
        await gate.reached.wait()
        await talk.seen(talk.cards)
        scene.workspace.archive("#sales")
        gate.open()
        await talk.over()
    (answer,) = [event for event in await talk.of(ev.Posted) if event.key.endswith(":answer")]
    assert answer.fault == "the channel is archived"


async def test_a_very_long_request_with_odd_signs(scene: Scene) -> None:
    async with scene.bot():
        text = "What is 3 * 4? \u202eABC \u0000\u0007 <!channel> *_~`@everyone " + "and more " * 3000
        talk = await scene.ask(text)
        job = await talk.over()
    assert job.latest.state == "completed"
    assert "\u202e" not in shown(talk.words()[0])
    assert not [call for call in scene.workspace.calls("chat.postMessage") if not call.ok]
