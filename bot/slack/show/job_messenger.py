"""Sends messages for a job's tools to other channels and people: implements `specialists.tools.messenger`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from bot.slack.send.list_rows import ListRowWriter
from bot.slack.send.lookup import OutcomeUnknown
from bot.slack.send.other_places import ELSEWHERE_PREFIX, OutsideSender
from bot.slack.send.outbox import Outbox, SentMessage
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
from handoff.text.visible_text import remove_invisible
from specialists.tools.messenger import Addressee, CommonReaders, DeliveryUnknown, MessageDelivery
from specialists.tools.tool import WorkbenchLost

T = TypeVar("T")

MESSAGE_LIMIT = 11_000
"""Most characters of a cleaned text in one message: Slack takes 12,000 of Markdown."""
PLACE_WORDS = {
    "": "this thread",
    "public": "this thread",
    "private": "this private channel",
    "group": "this group",
    "direct": "these direct messages",
}
"""The place in which something was said, by the kind of its audience, in words for people who are there."""


@dataclass(frozen=True, slots=True)
class MessengerFactory:
    """Makes messengers. `url` is the workspace's own address."""

    outbox: Outbox
    people: People
    directory: Directory
    url: str = ""

    def make_messenger(self, claim: Claim, job: Job, ask: RequestState, contact: str = "") -> JobMessenger:
        """Make the messenger of a request. `claim` is the right to its job, `contact` the contact of the crew."""
        return JobMessenger(self, claim, job, ask, contact)


@dataclass(frozen=True, slots=True)
class JobMessenger:
    """The `Messenger` of a request."""

    factory: MessengerFactory
    claim: Claim
    job: Job
    ask: RequestState
    contact: str = ""

    async def find_addressee(self, to: str) -> Addressee | str:
        """Resolve a channel or a person that the requester could reach. Returns a text for a model if there is none."""
        return await self.factory.directory.find_addressee(to, self.ask.request.user)

    async def find_deciding_readers(self, addressee: Addressee) -> CommonReaders | None:
        """Return the people who may approve that content of the job goes to a place; None if no approval is needed.

        They are those who may read all private content that the job has used and, if the place is a private or shared
        channel, are its members. For a person's direct messages they need not be readers: the card shows them the
        whole message. Content that the addressee can read anyway needs no approval, but a message to a channel shared
        with another organisation always needs that of a member.
        """
        here = await self.factory.people.find_audience(self.job.place)
        there = Audience(channel=addressee.id, kind="direct" if addressee.kind == "person" else "")
        said_in = {here, *(one.audience or here for one in list_material(self.job, self.ask))}
        found = [came for came in said_in if not may_pass_on(came, there)]
        if not found and not addressee.is_shared:
            return None
        able = await self._find_common_readers(found) if found else None
        if addressee.kind == "person" and able is not None and addressee.id in able:
            return None
        if addressee.kind == "channel" and (addressee.is_private or addressee.is_shared):
            members = await self.factory.directory.list_readers(addressee.id) or frozenset()
            able = members if able is None else able & members
        able = able or frozenset()
        return CommonReaders(
            able, self.ask.request.user, self.factory.people.admins & able, PLACE_WORDS[here.kind], addressee.name
        )

    async def send(self, to: Addressee, text: str, *, key: str, draft: bool = False) -> MessageDelivery:
        """Post Markdown once; a draft goes only to the requester. Raises WorkbenchLost and DeliveryUnknown."""
        message = await self._make_message(to, text, draft=draft)

        async def post(channel: str) -> MessageDelivery:
            return self._build_delivery(
                await self._outside_sender.post(channel, ELSEWHERE_PREFIX + key, message), channel
            )

        return await self._translate_errors(lambda: self._call_with_channel(to, post, draft=draft))

    async def look_up_message(self, to: Addressee, *, key: str, draft: bool = False) -> MessageDelivery | None:
        """Find the message that was sent with a key; None if none was. Raises WorkbenchLost and DeliveryUnknown."""

        async def look(channel: str) -> MessageDelivery | None:
            found = await self._outside_sender.look_up(channel, ELSEWHERE_PREFIX + key)
            return None if found is None else self._build_delivery(found, channel)

        return await self._translate_errors(lambda: self._call_with_channel(to, look, draft=draft))

    async def add_row(self, to: Addressee, title: str, body: str, *, key: str) -> MessageDelivery:
        """Add a row to the list that the bot keeps for a channel. Raises WorkbenchLost and DeliveryUnknown."""
        texts = (remove_invisible(title), f"{remove_invisible(body)}\n\n{await self._render_requester_note()}")
        rows = ListRowWriter(self.factory.outbox, self.claim)
        return self._build_delivery(
            await self._translate_errors(lambda: rows.add(to.id, ELSEWHERE_PREFIX + key, *texts))
        )

    async def look_up_row(self, to: Addressee, *, key: str) -> MessageDelivery | None:
        """Find the row that was added with a key; None if none was. Raises WorkbenchLost and DeliveryUnknown."""
        rows = ListRowWriter(self.factory.outbox, self.claim)
        found = await self._translate_errors(lambda: rows.look_up(to.id, ELSEWHERE_PREFIX + key))
        return None if found is None else self._build_delivery(found)

    def _build_delivery(self, sent: SentMessage, channel: str = "") -> MessageDelivery:
        """Return the delivery of a sent message, with a link to the message if its channel is known."""
        base = self.factory.url
        address = f"{base}archives/{channel}/p{sent.ts.replace('.', '')}" if base and channel and sent.ts else ""
        return MessageDelivery(sent.ts, sent.fault, address)

    async def _render_requester_note(self) -> str:
        name = await self.factory.people.find_name(self.ask.request.user) or "somebody"
        return f"Added for {remove_invisible(name)[:100]}, who asked for it."

    @property
    def _outside_sender(self) -> OutsideSender:
        return OutsideSender(self.factory.outbox, self.claim, self.job.place)

    async def _find_common_readers(self, places: Sequence[Audience]) -> frozenset[str]:
        """Return the people who may read all of these places. The requester may read the place of the job."""
        able: frozenset[str] | None = None
        for one in places:
            own = frozenset({self.ask.request.user}) if one.channel == self.job.place.channel else frozenset()
            told = None if one.kind in {"direct", "group"} else await self.factory.directory.list_readers(one.channel)
            able = (told or frozenset()) | own if able is None else able & ((told or frozenset()) | own)
        return able or frozenset()

    async def _call_with_channel(
        self, to: Addressee, work: Callable[[str], Awaitable[T]], *, draft: bool
    ) -> T | MessageDelivery:
        """Call `work` with the id of the channel that a message goes to. A draft goes to the requester directly."""
        if to.kind == "channel" and not draft:
            return await work(to.id)
        user = self.ask.request.user if draft else to.id
        calls, client = self.factory.outbox.calls, self.factory.outbox.client
        try:
            data = await calls.make(
                "conversations.open", lambda: client.conversations_open(users=user), may_repeat=True
            )
        except SlackRefused as error:
            return MessageDelivery("", str(error))
        return await work(str(data["channel"]["id"]))

    async def _make_message(self, to: Addressee, text: str, *, draft: bool) -> Outgoing:
        known = list_known_addresses(self.job, self.ask)
        body = clean_markdown(text, known=known, limit=MESSAGE_LIMIT)
        name = clean_mrkdwn(await self.factory.people.find_name(self.ask.request.user) or "somebody", limit=100)
        if draft:
            above = f"A draft for {clean_mrkdwn(to.name, limit=100)}, for you to send. It was not sent to them."
            return Outgoing(text=above, blocks=(make_section(above), {"type": "markdown", "text": body}))
        small = f"Sent for {name}, who asked for it. I do not read replies here unless you mention me."
        note = clean_mrkdwn(text, known=known, limit=300)
        return Outgoing(text=note, blocks=({"type": "markdown", "text": body}, make_context(small)))

    async def _translate_errors(self, work: Callable[[], Awaitable[T]]) -> T:
        try:
            return await work()
        except (JobGone, StoreError) as error:
            raise WorkbenchLost(error) from error
        except (OutcomeUnknown, NoReply) as error:
            raise DeliveryUnknown(str(error)) from error
