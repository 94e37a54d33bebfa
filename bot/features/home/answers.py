"""An answer in one's own words, given in the home: a window for them, as there is no thread to reply in."""

from __future__ import annotations

import json
import logging
from typing import Any

from slack_bolt.async_app import AsyncApp
from slack_bolt.context.ack.async_ack import AsyncAck
from slack_sdk.web.async_client import AsyncWebClient

from bot.features.home.answer_window import ANSWERED, IN_WORDS, WORDS_ACTION, WORDS_BLOCK, answer_window
from bot.features.requests.service import Requests
from bot.slack.receive.payloads import Malformed, Window, parse_click, parse_window
from bot.slack.send.web_calls import Background
from bot.slack.show import notices
from bot.slack.show.notices import Unrecorded, answer_click, open_window, soon
from bot.slack.views.question import choice_of
from handoff.contracts import Place

log = logging.getLogger(__name__)


class HomeAnswers:
    """The listener of the button and of its window."""

    def __init__(self, requests: Requests, background: Background) -> None:
        self._requests = requests
        self._background = background

    def register(self, app: AsyncApp) -> None:
        """Make the app listen."""
        app.action(IN_WORDS)(self.on_button)
        app.view(ANSWERED)(self.on_answer)

    async def on_button(
        self, ack: AsyncAck, body: dict[str, Any], action: dict[str, Any], client: AsyncWebClient
    ) -> None:
        """Open the window. If the question is still open is looked at when it is sent."""
        click = parse_click(body, action)
        if isinstance(click, Malformed):
            log.warning("a click without %s was left alone", click.reason)
        elif (choice := choice_of(click.value)) is None or choice.job != click.place.job_id:
            self._background.start(answer_click(client, click, notices.OLD_BUTTON), "answer a click")
        else:
            at = click.place
            metadata = json.dumps({"place": [at.team, at.channel, at.thread_ts], "choice": click.value})
            if not await open_window(client, str(body.get("trigger_id")), answer_window(metadata)):
                self._background.start(answer_click(client, click, notices.NO_WINDOW), "answer a click")
        await ack()

    async def on_answer(self, ack: AsyncAck, body: dict[str, Any]) -> None:
        """Record the words as the answer; why they are none any more is said in the window."""
        sent = parse_window(body)
        about = _about(sent.metadata) if isinstance(sent, Window) else None
        if about is None or not isinstance(sent, Window):
            log.warning("a window without its question was left alone")
            await ack()
            return
        place, value = about
        choice, words = choice_of(value), sent.typed(WORDS_BLOCK, WORDS_ACTION)
        if choice is None or not words.strip():
            await ack(response_action="errors", errors={WORDS_BLOCK: "Write what you want to answer."})
            return
        try:
            async with soon():
                dedupe = (f"view:{sent.id}:{sent.hash}",)
                came = await self._requests.answer(place, choice, user=sent.user, dedupe=dedupe, words=words)
        except Unrecorded:
            await ack(response_action="errors", errors={WORDS_BLOCK: notices.NOT_RECORDED})
            return
        if came.verdict == "taken":
            await ack()
            return
        refusals = {"stale": notices.STALE, "unknown": notices.UNKNOWN, "forgotten": notices.IS_FORGOTTEN}
        words = refusals.get(came.verdict) or "That question is for others: nobody else can answer it."
        await ack(response_action="errors", errors={WORDS_BLOCK: words[:150]})


def _about(metadata: str) -> tuple[Place, str] | None:
    """Read the thread and the question that a window is about; None if it is none of ours."""
    try:
        fields = json.loads(metadata)
        team, channel, thread_ts = map(str, fields["place"])
        return Place(team=team, channel=channel, thread_ts=thread_ts), str(fields["choice"])
    except (ValueError, KeyError, TypeError):
        return None
