"""Thumbs: buttons below an answer, emoji on it, and the reason of a thumb down, which is asked for once."""

from __future__ import annotations

import json
import logging
from typing import Any

from slack_bolt.async_app import AsyncApp
from slack_bolt.context.ack.async_ack import AsyncAck
from slack_bolt.context.async_context import AsyncBoltContext
from slack_sdk.web.async_client import AsyncWebClient

from bot.features.feedback.service import Feedback
from bot.features.feedback.view import KEPT, NOTHING, SEND_WHY, WHY_TEXT, ask_why, why_in
from bot.slack.receive.payloads import Click, Malformed, parse_click
from bot.slack.receive.reactions import Reaction, reaction_in
from bot.slack.send.lookup import key_of, message_at
from bot.slack.send.web_calls import Background, replace_message
from bot.slack.show import notices
from bot.slack.show.notices import Unrecorded, note, soon, tell
from bot.slack.views.answer_message import FEEDBACK
from handoff.contracts import Place
from handoff.effects import answered_by

log = logging.getLogger(__name__)


class Thumbs:
    """The listeners of thumbs."""

    def __init__(self, feedback: Feedback, background: Background) -> None:
        self._feedback = feedback
        self._background = background

    def register(self, app: AsyncApp) -> None:
        """Make the app listen to clicks; events are listened to with all others."""
        app.action(FEEDBACK)(self.on_feedback)
        app.action(SEND_WHY)(self.on_why)
        app.action(WHY_TEXT)(self.on_why)

    async def on_feedback(
        self, ack: AsyncAck, body: dict[str, Any], action: dict[str, Any], client: AsyncWebClient
    ) -> None:
        """A thumb below an answer."""
        click = parse_click(body, action)
        if isinstance(click, Malformed):
            log.warning("a click without %s was left alone", click.reason)
        elif (judged := _judged(click.value)) is None:
            self._tell(client, click, notices.OLD_BUTTON)
        else:
            request, good = judged
            try:
                async with soon():
                    came = await self._feedback.feedback(
                        click.place, request=request, user=click.user, good=good, dedupe=click.dedupe
                    )
                if came == "ask":
                    asking = tell(client, click.place, click.user, ask_why(request))
                    self._background.start(asking, "ask why an answer was bad")
                else:
                    self._tell(client, click, notices.FORGOTTEN if came == "forgotten" else notices.THANKS)
            except Unrecorded:
                self._tell(client, click, notices.NOT_RECORDED)
        await ack()

    async def on_why(
        self,
        ack: AsyncAck,
        body: dict[str, Any],
        action: dict[str, Any],
        client: AsyncWebClient,
    ) -> None:
        """Keep the reason of a thumb down."""
        click = parse_click(body, {**action, "value": action.get("value") or "-"})
        request, why = why_in((body.get("state") or {}).get("values"))
        if isinstance(click, Malformed) or not request:
            log.warning("a reason without its answer was left alone")
        elif not why:
            self._tell(client, click, NOTHING)
        else:
            try:
                async with soon():
                    of: dict[str, Any] = {"good": False, "reason": why, "dedupe": click.dedupe}
                    came = await self._feedback.feedback(click.place, request=request, user=click.user, **of)
                text = notices.FORGOTTEN if came == "forgotten" else KEPT
                self._background.start(replace_message(client, body, text=text), "thank for a reason")
            except Unrecorded:
                self._tell(client, click, notices.NOT_RECORDED)
        await ack()

    async def on_reaction(self, body: dict[str, Any], context: AsyncBoltContext, client: AsyncWebClient) -> None:
        """An emoji on a message of ours, put there or taken away. All but thumbs mean nothing here."""
        found = reaction_in(body, context.bot_user_id or "")
        if found is not None:
            self._background.start(self._reacted(found, client), "take in a thumb")

    async def _reacted(self, found: Reaction, client: AsyncWebClient) -> None:
        message = await message_at(client, found.channel, found.ts)
        request = answered_by(key_of(message))
        if not request:
            return
        place = Place(team=found.team, channel=found.channel, thread_ts=str(message.get("thread_ts") or found.ts))
        of: dict[str, Any] = {"good": found.good, "withdrawn": not found.added, "dedupe": (found.mark,)}
        came = await self._feedback.feedback(place, request=request, user=found.user, **of)
        if came == "ask":
            await tell(client, place, found.user, ask_why(request))

    def _tell(self, client: AsyncWebClient, click: Click, text: str) -> None:
        self._background.start(tell(client, click.place, click.user, note(text)), "answer a click")


def _judged(value: str) -> tuple[str, bool] | None:
    """Read the request and the verdict of a thumb. None if it is none of ours."""
    try:
        fields = json.loads(value)
        return str(fields["request"]), bool(fields["good"])
    except (ValueError, KeyError, TypeError):
        return None
