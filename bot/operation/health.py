"""The health server: answers liveness and readiness probes over HTTP, and serves the instance's metrics."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from aiohttp import web

from bot.operation.metering import Heartbeat
from bot.operation.metrics import Metrics
from bot.settings import Address, SettingsError
from bot.store.redis.redis_store import Store
from bot.store.values import StoreError

STORE_TIMEOUT_SECONDS = 2.0
"""Seconds that the store may take to answer a probe."""
IDLE_SECONDS = 20.0
"""Seconds since the last poll for work after which an instance is not ready; it polls every few seconds."""
DEAD_SECONDS = 90.0
"""Seconds since the last poll after which an instance is not alive. A store outage delays a poll by less."""
SERVER_HEADER = "leadhand"

MetricsRefresh = Callable[[], Awaitable[None]]
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass
class HealthState:
    """The state of an instance, for probes. `bot.command_line.serve` fills it in as the parts start."""

    heartbeat: Heartbeat = field(default_factory=Heartbeat)
    store: Store | None = None
    is_claiming: Callable[[], bool] | None = None
    """Returns whether the instance still polls for work; None before it has started."""
    is_slack_connected: Callable[[], Awaitable[bool]] | None = None
    """Returns whether the connection to Slack is up; None before there is a connection."""
    find_token_fault: Callable[[], str] = str
    """Returns why Slack refuses the bot's token, or "" while Slack accepts it."""
    is_stopping: bool = False

    def list_liveness_faults(self) -> list[str]:
        """Return the faults that only a restart fixes, one line each; empty while the instance is healthy."""
        if self.is_stopping or self.is_claiming is None:
            return []
        if not self.is_claiming():
            return ["the instance no longer looks for jobs"]
        if self.heartbeat.compute_age() > DEAD_SECONDS:
            return [f"the instance has not looked for jobs for {self.heartbeat.compute_age():.0f} s"]
        return []

    async def list_readiness_faults(self) -> list[str]:
        """Return the reasons why the instance is not ready for work, one line each; empty if it is ready."""
        if self.is_stopping:
            return ["stopping"]
        reasons = self.list_liveness_faults()
        if self.is_claiming is None:
            reasons.append("starting")
        elif not reasons and self.heartbeat.compute_age() > IDLE_SECONDS:
            reasons.append(f"the instance has not looked for jobs for {self.heartbeat.compute_age():.0f} s")
        if self.store is not None:
            reasons += await _find_store_faults(self.store)
        if self.is_slack_connected is None or not await self.is_slack_connected():
            reasons.append("Slack is not connected")
        if fault := self.find_token_fault():
            reasons.append(fault)
        return reasons


async def _find_store_faults(store: Store) -> list[str]:
    try:
        async with asyncio.timeout(STORE_TIMEOUT_SECONDS):
            await store.read_time()
            fullness_fault = await store.explain_fullness()
    except StoreError as error:
        return [str(error)]
    except TimeoutError:
        return [f"the store does not answer within {STORE_TIMEOUT_SECONDS:g} s"]
    return [fullness_fault] if fullness_fault else []


@contextlib.asynccontextmanager
async def serve_health(
    address: Address | None, state: HealthState, metrics: Metrics, refresh_metrics: MetricsRefresh
) -> AsyncIterator[str]:
    """Serve `/healthz`, `/readyz` and `/metrics`. Yields their base URL, or "" if `address` is None.

    `refresh_metrics` is awaited before each reply to `/metrics`. It sets the gauges that no code updates otherwise.
    Raises SettingsError if the server cannot listen on the address.
    """
    if address is None:
        yield ""
        return
    runner = web.AppRunner(
        _make_application(address.host, state, metrics, refresh_metrics), access_log=None, shutdown_timeout=0.5
    )
    await runner.setup()
    try:
        port = await _listen(runner, address)
        yield f"http://{Address(address.host, port)}"
    finally:
        await runner.cleanup()


async def _listen(runner: web.AppRunner, address: Address) -> int:
    """Listen on the address's port and return it. Falls back to a free port unless the address is `fixed`."""
    ports = (address.port,) if address.is_fixed else (address.port, 0)
    for port in ports:
        try:
            await web.TCPSite(runner, address.host, port).start()
        except OSError as error:
            if port == ports[-1]:
                why = os.strerror(error.errno) if error.errno else type(error).__name__
                raise SettingsError(
                    f"LEADHAND_OPERATION: {address} cannot be had ({why}). Choose another host:port, or off."
                ) from None
        else:
            break
    return int(runner.addresses[0][1])


def _make_application(
    host: str, state: HealthState, metrics: Metrics, refresh_metrics: MetricsRefresh
) -> web.Application:
    async def healthz(_: web.Request) -> web.Response:
        return _make_health_response(state.list_liveness_faults())

    async def readyz(_: web.Request) -> web.Response:
        return _make_health_response(await state.list_readiness_faults())

    async def serve_metrics(_: web.Request) -> web.Response:
        await refresh_metrics()
        text, content_type = metrics.render()
        return web.Response(body=text, headers={"Content-Type": content_type})

    async def set_headers(_: web.Request, response: web.StreamResponse) -> None:
        response.headers["Server"] = SERVER_HEADER
        response.headers["Cache-Control"] = "no-store"

    application = web.Application(client_max_size=1024, middlewares=[_make_host_check(host)])
    for path, handler in (("/healthz", healthz), ("/readyz", readyz), ("/metrics", serve_metrics)):
        application.router.add_get(path, handler)
    application.on_response_prepare.append(set_headers)
    return application


def _make_host_check(own_host: str) -> Any:
    """Return a middleware that answers 403 to a foreign Host header, which protects against DNS rebinding."""

    @web.middleware
    async def refuse_foreign_host(request: web.Request, handler: Handler) -> web.StreamResponse:
        if _is_own_host(request.host, own_host):
            return await handler(request)
        return web.Response(status=403, text=f"Ask for {own_host}, an IP address or a name without dots.\n")

    return refuse_foreign_host


def _is_own_host(host: str, own_host: str) -> bool:
    """Return True for a Host header with our own name, an IP address, or a name of this network: one without dots."""
    try:
        name = urlsplit(f"//{host}").hostname or ""
        if name in {own_host, "localhost"} or not set(".:") & set(name):
            return True
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _make_health_response(reasons: list[str]) -> web.Response:
    return web.Response(status=503 if reasons else 200, text="".join(f"{reason}\n" for reason in reasons) or "ok\n")
