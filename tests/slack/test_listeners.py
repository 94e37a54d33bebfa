"""What people do in Slack reaches the service once: a real Bolt app on Socket Mode against the strict workspace."""

import json
import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest
from slack_bolt.async_app import AsyncApp
from slack_bolt.request.async_request import AsyncBoltRequest

from bot.features.catalogue import SPOKEN_COMMANDS, SUBCOMMANDS
from bot.slack.receive.router import list_help_words
from bot.slack.send.web_calls import BackgroundTasks
from bot.slack.show import notices
from bot.slack.views.answer_message import SHOW_EVIDENCE
from bot.slack.views.button_data import RequestRef, encode_data
from bot.slack.views.outgoing import make_button
from bot.workspace.workspace_server import Workspace
from handoff.contracts import Place
from tests.slack.memory_service import MemoryService
from tests.slack.workspaces import connected_app


class Scene:
    """A workspace, the real listeners connected to it, and the service they hand in at."""

    def __init__(
        self, workspace: Workspace, app: AsyncApp, service: MemoryService, background: BackgroundTasks
    ) -> None:
        self.workspace, self.app, self.service, self.background = workspace, app, service, background
        self.ana, self.ben = workspace.person("ana"), workspace.person("ben")
        self.bot = "@leadhand"

    async def wait_for_requests(self, count: int = 1) -> None:
        await self.workspace.until(lambda: len(self.service.requests) >= count)

    def place(self, ts: str, channel: str = "#general") -> Place:
        return Place(team=self.workspace.team_id, channel=self.workspace.channel_id(channel), thread_ts=ts)

    def reactions(self, channel: str, ts: str) -> list[str]:
        found = [message for message in self.workspace.messages(channel) if message["ts"] == ts]
        return [each["name"] for each in found[0].get("reactions", [])]

    async def wait_for_ephemeral(self, person: Any, text: str, channel: str = "#general") -> dict[str, Any]:
        return await self.workspace.until(
            lambda: next((m for m in person.ephemerals(channel) if text in json.dumps(m, ensure_ascii=False)), None)
        )


@pytest.fixture
async def scene() -> AsyncIterator[Scene]:
    async with connected_app(retry_scale=0.001) as made:
        yield Scene(made.workspace, made.app, made.service, made.background)


async def test_a_stop_with_nothing_to_stop_frees_the_session(scene: Scene) -> None:
    ts = await scene.ana.say("#general", "root")
    await scene.ana.say("#general", "a reply", thread_ts=ts)
    channel = scene.workspace.channel_id("#general")
    await scene.app.client.agents_sessions_setStatus(channel_id=channel, thread_ts=ts, status="processing")
    await scene.ana.stop("#general", ts)
    await scene.wait_for_ephemeral(scene.ana, notices.NOTHING_TO_STOP)
    await scene.workspace.until(lambda: scene.workspace.session("#general", ts)["status"] == "active")


async def test_the_evidence_of_a_job_that_is_forgotten_is_missed_in_words(scene: Scene) -> None:
    await scene.ana.say("#general", f"{scene.bot} a question")
    await scene.wait_for_requests()
    place, spec, _ = scene.service.requests[0]
    value = encode_data(RequestRef(place.job_id, spec.id))
    sent = await scene.app.client.chat_postMessage(
        channel=place.channel,
        thread_ts=place.thread_ts,
        text="Yes.",
        blocks=[{"type": "actions", "elements": [make_button("Evidence", SHOW_EVIDENCE, value)]}],
    )
    await scene.ben.click("#general", sent["ts"], SHOW_EVIDENCE, value)
    await scene.wait_for_ephemeral(scene.ben, notices.NO_EVIDENCE)


async def test_commands_are_answered_to_the_person_alone(scene: Scene) -> None:
    await scene.ana.say("#general", f"{scene.bot} compare the offers")
    await scene.wait_for_requests()
    job = scene.service.requests[0][0].job_id
    for text, answered in (
        ("", "Mention me again to ask for more"),
        ("status", "compare the offers"),
        (f"status {job.lower()}", f"Job {job}"),
        ("trace", "Which job?"),
        ("trace J123", "is no job"),
        ("trace JAAAAAAAAAA", notices.UNKNOWN_JOB),
        ("dance <!channel>", "Taken as a request"),
        ("staus", "Did you mean `/leadhand status`? Nothing was started."),
        (f"stauts {job} from the start, please", "Did you mean `/leadhand status`?"),
        ("help me write a letter to them", "Taken as a request"),
        ("help me", "Mention me again to ask for more"),
        ("stop", "Which job?"),
        ("Status of our suppliers in March?", "Taken as a request"),
        ("memory of our servers is full, why?", "Taken as a request"),
        ("crew and cargo of the Aurora?", "Taken as a request"),
        ("status der Bestellung nach Köln?", "Taken as a request"),
        ("売上はなぜ増えましたか", "Taken as a request"),
        ("forget what I told you of my salary", "I cannot tell who that is"),
        ("status J01234 of last week please", "If it is a request, mention me with it:"),
        (f"{scene.bot} help", "Mention me again to ask for more"),
        (f"{scene.bot}", "Mention me again to ask for more"),
        (f"cancel {job}", notices.STOPPING),
        (f"cancel {job}", "is over already"),
    ):
        await scene.ana.command("#general", "/leadhand", text)
        await scene.wait_for_ephemeral(scene.ana, answered)
    helped = scene.ana.ephemerals("#general")[0]["blocks"][0]["text"]["text"]
    assert [one.name for one in SUBCOMMANDS if f"/leadhand {one.name}" not in helped] == []
    assert [word for word in list_help_words(SPOKEN_COMMANDS) if f"`{word}`" not in helped] == []
    assert scene.service.typed_texts == [
        "dance @channel",
        "help me write a letter to them",
        "Status of our suppliers in March?",
        "memory of our servers is full, why?",
        "crew and cargo of the Aurora?",
        "status der Bestellung nach Köln?",
        "売上はなぜ増えましたか",
    ]
    for text, refused in (
        (f"status {job}", notices.STATUS_NOT_ALLOWED),
        (f"trace {job}", notices.TRACE_NOT_ALLOWED),
        (f"cancel {job}", "Only the person who asked for it, or an admin, can stop it."),
    ):
        await scene.ben.command("#general", "/leadhand", text)
        await scene.wait_for_ephemeral(scene.ben, refused)


async def test_a_window_that_slack_does_not_open_is_told(scene: Scene) -> None:
    ts = await scene.ben.say("#general", "the server is slow")
    scene.workspace.faults.add("views.open", "error", error="expired_trigger_id")
    await scene.ana.shortcut("start_job", "#general", ts)
    told = await scene.workspace.until(lambda: scene.ana.ephemerals("#general"))
    assert "did not open the window" in told[-1]["text"]


async def test_the_prompts(scene: Scene) -> None:
    await scene.ana.open_home("messages")
    prompts = await scene.workspace.until(lambda: scene.workspace.prompts(scene.ana.dm))
    assert "What can you do?" in [prompt["title"] for prompt in prompts]


@pytest.mark.parametrize(
    ("word", "answered"),
    [
        ("help", "Mention me again to ask for more"),
        ("status", "You have no jobs yet"),
        ("stop", notices.NOTHING_TO_STOP),
    ],
)
async def test_what_is_asked_outside_of_threads_is_answered_there(scene: Scene, word: str, answered: str) -> None:
    """A thread that has no reply yet would not show it. Within a thread it is answered as well."""
    ts = await scene.ana.say("#general", f"{scene.bot} {word}")
    await scene.ana.say(scene.ana.dm, word)
    for place in ("#general", scene.ana.dm):
        told = await scene.workspace.until(lambda place=place: scene.ana.ephemerals(place))
        assert [each.get("thread_ts") for each in told] == [None]
        assert answered in str(told)
    await scene.ana.say("#general", f"{scene.bot} {word}", thread_ts=ts)
    (told,) = await scene.workspace.until(lambda: scene.ana.ephemerals("#general")[1:])
    assert answered in str(told)
    await scene.background.drain()
    assert len(scene.ana.ephemerals("#general")) == 2
    assert scene.service.requests == []


async def test_every_subscribed_event_is_acknowledged_and_nothing_broken_gets_in(scene: Scene) -> None:
    events: list[dict[str, Any]] = [
        {"type": "message", "channel": "C1", "channel_type": "channel"},
        {"type": "app_mention", "channel": ["C1"], "ts": 1},
        {"type": "agent_session_stopped"},
        {"type": "app_home_opened"},
        {"type": "reaction_added", "user": "U1"},
        {"type": "never_heard_of"},
    ]
    for event in events:
        body = {"type": "event_callback", "team_id": "T1", "event_id": "Ev1", "event": event}
        response = await scene.app.async_dispatch(AsyncBoltRequest(mode="socket_mode", body=body))
        assert response.status == 200, event
    for action in ({"action_id": "answer:0", "value": "x"}, {"action_id": "of_old"}, {"action_id": "stop"}):
        body = {
            "type": "block_actions",
            "user": {"id": "U1"},
            "actions": [{"type": "button", "block_id": "b", **action}],
        }
        response = await scene.app.async_dispatch(AsyncBoltRequest(mode="socket_mode", body=body))
        assert response.status == 200, action
    assert scene.service.requests == []


async def test_a_fault_is_logged_without_anybodys_words(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    scene.service.away = True
    event = {"type": "app_mention", "channel": "C1", "user": scene.ana.id, "ts": "1.1", "text": "a secret of mine"}
    body = {"type": "event_callback", "team_id": scene.workspace.team_id, "event_id": "Ev1", "event": event}
    with caplog.at_level(logging.DEBUG, logger="bot"):
        response = await scene.app.async_dispatch(AsyncBoltRequest(mode="socket_mode", body=body))
    assert response.status == 500
    assert "StoreError: the store is away" in caplog.text
    assert "secret" not in caplog.text


@pytest.mark.parametrize("kind", ["rate_limited", "server_error_before", "lost_reply"])
async def test_that_it_was_received_is_said_although_slack_is_slow_to_take_it(scene: Scene, kind: Any) -> None:
    scene.workspace.faults.add("reactions.add", kind)
    scene.workspace.faults.add("chat.postEphemeral", "rate_limited")
    ts = await scene.ana.say("#general", f"{scene.bot} compare the offers")
    await scene.ana.say("#general", f"{scene.bot} help")
    await scene.workspace.until(lambda: "eyes" in scene.reactions("#general", ts))
    await scene.wait_for_ephemeral(scene.ana, "Mention me again to ask for more")


async def test_who_cannot_be_told_in_the_channel_is_told_directly(scene: Scene) -> None:
    ts = await scene.ana.say("#general", "root")
    await scene.ana.kick("#general")
    await notices.show_ephemeral_message(
        scene.app.client, scene.place(ts), scene.ana.id, notices.make_note("hello there")
    )
    assert [message["text"] for message in scene.workspace.messages(scene.ana.dm)] == ["hello there"]
