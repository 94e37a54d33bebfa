"""HTTP mode: what Slack signed gets in once it can be read; nothing else does, and no body is logged."""

import hashlib
import hmac
import json
import logging
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import aiohttp
import pytest
from aiohttp import web
from slack_bolt.async_app import AsyncApp

from bot.slack.receive.desks import Desks
from bot.slack.receive.http import web_app
from bot.slack.receive.listeners import register
from bot.slack.send.web_calls import close_client, make_client
from bot.workspace.workspace_server import Workspace
from tests.slack.gates import MemoryGate
from tests.slack.memory_service import MemoryService

SECRET = "a signing secret"
JSON = "application/json"
FORM = "application/x-www-form-urlencoded"
MANIFEST = Path(__file__).parents[2] / "manifest.yml"


class Door:
    def __init__(self, url: str, session: aiohttp.ClientSession, service: MemoryService, town: Workspace) -> None:
        self.url, self.session, self.service = url, session, service
        self.team, self.ana = town.team_id, town.person("ana").id

    def event(self, **fields: Any) -> bytes:
        said = {"type": "app_mention", "channel": "C1", "user": self.ana, "ts": "1.1", "text": "do it", **fields}
        body = {"type": "event_callback", "team_id": self.team, "event_id": "Ev1", "event": said}
        return json.dumps(body).encode()

    async def knock(self, body: bytes, kind: str = JSON, **headers: str) -> tuple[int, str]:
        stamp = headers.pop("stamp", str(int(time.time())))
        digest = hmac.new(SECRET.encode(), f"v0:{stamp}:".encode() + body, hashlib.sha256).hexdigest()
        signed = f"v0={digest}"
        sent = {"Content-Type": kind, "X-Slack-Request-Timestamp": stamp, "X-Slack-Signature": signed, **headers}
        async with self.session.post(self.url, data=body, headers=sent) as response:
            return response.status, await response.text()


@pytest.fixture
async def door() -> AsyncIterator[Door]:
    workspace = await Workspace.start(MANIFEST, rate_limits=False)
    client = make_client(workspace.bot_token, workspace.api_url)
    app = AsyncApp(client=client, signing_secret=SECRET, process_before_response=True)
    service = MemoryService()
    gate = MemoryGate(client, workspace.team_id)
    background = register(app, service, gate, Desks(settings=gate.form))
    runner = web.AppRunner(web_app(app, signing_secret=SECRET), access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    bound: Any = runner.addresses[0]
    async with aiohttp.ClientSession() as session:
        yield Door(f"http://127.0.0.1:{bound[1]}/slack/events", session, service, workspace)
    await background.drain()
    await runner.cleanup()
    await close_client(client)
    await workspace.stop()


async def test_what_slack_signed_gets_in(door: Door) -> None:
    assert (await door.knock(door.event()))[0] == 200
    assert [request.text for _, request, _ in door.service.requests] == ["do it"]
    challenge = {"type": "url_verification", "token": "t", "challenge": "say this"}
    assert await door.knock(json.dumps(challenge).encode()) == (200, '{"challenge": "say this"}')


async def test_what_could_not_be_recorded_is_not_accepted(door: Door) -> None:
    door.service.away = True
    assert (await door.knock(door.event()))[0] == 500, "Slack delivers it again"
    door.service.away = False
    assert (await door.knock(door.event()))[0] == 200
    assert len(door.service.requests) == 1


async def test_a_replayed_request_changes_nothing(door: Door) -> None:
    for _ in range(3):
        assert (await door.knock(door.event()))[0] == 200
    assert len(door.service.requests) == 1


@pytest.mark.parametrize(
    "headers",
    [
        {"X-Slack-Signature": "v0=0000"},
        {"X-Slack-Signature": ""},
        {"stamp": "soon"},
        {"stamp": ""},
        {"stamp": "1"},
        {"stamp": "\u0661"},
    ],
)
async def test_what_is_not_signed_is_turned_away(
    door: Door, headers: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        status, _ = await door.knock(door.event(text="a secret of mine"), **headers)
    assert status == 401
    assert door.service.requests == []
    assert "a secret of mine" not in caplog.text


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"", JSON),
        (b"{", JSON),
        (b"[]", JSON),
        (b"null", JSON),
        (b'{"type": 3}', JSON),
        (b'{"type": "event_callback", "event": []}', JSON),
        (b'{"type": "event_callback", "event": {"type": {}}}', JSON),
        (b"\xff\xfe", JSON),
        (b"[" * 100_000, JSON),
        (b"", FORM),
        (b"payload=", FORM),
        (b"payload=%7B", FORM),
        (b"payload=" + quote("[1]").encode(), FORM),
        (b"hello=world", FORM),
    ],
)
async def test_what_is_signed_but_broken_is_turned_away(door: Door, body: bytes, kind: str) -> None:
    assert (await door.knock(body, kind))[0] == 400
    assert door.service.requests == []


async def test_a_command_is_answered(door: Door) -> None:
    body = f"command=%2Fleadhand&text=help&team_id={door.team}&channel_id=C1&user_id={door.ana}"
    status, text = await door.knock(body.encode(), FORM)
    assert status == 200
    assert "How to use Leadhand" in text
