"""`leadhand run`: the bot on real Slack, over Socket Mode or HTTP, until it is told to stop."""

from __future__ import annotations

import argparse
import asyncio
import signal
from contextlib import AbstractAsyncContextManager

from bot.app import open_crew, open_store, running
from bot.models.choosing import ModelSettingsError, choose_model
from bot.settings import Settings, SettingsError
from bot.slack.connection import Bolt, http, socket_mode


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


def connected(bolt: Bolt, settings: Settings) -> AbstractAsyncContextManager[str]:
    """The bot's ear: Socket Mode where there is an app token, else HTTP. Gives where it listens, in words."""
    if settings.socket_mode:
        return socket_mode(bolt, settings.app_token)
    return http(bolt, signing_secret=settings.signing_secret, port=settings.port)


async def until_told() -> None:
    """Return on SIGTERM or SIGINT."""
    told = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, told.set)
    await told.wait()
