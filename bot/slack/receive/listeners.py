"""What people say: each message is recorded first, and only then is Slack told that it was received.

The app must be made with `process_before_response=True`. Then an exception
here (the store is away, say) leaves the event unacknowledged, and Slack sends
it again.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from slack_bolt.async_app import AsyncApp
from slack_bolt.context.async_context import AsyncBoltContext
from slack_bolt.response import BoltResponse
from slack_sdk.web.async_client import AsyncWebClient

from bot.slack.receive.actions import Actions
from bot.slack.receive.approval_clicks import ApprovalClicks
from bot.slack.receive.bolt_dispatch import unhandled
from bot.slack.receive.commands import Commands
from bot.slack.receive.forget_window import ForgetWindow
from bot.slack.receive.home_answers import HomeAnswers
from bot.slack.receive.home_clicks import HomeClicks
from bot.slack.receive.home_tab import HomeTab
from bot.slack.receive.memory_clicks import MemoryClicks, take_in_change
from bot.slack.receive.more_budget import MoreBudget
from bot.slack.receive.page_turns import PageTurns
from bot.slack.receive.payloads import (
    CHANGES,
    Command,
    Deleted,
    Edited,
    Ignored,
    Incoming,
    Malformed,
    parse_change,
    parse_message,
    parse_stop,
)
from bot.slack.receive.schedule_clicks import ScheduleClicks
from bot.slack.receive.second_tries import TryButtons
from bot.slack.receive.sign_in_clicks import SignInClicks
from bot.slack.receive.spoken_commands import spoken
from bot.slack.receive.stopping import stop
from bot.slack.receive.thumbs import Thumbs
from bot.slack.send.web_calls import Background
from bot.slack.show import notices
from bot.slack.show.notices import OutageNotices, note, received, tell
from bot.slack.views.home import suggested_prompts
from bot.slack.views.outgoing import Outgoing
from bot.slack.views.over_budget import Wanted, used_up
from bot.store.interface import PayloadTooLarge, StoreError
from handoff.contracts import Request

if TYPE_CHECKING:
    from bot.slack.receive.desks import Desks
    from bot.slack.receive.gate import Gate
    from bot.slack.receive.service import Answer, Service
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
"""The request of somebody who forwards a message to the bot and says nothing."""
FORWARDED_TO_ALL = "(Somebody forwards a message here, and says nothing about it.)"
"""The words of a message in a thread that forwards another one without saying so to the bot."""

Listener = Callable[..., Awaitable[None]]
_ANYTHING = re.compile(r".*", re.DOTALL)
LONGEST_ID = 80
MOST_NAMED = 10
"""Channels of one message whose names are looked up."""
_CHANNEL = re.compile(r"#([CG][A-Z0-9]{6,20})\b")


def register(app: AsyncApp, service: Service, gate: Gate, desks: Desks) -> Background:
    """Make the app listen, for `service` and `desks`, to those whom `gate` lets through.

    Gives back what is done after acknowledging: drain it at the end.
    """
    background = Background()
    gate.open(background, service.knows, desks.memories.remembers if desks.memories is not None else None)
    home = None
    if desks.home is not None:
        app.use(HomeClicks(desks.home, background).check)  # before the gate: it has to know where somebody acts
        home = HomeTab(app.client, service, desks.home, desks.sections, background)
    app.use(gate.check)
    commands = Commands(service, desks, background)
    listeners = Listeners(service, commands, background, home, gate.people)
    for event, listener in listeners.events.items():
        app.event(event)(listener)
    commands.register(app)
    PageTurns(commands, home).register(app)
    MoreBudget(service, background).register(app)  # before what takes any button
    desks.settings.register(app, background)  # before the windows that nobody knows
    if desks.approvals is not None:
        ApprovalClicks(desks.approvals, background).register(app)
    if desks.sign_ins is not None:
        SignInClicks(desks.sign_ins, background).register(app)
    if desks.memories is not None:
        MemoryClicks(desks.memories, background).register(app)
    if desks.schedules is not None:
        ScheduleClicks(desks.schedules, service, background).register(app)
    if desks.second_tries is not None:
        TryButtons(desks.second_tries, service, background).register(app)
    ForgetWindow(service, background).register(app)
    Thumbs(service, background).register(app)
    HomeAnswers(service, background).register(app)
    Actions(service, background).register(app)
    app.event(_ANYTHING)(_nothing)  # in Socket Mode an event without a listener is never acknowledged
    app.error(_failed)
    return background


async def _nothing() -> None:
    """Acknowledge an event that calls for nothing."""


async def _failed(error: Exception, body: Any) -> BoltResponse:
    return unhandled(error, body)


class Listeners:
    """The listeners of events. `events` says which there are."""

    def __init__(
        self,
        service: Service,
        commands: Commands,
        background: Background,
        home: HomeTab | None = None,
        people: People | None = None,
    ) -> None:
        self._people = people
        self._service = service
        self._home = home
        self._commands = commands
        self._background = background
        self._outages = OutageNotices(background)
        thumbs = Thumbs(service, background)
        self.events: dict[str, Listener] = {
            "app_mention": self.on_message,
            "message": self.on_message,
            "agent_session_stopped": self.on_stop,
            "app_home_opened": self.on_home,
            "file_deleted": self.on_file_deleted,
            "reaction_added": thumbs.on_reaction,
            "reaction_removed": thumbs.on_reaction,
        }

    async def on_message(self, body: dict[str, Any], context: AsyncBoltContext, client: AsyncWebClient) -> None:
        """Take in a message, with or without a mention, or what became of one."""
        event = body.get("event")
        if isinstance(event, dict) and event.get("subtype") in CHANGES:
            change = parse_change(body, context.bot_user_id or "")
            await self._changed(change)
            if isinstance(change, Edited | Deleted):
                await take_in_change(self._commands.desks.memories, change, client, self._background)
            return
        incoming = parse_message(body, context.bot_user_id or "")
        if isinstance(incoming, Malformed):
            log.warning("a message without %s was left alone", incoming.reason)
        elif not isinstance(incoming, Ignored):
            text = await self._with_channel_names(incoming.text)
            await self._record(replace(incoming, text=text), client)

    async def _with_channel_names(self, text: str) -> str:
        """Write the names of public channels in place of their ids: Slack mentions channels by these alone."""
        ids = tuple(dict.fromkeys(_CHANNEL.findall(text)))[:MOST_NAMED]
        names = await self._people.public_names(ids) if ids and self._people is not None else {}
        return _CHANNEL.sub(lambda found: f"#{names.get(found[1], found[1])}", text)

    async def _changed(self, change: Edited | Deleted | Ignored | Malformed) -> None:
        """Take in an edit or a deletion. Slack sends it again if that cannot be recorded."""
        if isinstance(change, Malformed):
            log.warning("a changed message without %s was left alone", change.reason)
        elif isinstance(change, Edited):
            text = await self._with_channel_names(change.text)
            await self._service.edited(
                change.place, change.ts, user=change.user, text=text, stamp=change.stamp, dedupe=change.dedupe
            )
        elif isinstance(change, Deleted):
            await self._service.deleted(change.place, change.ts, dedupe=change.dedupe)

    async def on_file_deleted(self, body: dict[str, Any]) -> None:
        """Take in that a file was deleted. Slack says nothing but its id, and says it again if it is not recorded."""
        event, team = body.get("event"), body.get("team_id")
        file = event.get("file_id") if isinstance(event, dict) else None
        if not isinstance(file, str) or not isinstance(team, str) or not file or not team:
            log.warning("a file_deleted without file or team was left alone")
        else:
            await self._service.file_deleted(team, file[:LONGEST_ID])

    async def _record(self, incoming: Incoming, client: AsyncWebClient) -> None:
        """Take it in. Where that cannot be, its author is told, and Slack is not told "received": it comes again."""
        addressed = (incoming.mentioned or incoming.direct) and not incoming.by_bot
        if addressed:
            self._outages.remember_talk(incoming.place, incoming.user)
        try:
            await self._take(incoming, client)
        except StoreError as error:
            if addressed or (incoming.in_thread and self._outages.talked_lately(incoming.place, incoming.user)):
                self._outages.tell_not_recorded(client, incoming.private_place, incoming.user, incoming.ts, error)
            if not isinstance(error, PayloadTooLarge):  # which it would be at each delivery
                raise

    async def _take(self, incoming: Incoming, client: AsyncWebClient) -> None:
        if incoming.by_bot:
            await self._turn_away(incoming)
            return
        addressed = incoming.mentioned or incoming.direct
        if addressed and await self._commanded(incoming, client):
            return
        told = ""
        if incoming.in_thread and (incoming.text or incoming.attachments):
            others = incoming.others and not addressed
            reply = await self._service.reply(
                incoming.place, _request_of(incoming), mentioned=addressed, others=others, dedupe=incoming.dedupe
            )
            if reply.verdict in {"taken", "heard", "not_yours"}:
                self._replied(incoming, reply, client)
                return
            told = notices.own_request(reply.whom) if reply.whom else ""
            told = notices.QUARANTINED if reply.verdict == "quarantined" else told
        if addressed and await self._request(incoming, client) and told:
            words = tell(client, incoming.place, incoming.user, note(told))
            self._background.start(words, "tell what became of a mention")

    def _replied(self, incoming: Incoming, reply: Answer, client: AsyncWebClient) -> None:
        """Show who replied that it was taken, or tell them alone why not."""
        place, user = incoming.place, incoming.user
        if reply.verdict == "not_yours":
            if reply.whom:
                told = tell(client, place, user, note(notices.not_asked(reply.whom)))
                self._background.start(told, "tell whom a question is for")
        elif reply.verdict == "taken" or incoming.mentioned or incoming.direct:
            self._background.start(received(client, place.channel, incoming.ts), "react to a reply")
            if reply.verdict == "taken" and incoming.attachments:
                told = tell(client, place, user, note(notices.WORDS_ONLY))
                self._background.start(told, "tell that a file was not taken")

    async def _turn_away(self, incoming: Incoming) -> None:
        """Another bot that mentions us is told why that does nothing, and then nothing more for a while."""
        if await self._service.turns_away(incoming.place, incoming.user):
            request = Request(id=incoming.ts, user=incoming.user, text=incoming.text, at=time.time())
            await self._service.request(incoming.place, request, dedupe=incoming.dedupe, refusal=notices.PEOPLE_ONLY)

    async def _request(self, incoming: Incoming, client: AsyncWebClient) -> bool:
        request = _request_of(incoming)
        refusal = "" if request.text else ONLY_FILES if incoming.attachments else NO_REQUEST
        over = await self._service.over_budget(incoming.place, incoming.user, incoming.ts) if not refusal else None
        if over is not None:
            if over.words:
                place = incoming.place
                wanted = Wanted(over.scope, over.named, incoming.user, place.channel, place.thread_ts, incoming.ts)
                message = used_up(over.words, wanted, admins=bool(self._service.admins))
                self._background.start(tell(client, incoming.private_place, incoming.user, message), "tell of a budget")
            return False
        new = await self._service.request(incoming.place, request, dedupe=incoming.dedupe, refusal=refusal)
        if new:
            self._background.start(received(client, incoming.place.channel, incoming.ts), "react to a request")
        return new

    async def _commanded(self, incoming: Incoming, client: AsyncWebClient) -> bool:
        """Carry out a message that is a command: a slash command cannot be given inside a thread. False if it is none.

        What is told of it comes from the message itself, not from its twin.
        """
        for one, about in spoken(incoming.text, files=bool(incoming.attachments)):
            if incoming.twin:  # its app_mention is on its way
                return True
            if (
                one.name != "cancel"
                and incoming.in_thread
                and await self._service.offers(incoming.place, incoming.text)
            ):
                return False  # it answers a question; but Stop stops, whatever is asked
            place, mark = incoming.place, f"{incoming.place.channel}/{incoming.ts}"
            command = Command(place.team, place.channel, incoming.user, one.name, about)
            reply = await one.run(self._commands.given(command, client, said=incoming, mark=mark))
            if isinstance(reply, Outgoing):
                telling = tell(client, incoming.private_place, incoming.user, reply)
                self._background.start(telling, f"answer {one.name}")
            if reply != "no_command":
                return True
        return False

    async def on_stop(self, body: dict[str, Any], client: AsyncWebClient) -> None:
        """Take a click on Slack's own Stop button."""
        stopped = parse_stop(body)
        if isinstance(stopped, Malformed):
            log.warning("a stop without %s was left alone", stopped.reason)
            return
        try:
            words = await stop(self._service, stopped, client, self._background)
            if words is not None:
                self._background.start(tell(client, stopped.place, stopped.user, words), "answer a stop")
        except StoreError as error:
            ts = str(body.get("event_id", ""))
            self._outages.tell_not_recorded(client, stopped.place, stopped.user, ts, error)
            raise

    async def on_home(self, body: dict[str, Any], client: AsyncWebClient) -> None:
        """Show who opened the app's home their jobs, or suggest how to begin."""
        event = body.get("event")
        fields = event if isinstance(event, dict) else {}
        user, channel, team = fields.get("user"), fields.get("channel"), body.get("team_id")
        if not isinstance(user, str) or not isinstance(team, str):
            log.warning("an app_home_opened without user or team was left alone")
        elif fields.get("tab") != "messages":
            if self._home is not None:
                self._home.open(user)
        elif isinstance(channel, str):
            prompts = client.assistant_threads_setSuggestedPrompts(channel_id=channel, prompts=suggested_prompts())
            self._background.start(prompts, "suggest prompts")


def _request_of(incoming: Incoming) -> Request:
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
