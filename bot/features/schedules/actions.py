"""Handles clicks on a proposed schedule and on the list of schedules, and the pages of the form."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from slack_sdk.web.async_client import AsyncWebClient

from bot.access.time_zones import explain_unknown_zone, find_zone, find_zone_name
from bot.features.budgets.service import BudgetService
from bot.features.requests.service import RequestService
from bot.features.schedules import form as page
from bot.features.schedules.commands import NO_WINDOW_TEXT, apply_deed
from bot.features.schedules.form import METADATA_LIMIT, encode_metadata, render_confirmation, render_form
from bot.features.schedules.phrases import FORMS_TEXT, parse_when
from bot.features.schedules.rights import find_schedule_fault
from bot.features.schedules.schedule import ParsedSchedule, Schedule, ScheduleRefusal
from bot.features.schedules.talk import ScheduleDrafts
from bot.features.schedules.view import (
    CHANGE,
    DISCARD,
    EDIT,
    NEW,
    NOW,
    PAUSE,
    REMOVE,
    RESUME,
    RUN,
    SAVE,
    render_list,
    render_saved,
)
from bot.slack.receive.payloads import Click, ViewSubmission
from bot.slack.receive.router import CLOSE_ALL_WINDOWS, ClickReply, Router, make_field_errors, make_push_answer
from bot.slack.receive.services import FeatureServices
from bot.slack.send.web_calls import BackgroundTasks, replace_message
from bot.slack.show.notices import add_receipt_reaction, make_note, open_window, show_ephemeral
from bot.slack.text.cleaning import clean_mrkdwn
from bot.slack.views.button_data import decode_data
from bot.slack.views.outgoing import Outgoing
from bot.slack.views.paging import select_page
from handoff.contracts import Place, Request

log = logging.getLogger(__name__)

GONE_TEXT = "That is not there any more: drafts are dropped after a day, and somebody may have removed it."
DISCARDED_TEXT = "Discarded; nothing runs."
TAKEN_AS_REQUEST_TEXT = "OK, I'm working on it as a single request."
ACTION_DEEDS = {PAUSE: "pause", RESUME: "resume", RUN: "run", REMOVE: "remove"}


class ScheduleClicks:
    """The listeners for the buttons of schedules, and for the windows in which they are edited and confirmed."""

    def __init__(
        self, talk: ScheduleDrafts, requests: RequestService, services: FeatureServices, background: BackgroundTasks
    ) -> None:
        self._talk, self._requests, self._services, self._background = talk, requests, services, background

    def register(self, router: Router) -> None:
        """Register the listeners for buttons and windows."""
        for action in (SAVE, DISCARD, CHANGE, NOW, EDIT, NEW, *ACTION_DEEDS):
            router.on_click(action, self.on_click)
        router.on_window(page.FORM_WINDOW, self.on_form)
        router.on_window(page.CONFIRM_WINDOW, self.on_confirm)

    async def on_click(self, click: Click, client: AsyncWebClient) -> ClickReply:
        """Carry out a click, and redraw the message, which only this person sees."""
        shown = await self._carry_out_click(click, client)
        if shown is None or click.window or not click.response_url:
            return shown
        say = replace_message(client, click.response_url, text=shown.text, blocks=shown.blocks, ephemeral=True)
        self._background.start(say, "show a schedule anew")
        return None

    async def _carry_out_click(self, click: Click, client: AsyncWebClient) -> Outgoing | None:
        desk = self._talk.desk
        one = (
            await desk.find(click.place.team, click.value, click.user)
            if click.action != NEW
            else await self._talk.make_blank_schedule(click.place.team, click.place.channel, click.user)
        )
        if one is None:
            return make_note(GONE_TEXT)
        if click.action in {CHANGE, EDIT, NEW}:
            opened = await open_window(client, click.trigger_id, render_form(one, encode_metadata(one)))
            return None if opened else make_note(NO_WINDOW_TEXT)
        if click.action == SAVE:
            on = {"state": "on", "said": "", "said_ts": "", "said_thread": ""}
            done = await desk.edit(one, click.user, lambda now: now.model_copy(update=on), "made")
            return render_saved(done) if isinstance(done, Schedule) else make_note(clean_mrkdwn(done.words))
        if click.action == DISCARD:
            if one.state == "draft":
                await desk.remove(one, click.user)
            return make_note(DISCARDED_TEXT)
        if click.action == NOW:
            return await self._record_as_request(one, click, client)
        said = await apply_deed(self._talk, one, click.user, ACTION_DEEDS[click.action])
        return render_list(select_page(await desk.list_schedules(click.place.team, click.user), 1), click.user, said)

    async def _record_as_request(self, schedule: Schedule, click: Click, client: AsyncWebClient) -> Outgoing:
        """Record the message that a draft was read from as a request instead, and remove the draft."""
        if schedule.state != "draft" or not schedule.said_ts or schedule.owner != click.user:
            return make_note(GONE_TEXT)
        place = Place(team=schedule.team, channel=schedule.channel, thread_ts=schedule.said_thread or schedule.said_ts)
        over = await self._services.find(BudgetService).find_exceeded_budget(place, click.user, schedule.said_ts)
        if over is not None:
            return make_note(clean_mrkdwn(over.refusal or f"{over.phrase} is used up."))
        in_thread = schedule.said_thread not in {"", schedule.said_ts}
        request = Request(
            id=schedule.said_ts,
            user=click.user,
            text=schedule.said,
            at=self._talk.desk.clock(),
            attachments=schedule.files,
            look_back="thread" if in_thread else "",
        )
        await self._requests.record_request(place, request, dedupe=(f"message:{schedule.channel}:{schedule.said_ts}",))
        await self._talk.desk.remove(schedule, click.user)
        self._background.start(add_receipt_reaction(client, schedule.channel, schedule.said_ts), "react to a request")
        return make_note(TAKEN_AS_REQUEST_TEXT)

    async def on_form(self, submission: ViewSubmission, client: AsyncWebClient) -> Mapping[str, Any]:
        """Handle the form's first page: show the schedule for confirmation, or the faults beside their fields."""
        del client
        found = await self._parse_form(submission)
        if isinstance(found, dict):
            return make_field_errors(found)
        return make_push_answer(render_confirmation(found, self._talk.desk.clock(), encode_metadata(found, whole=True)))

    async def _parse_form(self, submission: ViewSubmission) -> Schedule | dict[str, str]:
        """Parse the form into a schedule, or return error texts by field."""
        known = decode_data(submission.metadata, Schedule)
        if known is None:
            return {page.WHEN: GONE_TEXT}
        base = await self._talk.desk.find(submission.team, known.id, submission.user) if known.id else None
        base = base or known.model_copy(update={"id": "", "owner": submission.user})
        zone = find_zone_name(submission.read_text(page.ZONE, page.ZONE), base.zone)
        if not zone:
            return {page.ZONE: explain_unknown_zone(submission.read_text(page.ZONE, page.ZONE))}
        parsed = parse_typed_time(submission.read_text(page.WHEN, page.WHEN), base, zone, self._talk.desk.clock())
        if isinstance(parsed, ScheduleRefusal):
            return {page.WHEN: parsed.words}
        parsed, chosen = parse_choices(submission.values, parsed, zone)
        wanted = base.model_copy(update={**chosen, "zone": zone, "edited_at": known.edited_at})
        if words := await self._talk.explain_channel_fault(wanted.channel, wanted.owner):
            return {page.WHERE: words[:1].upper() + words[1:] + "."}
        one = await self._talk.fill_in_schedule(wanted, parsed)
        if isinstance(one, ScheduleRefusal):
            return {page.ASKS: one.words}
        if (
            fault := find_schedule_fault(one, self._talk.desk.clock(), admin=self._talk.desk.is_admin(submission.user))
        ) is not None:
            return {page.WHEN if one.asks else page.ASKS: fault.words}
        if len(encode_metadata(one, whole=True)) > METADATA_LIMIT:
            return {page.ASKS: "That is too long for the form. Put part of it into a canvas, and name the canvas."}
        return one

    async def on_confirm(self, submission: ViewSubmission, client: AsyncWebClient) -> Mapping[str, Any] | None:
        """Save the schedule that the form's second page showed."""
        one = decode_data(submission.metadata, Schedule)
        if one is None:
            log.warning("a window of a schedule without it was left alone")
            return None
        done = await self._save_schedule(one.model_copy(update={"team": submission.team}), submission)
        message = render_saved(done) if isinstance(done, Schedule) else make_note(clean_mrkdwn(done.words))
        self._background.start(show_ephemeral(client, submission.place, submission.user, message), "confirm a schedule")
        return CLOSE_ALL_WINDOWS

    async def _save_schedule(self, schedule: Schedule, submission: ViewSubmission) -> Schedule | ScheduleRefusal:
        desk = self._talk.desk
        known = await desk.find(submission.team, schedule.id, submission.user) if schedule.id else None
        if known is None:
            new = {"owner": submission.user, "made_by": submission.user, "state": "on", "id": ""}
            return await desk.make(schedule.model_copy(update=new), mark=submission.id)
        draft = known.state == "draft"
        fields = {name: getattr(schedule, name) for name in FORM_FIELDS} | ({"state": "on"} if draft else {})
        fields |= {"said": "", "said_ts": "", "said_thread": ""}
        why = "made" if draft else "edited"
        return await desk.edit(
            known, submission.user, lambda now: now.model_copy(update=fields), why, seen_edit=schedule.edited_at
        )


FORM_FIELDS = ("channel", "asks", "rule", "zone", "until", "missed", "only_if_new", "reads")
"""The fields that the form sets."""


def parse_typed_time(text: str, base: Schedule, zone: str, now: float) -> ParsedSchedule | ScheduleRefusal:
    """Parse the time typed into the form of a schedule. An unchanged text keeps the schedule's rule. No I/O."""
    if text and text == page.describe_rule_for_form(base) and zone == base.zone:
        return ParsedSchedule("", base.rule)  # a model may have parsed it, and nothing else can
    return parse_when(text, now=now, zone=zone) or ScheduleRefusal(words=f"I cannot read that. {FORMS_TEXT}")


def parse_choices(
    values: Mapping[str, Any], parsed: ParsedSchedule, zone: str
) -> tuple[ParsedSchedule, dict[str, str]]:
    """Parse the form's fields other than the time. Returns the schedule with them, and the chosen fields by name."""

    def find_input(name: str) -> Mapping[str, Any]:
        block = values.get(name)
        found = block.get(name) if isinstance(block, Mapping) else None
        return found if isinstance(found, Mapping) else {}

    day, until = find_input(page.UNTIL).get("selected_date"), parsed.until
    if isinstance(day, str) and day:
        until = datetime.fromisoformat(f"{day}T23:59:59").replace(tzinfo=find_zone(zone)).timestamp()
    asks, only_if_new = (
        str(find_input(page.ASKS).get("value") or "").strip(),
        bool(find_input(page.IF_NEW).get("selected_options")),
    )
    parsed = replace(parsed, asks=asks, until=until, only_if_new=only_if_new or parsed.only_if_new)
    missed = (find_input(page.IF_MISSED).get("selected_option") or {}).get("value")
    channel = str(find_input(page.WHERE).get("selected_conversation") or "")
    return parsed, ({"missed": missed} if missed in page.MISSED_CHOICES else {}) | (
        {"channel": channel} if channel else {}
    )
