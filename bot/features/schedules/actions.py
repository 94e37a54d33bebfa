"""Clicks on a schedule that was shown, on the list of schedules, and the pages of the form."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from pydantic import ValidationError
from slack_bolt.async_app import AsyncApp
from slack_bolt.context.ack.async_ack import AsyncAck
from slack_sdk.web.async_client import AsyncWebClient

from bot.access.time_zones import unknown_zone, zone_called, zone_of
from bot.features.budgets.service import Budgets
from bot.features.requests.service import Requests
from bot.features.schedules import form as page
from bot.features.schedules.commands import NO_WINDOW, changed
from bot.features.schedules.form import METADATA_LIMIT, confirm, form, metadata_of
from bot.features.schedules.rights import fault_of
from bot.features.schedules.rule_phrases import Reading, read_when
from bot.features.schedules.schedule import Schedule, Unscheduled
from bot.features.schedules.talk import ScheduleTalk, wanted_from
from bot.features.schedules.view import CHANGE, DISCARD, EDIT, NEW, NOW, PAUSE, REMOVE, RESUME, RUN, SAVE, kept, listing
from bot.slack.receive.payloads import Malformed, Window, parse_window
from bot.slack.receive.services import Services
from bot.slack.send.web_calls import Background, replace_message
from bot.slack.show import notices
from bot.slack.show.notices import Unrecorded, note, open_window, received, soon, tell
from bot.slack.text.cleaning import clean
from bot.slack.views.outgoing import Outgoing
from bot.slack.views.paging import page_of
from handoff.contracts import Place, Request

log = logging.getLogger(__name__)

GONE = "That is not there any more: drafts are dropped after a day, and somebody may have removed it."
DISCARDED = "Discarded; nothing runs."
NOW_INSTEAD = "Then it is a request: I am at it."
DEEDS = {PAUSE: "pause", RESUME: "resume", RUN: "run", REMOVE: "remove"}
WHEN_FAULT = "I cannot read that. Say it such as “every Monday at 9”, or as cron text, such as 0 9 * * mon."


@dataclass(frozen=True, slots=True)
class Clicked:
    """A click: who, where, on which button, of which schedule; and what opens a window."""

    team: str
    channel: str
    user: str
    action: str
    schedule: str
    trigger: str


def clicked(body: Mapping[str, Any], action: Mapping[str, Any]) -> Clicked | Malformed:
    """Read a click. Pure."""
    of = {
        "team": body.get("team", {}).get("id"),
        "user": body.get("user", {}).get("id"),
        "action": action.get("action_id"),
        "schedule": action.get("value"),
        "trigger": body.get("trigger_id"),
    }
    missing = next((name for name, value in of.items() if not isinstance(value, str) or not value), "")
    channel = (body.get("channel") or {}).get("id") or (body.get("container") or {}).get("channel_id") or ""
    return Malformed(missing) if missing else Clicked(channel=str(channel), **{k: str(v) for k, v in of.items()})


class ScheduleClicks:
    """The listeners."""

    def __init__(self, talk: ScheduleTalk, requests: Requests, services: Services, background: Background) -> None:
        self._talk, self._requests, self._services, self._background = talk, requests, services, background

    def register(self, app: AsyncApp) -> None:
        """Make the app listen."""
        for action in (SAVE, DISCARD, CHANGE, NOW, EDIT, NEW, *DEEDS):
            app.action(action)(self.on_click)
        app.view(page.FORM)(self.on_form)
        app.view(page.CONFIRM)(self.on_confirm)

    async def on_click(
        self, ack: AsyncAck, body: dict[str, Any], action: dict[str, Any], client: AsyncWebClient
    ) -> None:
        """Take a click: the message that only this person sees is drawn anew."""
        click = clicked(body, action)
        if isinstance(click, Malformed):
            log.warning("a click on a schedule without %s was left alone", click.reason)
            await ack()
            return
        try:
            async with soon():
                shown = await self._do(click, client)
        except Unrecorded:
            shown = note(notices.NOT_RECORDED)
        await ack()
        if shown is None:
            return
        in_message = (body.get("container") or {}).get("type") == "message" and body.get("response_url")
        if in_message:
            say = replace_message(client, body, text=shown.text, blocks=shown.blocks, ephemeral=True)
            self._background.start(say, "show a schedule anew")
        else:
            place = Place(team=click.team, channel=click.channel or click.user, thread_ts="")
            self._background.start(tell(client, place, click.user, shown), "answer a click on a schedule")

    async def _do(self, click: Clicked, client: AsyncWebClient) -> Outgoing | None:
        desk = self._talk.desk
        one = (
            await desk.find(click.team, click.schedule, click.user) if click.action != NEW else await self._blank(click)
        )
        if one is None:
            return note(GONE)
        if click.action in {CHANGE, EDIT, NEW}:
            opened = await open_window(client, click.trigger, form(one, metadata_of(one)))
            return None if opened else note(NO_WINDOW)
        if click.action == SAVE:
            on = {"state": "on", "said": "", "said_ts": "", "said_thread": ""}
            done = await desk.edit(one, click.user, lambda now: now.model_copy(update=on), "made")
            return kept(done) if isinstance(done, Schedule) else note(clean(done.words))
        if click.action == DISCARD:
            if one.state == "draft":
                await desk.remove(one, click.user)
            return note(DISCARDED)
        if click.action == NOW:
            return await self._as_request(one, click, client)
        said = await changed(self._talk, one, click.user, DEEDS[click.action])
        return listing(page_of(await desk.of(click.team, click.user), 1), click.user, said)

    async def _blank(self, click: Clicked) -> Schedule:
        zone = await self._talk.zone(click.user)
        return wanted_from(None, team=click.team, channel=click.channel, user=click.user, text="", zone=zone)

    async def _as_request(self, one: Schedule, click: Clicked, client: AsyncWebClient) -> Outgoing:
        """Take the message that a draft was read from for a request after all."""
        if one.state != "draft" or not one.said_ts or one.owner != click.user:
            return note(GONE)
        place = Place(team=one.team, channel=one.channel, thread_ts=one.said_thread or one.said_ts)
        over = await self._services.find(Budgets).over_budget(place, click.user, one.said_ts)
        if over is not None:
            return note(clean(over.words or f"{over.named} is used up."))
        in_thread = one.said_thread not in {"", one.said_ts}
        request = Request(
            id=one.said_ts,
            user=click.user,
            text=one.said,
            at=self._talk.desk.clock(),
            attachments=one.files,
            look_back="thread" if in_thread else "",
        )
        await self._requests.request(place, request, dedupe=(f"message:{one.channel}:{one.said_ts}",))
        await self._talk.desk.remove(one, click.user)
        self._background.start(received(client, one.channel, one.said_ts), "react to a request")
        return note(NOW_INSTEAD)

    async def on_form(self, ack: AsyncAck, body: dict[str, Any]) -> None:
        """Take the first page: show back what it says, or what is wrong with it, field by field."""
        sent = parse_window(body)
        if not isinstance(sent, Window):
            log.warning("a form of a schedule without %s was left alone", sent.reason)
            await ack()
            return
        try:
            async with soon():
                found = await self._filled_in(sent)
        except Unrecorded:
            found = {page.WHEN: notices.NOT_RECORDED}
        if isinstance(found, dict):
            await ack(response_action="errors", errors=found)
        else:
            view = confirm(found, self._talk.desk.clock(), metadata_of(found, whole=True))
            await ack(response_action="push", view=view)

    async def _filled_in(self, sent: Window) -> Schedule | dict[str, str]:
        """Read the form; errors by the field that they are about."""
        known = read_metadata(sent.metadata)
        if known is None:
            return {page.WHEN: GONE}
        base = await self._talk.desk.find(sent.team, known.id, sent.user) if known.id else None
        base = base or known.model_copy(update={"id": "", "owner": sent.user})
        zone = zone_called(sent.typed(page.ZONE, page.ZONE), base.zone)
        if not zone:
            return {page.ZONE: unknown_zone(sent.typed(page.ZONE, page.ZONE))}
        reading = read_when(sent.typed(page.WHEN, page.WHEN), now=self._talk.desk.clock(), zone=zone)
        if not isinstance(reading, Reading):
            return {page.WHEN: reading.words if isinstance(reading, Unscheduled) else WHEN_FAULT}
        if sent.typed(page.WHEN, page.WHEN) == page.initial_when(base) and zone == base.zone:
            reading = replace(reading, rule=base.rule)  # "every other week" goes on from the week that it began with
        of = chosen(sent.values, reading, zone)
        wanted = base.model_copy(update={"channel": of["channel"] or base.channel, "edited_at": known.edited_at})
        if words := await self._talk.trouble_at(wanted.channel, wanted.owner):
            return {page.WHERE: words[:1].upper() + words[1:] + "."}
        one = await self._talk.completed(wanted.model_copy(update={"zone": zone}), of["reading"])
        if isinstance(one, Unscheduled):
            return {page.ASKS: one.words}
        if (fault := fault_of(one, self._talk.desk.clock(), admin=self._talk.desk.is_admin(sent.user))) is not None:
            return {page.WHEN if one.asks else page.ASKS: fault.words}
        if len(metadata_of(one, whole=True)) > METADATA_LIMIT:
            return {page.ASKS: "That is more than the form carries. Put some of it into a canvas, and name that."}
        return one

    async def on_confirm(self, ack: AsyncAck, body: dict[str, Any], client: AsyncWebClient) -> None:
        """Save what the second page showed."""
        sent = parse_window(body)
        one = read_metadata(sent.metadata) if isinstance(sent, Window) else None
        if not isinstance(sent, Window) or one is None:
            log.warning("a window of a schedule without it was left alone")
            await ack()
            return
        try:
            async with soon():
                done = await self._saved(one.model_copy(update={"team": sent.team}), sent)
        except Unrecorded:
            done = Unscheduled(words=notices.NOT_RECORDED)
        await ack(response_action="clear")
        message = kept(done) if isinstance(done, Schedule) else note(clean(done.words))
        place = Place(team=sent.team, channel=one.channel, thread_ts="")
        self._background.start(tell(client, place, sent.user, message), "confirm a schedule")

    async def _saved(self, one: Schedule, sent: Window) -> Schedule | Unscheduled:
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


def chosen(values: Mapping[str, Any], reading: Reading, zone: str) -> dict[str, Any]:
    """Read what was chosen in the form, beside what was typed. Pure."""

    def of(name: str) -> Mapping[str, Any]:
        block = values.get(name)
        found = block.get(name) if isinstance(block, Mapping) else None
        return found if isinstance(found, Mapping) else {}

    day = of(page.UNTIL).get("selected_date")
    until = reading.until
    if isinstance(day, str) and day:
        until = datetime.fromisoformat(f"{day}T23:59:59").replace(tzinfo=zone_of(zone)).timestamp()
    missed = (of(page.IF_MISSED).get("selected_option") or {}).get("value")
    read = Reading(
        asks=str(of(page.ASKS).get("value") or "").strip(),
        rule=reading.rule,
        zone=reading.zone,
        until=until,
        missed=missed if missed in page.CHOICES else reading.missed,
        only_if_new=bool(of(page.IF_NEW).get("selected_options")) or reading.only_if_new,
    )
    return {"reading": read, "channel": str(of(page.WHERE).get("selected_conversation") or "")}


def read_metadata(text: str) -> Schedule | None:
    """Read the schedule that a window carries; None if it is none of ours."""
    try:
        return Schedule.model_validate(json.loads(text))
    except (ValueError, ValidationError):
        return None
