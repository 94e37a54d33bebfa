"""`/leadhand settings`: what holds in a channel, and for admins the windows in which they change it."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from typing import Any

from slack_bolt.async_app import AsyncApp
from slack_bolt.context.ack.async_ack import AsyncAck
from slack_sdk.web.async_client import AsyncWebClient

from bot.access.access_values import Access, ChannelValues
from bot.access.channel_settings import ChannelSettings, NotSet
from bot.access.kept_form import FormValues
from bot.features.channel_settings.reading import Faults, field_of, settings_of
from bot.features.channel_settings.view import CHANGE, settings_text
from bot.features.channel_settings.window import SETTINGS, Drawn, WindowOf, meanwhile, merged, settings_modal, window_of
from bot.slack.receive.payloads import Click, Command, Window, parse_click, parse_window
from bot.slack.receive.subcommand import Given
from bot.slack.send.web_calls import Background
from bot.slack.show import notices
from bot.slack.show.notices import Unrecorded, note, open_window, soon, tell
from bot.slack.show.people import People
from bot.slack.views.channel_words import SECTIONS, names_in
from bot.slack.views.outgoing import Outgoing
from bot.store.interface import PayloadTooLarge
from handoff.access.audit_entry import AuditEntry, Note, dropped
from handoff.contracts import Place

log = logging.getLogger(__name__)

NOT_OPENED = "Slack did not open the window. Click once more, or give `/leadhand settings` again."
NEWER = "A newer release set values here that this one does not know. Bring this one up to it; nothing was changed."
BUSY = "Others are changing this channel at this very moment. Save again."


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
        """Make the app listen to the buttons and the windows."""
        self._background = background
        app.action(re.compile(f"{CHANGE}.+"))(self.on_change)
        app.view(SETTINGS)(self.on_save)

    async def show(self, command: Command) -> Outgoing:
        """Give the values of the channel, with buttons that change them for an admin. Raises StoreError."""
        return await self._shown(command.team, command.channel, admin=command.user in self._settings.admins)

    async def _shown(self, team: str, channel: str, *, admin: bool) -> Outgoing:
        form = await self._settings.form(team, channel)
        access = await self._settings.of(team, channel)
        crews, handles = tuple(self._settings.crews), await self._handles(access)
        return settings_text(channel, access, handles, form=admin, crews=crews, newer=form.newer)

    async def _handles(self, access: Access) -> dict[str, str]:
        """Look up the handles of the user groups that are named, if any is."""
        return dict(await self._people.groups()) if access.groups else {}

    async def on_change(
        self, ack: AsyncAck, body: dict[str, Any], action: dict[str, Any], client: AsyncWebClient
    ) -> None:
        """Open the window of a section for an admin; whoever is none (any more) is told so."""
        click, key = parse_click(body, action), str(action.get("action_id", "")).removeprefix(CHANGE)
        section = next((one for one in SECTIONS if one.key == key), None)
        await ack()
        if not isinstance(click, Click) or section is None:
            log.warning("a click on the settings that names no section was left alone")
            return
        words = ""
        if click.user not in self._settings.admins:
            await self._note(click.place, click.user, "refused", "not an admin")
            words = notices.NO_SETTINGS
        else:
            try:
                async with soon():
                    window = WindowOf(click.place.channel, section, {})
                    form = await self._settings.form(click.place.team, window.channel)
                    view = settings_modal(await self._drawn(click.place.team, window, form))
                    words = "" if await open_window(client, str(body.get("trigger_id", "")), view) else NOT_OPENED
            except Unrecorded:
                words = notices.NOT_RECORDED
        if words:
            self._background.start(tell(client, click.private_place, click.user, note(words)), "answer a click")

    async def _drawn(
        self,
        team: str,
        window: WindowOf,
        form: FormValues,
        *,
        shown: ChannelValues | None = None,
        told: tuple[str, ...] = (),
    ) -> Drawn:
        """Gather what a window is drawn with, as it is now; `form` is what the form set."""
        channel = window.channel
        return Drawn(
            window.section,
            channel,
            without=self._settings.without_form(channel),
            access=await self._settings.of(team, channel),
            form=form,
            shown=shown,
            groups=await self._people.groups() if window.section.key == "people" else (),
            crews=tuple(self._settings.crews),
            models=self._settings.models,
            told=told,
            round=window.round,
        )

    async def on_save(self, ack: AsyncAck, body: dict[str, Any], client: AsyncWebClient) -> None:
        """Keep what an admin put into the window; whoever is none (any more) is told so."""
        sent = parse_window(body)
        window = window_of(sent.metadata) if isinstance(sent, Window) else None
        if not isinstance(sent, Window) or window is None:
            log.warning("a window of settings without its channel was left alone")
            await ack()
            return
        place, user = Place(team=sent.team, channel=window.channel, thread_ts=""), sent.user
        if user not in self._settings.admins:
            await self._note(place, user, "refused", "not an admin")
            self._background.start(tell(client, place, user, note(notices.NO_SETTINGS)), "refuse a change of settings")
            await ack()
            return
        crews = tuple(self._settings.crews)
        first = field_of(names_in(window.section, window.channel, crews)[0], window)
        try:
            async with soon():
                known = (await self._settings.form(place.team, window.channel)).values
                found = settings_of(dict(sent.values), known, window, crews)
                if isinstance(found, Faults):
                    await ack(response_action="errors", errors=dict(found.errors))
                    return
                changed = await self._save(place, user, window, found)
                if isinstance(changed, dict):
                    await ack(response_action="update", view=changed)
                    return
        except Unrecorded as error:
            why = str(error) if isinstance(error.__cause__, PayloadTooLarge) else notices.NOT_RECORDED
            await ack(response_action="errors", errors={first: why})
            return
        if isinstance(changed, str):
            await ack(response_action="errors", errors={first: changed})
            return
        await ack()
        for name in changed:
            await self._note(place, user, "done", "", name)
        if changed:
            self._background.start(self._confirm(client, place, user), "confirm settings")

    async def _save(
        self, place: Place, user: str, window: WindowOf, found: ChannelValues
    ) -> tuple[str, ...] | dict[str, Any] | str:
        """Keep the values of a window. Returns those that changed, or the window anew, or why nothing was kept."""
        names = names_in(window.section, window.channel, tuple(self._settings.crews))
        kept = await self._settings.set(
            place.team, window.channel, found, user=user, names=names, seen=dict(window.seen)
        )
        if not isinstance(kept, NotSet):
            return kept
        if not kept.overtaken:
            return NEWER if kept.form.newer else BUSY
        return settings_modal(await self._again(place.team, window, found, kept.form, names))

    async def _again(
        self, team: str, window: WindowOf, found: ChannelValues, form: FormValues, names: tuple[str, ...]
    ) -> Drawn:
        """Draw a window again after others saved: with what was typed, and what they changed meanwhile."""
        changed = [name for name in names if form.stamp(name) != window.seen.get(name, form.stamp(name))]
        shown, both = merged(found, window, form, names)
        told = meanwhile(await self._settings.of(team, window.channel), changed, both)
        next_round = WindowOf(window.channel, window.section, {}, window.round + 1)
        return await self._drawn(team, next_round, form, shown=shown, told=tuple(told))

    async def _confirm(self, client: AsyncWebClient, place: Place, user: str) -> None:
        """Show an admin what holds now."""
        await tell(client, place, user, await self._shown(place.team, place.channel, admin=True))

    async def _note(self, place: Place, user: str, outcome: Any, why: str, target: str = "") -> None:
        named = {"team": place.team, "channel": place.channel, "user": user}
        await self._record(
            AuditEntry(at=self._clock(), deed="configured", outcome=outcome, why=why, target=target, **named)
        )


async def settings(given: Given) -> Outgoing:
    """Say what holds in the channel; for an admin with buttons that open a window."""
    return await given.find(SettingsForm).show(given.command)
