"""Buttons that turn a page: of a list that a command showed, or of a section of somebody's home."""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING, Any

from slack_bolt.async_app import AsyncApp
from slack_bolt.context.ack.async_ack import AsyncAck
from slack_sdk.web.async_client import AsyncWebClient

from bot.slack.receive.commands import Commands
from bot.slack.receive.payloads import Command
from bot.slack.send.web_calls import replace_message
from bot.slack.show import notices
from bot.slack.show.notices import Unrecorded, note, soon
from bot.slack.views.home import HOME_PAGE
from bot.slack.views.paging import TURN, turned

if TYPE_CHECKING:
    from bot.slack.receive.home_tab import HomeTab

log = logging.getLogger(__name__)

_TURNS = re.compile(rf"^{TURN}_(back|on)$")


class PageTurns:
    """The listener of these buttons."""

    def __init__(self, commands: Commands, home: HomeTab | None) -> None:
        self._commands = commands
        self._home = home

    def register(self, app: AsyncApp) -> None:
        """Make the app listen."""
        app.action(_TURNS)(self.on_turn)

    async def on_turn(
        self, ack: AsyncAck, body: dict[str, Any], action: dict[str, Any], client: AsyncWebClient
    ) -> None:
        """Show the page. Who may see what is asked again, as the command or the home does."""
        wanted = turned(str(action.get("value") or ""))
        user = str((body.get("user") or {}).get("id") or "")
        if wanted is None or not user:
            log.warning("a button that turns a page was left alone: it says no page")
        elif wanted.word.startswith(HOME_PAGE):
            if self._home is not None:
                self._home.open(user, {wanted.word.removeprefix(HOME_PAGE)[:40]: wanted.page})
        else:
            team, channel = str((body.get("team") or {}).get("id") or ""), (body.get("channel") or {}).get("id") or ""
            command = Command(team, str(channel), user, wanted.word, wanted.rest, str(body.get("trigger_id") or ""))
            try:
                async with soon():
                    message = await self._commands.answer(self._commands.given(command, client, page=wanted.page))
            except Unrecorded:
                message = note(notices.NOT_READ)
            await ack()
            await replace_message(client, body, text=message.text, blocks=message.blocks)
            return
        await ack()
