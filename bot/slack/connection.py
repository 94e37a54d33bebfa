"""The bot's ear: Bolt, over Socket Mode or HTTP."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

import aiohttp
from aiohttp import web
from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from bot.slack.http import web_app

Bolt = AsyncApp


class NotConnected(Exception):
    """Slack does not let us in, or cannot be reached. The text says what to do."""


async def bot_user(client: AsyncWebClient) -> str:
    """Our own user id. Raises NotConnected."""
    try:
        return str((await client.auth_test())["user_id"])
    except SlackApiError as error:
        code = str(error.response.get("error", "unknown"))
        raise NotConnected(f"Slack refused SLACK_BOT_TOKEN ({code}). `leadhand check` says more.") from error
    except (OSError, TimeoutError, aiohttp.ClientError) as error:
        where = client.base_url
        raise NotConnected(f"{where} cannot be reached ({error}); look at SLACK_API_URL and the network.") from error


def make_bolt(client: AsyncWebClient, *, signing_secret: str) -> Bolt:
    """An app that runs its listeners before Slack is told "received": what was not recorded comes again."""
    return AsyncApp(
        client=client, signing_secret=signing_secret or "unused in Socket Mode", process_before_response=True
    )


@contextlib.asynccontextmanager
async def socket_mode(bolt: Bolt, app_token: str) -> AsyncIterator[str]:
    """Listen over Socket Mode. Gives where, in words."""
    handler = AsyncSocketModeHandler(bolt, app_token)
    await handler.connect_async()  # type: ignore[no-untyped-call]
    try:
        yield "Socket Mode"
    finally:
        await handler.close_async()  # type: ignore[no-untyped-call]


@contextlib.asynccontextmanager
async def http(bolt: Bolt, *, signing_secret: str, port: int) -> AsyncIterator[str]:
    """Listen over HTTP. Gives where, in words. Raises OSError where the port cannot be had."""
    runner = web.AppRunner(web_app(bolt, signing_secret=signing_secret), access_log=None)
    await runner.setup()
    try:
        site = web.TCPSite(runner, port=port)
        await site.start()
        yield f"HTTP, port {port}, path /slack/events"
    finally:
        await runner.cleanup()
