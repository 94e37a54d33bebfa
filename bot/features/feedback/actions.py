"""Handles thumbs: buttons below an answer, emoji on it, and the question for the reason of a first thumb down."""

from __future__ import annotations

from typing import Any

from slack_sdk.web.async_client import AsyncWebClient

from bot.features.feedback.service import FeedbackDesk
from bot.slack.receive.payloads import Click
from bot.slack.receive.reactions import Reaction
from bot.slack.receive.router import ClickReply, Router
from bot.slack.send.lookup import fetch_message, read_key
from bot.slack.send.web_calls import Background, replace_message
from bot.slack.show import notices
from bot.slack.show.notices import tell
from bot.slack.views.answer_message import FEEDBACK, Thumb
from bot.slack.views.button_data import decode_data
from bot.slack.views.outgoing import Block, Outgoing, actions, button, section
from handoff.contracts import Place
from handoff.effects import find_answered_request


class ThumbClicks:
    """The listeners for thumbs."""

    def __init__(self, feedback: FeedbackDesk, background: Background) -> None:
        self._feedback = feedback
        self._background = background

    def register(self, router: Router) -> None:
        """Register the listeners for buttons and emoji."""
        router.on_click(FEEDBACK, self.on_feedback)
        router.on_click(SEND_WHY, self.on_why)
        router.on_click(WHY_TEXT, self.on_why)
        router.on_event(Reaction, self.on_reaction)

    async def on_feedback(self, click: Click, client: AsyncWebClient) -> ClickReply:
        """Record the thumb of a button below an answer."""
        del client
        thumb = decode_data(click.value, Thumb)
        if thumb is None:
            return notices.OLD_BUTTON
        of: dict[str, Any] = {"good": thumb.good, "dedupe": click.dedupe}
        came = await self._feedback.feedback(click.place, request=thumb.request, user=click.user, **of)
        if came == "ask":
            return ask_why(thumb.request)
        return notices.FORGOTTEN if came == "forgotten" else notices.THANKS

    async def on_why(self, click: Click, client: AsyncWebClient) -> ClickReply:
        """Record the reason of a thumb down."""
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
        """Record a thumb emoji that was added to a message of the bot, or removed from it."""
        self._background.start(self._record_thumb(found, client), "take in a thumb")

    async def _record_thumb(self, found: Reaction, client: AsyncWebClient) -> None:
        message = await fetch_message(client, found.channel, found.ts)
        request = find_answered_request(read_key(message))
        if not request:
            return
        place = Place(team=found.team, channel=found.channel, thread_ts=str(message.get("thread_ts") or found.ts))
        of: dict[str, Any] = {"good": found.good, "withdrawn": not found.added, "dedupe": (found.mark,)}
        came = await self._feedback.feedback(place, request=request, user=found.user, **of)
        if came == "ask":
            await tell(client, place, found.user, ask_why(request))


SEND_WHY, WHY_TEXT = "feedback_why", "feedback_why_text"
"""The action_ids of the button, and of the field for the reason."""
LONGEST_WHY = 300
_BLOCK = "why"
ASK = "Thank you, that is recorded. A line on why helps whoever looks into it. You can leave it out."
KEPT = "Thank you, the reason is kept with the answer."
NOTHING = "Write what was wrong first. You can also leave it out: the thumb is recorded either way."


def ask_why(request: str) -> Outgoing:
    """Render the message that asks for the reason of a thumb down. `request` is the id of the request."""
    field: Block = {
        "type": "plain_text_input",
        "action_id": WHY_TEXT,
        "max_length": LONGEST_WHY,
        "placeholder": {"type": "plain_text", "text": "The total leaves out March"},
        "dispatch_action_config": {"trigger_actions_on": ["on_enter_pressed"]},
    }
    line: Block = {
        "type": "input",
        "block_id": f"{_BLOCK}|{request}"[:255],
        "dispatch_action": True,
        "optional": True,
        "label": {"type": "plain_text", "text": "What was wrong?"},
        "element": field,
    }
    send = actions([button("Send", SEND_WHY, request)])
    return Outgoing(text=ASK, blocks=(section(ASK), line, send))


def read_reason_fields(values: object) -> tuple[str, str]:
    """Parse the request's id and the reason from a message's field values; both are "" if the field is missing."""
    for name, fields in values.items() if isinstance(values, dict) else ():
        kind, _, request = str(name).partition("|")
        typed = fields.get(WHY_TEXT) if isinstance(fields, dict) and kind == _BLOCK else None
        if isinstance(typed, dict) and request:
            return request, " ".join(str(typed.get("value") or "").split())[:LONGEST_WHY]
    return "", ""
