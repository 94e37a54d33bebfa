"""The gate before every listener: it refuses people who may not use the bot here, and tells them so once an hour.

It fails closed: if Slack cannot say who somebody is, the bot does nothing, and tells them that it did nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any

from slack_bolt.context.async_context import AsyncBoltContext
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse
from slack_sdk.web.async_client import AsyncWebClient

from bot.access.access_rules import AccessRefusal
from bot.access.access_values import EffectiveValues
from bot.access.channel_settings import ChannelSettings
from bot.access.person_facts import PersonFacts
from bot.slack.receive.action import (
    Action,
    ActionKind,
    is_for_organisation,
    read_action,
    read_claimed_teams,
    read_installed_teams,
    replace_workspace_id,
)
from bot.slack.receive.payload_reader import CONTENT_KEY, read_payload
from bot.slack.receive.payloads import Click, SlashCommand
from bot.slack.send.web_calls import BackgroundTasks
from bot.slack.show import notices
from bot.slack.show.admission import Admission
from bot.slack.show.notices import make_note, make_note_with_input, show_ephemeral_message
from bot.slack.show.people import People
from bot.slack.text.cleaning import render_mention
from bot.slack.views.home import render_refusal_home
from bot.slack.views.outgoing import Outgoing
from bot.store.values import StoreError
from handoff.access.audit_entry import AuditAction, AuditEntry, AuditRecorder, discard_entry
from handoff.contracts import Place

log = logging.getLogger(__name__)

NextListener = Callable[[], Awaitable[BoltResponse]]
ConcernCheck = Callable[[Place], Awaitable[bool]]
FindClickPlace = Callable[[Click, AsyncWebClient], Awaitable[Click | None]]
"""Returns a click in the App Home with the place that it concerns; None if it has none, which the person is told."""
_RESENT_KINDS = frozenset({"mention", "message", "edit", "stop", "event"})
"""Kinds of actions that come as events. Slack sends an event again if it is not acknowledged."""
_SILENT_KINDS = frozenset({"message", "edit", "event"})
"""Kinds of actions by people who did not speak to the bot: if one is refused, the person is not told."""


class Gate:
    """Checks each payload, and lets it through only if the person may use the bot in that place.

    Args:
        people: Asks Slack who somebody is; its `home` is our workspace.
        settings: Says who may use the bot in a channel.
        claim_first: Returns True at its first call with a key within an hour, otherwise False.
        clock: Returns the store's time, for the audit log.
        record_audit: Writes an entry to the audit log.
    """

    def __init__(
        self,
        people: People,
        settings: ChannelSettings,
        *,
        claim_first: Callable[[str], Awaitable[bool]],
        clock: Callable[[], float],
        record_audit: AuditRecorder = discard_entry,
    ) -> None:
        self.people = self._people = people
        self._settings = settings
        self._admission = Admission(people, settings)
        self._claim_first = claim_first
        self._clock = clock
        self._record_audit = record_audit
        self.background = BackgroundTasks()
        self.deeds: dict[str, AuditAction] = {}
        """The deeds that clicks and commands would carry out, passed to `read_action`."""
        self.locate_click: FindClickPlace | None = None
        """Finds the place that a click in the App Home concerns, so that the rights in that place are checked."""
        self._concern_checks: dict[ActionKind, list[ConcernCheck]] = {}

    def add_concern_check(self, concern_check: ConcernCheck, *kinds: ActionKind) -> None:
        """Add a check that returns True if the bot may need a message in this thread that does not mention it.

        If no check returns True, the gate drops the message without looking up its author.
        """
        for way in kinds:
            self._concern_checks.setdefault(way, []).append(concern_check)

    async def filter_payload(
        self,
        body: dict[str, Any],
        request: AsyncBoltRequest,
        context: AsyncBoltContext,
        client: AsyncWebClient,
        next_: NextListener,
    ) -> BoltResponse:
        """Read the payload into Bolt's context, and pass it to the listeners, or answer it here if it is refused."""
        home = self._people.home.team
        installed_teams = read_installed_teams(body)
        if (installed_teams and home not in installed_teams) or (
            is_for_organisation(body) and not self._people.home.is_org_wide
        ):
            team_names = ", ".join(installed_teams) or "of an organisation"
            log.warning("a payload for another installation (%s) was left alone", team_names)
            return _acknowledge_payload()
        request.body = replace_workspace_id(body, home)
        content = read_payload(request.body, context.bot_user_id or "")
        if isinstance(content, Click) and content.in_home and self.locate_click is not None:
            located_click = await self.locate_click(content, client)
            if located_click is None:
                return _acknowledge_payload()
            content = located_click
        context[CONTENT_KEY] = content
        action = read_action(request.body, content, self.deeds)
        if action is None or (action.kind == "message" and not action.in_thread):
            return await next_()  # nobody acts, or it is a message outside threads, which no listener takes up
        command_text = content.text if isinstance(content, SlashCommand) else ""
        try:
            if action.kind in {"message", "edit"} and not await self._may_concern_bot(action):
                return _acknowledge_payload()
            claims = action.teams | read_claimed_teams(body)
            access = await self._admission.read_access(action.place)
            refusal = await self._admission.find_refusal(
                access, action.place, action.user, hint=self._find_facts_in_payload(action, claims, access)
            )
        except StoreError as error:
            return await self._answer_store_failure(action, client, error, command_text)
        if refusal == "bot" and action.is_bot:  # bots see no ephemeral message, so a listener replies to it
            await self._audit_refusal(action, refusal)
            return await next_()
        if refusal is None:
            return await next_()
        return await self._refuse(action, refusal, client, command_text)

    async def _may_concern_bot(self, action: Action) -> bool:
        """Return True if the bot may need a message that does not mention it, or if the store is unavailable."""
        try:
            return not self._concern_checks or any(
                [await knows(action.thread) for knows in self._concern_checks.get(action.kind, ())]
            )
        except StoreError:
            return True

    def _find_facts_in_payload(
        self, action: Action, claimed_teams: frozenset[str], access: EffectiveValues
    ) -> PersonFacts | None:
        """Return what the payload itself shows against a person (bot, stranger or guest), or None.

        Within an organisation, the id of another workspace shows nothing.
        """
        if action.is_bot:
            return PersonFacts("bot")
        home = self._people.home
        others = sorted(claimed_teams - {home.team}) if not home.enterprise else []
        if others:
            unwanted_teams = [team for team in others if team not in access.strangers]
            return PersonFacts("stranger", (unwanted_teams or others)[0])
        return PersonFacts("guest", home.team) if action.is_guest else None

    async def _refuse(
        self, action: Action, reason: AccessRefusal, client: AsyncWebClient, command_text: str
    ) -> BoltResponse:
        if reason == "unknown" and action.kind in _RESENT_KINDS:
            return await self._defer_event(action, client)
        words = render_refusal_line(reason, self._people.admins)
        await self._audit_refusal(action, reason)
        if action.kind == "command":
            return _answer_command(make_note_with_input(words, command_text))
        if action.kind in _SILENT_KINDS or reason in {"bot", "gone"}:
            return _acknowledge_payload()
        if action.kind == "home":
            self.background.start(
                client.views_publish(user_id=action.user, view=render_refusal_home(words)), "show a closed home"
            )
            return _acknowledge_payload()
        # A refusal because Slack did not answer is told each time, a lasting one once an hour.
        await self._tell_refusal(action, f"{reason}/{action.dedupe_key if reason == 'unknown' else ''}", words, client)
        return _acknowledge_payload()

    async def _defer_event(self, action: Action, client: AsyncWebClient) -> BoltResponse:
        """Leave an event unacknowledged, so that Slack sends it again and no message to the bot is lost."""
        if action.kind == "mention":
            await self._tell_refusal(action, f"unknown/{action.dedupe_key}", DEFERRED_LINE, client)
        return BoltResponse(status=500, body="")

    async def _tell_refusal(self, action: Action, dedupe_key: str, words: str, client: AsyncWebClient) -> None:
        try:
            is_first = await self._claim_first(
                f"refused:{action.place.team}/{action.place.channel}/{action.user}/{dedupe_key}"
            )
        except StoreError as error:
            log.warning("a refusal (%s) was not told: %s", dedupe_key, error)
            return
        if is_first:
            self.background.start(
                show_ephemeral_message(client, action.place, action.user, make_note(words)), "refuse somebody"
            )

    async def _audit_refusal(self, action: Action, reason: AccessRefusal) -> None:
        """Write the refusal of an action's deed, if it has one, to the audit log, without the person's words."""
        deed = action.deed
        if deed is None:
            return
        job = action.thread.job_id if action.in_thread and action.thread.thread_ts else ""
        entry = AuditEntry(
            at=self._clock(),
            team=action.place.team,
            deed=deed,
            user=action.user,
            channel=action.place.channel,
            job=job,
            outcome="refused",
            why=AUDIT_REASONS[reason],
        )
        try:
            await self._record_audit(entry)
        except StoreError as error:
            log.error("a refusal was not recorded: %s", error)  # noqa: TRY400 - one clear line, no trace

    async def _answer_store_failure(
        self, action: Action, client: AsyncWebClient, error: StoreError, command_text: str
    ) -> BoltResponse:
        """Answer while the store is unavailable: tell the person that their click or command was not recorded.

        For an event, the error is raised again, so that Slack sends the event again.
        """
        if action.kind == "command":
            return _answer_command(make_note_with_input(notices.NOT_RECORDED, command_text))
        if action.kind in {"click", "shortcut", "view"}:
            self.background.start(
                show_ephemeral_message(client, action.place, action.user, make_note(notices.NOT_RECORDED)),
                "answer a click",
            )
            return _acknowledge_payload()
        raise error


def _acknowledge_payload() -> BoltResponse:
    return BoltResponse(status=200, body="")


def _answer_command(message: Outgoing) -> BoltResponse:
    """Return a message as the ephemeral answer to a slash command."""
    body = {"response_type": "ephemeral", "text": message.text, "blocks": list(message.blocks)}
    return BoltResponse(status=200, body=body)


AUDIT_REASONS: Mapping[AccessRefusal, str] = {
    "unknown": "Slack could not say who it is",
    "gone": "the account is deactivated",
    "bot": "a bot",
    "place": "not used in this channel",
    "stranger": "of another workspace",
    "guest": "a guest",
    "not_named": "not among those who may use it here",
}
"""The reasons of refusals, in the words of the audit log."""
_REFUSAL_LINES: Mapping[AccessRefusal, str] = {
    "unknown": "I could not ask Slack just now whether you may use me, so I did nothing. Try again in a minute.",
    "gone": "I did nothing: Slack says that this account is deactivated.",
    "bot": "I work for people only, so I did nothing.",
    "place": "I am not used in this channel, so I did nothing.",
    "stranger": "People of your workspace cannot use me here, so I did nothing.",
    "guest": "Guests cannot use me here, so I did nothing.",
    "not_named": "Only certain people can use me in this channel, and you are not one of them, so I did nothing.",
}
DEFERRED_LINE = (
    "I could not ask Slack just now whether you may use me, so I have not begun. Slack brings it to me again within "
    "the next minutes: once I react with :eyes:, I have it."
)
"""Shown to a person whose message Slack will send again."""
_MAX_ADMINS = 3


def render_refusal_line(reason: AccessRefusal, admins: Collection[str]) -> str:
    """Return the line that tells a person why nothing was done, and who can change that."""
    if reason in {"unknown", "gone", "bot"}:
        return _REFUSAL_LINES[reason]
    mentions = [render_mention(admin) for admin in sorted(admins)[:_MAX_ADMINS]]
    who = " or ".join([", ".join(mentions[:-1]), mentions[-1]] if len(mentions) > 1 else mentions)
    return f"{_REFUSAL_LINES[reason]} " + (
        f"Ask {who} if you need me." if who else "Ask whoever runs me if you need me."
    )
