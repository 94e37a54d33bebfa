"""Whether an instance lives and whether it can take work, over HTTP, beside its metrics."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field

from aiohttp import web

from bot.operation.metered_store import Pulse
from bot.operation.metrics import Metrics
from bot.settings import Address, SettingsError
from bot.store.interface import Store, StoreError

ANSWER_SECONDS = 2.0
"""How long the store may take to answer a probe."""
IDLE_SECONDS = 20.0
"""An instance looks for work every few seconds, whatever happens; after this long it is not ready."""
DEAD_SECONDS = 90.0
"""After this long it will not look again. A store that is away holds up one look for less."""
SERVER = "leadhand"

Measure = Callable[[], Awaitable[None]]


async def _yes() -> bool:
    return True


@dataclass
class Signs:
    """What an instance shows of itself. Whoever wires the parts fills in what it knows, as they come up."""

    pulse: Pulse = field(default_factory=Pulse)
    store: Store | None = None
    working: Callable[[], bool] | None = None
    """Whether the instance still looks for work; None before it is there."""
    hears: Callable[[], Awaitable[bool]] | None = None
    """Whether Slack reaches us; None before it does."""
    stopping: bool = False

    def unhealthy(self) -> list[str]:
        """Why only a restart will help, a line each; empty while all is well."""
        if self.stopping or self.working is None:
            return []
        if not self.working():
            return ["the instance no longer looks for jobs"]
        if self.pulse.quiet_for() > DEAD_SECONDS:
            return [f"the instance has not looked for jobs for {self.pulse.quiet_for():.0f} s"]
        return []

    async def unready(self) -> list[str]:
        """Why it should be given no work, a line each; empty if it may."""
        if self.stopping:
            return ["stopping"]
        reasons = self.unhealthy()
        if self.working is None:
            reasons.append("starting")
        elif not reasons and self.pulse.quiet_for() > IDLE_SECONDS:
            reasons.append(f"the instance has not looked for jobs for {self.pulse.quiet_for():.0f} s")
        if self.store is not None:
            reasons += await _store_faults(self.store)
        if self.hears is None or not await self.hears():
            reasons.append("Slack is not connected")
        return reasons


async def _store_faults(store: Store) -> list[str]:
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            await store.now()
            full = await store.full()
    except StoreError as error:
        return [str(error)]
    except TimeoutError:
        return [f"the store does not answer within {ANSWER_SECONDS:g} s"]
    return [full] if full else []


@contextlib.asynccontextmanager
async def open_door(address: Address | None, signs: Signs, metrics: Metrics, measure: Measure) -> AsyncIterator[str]:
    """Serve `/healthz`, `/readyz` and `/metrics`. Gives the URL they are under, or nothing where they are off.

    `measure` is awaited before metrics are shown, to look up those that nothing else brings in.
    Raises SettingsError if the address was asked for and cannot be had.
    """
    if address is None:
        yield ""
        return
    runner = web.AppRunner(_application(signs, metrics, measure), access_log=None, shutdown_timeout=0.5)
    await runner.setup()
    try:
        port = await _listen(runner, address)
        yield f"http://{Address(address.host, port)}"
    finally:
        await runner.cleanup()


async def _listen(runner: web.AppRunner, address: Address) -> int:
    """Take the port, or a free one where none was asked for. Gives the port."""
    ports = (address.port,) if address.fixed else (address.port, 0)
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


def _application(signs: Signs, metrics: Metrics, measure: Measure) -> web.Application:
    async def healthz(_: web.Request) -> web.Response:
        return _verdict(signs.unhealthy())

    async def readyz(_: web.Request) -> web.Response:
        return _verdict(await signs.unready())

    async def page(_: web.Request) -> web.Response:
        await measure()
        text, content_type = metrics.page()
        return web.Response(body=text, headers={"Content-Type": content_type})

    async def sign(_: web.Request, response: web.StreamResponse) -> None:
        response.headers["Server"] = SERVER
        response.headers["Cache-Control"] = "no-store"

    application = web.Application(client_max_size=1024)
    for path, handler in (("/healthz", healthz), ("/readyz", readyz), ("/metrics", page)):
        application.router.add_get(path, handler)
    application.on_response_prepare.append(sign)
    return application


def _verdict(reasons: list[str]) -> web.Response:
    return web.Response(status=503 if reasons else 200, text="".join(f"{reason}\n" for reason in reasons) or "ok\n")
