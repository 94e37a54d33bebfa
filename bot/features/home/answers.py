"""An answer in one's own words, given in the home: a window for them, as there is no thread to reply in."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from slack_sdk.web.async_client import AsyncWebClient

from bot.features.home.answer_window import ANSWERED, IN_WORDS, WORDS_ACTION, WORDS_BLOCK, answer_window
from bot.features.requests.service import Requests
from bot.slack.receive.payloads import Click, ViewSubmission
from bot.slack.receive.router import ClickReply, Router, field_error
from bot.slack.show import notices
from bot.slack.show.notices import open_window
from bot.slack.views.carried import carry, read_carried
from bot.slack.views.question import AnswerChoice
from handoff.contracts import Place

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class AboutQuestion:
    """What the window carries: the thread, and the question in it."""

    place: Place
    choice: AnswerChoice


class HomeAnswers:
    """The listener of the button and of its window."""

    def __init__(self, requests: Requests) -> None:
        self._requests = requests

    def register(self, router: Router) -> None:
        """Listen to both."""
        router.on_click(IN_WORDS, self.on_button, fault=notices.NO_WINDOW)
        router.on_window(ANSWERED, self.on_answer)

    async def on_button(self, click: Click, client: AsyncWebClient) -> ClickReply:
        """Open the window. If the question is still open is looked at when it is sent."""
        choice = read_carried(click.value, AnswerChoice)
        if choice is None or choice.job != click.place.job_id:
            return notices.OLD_BUTTON
        window = answer_window(carry(AboutQuestion(click.place, choice)))
        return None if await open_window(client, click.trigger, window) else notices.NO_WINDOW

    async def on_answer(self, sent: ViewSubmission, client: AsyncWebClient) -> Mapping[str, Any] | None:
        """Record the words as the answer; why they are none any more is said in the window."""
        del client
        about = read_carried(sent.metadata, AboutQuestion)
        if about is None:
            log.warning("a window without its question was left alone")
            return None
        words = sent.read_text(WORDS_BLOCK, WORDS_ACTION)
        if not words:
            return field_error(WORDS_BLOCK, "Write what you want to answer.")
        of: dict[str, Any] = {"user": sent.user, "dedupe": sent.dedupe, "words": words}
        came = await self._requests.answer(about.place, about.choice, **of)
        if came.verdict == "taken":
            return None
        refusals = {"stale": notices.STALE, "unknown": notices.UNKNOWN, "forgotten": notices.IS_FORGOTTEN}
        said = refusals.get(came.verdict) or "That question is for others: nobody else can answer it."
        return field_error(WORDS_BLOCK, said[:150])
