"""An MCP server on loopback to which one signs in: it holds its callers to OAuth 2.1 with PKCE."""

from __future__ import annotations

import base64
import hashlib
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import httpx
from aiohttp import web

from tests.mcp_servers.harbour import make_tool_entry

Json = dict[str, Any]
TIDES = "High water at noon."


@dataclass
class HeldSignIns:
    """Sign-ins in memory, as texts by name, with a clock that a test moves. What lasts a while is not dropped."""

    now: float = 1_000.0
    texts: dict[str, str] = field(default_factory=dict)

    def clock(self) -> float:
        """Tell the time, in seconds since the epoch."""
        return self.now

    async def keep(self, name: str, text: str, lasts: float | None = None) -> None:
        del lasts
        self.texts[name] = text

    async def read(self, name: str) -> str:
        return self.texts.get(name, "")

    async def pop(self, name: str) -> str:
        return self.texts.pop(name, "")


@dataclass
class OAuthServer:
    """The server, and what it was asked. `lies` stand in place of what its two documents say, by their keys."""

    base: str = ""
    lasts: int = 3600
    """Seconds that its access tokens last, as it says."""
    lies: Json = field(default_factory=dict)
    calls: list[tuple[str, str]] = field(default_factory=list)
    """The tool and the token of each call that it took."""
    paths: list[str] = field(default_factory=list)
    forms: list[Json] = field(default_factory=list)
    """What was asked for at the place where it gives tokens."""
    clients: set[str] = field(default_factory=set)
    codes: dict[str, Json] = field(default_factory=dict)
    access: set[str] = field(default_factory=set)
    refresh: set[str] = field(default_factory=set)

    @property
    def url(self) -> str:
        """Where the MCP server is."""
        return f"{self.base}/mcp"

    def revoke(self, *, all_of_it: bool = True) -> None:
        """Take no token any more that was given; without `all_of_it` they may be renewed."""
        self.access.clear()
        if all_of_it:
            self.refresh.clear()

    async def browser(self, link: str) -> str:
        """Open a link as a browser does whose person says yes, and give the address on which it ends."""
        async with httpx.AsyncClient(trust_env=False) as client:
            answer = await client.get(link)
        assert answer.status_code == 302, answer.text
        return str(answer.headers["location"])

    # ------------------------------------------------------------ what it answers

    async def mcp(self, request: web.Request) -> web.Response:
        """Answer a message of the protocol to who has a token, and say to others where one gets it."""
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        if token not in self.access:
            where = f"{self.base}/.well-known/oauth-protected-resource/mcp"
            asks = {"WWW-Authenticate": f'Bearer resource_metadata="{where}", scope="tides"'}
            return web.Response(status=401, headers=asks)
        if request.method != "POST":
            return web.Response(status=405)
        message = await request.json()
        if "id" not in message:
            return web.Response(status=202)
        answer = self._answer(message["method"], message.get("params") or {}, token)
        return web.json_response({"jsonrpc": "2.0", "id": message["id"], **answer})

    def _answer(self, method: str, params: Json, token: str) -> Json:
        if method == "initialize":
            server = {"name": "tides", "version": "1"}
            about = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": server}
            return {"result": about}
        if method == "tools/list":
            return {"result": {"tools": [make_tool_entry("look"), make_tool_entry("note")]}}
        if method == "tools/call":
            self.calls.append((params["name"], token))
            return {"result": {"content": [{"type": "text", "text": TIDES}]}}
        return {"error": {"code": -32601, "message": "no such method"}}

    async def resource(self, _: web.Request) -> web.Response:
        """Say of itself what RFC 9728 has."""
        return self._make_response(
            {"resource": self.url, "authorization_servers": [self.base], "scopes_supported": ["tides"]}
        )

    async def authority(self, _: web.Request) -> web.Response:
        """Say where one signs in, as RFC 8414 has it."""
        ends = {f"{name}_endpoint": f"{self.base}/{path}" for name, path in ENDPOINTS.items()}
        about = {"issuer": self.base, **ends, "response_types_supported": ["code"]}
        return self._make_response({**about, "code_challenge_methods_supported": ["S256"]})

    def _make_response(self, about: Json) -> web.Response:
        return web.json_response({key: self.lies.get(key, value) for key, value in about.items()})

    async def register(self, request: web.Request) -> web.Response:
        """Take anybody as a client."""
        asked = await request.json()
        client = f"client-{secrets.token_hex(4)}"
        self.clients.add(client)
        return web.json_response({**asked, "client_id": client}, status=201)

    async def authorize(self, request: web.Request) -> web.Response:
        """Sign whoever comes in, and send them back with a code."""
        asked = dict(request.query)
        if asked.get("client_id") not in self.clients or asked.get("code_challenge_method") != "S256":
            return web.Response(status=400, text="not so")
        code = secrets.token_urlsafe(12)
        self.codes[code] = asked
        back = urlencode({"code": code, "state": asked["state"]})
        return web.Response(status=302, headers={"Location": f"{asked['redirect_uri']}?{back}"})

    async def token(self, request: web.Request) -> web.Response:
        """Give tokens for a code, once and to who can prove that they began; or for a token that renews."""
        form = {key: str(value) for key, value in (await request.post()).items()}
        self.forms.append(form)
        if form.get("grant_type") == "refresh_token":
            known = form["refresh_token"] in self.refresh
            self.refresh.discard(form["refresh_token"])
        else:
            asked = self.codes.pop(form.get("code", ""), {})
            digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
            proof = base64.urlsafe_b64encode(digest).decode().rstrip("=")
            known = asked.get("code_challenge") == proof and all(
                asked.get(key) == form.get(key) for key in ("client_id", "redirect_uri", "resource")
            )
        if not known:
            return web.json_response({"error": "invalid_grant"}, status=400)
        access, refresh = (f"{kind}-{secrets.token_hex(8)}" for kind in ("access", "refresh"))
        self.access.add(access)
        self.refresh.add(refresh)
        of = {"access_token": access, "refresh_token": refresh, "token_type": "bearer", "expires_in": self.lasts}
        return web.json_response(of)

    @web.middleware
    async def record_path(self, request: web.Request, handler: Any) -> web.StreamResponse:
        """Note what is asked for."""
        self.paths.append(request.path)
        found: web.StreamResponse = await handler(request)
        return found


ENDPOINTS = {"authorization": "authorize", "token": "token", "registration": "register"}


@asynccontextmanager
async def oauth_server() -> AsyncIterator[OAuthServer]:
    """Run one on a free port."""
    server = OAuthServer()
    app = web.Application(middlewares=[server.record_path])
    app.router.add_route("*", "/mcp", server.mcp)
    app.router.add_get("/.well-known/oauth-protected-resource/mcp", server.resource)
    app.router.add_get("/.well-known/oauth-authorization-server", server.authority)
    app.router.add_post("/register", server.register)
    app.router.add_get("/authorize", server.authorize)
    app.router.add_post("/token", server.token)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    server.base = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield server
    finally:
        await runner.cleanup()
