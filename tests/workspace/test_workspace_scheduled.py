"""Messages for later, and channels that the app makes."""

import time

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from bot.workspace.scheduled_messages import MAX_MESSAGES_IN_WINDOW, MAX_SECONDS_AHEAD
from bot.workspace.workspace_server import Workspace
from tests.workspace.conftest import Change, Clients, ExpectRefusal, Start


def in_minutes(minutes: int) -> int:
    return int(time.time()) + 60 * minutes


async def test_a_message_is_posted_when_its_time_comes(
    workspace: Workspace, client: AsyncWebClient, general: str
) -> None:
    root = await workspace.person("ana").say("#general", "Later?")
    for minutes, text in ((20, "second"), (10, "first")):
        answer = await client.chat_scheduleMessage(
            channel=general, post_at=in_minutes(minutes), text=text, thread_ts=root
        )
    assert answer["scheduled_message_id"].startswith("Q")
    assert (answer["message"]["type"], answer["message"]["text"]) == ("delayed_message", "first")
    listed = (await client.chat_scheduledMessages_list(latest=str(in_minutes(15))))["scheduled_messages"]
    assert [(each["text"], each["channel_id"]) for each in listed] == [("first", general)]
    workspace.clock.advance(3600)
    thread = await workspace.until(lambda: found if len(found := workspace.thread("#general", root)) == 3 else [])
    assert [each["text"] for each in thread[1:]] == ["first", "second"]
    assert thread[1]["bot_id"] == workspace.identity.bot_id
    assert (await client.chat_scheduledMessages_list())["scheduled_messages"] == []


async def test_messages_for_later_are_listed_in_pages_and_windows(
    client: AsyncWebClient, expect_refusal: ExpectRefusal, general: str
) -> None:
    times = [in_minutes(10 * number) for number in range(1, 4)]
    for number, at in enumerate(times):
        await client.chat_scheduleMessage(channel=general, post_at=at, text=str(number))
    pages = await client.chat_scheduledMessages_list(limit=2)
    assert [[each["text"] for each in page["scheduled_messages"]] async for page in pages] == [["0", "1"], ["2"]]
    window = await client.chat_scheduledMessages_list(oldest=str(times[1]), latest=f"{times[1]}.000000")
    assert [each["text"] for each in window["scheduled_messages"]] == ["1"]
    await expect_refusal("invalid_ts_oldest", client.chat_scheduledMessages_list(oldest="yesterday"))
    await expect_refusal("invalid_ts_latest", client.chat_scheduledMessages_list(latest="tomorrow"))
    await expect_refusal("invalid_cursor", client.chat_scheduledMessages_list(cursor="2"))


async def test_a_message_for_later_can_be_deleted_until_it_is_posted(
    workspace: Workspace, client: AsyncWebClient, expect_refusal: ExpectRefusal, general: str
) -> None:
    sales = workspace.channel_id("#sales")
    kept = (await client.chat_scheduleMessage(channel=general, post_at=in_minutes(5), text="x"))["scheduled_message_id"]
    delete = client.chat_deleteScheduledMessage
    await expect_refusal("invalid_scheduled_message_id", delete(channel=sales, scheduled_message_id=kept))
    await delete(channel=general, scheduled_message_id=kept)
    await expect_refusal("invalid_scheduled_message_id", delete(channel=general, scheduled_message_id=kept))
    workspace.clock.advance(600)
    await client.chat_postMessage(channel=general, text="now")
    assert [each["text"] for each in workspace.messages("#general")] == ["now"]


async def test_times_that_slack_does_not_take_are_refused(
    workspace: Workspace, client: AsyncWebClient, expect_refusal: ExpectRefusal, general: str
) -> None:
    schedule = client.chat_scheduleMessage
    await expect_refusal("time_in_past", schedule(channel=general, post_at=in_minutes(-1), text="x"))
    await expect_refusal(
        "time_too_far", schedule(channel=general, post_at=int(time.time()) + MAX_SECONDS_AHEAD + 60, text="x")
    )
    at = in_minutes(10)
    for _ in range(MAX_MESSAGES_IN_WINDOW):
        await schedule(channel=general, post_at=at, text="x")
    await expect_refusal("restricted_too_many", schedule(channel=general, post_at=at + 60, text="x"))
    await schedule(channel=workspace.channel_id("#sales"), post_at=at, text="x")


@pytest.fixture
async def manager(start: Start, manifest_with: Change, client_of: Clients) -> tuple[Workspace, AsyncWebClient]:
    """A workspace whose app may manage public channels."""
    workspace = await start(
        manifest=manifest_with(lambda raw: raw["oauth_config"]["scopes"]["bot"].append("channels:manage"))
    )
    return workspace, client_of(workspace)


async def test_an_app_makes_a_channel_and_brings_people_in(
    manager: tuple[Workspace, AsyncWebClient], expect_refusal: ExpectRefusal
) -> None:
    workspace, client = manager
    ana = workspace.person("ana")
    made = (await client.conversations_create(name="war-room"))["channel"]
    assert (made["is_member"], made["is_private"]) == (True, False)
    await client.conversations_invite(channel=made["id"], users=[ana.id, ana.id])
    members = (await client.conversations_members(channel=made["id"]))["members"]
    assert members == [workspace.bot_user_id, ana.id]
    changed = (await client.conversations_setTopic(channel=made["id"], topic="Stay calm"))["channel"]
    assert changed["topic"]["value"] == "Stay calm"
    await ana.say("#war-room", "Here")
    create, invite = client.conversations_create, client.conversations_invite
    await expect_refusal("name_taken", create(name="war-room"))
    await expect_refusal("invalid_name_specials", create(name="War room!"))
    await expect_refusal("invalid_name_maxlength", create(name="x" * 81))
    assert (await expect_refusal("missing_scope", create(name="hidden", is_private=True)))["needed"] == "groups:write"
    await expect_refusal("already_in_channel", invite(channel=made["id"], users=ana.id))
    await expect_refusal("cant_invite_self", invite(channel=made["id"], users=workspace.bot_user_id))
    await expect_refusal("user_not_found", invite(channel=made["id"], users="U0"))
    await expect_refusal("too_long", client.conversations_setTopic(channel=made["id"], topic="x" * 251))


async def test_people_are_found_by_their_address_and_reactions_by_their_message(
    start: Start, manifest_with: Change, client_of: Clients, expect_refusal: ExpectRefusal
) -> None:
    workspace = await start(
        manifest=manifest_with(lambda raw: raw["oauth_config"]["scopes"]["bot"].append("users:read.email"))
    )
    client, ana = client_of(workspace), workspace.person("ana")
    assert (await client.users_lookupByEmail(email="Ana@local.example"))["user"]["id"] == ana.id
    await expect_refusal("users_not_found", client.users_lookupByEmail(email="nobody@local.example"))
    ts = await ana.say("#general", "hi")
    await ana.react("#general", ts, "eyes")
    found = await client.reactions_get(channel=workspace.channel_id("#general"), timestamp=ts)
    assert found["message"]["reactions"] == [{"name": "eyes", "users": [ana.id], "count": 1}]
