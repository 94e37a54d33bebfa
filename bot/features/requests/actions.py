"""Clicks and windows: answers to questions, and "Start a job from this"."""

from __future__ import annotations

import asyncio
import logging
import re
import time
from typing import Any

from aiohttp import ClientError
from slack_bolt.async_app import AsyncApp
from slack_bolt.context.ack.async_ack import AsyncAck
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.features.requests.metadata import decode_metadata, encode_metadata
from bot.features.requests.service import Requests
from bot.slack.receive.payloads import (
    Click,
    Malformed,
    Shortcut,
    Window,
    parse_click,
    parse_shortcut,
    parse_window,
)
from bot.slack.send.web_calls import Background
from bot.slack.show import notices
from bot.slack.show.notices import Unrecorded, answer_click, note, open_window, received, soon, tell
from bot.slack.views.home import REQUEST_ACTION, REQUEST_BLOCK, START_JOB, start_job_modal
from bot.slack.views.question import ANSWER, Choice, choice_of
from handoff.contracts import Request

log = logging.getLogger(__name__)

ANSWER_ACTIONS = re.compile(rf"^{ANSWER}\d+$")
_ABSENT = frozenset({"not_in_channel", "channel_not_found"})
LOOK_SECONDS = 0.5
"""Seconds that a look at a channel may take before a window is answered: Slack waits for three in all."""


class RequestActions:
    """The listeners of clicks on likely answers, of the shortcut and of its window."""

    def __init__(self, requests: Requests, background: Background) -> None:
        self._requests = requests
        self._background = background

    def register(self, app: AsyncApp) -> None:
        """Make the app listen."""
        app.action(ANSWER_ACTIONS)(self.on_answer)
        app.shortcut(START_JOB)(self.on_shortcut)
        app.view(START_JOB)(self.on_start_job)

    async def on_answer(
        self, ack: AsyncAck, body: dict[str, Any], action: dict[str, Any], client: AsyncWebClient
    ) -> None:
        """Take a click on a likely answer."""
        click = parse_click(body, action)
        choice = choice_of(click.value) if isinstance(click, Click) else None
        if isinstance(click, Malformed):
            log.warning("a click without %s was left alone", click.reason)
        elif choice is None or choice.job != click.place.job_id:
            self._tell(client, click, notices.OLD_BUTTON)
        else:
            await self._answer(click, choice, client)
        await ack()

    async def _answer(self, click: Click, choice: Choice, client: AsyncWebClient) -> None:
        try:
            async with soon():
                answer = await self._requests.answer(click.place, choice, user=click.user, dedupe=click.dedupe)
        except Unrecorded:
            self._tell(client, click, notices.NOT_RECORDED)
            return
        # A click that is taken closes the question once it is in the log: of two, only the first counts.
        if answer.verdict != "taken":
            refusals = {"stale": notices.STALE, "unknown": notices.UNKNOWN, "forgotten": notices.IS_FORGOTTEN}
            self._tell(client, click, refusals.get(answer.verdict) or notices.not_asked(answer.whom))

    async def on_shortcut(self, ack: AsyncAck, body: dict[str, Any], client: AsyncWebClient) -> None:
        """Open the window in which the request can be edited."""
        shortcut = parse_shortcut(body)
        if isinstance(shortcut, Malformed):
            log.warning("a shortcut without %s was left alone", shortcut.reason)
        else:
            window = start_job_modal(shortcut.text, encode_metadata(shortcut))
            if not await open_window(client, shortcut.trigger, window):
                telling = tell(client, shortcut.private_place, shortcut.user, note(notices.NO_WINDOW))
                self._background.start(telling, "tell that a window was not opened")
        await ack()

    async def on_start_job(self, ack: AsyncAck, body: dict[str, Any], client: AsyncWebClient) -> None:
        """Start a job in the message's thread: the window was sent."""
        sent = parse_window(body)
        shortcut = decode_metadata(sent.metadata, sent.user) if isinstance(sent, Window) else sent
        if isinstance(shortcut, Malformed) or isinstance(sent, Malformed):
            log.warning("a window without its message was left alone")
            await ack()
            return
        user, view_id, text = sent.user, sent.id, sent.typed(REQUEST_BLOCK, REQUEST_ACTION)
        if not text:
            await ack(response_action="errors", errors={REQUEST_BLOCK: "Say what should be done."})
            return
        if await _absent(client, shortcut):
            await ack(response_action="errors", errors={REQUEST_BLOCK: notices.NOT_IN})
            return
        request = Request(
            id=f"{shortcut.message_ts}-{view_id}",
            user=user,
            text=text,
            quoted=quoted_in(text, shortcut),
            at=time.time(),
            attachments=shortcut.attachments,
            look_back="thread",
        )
        try:
            async with soon():
                new = await self._requests.request(shortcut.place, request, dedupe=(f"view:{view_id}",))
        except Unrecorded:
            await ack(response_action="errors", errors={REQUEST_BLOCK: notices.NOT_RECORDED})
            return
        if new:
            react = received(client, shortcut.place.channel, shortcut.message_ts)
            self._background.start(react, "react to a shortcut")
        await ack()

    def _tell(self, client: AsyncWebClient, click: Click, text: str) -> None:
        self._background.start(answer_click(client, click, text), "answer a click")


def quoted_in(text: str, shortcut: Shortcut) -> str:
    """Return what somebody else may have written of a request that was started from their message.

    Of a long message the window has more than came back with it: then all of the text may be theirs.
    """
    if shortcut.author == shortcut.user:
        return ""
    return text if shortcut.cut else shortcut.text


async def _absent(client: AsyncWebClient, shortcut: Shortcut) -> bool:
    """Return True if we are not where the message is. If that cannot be told in time, we are taken to be."""
    try:
        async with asyncio.timeout(LOOK_SECONDS):
            await client.conversations_replies(channel=shortcut.place.channel, ts=shortcut.place.thread_ts, limit=1)
    except SlackApiError as error:
        return isinstance(error.response, AsyncSlackResponse) and error.response.get("error") in _ABSENT
    except (TimeoutError, ClientError):
        return False
    return False
