"""`/leadhand settings`: shows a channel's settings, and opens and saves the windows in which admins change them."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from typing import Any

from slack_sdk.web.async_client import AsyncWebClient

from bot.access.access_values import ChannelValues, EffectiveValues
from bot.access.channel_settings import ChannelSettings, FormNotSaved, FormValues
from bot.features.channel_settings.form_parser import FormFaults, parse_settings
from bot.features.channel_settings.window import (
    CHANGE_PREFIX,
    SETTINGS_WINDOW,
    SettingsWindow,
    WindowContent,
    decode_window_data,
    describe_conflicts,
    merge_edits,
    render_settings,
    render_settings_window,
)
from bot.slack.receive.payloads import Click, SlashCommand, ViewSubmission
from bot.slack.receive.router import ClickReply, Router, make_field_error, make_field_errors, make_redraw_answer
from bot.slack.receive.subcommand import CommandContext
from bot.slack.send.web_calls import BackgroundTasks
from bot.slack.show import notices
from bot.slack.show.notices import make_note, open_window, show_ephemeral_message
from bot.slack.show.people import People
from bot.slack.views.channel_setting_words import SETTINGS_SECTIONS, list_setting_names
from bot.slack.views.outgoing import Outgoing
from handoff.access.audit_entry import AuditEntry, AuditRecorder, discard_entry
from handoff.contracts import Place

log = logging.getLogger(__name__)

NOT_OPENED_TEXT = "Slack did not open the window. Click again, or type `/leadhand settings`."
NEWER_RELEASE_TEXT = (
    "A newer release set values here that this one does not know. Bring this one up to it; nothing was changed."
)
CONFLICT_TEXT = "Somebody else is changing this channel right now. Save again."


class SettingsForm:
    """Shows and changes the settings of channels.

    Args:
        settings: The settings of channels, with the form's values.
        people: The people of our workspace, its user groups, and the admins, who may change settings.
        clock: The store's time, for the audit.
        record_audit: Stores an entry of the audit.
    """

    def __init__(
        self,
        settings: ChannelSettings,
        people: People,
        *,
        clock: Callable[[], float],
        record_audit: AuditRecorder = discard_entry,
    ) -> None:
        self._settings = settings
        self._people = people
        self._clock = clock
        self._record = record_audit
        self._background = BackgroundTasks()

    def register(self, router: Router, background: BackgroundTasks) -> None:
        """Register the listeners for the buttons and the windows."""
        self._background = background
        router.on_click(re.compile(f"{CHANGE_PREFIX}.+"), self.on_open_window, fault=notices.NOT_READ)
        router.on_window(SETTINGS_WINDOW, self.on_save)

    async def render_command_reply(self, command: SlashCommand) -> Outgoing:
        """Render the values of the command's channel; an admin gets buttons to change them. Raises StoreError."""
        return await self._render_settings(command.team, command.channel, admin=command.user in self._people.admins)

    async def _render_settings(self, team: str, channel: str, *, admin: bool) -> Outgoing:
        form = await self._settings.read_form(team, channel)
        access = await self._settings.read_effective_values(team, channel)
        crews, handles = tuple(self._settings.crews), await self._find_handles(access)
        return render_settings(channel, access, handles, can_change=admin, crews=crews, is_newer=form.is_newer)

    async def _find_handles(self, access: EffectiveValues) -> dict[str, str]:
        """Look up the handles of user groups by their ids; empty if the channel's values name no group."""
        return dict(await self._people.list_groups()) if access.groups else {}

    async def on_open_window(self, click: Click, client: AsyncWebClient) -> ClickReply:
        """Open the window of a section for an admin. Others get a refusal, which the audit records."""
        key = click.action_id.removeprefix(CHANGE_PREFIX)
        section = next((one for one in SETTINGS_SECTIONS if one.key == key), None)
        if section is None:
            return notices.OLD_BUTTON
        if click.user not in self._people.admins:
            await self._audit_change(click.place, click.user, "refused", "not an admin")
            return notices.SETTINGS_NOT_ALLOWED
        window = SettingsWindow(click.place.channel, section, {})
        form = await self._settings.read_form(click.place.team, window.channel)
        view = render_settings_window(await self._gather_window_content(click.place.team, window, form))
        return None if await open_window(client, click.trigger_id, view) else NOT_OPENED_TEXT

    async def _gather_window_content(
        self,
        team: str,
        window: SettingsWindow,
        form: FormValues,
        *,
        field_values: ChannelValues | None = None,
        top_lines: tuple[str, ...] = (),
    ) -> WindowContent:
        """Gather the content of a window. Its fields show `field_values` or, if that is None, the values of `form`."""
        channel = window.channel
        return WindowContent(
            window.section,
            channel,
            inherited_values=self._settings.merge_without_form(channel),
            access=await self._settings.read_effective_values(team, channel),
            form=form,
            field_values=field_values,
            groups=await self._people.list_groups() if window.section.key == "people" else (),
            crews=tuple(self._settings.crews),
            models=self._settings.models,
            top_lines=top_lines,
            round=window.round,
        )

    async def on_save(self, submission: ViewSubmission, client: AsyncWebClient) -> Mapping[str, Any] | None:
        """Save the values from an admin's window. Returns field errors, a redrawn window, or None to close it."""
        window = decode_window_data(submission.metadata)
        if window is None:
            log.warning("a window of settings without its channel was left alone")
            return None
        place, user = submission.place, submission.user
        if user not in self._people.admins:
            await self._audit_change(place, user, "refused", "not an admin")
            self._background.start(
                show_ephemeral_message(client, place, user, make_note(notices.SETTINGS_NOT_ALLOWED)),
                "refuse a change of settings",
            )
            return None
        form_values = (await self._settings.read_form(place.team, window.channel)).values
        new_values = parse_settings(dict(submission.values), form_values, window, tuple(self._settings.crews))
        if isinstance(new_values, FormFaults):
            return make_field_errors(new_values.errors)
        outcome = await self._save_values(place, user, window, new_values)
        if isinstance(outcome, dict):
            return make_redraw_answer(outcome)
        if isinstance(outcome, str):
            return make_field_error(submission.first_block, outcome)
        if outcome:
            self._background.start(self._confirm_change(client, place, user, outcome), "confirm settings")
        return None

    async def _save_values(
        self, place: Place, user: str, window: SettingsWindow, values: ChannelValues
    ) -> tuple[str, ...] | dict[str, Any] | str:
        """Save a window's values. Returns the changed names, a new view after a conflict, or why it failed."""
        names = list_setting_names(window.section, window.channel, tuple(self._settings.crews))
        outcome = await self._settings.save_form(
            place.team, window.channel, values, user=user, names=names, seen_stamps=dict(window.stamps)
        )
        if not isinstance(outcome, FormNotSaved):
            return outcome
        if not outcome.conflicting_names:
            return NEWER_RELEASE_TEXT if outcome.form.is_newer else CONFLICT_TEXT
        return render_settings_window(
            await self._gather_conflict_content(place.team, window, values, outcome.form, names)
        )

    async def _gather_conflict_content(
        self, team: str, window: SettingsWindow, values: ChannelValues, form: FormValues, names: tuple[str, ...]
    ) -> WindowContent:
        """Gather the content of a window after a conflict: the admin's edits, and the changes by others."""
        changed_names = [
            name for name in names if form.compute_stamp(name) != window.stamps.get(name, form.compute_stamp(name))
        ]
        field_values, edited_by_both = merge_edits(values, window, form, names)
        conflict_lines = describe_conflicts(
            await self._settings.read_effective_values(team, window.channel), changed_names, edited_by_both
        )
        next_round = SettingsWindow(window.channel, window.section, {}, window.round + 1)
        return await self._gather_window_content(
            team, next_round, form, field_values=field_values, top_lines=tuple(conflict_lines)
        )

    async def _confirm_change(self, client: AsyncWebClient, place: Place, user: str, names: tuple[str, ...]) -> None:
        """Record each changed value in the audit, and send the admin the present settings."""
        for name in names:
            await self._audit_change(place, user, "done", "", name)
        await show_ephemeral_message(
            client, place, user, await self._render_settings(place.team, place.channel, admin=True)
        )

    async def _audit_change(self, place: Place, user: str, outcome: Any, why: str, target: str = "") -> None:
        context_fields = {"team": place.team, "channel": place.channel, "user": user}
        await self._record(
            AuditEntry(at=self._clock(), deed="configured", outcome=outcome, why=why, target=target, **context_fields)
        )


async def show_settings(ctx: CommandContext) -> Outgoing:
    """Render the settings of the channel, for an admin with buttons that open a window."""
    return await ctx.find_service(SettingsForm).render_command_reply(ctx.command)
