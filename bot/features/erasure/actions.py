"""`/leadhand forget`: opens the window that asks for confirmation, and starts the erasure when it is submitted."""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass

from slack_sdk.web.async_client import AsyncWebClient

from bot.features.erasure.service import ErasureDesk
from bot.features.erasure.view import FORGET, forget_modal, nothing_to_forget
from bot.jobs.job_records import DenialReason
from bot.slack.receive.job_references import find_named_job
from bot.slack.receive.payloads import ViewSubmission
from bot.slack.receive.router import Router
from bot.slack.receive.subcommand import CommandContext
from bot.slack.send.web_calls import Background
from bot.slack.show import notices
from bot.slack.show.notices import make_note, open_window, tell
from bot.slack.views.button_data import decode_data, encode_data
from bot.slack.views.outgoing import Outgoing
from handoff.text.member_ids import PERSON

log = logging.getLogger(__name__)

_PERSON = re.compile(rf"<@({PERSON.pattern})(?:\|[^<>]*)?>")
ASKED = "Please confirm in the window that just opened."
NO_WINDOW = "Slack did not open the window that asks you first. Give the command again; nothing was erased."
NOT_YOURS = "You can have a job forgotten if nobody else asked for things in it. For all other jobs, ask an admin."
NO_PERSON = "I cannot tell who that is. Write @ and choose the name, or `/leadhand forget me`, or name a job."
WHOM = "What? `/leadhand forget JOB`, or `/leadhand forget me` for all you asked for."
ONE_ALONE = "Name one job alone, so that nothing else is erased."
BEGUN = "I'm erasing it. You'll get a receipt in your direct messages of what was erased, and what could not be."
NOTHING = "There is nothing left to erase, or you may not have it erased."
_DENIED: dict[DenialReason, str] = {
    "unknown": notices.UNKNOWN,
    "not_yours": NOT_YOURS,
    "newer": notices.NEWER,
    "unreadable": notices.UNREADABLE,
    "forgotten": notices.IS_FORGOTTEN,
}


async def ask_to_forget(given: CommandContext) -> Outgoing:
    """Open the window for the job or the person that the command names."""
    job, words = find_named_job(given.team, given.rest)
    person = "" if job else _find_person(given)
    if not given.rest:
        return make_note(WHOM)
    if not job and not person:
        return make_note(NO_PERSON)
    if words and job:
        return make_note(ONE_ALONE)
    found = await given.find(ErasureDesk).find_target(given.team, given.user, job=job, person=person)
    if isinstance(found, str):
        return make_note(_DENIED[found])
    if not (found.jobs or found.remembered or found.schedules):
        return make_note(nothing_to_forget(found))
    metadata = encode_data(AboutErasure(given.team, given.channel, job, person))
    opened = await open_window(given.client, given.command.trigger, forget_modal(found, given.user, metadata))
    return make_note(ASKED if opened else NO_WINDOW)


def _find_person(given: CommandContext) -> str:
    if given.rest.strip("`").lower() == "me":
        return given.user
    named = _PERSON.fullmatch(given.rest)
    return named.group(1) if named else ""


@dataclass(frozen=True, slots=True)
class AboutErasure:
    """The metadata of the window: where it was opened, and the job or the person whose data is erased."""

    team: str
    channel: str
    job: str
    person: str


class ForgetWindow:
    """The listener for the window."""

    def __init__(self, forgetting: ErasureDesk, background: Background) -> None:
        self._forgetting = forgetting
        self._background = background

    def register(self, router: Router) -> None:
        """Register the listener for the window."""
        router.on_window(FORGET, self.on_forget)

    async def on_forget(self, sent: ViewSubmission, client: AsyncWebClient) -> None:
        """Start the erasure that the window names. The person's right is checked again: it may have changed."""
        wish = decode_data(sent.metadata, AboutErasure)
        if wish is None:
            log.warning("a window without its wish was left alone")
            return
        begun = await self._forgetting.forget(wish.team, sent.user, sent.id, job=wish.job, person=wish.person)
        words = make_note(BEGUN if begun else NOTHING)
        self._background.start(tell(client, sent.place, sent.user, words), "confirm that it is forgotten")
