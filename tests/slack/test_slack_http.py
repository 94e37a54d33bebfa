"""HTTP mode: what Slack signed gets in once it can be read; nothing else does, and no body is logged."""

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError

from bot.slack import token_monitor as token_proof_module
from bot.slack.connection import fetch_bot_account, make_bolt, make_token_monitor
from bot.slack.receive.bolt_dispatch import make_error_response
from bot.slack.send.web_calls import NoReply
from bot.slack.token_monitor import REFUSED_TOKEN_ADVICE, TokenMonitor, TokenRefused
from bot.store.values import PayloadTooLarge, StoreError
from bot.workspace.fault_injection import FaultKind
from bot.workspace.workspace_server import Workspace
from tests.patience import eventually
from tests.slack.gates import MemoryGate
from tests.slack.memory_service import MemoryService, listening
from tests.slack.signed import SECRET, serve_app, signature
from tests.slack.workspaces import workspace_and_client

JSON = "application/json"
FORM = "application/x-www-form-urlencoded"


class Door:
    def __init__(
        self, url: str, session: aiohttp.ClientSession, service: MemoryService, town: Workspace, proof: TokenMonitor
    ) -> None:
        self.url, self.session, self.service, self.town, self.proof = url, session, service, town, proof
        self.team, self.ana = town.team_id, town.person("ana").id

    def event(self, **fields: Any) -> bytes:
        said = {"type": "app_mention", "channel": "C1", "user": self.ana, "ts": "1.1", "text": "do it", **fields}
        body = {"type": "event_callback", "team_id": self.team, "event_id": "Ev1", "event": said}
        return json.dumps(body).encode()

    async def knock(self, body: bytes, kind: str = JSON, **headers: str) -> tuple[int, str]:
        stamp = headers.pop("stamp", str(int(time.time())))
        sent = {"Content-Type": kind, **signature(stamp, body), **headers}
        async with self.session.post(self.url, data=body, headers=sent) as response:
            return response.status, await response.text()


@pytest.fixture
async def door() -> AsyncIterator[Door]:
    async with workspace_and_client() as (workspace, client):
        proof = make_token_monitor(client, await fetch_bot_account(client))
        app = make_bolt(client, proof, signing_secret=SECRET)
        service = MemoryService()
        background = listening(app, MemoryGate(client, workspace.team_id), service).background
        async with serve_app(app) as url, aiohttp.ClientSession() as session:
            yield Door(url, session, service, workspace, proof)
        await background.drain()


async def test_what_slack_signed_gets_in_once_it_can_be_recorded(door: Door) -> None:
    door.service.away = True
    assert (await door.knock(door.event()))[0] == 500, "Slack delivers it again"
    door.service.away = False
    for _ in range(3):
        assert (await door.knock(door.event()))[0] == 200
    assert [request.text for _, request, _ in door.service.requests] == ["do it"], "a replay changes nothing"
    challenge = {"type": "url_verification", "token": "t", "challenge": "say this"}
    assert await door.knock(json.dumps(challenge).encode()) == (200, '{"challenge": "say this"}')


NOT_SIGNED: tuple[dict[str, str], ...] = (
    {"X-Slack-Signature": "v0=0000"},
    {"X-Slack-Signature": ""},
    *({"stamp": stamp} for stamp in ("soon", "", "1", "\u0661")),
)
BROKEN_BODIES = [
    *((body, JSON) for body in (b"", b"{", b"[]", b"null", b'{"type": 3}', b"\xff\xfe", b"[" * 100_000)),
    (b'{"type": "event_callback", "event": []}', JSON),
    (b'{"type": "event_callback", "event": {"type": {}}}', JSON),
    *((body, FORM) for body in (b"", b"payload=", b"payload=%7B", b"payload=%5B1%5D", b"hello=world")),
]


async def test_what_is_not_signed_or_broken_is_turned_away(door: Door, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        for headers in NOT_SIGNED:
            assert (await door.knock(door.event(text="a secret of mine"), **headers))[0] == 401, headers
    assert "a secret of mine" not in caplog.text
    for body, kind in BROKEN_BODIES:
        assert (await door.knock(body, kind))[0] == 400, (body[:80], kind)
    assert door.service.requests == []


async def test_a_command_is_answered(door: Door) -> None:
    body = f"command=%2Fleadhand&text=help&team_id={door.team}&channel_id=C1&user_id={door.ana}"
    status, text = await door.knock(body.encode(), FORM)
    assert status == 200
    assert "How to use Leadhand" in text


# ---------------------------------------------------------------- the bot's token


async def test_a_cold_start_burst_asks_nothing_that_the_start_did_not(door: Door) -> None:
    asked = door.town.call_count("auth.test")
    assert asked == 1
    door.town.faults.add("auth.test", "server_error_before", times=500)
    events = [door.event(ts=f"{number}.1").replace(b"Ev1", b"Ev%d" % number) for number in range(100)]
    burst = [door.knock(event) for event in events]
    answers = [status for status, _ in await asyncio.gather(*burst)]
    assert len(door.service.requests) == answers.count(200) > 0
    assert door.town.call_count("auth.test") == asked


@pytest.mark.parametrize("error", [*sorted(REFUSED_TOKEN_ADVICE), "ekm_access_denied", "enterprise_is_restricted"])
async def test_an_event_comes_again_while_slack_refuses_the_token(
    door: Door, error: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(token_proof_module, "MIN_CHECK_SECONDS", 60.0)
    door.town.set_token_error(error)
    door.proof._proven_at = 0.0
    await door.proof.check_token()
    burst = [door.knock(door.event(ts=f"{number}.1")) for number in range(50)]
    assert {status for status, _ in await asyncio.gather(*burst)} == {500}
    assert door.service.requests == [], "what was not acknowledged was not recorded"
    assert error in door.proof.fault
    assert REFUSED_TOKEN_ADVICE.get(error, "look it up at https://docs.slack.dev/") in door.proof.fault
    assert door.town.call_count("auth.test") == 2, "at the start, and by us: a burst asks no more"
    door.town.set_token_error("")
    monkeypatch.setattr(token_proof_module, "MIN_CHECK_SECONDS", 0.0)

    async def is_accepted() -> bool:
        return (await door.knock(door.event()))[0] == 200

    await eventually(is_accepted)
    assert [request.text for _, request, _ in door.service.requests] == ["do it"]
    assert door.proof.fault == ""


@pytest.mark.parametrize("fault", ["server_error_before", "rate_limited", "lost_reply", "error"])
async def test_a_proof_without_an_answer_says_nothing_against_the_token(door: Door, fault: FaultKind) -> None:
    door.town.faults.add("auth.test", fault)
    door.proof._proven_at = 0.0
    await door.proof.check_token()
    assert door.proof.fault == ""
    door.town.faults.add("auth.test", "error", error="service_unavailable")
    door.proof._proven_at = 0.0
    await door.proof.check_token()
    assert door.proof.fault == ""
    assert (await door.knock(door.event()))[0] == 200


async def test_the_end_of_an_installation_is_heard(door: Door) -> None:
    watching = asyncio.create_task(door.proof.check_periodically())
    checks = door.town.call_count("auth.test")

    async def is_checked() -> bool:
        return door.town.call_count("auth.test") > checks and door.proof._proof is None

    async def is_refused() -> bool:
        return bool(door.proof.fault)

    revoked = {"type": "tokens_revoked", "tokens": {"oauth": ["U1"], "bot": []}}  # one of somebody else
    body = {"type": "event_callback", "team_id": door.team, "event_id": "Ev3", "event": revoked}
    assert (await door.knock(json.dumps(body).encode()))[0] == 200
    await eventually(is_checked)
    assert (await door.knock(door.event()))[0] == 200
    door.town.set_token_error("account_inactive")
    body |= {"event_id": "Ev2", "event": {"type": "app_uninstalled"}}
    assert (await door.knock(json.dumps(body).encode()))[0] == 200
    await eventually(is_refused)
    assert "the app was uninstalled" in door.proof.fault
    assert (await door.knock(door.event()))[0] == 500
    watching.cancel()


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (StoreError("away"), 500),
        (SlackApiError("no", {"ok": False, "error": "fatal_error"}), 500),  # type: ignore[no-untyped-call]
        (NoReply("users.info: no answer"), 500),
        (TokenRefused("dead"), 500),
        (TimeoutError(), 500),
        (RuntimeError("a fault of ours"), 500),
        (PayloadTooLarge("too large at each delivery"), 400),
        (KeyError("type"), 400),
        (AttributeError("'str' object has no attribute 'get'"), 400),
    ],
)
def test_what_was_not_recorded_comes_again_unless_the_payload_is_at_fault(error: Exception, status: int) -> None:
    assert make_error_response(error, {"type": "event_callback"}).status == status
