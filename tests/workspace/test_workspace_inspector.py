"""What the inspector knows: each payload and call, how it ended, and why an event was not sent."""

from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp
from slack_bolt.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient

from bot.workspace.traffic import MAX_ENTRIES
from bot.workspace.workspace_server import Workspace
from tests.patience import eventually, patience
from tests.workspace.conftest import Change, ExpectRefusal, Listen, Start

Json = dict[str, Any]


async def ask(session: aiohttp.ClientSession, workspace: Workspace, name: str, **body: Any) -> Json:
    """Make one of the page's requests, as ana."""
    base, _, token = workspace.page_url.partition("/?token=")
    headers = {"X-Workspace-Token": token}
    body = {"as": workspace.person("ana").id, **body}
    async with session.post(f"{base}/local/{name}", json=body, headers=headers) as answer:
        done: Json = await answer.json()
    return done


async def entries(session: aiohttp.ClientSession, workspace: Workspace, name: str) -> list[Json]:
    return [each for each in (await ask(session, workspace, "traffic"))["entries"] if each["name"] == name]


def greet(heard: list[str]) -> Callable[[AsyncApp], None]:
    def register(app: AsyncApp) -> None:
        @app.event("app_mention")
        async def mention(body: Json) -> None:
            heard.append(body["event_id"])

        @app.event("message")
        async def message() -> None:
            pass

    return register


async def test_an_event_waits_is_acknowledged_and_is_sent_again(
    workspace: Workspace, session: aiohttp.ClientSession, listen: Listen
) -> None:
    await workspace.person("ana").say("#general", "@testhand hello")
    (entry,) = await entries(session, workspace, "app_mention")
    assert (entry["state"], entry["ms"], entry["kind"]) == ("waiting", None, "event")
    heard: list[str] = []
    await listen(workspace, greet(heard))
    await eventually(lambda: heard)
    await eventually(lambda: all(each.ms is not None for each in workspace.traffic()))
    (entry,) = await entries(session, workspace, "app_mention")
    assert entry["state"] == "ok"
    assert entry["about"].endswith("hello")
    whole = (await ask(session, workspace, "traffic_entry", id=entry["id"]))["entry"]
    assert whole["payload"]["event_id"] == heard[0]
    assert (await ask(session, workspace, "resend", id=entry["id"]))["ok"]
    await eventually(lambda: len(heard) == 2)
    assert (await ask(session, workspace, "resend", id=entry["id"], retry=True))["ok"]
    await eventually(lambda: len(heard) == 3)
    assert heard[0] == heard[2] != heard[1]


async def test_calls_are_kept_with_their_error_and_fault_and_never_the_token(
    workspace: Workspace, client: AsyncWebClient, session: aiohttp.ClientSession, expect_refusal: ExpectRefusal
) -> None:
    await expect_refusal("channel_not_found", client.chat_postMessage(channel="C404", text="hello"))
    workspace.faults.add("auth.test", "error", error="fatal_error")
    await expect_refusal("fatal_error", client.auth_test(token=workspace.bot_token))
    (post,) = await entries(session, workspace, "chat.postMessage")
    assert (post["state"], post["error"], post["about"]) == ("error", "channel_not_found", "hello")
    whole = (await ask(session, workspace, "traffic_entry", id=post["id"]))["entry"]
    assert whole["answer"] == {"ok": False, "error": "channel_not_found"}
    assert whole["payload"]["text"] == "hello"
    await expect_refusal("missing_scope", client.team_info())
    assert (await entries(session, workspace, "team.info"))[0]["error"] == "missing_scope: team:read"
    (test,) = await entries(session, workspace, "auth.test")
    assert (test["error"], test["fault"]) == ("fatal_error", "error")
    assert workspace.bot_token not in str([each.to_details() for each in workspace.traffic()])
    assert not (await ask(session, workspace, "resend", id=post["id"]))["ok"]


async def test_an_entry_that_nobody_knows_is_told_in_words(
    session: aiohttp.ClientSession, workspace: Workspace
) -> None:
    for name in ("traffic_entry", "resend"):
        for unknown in ("one", "", 0, -1):
            answer = await ask(session, workspace, name, id=unknown)
            assert answer == {"ok": False, "error": "That entry is no longer remembered."}


async def test_an_event_that_the_app_may_not_have_says_why(
    start: Start, session: aiohttp.ClientSession, manifest_with: Change
) -> None:
    def without_a_scope(raw: Json) -> None:
        raw["oauth_config"]["scopes"]["bot"].remove("app_mentions:read")

    workspace = await start(manifest=manifest_with(without_a_scope))
    await workspace.person("ana").say("#leads", "@testhand hello")
    (mention,) = await entries(session, workspace, "app_mention")
    assert mention["state"] == "unsent"
    assert mention["error"] == "The manifest lacks the scope app_mentions:read, which app_mention needs."
    (message,) = await entries(session, workspace, "message.groups")
    assert "does not list message.groups" in message["error"]
    refusal = await ask(session, workspace, "resend", id=mention["id"])
    assert refusal == {"ok": False, "error": "Only events that were sent can be sent again."}


async def test_a_request_url_where_nothing_answers_is_named(start: Start, session: aiohttp.ClientSession) -> None:
    workspace = await start(request_url="http://127.0.0.1:9/slack/events", retry_scale=0)
    await workspace.person("ana").say("#leads", "@testhand hello")
    await workspace.until(
        lambda: [each for each in workspace.traffic() if each.attempts == 4 and each.error], patience()
    )
    (entry,) = await entries(session, workspace, "app_mention")
    assert (entry["state"], entry["error"]) == ("error", "nothing answers at http://127.0.0.1:9/slack/events")


async def test_clicks_and_what_comes_by_a_response_url_are_there_too(
    workspace: Workspace, session: aiohttp.ClientSession, listen: Listen
) -> None:
    done: list[bool] = []

    def register(app: AsyncApp) -> None:
        @app.command("/testhand")
        async def command(ack: Callable[[], Awaitable[None]], respond: Callable[[str], Awaitable[None]]) -> None:
            await ack()
            await respond("done")
            done.append(True)

    await listen(workspace, register)
    await workspace.person("ana").command("#general", "/testhand", "status")
    await eventually(lambda: done)
    (command,) = await entries(session, workspace, "/testhand")
    assert (command["kind"], command["about"], command["state"]) == ("command", "status", "ok")
    (respond,) = await entries(session, workspace, "response_url")
    assert (respond["about"], respond["state"]) == ("done", "ok")


async def test_only_the_last_ones_are_remembered(workspace: Workspace, client: AsyncWebClient) -> None:
    for _ in range(MAX_ENTRIES + 3):
        await client.auth_test()
    assert len(workspace.traffic()) == MAX_ENTRIES
