"""Handles clicks on likely answers, and the shortcut "Start a job from this" with its window."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from slack_sdk.web.async_client import AsyncWebClient

from bot.features.requests.service import RequestService
from bot.features.requests.typed_requests import is_bot_absent
from bot.slack.receive.payloads import Click, MessageShortcut, ViewSubmission
from bot.slack.receive.router import ClickReply, Router, make_field_error
from bot.slack.send.web_calls import BackgroundTasks
from bot.slack.show import notices
from bot.slack.show.notices import add_receipt_reaction, open_window
from bot.slack.views.button_data import decode_data, encode_data
from bot.slack.views.home import REQUEST_ACTION, REQUEST_BLOCK, START_JOB, render_start_job_modal
from bot.slack.views.question import ANSWER_PREFIX, AnswerChoice
from handoff.contracts import Request

MAX_METADATA_CHARS = 2900
"""Maximum characters of a window's metadata; Slack allows 3,000."""
_MAX_FILES, _MAX_NAME_CHARS, _MAX_URL_CHARS = 8, 80, 500


def encode_shortcut(shortcut: MessageShortcut) -> str:
    """Encode the message that a window is opened on. Text and files beyond Slack's limit are cut off.

    The whole message is read again when the job begins.
    """
    files = tuple(
        file.model_copy(
            update={
                "name": file.name[:_MAX_NAME_CHARS],
                "media_type": file.media_type[:_MAX_NAME_CHARS],
                "url": file.url if len(file.url) <= _MAX_URL_CHARS else "",
            }
        )
        for file in shortcut.attachments[:_MAX_FILES]
    )
    short_copy = replace(shortcut, user="", trigger_id="", attachments=files)
    while len(metadata := encode_data(short_copy)) > MAX_METADATA_CHARS and (short_copy.text or short_copy.attachments):
        text = short_copy.text
        fewer = short_copy.attachments if text else short_copy.attachments[:-1]
        short_copy = replace(short_copy, text=text[: len(text) * 3 // 4], attachments=fewer, is_cut=True)
    return metadata


def decode_shortcut(metadata: str, user: str) -> MessageShortcut | None:
    """Decode the result of `encode_shortcut`; None if it is invalid. `user` is the person who submitted the window."""
    shortcut = decode_data(metadata, MessageShortcut)
    return replace(shortcut, user=user) if shortcut is not None else None


log = logging.getLogger(__name__)

ANSWER_ACTIONS = re.compile(rf"^{ANSWER_PREFIX}\d+$")


class RequestClicks:
    """The listeners for clicks on likely answers, for the shortcut, and for its window."""

    def __init__(self, requests: RequestService, background: BackgroundTasks) -> None:
        self._requests = requests
        self._background = background

    def register(self, router: Router) -> None:
        """Register the listeners."""
        router.on_click(ANSWER_ACTIONS, self.on_answer)
        router.on_shortcut(START_JOB, self.on_shortcut)
        router.on_window(START_JOB, self.on_start_job)

    async def on_answer(self, click: Click, client: AsyncWebClient) -> ClickReply:
        """Record a click on a likely answer."""
        del client
        choice = decode_data(click.value, AnswerChoice)
        if choice is None or choice.job != click.place.job_id:
            return notices.OLD_BUTTON
        answer = await self._requests.record_choice(click.place, choice, user=click.user, dedupe=click.dedupe_keys)
        # A recorded click closes the question once it is in the log: of two clicks, only the first counts.
        if answer.verdict == "taken":
            return None
        refusals = {
            "stale": notices.CLOSED_QUESTION,
            "unknown": notices.UNKNOWN_JOB,
            "forgotten": notices.JOB_FORGOTTEN,
        }
        return refusals.get(answer.verdict) or notices.describe_who_may_answer(answer.answerers)

    async def on_shortcut(self, shortcut: MessageShortcut, client: AsyncWebClient) -> ClickReply:
        """Open the window in which the person can edit the request."""
        window = render_start_job_modal(shortcut.text, encode_shortcut(shortcut))
        return None if await open_window(client, shortcut.trigger_id, window) else notices.WINDOW_FAILED

    async def on_start_job(self, submission: ViewSubmission, client: AsyncWebClient) -> Mapping[str, Any] | None:
        """Start a job in the message's thread, after the window was submitted."""
        shortcut = decode_shortcut(submission.metadata, submission.user)
        if shortcut is None:
            log.warning("a window without its message was left alone")
            return None
        text = submission.read_text(REQUEST_BLOCK, REQUEST_ACTION)
        if not text:
            return make_field_error(REQUEST_BLOCK, "Say what should be done.")
        if await is_bot_absent(client, shortcut.place.channel):
            return make_field_error(REQUEST_BLOCK, notices.NOT_IN_CONVERSATION)
        request = Request(
            id=f"{shortcut.message_ts}-{submission.id}",
            user=submission.user,
            text=text,
            quoted=find_quoted_text(text, shortcut),
            at=time.time(),
            attachments=shortcut.attachments,
            look_back="thread",
        )
        if await self._requests.record_request(shortcut.place, request, dedupe=(f"view:{submission.id}",)):
            react = add_receipt_reaction(client, shortcut.place.channel, shortcut.message_ts)
            self._background.start(react, "react to a shortcut")
        return None


def find_quoted_text(text: str, shortcut: MessageShortcut) -> str:
    """Return the part of a request that another person may have written, as it was started from their message.

    If the window carries only the beginning of a long message, all of the text may be that person's.
    """
    if shortcut.author == shortcut.user:
        return ""
    return text if shortcut.is_cut else shortcut.text
