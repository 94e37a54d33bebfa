"""Sends messages for a job's tools to other channels and people: implements `specialists.tools.messenger`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from bot.slack.send.list_rows import ListRowWriter
from bot.slack.send.lookup import OutcomeUnknown
from bot.slack.send.outbox import Outbox, SentMessage
from bot.slack.send.outside_sender import OUTSIDE_KEY_PREFIX, OutsideSender
from bot.slack.send.web_calls import JobGone, NoReply, SlackRefused
from bot.slack.show.directory import Directory
from bot.slack.show.people import People
from bot.slack.text.cleaning import clean_markdown, clean_mrkdwn
from bot.slack.views.outgoing import Outgoing, make_context, make_section
from bot.store.values import Claim, StoreError
from handoff.access.rights import may_pass_on
from handoff.briefs.addresses import list_known_addresses
from handoff.contracts import Audience
from handoff.materials.material_lists import list_material
from handoff.state.job_state import Job, RequestState
from handoff.text.invisible_characters import remove_invisible
from specialists.tools.messenger import Addressee, CommonReaders, DeliveryUnknown, MessageDelivery
from specialists.tools.tool import WorkbenchLost

T = TypeVar("T")

MAX_MESSAGE_CHARACTERS = 11_000
"""Maximum number of characters of a cleaned text in one message: Slack takes 12,000 of Markdown."""
PLACE_WORDS_BY_KIND = {
    "": "this thread",
    "public": "this thread",
    "private": "this private channel",
    "group": "this group",
    "direct": "these direct messages",
}
"""How the place of a job is called towards the people in it, by the `kind` of its audience."""


@dataclass(frozen=True, slots=True)
class MessengerFactory:
    """Makes messengers. `url` is the workspace's address, with a slash at its end; "" for messages without links."""

    outbox: Outbox
    people: People
    directory: Directory
    url: str = ""

    def make_messenger(self, claim: Claim, job: Job, request: RequestState, contact: str = "") -> JobMessenger:
        """Make the messenger of a request. `claim` is the right to its job, `contact` the contact of the crew."""
        return JobMessenger(self, claim, job, request, contact)


@dataclass(frozen=True, slots=True)
class JobMessenger:
    """Implements `Messenger` for one request. `claim` is the right to its job, `contact` the contact of the crew."""

    factory: MessengerFactory
    claim: Claim
    job: Job
    request: RequestState
    contact: str = ""

    async def find_addressee(self, to: str) -> Addressee | str:
        """Resolve a channel or a person that the requester could reach. Returns a text for a model if there is none."""
        return await self.factory.directory.find_addressee(to, self.request.spec.user)

    async def find_deciding_readers(self, addressee: Addressee) -> CommonReaders | None:
        """Return the people who may approve sending the job's content to `addressee`; None if no approval is needed.

        They may read all private content that the job has used. For a private or shared channel, they are also its
        members. No approval is needed for content that the addressee can read anyway. A message to a channel that is
        shared with another organisation always needs the approval of a member.
        """
        here = await self.factory.people.find_audience(self.job.place)
        there = Audience(channel=addressee.id, kind="direct" if addressee.kind == "person" else "")
        said_in = {here, *(one.audience or here for one in list_material(self.job, self.request))}
        deciding_audiences = [came for came in said_in if not may_pass_on(came, there)]
        if not deciding_audiences and not addressee.is_shared:
            return None
        deciding_readers = await self._find_common_readers(deciding_audiences) if deciding_audiences else None
        if addressee.kind == "person" and deciding_readers is not None and addressee.id in deciding_readers:
            return None
        if addressee.kind == "channel" and (addressee.is_private or addressee.is_shared):
            members = await self.factory.directory.list_readers(addressee.id) or frozenset()
            deciding_readers = members if deciding_readers is None else deciding_readers & members
        deciding_readers = deciding_readers or frozenset()
        return CommonReaders(
            deciding_readers,
            self.request.spec.user,
            self.factory.people.admins & deciding_readers,
            PLACE_WORDS_BY_KIND[here.kind],
            addressee.name,
        )

    async def send(self, to: Addressee, text: str, *, key: str, draft: bool = False) -> MessageDelivery:
        """Post Markdown to `to`, or a draft of it to the requester, once. Raises WorkbenchLost and DeliveryUnknown."""
        message = await self._make_message(to, text, draft=draft)

        async def post(channel: str) -> MessageDelivery:
            return self._build_delivery(
                await self._outside_sender.post(channel, OUTSIDE_KEY_PREFIX + key, message), channel
            )

        return await self._translate_errors(lambda: self._call_with_channel(to, post, draft=draft))

    async def look_up_message(self, to: Addressee, *, key: str, draft: bool = False) -> MessageDelivery | None:
        """Find the message that was sent with a key; None if none was. Raises WorkbenchLost and DeliveryUnknown."""

        async def look_up(channel: str) -> MessageDelivery | None:
            sent_message = await self._outside_sender.look_up(channel, OUTSIDE_KEY_PREFIX + key)
            return None if sent_message is None else self._build_delivery(sent_message, channel)

        return await self._translate_errors(lambda: self._call_with_channel(to, look_up, draft=draft))

    async def add_row(self, to: Addressee, title: str, body: str, *, key: str) -> MessageDelivery:
        """Add a row to the list that the bot keeps for a channel, once. Raises WorkbenchLost and DeliveryUnknown."""
        texts = (remove_invisible(title), f"{remove_invisible(body)}\n\n{await self._render_requester_note()}")
        rows = ListRowWriter(self.factory.outbox, self.claim)
        return self._build_delivery(
            await self._translate_errors(lambda: rows.add(to.id, OUTSIDE_KEY_PREFIX + key, *texts))
        )

    async def look_up_row(self, to: Addressee, *, key: str) -> MessageDelivery | None:
        """Find the row that was added with a key; None if none was. Raises WorkbenchLost and DeliveryUnknown."""
        rows = ListRowWriter(self.factory.outbox, self.claim)
        sent_row = await self._translate_errors(lambda: rows.look_up(to.id, OUTSIDE_KEY_PREFIX + key))
        return None if sent_row is None else self._build_delivery(sent_row)

    def _build_delivery(self, sent_message: SentMessage, channel: str = "") -> MessageDelivery:
        """Return the delivery of a sent message, with a link to the message if its channel is known."""
        base = self.factory.url
        address = (
            f"{base}archives/{channel}/p{sent_message.ts.replace('.', '')}"
            if base and channel and sent_message.ts
            else ""
        )
        return MessageDelivery(sent_message.ts, sent_message.fault, address)

    async def _render_requester_note(self) -> str:
        name = await self.factory.people.find_name(self.request.spec.user) or "somebody"
        return f"Added for {remove_invisible(name)[:100]}, who asked for it."

    @property
    def _outside_sender(self) -> OutsideSender:
        return OutsideSender(self.factory.outbox, self.claim, self.job.place)

    async def _find_common_readers(self, places: Sequence[Audience]) -> frozenset[str]:
        """Return the people who may read all of these places. The requester may read the place of the job."""
        common_readers: frozenset[str] | None = None
        for one in places:
            own = frozenset({self.request.spec.user}) if one.channel == self.job.place.channel else frozenset()
            channel_readers = (
                None if one.kind in {"direct", "group"} else await self.factory.directory.list_readers(one.channel)
            )
            common_readers = (
                (channel_readers or frozenset()) | own
                if common_readers is None
                else common_readers & ((channel_readers or frozenset()) | own)
            )
        return common_readers or frozenset()

    async def _call_with_channel(
        self, to: Addressee, work: Callable[[str], Awaitable[T]], *, draft: bool
    ) -> T | MessageDelivery:
        """Call `work` with the id of the channel that a message goes to. A draft goes to the requester directly."""
        if to.kind == "channel" and not draft:
            return await work(to.id)
        user = self.request.spec.user if draft else to.id
        calls, client = self.factory.outbox.calls, self.factory.outbox.client
        try:
            data = await calls.make(
                "conversations.open", lambda: client.conversations_open(users=user), may_repeat=True
            )
        except SlackRefused as error:
            return MessageDelivery("", str(error))
        return await work(str(data["channel"]["id"]))

    async def _make_message(self, to: Addressee, text: str, *, draft: bool) -> Outgoing:
        known_addresses = list_known_addresses(self.job, self.request)
        body = clean_markdown(text, known_addresses=known_addresses, limit=MAX_MESSAGE_CHARACTERS)
        name = clean_mrkdwn(await self.factory.people.find_name(self.request.spec.user) or "somebody", limit=100)
        if draft:
            above = f"A draft for {clean_mrkdwn(to.name, limit=100)}, for you to send. It was not sent to them."
            return Outgoing(text=above, blocks=(make_section(above), {"type": "markdown", "text": body}))
        small = f"Sent for {name}, who asked for it. I do not read replies here unless you mention me."
        note = clean_mrkdwn(text, known_addresses=known_addresses, limit=300)
        return Outgoing(text=note, blocks=({"type": "markdown", "text": body}, make_context(small)))

    async def _translate_errors(self, work: Callable[[], Awaitable[T]]) -> T:
        try:
            return await work()
        except (JobGone, StoreError) as error:
            raise WorkbenchLost(error) from error
        except (OutcomeUnknown, NoReply) as error:
            raise DeliveryUnknown(str(error)) from error
