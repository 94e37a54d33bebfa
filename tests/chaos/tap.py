"""A tap between the bots and Slack: it reads every request with its token, and every answer, and passes both on."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import parse_qsl, unquote_plus

import aiohttp
from aiohttp import web

from bot.workspace.workspace_server import Workspace

HOPS = frozenset({"connection", "keep-alive", "transfer-encoding", "content-length", "content-encoding"})
MAX_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True)
class SlackRequest:
    """A request that reached Slack. `at` is the team at whose address it came in, `text` all of it, readable."""

    at: str
    method: str
    """The method of the Web API; else the address."""
    token: str
    text: str
    args: dict[str, Any]
    answer: dict[str, Any]
    """What Slack answered, where that is JSON."""


class Tap:
    """Stands before a workspace, which tells everybody this address in place of its own."""

    def __init__(self, workspace: Workspace, hear: Callable[[SlackRequest], None]) -> None:
        self._workspace, self._hear = workspace, hear
        self._behind = ""
        self._session: aiohttp.ClientSession | None = None
        self._runner: web.AppRunner | None = None

    async def __aenter__(self) -> Self:
        self._behind = self._workspace.api_url.removesuffix("/api/")
        app = web.Application(client_max_size=MAX_BYTES)
        app.router.add_route("*", "/{path:.*}", self._pass_on)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self._session = aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar(), auto_decompress=False)
        self._workspace.set_public_url(f"http://127.0.0.1:{self._runner.addresses[0][1]}")
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._session is not None:
            await self._session.close()
        if self._runner is not None:
            await self._runner.cleanup()

    async def _pass_on(self, request: web.Request) -> web.StreamResponse:
        assert self._session is not None
        body = await request.read()
        headers = {name: value for name, value in request.headers.items() if name.casefold() not in HOPS}
        try:
            async with self._session.request(
                request.method, f"{self._behind}{request.raw_path}", data=body, headers=headers, allow_redirects=False
            ) as response:
                answer = await response.read()
        except aiohttp.ClientError:  # a fault of Slack's, which the bot has to meet as well
            self._hear(self._read_request(request, body, b""))
            if request.transport is not None:
                request.transport.abort()
            return web.Response(status=502)
        self._hear(self._read_request(request, body, answer))
        kept = [(name, value) for name, value in response.headers.items() if name.casefold() not in HOPS]
        made = web.Response(status=response.status, body=answer)
        for name, value in kept:
            made.headers.popall(name, None)
            made.headers.add(name, value)
        return made

    def _read_request(self, request: web.Request, body: bytes, answer: bytes) -> SlackRequest:
        text = body.decode("utf-8", "replace")
        args: dict[str, Any] = {**dict(parse_qsl(request.query_string))}
        if "json" in request.content_type:
            args |= _json(text)
        else:
            args |= dict(parse_qsl(text))
        named = request.headers.get("Authorization", "")
        token = named.removeprefix("Bearer ") if named.startswith("Bearer ") else str(args.get("token", ""))
        path = request.path
        return SlackRequest(
            self._workspace.team_id,
            path.removeprefix("/api/"),
            token,
            f"{unquote_plus(request.path_qs)} {text} {unquote_plus(text)}",
            args,
            _json(answer.decode("utf-8", "replace")),
        )


def _json(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
