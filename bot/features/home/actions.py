"""Handles the App Home's window for answers in a person's own words, and clicks there on the buttons of a job."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from slack_sdk.web.async_client import AsyncWebClient

from bot.features.home.answer_window import (
    ANSWER_WINDOW,
    OWN_WORDS_BUTTON,
    WORDS_ACTION,
    WORDS_BLOCK,
    render_answer_window,
)
from bot.features.home.service import HomeService
from bot.features.requests.service import RequestService
from bot.slack.receive.payloads import Click, ViewSubmission
from bot.slack.receive.router import ClickReply, Router, make_field_error
from bot.slack.send.web_calls import BackgroundTasks
from bot.slack.show import notices
from bot.slack.show.notices import answer_click, open_window
from bot.slack.views.button_data import decode_data, encode_data
from bot.slack.views.question import AnswerChoice
from bot.store.values import StoreError
from handoff.contracts import Place

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class QuestionWindowData:
    """The metadata of the window: the thread, and the question in it."""

    place: Place
    choice: AnswerChoice


class AnswerWindowClicks:
    """The listeners for the button and its window."""

    def __init__(self, requests: RequestService) -> None:
        self._requests = requests

    def register(self, router: Router) -> None:
        """Register the listeners for the button and the window."""
        router.on_click(OWN_WORDS_BUTTON, self.on_open_window, fault=notices.WINDOW_FAILED)
        router.on_window(ANSWER_WINDOW, self.on_answer)

    async def on_open_window(self, click: Click, client: AsyncWebClient) -> ClickReply:
        """Open the window. Only its submission checks whether the question is still open."""
        choice = decode_data(click.value, AnswerChoice)
        if choice is None or choice.job != click.place.job_id:
            return notices.OLD_BUTTON
        window = render_answer_window(encode_data(QuestionWindowData(click.place, choice)))
        return None if await open_window(client, click.trigger_id, window) else notices.WINDOW_FAILED

    async def on_answer(self, submission: ViewSubmission, client: AsyncWebClient) -> Mapping[str, Any] | None:
        """Record the text as the answer. If it cannot be recorded, the window shows the reason."""
        del client
        window_data = decode_data(submission.metadata, QuestionWindowData)
        if window_data is None:
            log.warning("a window without its question was left alone")
            return None
        words = submission.read_text(WORDS_BLOCK, WORDS_ACTION)
        if not words:
            return make_field_error(WORDS_BLOCK, "Write what you want to answer.")
        of: dict[str, Any] = {"user": submission.user, "dedupe": submission.dedupe_keys, "words": words}
        outcome = await self._requests.record_choice(window_data.place, window_data.choice, **of)
        if outcome.verdict == "taken":
            return None
        refusals = {
            "stale": notices.CLOSED_QUESTION,
            "unknown": notices.UNKNOWN_JOB,
            "forgotten": notices.JOB_FORGOTTEN,
        }
        refusal_text = refusals.get(outcome.verdict) or "That question is for others: nobody else can answer it."
        return make_field_error(WORDS_BLOCK, refusal_text[:150])


class HomeClickLocator:
    """Finds the job thread for clicks in a person's App Home."""

    def __init__(self, homes: HomeService, background: BackgroundTasks) -> None:
        self._homes = homes
        self._background = background

    async def locate_click(self, click: Click, client: AsyncWebClient) -> Click | None:
        """Return the click with its job's thread as place, or unchanged if it has no job.

        Returns None if the job cannot be found or read; then the person gets a note.
        """
        job = decode_job_id(click.value)
        if not job:
            return click
        try:
            place = await self._homes.find_place(job)
        except StoreError as error:
            log.info("a click in a home was not dealt with: %s", error)
            self._answer_clicker(client, click, notices.NOT_READ)
            return None
        if place is None:
            self._answer_clicker(client, click, notices.UNKNOWN_JOB)
            return None
        return replace(click, place=place, message_ts=place.thread_ts)

    def _answer_clicker(self, client: AsyncWebClient, click: Click, words: str) -> None:
        self._background.start(answer_click(client, click, words), "answer a click in a home")


@dataclass(frozen=True, slots=True)
class _JobButtonData:
    """The part of the button data that all buttons of a job have."""

    job: str


def decode_job_id(value: str) -> str:
    """Return the id of the job that a button belongs to; empty if the button has no job."""
    button_data = decode_data(value, _JobButtonData)
    return button_data.job if button_data is not None else ""
