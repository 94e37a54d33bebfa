"""`leadhand run`: the bot on real Slack, over Socket Mode or HTTP, until it is told to stop."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator

from bot.app import open_crew, open_store, running
from bot.models.choosing import ModelSettingsError, choose_model
from bot.settings import Settings, SettingsError
from bot.slack.connection import Bolt, http, socket_mode
from bot.slack.proof import NotConnected


async def serve(options: argparse.Namespace, settings: Settings) -> int:
    """Run until SIGTERM or Ctrl-C. Raises SettingsError or StoreError where it cannot start."""
    del options
    require_slack(settings)
    open_crew(settings)
    async with open_store(settings) as store:
        try:
            model = await choose_model(settings.env)
        except ModelSettingsError as error:
            raise SettingsError(str(error)) from None
        async with running(settings, store, model) as app, connected(app.bolt, settings) as where:
            print(f"Leadhand is listening ({where}); model: {model.label}. Ctrl-C stops it.", flush=True)  # noqa: T201
            await until_told()
    return 0


def require_slack(settings: Settings) -> None:
    """Raises SettingsError unless there is a token and a way in."""
    if not settings.bot_token:
        raise SettingsError(
            "SLACK_BOT_TOKEN is not set. Install the app from manifest.yml and copy its token (xoxb-...), or use "
            "`leadhand try`, which needs no Slack."
        )
    if not settings.app_token and not settings.signing_secret:
        raise SettingsError(
            "Neither SLACK_APP_TOKEN (Socket Mode) nor SLACK_SIGNING_SECRET (HTTP mode) is set; one of them is needed."
        )


@contextlib.asynccontextmanager
async def connected(bolt: Bolt, settings: Settings) -> AsyncIterator[str]:
    """The bot's ear: Socket Mode where there is an app token, else HTTP. Gives where it listens, in words.

    Raises SettingsError if Slack does not let us in, or the port cannot be had.
    """
    if settings.socket_mode:
        ear = socket_mode(bolt, settings.app_token)
    else:
        ear = http(bolt, signing_secret=settings.signing_secret, port=settings.port)
    try:
        async with ear as where:
            yield where
    except NotConnected as error:
        raise SettingsError(str(error)) from None


async def until_told() -> None:
    """Return on SIGTERM or SIGINT."""
    told = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, told.set)
    await told.wait()
