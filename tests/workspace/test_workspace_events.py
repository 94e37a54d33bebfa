import asyncio
from typing import Any

import aiohttp
import pytest
from slack_sdk.web.async_client import AsyncWebClient

from bot.workspace.refusal import ActionFailed
from bot.workspace.workspace_server import Workspace
from tests.patience import eventually, patience
from tests.workspace.conftest import Change, Listen, Start


def collect(seen_events: Any, *events: Any) -> Any:
    def noting(event: Any) -> Any:
        async def note(body: Any) -> None:
            seen_events.append((event, body))

        return note

    def register(app: Any) -> None:
        for event in events:
            app.event(event)(noting(event))

    return register


async def test_a_mention_arrives_as_app_mention_and_as_message_with_different_event_ids(
    workspace: Workspace, listen: Listen
) -> None:
    seen: list[Any] = []
    await listen(workspace, collect(seen, "app_mention", "message"))
    ts = await workspace.person("ana").say("#general", "@testhand look at <this> & https://example.com/a?b=c.")
    await eventually(lambda: len(seen) == 2)
    bodies = dict(seen)
    assert set(bodies) == {"app_mention", "message"}
    assert bodies["app_mention"]["event_id"] != bodies["message"]["event_id"]
    event = bodies["app_mention"]["event"]
    assert event["ts"] == bodies["message"]["event"]["ts"] == ts
    assert event["text"] == f"<@{workspace.bot_user_id}> look at &lt;this&gt; &amp; <https://example.com/a?b=c>."
    assert event["channel"] == workspace.channel_id("#general")
    assert bodies["message"]["event"]["channel_type"] == "channel"
    assert bodies["message"]["authorizations"][0]["user_id"] == workspace.bot_user_id


async def test_a_mention_may_come_without_its_files_and_before_its_message(
    workspace: Workspace, listen: Listen
) -> None:
    seen: list[Any] = []
    await listen(workspace, collect(seen, "app_mention", "message"))
    workspace.faults.add("app_mention", "without_files")
    workspace.faults.add("message.channels", "late_delivery", seconds=30)
    await workspace.person("ana").say("#general", "@testhand look", files=[("a.csv", b"x")])
    await eventually(lambda: seen)
    workspace.clock.advance(31)
    await eventually(lambda: len(seen) == 2)
    told = [(name, [file["name"] for file in body["event"].get("files", ())]) for name, body in seen]
    assert told == [("app_mention", []), ("message", ["a.csv"])]
    assert "team" not in seen[1][1]["event"], "as on Slack"


async def test_a_direct_message_arrives_once(workspace: Workspace, listen: Listen) -> None:
    seen: list[Any] = []
    await listen(workspace, collect(seen, "app_mention", "message"))
    ben = workspace.person("ben")
    await ben.say("@testhand", "hello @testhand")
    await ben.say("@testhand", "and again")
    await eventually(lambda: len(seen) >= 2)
    assert [event["event"]["channel_type"] for _, event in seen] == ["im", "im"]
    assert {event["event"]["channel"] for _, event in seen} == {ben.dm}


async def test_replies_edits_deletions_and_reactions_are_told(workspace: Workspace, listen: Listen) -> None:
    seen: list[Any] = []
    await listen(workspace, collect(seen, "message", "reaction_added", "member_left_channel"))
    ana = workspace.person("ana")
    root = await ana.say("#general", "root")
    reply = await ana.say("#general", "reply", thread_ts=root)
    await ana.edit("#general", reply, "better reply")
    await ana.delete("#general", reply)
    await ana.react("#general", root, "eyes")
    await ana.kick("#general")
    await eventually(lambda: len(seen) == 6)
    events = [body["event"] for _, body in sorted(seen, key=lambda each: each[1]["event"]["event_ts"])]
    assert [event.get("subtype", event["type"]) for event in events] == [
        "message",
        "message",
        "message_changed",
        "message_deleted",
        "reaction_added",
        "member_left_channel",
    ]
    assert events[1]["thread_ts"] == root
    assert events[1]["parent_user_id"] == ana.id
    assert events[2]["message"]["text"] == "better reply"
    assert events[2]["previous_message"]["text"] == "reply"
    assert events[4]["item"]["ts"] == root
    assert events[5]["user"] == workspace.bot_user_id


async def test_what_is_not_subscribed_or_lacks_its_scope_is_not_delivered(
    start: Start, listen: Listen, manifest_with: Change
) -> None:
    def edit(raw: dict[str, Any]) -> None:
        raw["settings"]["event_subscriptions"]["bot_events"].remove("reaction_added")
        raw["oauth_config"]["scopes"]["bot"].remove("channels:history")

    workspace = await start(manifest=manifest_with(edit))
    seen: list[Any] = []
    await listen(workspace, collect(seen, "app_mention", "message", "reaction_added"))
    ana = workspace.person("ana")
    ts = await ana.say("#general", "@testhand hi")
    await ana.react("#general", ts, "eyes")
    await ana.say("@testhand", "last")
    await eventually(lambda: any(body["event"]["text"] == "last" for _, body in seen))
    assert sorted(event for event, _ in seen) == ["app_mention", "message"]


async def test_the_bot_hears_nothing_where_it_is_not(workspace: Workspace, listen: Listen) -> None:
    seen: list[Any] = []
    await listen(workspace, collect(seen, "app_mention", "message"))
    ana = workspace.person("ana")
    await ana.kick("#general")
    await ana.say("#general", "@testhand are you there?")
    await ana.invite("#general")
    await ana.say("#general", "@testhand and now?")
    await eventually(lambda: len(seen) >= 2)
    assert {body["event"]["text"].partition("> ")[2] for _, body in seen} == {"and now?"}


class Deaf:
    """A Socket Mode client that acknowledges only what it is told to."""

    def __init__(self, socket: Any) -> None:
        self.socket = socket

    async def next(self) -> Any:
        while True:
            body = await self.socket.receive_json(timeout=patience())
            if body["type"] != "hello":
                return body

    async def ack(self, envelope: Any) -> None:
        await self.socket.send_json({"envelope_id": envelope["envelope_id"]})


@pytest.fixture
async def deaf(session: aiohttp.ClientSession) -> Any:
    async def connect(workspace: Workspace) -> Any:
        client = AsyncWebClient(base_url=workspace.api_url)
        url = (await client.apps_connections_open(app_token=workspace.app_token))["url"]
        return Deaf(await session.ws_connect(url))

    return connect


async def test_an_unacknowledged_event_comes_again_at_once_then_after_one_and_five_minutes(
    start: Start, deaf: Any
) -> None:
    workspace = await start(ack_seconds=0.05)
    app = await deaf(workspace)
    await workspace.person("ana").say("@testhand", "hello")
    first, second = await app.next(), await app.next()
    assert (first["retry_attempt"], first["retry_reason"]) == (0, "")
    assert (second["retry_attempt"], second["retry_reason"]) == (1, "timeout")
    assert first["payload"]["event_id"] == second["payload"]["event_id"]
    assert first["envelope_id"] != second["envelope_id"]
    with pytest.raises(TimeoutError):
        await app.socket.receive(timeout=0.3)


async def test_the_third_and_fourth_attempt_wait_for_the_clock(start: Start, deaf: Any) -> None:
    workspace = await start(ack_seconds=0.05, retry_scale=0.002)  # 0.12 s and 0.6 s
    app = await deaf(workspace)
    await workspace.person("ana").say("@testhand", "hello")
    loop = asyncio.get_running_loop()
    times = []
    for attempt in range(4):
        envelope = await app.next()
        times.append(loop.time())
        assert envelope["retry_attempt"] == attempt
    assert times[2] - times[1] >= 0.12
    assert times[3] - times[2] >= 0.6
    with pytest.raises(TimeoutError):
        await app.socket.receive(timeout=0.3)


async def test_an_acknowledged_event_does_not_come_again(start: Start, deaf: Any) -> None:
    workspace = await start(ack_seconds=0.2, retry_scale=0)
    app = await deaf(workspace)
    await workspace.person("ana").say("@testhand", "hello")
    await app.ack(await app.next())
    await workspace.person("ana").say("@testhand", "again")
    envelope = await app.next()
    assert envelope["payload"]["event"]["text"] == "again"
    await app.ack(envelope)
    with pytest.raises(TimeoutError):
        await app.socket.receive(timeout=0.5)


async def test_a_broken_connection_is_a_failed_attempt(start: Start, deaf: Any) -> None:
    workspace = await start(ack_seconds=5)
    app = await deaf(workspace)
    await workspace.person("ana").say("@testhand", "hello")
    await app.next()
    await app.socket.close()
    envelope = await (await deaf(workspace)).next()
    assert (envelope["retry_attempt"], envelope["retry_reason"]) == (1, "connection_closed")


async def test_each_payload_goes_to_one_of_the_connections(workspace: Workspace, deaf: Any) -> None:
    apps = [await deaf(workspace), await deaf(workspace)]
    for number in range(4):
        await workspace.person("ana").say("@testhand", str(number))
    texts = [(await app.next())["payload"]["event"]["text"] for app in apps for _ in range(2)]
    assert sorted(texts) == ["0", "1", "2", "3"]


async def test_the_eleventh_connection_is_turned_away(workspace: Workspace, deaf: Any) -> None:
    apps = [await deaf(workspace) for _ in range(11)]
    assert (await apps[10].next())["reason"] == "too_many_websockets"
    assert workspace.connection_count == 10


async def test_a_ticket_opens_one_connection(workspace: Workspace, session: aiohttp.ClientSession) -> None:
    client = AsyncWebClient(base_url=workspace.api_url)
    url = (await client.apps_connections_open(app_token=workspace.app_token))["url"]
    await session.ws_connect(url)
    with pytest.raises(aiohttp.WSServerHandshakeError):
        await session.ws_connect(url)


async def test_bolt_reconnects_when_asked_to(workspace: Workspace, listen: Listen) -> None:
    seen: list[Any] = []
    await listen(workspace, collect(seen, "message"))
    await workspace.refresh_connections()
    await eventually(lambda: workspace.connection_count == 1)
    await workspace.person("ana").say("@testhand", "still there?")
    await eventually(lambda: seen)


async def test_duplicate_and_lost_deliveries(start: Start, listen: Listen) -> None:
    workspace = await start()
    seen: list[Any] = []
    await listen(workspace, collect(seen, "message"))
    workspace.faults.add("message.im", "duplicate_delivery")
    workspace.faults.add("message.im", "lost_delivery")
    ana = workspace.person("ana")
    await ana.say("@testhand", "twice")
    await eventually(lambda: len(seen) == 2)
    assert seen[0][1]["event_id"] == seen[1][1]["event_id"]
    await ana.say("@testhand", "late")
    await eventually(lambda: len(seen) == 3)


async def test_home_and_stop(workspace: Workspace, listen: Listen, client: AsyncWebClient) -> None:
    seen: list[Any] = []
    await listen(workspace, collect(seen, "app_home_opened", "agent_session_stopped"))
    ana = workspace.person("ana")
    await ana.open_home()
    root = await ana.say("#general", "@testhand work")
    channel = workspace.channel_id("#general")
    with pytest.raises(ActionFailed, match="no Stop button"):
        await ana.stop("#general", root)
    await client.agents_sessions_setStatus(channel_id=channel, thread_ts=root, status="processing", title="Work")
    stream = await client.chat_startStream(
        channel=channel,
        thread_ts=root,
        markdown_text="So ",
        recipient_team_id=workspace.team_id,
        recipient_user_id=ana.id,
    )
    await ana.stop("#general", root)
    await eventually(lambda: len(seen) == 2)
    assert seen[0][1]["event"]["tab"] == "home"
    event = seen[1][1]["event"]
    assert event["streaming_message_ts"] == [stream["ts"]]
    assert (event["thread_ts"], event["user"], event["channel"]) == (root, ana.id, channel)
    assert workspace.thread("#general", root)[1]["streaming"] is False
    assert workspace.session("#general", root) == {"status": "processing", "title": "Work", "line": ""}


async def test_an_agent_is_told_what_people_have_open(start: Start, listen: Listen, manifest_with: Change) -> None:
    def subscribe(raw: dict[str, Any]) -> None:
        raw["settings"]["event_subscriptions"]["bot_events"].append("app_context_changed")

    workspace = await start(manifest=manifest_with(subscribe), rate_limits=False)
    seen: list[Any] = []
    await listen(workspace, collect(seen, "app_context_changed", "app_home_opened", "message"))
    ana, team, channel = workspace.person("ana"), workspace.team_id, workspace.channel_id("#general")

    async def after(count: int) -> Any:
        await eventually(lambda: len(seen) == count)
        return seen[-1][1]

    root = await ana.say("#general", "Who brings the chairs?")
    assert "app_context" not in (await after(1))["event"], "only a direct message says what is open"
    await ana.look_at("#general")
    told = await after(2)
    in_channel = {"type": "slack#/types/channel_id", "value": channel, "team_id": team}
    assert told["event"] == {"type": "app_context_changed", "context": {"entities": [in_channel]}}
    acting = {"user_id": ana.id, "is_bot": False}
    assert told["authorizations"] == [
        {"enterprise_id": None, "team_id": team, "is_enterprise_install": False, **acting}
    ]
    await ana.look_at("#general")  # nothing else is open than before
    await ana.look_at("#general", root)
    value = {"channel_id": channel, "message_ts": root}
    message = {"type": "slack#/types/message_context", "value": value, "team_id": team}
    assert (await after(3))["event"]["context"] == {"entities": [message, in_channel]}
    await ana.say("@testhand", "Summarise this")
    assert (await after(4))["event"]["app_context"] == {"entities": [message, in_channel]}
    assert "app_context" not in workspace.messages(ana.dm)[0], "the message itself does not keep it"
    await ana.open_home("messages")
    assert (await after(5))["event"]["context"] == {"entities": [message, in_channel]}
    canvas = await ana.write_canvas("Plan", "# Plan")
    await ana.look_at(canvas=canvas["id"])
    assert [one["value"] for one in (await after(6))["event"]["context"]["entities"]] == [canvas["id"]]
    await ana.look_at()
    assert (await after(7))["event"]["context"] == {}
    for wrong in ({"channel": "#nowhere"}, {"channel": "#general", "thread_ts": "1.0"}, {"canvas": "F0"}):
        with pytest.raises(ActionFailed):
            await ana.look_at(**wrong)


async def test_an_app_that_did_not_subscribe_is_told_nothing_of_what_is_open(
    workspace: Workspace, listen: Listen
) -> None:
    seen: list[Any] = []
    await listen(workspace, collect(seen, "app_home_opened", "message"))
    ana = workspace.person("ana")
    await ana.look_at("#general")
    await ana.say("@testhand", "Summarise this")
    await ana.open_home()
    await eventually(lambda: len(seen) == 2)
    assert not [body for _, body in seen if {"app_context", "context"} & body["event"].keys()]
