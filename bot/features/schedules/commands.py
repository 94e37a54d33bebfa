"""Handles `/leadhand schedule` and mentions that ask for a schedule: makes, lists and changes schedules."""

from __future__ import annotations

import asyncio
import re

from aiohttp import ClientError
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from bot.features.schedules.drafts import ScheduleDrafts, make_untimed_schedule
from bot.features.schedules.form import encode_metadata, render_form
from bot.features.schedules.schedule import ParsedSchedule, Schedule, ScheduleRefusal
from bot.features.schedules.schedule_parser import KNOWN_PHRASES_TEXT, parse_schedule
from bot.features.schedules.view import render_list, render_pending_reply, render_proposal, render_saved_reply
from bot.slack.receive.message_reader import read_message
from bot.slack.receive.payloads import IncomingMessage
from bot.slack.receive.subcommand import CommandContext, SpokenReply
from bot.slack.show.notices import make_note, make_note_with_input, open_window, show_ephemeral_message
from bot.slack.text.cleaning import clean_mrkdwn
from bot.slack.views.outgoing import Outgoing
from bot.slack.views.paging import select_page
from handoff.contracts import Attachment, Place

SCHEDULE_USAGES = (
    ("", "your schedules"),
    ("every Monday at 9 summarise #sales", "a new one; you see it before it is saved"),
    ("pause|resume|run|edit|remove ID", "one of them"),
)
NO_WINDOW_TEXT = (
    "Slack did not open the form. Try once more, or say it: `/leadhand schedule every Monday at 9 summarise #sales`."
)
NO_SCHEDULE_TEXT = (
    "I don't recognise a schedule in that. Say when and what, such as `/leadhand schedule every Monday at 9 summarise "
    f"#sales`. {KNOWN_PHRASES_TEXT}"
)
LONGEST_MESSAGE = 2_500
"""Maximum characters of a message that may be a schedule: a longer one is an ordinary request."""
FILE_LOOKUP_SECONDS = 1.0
"""Maximum seconds for looking up files: Slack waits three in all for an acknowledgement."""
_ANY_TIME = 1_800_000_000.0
"""An arbitrary time for parsing, where only the fact that a text can be parsed matters."""
_OPERATION_PATTERN = re.compile(
    r"(?:(pause|resume|remove|delete|run|edit)(?:\s+now)?(?:\s+schedule)?\s+`?(S[2-9A-Z]{6})`?)", re.IGNORECASE
)
_LIST_PATTERN = re.compile(r"(?:my |the )?schedules?[.!?]?", re.IGNORECASE)


def match_schedule(text: str) -> str | None:
    """Return the text if it makes or changes a schedule, "" if it asks for the list, None for a request. No I/O."""
    phrase = text.strip()
    if len(phrase) > LONGEST_MESSAGE:
        return None
    if _LIST_PATTERN.fullmatch(phrase):
        return ""
    if _OPERATION_PATTERN.fullmatch(phrase):
        return phrase
    parsed_schedule = parse_schedule(phrase, now=_ANY_TIME, zone="UTC")
    if isinstance(parsed_schedule, ParsedSchedule):
        return phrase if parsed_schedule.asks else None  # "every Monday at 9" alone may answer a question
    return phrase if parsed_schedule is not None else None


async def run_schedule_command(ctx: CommandContext) -> Outgoing:
    """List a person's schedules, change one, or show a new one for confirmation."""
    talk = ctx.find_service(ScheduleDrafts)
    if not ctx.rest.strip():
        return render_list(select_page(await talk.service.list_schedules(ctx.team, ctx.user), ctx.page), ctx.user)
    if (match := _OPERATION_PATTERN.fullmatch(ctx.rest.strip())) is not None:
        return await _change_schedule(ctx, talk, match[1].lower(), match[2].upper())
    if ctx.rest.strip().lower() in {"new", "form"}:
        return await _open_form(ctx, talk)
    return await _propose_schedule(ctx, talk) or make_note_with_input(NO_SCHEDULE_TEXT, ctx.command.text)


async def run_spoken_schedule(ctx: CommandContext) -> SpokenReply:
    """Run a schedule command from a mention. Only the author sees the reply, sent before the event is acknowledged."""
    talk = ctx.find_service(ScheduleDrafts)
    if ctx.message is None:
        return "no_command"
    is_about_existing = not ctx.rest or _OPERATION_PATTERN.fullmatch(ctx.rest.strip())
    reply = await run_schedule_command(ctx) if is_about_existing else await _propose_schedule(ctx, talk)
    if reply is None:
        return "no_command"
    await show_ephemeral_message(ctx.client, ctx.message.private_place, ctx.user, reply)
    return "told"


async def _propose_schedule(ctx: CommandContext, talk: ScheduleDrafts) -> Outgoing | None:
    """Propose a new schedule, or have a model parse a time that no rule can parse. None if a mention is no schedule."""
    zone = await talk.find_user_zone(ctx.user)
    parsed_schedule = parse_schedule(ctx.rest, now=talk.service.clock(), zone=zone)
    if isinstance(parsed_schedule, ScheduleRefusal):
        return make_note(clean_mrkdwn(parsed_schedule.words))
    if parsed_schedule is None and ctx.message is not None:
        return None
    owner_fields = {"team": ctx.team, "channel": ctx.channel, "user": ctx.user}
    untimed_schedule = make_untimed_schedule(ctx.message, text=ctx.rest, zone=zone, **owner_fields)
    if ctx.message is not None and ctx.message.may_lack_files:
        untimed_schedule = untimed_schedule.model_copy(update={"files": await _fetch_files(ctx.message, ctx.client)})
    draft = await talk.store_draft(
        untimed_schedule, parsed_schedule if isinstance(parsed_schedule, ParsedSchedule) else None, ctx.dedupe_key
    )
    if isinstance(draft, ScheduleRefusal):
        return make_note(clean_mrkdwn(draft.words))
    if isinstance(parsed_schedule, ParsedSchedule):
        return render_proposal(draft, talk.service.clock())
    ctx.background.start(_show_model_proposal(ctx, talk, draft), "work out when a schedule runs")
    return render_pending_reply(draft)


async def _fetch_files(message: IncomingMessage, client: AsyncWebClient) -> tuple[Attachment, ...]:
    """Look up the files of a message whose event may lack them; none if Slack does not answer in time."""
    try:
        async with asyncio.timeout(FILE_LOOKUP_SECONDS):
            place = message.place
            data = await client.conversations_replies(
                channel=place.channel, ts=place.thread_ts, limit=5, latest=message.ts, oldest=message.ts, inclusive=True
            )
    except (SlackApiError, ClientError, TimeoutError):
        return ()
    own = [one for one in data.get("messages") or () if one.get("ts") == message.ts]
    return read_message(own[0]).list_attachments(message.ts) if own else ()


async def _show_model_proposal(ctx: CommandContext, talk: ScheduleDrafts, draft: Schedule) -> None:
    outcome = await talk.parse_with_model(draft)
    place = ctx.message.private_place if ctx.message else Place(team=draft.team, channel=draft.channel, thread_ts="")
    if isinstance(outcome, Schedule):
        message = render_proposal(outcome, talk.service.clock())
    else:
        message = make_note(clean_mrkdwn(outcome.words) if outcome is not None else NO_SCHEDULE_TEXT)
    await show_ephemeral_message(ctx.client, place, ctx.user, message)


async def _change_schedule(ctx: CommandContext, talk: ScheduleDrafts, operation: str, schedule_id: str) -> Outgoing:
    """Pause, resume, run, remove or edit the schedule with the id `schedule_id`."""
    one = await talk.service.find_changeable(ctx.team, schedule_id, ctx.user)
    if one is None or one.state == "draft":
        return make_note(f"You have no schedule `{schedule_id}`. `/leadhand schedule` lists yours.")
    if operation == "edit":
        is_open = await open_window(ctx.client, ctx.command.trigger_id, render_form(one, encode_metadata(one)))
        return make_note("The form shows it as it is." if is_open else NO_WINDOW_TEXT)
    return make_note(await apply_operation(talk, one, ctx.user, operation))


async def apply_operation(talk: ScheduleDrafts, target: Schedule, user: str, operation: str) -> str:
    """Pause, resume, run or remove a schedule, as `operation` says. Returns a sentence on the outcome."""
    desk = talk.service
    if operation in {"remove", "delete"}:
        outcome = await desk.remove(target, user)
        words = f"Removed: `{target.id}` no longer runs."
    elif operation == "run":
        outcome = await desk.start_run_now(target, user)
        words = f"`{target.id}` runs now, beside its times: a thread for it opens in <#{target.channel}>."
    elif operation == "pause":
        pause_fields = {"state": "paused", "why": ""}
        outcome = await desk.edit(target, user, lambda now: now.model_copy(update=pause_fields), "paused")
        words = f"Paused: `{target.id}` does not run until it is resumed."
    else:
        on = {"state": "on", "why": "", "failures": 0}
        outcome = await desk.edit(target, user, lambda now: now.model_copy(update=on), "resumed")
        words = render_saved_reply(outcome).text if isinstance(outcome, Schedule) else ""
    return clean_mrkdwn(outcome.words) if isinstance(outcome, ScheduleRefusal) else words


async def _open_form(ctx: CommandContext, talk: ScheduleDrafts) -> Outgoing:
    blank = await talk.make_blank_schedule(ctx.team, ctx.channel, ctx.user)
    is_open = await open_window(ctx.client, ctx.command.trigger_id, render_form(blank, encode_metadata(blank)))
    return make_note(
        "The form asks when and what; it shows it back to you before it is saved." if is_open else NO_WINDOW_TEXT
    )
