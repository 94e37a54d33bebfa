import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web
from slack_bolt.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient

from bot.workspace.refusal import ActionFailed
from bot.workspace.workspace_server import Workspace
from tests.patience import eventually
from tests.specialists.local_web import serving
from tests.workspace.conftest import Change, Start


class BoltServer:
    """A real Bolt app behind a real HTTP server, which counts what it answers."""

    def __init__(self) -> None:
        self.bolt: Any = None
        self.url = ""
        self.requests: list[web.Request] = []
        self.refuse = 0
        self.empty = False
        self.headers: dict[str, str] = {}

    async def handle(self, request: web.Request) -> Any:
        self.requests.append(request)
        if self.refuse:
            self.refuse -= 1
            return web.Response(status=503, headers=self.headers)
        if self.empty:
            return web.Response(status=204)
        return await self.bolt.server().handle_post_requests(request)


@pytest.fixture
async def bolt_server() -> AsyncIterator[Any]:
    served = BoltServer()
    async with serving(served.handle) as site:
        served.url = site.url("/slack/events")
        yield served


def bolt_for(workspace: Workspace, secret: str | None = None) -> Any:
    quiet = logging.getLogger("quiet-bolt")
    quiet.setLevel(logging.CRITICAL)
    client = AsyncWebClient(workspace.bot_token, base_url=workspace.api_url)
    return AsyncApp(client=client, signing_secret=secret or workspace.signing_secret, logger=quiet)


async def hearing(start: Start, served: BoltServer) -> tuple[Workspace, list[Any]]:
    """A workspace that delivers again at once, and the texts of messages that an app on `served` was sent, signed."""
    workspace = await start(request_url=served.url, retry_scale=0)
    served.bolt = bolt_for(workspace)
    seen: list[Any] = []

    @served.bolt.event("message")
    async def message(event: Any) -> None:
        seen.append(event["text"])

    @served.bolt.command("/testhand")
    async def command(ack: Any, command: Any) -> None:
        await ack(f"got {command['text']}")

    return workspace, seen


async def test_what_the_manifest_sends_elsewhere_goes_there(
    start: Start, bolt_server: BoltServer, manifest_with: Change
) -> None:
    def set_addresses(raw: Any) -> None:
        host = "https://app.example"
        raw["features"]["slash_commands"][0]["url"] = f"{host}/slack/commands"
        raw["settings"]["interactivity"]["request_url"] = f"{host}/slack/buttons"
        raw["settings"]["event_subscriptions"]["request_url"] = f"{host}/slack/events"

    workspace = await start(manifest=manifest_with(set_addresses), request_url=bolt_server.url)
    bolt_server.empty = True
    ana = workspace.person("ana")
    for act in (ana.command("#general", "/testhand"), ana.shortcut("new_job")):
        with pytest.raises(ActionFailed):  # 204 will not do for these
            await act
    await ana.say("@testhand", "hi")
    await eventually(lambda: len(bolt_server.requests) >= 3)
    assert [each.path for each in bolt_server.requests[:3]] == ["/slack/commands", "/slack/buttons", "/slack/events"]


async def test_a_wrong_secret_is_turned_away_by_bolt(start: Start, bolt_server: BoltServer) -> None:
    workspace = await start(request_url=bolt_server.url, retry_scale=0)
    bolt_server.bolt = bolt_for(workspace, secret="another secret")
    with pytest.raises(ActionFailed, match="dispatch_failed"):
        await workspace.person("ana").command("#general", "/testhand")


async def test_a_failed_delivery_comes_again_and_says_why(start: Start, bolt_server: BoltServer) -> None:
    workspace, seen = await hearing(start, bolt_server)
    ana = workspace.person("ana")
    await ana.say("@testhand", "first")
    await eventually(lambda: seen == ["first"])
    await ana.command("#general", "/testhand", "a & b")
    assert ana.ephemerals("#general")[0]["text"] == "got a & b"
    bolt_server.refuse = 2
    await ana.say("@testhand", "second")
    await eventually(lambda: seen == ["first", "second"])
    last = bolt_server.requests[-1]
    assert last.headers["X-Slack-Retry-Num"] == "2"
    assert last.headers["X-Slack-Retry-Reason"] == "http_error"
    assert bolt_server.requests[0].headers.get("X-Slack-Retry-Num") is None


async def test_any_2xx_takes_an_event_and_an_app_may_ask_not_to_be_told_again(
    start: Start, bolt_server: BoltServer
) -> None:
    workspace, seen = await hearing(start, bolt_server)
    ana = workspace.person("ana")
    await ana.say("@testhand", "verifies the URL")
    await eventually(lambda: seen)
    for setting in ({"empty": True}, {"empty": False, "refuse": 9, "headers": {"X-Slack-No-Retry": "1"}}):
        vars(bolt_server).update(setting)
        before = len(bolt_server.requests)
        for count in range(1, 4):
            await ana.say("@testhand", "once")
            await eventually(lambda count=count, before=before: len(bolt_server.requests) >= before + count)
        assert len(bolt_server.requests) == before + 3
    assert not any("X-Slack-Retry-Num" in each.headers for each in bolt_server.requests)
    with pytest.raises(ActionFailed, match="dispatch_failed"):
        await ana.command("#general", "/testhand")


async def test_an_unverified_url_gets_no_events(start: Start) -> None:
    async def wrong(request: web.Request) -> Any:
        bodies.append(await request.json())
        return web.json_response({"challenge": "something else"})

    bodies: list[Any] = []
    async with serving(wrong) as site:
        workspace = await start(request_url=site.url(), retry_scale=0.00001)
        await workspace.person("ana").say("@testhand", "hi")
        await eventually(lambda: len(bodies) == 4)
    assert {body["type"] for body in bodies} == {"url_verification"}
