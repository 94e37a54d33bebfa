import asyncio

import aiohttp
import pytest
from slack_sdk.web.async_client import AsyncWebClient

from bot.workspace.workspace_server import Workspace
from tests.patience import patience
from tests.workspace.conftest import Change, Clients, ExpectRefusal, Start

METADATA = {"event_type": "job_posted", "event_payload": {"key": "42"}}


async def test_a_thread_is_posted_read_edited_and_deleted(
    workspace: Workspace, client: AsyncWebClient, general: str
) -> None:
    root = await workspace.person("ana").say("#general", "root")
    posted = await client.chat_postMessage(channel=general, text="one", thread_ts=root, metadata=METADATA)
    second = await client.chat_postMessage(channel="#general", text="two", thread_ts=root)
    replies = await client.conversations_replies(channel=general, ts=root, include_all_metadata=True)
    assert [each["text"] for each in replies["messages"]] == ["root", "one", "two"]
    assert replies["messages"][1]["metadata"] == METADATA
    assert replies["messages"][0]["reply_count"] == 2
    assert replies["messages"][0]["latest_reply"] == second["ts"]
    plain = await client.conversations_replies(channel=general, ts=root)
    assert "metadata" not in plain["messages"][1]

    await client.chat_update(channel=general, ts=posted["ts"], text="uno")
    await client.chat_delete(channel=general, ts=second["ts"])
    thread = workspace.thread("#general", root)
    assert [each["text"] for each in thread] == ["root", "uno"]
    assert thread[1]["metadata"] == METADATA
    assert "edited" in thread[1]
    assert thread[0]["reply_count"] == 1
    history = await client.conversations_history(channel=general)
    assert [each["text"] for each in history["messages"]] == ["root"]


async def test_a_thread_counts_all_who_reply_and_lists_five(workspace: Workspace, client: AsyncWebClient) -> None:
    ana = workspace.person("ana")
    root = await ana.say("#sales", "root")
    reply = (await client.chat_postMessage(channel=workspace.channel_id("#sales"), text="x", thread_ts=root))["ts"]
    people = [workspace.person(name) for name in ("ana", "ben", "cleo", "gus", "uma")]
    for person in people:
        await person.say("#sales", "me too", thread_ts=root)
    counted = workspace.thread("#sales", root)[0]
    assert counted["reply_users"] == [workspace.bot_user_id, *(person.id for person in people[:4])]
    assert counted["reply_users_count"] == 6
    await client.chat_delete(channel=workspace.channel_id("#sales"), ts=reply)
    counted = workspace.thread("#sales", root)[0]
    assert counted["reply_users"] == [person.id for person in people]
    assert counted["reply_users_count"] == 5


async def test_history_pages_and_windows(
    workspace: Workspace, client: AsyncWebClient, general: str, expect_refusal: ExpectRefusal
) -> None:
    ana = workspace.person("ana")
    stamps = [await ana.say("#general", str(number)) for number in range(5)]
    first = await client.conversations_history(channel=general, limit=2)
    assert [each["text"] for each in first["messages"]] == ["4", "3"]
    assert first["has_more"]
    rest = await client.conversations_history(
        channel=general, limit=3, cursor=first["response_metadata"]["next_cursor"]
    )
    assert [each["text"] for each in rest["messages"]] == ["2", "1", "0"]
    assert not rest["has_more"]
    window = await client.conversations_history(channel=general, oldest=stamps[1], latest=stamps[3])
    assert [each["text"] for each in window["messages"]] == ["2"]
    closed = await client.conversations_history(channel=general, oldest=stamps[1], latest=stamps[3], inclusive=True)
    assert [each["text"] for each in closed["messages"]] == ["3", "2", "1"]
    for bound in ("oldest", "latest"):
        await expect_refusal(
            f"invalid_ts_{bound}", client.conversations_history(channel=general, **{bound: "yesterday"})
        )  # type: ignore[arg-type]


async def test_a_deleted_root_leaves_a_tombstone(
    workspace: Workspace, client: AsyncWebClient, general: str, expect_refusal: ExpectRefusal
) -> None:
    root = (await client.chat_postMessage(channel=general, text="root"))["ts"]
    await client.chat_postMessage(channel=general, text="reply", thread_ts=root)
    await client.chat_delete(channel=general, ts=root)
    assert workspace.thread("#general", root)[0]["subtype"] == "tombstone"
    await expect_refusal("message_not_found", client.chat_update(channel=general, ts=root, text="back"))


async def test_who_and_where_is_refused_as_slack_refuses(
    workspace: Workspace, client: AsyncWebClient, general: str, expect_refusal: ExpectRefusal
) -> None:
    ana = workspace.person("ana")
    ts = await ana.say("#general", "mine")
    await expect_refusal("channel_not_found", client.chat_postMessage(channel="C0NOWHERE", text="x"))
    await expect_refusal("channel_not_found", client.conversations_info(channel="#general"))
    await expect_refusal("cant_update_message", client.chat_update(channel=general, ts=ts, text="x"))
    await expect_refusal("cant_delete_message", client.chat_delete(channel=general, ts=ts))
    await expect_refusal("message_not_found", client.chat_update(channel=general, ts="1.000001", text="x"))
    await expect_refusal("thread_not_found", client.chat_postMessage(channel=general, text="x", thread_ts="1.000001"))
    reply = await client.chat_postMessage(channel=general, text="x", thread_ts=ts)
    await expect_refusal(
        "cannot_reply_to_message", client.chat_postMessage(channel=general, text="x", thread_ts=reply["ts"])
    )
    await expect_refusal("thread_not_found", client.conversations_replies(channel=general, ts="1.000001"))
    await ana.kick("#general")
    await expect_refusal("not_in_channel", client.chat_postMessage(channel=general, text="x"))
    await expect_refusal("not_in_channel", client.conversations_history(channel=general))
    await client.conversations_join(channel=general)
    await client.chat_postMessage(channel=general, text="back")
    workspace.archive("#general")
    await expect_refusal("is_archived", client.chat_postMessage(channel=general, text="x"))


@pytest.mark.filterwarnings("ignore:The top-level `text`:UserWarning")  # the SDK says so too
async def test_what_is_too_long_or_empty_is_refused(
    client: AsyncWebClient, general: str, expect_refusal: ExpectRefusal
) -> None:
    ts = (await client.chat_postMessage(channel=general, text="x" * 40_000))["ts"]
    await expect_refusal("msg_too_long", client.chat_postMessage(channel=general, text="x" * 40_001))
    await expect_refusal("msg_too_long", client.chat_update(channel=general, ts=ts, text="x" * 4_001))
    await client.chat_postMessage(channel=general, markdown_text="x" * 12_000)
    await expect_refusal("msg_too_long", client.chat_postMessage(channel=general, markdown_text="x" * 12_001))
    await expect_refusal("no_text", client.chat_postMessage(channel=general, text=""))
    await expect_refusal("no_text", client.chat_postMessage(channel=general, text=" \n"))
    await expect_refusal(
        "markdown_text_conflict", client.chat_postMessage(channel=general, text="a", markdown_text="b")
    )
    await expect_refusal(
        "invalid_metadata_format", client.chat_postMessage(channel=general, text="x", metadata={"a": 1})
    )
    huge = {"event_type": "x", "event_payload": {"x": "y" * 17_000}}
    await expect_refusal("metadata_too_large", client.chat_postMessage(channel=general, text="x", metadata=huge))


async def test_unknown_and_missing_arguments_are_named(
    client: AsyncWebClient, general: str, expect_refusal: ExpectRefusal
) -> None:
    answer = await expect_refusal(
        "invalid_arguments", client.api_call("chat.postMessage", json={"channel": general, "txt": "x"})
    )
    assert answer["response_metadata"]["messages"] == ["[ERROR] unknown argument: txt"]
    answer = await expect_refusal("invalid_arguments", client.api_call("chat.update", json={"channel": general}))
    assert answer["response_metadata"]["messages"] == ["[ERROR] missing required field: ts"]
    await expect_refusal("unknown_method", client.api_call("chat.shout"))


async def test_tokens_and_scopes(
    workspace: Workspace,
    client: AsyncWebClient,
    general: str,
    expect_refusal: ExpectRefusal,
    start: Start,
    manifest_with: Change,
    client_of: Clients,
) -> None:
    url = workspace.api_url
    await expect_refusal("not_authed", AsyncWebClient(base_url=url).auth_test())
    await expect_refusal("invalid_auth", AsyncWebClient("xoxb-wrong", base_url=url).auth_test())
    await expect_refusal("not_allowed_token_type", AsyncWebClient(workspace.app_token, base_url=url).auth_test())
    await expect_refusal("not_allowed_token_type", client.apps_connections_open(app_token=workspace.bot_token))
    answer = await client.auth_test()
    assert (answer["user_id"], answer["team_id"]) == (workspace.bot_user_id, workspace.team_id)
    assert "reactions:write" in answer.headers["x-oauth-scopes"].split(",")

    other = await start(
        manifest=manifest_with(lambda raw: raw["oauth_config"]["scopes"]["bot"].remove("reactions:write"))
    )
    answer = await expect_refusal(
        "missing_scope", client_of(other).reactions_add(channel=general, name="eyes", timestamp="1.0")
    )
    assert answer["needed"] == "reactions:write"
    assert "chat:write" in answer["provided"]
    await expect_refusal("missing_scope", client.chat_postMessage(channel=general, text="x", username="Somebody"))
    await expect_refusal("missing_scope", client.team_info())


async def test_a_form_may_carry_the_token_and_json_may_not(
    workspace: Workspace, session: aiohttp.ClientSession, general: str
) -> None:
    form = {"token": workspace.bot_token, "channel": general, "text": "by form", "unfurl_links": "false"}
    async with session.post(f"{workspace.api_url}chat.postMessage", data=form) as response:
        assert (await response.json())["ok"]
    async with session.post(f"{workspace.api_url}chat.postMessage", json=form) as response:
        assert (await response.json())["error"] == "not_authed"


async def test_get_changes_nothing(workspace: Workspace, session: aiohttp.ClientSession, general: str) -> None:
    headers = {"Authorization": f"Bearer {workspace.bot_token}"}
    params = {"channel": general, "text": "x"}
    async with session.get(f"{workspace.api_url}chat.postMessage", params=params, headers=headers) as response:
        assert (await response.json())["ok"] is False
    assert workspace.messages("#general") == []


async def test_reactions(
    workspace: Workspace, client: AsyncWebClient, general: str, expect_refusal: ExpectRefusal
) -> None:
    ts = await workspace.person("ana").say("#general", "hi")
    await client.reactions_add(channel=general, name="eyes", timestamp=ts)
    await workspace.person("ben").react("#general", ts, "eyes")
    assert workspace.messages("#general")[0]["reactions"] == [
        {"name": "eyes", "users": [workspace.bot_user_id, workspace.person("ben").id], "count": 2}
    ]
    await expect_refusal("already_reacted", client.reactions_add(channel=general, name="eyes", timestamp=ts))
    await expect_refusal("invalid_name", client.reactions_add(channel=general, name="No Such!", timestamp=ts))
    await expect_refusal("message_not_found", client.reactions_add(channel=general, name="eyes", timestamp="1.000001"))
    await client.reactions_remove(channel=general, name="eyes", timestamp=ts)
    await expect_refusal("no_reaction", client.reactions_remove(channel=general, name="eyes", timestamp=ts))


async def test_people_channels_and_the_rest_are_described(
    workspace: Workspace, client: AsyncWebClient, general: str, expect_refusal: ExpectRefusal
) -> None:
    ana = workspace.person("ana")
    assert (await client.users_info(user=ana.id))["user"]["profile"]["display_name"] == "ana"
    await expect_refusal("user_not_found", client.users_info(user="U0NOBODY"))
    assert len((await client.users_list())["members"]) == 8
    names = [channel["name"] for channel in (await client.conversations_list())["channels"]]
    assert sorted(names) == ["general", "northwind", "sales"]
    assert len((await client.conversations_list(types="im"))["channels"]) == 5
    await expect_refusal("missing_scope", client.conversations_list(types="private_channel"))
    info = (await client.conversations_info(channel=general, include_num_members=True))["channel"]
    assert (info["is_member"], info["num_members"]) == (True, 4)
    assert workspace.bot_user_id in (await client.conversations_members(channel=general))["members"]
    assert (await client.conversations_open(users=ana.id))["channel"]["id"] == ana.dm
    link = await client.chat_getPermalink(channel=general, message_ts=await ana.say("#general", "x"))
    assert f"/archives/{general}/p" in link["permalink"]
    bot_id = (await client.auth_test())["bot_id"]
    assert (await client.bots_info(bot=bot_id))["bot"]["user_id"] == workspace.bot_user_id
    assert (await client.api_test(foo="bar"))["args"] == {"foo": "bar"}


async def test_ephemeral_messages_are_for_one_person(
    workspace: Workspace, client: AsyncWebClient, general: str, expect_refusal: ExpectRefusal
) -> None:
    ana = workspace.person("ana")
    await client.chat_postEphemeral(channel=general, user=ana.id, text="psst")
    assert [each["text"] for each in ana.ephemerals("#general")] == ["psst"]
    assert workspace.person("ben").ephemerals("#general") == []
    assert workspace.messages("#general") == []
    await expect_refusal(
        "user_not_in_channel", client.chat_postEphemeral(channel=ana.dm, user=workspace.person("ben").id, text="x")
    )


async def test_a_thread_without_replies_shows_no_ephemeral_message(
    workspace: Workspace, client: AsyncWebClient, general: str
) -> None:
    ana = workspace.person("ana")
    ts = await ana.say("#general", "a root")
    await client.chat_postEphemeral(channel=general, user=ana.id, thread_ts=ts, text="unseen")
    await client.chat_postMessage(channel=general, thread_ts=ts, text="a reply")
    await client.chat_postEphemeral(channel=general, user=ana.id, thread_ts=ts, text="seen")
    assert [each["text"] for each in ana.ephemerals("#general")] == ["seen"]


async def test_a_message_to_a_person_goes_to_the_dm(workspace: Workspace, client: AsyncWebClient) -> None:
    ana = workspace.person("ana")
    answer = await client.chat_postMessage(channel=ana.id, text="hello")
    assert answer["channel"] == ana.dm


async def test_canvases(
    workspace: Workspace, client: AsyncWebClient, general: str, expect_refusal: ExpectRefusal
) -> None:
    content = {"type": "markdown", "markdown": "# Report"}
    made = await client.canvases_create(title="Report", document_content=content, channel_id=general)
    change = {"operation": "insert_at_end", "document_content": {"type": "markdown", "markdown": "More"}}
    await client.canvases_edit(canvas_id=made["canvas_id"], changes=[change])
    assert await workspace.file(made["canvas_id"]) == b"# Report\nMore"
    await expect_refusal("canvas_not_found", client.canvases_edit(canvas_id="F0NONE", changes=[change]))


async def test_until_tells_what_it_saw_last(workspace: Workspace) -> None:
    await workspace.person("ana").say("#general", "something")
    with pytest.raises(TimeoutError, match=r"not true within 0.05 s; last value \[\]"):
        await workspace.until(lambda: workspace.messages("#general")[1:], timeout=0.05)


async def test_until_sees_what_the_caller_notes_though_nothing_changes_in_the_workspace(workspace: Workspace) -> None:
    noted: list[str] = []
    asyncio.get_running_loop().call_later(0.3, noted.append, "here")
    assert await workspace.until(lambda: noted, timeout=patience()) == ["here"]
