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
from bot.features.schedules.commands import NO_WINDOW_TEXT, apply_operation
from bot.features.schedules.drafts import ScheduleDrafts
from bot.features.schedules.form import METADATA_LIMIT, encode_metadata, render_confirmation, render_form
from bot.features.schedules.schedule import ParsedSchedule, Schedule, ScheduleRefusal
from bot.features.schedules.schedule_checks import find_schedule_fault
from bot.features.schedules.schedule_parser import KNOWN_PHRASES_TEXT, parse_time_only
from bot.features.schedules.view import (
    CHANGE,
    DISCARD,
    EDIT,
    NEW,
    PAUSE,
    REMOVE,
    RESUME,
    RUN,
    RUN_ONCE_NOW,
    SAVE,
    render_list,
    render_saved_reply,
)
from bot.slack.receive.payloads import Click, ViewSubmission
from bot.slack.receive.router import CLOSE_ALL_WINDOWS, ClickReply, Router, make_field_errors, make_push_answer
from bot.slack.receive.services import FeatureServices
from bot.slack.send.web_calls import BackgroundTasks, replace_clicked_message
from bot.slack.show.notices import add_receipt_reaction, make_note, open_window, show_ephemeral_message
from bot.slack.text.cleaning import clean_mrkdwn
from bot.slack.views.button_data import decode_data
from bot.slack.views.outgoing import Outgoing
from bot.slack.views.paging import select_page
from handoff.contracts import Place, Request
from handoff.text.capitalization import capitalize_first

log = logging.getLogger(__name__)

GONE_TEXT = "That is not there any more: drafts are dropped after a day, and somebody may have removed it."
DISCARDED_TEXT = "Discarded; nothing runs."
TAKEN_AS_REQUEST_TEXT = "OK, I'm working on it as a single request."
ACTION_OPERATIONS = {PAUSE: "pause", RESUME: "resume", RUN: "run", REMOVE: "remove"}


class ScheduleClicks:
    """The listeners for the buttons of schedules, and for the windows in which they are edited and confirmed."""

    def __init__(
        self, talk: ScheduleDrafts, requests: RequestService, services: FeatureServices, background: BackgroundTasks
    ) -> None:
        self._drafts, self._requests, self._services, self._background = talk, requests, services, background

    def register(self, router: Router) -> None:
        """Register the listeners for buttons and windows."""
        for action in (SAVE, DISCARD, CHANGE, RUN_ONCE_NOW, EDIT, NEW, *ACTION_OPERATIONS):
            router.on_click(action, self.on_click)
        router.on_window(page.FORM_WINDOW, self.on_form_submission)
        router.on_window(page.CONFIRM_WINDOW, self.on_confirm)

    async def on_click(self, click: Click, client: AsyncWebClient) -> ClickReply:
        """Carry out a click. Redraws the message in the background; for a click in a window, returns the reply."""
        reply = await self._carry_out_click(click, client)
        if reply is None or click.window_id or not click.response_url:
            return reply
        say = replace_clicked_message(client, click.response_url, text=reply.text, blocks=reply.blocks, ephemeral=True)
        self._background.start(say, "show a schedule anew")
        return None

    async def _carry_out_click(self, click: Click, client: AsyncWebClient) -> Outgoing | None:
        service = self._drafts.service
        schedule = (
            await service.find_changeable(click.place.team, click.value, click.user)
            if click.action_id != NEW
            else await self._drafts.make_blank_schedule(click.place.team, click.place.channel, click.user)
        )
        if schedule is None:
            return make_note(GONE_TEXT)
        if click.action_id in {CHANGE, EDIT, NEW}:
            is_open = await open_window(client, click.trigger_id, render_form(schedule, encode_metadata(schedule)))
            return None if is_open else make_note(NO_WINDOW_TEXT)
        if click.action_id == SAVE:
            activation = {"state": "on", "said": "", "said_ts": "", "said_thread": ""}
            outcome = await service.edit(schedule, click.user, lambda now: now.model_copy(update=activation), "made")
            return (
                render_saved_reply(outcome) if isinstance(outcome, Schedule) else make_note(clean_mrkdwn(outcome.words))
            )
        if click.action_id == DISCARD:
            if schedule.state == "draft":
                await service.remove(schedule, click.user)
            return make_note(DISCARDED_TEXT)
        if click.action_id == RUN_ONCE_NOW:
            return await self._record_as_request(schedule, click, client)
        notice = await apply_operation(self._drafts, schedule, click.user, ACTION_OPERATIONS[click.action_id])
        return render_list(
            select_page(await service.list_schedules(click.place.team, click.user), 1), click.user, notice
        )

    async def _record_as_request(self, schedule: Schedule, click: Click, client: AsyncWebClient) -> Outgoing:
        """Record the message that a draft was read from as a request instead, and remove the draft."""
        if schedule.state != "draft" or not schedule.said_ts or schedule.owner != click.user:
            return make_note(GONE_TEXT)
        place = Place(team=schedule.team, channel=schedule.channel, thread_ts=schedule.said_thread or schedule.said_ts)
        exceeded_budget = await self._services.find(BudgetService).find_exceeded_budget(
            place, click.user, schedule.said_ts
        )
        if exceeded_budget is not None:
            return make_note(clean_mrkdwn(exceeded_budget.refusal or f"{exceeded_budget.phrase} is used up."))
        in_thread = schedule.said_thread not in {"", schedule.said_ts}
        request = Request(
            id=schedule.said_ts,
            user=click.user,
            text=schedule.said,
            at=self._drafts.service.clock(),
            attachments=schedule.files,
            look_back="thread" if in_thread else "",
        )
        await self._requests.record_request(place, request, dedupe=(f"message:{schedule.channel}:{schedule.said_ts}",))
        await self._drafts.service.remove(schedule, click.user)
        self._background.start(add_receipt_reaction(client, schedule.channel, schedule.said_ts), "react to a request")
        return make_note(TAKEN_AS_REQUEST_TEXT)

    async def on_form_submission(self, submission: ViewSubmission, client: AsyncWebClient) -> Mapping[str, Any]:
        """Show the schedule of the form's first page for confirmation, or each fault at its field."""
        del client
        schedule = await self._parse_form(submission)
        if isinstance(schedule, dict):
            return make_field_errors(schedule)
        return make_push_answer(
            render_confirmation(
                schedule, self._drafts.service.clock(), encode_metadata(schedule, with_form_fields=True)
            )
        )

    async def _parse_form(self, submission: ViewSubmission) -> Schedule | dict[str, str]:
        """Parse the form into a schedule, or return error texts by field."""
        form_schedule = decode_data(submission.metadata, Schedule)
        if form_schedule is None:
            return {page.WHEN: GONE_TEXT}
        base = (
            await self._drafts.service.find_changeable(submission.team, form_schedule.id, submission.user)
            if form_schedule.id
            else None
        )
        base = base or form_schedule.model_copy(update={"id": "", "owner": submission.user})
        zone = find_zone_name(submission.read_text(page.ZONE, page.ZONE), base.zone)
        if not zone:
            return {page.ZONE: explain_unknown_zone(submission.read_text(page.ZONE, page.ZONE))}
        parsed_schedule = parse_typed_time(
            submission.read_text(page.WHEN, page.WHEN), base, zone, self._drafts.service.clock()
        )
        if isinstance(parsed_schedule, ScheduleRefusal):
            return {page.WHEN: parsed_schedule.words}
        parsed_schedule, choices = parse_choices(submission.values, parsed_schedule, zone)
        edited_schedule = base.model_copy(update={**choices, "zone": zone, "edited_at": form_schedule.edited_at})
        if words := await self._drafts.explain_channel_fault(edited_schedule.channel, edited_schedule.owner):
            return {page.WHERE: capitalize_first(words) + "."}
        schedule = await self._drafts.fill_in_schedule(edited_schedule, parsed_schedule)
        if isinstance(schedule, ScheduleRefusal):
            return {page.ASKS: schedule.words}
        if (
            fault := find_schedule_fault(
                schedule, self._drafts.service.clock(), admin=self._drafts.service.is_admin(submission.user)
            )
        ) is not None:
            return {page.WHEN if schedule.asks else page.ASKS: fault.words}
        if len(encode_metadata(schedule, with_form_fields=True)) > METADATA_LIMIT:
            return {page.ASKS: "That is too long for the form. Put part of it into a canvas, and name the canvas."}
        return schedule

    async def on_confirm(self, submission: ViewSubmission, client: AsyncWebClient) -> Mapping[str, Any] | None:
        """Save the schedule that the form's second page showed."""
        one = decode_data(submission.metadata, Schedule)
        if one is None:
            log.warning("a window of a schedule without it was left alone")
            return None
        outcome = await self._save_schedule(one.model_copy(update={"team": submission.team}), submission)
        message = (
            render_saved_reply(outcome) if isinstance(outcome, Schedule) else make_note(clean_mrkdwn(outcome.words))
        )
        self._background.start(
            show_ephemeral_message(client, submission.place, submission.user, message), "confirm a schedule"
        )
        return CLOSE_ALL_WINDOWS

    async def _save_schedule(self, schedule: Schedule, submission: ViewSubmission) -> Schedule | ScheduleRefusal:
        service = self._drafts.service
        stored_schedule = (
            await service.find_changeable(submission.team, schedule.id, submission.user) if schedule.id else None
        )
        if stored_schedule is None:
            new = {"owner": submission.user, "made_by": submission.user, "state": "on", "id": ""}
            return await service.create(schedule.model_copy(update=new), dedupe_key=submission.id)
        draft = stored_schedule.state == "draft"
        fields = {name: getattr(schedule, name) for name in FORM_FIELDS} | ({"state": "on"} if draft else {})
        fields |= {"said": "", "said_ts": "", "said_thread": ""}
        why = "made" if draft else "edited"
        return await service.edit(
            stored_schedule,
            submission.user,
            lambda now: now.model_copy(update=fields),
            why,
            seen_edit=schedule.edited_at,
        )


FORM_FIELDS = ("channel", "asks", "rule", "zone", "until", "missed", "only_if_new", "reads")
"""The fields of a `Schedule` that the form sets."""


def parse_typed_time(text: str, base: Schedule, zone: str, now: float) -> ParsedSchedule | ScheduleRefusal:
    """Parse the time typed into the form. If text and zone are unchanged, returns the rule of `base`. No I/O."""
    if text and text == page.describe_rule_for_form(base) and zone == base.zone:
        return ParsedSchedule("", base.rule)  # a model may have parsed it, and nothing else can
    return parse_time_only(text, now=now, zone=zone) or ScheduleRefusal(
        words=f"I cannot read that. {KNOWN_PHRASES_TEXT}"
    )


def parse_choices(
    values: Mapping[str, Any], parsed_schedule: ParsedSchedule, zone: str
) -> tuple[ParsedSchedule, dict[str, str]]:
    """Parse the form's fields other than the time.

    Returns `parsed_schedule` with task, last day and `only_if_new`, and a dict with the chosen `missed` and `channel`.
    """

    def find_input(name: str) -> Mapping[str, Any]:
        block = values.get(name)
        element = block.get(name) if isinstance(block, Mapping) else None
        return element if isinstance(element, Mapping) else {}

    day, until = find_input(page.UNTIL).get("selected_date"), parsed_schedule.until
    if isinstance(day, str) and day:
        until = datetime.fromisoformat(f"{day}T23:59:59").replace(tzinfo=find_zone(zone)).timestamp()
    asks, only_if_new = (
        str(find_input(page.ASKS).get("value") or "").strip(),
        bool(find_input(page.IF_NEW).get("selected_options")),
    )
    parsed_schedule = replace(
        parsed_schedule, asks=asks, until=until, only_if_new=only_if_new or parsed_schedule.only_if_new
    )
    missed_choice = (find_input(page.IF_MISSED).get("selected_option") or {}).get("value")
    channel = str(find_input(page.WHERE).get("selected_conversation") or "")
    return parsed_schedule, ({"missed": missed_choice} if missed_choice in page.MISSED_CHOICES else {}) | (
        {"channel": channel} if channel else {}
    )
