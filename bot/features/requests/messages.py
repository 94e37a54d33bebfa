"""Handles messages: each one is recorded first, and only then acknowledged to Slack.

The app must be made with `process_before_response=True`. Then an exception here,
such as a StoreError, leaves the event unacknowledged, and Slack sends it again.
"""

from __future__ import annotations

import logging
import re
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from slack_sdk.web.async_client import AsyncWebClient

from bot.features.budgets.service import BudgetService
from bot.features.budgets.view import render_exceeded_budget
from bot.features.requests.referent import find_referent
from bot.features.requests.service import RequestService
from bot.slack.receive.payloads import FileRemoved, IncomingMessage, MessageDeleted, MessageEdited, SlashCommand
from bot.slack.receive.router import Router
from bot.slack.receive.services import FeatureServices
from bot.slack.send.web_calls import BackgroundTasks
from bot.slack.show import notices
from bot.slack.show.notices import OutageNotices, add_receipt_reaction, make_note, show_ephemeral_message
from bot.slack.views.outgoing import Outgoing
from bot.store.values import PayloadTooLarge, StoreError
from handoff.contracts import Request

if TYPE_CHECKING:
    from bot.features.requests.service import AnswerOutcome
    from bot.slack.show.directory import Directory
    from bot.slack.show.people import People

log = logging.getLogger(__name__)

NO_REQUEST_TEXT = (
    "You mentioned me without a request. Mention me again and say what you need, for example: "
    "“compare these two offers and recommend one”. Attach files if it is about them. `/leadhand help` tells more."
)
ONLY_FILES_TEXT = (
    "I got your files, but no request. Mention me again with them and say what should be done, for example: "
    "“profile this table and tell me what stands out”."
)

FORWARDED_REQUEST = (
    "Read the message that I forward here, and say what it asks for. If that leaves open what to do, ask me."
)
"""The request text of a person who forwards a message to the bot without words of their own."""
FORWARDED_MESSAGE = "(Somebody forwards a message here, and says nothing about it.)"
"""The text of a message in a thread that forwards another message, without words and without a mention."""

MAX_NAME_LOOKUPS = 10
"""Maximum number of channel ids, and of person ids, that are replaced by names in one message."""
_CHANNEL_ID_PATTERN = re.compile(r"#([CG][A-Z0-9]{6,20})\b")
_PERSON_ID_PATTERN = re.compile(r"@([UW][A-Z0-9]{6,20})\b")


class MessageListener:
    """The listener for messages, and for their edits and deletions.

    Args:
        requests: Records the messages.
        services: Has the budgets service, which says whether a request can be paid for.
        router: Knows the commands that can be spoken.
        background: Runs work after Slack's event was acknowledged.
        outages: Tells people that a message was not recorded.
        people: Knows the names of channels and people.
        directory: Knows who may read a channel that a request refers to.
    """

    def __init__(
        self,
        requests: RequestService,
        services: FeatureServices,
        router: Router,
        background: BackgroundTasks,
        outages: OutageNotices,
        people: People | None = None,
        directory: Directory | None = None,
    ) -> None:
        self._people = people
        self._directory = directory
        self._requests = requests
        self._services = services
        self._router = router
        self._background = background
        self._outages = outages

    def register(self, router: Router) -> None:
        """Register the listeners for messages, edits and deletions."""
        router.on_event(IncomingMessage, self.on_message)
        router.on_event(MessageEdited, self.on_edited)
        router.on_event(MessageDeleted, self.on_deleted)
        router.on_event(FileRemoved, self.on_file_deleted)

    async def on_message(self, incoming: IncomingMessage, client: AsyncWebClient) -> None:
        """Record a message, with or without a mention."""
        text = await self.replace_channel_ids(incoming.text)
        await self._record_message(replace(incoming, text=text), client)

    async def replace_channel_ids(self, text: str) -> str:
        """Replace the ids of public channels by their names: Slack mentions channels only by id."""
        ids = tuple(dict.fromkeys(_CHANNEL_ID_PATTERN.findall(text)))[:MAX_NAME_LOOKUPS]
        names = await self._people.find_public_names(ids) if ids and self._people is not None else {}
        return _CHANNEL_ID_PATTERN.sub(lambda match: f"#{names.get(match[1], match[1])}", text)

    async def replace_person_ids(self, text: str) -> str:
        """Replace the ids of people by their names, so that the text notifies nobody."""
        ids = tuple(dict.fromkeys(_PERSON_ID_PATTERN.findall(text)))[:MAX_NAME_LOOKUPS]
        name_pairs = [(one, await self._people.find_name(one)) for one in ids] if self._people is not None else []
        names = {one: name for one, name in name_pairs if name}
        return _PERSON_ID_PATTERN.sub(lambda match: f"@{names.get(match[1], match[1])}", text)

    async def on_edited(self, event: MessageEdited, client: AsyncWebClient) -> None:
        """Record an edit. Slack sends the event again if it cannot be recorded."""
        del client
        text = await self.replace_channel_ids(event.text)
        await self._requests.record_edit(replace(event, text=text))

    async def on_deleted(self, event: MessageDeleted, client: AsyncWebClient) -> None:
        """Record that a message was deleted. Slack sends the event again if it cannot be recorded."""
        del client
        await self._requests.record_deletion(event.place, event.ts, dedupe=event.dedupe_keys)

    async def on_file_deleted(self, event: FileRemoved, client: AsyncWebClient) -> None:
        """Record that a file was deleted. Slack sends the event again if it cannot be recorded."""
        del client
        await self._requests.record_file_deletion(event.team, event.file)

    async def _record_message(self, incoming: IncomingMessage, client: AsyncWebClient) -> None:
        """Record a message. If that fails, tell its author and do not acknowledge it, so that Slack sends it again."""
        is_addressed = (incoming.mentions_bot or incoming.is_direct) and not incoming.by_bot
        if is_addressed:
            self._outages.remember_speaker(incoming.place, incoming.user)
        try:
            await self._route_message(incoming, client)
        except StoreError as error:
            if is_addressed or (incoming.in_thread and self._outages.has_spoken_lately(incoming.place, incoming.user)):
                self._outages.tell_not_recorded(client, incoming.private_place, incoming.user, incoming.ts, error)
            if not isinstance(error, PayloadTooLarge):  # a second delivery would be too large again
                raise

    async def _route_message(self, incoming: IncomingMessage, client: AsyncWebClient) -> None:
        if incoming.by_bot:
            await self._refuse_bot(incoming)
            return
        is_addressed = incoming.mentions_bot or incoming.is_direct
        if is_addressed and await self._run_command(incoming, client):
            return
        notice = ""
        if incoming.in_thread and (incoming.text or incoming.attachments):
            others = incoming.mentions_others and not is_addressed
            reply = await self._requests.record_reply(
                incoming.place,
                _make_request(incoming),
                mentions_bot=is_addressed,
                mentions_others=others,
                dedupe=incoming.dedupe_keys,
            )
            if reply.verdict in {"taken", "heard", "not_yours"}:
                self._acknowledge_reply(incoming, reply, client)
                return
            notice = notices.explain_separate_request(reply.answerers) if reply.answerers else ""
            notice = notices.NOTED_WHILE_QUARANTINED if reply.verdict == "quarantined" else notice
        if is_addressed and await self._record_as_request(incoming, client) and notice:
            words = show_ephemeral_message(client, incoming.place, incoming.user, make_note(notice))
            self._background.start(words, "tell what became of a mention")

    def _acknowledge_reply(self, incoming: IncomingMessage, reply: AnswerOutcome, client: AsyncWebClient) -> None:
        """Show the author that their reply was recorded, or tell them privately why it was not."""
        place, user = incoming.place, incoming.user
        if reply.verdict == "not_yours":
            if reply.answerers:
                notice = show_ephemeral_message(
                    client, place, user, make_note(notices.describe_who_may_answer(reply.answerers))
                )
                self._background.start(notice, "tell whom a question is for")
        elif reply.verdict == "taken" or incoming.mentions_bot or incoming.is_direct:
            self._background.start(add_receipt_reaction(client, place.channel, incoming.ts), "react to a reply")
            if reply.verdict == "taken" and incoming.attachments:
                notice = show_ephemeral_message(client, place, user, make_note(notices.WORDS_ONLY))
                self._background.start(notice, "tell that a file was not taken")

    async def _refuse_bot(self, incoming: IncomingMessage) -> None:
        """Refuse the mention of another bot with a message in the thread, at most once an hour."""
        if await self._requests.claim_refusal_notice(incoming.place, incoming.user):
            request = Request(id=incoming.ts, user=incoming.user, text=incoming.text, at=time.time())
            await self._requests.record_request(
                incoming.place, request, dedupe=incoming.dedupe_keys, refusal=notices.PEOPLE_ONLY
            )

    async def _record_as_request(self, incoming: IncomingMessage, client: AsyncWebClient) -> bool:
        request = _make_request(incoming)
        refusal = "" if request.text else ONLY_FILES_TEXT if incoming.attachments else NO_REQUEST_TEXT
        budgets = self._services.find(BudgetService)
        exceeded_budget = (
            await budgets.find_exceeded_budget(incoming.place, incoming.user, incoming.ts) if not refusal else None
        )
        if exceeded_budget is not None:
            if exceeded_budget.refusal:
                message = render_exceeded_budget(
                    exceeded_budget, incoming.place, incoming.user, incoming.ts, has_admins=budgets.can_be_raised
                )
                self._background.start(
                    show_ephemeral_message(client, incoming.private_place, incoming.user, message), "tell of a budget"
                )
            return False
        if not refusal and self._directory is not None:
            referent = await find_referent(incoming, self._directory, client)
            added_fields = {"reads": referent.reads, "attachments": (*request.attachments, *referent.attachments)}
            request, refusal = request.model_copy(update=added_fields), referent.refusal
        new = await self._requests.record_request(incoming.place, request, dedupe=incoming.dedupe_keys, refusal=refusal)
        if new:
            self._background.start(
                add_receipt_reaction(client, incoming.place.channel, incoming.ts), "react to a request"
            )
        return new

    async def _run_command(self, incoming: IncomingMessage, client: AsyncWebClient) -> bool:
        """Run a spoken command, as slash commands do not work in threads. Returns False if the message is no command.

        If Slack sends two events for a message, only its `app_mention` is run.
        """
        for one, about in self._router.match_spoken_commands(incoming.text, has_files=bool(incoming.attachments)):
            if incoming.has_mention_event:  # Slack also sends an app_mention for it
                return True
            if (
                one.name != "cancel"
                and incoming.in_thread
                and await self._requests.is_offered_answer(incoming.place, incoming.text)
            ):
                return False  # it answers a question; only Stop has precedence over that
            place, mark = incoming.place, f"{incoming.place.channel}/{incoming.ts}"
            command = SlashCommand(place.team, place.channel, incoming.user, one.name, about)
            reply = await one.run(self._router.make_context(command, client, message=incoming, dedupe_key=mark))
            if isinstance(reply, Outgoing):
                telling = show_ephemeral_message(client, incoming.private_place, incoming.user, reply)
                self._background.start(telling, f"answer {one.name}")
            if reply != "no_command":
                return True
        return False


def _make_request(incoming: IncomingMessage) -> Request:
    forwards = any(one.kind == "message" for one in incoming.attachments)
    default_text = (
        (FORWARDED_REQUEST if incoming.mentions_bot or incoming.is_direct else FORWARDED_MESSAGE) if forwards else ""
    )
    return Request(
        id=incoming.ts,
        user=incoming.user,
        text=incoming.text or default_text,
        at=time.time(),
        attachments=incoming.attachments,
        look_back="thread" if incoming.in_thread else "files" if incoming.may_lack_files else "",
    )
