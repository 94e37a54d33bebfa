"""Handles messages: each one is recorded first, and only then acknowledged to Slack.

The app must be made with `process_before_response=True`. Then an exception
here (the store is away, say) leaves the event unacknowledged, and Slack sends
it again.
"""

from __future__ import annotations

import logging
import re
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from slack_sdk.web.async_client import AsyncWebClient

from bot.features.budgets.service import BudgetDesk
from bot.features.budgets.view import BudgetRequest, render_used_up_budget
from bot.features.requests.open_view import find_referent
from bot.features.requests.service import RequestDesk
from bot.slack.receive.payloads import FileRemoved, IncomingMessage, MessageDeleted, MessageEdited, SlashCommand
from bot.slack.receive.router import Router
from bot.slack.receive.services import FeatureServices
from bot.slack.send.web_calls import Background
from bot.slack.show import notices
from bot.slack.show.notices import OutageNotices, add_receipt_reaction, make_note, tell
from bot.slack.views.outgoing import Outgoing
from bot.store.values import PayloadTooLarge, StoreError
from handoff.contracts import Request

if TYPE_CHECKING:
    from bot.features.requests.service import AnswerOutcome
    from bot.slack.show.directory import Directory
    from bot.slack.show.people import People

log = logging.getLogger(__name__)

NO_REQUEST = (
    "You mentioned me without a request. Mention me again and say what you need, for example: "
    "“compare these two offers and recommend one”. Attach files if it is about them. `/leadhand help` tells more."
)
ONLY_FILES = (
    "I got your files, but no request. Mention me again with them and say what should be done, for example: "
    "“profile this table and tell me what stands out”."
)

FORWARDED = "Read the message that I forward here, and say what it asks for. If that leaves open what to do, ask me."
"""The request text of a person who forwards a message to the bot without words of their own."""
FORWARDED_TO_ALL = "(Somebody forwards a message here, and says nothing about it.)"
"""The text of a message in a thread that forwards another message, without words and without a mention."""

MOST_NAMED = 10
"""Maximum number of channels, and of people, in one message whose names are looked up."""
_CHANNEL = re.compile(r"#([CG][A-Z0-9]{6,20})\b")
_PERSON = re.compile(r"@([UW][A-Z0-9]{6,20})\b")


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
        requests: RequestDesk,
        services: FeatureServices,
        router: Router,
        background: Background,
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
        text = await self.write_channel_names(incoming.text)
        await self._record(replace(incoming, text=text), client)

    async def write_channel_names(self, text: str) -> str:
        """Replace the ids of public channels by their names: Slack mentions channels only by id."""
        ids = tuple(dict.fromkeys(_CHANNEL.findall(text)))[:MOST_NAMED]
        names = await self._people.public_names(ids) if ids and self._people is not None else {}
        return _CHANNEL.sub(lambda found: f"#{names.get(found[1], found[1])}", text)

    async def write_people_names(self, text: str) -> str:
        """Replace the ids of people by their names, so that the text notifies nobody."""
        ids = tuple(dict.fromkeys(_PERSON.findall(text)))[:MOST_NAMED]
        known = [(one, await self._people.name(one)) for one in ids] if self._people is not None else []
        names = {one: name for one, name in known if name}
        return _PERSON.sub(lambda found: f"@{names.get(found[1], found[1])}", text)

    async def on_edited(self, edited: MessageEdited, client: AsyncWebClient) -> None:
        """Record an edit. Slack sends the event again if it cannot be recorded."""
        del client
        text = await self.write_channel_names(edited.text)
        await self._requests.record_edit(replace(edited, text=text))

    async def on_deleted(self, deleted: MessageDeleted, client: AsyncWebClient) -> None:
        """Record that a message was deleted. Slack sends the event again if it cannot be recorded."""
        del client
        await self._requests.record_deletion(deleted.place, deleted.ts, dedupe=deleted.dedupe)

    async def on_file_deleted(self, deleted: FileRemoved, client: AsyncWebClient) -> None:
        """Record that a file was deleted. Slack sends the event again if it cannot be recorded."""
        del client
        await self._requests.record_file_deletion(deleted.team, deleted.file)

    async def _record(self, incoming: IncomingMessage, client: AsyncWebClient) -> None:
        """Record a message. If that fails, tell its author and do not acknowledge it, so that Slack sends it again."""
        addressed = (incoming.mentioned or incoming.direct) and not incoming.by_bot
        if addressed:
            self._outages.remember_talk(incoming.place, incoming.user)
        try:
            await self._take_message(incoming, client)
        except StoreError as error:
            if addressed or (incoming.in_thread and self._outages.was_lately_used(incoming.place, incoming.user)):
                self._outages.tell_not_recorded(client, incoming.private_place, incoming.user, incoming.ts, error)
            if not isinstance(error, PayloadTooLarge):  # a second delivery would be too large again
                raise

    async def _take_message(self, incoming: IncomingMessage, client: AsyncWebClient) -> None:
        if incoming.by_bot:
            await self._turn_away(incoming)
            return
        addressed = incoming.mentioned or incoming.direct
        if addressed and await self._run_command(incoming, client):
            return
        told = ""
        if incoming.in_thread and (incoming.text or incoming.attachments):
            others = incoming.others and not addressed
            reply = await self._requests.record_reply(
                incoming.place, _request_of(incoming), mentioned=addressed, others=others, dedupe=incoming.dedupe
            )
            if reply.verdict in {"taken", "heard", "not_yours"}:
                self._acknowledge_reply(incoming, reply, client)
                return
            told = notices.describe_own_request(reply.whom) if reply.whom else ""
            told = notices.QUARANTINED if reply.verdict == "quarantined" else told
        if addressed and await self._take_as_request(incoming, client) and told:
            words = tell(client, incoming.place, incoming.user, make_note(told))
            self._background.start(words, "tell what became of a mention")

    def _acknowledge_reply(self, incoming: IncomingMessage, reply: AnswerOutcome, client: AsyncWebClient) -> None:
        """Show the author that their reply was recorded, or tell them privately why it was not."""
        place, user = incoming.place, incoming.user
        if reply.verdict == "not_yours":
            if reply.whom:
                told = tell(client, place, user, make_note(notices.describe_addressees(reply.whom)))
                self._background.start(told, "tell whom a question is for")
        elif reply.verdict == "taken" or incoming.mentioned or incoming.direct:
            self._background.start(add_receipt_reaction(client, place.channel, incoming.ts), "react to a reply")
            if reply.verdict == "taken" and incoming.attachments:
                told = tell(client, place, user, make_note(notices.WORDS_ONLY))
                self._background.start(told, "tell that a file was not taken")

    async def _turn_away(self, incoming: IncomingMessage) -> None:
        """Refuse the mention of another bot with a message in the thread, at most once an hour."""
        if await self._requests.should_turn_away(incoming.place, incoming.user):
            request = Request(id=incoming.ts, user=incoming.user, text=incoming.text, at=time.time())
            await self._requests.record_request(
                incoming.place, request, dedupe=incoming.dedupe, refusal=notices.PEOPLE_ONLY
            )

    async def _take_as_request(self, incoming: IncomingMessage, client: AsyncWebClient) -> bool:
        request = _request_of(incoming)
        refusal = "" if request.text else ONLY_FILES if incoming.attachments else NO_REQUEST
        budgets = self._services.find(BudgetDesk)
        over = await budgets.find_exceeded_budget(incoming.place, incoming.user, incoming.ts) if not refusal else None
        if over is not None:
            if over.words:
                place = incoming.place
                wanted = BudgetRequest(
                    over.scope, over.named, incoming.user, place.channel, place.thread_ts, incoming.ts
                )
                message = render_used_up_budget(over.words, wanted, admins=budgets.can_be_raised)
                self._background.start(tell(client, incoming.private_place, incoming.user, message), "tell of a budget")
            return False
        if not refusal and self._directory is not None:
            meant = await find_referent(incoming, self._directory, client)
            of = {"reads": meant.reads, "attachments": (*request.attachments, *meant.attachments)}
            request, refusal = request.model_copy(update=of), meant.refusal
        new = await self._requests.record_request(incoming.place, request, dedupe=incoming.dedupe, refusal=refusal)
        if new:
            self._background.start(
                add_receipt_reaction(client, incoming.place.channel, incoming.ts), "react to a request"
            )
        return new

    async def _run_command(self, incoming: IncomingMessage, client: AsyncWebClient) -> bool:
        """Run a message that is a command, as threads take no slash commands. Returns False if it is no command.

        If Slack sends two events for a message, only its `app_mention` is run.
        """
        for one, about in self._router.find_commands(incoming.text, files=bool(incoming.attachments)):
            if incoming.twin:  # Slack also sends an app_mention for it
                return True
            if (
                one.name != "cancel"
                and incoming.in_thread
                and await self._requests.is_offered_answer(incoming.place, incoming.text)
            ):
                return False  # it answers a question; only Stop has precedence over that
            place, mark = incoming.place, f"{incoming.place.channel}/{incoming.ts}"
            command = SlashCommand(place.team, place.channel, incoming.user, one.name, about)
            reply = await one.run(self._router.make_context(command, client, said=incoming, mark=mark))
            if isinstance(reply, Outgoing):
                telling = tell(client, incoming.private_place, incoming.user, reply)
                self._background.start(telling, f"answer {one.name}")
            if reply != "no_command":
                return True
        return False


def _request_of(incoming: IncomingMessage) -> Request:
    forwards = any(one.kind == "message" for one in incoming.attachments)
    alone = (FORWARDED if incoming.mentioned or incoming.direct else FORWARDED_TO_ALL) if forwards else ""
    return Request(
        id=incoming.ts,
        user=incoming.user,
        text=incoming.text or alone,
        at=time.time(),
        attachments=incoming.attachments,
        look_back="thread" if incoming.in_thread else "files" if incoming.may_lack_files else "",
    )
