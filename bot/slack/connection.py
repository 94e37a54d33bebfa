"""The bot's connection to Slack: Bolt, over Socket Mode or HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

from aiohttp import web
from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient

from bot.slack.client import close_client, make_client
from bot.slack.proof import NotConnected, bot_account, prove_app_token
from bot.slack.receive.http import web_app

Bolt = AsyncApp
CLOSING = 1.0
"""Seconds that requests under way get to end when the connection closes."""


@dataclass(frozen=True, slots=True)
class Connection:
    """A way in for what Slack sends. `where` is it in words; `is_up` asks if Slack reaches us right now."""

    where: str
    is_up: Callable[[], Awaitable[bool]]

    def __str__(self) -> str:
        """Where, in words."""
        return self.where


async def proven_client(token: str, base_url: str) -> tuple[AsyncWebClient, str]:
    """Make a client, prove its token, and give our own user id with it. Raises NotConnected."""
    client = make_client(token, base_url)
    try:
        return client, (await bot_account(client)).user
    except BaseException as error:
        await close_client(client)
        if isinstance(error, NotConnected):
            raise NotConnected(f"SLACK_BOT_TOKEN: {error}. `leadhand check` looks at all settings.") from error
        raise


def make_bolt(client: AsyncWebClient, *, signing_secret: str) -> Bolt:
    """Make an app that runs its listeners before Slack is told "received": what was not recorded comes again."""
    logger = logging.getLogger(f"{__name__}.bolt")
    logger.setLevel(logging.getLogger().level)
    logger.addFilter(_drop_token_warning)
    return AsyncApp(
        client=client,
        signing_secret=signing_secret or "unused in Socket Mode",
        name="leadhand",  # without one, Bolt looks for it on the stack, for 50 ms
        process_before_response=True,
        logger=logger,
    )


@contextlib.asynccontextmanager
async def socket_mode(bolt: Bolt, app_token: str) -> AsyncIterator[Connection]:
    """Listen over Socket Mode. Raises NotConnected."""
    try:
        # The SDK would try a token that Slack refuses again and again, for ever.
        await prove_app_token(bolt.client, app_token)
    except NotConnected as error:
        raise NotConnected(f"SLACK_APP_TOKEN: {error}. `leadhand check` looks at all settings.") from error
    handler = AsyncSocketModeHandler(bolt, app_token, logger=_without_traces())
    try:
        await handler.connect_async()  # type: ignore[no-untyped-call]
        yield Connection("Socket Mode", handler.client.is_connected)
    finally:
        # Slack's side of the closing may be slow to come, and nobody waits for it.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLOSING):
                await handler.close_async()  # type: ignore[no-untyped-call]


@contextlib.asynccontextmanager
async def http(bolt: Bolt, *, signing_secret: str, port: int) -> AsyncIterator[Connection]:
    """Listen over HTTP. Raises NotConnected where the port cannot be had."""
    runner = web.AppRunner(web_app(bolt, signing_secret=signing_secret), access_log=None, shutdown_timeout=CLOSING)
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, port=port).start()
        except OSError as error:
            why = os.strerror(error.errno) if error.errno else error
            raise NotConnected(f"Port {port} cannot be had ({why}). Choose another with LEADHAND_PORT.") from error
        yield Connection(f"HTTP, port {runner.addresses[0][1]}, path /slack/events", _listens)
    finally:
        await runner.cleanup()


async def _listens() -> bool:
    """Return True: the port is open. If Slack knows the way to it, only Slack can say."""
    return True


def _drop_token_warning(record: logging.LogRecord) -> bool:
    """Bolt finds SLACK_BOT_TOKEN by itself, and warns that the client which we made with it comes first."""
    return "`token` will be unused" not in record.getMessage()


def _without_traces() -> logging.Logger:
    """Make a logger that tells of a lost connection, which is made again by itself, in one line without a trace."""
    logger = logging.getLogger(f"{__name__}.socket_mode")
    logger.setLevel(logging.getLogger().level)  # the SDK reads `level` itself, and takes "not set" for debugging
    logger.addFilter(_drop_trace)
    return logger


def _drop_trace(record: logging.LogRecord) -> bool:
    record.exc_info = None
    return True
