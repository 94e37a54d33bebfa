import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
from slack_sdk.web.async_client import AsyncWebClient

from bot.workspace.workspace_server import Workspace
from tests.patience import eventually, patience
from tests.workspace.conftest import Listen

PLAIN = {"type": "plain_text", "text": "Go"}


@pytest.fixture
def base(workspace: Workspace) -> Any:
    return workspace.api_url.removesuffix("/api/")


def cookie_of(base: str) -> str:
    return f"workspace_token_{base.rpartition(':')[2]}"


@pytest.fixture
async def page(workspace: Workspace, base: str) -> AsyncIterator[Any]:
    """A browser that opened the page: its cookie, and the Origin it sends."""
    jar = aiohttp.CookieJar(unsafe=True)
    async with aiohttp.ClientSession(cookie_jar=jar, headers={"Origin": base}) as session:
        async with session.get(workspace.page_url) as response:
            assert response.status in (200, 404)  # 404: the page itself is not installed
            if response.status == 404:
                jar.update_cookies({cookie_of(base): workspace.page_url.partition("token=")[2]}, response.url)
        yield session


@pytest.fixture
def post(page: aiohttp.ClientSession, base: str, workspace: Workspace) -> Any:
    async def post(name: Any, /, **body: Any) -> Any:
        body = {"as": workspace.person("ana").id, **body}
        async with page.post(f"{base}/local/{name}", json=body) as response:
            return await response.json()

    return post


@pytest.mark.parametrize("path", ["/", "/api/auth.test", "/local/live", "/link/?ticket=x", "/page/index.html"])
async def test_another_host_name_or_origin_is_refused_everywhere(
    workspace: Workspace, session: aiohttp.ClientSession, base: str, path: str
) -> None:
    token = {"X-Workspace-Token": workspace.page_url.partition("token=")[2]}
    port = base.rpartition(":")[2]
    for wrong in (
        {"Host": f"evil.example:{port}"},
        {"Host": "evil.example"},
        {"Host": "127.0.0.1.evil.example"},
        {"Host": "127.0.0.1:1"},
        {"Origin": "http://evil.example"},
        {"Origin": "http://127.0.0.1"},
        {"Host": "127.0.0.1", "Origin": "http://127.0.0.1"},
    ):
        async with session.get(base + path, headers={**token, **wrong}) as response:
            assert response.status == 403, wrong
    async with session.get(base + path, headers={**token, "Origin": "null"}) as response:
        assert response.status == 403


async def test_the_page_needs_its_token(workspace: Workspace, session: aiohttp.ClientSession, base: str) -> None:
    for path in ("/", "/?token=wrong"):
        async with session.get(base + path) as response:
            assert response.status == 403
    async with session.post(f"{base}/local/home", json={"as": workspace.person("ana").id}) as response:
        assert response.status == 403
    async with session.post(f"{base}/local/home", json={}, headers={"X-Workspace-Token": "wrong"}) as response:
        assert response.status == 403


async def test_the_page_comes_with_its_cookie_and_a_strict_policy(
    workspace: Workspace, session: aiohttp.ClientSession
) -> None:
    async with session.get(workspace.page_url) as response:
        policy = response.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "unsafe-inline" not in policy
        assert response.headers["Referrer-Policy"] == "no-referrer"
        if response.status == 200:
            cookie = response.headers["Set-Cookie"]
            assert "HttpOnly" in cookie
            assert "SameSite=Strict" in cookie


async def test_a_cookie_alone_without_our_origin_changes_nothing(workspace: Workspace, base: str) -> None:
    body = {"as": workspace.person("ana").id, "channel": "#general", "text": "forged"}
    cookie = {"Cookie": f"{cookie_of(base)}={workspace.page_url.partition('token=')[2]}"}
    async with aiohttp.ClientSession(headers=cookie) as session:
        async with session.post(f"{base}/local/say", json=body) as response:
            assert response.status == 403
        with pytest.raises(aiohttp.WSServerHandshakeError):
            await session.ws_connect(f"{base}/local/live")
        async with session.post(
            f"{base}/local/say", json=body | {"text": "ours"}, headers={"Origin": base}
        ) as response:
            assert response.status == 200
    assert [each["text"] for each in workspace.messages("#general")] == ["ours"]


async def test_it_listens_on_loopback_alone(workspace: Workspace) -> None:
    server = workspace._runner.addresses
    assert [address[0] for address in server] == ["127.0.0.1"]


class Page:
    def __init__(self, socket: Any) -> None:
        self.socket, self.seen_bodies = socket, []

    async def until(self, kind: str) -> Any:
        while True:
            body = json.loads(await self.socket.receive_str(timeout=patience()))
            self.seen_bodies.append(body)
            if body["type"] == kind:
                return body


async def test_the_page_sees_what_happens_as_one_person_sees_it(
    workspace: Workspace, page: aiohttp.ClientSession, base: str, post: Any, client: AsyncWebClient
) -> None:
    ana, ben = workspace.person("ana"), workspace.person("ben")
    workspace.show_notice("Rehearsal model")
    live = Page(await page.ws_connect(f"{base}/local/live?as={ana.id}"))
    hello = await live.until("hello")
    space = hello["workspace"]
    assert hello["me"] == ana.id
    assert space["notice"] == "Rehearsal model"
    assert [person["name"] for person in space["people"]] == ["ana", "ben", "cleo", "gus", "uma", "sol"]
    assert sorted(channel["name"] for channel in space["channels"]) == [
        "",
        "general",
        "leads",
        "mpdm-ana--ben--gus-1",
        "northwind",
        "sales",
    ]
    assert space["commands"] == [{"command": "/testhand", "description": "Ask the hand", "usage_hint": "status | help"}]
    assert space["shortcuts"][0]["callback_id"] == "start_job"

    channel = workspace.channel_id("#general")
    await ben.say("@testhand", "for ben alone")
    said = await post("say", channel=channel, text="@testhand hello")
    shown = await live.until("message")
    assert (shown["channel"], shown["message"]["ts"]) == (channel, said["ts"])
    thread = {"channel_id": channel, "thread_ts": said["ts"]}
    await client.agents_sessions_setStatus(**thread, status="processing", title="Job")
    assert (await live.until("session"))["status"] == "processing"
    await client.assistant_threads_setStatus(**thread, status="is reading")
    assert (await live.until("status"))["status"] == "is reading"
    await client.chat_postEphemeral(channel=channel, user=ana.id, text="psst")
    assert (await live.until("ephemeral"))["message"]["text"] == "psst"
    ts = (await client.chat_postMessage(channel=channel, text="x", thread_ts=said["ts"]))["ts"]
    await client.chat_delete(channel=channel, ts=ts)
    assert (await live.until("deleted"))["ts"] == ts
    await client.views_publish(user_id=ana.id, view={"type": "home", "blocks": [{"type": "header", "text": PLAIN}]})
    assert (await live.until("home"))["view"]["type"] == "home"
    workspace.show_notice("Another model")
    assert (await live.until("notice"))["text"] == "Another model"
    assert not any(ben.dm == body.get("channel") for body in live.seen_bodies)

    history = await post("history", channel=channel)
    assert [each["text"] for each in history["messages"]] == [f"<@{workspace.bot_user_id}> hello"]
    opened = await post("thread", channel=channel, ts=said["ts"])
    assert opened["session"] == {"status": "processing", "title": "Job"}


async def test_the_page_does_what_a_person_does(
    workspace: Workspace, page: aiohttp.ClientSession, base: str, post: Any, client: AsyncWebClient, listen: Listen
) -> None:
    opened: list[Any] = []

    def register(app: Any) -> None:
        @app.action("go")
        async def action(ack: Any, body: Any, client: AsyncWebClient) -> None:
            await ack()
            view = {"type": "modal", "callback_id": "m", "title": PLAIN, "blocks": [], "notify_on_close": True}
            opened.append(await client.views_open(trigger_id=body["trigger_id"], view=view))

        @app.view_closed("m")
        async def handle_close(ack: Any) -> None:
            await ack()
            opened.append("closed")

        @app.command("/testhand")
        async def command(ack: Any) -> None:
            await ack("done")

    await listen(workspace, register)
    ana = workspace.person("ana")
    channel = workspace.channel_id("#general")
    form = aiohttp.FormData({"as": ana.id})
    form.add_field("file", b"1,2\n", filename="a.csv", content_type="text/csv")
    async with page.post(f"{base}/local/upload", data=form) as response:
        file = (await response.json())["file"]
    assert (file["name"], file["size"]) == ("a.csv", 4)
    said = await post("say", channel=channel, text="", files=[file["id"]])
    assert workspace.messages("#general")[0]["files"][0]["id"] == file["id"]
    async with page.get(base + file["url"]) as response:
        assert await response.read() == b"1,2\n"
        assert response.headers["Content-Disposition"].startswith("attachment")
        assert response.headers["Content-Security-Policy"].startswith("sandbox")

    await post("react", channel=channel, ts=said["ts"], name="eyes", add=True)
    assert workspace.messages("#general")[0]["reactions"][0]["count"] == 1
    await post("react", channel=channel, ts=said["ts"], name="eyes", add=False)
    assert "reactions" not in workspace.messages("#general")[0]

    block = {"type": "actions", "block_id": "b", "elements": [{"type": "button", "text": PLAIN, "action_id": "go"}]}
    ts = (await client.chat_postMessage(channel=channel, text="?", blocks=[block]))["ts"]
    press = {"action_id": "go", "type": "button"}
    assert (await post("action", channel=channel, ts=ts, block_id="b", action=press))["ok"]
    await workspace.until(ana.views)
    assert (await post("close", view_id=ana.views()[0]["id"]))["ok"]
    assert (await post("command", channel=channel, text="/testhand status"))["ok"]
    assert ana.ephemerals("#general")[0]["text"] == "done"
    assert (await post("kick", channel=channel))["ok"]
    assert (await post("invite", channel=channel))["ok"]
    await eventually(lambda: "closed" in opened)


async def test_what_does_not_work_is_told_in_words(
    workspace: Workspace, page: aiohttp.ClientSession, base: str, post: Any
) -> None:
    channel = workspace.channel_id("#general")
    assert await post("stop", channel=channel, thread_ts="1.0") == {
        "ok": False,
        "error": "There is no Stop button: the agent's session is not processing.",
    }
    assert "not a valid command" in (await post("command", channel=channel, text="/nope"))["error"]
    assert "nothing to send" in (await post("say", channel=channel, text=" "))["error"]
    assert "is in no channel" in (await post("say", channel="C0NONE", text="x"))["error"]
    assert "missing" in (await post("say", text="x"))["error"]
    assert "no such thing" in (await post("dance"))["error"]
    assert "Nobody" in (await post("home", **{"as": "U0NOBODY"}))["error"]
    async with page.post(f"{base}/local/say", data=b"{", headers={"Content-Type": "application/json"}) as response:
        assert (await response.json())["error"] == "That was not JSON."
    for unread in (b"\xff", b"[" * 100_000):
        async with page.post(
            f"{base}/local/say", data=unread, headers={"Content-Type": "application/json"}
        ) as response:
            assert (await response.json())["error"] == "That was not JSON."
    assert workspace.messages("#general") == []


async def test_pages_that_come_and_go_leave_nothing_behind(
    workspace: Workspace, page: aiohttp.ClientSession, base: str
) -> None:
    sockets = [await page.ws_connect(f"{base}/local/live") for _ in range(3)]
    await asyncio.gather(*(socket.close() for socket in sockets))
    await workspace.person("ana").say("#general", "x")
    watchers = workspace._world.state.changes.watchers
    await eventually(lambda: not watchers)
