"""Attached files: fetched with the bot's token, which goes to Slack alone."""

import asyncio
import contextlib
import dataclasses
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from aiohttp import web
from slack_sdk.web.async_client import AsyncWebClient

from bot.slack.receive.attachments import MAX_FILE_BYTES, download_attachment, is_slack_address
from bot.slack.receive.message_reader import CANVAS_TYPE, parse_files
from bot.slack.send.budget import CallBudget
from bot.slack.send.web_calls import WebCalls, close_client, make_client
from bot.workspace.shared_content import render_canvas_page
from bot.workspace.workspace_server import Workspace
from handoff.contracts import Attachment
from tests.slack.workspaces import workspace_and_client
from tests.specialists.local_web import serving

TABLE = b"a,b\n1,2\n"


@dataclasses.dataclass
class Scene:
    """A workspace with a table that ana has attached, and a client of it."""

    workspace: Workspace
    client: AsyncWebClient
    attachment: Attachment

    async def get(self, **changes: Any) -> tuple[Attachment, bytes] | str:
        return await download_attachment(
            self.client, WebCalls(CallBudget()), self.attachment.model_copy(update=changes)
        )

    async def fault(self, **changes: Any) -> str:
        fault = await self.get(**changes)
        assert isinstance(fault, str)
        return fault


@pytest.fixture
async def scene() -> AsyncIterator[Scene]:
    async with workspace_and_client(rate_limits=True) as (workspace, client):
        ts = await workspace.person("ana").say("#general", "sum", files=[("table.csv", TABLE)])
        (attachment,) = parse_files(workspace.thread("#general", ts)[0]["files"])
        yield Scene(workspace, client, attachment)


Stranger = Callable[[Callable[[web.Request], web.Response]], Awaitable[str]]


@pytest.fixture
async def stranger() -> AsyncIterator[tuple[Stranger, list[web.Request]]]:
    """Servers that are not Slack, and the requests that they got."""
    got: list[web.Request] = []

    async def start(answer: Callable[[web.Request], web.Response]) -> str:
        async def handle(request: web.Request) -> web.Response:
            got.append(request)
            return answer(request)

        return (await servers.enter_async_context(serving(handle))).url("")

    async with contextlib.AsyncExitStack() as servers:
        yield start, got


async def test_a_file_comes_with_its_facts_and_is_looked_up_where_it_has_no_address(scene: Scene) -> None:
    assert await scene.get() == (scene.attachment, TABLE)
    bare = [{"id": scene.attachment.file_id, "mode": "file_access", "file_access": "check_file_info"}]
    (attachment,) = parse_files(bare)
    assert attachment.url == ""
    assert await download_attachment(scene.client, WebCalls(CallBudget()), attachment) == (scene.attachment, TABLE)
    assert scene.workspace.call_count("files.info") == 1
    assert "file_not_found" in await scene.fault(url="", file_id="F0NONE")
    scene.workspace.faults.add("files.info", "error", error="missing_scope")
    assert "`leadhand check` names it" in await scene.fault(url="")
    scene.workspace._world.state.files[scene.attachment.file_id]["is_external"] = True
    assert "kept outside Slack" in await scene.fault(url="")


async def test_a_file_may_take_longer_than_a_call(scene: Scene) -> None:
    async def drip(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(TABLE[:4])
        await asyncio.sleep(0.6)  # three times what a call may take
        await response.write(TABLE[4:])
        return response

    async with serving(drip) as site:
        client = make_client("xoxb-1", site.url("/api/"), call_timeout=0.2)
        slow = scene.attachment.model_copy(update={"url": site.url("/table.csv")})
        assert await download_attachment(client, WebCalls(CallBudget()), slow) == (slow, TABLE)
        await close_client(client)


LOGIN = b"<!doctype html><title>Sign in to Slack</title><form action='https://x.slack.com/signin'></form>"
CANVAS_TEXT = "Sign in to Slack\n\nThis is how we sign in to Slack."


@pytest.mark.parametrize(
    ("file", "canvas"),
    [
        (("page.html", b"<html><title>Prices</title><p>12</p></html>"), None),
        (("login.html", LOGIN), None),
        (("export.xhtml", b"<html xmlns='http://www.w3.org/1999/xhtml'><p>12</p></html>"), None),
        (None, ("Runbook", "# Steps")),
        (None, ("Sign in", CANVAS_TEXT)),
    ],
)
async def test_a_file_that_is_a_page_is_told_from_slacks_login_page(
    scene: Scene, file: tuple[str, bytes] | None, canvas: tuple[str, str] | None
) -> None:
    ana = scene.workspace.person("ana")
    ts = await ana.say("#general", "see", files=[file] if file else [], canvases=[canvas] if canvas else [])
    (attachment,) = parse_files(scene.workspace.thread("#general", ts)[0]["files"])
    scene.attachment = attachment
    found = await scene.get()
    assert isinstance(found, tuple)
    assert found[1] == (file[1] if file else render_canvas_page(*canvas).encode() if canvas else b"")
    assert "html" in found[0].media_type
    scene.client.token = "xoxb-without-the-scope"
    assert (await scene.fault()).endswith("Slack answered with a login page. The app needs files:read.")


@pytest.mark.parametrize("where", ["/?redir=%2Ffiles-pri%2FT1-F1", "/signin", "/sso/saml/start"])
async def test_who_is_sent_to_a_login_address_got_no_file(
    scene: Scene, stranger: tuple[Stranger, list[web.Request]], where: str
) -> None:
    def answer(request: web.Request) -> web.Response:
        if request.path.startswith("/files-pri"):
            return web.Response(status=302, headers={"Location": where})
        return web.Response(text="<p>Welcome back</p>", content_type="text/html")

    slack = await stranger[0](answer)
    scene.client.base_url = f"{slack}/api/"
    fault = await scene.fault(url=f"{slack}/files-pri/runbook", media_type=CANVAS_TYPE, name="Runbook")
    assert "login page" in fault


async def test_the_token_goes_to_nobody_else(scene: Scene, stranger: tuple[Stranger, list[web.Request]]) -> None:
    start, got = stranger
    url = await start(lambda _: web.Response(body=b"stolen"))
    fault = await scene.fault(url=f"{url}/table.csv")
    assert "not kept by Slack (127.0.0.1)" in fault
    assert "table.csv" in fault
    assert got == []


async def test_a_redirect_to_somebody_else_is_not_followed(
    scene: Scene, stranger: tuple[Stranger, list[web.Request]]
) -> None:
    start, got = stranger
    thief = await start(lambda _: web.Response(body=b"stolen"))
    slack = await start(lambda _: web.Response(status=302, headers={"Location": f"{thief}/table.csv"}))
    scene.client.base_url = f"{slack}/api/"
    assert "not kept by Slack" in await scene.fault(url=f"{slack}/files-pri/table.csv")
    assert [request.host for request in got] == [slack.removeprefix("http://")]


async def test_redirects_of_slacks_own_are_followed_but_not_for_ever(
    scene: Scene, stranger: tuple[Stranger, list[web.Request]]
) -> None:
    start, got = stranger

    def answer(request: web.Request) -> web.Response:
        if request.path == "/moved":
            return web.Response(body=TABLE)
        return web.Response(status=302, headers={"Location": "/moved" if request.path == "/first" else "/round"})

    slack = await start(answer)
    scene.client.base_url = f"{slack}/api/"
    found = await scene.get(url=f"{slack}/first")
    assert found[1] == TABLE
    assert got[-1].headers["Authorization"] == f"Bearer {scene.client.token}"
    assert "in a circle" in await scene.fault(url=f"{slack}/round")


async def test_what_slack_answers_instead_of_the_file(scene: Scene) -> None:
    scene.client.token = "xoxb-revoked"
    assert "login page" in await scene.fault()
    assert "HTTP 404" in await scene.fault(url=scene.workspace.api_url.replace("/api/", "/nothing"))
    assert "too large" in await scene.fault(size=MAX_FILE_BYTES + 1)


@pytest.mark.parametrize(
    ("url", "slacks"),
    [
        ("https://files.slack.com/files-pri/T1-F1/a.csv", True),
        ("https://acme.slack.com/files/a.csv", True),
        ("https://files.slack.com:443/a.csv", True),
        ("https://files.slack-gov.com/a.csv", True),
        ("http://127.0.0.1:3900/files-pri/T1-F1/a.csv", True),
        ("http://files.slack.com/a.csv", False),
        ("https://files.slack.com:8443/a.csv", False),
        ("https://files.slack.com@evil.example/a.csv", False),
        ("https://evil.example/files.slack.com", False),
        ("https://evilslack.com/a.csv", False),
        ("https://files.slack.com.evil.example/a.csv", False),
        ("http://127.0.0.1:3901/files-pri/T1-F1/a.csv", False),
        ("https://[broken/a.csv", False),
        ("https://files.slack.com:port/a.csv", False),
        ("ftp://files.slack.com/a.csv", False),
        ("", False),
    ],
)
def test_which_addresses_are_slacks(url: str, slacks: bool) -> None:  # noqa: FBT001 - a column of the table
    assert is_slack_address(url, "http://127.0.0.1:3900/api/") is slacks
