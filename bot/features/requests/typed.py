"""Requests that are typed after `/leadhand`: recorded at once, and asked in a thread that a message of ours opens.

The words lie beside the opening job as long as it has no thread, and go once the thread's own job has them: what people
have forgotten there is nowhere else.
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

from bot.features.budgets.service import BudgetDesk
from bot.features.budgets.view import BudgetRequest, render_used_up_budget
from bot.features.requests.messages import MessageListener
from bot.features.requests.service import RequestDesk
from bot.jobs.job_records import JobRecords, begin_opening, opening_place
from bot.slack.receive.subcommand import CommandContext
from bot.slack.send.lookup import OutcomeUnknown
from bot.slack.send.other_places import OtherPlaces
from bot.slack.send.outbox import Outbox, SentMessage
from bot.slack.show.notices import make_note, make_note_with_input, send_direct
from bot.slack.text.cleaning import clean, mention
from bot.slack.views.outgoing import Outgoing, rich_text, section
from bot.store.values import JobKey
from handoff.contracts import Place, Request

if TYPE_CHECKING:
    from bot.jobs.job_runner import JobRunner

log = logging.getLogger(__name__)

OPENER = "typed"
"""The kind of opening that typed requests are."""
LINE = "typed:line"
"""The outbox key of the message that opens the thread."""
WORD = "typed:word"
"""The outbox key of the word to the requester that there is no thread."""
TITLE = "A request after /leadhand"
BEGUN = "I have posted your request here. The answer comes in its thread."
ABSENT = (
    "I am not in this conversation, so I could not answer in it, and nothing was started. Invite me "
    "(`/invite @leadhand`) and send it again, or write to me directly. You typed:"
)
NOT_OPENED = "I could not post your request in <#{channel}> ({why}), so nothing was started. You typed:"
_ABSENT = frozenset({"not_in_channel", "channel_not_found"})
LOOK_SECONDS = 0.5
"""Seconds that a look at a channel may take before a command is answered: Slack waits for three in all."""
IN_NOTIFICATION = 1_000
"""Characters of a request that a notification shows, cleaned."""
SHOWN = 8_000
"""Characters of a request that the message shows; the job has all of it."""
CUT = "… (The rest is not shown here. I have all of it.)"


class TypedRequests:
    """Takes requests after `/leadhand`, and opens their threads.

    Args:
        requests: Where the thread's request is recorded.
        records: The jobs.
        outbox: The way of the first message to Slack.
        messages: Writes names in place of ids.
    """

    def __init__(self, requests: RequestDesk, records: JobRecords, outbox: Outbox, messages: MessageListener) -> None:
        self._requests = requests
        self._records = records
        self._outbox = outbox
        self._messages = messages

    async def record_typed_request(self, given: CommandContext) -> Outgoing:
        """Record a request, and say what comes of it. A second delivery of the same command begins nothing."""
        command, text = given.command, given.command.text
        if await is_absent(given.client, command.channel):
            return make_note_with_input(ABSENT, text)
        data = text.encode()
        mark = f"{command.trigger or secrets.token_hex(8)}:{hashlib.sha256(data).hexdigest()}"
        place = opening_place(command.team, command.channel, OPENER, mark)
        key = JobKey(place.team, place.job_id)
        if await self._records.store.jobs.head(key) is not None:
            return make_note(BEGUN)
        budgets = given.find(BudgetDesk)
        over = await budgets.find_exceeded_budget(place, command.user, mark)
        if over is not None:
            wanted = BudgetRequest(over.scope, over.named, command.user, command.channel, "", mark)
            words = over.words or f"{over.named} is used up."
            message = render_used_up_budget(words, wanted, admins=budgets.can_be_raised)
            return replace(message, blocks=(*message.blocks, rich_text(text)))
        await self._records.store.blobs.put(key, data)
        if await begin_opening(self._records.store, place, command.user, TITLE):
            self._records.nudge(key)
        return make_note(BEGUN)

    async def open(self, runner: JobRunner, place: Place, request: Request) -> tuple[str, str, bool]:
        """Post the message that stands for the request, once, and hand the request in as the first of its thread.

        Returns the message's `ts`, or why there is none; and False, as that is never as it should be.
        """
        store, key = self._records.store, runner.claim.key
        digest = request.opens.rpartition(":")[2]
        try:
            typed = (await store.blobs.get(key, digest)).decode()
        except KeyError:
            posted = (await store.outbox.messages(key)).get(LINE)
            if posted is not None and posted.ts:  # an earlier owner had done all of it, and could not say so
                return posted.ts, "", False
            return "", "the words were kept no longer", False
        text = await self._messages.write_channel_names(typed)
        line = request_line(await self._messages.write_people_names(text), request.user)
        try:
            sent = await OtherPlaces(self._outbox, runner.claim, place).post(place.channel, LINE, line)
        except OutcomeUnknown as error:
            sent = SentMessage("", str(error))
        if not sent.ts:
            word = make_note_with_input(NOT_OPENED.format(channel=place.channel, why=clean(sent.fault)), typed)
            await send_direct(self._outbox, runner.claim, request.user, WORD, word, allowed=runner.may_show)
            return "", f"The request could not be posted: {sent.fault}.", False
        there = place.model_copy(update={"thread_ts": sent.ts})
        asked = Request(id=sent.ts, user=request.user, text=text, at=request.at)
        await self._requests.record_request(there, asked, dedupe=(f"opened:{there.job_id}",))
        await store.blobs.drop(key, {digest: b""})
        return sent.ts, "", False


def request_line(text: str, user: str) -> Outgoing:
    """Make the message that stands for a request in its channel: who asks what."""
    head = f"{mention(user)} asks:"
    shown = text if len(text) <= SHOWN else text[:SHOWN] + CUT
    return Outgoing(text=f"{head} {clean(text, limit=IN_NOTIFICATION)}", blocks=(section(head), rich_text(shown)))


async def is_absent(client: AsyncWebClient, channel: str) -> bool:
    """Return True if we are not in a conversation. If that cannot be told in time, we are taken to be."""
    try:
        async with asyncio.timeout(LOOK_SECONDS):
            await client.conversations_history(channel=channel, limit=1)
    except SlackApiError as error:
        return isinstance(error.response, AsyncSlackResponse) and error.response.get("error") in _ABSENT
    except (TimeoutError, ClientError):
        return False
    return False
