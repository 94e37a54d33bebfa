"""Handles requests typed after `/leadhand`: records them at once, and opens a thread for each with a message.

The text is stored with the opening job only until the thread's own job has it. So an erasure of the thread's job leaves
no copy.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import secrets
from dataclasses import replace
from typing import TYPE_CHECKING

from aiohttp import ClientError
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.features.budgets.service import BudgetService
from bot.features.budgets.view import render_exceeded_budget
from bot.features.requests.messages import MessageListener
from bot.features.requests.service import RequestService
from bot.jobs.job_records import JobRecords, create_opening_job, make_opening_place
from bot.slack.receive.subcommand import CommandContext
from bot.slack.send.lookup import OutcomeUnknown
from bot.slack.send.outbox import Outbox, SentMessage
from bot.slack.send.outside_sender import OutsideSender
from bot.slack.show.notices import make_note, make_note_with_input, send_direct_message_once
from bot.slack.text.cleaning import clean_mrkdwn, render_mention
from bot.slack.views.outgoing import Outgoing, make_rich_text, make_section
from bot.store.values import JobKey
from handoff.contracts import Place, Request

if TYPE_CHECKING:
    from bot.jobs.job_runner import JobRunner

log = logging.getLogger(__name__)

OPENING_KIND = "typed"
"""The kind of opening for typed requests."""
OPENING_MESSAGE_KEY = "typed:line"
"""The outbox key of the message that opens the thread."""
NOTICE_KEY = "typed:word"
"""The outbox key of the direct message that tells the requester that no thread could be opened."""
JOB_TITLE = "A request after /leadhand"
POSTED_TEXT = "I have posted your request here. The answer comes in its thread."
ABSENT_TEXT = (
    "I am not in this conversation, so I could not answer in it, and nothing was started. Invite me "
    "(`/invite @leadhand`) and send it again, or write to me directly. You typed:"
)
NOT_POSTED_TEXT = "I could not post your request in <#{channel}> ({why}), so nothing was started. You typed:"
_ABSENT_ERRORS = frozenset({"not_in_channel", "channel_not_found"})
LOOKUP_SECONDS = 0.5
"""Maximum seconds for looking up a channel before a command is answered: Slack waits three in all."""
MAX_NOTIFICATION_CHARS = 1_000
"""Maximum characters of a request in a notification, after cleaning."""
MAX_SHOWN_CHARS = 8_000
"""Maximum characters of a request that the message shows; the job has the whole text."""
CUT_NOTE = "… (The rest is not shown here. I have all of it.)"


class TypedRequests:
    """Records requests typed after `/leadhand`, and opens their threads.

    Args:
        requests: Records the thread's request.
        records: Reads and writes the jobs.
        outbox: Posts the first message.
        messages: Replaces ids in the text by names.
    """

    def __init__(
        self, requests: RequestService, records: JobRecords, outbox: Outbox, messages: MessageListener
    ) -> None:
        self._requests = requests
        self._records = records
        self._outbox = outbox
        self._messages = messages

    async def record_typed_request(self, ctx: CommandContext) -> Outgoing:
        """Record a request, and return the reply to its author. A second delivery of a command starts nothing."""
        command, text = ctx.command, ctx.command.text
        if await is_bot_absent(ctx.client, command.channel):
            return make_note_with_input(ABSENT_TEXT, text)
        data = text.encode()
        mark = f"{command.trigger_id or secrets.token_hex(8)}:{hashlib.sha256(data).hexdigest()}"
        place = make_opening_place(command.team, command.channel, OPENING_KIND, mark)
        key = JobKey(place.team, place.job_id)
        if await self._records.store.jobs.read_head(key) is not None:
            return make_note(POSTED_TEXT)
        budgets = ctx.find_service(BudgetService)
        exceeded_budget = await budgets.find_exceeded_budget(place, command.user, mark)
        if exceeded_budget is not None:
            channel = Place(team=command.team, channel=command.channel, thread_ts="")
            message = render_exceeded_budget(
                exceeded_budget, channel, command.user, mark, has_admins=budgets.can_be_raised
            )
            return replace(message, blocks=(*message.blocks, make_rich_text(text)))
        await self._records.store.blobs.put(key, data)
        if await create_opening_job(self._records.store, place, command.user, JOB_TITLE):
            self._records.nudge(key)
        return make_note(POSTED_TEXT)

    async def open_thread(self, runner: JobRunner, place: Place, request: Request) -> tuple[str, str, bool]:
        """Post the message for the request once, and record the request as the first one of its thread.

        Returns the message's `ts` or "", the reason why there is none, and False, as a `ThreadOpener` does.
        """
        store, key = self._records.store, runner.claim.key
        digest = request.opens.rpartition(":")[2]
        try:
            request_text = (await store.blobs.get(key, digest)).decode()
        except KeyError:
            posted_message = (await store.outbox.read_messages(key)).get(OPENING_MESSAGE_KEY)
            # An earlier owner did all of it, but died before it recorded that.
            if posted_message is not None and posted_message.ts:
                return posted_message.ts, "", False
            return "", "the words were kept no longer", False
        text = await self._messages.replace_channel_ids(request_text)
        opening_message = render_request_line(await self._messages.replace_person_ids(text), request.user)
        try:
            sent_message = await OutsideSender(self._outbox, runner.claim, place).post(
                place.channel, OPENING_MESSAGE_KEY, opening_message
            )
        except OutcomeUnknown as error:
            sent_message = SentMessage("", str(error))
        if not sent_message.ts:
            notice = make_note_with_input(
                NOT_POSTED_TEXT.format(channel=place.channel, why=clean_mrkdwn(sent_message.fault)), request_text
            )
            await send_direct_message_once(
                self._outbox, runner.claim, request.user, NOTICE_KEY, notice, check_allowed=runner.may_show
            )
            return "", f"The request could not be posted: {sent_message.fault}.", False
        thread_place = place.model_copy(update={"thread_ts": sent_message.ts})
        thread_request = Request(id=sent_message.ts, user=request.user, text=text, at=request.at)
        await self._requests.record_request(thread_place, thread_request, dedupe=(f"opened:{thread_place.job_id}",))
        await store.blobs.drop(key, {digest: b""})
        return sent_message.ts, "", False


def render_request_line(text: str, user: str) -> Outgoing:
    """Render the message that opens the thread of a request in its channel: who asks what."""
    head = f"{render_mention(user)} asks:"
    shown_text = text if len(text) <= MAX_SHOWN_CHARS else text[:MAX_SHOWN_CHARS] + CUT_NOTE
    return Outgoing(
        text=f"{head} {clean_mrkdwn(text, limit=MAX_NOTIFICATION_CHARS)}",
        blocks=(make_section(head), make_rich_text(shown_text)),
    )


async def is_bot_absent(client: AsyncWebClient, channel: str) -> bool:
    """Return True if Slack says that the bot is not in a conversation; False also if Slack does not answer in time."""
    try:
        async with asyncio.timeout(LOOKUP_SECONDS):
            await client.conversations_history(channel=channel, limit=1)
    except SlackApiError as error:
        return isinstance(error.response, AsyncSlackResponse) and error.response.get("error") in _ABSENT_ERRORS
    except (TimeoutError, ClientError):
        return False
    return False
