"""Thumbs: buttons below an answer, emoji on it, and the reason of a thumb down, which is asked for once."""

from __future__ import annotations

from typing import Any

from slack_sdk.web.async_client import AsyncWebClient

from bot.features.feedback.service import Feedback
from bot.features.feedback.view import KEPT, NOTHING, SEND_WHY, WHY_TEXT, ask_why, read_reason_fields
from bot.slack.receive.payloads import Click
from bot.slack.receive.reactions import Reaction
from bot.slack.receive.router import ClickReply, Router
from bot.slack.send.lookup import key_of, message_at
from bot.slack.send.web_calls import Background, replace_message
from bot.slack.show import notices
from bot.slack.show.notices import tell
from bot.slack.views.answer_message import FEEDBACK, Thumb
from bot.slack.views.carried import read_carried
from handoff.contracts import Place
from handoff.effects import answered_by


class Thumbs:
    """The listeners of thumbs."""

    def __init__(self, feedback: Feedback, background: Background) -> None:
        self._feedback = feedback
        self._background = background

    def register(self, router: Router) -> None:
        """Listen to the buttons, and to emoji."""
        router.on_click(FEEDBACK, self.on_feedback)
        router.on_click(SEND_WHY, self.on_why)
        router.on_click(WHY_TEXT, self.on_why)
        router.on_event(Reaction, self.on_reaction)

    async def on_feedback(self, click: Click, client: AsyncWebClient) -> ClickReply:
        """A thumb below an answer."""
        del client
        thumb = read_carried(click.value, Thumb)
        if thumb is None:
            return notices.OLD_BUTTON
        of: dict[str, Any] = {"good": thumb.good, "dedupe": click.dedupe}
        came = await self._feedback.feedback(click.place, request=thumb.request, user=click.user, **of)
        if came == "ask":
            return ask_why(thumb.request)
        return notices.FORGOTTEN if came == "forgotten" else notices.THANKS

    async def on_why(self, click: Click, client: AsyncWebClient) -> ClickReply:
        """Keep the reason of a thumb down."""
        request, why = read_reason_fields(click.values)
        if not request:
            return notices.OLD_BUTTON
        if not why:
            return NOTHING
        of: dict[str, Any] = {"good": False, "reason": why, "dedupe": click.dedupe}
        came = await self._feedback.feedback(click.place, request=request, user=click.user, **of)
        text = notices.FORGOTTEN if came == "forgotten" else KEPT
        self._background.start(replace_message(client, click.response_url, text=text), "thank for a reason")
        return None

    async def on_reaction(self, found: Reaction, client: AsyncWebClient) -> None:
        """An emoji on a message of ours, put there or taken away. All but thumbs mean nothing here."""
        self._background.start(self._record_thumb(found, client), "take in a thumb")

    async def _record_thumb(self, found: Reaction, client: AsyncWebClient) -> None:
        message = await message_at(client, found.channel, found.ts)
        request = answered_by(key_of(message))
        if not request:
            return
        place = Place(team=found.team, channel=found.channel, thread_ts=str(message.get("thread_ts") or found.ts))
        of: dict[str, Any] = {"good": found.good, "withdrawn": not found.added, "dedupe": (found.mark,)}
        came = await self._feedback.feedback(place, request=request, user=found.user, **of)
        if came == "ask":
            await tell(client, place, found.user, ask_why(request))
