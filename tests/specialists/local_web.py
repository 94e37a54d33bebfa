"""Servers on loopback that stand for the web."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass
class Site:
    """A running server. `seen_paths` holds the paths that were asked for."""

    port: int
    seen_paths: list[str] = field(default_factory=list)

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    def url(self, path: str = "/") -> str:
        return f"http://{self.host}{path}"


@asynccontextmanager
async def serving(handler: Handler) -> AsyncIterator[Site]:
    """Serve every path with one handler, on a free port of loopback."""
    site = Site(0)

    async def record_request(request: web.Request) -> web.StreamResponse:
        site.seen_paths.append(request.path_qs)
        return await handler(request)

    app = web.Application()
    app.router.add_route("*", "/{rest:.*}", record_request)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        site.port = runner.addresses[0][1]
        yield site
    finally:
        await runner.cleanup()
