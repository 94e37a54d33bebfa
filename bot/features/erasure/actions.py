"""`/leadhand forget`: opens the window that asks for confirmation, and starts the erasure when it is submitted."""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass

from slack_sdk.web.async_client import AsyncWebClient

from bot.features.erasure.service import ErasureService
from bot.features.erasure.view import ERASURE_WINDOW, explain_no_data, render_erasure_window
from bot.jobs.job_records import DenialReason
from bot.slack.receive.job_references import parse_job_reference
from bot.slack.receive.payloads import ViewSubmission
from bot.slack.receive.router import Router
from bot.slack.receive.subcommand import CommandContext
from bot.slack.send.web_calls import BackgroundTasks
from bot.slack.show import notices
from bot.slack.show.notices import make_note, open_window, show_ephemeral_message
from bot.slack.views.button_data import decode_data, encode_data
from bot.slack.views.outgoing import Outgoing
from handoff.text.slack_ids import PERSON_ID

log = logging.getLogger(__name__)

_PERSON_PATTERN = re.compile(rf"<@({PERSON_ID.pattern})(?:\|[^<>]*)?>")
CONFIRM_TEXT = "Please confirm in the window that just opened."
NO_WINDOW_TEXT = "Slack did not open the window that asks you first. Give the command again; nothing was erased."
NOT_YOURS_TEXT = "You can have a job forgotten if nobody else asked for things in it. For all other jobs, ask an admin."
UNKNOWN_PERSON_TEXT = "I cannot tell who that is. Write @ and choose the name, or `/leadhand forget me`, or name a job."
WHAT_TO_ERASE_TEXT = "What? `/leadhand forget JOB`, or `/leadhand forget me` for all you asked for."
ONE_JOB_ONLY_TEXT = "Name one job alone, so that nothing else is erased."
ERASURE_BEGUN_TEXT = (
    "I'm erasing it. You'll get a receipt in your direct messages of what was erased, and what could not be."
)
NOTHING_TO_ERASE_TEXT = "There is nothing left to erase, or you may not have it erased."
_DENIAL_TEXTS: dict[DenialReason, str] = {
    "unknown": notices.UNKNOWN_JOB,
    "not_yours": NOT_YOURS_TEXT,
    "newer": notices.NEWER_RELEASE,
    "unreadable": notices.UNREADABLE_JOB,
    "forgotten": notices.JOB_FORGOTTEN,
}


async def open_erasure_window(ctx: CommandContext) -> Outgoing:
    """Open the window for the job or the person that the command names. Returns a private note."""
    job, words = parse_job_reference(ctx.team, ctx.rest)
    person = "" if job else _parse_person(ctx)
    if not ctx.rest:
        return make_note(WHAT_TO_ERASE_TEXT)
    if not job and not person:
        return make_note(UNKNOWN_PERSON_TEXT)
    if words and job:
        return make_note(ONE_JOB_ONLY_TEXT)
    target = await ctx.find_service(ErasureService).find_target(ctx.team, ctx.user, job=job, person=person)
    if isinstance(target, str):
        return make_note(_DENIAL_TEXTS[target])
    if not (target.jobs or target.memory_count or target.schedule_count):
        return make_note(explain_no_data(target))
    metadata = encode_data(ErasureWindowData(ctx.team, ctx.channel, job, person))
    is_open = await open_window(ctx.client, ctx.command.trigger_id, render_erasure_window(target, ctx.user, metadata))
    return make_note(CONFIRM_TEXT if is_open else NO_WINDOW_TEXT)


def _parse_person(ctx: CommandContext) -> str:
    if ctx.rest.strip("`").lower() == "me":
        return ctx.user
    match = _PERSON_PATTERN.fullmatch(ctx.rest)
    return match.group(1) if match else ""


@dataclass(frozen=True, slots=True)
class ErasureWindowData:
    """The metadata of the window: where it was opened, and the job or the person whose data is erased."""

    team: str
    channel: str
    job: str
    person: str


class ErasureWindow:
    """Handles submissions of the erasure window."""

    def __init__(self, erasure: ErasureService, background: BackgroundTasks) -> None:
        self._erasure = erasure
        self._background = background

    def register(self, router: Router) -> None:
        """Register the listener for the window."""
        router.on_window(ERASURE_WINDOW, self.on_submit)

    async def on_submit(self, submission: ViewSubmission, client: AsyncWebClient) -> None:
        """Start the erasure that the window names, after another check of the right to it, which may have changed."""
        window_data = decode_data(submission.metadata, ErasureWindowData)
        if window_data is None:
            log.warning("a window without its wish was left alone")
            return
        has_started = await self._erasure.start_erasure(
            window_data.team, submission.user, submission.id, job=window_data.job, person=window_data.person
        )
        words = make_note(ERASURE_BEGUN_TEXT if has_started else NOTHING_TO_ERASE_TEXT)
        self._background.start(
            show_ephemeral_message(client, submission.place, submission.user, words), "confirm that it is forgotten"
        )
