"""What comes back from Slack, or from something on the way: done, refused for good, or in doubt. Never a bug."""

import contextlib
from collections.abc import AsyncIterator

import pytest
from aiohttp import web

from bot.slack.send.budget import Budget
from bot.slack.send.web_calls import NoReply, Refused, WebCalls, close_client, make_client


@contextlib.asynccontextmanager
async def answering(status: int, kind: str, body: str) -> AsyncIterator[str]:
    """The address of a Web API that answers everything with this."""

    async def answer(_: web.Request) -> web.Response:
        return web.Response(status=status, text=body, content_type=kind)

    server = web.Application()
    server.router.add_post("/api/{method}", answer)
    runner = web.AppRunner(server)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}/api/"
    await runner.cleanup()


@pytest.mark.parametrize(
    ("status", "kind", "body", "outcome"),
    [
        (200, "application/json", "<html>a proxy</html>", NoReply),
        (200, "application/json", '{"ok": tr', NoReply),
        (502, "text/html", "<html>bad gateway</html>", NoReply),
        (503, "text/plain", "busy", NoReply),
        (200, "application/json", '{"ok": false, "error": "channel_not_found"}', Refused),
        (404, "text/html", "<html>not here</html>", Refused),
    ],
)
async def test_every_answer_is_sorted(status: int, kind: str, body: str, outcome: type[Exception]) -> None:
    async with answering(status, kind, body) as url:
        client = make_client("xoxb-1", url)
        seen: list[str] = []
        calls = WebCalls(Budget())
        calls.seen = lambda _, how: seen.append(how)
        with pytest.raises(outcome):
            await calls.make("chat.postMessage", lambda: client.chat_postMessage(channel="C1", text="x"))
        await close_client(client)
    assert seen == ["failed" if outcome is NoReply else "refused"]
