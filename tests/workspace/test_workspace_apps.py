"""Several apps in one workspace: each gets its own, and sees what the other posts."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from slack_bolt.async_app import AsyncApp

from bot.workspace.refusal import ActionFailed
from bot.workspace.workspace_server import Workspace
from tests.patience import eventually
from tests.workspace.conftest import MANIFEST, Change, Clients, ExpectRefusal, Listen, Start


@pytest.fixture
def other_manifest(manifest_with: Change) -> Path:
    """A second app: another name and command, the same in all else."""

    def rename(raw: dict[str, Any]) -> None:
        raw["display_information"]["name"] = "Other Hand"
        raw["features"]["bot_user"]["display_name"] = "otherhand"
        raw["features"]["slash_commands"][0]["command"] = "/otherhand"
        raw["features"]["shortcuts"] = [{"name": "Other form", "type": "global", "callback_id": "other_form"}]

    return manifest_with(rename)


@pytest.fixture
def second(workspace: Workspace, other_manifest: Path) -> Workspace:
    return workspace.add_app(other_manifest, rate_limits=False)


def register(name: str, heard: list[tuple[str, str]]) -> Callable[[AsyncApp], None]:
    """Make an app say what it heard, under its name."""

    def register(app: AsyncApp) -> None:
        @app.event("app_mention")
        async def mention(event: Any, say: Any) -> None:
            element = {"type": "button", "action_id": "go", "text": {"type": "plain_text", "text": "Go"}}
            await say(name, thread_ts=event["ts"], blocks=[{"type": "actions", "elements": [element]}])

        @app.event("message")
        async def message(event: Any) -> None:
            heard.append((name, event["text"]))

        @app.action("go")
        async def go(ack: Any, respond: Any) -> None:
            await ack()
            await respond(text=f"{name} went", replace_original=False)

        @app.command(f"/{name}")
        async def command(ack: Any, client: Any, body: Any) -> None:
            await ack()
            title = {"type": "plain_text", "text": name}
            view = {"type": "modal", "callback_id": "form", "title": title, "submit": title, "blocks": []}
            block = {"type": "section", "text": title}
            await client.views_open(trigger_id=body["trigger_id"], view={**view, "blocks": [block]})

        @app.view("form")
        async def form(ack: Any) -> None:
            await ack()
            heard.append((name, "submitted"))

        @app.event("app_home_opened")
        async def home(event: Any, client: Any) -> None:
            block = {"type": "section", "text": {"type": "plain_text", "text": f"{name}'s home"}}
            await client.views_publish(user_id=event["user"], view={"type": "home", "blocks": [block]})

    return register


async def test_each_app_gets_its_own_and_sees_what_the_other_posts(
    workspace: Workspace, second: Workspace, listen: Listen
) -> None:
    heard: list[tuple[str, str]] = []
    await listen(workspace, register("testhand", heard))
    await listen(second, register("otherhand", heard))
    ana = workspace.person("ana")
    ts = await ana.say("#general", "@otherhand hello")
    answer = (await workspace.until(lambda: workspace.thread("#general", ts)[1:]))[0]
    assert (answer["text"], answer["user"], answer["app_id"]) == (
        "otherhand",
        second.bot_user_id,
        second.identity.app_id,
    )
    hello = f"<@{second.bot_user_id}> hello"
    both = {("testhand", hello), ("otherhand", hello), ("testhand", "otherhand")}
    await eventually(lambda: both <= set(heard))
    await ana.click("#general", answer["ts"], "go")
    assert [each["text"] for each in await workspace.until(lambda: ana.ephemerals("#general"))] == ["otherhand went"]
    assert [call.method for call in second.calls("chat.postMessage")] == ["chat.postMessage"]
    assert workspace.calls("chat.postMessage") == []
    assert {entry.app for entry in workspace.traffic()} == {workspace.identity.app_id, second.identity.app_id}


async def test_windows_homes_and_direct_messages_belong_to_one_of_them(
    workspace: Workspace, second: Workspace, listen: Listen
) -> None:
    heard: list[tuple[str, str]] = []
    await listen(workspace, register("testhand", heard))
    await listen(second, register("otherhand", heard))
    ana, ana_at_other = workspace.person("ana"), second.person("ana")
    await ana.command("#general", "/otherhand")
    view = (await workspace.until(ana.views))[0]
    assert view["app_id"] == second.identity.app_id
    assert await ana.submit(view["id"])
    await eventually(lambda: ("otherhand", "submitted") in heard)
    for person, name in ((ana, "testhand"), (ana_at_other, "otherhand")):
        await person.open_home()
        home = await workspace.until(person.home)
        assert home is not None
        assert home["blocks"][0]["text"]["text"] == f"{name}'s home"
    assert ana.dm != ana_at_other.dm
    await ana.say("@otherhand", "only you")
    await eventually(lambda: ("otherhand", "only you") in heard)
    assert [each["text"] for each in workspace.messages(ana_at_other.dm)] == ["only you"]
    assert ("testhand", "only you") not in heard
    await ana_at_other.kick("#sales")
    ts = await ana.say("#sales", "not for the other")
    await eventually(lambda: ("testhand", "not for the other") in heard)
    assert ("otherhand", "not for the other") not in heard
    assert workspace.thread("#sales", ts)[0]["user"] == ana.id


async def test_a_token_opens_what_is_its_apps_alone(
    workspace: Workspace,
    second: Workspace,
    client_of: Clients,
    expect_refusal: ExpectRefusal,
    session: aiohttp.ClientSession,
) -> None:
    one, other = client_of(workspace), client_of(second)
    assert (await one.auth_test())["user_id"] == workspace.bot_user_id
    assert (await other.auth_test())["user_id"] == second.bot_user_id
    general = workspace.channel_id("#general")
    ts = (await one.chat_postMessage(channel=general, text="mine"))["ts"]
    await expect_refusal("cant_update_message", other.chat_update(channel=general, ts=ts, text="yours"))
    await expect_refusal("channel_not_found", other.chat_postMessage(channel=workspace.person("ana").dm, text="hi"))
    members = (await other.conversations_members(channel=general))["members"]
    assert {workspace.bot_user_id, second.bot_user_id} <= set(members)
    await workspace.person("ana").say("#general", "read", files=[("a.csv", b"x\n1\n")])
    url = workspace.messages("#general")[-1]["files"][0]["url_private"]
    for token in (workspace.bot_token, second.bot_token):
        async with session.get(url, headers={"Authorization": f"Bearer {token}"}) as response:
            assert await response.read() == b"x\n1\n"
    with pytest.raises(ActionFailed, match="not a valid command"):
        await workspace.person("ana").command("#general", "/nobody")


async def test_each_bot_is_described_as_its_own_apps(
    workspace: Workspace, second: Workspace, client_of: Clients
) -> None:
    owners, other = (workspace, second), workspace.identity
    wanted = [(each.bot_user_id, each.identity.bot_id, each.identity.app_id) for each in owners]
    wanted.append((other.other_bot_user_id, other.other_bot_id, other.other_app_id))
    for client in map(client_of, owners):
        for user_id, bot_id, app_id in wanted:
            profile = (await client.users_info(user=user_id))["user"]["profile"]
            assert (profile["bot_id"], profile["api_app_id"]) == (bot_id, app_id)
            bot = (await client.bots_info(bot=bot_id))["bot"]
            assert (bot["user_id"], bot["app_id"]) == (user_id, app_id)


async def test_apps_of_one_name_are_refused(workspace: Workspace, second: Workspace, other_manifest: Path) -> None:
    assert second.bot_token != workspace.bot_token
    with pytest.raises(ValueError, match="already"):
        workspace.add_app(other_manifest)
    with pytest.raises(ValueError, match="already"):
        workspace.add_app(MANIFEST)


async def test_with_data_both_are_there_again(
    start: Start, other_manifest: Path, tmp_path: Path, client_of: Clients
) -> None:
    first = await start(data=tmp_path / "data")
    other = first.add_app(other_manifest)
    await client_of(other).chat_postMessage(channel=other.person("ana").dm, text="See you")
    token, dm = other.bot_token, other.person("ana").dm
    await first.stop()
    again = await start(data=tmp_path / "data")
    other = again.add_app(other_manifest)
    assert (other.bot_token, other.person("ana").dm) == (token, dm)
    assert again.bot_token == first.bot_token
    assert [each["text"] for each in again.messages(dm)] == ["See you"]
    assert (await client_of(other).auth_test())["user_id"] == other.bot_user_id
