"""`/leadhand settings`: what holds in a channel, and for admins the window in which they change it."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Any

from slack_bolt.async_app import AsyncApp
from slack_bolt.context.ack.async_ack import AsyncAck
from slack_sdk.web.async_client import AsyncWebClient

from bot.access.access_values import Access
from bot.access.channel_settings import ChannelSettings
from bot.slack.receive.payloads import Command, Window, parse_window
from bot.slack.send.web_calls import Background
from bot.slack.show import notices
from bot.slack.show.notices import Unrecorded, note, open_window, soon, tell
from bot.slack.show.people import People
from bot.slack.views.outgoing import Outgoing
from bot.slack.views.settings_view import SETTINGS, Faults, settings_modal, settings_of, settings_text
from bot.store.interface import PayloadTooLarge
from handoff.audit_entry import AuditEntry, Note, dropped
from handoff.contracts import Place

log = logging.getLogger(__name__)

OPENED = "The window shows what holds here, and where each value comes from."
NOT_OPENED = "Slack did not open the window. Try `/leadhand settings` again."


class SettingsForm:
    """Shows and changes the settings of channels.

    Args:
        settings: What holds, and where the form's values are kept.
        people: Knows our workspace and its user groups.
        clock: The store's time, for the audit.
        note: Keeps an entry of the audit.
    """

    def __init__(
        self,
        settings: ChannelSettings,
        people: People,
        *,
        clock: Callable[[], float],
        note: Note = dropped,
    ) -> None:
        self._settings = settings
        self._people = people
        self._clock = clock
        self._record = note
        self._background = Background()

    def register(self, app: AsyncApp, background: Background) -> None:
        """Make the app listen to the window."""
        self._background = background
        app.view(SETTINGS)(self.on_save)

    async def show(self, command: Command, client: AsyncWebClient) -> Outgoing:
        """Give the values of the channel; open the window besides for an admin. Raises StoreError."""
        team, channel, admin = command.team, command.channel, command.user in self._settings.admins
        access = await self._settings.of(team, channel)
        if admin:
            form = await self._settings.form(team, channel)
            groups = await self._people.groups()
            access = await self._settings.of(team, channel)
            without, crews = self._settings.without_form(channel), tuple(self._settings.crews)
            view = settings_modal(channel, access, without, form.values, groups, crews)
            return note(OPENED if await open_window(client, command.trigger, view) else NOT_OPENED)
        return settings_text(
            channel, access, await self._handles(access), form=False, crews=tuple(self._settings.crews)
        )

    async def _handles(self, access: Access) -> dict[str, str]:
        """Look up the handles of the user groups that are named, if any is."""
        return dict(await self._people.groups()) if access.groups else {}

    async def on_save(self, ack: AsyncAck, body: dict[str, Any], client: AsyncWebClient) -> None:
        """Keep what an admin put into the window; whoever is none (any more) is told so."""
        sent = parse_window(body)
        channel = _channel(sent.metadata) if isinstance(sent, Window) else ""
        if not isinstance(sent, Window) or not channel:
            log.warning("a window of settings without its channel was left alone")
            await ack()
            return
        place, user = Place(team=sent.team, channel=channel, thread_ts=""), sent.user
        if user not in self._settings.admins:
            await self._note(place, user, "refused", "not an admin")
            self._background.start(tell(client, place, user, note(notices.NO_SETTINGS)), "refuse a change of settings")
            await ack()
            return
        try:
            async with soon():
                known = (await self._settings.form(place.team, channel)).values
                found = settings_of(dict(sent.values), known, tuple(self._settings.crews))
                if isinstance(found, Faults):
                    await ack(response_action="errors", errors=dict(found.errors))
                    return
                changed = await self._settings.set(place.team, channel, found, user=user)
        except Unrecorded as error:
            why = str(error) if isinstance(error.__cause__, PayloadTooLarge) else notices.NOT_RECORDED
            await ack(response_action="errors", errors={"users": why})
            return
        await ack()
        for name in changed:
            await self._note(place, user, "done", "", name)
        if changed:
            self._background.start(self._confirm(client, place, user), "confirm settings")

    async def _confirm(self, client: AsyncWebClient, place: Place, user: str) -> None:
        """Show an admin what holds now."""
        access = await self._settings.of(place.team, place.channel)
        crews = tuple(self._settings.crews)
        words = settings_text(place.channel, access, await self._handles(access), form=True, crews=crews)
        await tell(client, place, user, words)

    async def _note(self, place: Place, user: str, outcome: Any, why: str, target: str = "") -> None:
        named = {"team": place.team, "channel": place.channel, "user": user}
        await self._record(
            AuditEntry(at=self._clock(), deed="configured", outcome=outcome, why=why, target=target, **named)
        )


def _channel(metadata: str) -> str:
    try:
        return str(json.loads(metadata)["channel"])
    except (ValueError, KeyError, TypeError):
        return ""
