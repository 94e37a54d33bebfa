"""`/leadhand schedule` and its form as a mention: they make a schedule, list schedules or change one."""

from __future__ import annotations

import asyncio
import re

from aiohttp import ClientError
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from bot.features.schedules.form import encode_metadata, form
from bot.features.schedules.phrases import FORMS, parse_schedule
from bot.features.schedules.schedule import ParsedSchedule, Schedule, ScheduleRefusal
from bot.features.schedules.talk import ScheduleTalk, new_schedule
from bot.features.schedules.view import render_list, render_pending, render_proposal, render_saved
from bot.slack.receive.message_reader import read_message
from bot.slack.receive.payloads import IncomingMessage
from bot.slack.receive.subcommand import CommandContext, Reply
from bot.slack.show.notices import make_note, make_note_with_input, open_window, tell
from bot.slack.text.cleaning import clean
from bot.slack.views.outgoing import Outgoing
from bot.slack.views.paging import take_page
from handoff.contracts import Attachment, Place

SCHEDULE_USAGES = (
    ("", "your schedules"),
    ("every Monday at 9 summarise #sales", "a new one; you see it before it is saved"),
    ("pause|resume|run|edit|remove ID", "one of them"),
)
NO_WINDOW = (
    "Slack did not open the form. Try once more, or say it: `/leadhand schedule every Monday at 9 summarise #sales`."
)
NO_SCHEDULE = (
    "I don't recognise a schedule in that. Say when and what, such as `/leadhand schedule every Monday at 9 summarise "
    f"#sales`. {FORMS}"
)
LONGEST = 2_500
"""Maximum characters of a message that may be a schedule: a longer one is an ordinary request."""
LOOK_SECONDS = 1.0
"""Maximum seconds for looking up files: Slack waits three in all for an acknowledgement."""
_NOW = 1_800_000_000.0
"""An arbitrary time for parsing, where only the fact that a text can be parsed matters."""
_DEED = re.compile(
    r"(?:(pause|resume|remove|delete|run|edit)(?:\s+now)?(?:\s+schedule)?\s+`?(S[2-9A-Z]{6})`?)", re.IGNORECASE
)
_ALONE = re.compile(r"(?:my |the )?schedules?[.!?]?", re.IGNORECASE)


def match_words(text: str) -> str | None:
    """Return a text that makes or concerns a schedule, "" for a list of all, None for a request. No I/O."""
    said = text.strip()
    if len(said) > LONGEST:
        return None
    if _ALONE.fullmatch(said):
        return ""
    if _DEED.fullmatch(said):
        return said
    parsed = parse_schedule(said, now=_NOW, zone="UTC")
    if isinstance(parsed, ParsedSchedule):
        return said if parsed.asks else None  # "every Monday at 9" alone may answer a question
    return said if parsed is not None else None


async def schedule(given: CommandContext) -> Outgoing:
    """List a person's schedules, change one, or show a new one for confirmation."""
    talk = given.find(ScheduleTalk)
    if not given.rest.strip():
        return render_list(take_page(await talk.desk.list_schedules(given.team, given.user), given.page), given.user)
    if (deed := _DEED.fullmatch(given.rest.strip())) is not None:
        return await _change_schedule(given, talk, deed[1].lower(), deed[2].upper())
    if given.rest.strip().lower() in {"new", "form"}:
        return await _open_form(given, talk)
    return await _propose(given, talk) or make_note_with_input(NO_SCHEDULE, given.command.text)


async def spoken_schedule(given: CommandContext) -> Reply:
    """Show a schedule that was given in a mention only to its author, before the event is acknowledged."""
    talk = given.find(ScheduleTalk)
    if given.said is None:
        return "no_command"
    about_one = not given.rest or _DEED.fullmatch(given.rest.strip())
    reply = await schedule(given) if about_one else await _propose(given, talk)
    if reply is None:
        return "no_command"
    await tell(given.client, given.said.private_place, given.user, reply)
    return "told"


async def _propose(given: CommandContext, talk: ScheduleTalk) -> Outgoing | None:
    """Propose a new schedule; a model reads a time that no rule can parse. None if a mention is no schedule."""
    zone = await talk.zone(given.user)
    parsed = parse_schedule(given.rest, now=talk.desk.clock(), zone=zone)
    if isinstance(parsed, ScheduleRefusal):
        return make_note(clean(parsed.words))
    if parsed is None and given.said is not None:
        return None
    of = {"team": given.team, "channel": given.channel, "user": given.user}
    wanted = new_schedule(given.said, text=given.rest, zone=zone, **of)
    if given.said is not None and given.said.may_lack_files:
        wanted = wanted.model_copy(update={"files": await _files_of(given.said, given.client)})
    draft = await talk.keep_draft(wanted, parsed if isinstance(parsed, ParsedSchedule) else None, given.mark)
    if isinstance(draft, ScheduleRefusal):
        return make_note(clean(draft.words))
    if isinstance(parsed, ParsedSchedule):
        return render_proposal(draft, talk.desk.clock())
    given.background.start(_read_with_model(given, talk, draft), "work out when a schedule runs")
    return render_pending(draft)


async def _files_of(said: IncomingMessage, client: AsyncWebClient) -> tuple[Attachment, ...]:
    """Look up the files of a message whose event may lack them; none if Slack does not answer in time."""
    try:
        async with asyncio.timeout(LOOK_SECONDS):
            place = said.place
            data = await client.conversations_replies(
                channel=place.channel, ts=place.thread_ts, limit=5, latest=said.ts, oldest=said.ts, inclusive=True
            )
    except (SlackApiError, ClientError, TimeoutError):
        return ()
    own = [one for one in data.get("messages") or () if one.get("ts") == said.ts]
    return read_message(own[0]).list_attachments(said.ts) if own else ()


async def _read_with_model(given: CommandContext, talk: ScheduleTalk, one: Schedule) -> None:
    found = await talk.read_with_model(one)
    place = given.said.private_place if given.said else Place(team=one.team, channel=one.channel, thread_ts="")
    if isinstance(found, Schedule):
        message = render_proposal(found, talk.desk.clock())
    else:
        message = make_note(clean(found.words) if found is not None else NO_SCHEDULE)
    await tell(given.client, place, given.user, message)


async def _change_schedule(given: CommandContext, talk: ScheduleTalk, deed: str, named: str) -> Outgoing:
    """Pause, resume, run, remove or edit the schedule with the id `named`."""
    one = await talk.desk.find(given.team, named, given.user)
    if one is None or one.state == "draft":
        return make_note(f"You have no schedule `{named}`. `/leadhand schedule` lists yours.")
    if deed == "edit":
        opened = await open_window(given.client, given.command.trigger, form(one, encode_metadata(one)))
        return make_note("The form shows it as it is." if opened else NO_WINDOW)
    return make_note(await apply_deed(talk, one, given.user, deed))


async def apply_deed(talk: ScheduleTalk, one: Schedule, user: str, deed: str) -> str:
    """Pause, resume, run or remove a schedule, as `deed` says. Returns a sentence on the outcome."""
    desk = talk.desk
    if deed in {"remove", "delete"}:
        done = await desk.remove(one, user)
        words = f"Removed: `{one.id}` no longer runs."
    elif deed == "run":
        done = await desk.run_now(one, user)
        words = f"`{one.id}` runs now, beside its times: a thread for it opens in <#{one.channel}>."
    elif deed == "pause":
        paused = {"state": "paused", "why": ""}
        done = await desk.edit(one, user, lambda now: now.model_copy(update=paused), "paused")
        words = f"Paused: `{one.id}` does not run until it is resumed."
    else:
        on = {"state": "on", "why": "", "failures": 0}
        done = await desk.edit(one, user, lambda now: now.model_copy(update=on), "resumed")
        words = render_saved(done).text if isinstance(done, Schedule) else ""
    return clean(done.words) if isinstance(done, ScheduleRefusal) else words


async def _open_form(given: CommandContext, talk: ScheduleTalk) -> Outgoing:
    blank = await talk.make_blank(given.team, given.channel, given.user)
    opened = await open_window(given.client, given.command.trigger, form(blank, encode_metadata(blank)))
    return make_note(
        "The form asks when and what; it shows it back to you before it is saved." if opened else NO_WINDOW
    )
