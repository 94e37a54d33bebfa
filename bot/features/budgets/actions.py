"""At the cap: a person asks the admins for more, and an admin allows it."""

from __future__ import annotations

import logging
from typing import Any

from slack_bolt.async_app import AsyncApp
from slack_bolt.context.ack.async_ack import AsyncAck
from slack_sdk.web.async_client import AsyncWebClient

from bot.features.budgets.service import Budgets
from bot.features.budgets.view import ALLOW_MORE, ASK_MORE, Wanted, allowed, asks_for_more, place_of, wanted_of
from bot.slack.receive.payloads import Click, parse_click
from bot.slack.send.web_calls import Background
from bot.slack.show import notices
from bot.slack.show.notices import Unrecorded, note, redraw, soon, tell, tell_directly

log = logging.getLogger(__name__)


class MoreBudget:
    """The listeners of the two buttons."""

    def __init__(self, budgets: Budgets, admins: frozenset[str], background: Background) -> None:
        self._budgets = budgets
        self._admins = admins
        self._background = background

    def register(self, app: AsyncApp) -> None:
        """Make the app listen."""
        app.action(ASK_MORE)(self.on_ask)
        app.action(ALLOW_MORE)(self.on_allow)

    async def on_ask(self, ack: AsyncAck, body: dict[str, Any], action: dict[str, Any], client: AsyncWebClient) -> None:
        """Send the admins what a person asks for, once an hour for a budget."""
        click, wanted = _read(body, action)
        if click is not None:
            text = notices.OLD_BUTTON
            if wanted is not None and wanted.user == click.user:
                text = await self._ask(wanted, click, client)
            self._background.start(tell(client, click.private_place, click.user, note(text)), "answer a click")
        await ack()

    async def _ask(self, wanted: Wanted, click: Click, client: AsyncWebClient) -> str:
        try:
            async with soon():
                first = await self._budgets.asks_for_more(place_of(wanted, click.place.team), click.user, wanted.scope)
        except Unrecorded:
            return notices.NOT_RECORDED
        if not first:
            return notices.ASKED_ALREADY
        for admin in sorted(self._admins):
            self._background.start(tell_directly(client, admin, asks_for_more(wanted)), "ask an admin for more")
        return notices.ASKED_FOR_MORE

    async def on_allow(
        self, ack: AsyncAck, body: dict[str, Any], action: dict[str, Any], client: AsyncWebClient
    ) -> None:
        """Raise a budget, and tell who asked for it."""
        click, wanted = _read(body, action)
        if click is not None and wanted is not None:
            place = place_of(wanted, click.place.team)
            try:
                async with soon():
                    now = await self._budgets.raise_budget(
                        place, wanted.user, wanted.scope, by=click.user, operation=f"more:{wanted.scope}:{wanted.ask}"
                    )
            except Unrecorded:
                now = None
            if now:
                done = redraw(client, click.place.channel, click.message_ts, allowed(wanted, click.user, now))
                self._background.start(done, "say that more was allowed")
                told_at = place if wanted.thread_ts != wanted.ask else place.model_copy(update={"thread_ts": ""})
                words = note(f"An admin allowed more: {now} Mention me again with your request.")
                self._background.start(tell(client, told_at, wanted.user, words), "tell that more was allowed")
            else:
                text = notices.NOT_RECORDED if now is None and click.user in self._admins else notices.NOT_ADMIN
                self._background.start(tell(client, click.private_place, click.user, note(text)), "refuse a click")
        await ack()


def _read(body: dict[str, Any], action: dict[str, Any]) -> tuple[Click | None, Wanted | None]:
    click = parse_click(body, action)
    if not isinstance(click, Click):
        log.warning("a click without %s was left alone", click.reason)
        return None, None
    return click, wanted_of(click.value)
