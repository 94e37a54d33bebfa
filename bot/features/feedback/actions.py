"""Handles thumbs: buttons below an answer, emoji on it, and the question for the reason of a first thumb down."""

from __future__ import annotations

from typing import Any

from slack_sdk.web.async_client import AsyncWebClient

from bot.features.feedback.service import FeedbackService
from bot.slack.receive.payloads import Click
from bot.slack.receive.reactions import ThumbReaction
from bot.slack.receive.router import ClickReply, Router
from bot.slack.send.lookup import fetch_message, read_key
from bot.slack.send.web_calls import BackgroundTasks, replace_clicked_message
from bot.slack.show import notices
from bot.slack.show.notices import show_ephemeral_message
from bot.slack.views.answer_message import FEEDBACK, Thumb
from bot.slack.views.button_data import decode_data
from bot.slack.views.outgoing import Block, Outgoing, make_actions, make_button, make_section
from handoff.contracts import Place
from handoff.effects import parse_answer_key


class ThumbClicks:
    """The listeners for thumbs."""

    def __init__(self, feedback: FeedbackService, background: BackgroundTasks) -> None:
        self._feedback = feedback
        self._background = background

    def register(self, router: Router) -> None:
        """Register the listeners for buttons and emoji."""
        router.on_click(FEEDBACK, self.on_feedback)
        router.on_click(SEND_REASON, self.on_reason)
        router.on_click(REASON_FIELD, self.on_reason)
        router.on_event(ThumbReaction, self.on_reaction)

    async def on_feedback(self, click: Click, client: AsyncWebClient) -> ClickReply:
        """Record the thumb of a button below an answer, and ask for the reason of a first thumb down."""
        del client
        thumb = decode_data(click.value, Thumb)
        if thumb is None:
            return notices.OLD_BUTTON
        of: dict[str, Any] = {"good": thumb.good, "dedupe": click.dedupe_keys}
        outcome = await self._feedback.record_feedback(click.place, request=thumb.request, user=click.user, **of)
        if outcome == "ask":
            return render_reason_question(thumb.request)
        return notices.FEEDBACK_NOT_RECORDED if outcome == "forgotten" else notices.FEEDBACK_RECORDED

    async def on_reason(self, click: Click, client: AsyncWebClient) -> ClickReply:
        """Record the reason of a thumb down."""
        request, reason = parse_reason_fields(click.values)
        if not request:
            return notices.OLD_BUTTON
        if not reason:
            return REASON_EMPTY_TEXT
        of: dict[str, Any] = {"good": False, "reason": reason, "dedupe": click.dedupe_keys}
        outcome = await self._feedback.record_feedback(click.place, request=request, user=click.user, **of)
        text = notices.FEEDBACK_NOT_RECORDED if outcome == "forgotten" else REASON_KEPT_TEXT
        self._background.start(replace_clicked_message(client, click.response_url, text=text), "thank for a reason")
        return None

    async def on_reaction(self, reaction: ThumbReaction, client: AsyncWebClient) -> None:
        """Record in the background a thumb emoji that was added to an answer, or removed from it."""
        self._background.start(self._record_reaction(reaction, client), "take in a thumb")

    async def _record_reaction(self, reaction: ThumbReaction, client: AsyncWebClient) -> None:
        message = await fetch_message(client, reaction.channel, reaction.ts)
        request = parse_answer_key(read_key(message))
        if not request:
            return
        place = Place(
            team=reaction.team, channel=reaction.channel, thread_ts=str(message.get("thread_ts") or reaction.ts)
        )
        of: dict[str, Any] = {
            "good": reaction.is_up,
            "is_withdrawal": not reaction.is_added,
            "dedupe": (reaction.dedupe_key,),
        }
        outcome = await self._feedback.record_feedback(place, request=request, user=reaction.user, **of)
        if outcome == "ask":
            await show_ephemeral_message(client, place, reaction.user, render_reason_question(request))


SEND_REASON, REASON_FIELD = "feedback_why", "feedback_why_text"
"""The action_ids of the button, and of the field for the reason."""
MAX_REASON_CHARS = 300
_REASON_BLOCK = "why"
ASK_REASON_TEXT = "Thank you, that is recorded. A line on why helps whoever looks into it. You can leave it out."
REASON_KEPT_TEXT = "Thank you, the reason is kept with the answer."
REASON_EMPTY_TEXT = "Write what was wrong first. You can also leave it out: the thumb is recorded either way."


def render_reason_question(request: str) -> Outgoing:
    """Render the message that asks for the reason of a thumb down. `request` is the id of the request."""
    field: Block = {
        "type": "plain_text_input",
        "action_id": REASON_FIELD,
        "max_length": MAX_REASON_CHARS,
        "placeholder": {"type": "plain_text", "text": "The total leaves out March"},
        "dispatch_action_config": {"trigger_actions_on": ["on_enter_pressed"]},
    }
    line: Block = {
        "type": "input",
        "block_id": f"{_REASON_BLOCK}|{request}"[:255],
        "dispatch_action": True,
        "optional": True,
        "label": {"type": "plain_text", "text": "What was wrong?"},
        "element": field,
    }
    send = make_actions([make_button("Send", SEND_REASON, request)])
    return Outgoing(text=ASK_REASON_TEXT, blocks=(make_section(ASK_REASON_TEXT), line, send))


def parse_reason_fields(values: object) -> tuple[str, str]:
    """Parse the request's id and the reason from a message's field values; both are "" if the field is missing."""
    for name, fields in values.items() if isinstance(values, dict) else ():
        kind, _, request = str(name).partition("|")
        reason_field = fields.get(REASON_FIELD) if isinstance(fields, dict) and kind == _REASON_BLOCK else None
        if isinstance(reason_field, dict) and request:
            return request, " ".join(str(reason_field.get("value") or "").split())[:MAX_REASON_CHARS]
    return "", ""
