"""Clicks in the home on buttons of a job: given the place of its thread, they are dealt with as if made there.

In front of the gate, so that who may not act where the job is may not do so from their home either.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse
from slack_sdk.web.async_client import AsyncWebClient

from bot.features.home.service import HomeDesk
from bot.slack.send.web_calls import Background
from bot.slack.show import notices
from bot.slack.show.notices import open_window
from bot.slack.views.home import note_window
from bot.store.interface import StoreError
from handoff.contracts import Place

log = logging.getLogger(__name__)

Next = Callable[[], Awaitable[BoltResponse]]


class HomeClicks:
    """Finds the thread of what was clicked on in somebody's home."""

    def __init__(self, homes: HomeDesk, background: Background) -> None:
        self._homes = homes
        self._background = background

    async def check(
        self, body: dict[str, Any], request: AsyncBoltRequest, client: AsyncWebClient, next_: Next
    ) -> BoltResponse:
        """Put the place of the job's thread into a click in the home; leave everything else alone."""
        job = job_clicked_on(body)
        if not job:
            return await next_()
        trigger = str(body.get("trigger_id") or "")
        try:
            place = await self._homes.place_of(job)
        except StoreError as error:
            log.info("a click in a home was not dealt with: %s", error)
            return self._say(client, trigger, notices.NOT_READ)
        if place is None:
            return self._say(client, trigger, notices.UNKNOWN)
        request.body = {**body, **thread_of(place)}
        return await next_()

    def _say(self, client: AsyncWebClient, trigger: str, words: str) -> BoltResponse:
        self._background.start(open_window(client, trigger, note_window(words)), "answer a click in a home")
        return BoltResponse(status=200, body="")


def job_clicked_on(body: Mapping[str, Any]) -> str:
    """Return the job that a button in a home is about; empty for anything else."""
    view, clicked = body.get("view"), body.get("actions")
    if body.get("type") != "block_actions" or not isinstance(view, Mapping) or view.get("type") != "home":
        return ""
    first = clicked[0] if isinstance(clicked, list) and clicked and isinstance(clicked[0], Mapping) else {}
    try:
        job = json.loads(str(first.get("value") or ""))["job"]
    except (ValueError, KeyError, TypeError):
        return ""
    return job if isinstance(job, str) else ""


def thread_of(place: Place) -> dict[str, Any]:
    """Return what a click in that thread would bring."""
    at = {"ts": place.thread_ts, "thread_ts": place.thread_ts}
    container = {"type": "message", "channel_id": place.channel, "message_ts": place.thread_ts}
    return {"channel": {"id": place.channel}, "message": at, "container": container}
