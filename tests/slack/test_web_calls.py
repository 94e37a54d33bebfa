"""What comes back from Slack, or from something on the way: done, refused for good, or in doubt. Never a bug."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest
from aiohttp import web

from bot.slack.send import web_calls
from bot.slack.send.budget import CallBudget
from bot.slack.send.web_calls import BackgroundTasks, NoReply, SlackRefused, WebCalls, close_client, make_client
from tests.slack.workspaces import workspace_and_client
from tests.specialists.local_web import serving


@contextlib.asynccontextmanager
async def answering(status: int, kind: str, body: str) -> AsyncIterator[str]:
    """The address of a Web API that answers everything with this."""

    async def answer(_: web.Request) -> web.Response:
        return web.Response(status=status, text=body, content_type=kind)

    async with serving(answer) as site:
        yield site.url("/api/")


@pytest.mark.parametrize(
    ("status", "kind", "body", "outcome"),
    [
        (200, "application/json", "<html>a proxy</html>", NoReply),
        (200, "application/json", '{"ok": tr', NoReply),
        (502, "text/html", "<html>bad gateway</html>", NoReply),
        (503, "text/plain", "busy", NoReply),
        (200, "application/json", '{"ok": false, "error": "channel_not_found"}', SlackRefused),
        (404, "text/html", "<html>not here</html>", SlackRefused),
    ],
)
async def test_every_answer_is_sorted(status: int, kind: str, body: str, outcome: type[Exception]) -> None:
    async with answering(status, kind, body) as url:
        client = make_client("xoxb-1", url)
        seen: list[str] = []
        calls = WebCalls(CallBudget())
        calls.on_outcome = lambda _, how: seen.append(how)
        with pytest.raises(outcome):
            await calls.make("chat.postMessage", lambda: client.chat_postMessage(channel="C1", text="x"))
        await close_client(client)
    assert seen == ["failed" if outcome is NoReply else "refused"]


async def test_a_call_waits_while_slack_refuses_the_token(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing was done, so that it is made again, also where a repeat after a lost answer would not do."""
    monkeypatch.setattr(web_calls, "TOKEN_PAUSE_SECONDS", 0.05)
    calls, refused = WebCalls(CallBudget()), asyncio.Event()
    calls.on_token_refused = refused.set
    async with workspace_and_client() as (workspace, client):
        workspace.set_token_error("token_revoked")
        channel = workspace.channel_id("#general")
        post = calls.make("chat.postMessage", lambda: client.chat_postMessage(channel=channel, text="once"))
        posting = asyncio.create_task(post)
        await refused.wait()
        workspace.set_token_error("")
        assert (await posting)["ok"]
        assert [message["text"] for message in workspace.messages("#general")].count("once") == 1


async def test_a_call_gives_up_on_a_token_that_stays_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_calls, "TOKEN_PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(web_calls, "SHORT_TOKEN_RETRY_SECONDS", 0.05)
    async with answering(200, "application/json", '{"ok": false, "error": "account_inactive"}') as url:
        client = make_client("xoxb-1", url)
        with pytest.raises(SlackRefused, match="the app was uninstalled"):
            await WebCalls(CallBudget()).make("auth.test", client.auth_test)
        await close_client(client)


async def test_a_bot_that_is_closed_begins_nothing_that_a_late_event_asks_for() -> None:
    background = BackgroundTasks()
    begun: list[int] = []

    async def call(number: int) -> None:
        begun.append(number)

    await background.start(call(1), "tell somebody")
    await background.close(1.0)
    await background.start(call(2), "tell somebody")
    assert begun == [1]
