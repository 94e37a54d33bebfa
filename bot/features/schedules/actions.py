"""Handles clicks on a proposed schedule and on the list of schedules, and the pages of the form."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from slack_sdk.web.async_client import AsyncWebClient

from bot.access.time_zones import find_zone, find_zone_name, unknown_zone
from bot.features.budgets.service import BudgetDesk
from bot.features.requests.service import RequestDesk
from bot.features.schedules import form as page
from bot.features.schedules.commands import NO_WINDOW, apply_deed
from bot.features.schedules.form import METADATA_LIMIT, encode_metadata, form, render_confirmation
from bot.features.schedules.phrases import FORMS, parse_when
from bot.features.schedules.rights import find_fault
from bot.features.schedules.schedule import ParsedSchedule, Schedule, ScheduleRefusal
from bot.features.schedules.talk import ScheduleTalk
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
from bot.slack.receive.router import CLOSED, ClickReply, Router, field_errors, push_view
from bot.slack.receive.services import FeatureServices
from bot.slack.send.web_calls import Background, replace_message
from bot.slack.show.notices import add_receipt_reaction, make_note, open_window, tell
from bot.slack.text.cleaning import clean
from bot.slack.views.button_data import decode_data
from bot.slack.views.outgoing import Outgoing
from bot.slack.views.paging import take_page
from handoff.contracts import Place, Request

log = logging.getLogger(__name__)

GONE = "That is not there any more: drafts are dropped after a day, and somebody may have removed it."
DISCARDED = "Discarded; nothing runs."
NOW_INSTEAD = "OK, I'm working on it as a single request."
DEEDS = {PAUSE: "pause", RESUME: "resume", RUN: "run", REMOVE: "remove"}


class ScheduleClicks:
    """The listeners for the buttons of schedules, and for the windows in which they are edited and confirmed."""

    def __init__(
        self, talk: ScheduleTalk, requests: RequestDesk, services: FeatureServices, background: Background
    ) -> None:
        self._talk, self._requests, self._services, self._background = talk, requests, services, background

    def register(self, router: Router) -> None:
        """Register the listeners for buttons and windows."""
        for action in (SAVE, DISCARD, CHANGE, NOW, EDIT, NEW, *DEEDS):
            router.on_click(action, self.on_click)
        router.on_window(page.FORM, self.on_form)
        router.on_window(page.CONFIRM, self.on_confirm)

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
            else await self._talk.make_blank(click.place.team, click.place.channel, click.user)
        )
        if one is None:
            return make_note(GONE)
        if click.action in {CHANGE, EDIT, NEW}:
            opened = await open_window(client, click.trigger, form(one, encode_metadata(one)))
            return None if opened else make_note(NO_WINDOW)
        if click.action == SAVE:
            on = {"state": "on", "said": "", "said_ts": "", "said_thread": ""}
            done = await desk.edit(one, click.user, lambda now: now.model_copy(update=on), "made")
            return render_saved(done) if isinstance(done, Schedule) else make_note(clean(done.words))
        if click.action == DISCARD:
            if one.state == "draft":
                await desk.remove(one, click.user)
            return make_note(DISCARDED)
        if click.action == NOW:
            return await self._take_as_request(one, click, client)
        said = await apply_deed(self._talk, one, click.user, DEEDS[click.action])
        return render_list(take_page(await desk.list_schedules(click.place.team, click.user), 1), click.user, said)

    async def _take_as_request(self, one: Schedule, click: Click, client: AsyncWebClient) -> Outgoing:
        """Record the message that a draft was read from as a request instead, and remove the draft."""
        if one.state != "draft" or not one.said_ts or one.owner != click.user:
            return make_note(GONE)
        place = Place(team=one.team, channel=one.channel, thread_ts=one.said_thread or one.said_ts)
        over = await self._services.find(BudgetDesk).find_exceeded_budget(place, click.user, one.said_ts)
        if over is not None:
            return make_note(clean(over.words or f"{over.named} is used up."))
        in_thread = one.said_thread not in {"", one.said_ts}
        request = Request(
            id=one.said_ts,
            user=click.user,
            text=one.said,
            at=self._talk.desk.clock(),
            attachments=one.files,
            look_back="thread" if in_thread else "",
        )
        await self._requests.record_request(place, request, dedupe=(f"message:{one.channel}:{one.said_ts}",))
        await self._talk.desk.remove(one, click.user)
        self._background.start(add_receipt_reaction(client, one.channel, one.said_ts), "react to a request")
        return make_note(NOW_INSTEAD)

    async def on_form(self, sent: ViewSubmission, client: AsyncWebClient) -> Mapping[str, Any]:
        """Handle the form's first page: show the schedule for confirmation, or the faults beside their fields."""
        del client
        found = await self._read_form(sent)
        if isinstance(found, dict):
            return field_errors(found)
        return push_view(render_confirmation(found, self._talk.desk.clock(), encode_metadata(found, whole=True)))

    async def _read_form(self, sent: ViewSubmission) -> Schedule | dict[str, str]:
        """Parse the form into a schedule, or return error texts by field."""
        known = decode_data(sent.metadata, Schedule)
        if known is None:
            return {page.WHEN: GONE}
        base = await self._talk.desk.find(sent.team, known.id, sent.user) if known.id else None
        base = base or known.model_copy(update={"id": "", "owner": sent.user})
        zone = find_zone_name(sent.read_text(page.ZONE, page.ZONE), base.zone)
        if not zone:
            return {page.ZONE: unknown_zone(sent.read_text(page.ZONE, page.ZONE))}
        parsed = read_when(sent.read_text(page.WHEN, page.WHEN), base, zone, self._talk.desk.clock())
        if isinstance(parsed, ScheduleRefusal):
            return {page.WHEN: parsed.words}
        parsed, chosen = read_choices(sent.values, parsed, zone)
        wanted = base.model_copy(update={**chosen, "zone": zone, "edited_at": known.edited_at})
        if words := await self._talk.find_channel_trouble(wanted.channel, wanted.owner):
            return {page.WHERE: words[:1].upper() + words[1:] + "."}
        one = await self._talk.fill_in(wanted, parsed)
        if isinstance(one, ScheduleRefusal):
            return {page.ASKS: one.words}
        if (fault := find_fault(one, self._talk.desk.clock(), admin=self._talk.desk.is_admin(sent.user))) is not None:
            return {page.WHEN if one.asks else page.ASKS: fault.words}
        if len(encode_metadata(one, whole=True)) > METADATA_LIMIT:
            return {page.ASKS: "That is too long for the form. Put part of it into a canvas, and name the canvas."}
        return one

    async def on_confirm(self, sent: ViewSubmission, client: AsyncWebClient) -> Mapping[str, Any] | None:
        """Save the schedule that the form's second page showed."""
        one = decode_data(sent.metadata, Schedule)
        if one is None:
            log.warning("a window of a schedule without it was left alone")
            return None
        done = await self._save_schedule(one.model_copy(update={"team": sent.team}), sent)
        message = render_saved(done) if isinstance(done, Schedule) else make_note(clean(done.words))
        self._background.start(tell(client, sent.place, sent.user, message), "confirm a schedule")
        return CLOSED

    async def _save_schedule(self, one: Schedule, sent: ViewSubmission) -> Schedule | ScheduleRefusal:
        desk = self._talk.desk
        known = await desk.find(sent.team, one.id, sent.user) if one.id else None
        if known is None:
            new = {"owner": sent.user, "made_by": sent.user, "state": "on", "id": ""}
            return await desk.make(one.model_copy(update=new), mark=sent.id)
        draft = known.state == "draft"
        fields = {name: getattr(one, name) for name in EDITED} | ({"state": "on"} if draft else {})
        fields |= {"said": "", "said_ts": "", "said_thread": ""}
        why = "made" if draft else "edited"
        return await desk.edit(known, sent.user, lambda now: now.model_copy(update=fields), why, seen=one.edited_at)


EDITED = ("channel", "asks", "rule", "zone", "until", "missed", "only_if_new", "reads")
"""The fields that the form sets."""


def read_when(typed: str, base: Schedule, zone: str, now: float) -> ParsedSchedule | ScheduleRefusal:
    """Parse the time typed into the form of a schedule. An unchanged text keeps the schedule's rule. No I/O."""
    if typed and typed == page.initial_when(base) and zone == base.zone:
        return ParsedSchedule("", base.rule)  # a model may have parsed it, and nothing else can
    return parse_when(typed, now=now, zone=zone) or ScheduleRefusal(words=f"I cannot read that. {FORMS}")


def read_choices(values: Mapping[str, Any], parsed: ParsedSchedule, zone: str) -> tuple[ParsedSchedule, dict[str, str]]:
    """Parse the form's other fields. Returns the parsed schedule with them, and the chosen fields. No I/O."""

    def of(name: str) -> Mapping[str, Any]:
        block = values.get(name)
        found = block.get(name) if isinstance(block, Mapping) else None
        return found if isinstance(found, Mapping) else {}

    day, until = of(page.UNTIL).get("selected_date"), parsed.until
    if isinstance(day, str) and day:
        until = datetime.fromisoformat(f"{day}T23:59:59").replace(tzinfo=find_zone(zone)).timestamp()
    asks, only_if_new = str(of(page.ASKS).get("value") or "").strip(), bool(of(page.IF_NEW).get("selected_options"))
    parsed = replace(parsed, asks=asks, until=until, only_if_new=only_if_new or parsed.only_if_new)
    missed = (of(page.IF_MISSED).get("selected_option") or {}).get("value")
    channel = str(of(page.WHERE).get("selected_conversation") or "")
    return parsed, ({"missed": missed} if missed in page.CHOICES else {}) | ({"channel": channel} if channel else {})
