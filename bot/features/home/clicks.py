"""Clicks in the home on buttons of a job: given the place of its thread, they are dealt with as if made there."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace

from slack_sdk.web.async_client import AsyncWebClient

from bot.features.home.service import HomeDesk
from bot.slack.receive.payloads import Click
from bot.slack.send.web_calls import Background
from bot.slack.show import notices
from bot.slack.show.notices import answer_click
from bot.slack.views.carried import read_carried
from bot.store.interface import StoreError

log = logging.getLogger(__name__)


class HomeClicks:
    """Finds the thread of what was clicked on in somebody's home."""

    def __init__(self, homes: HomeDesk, background: Background) -> None:
        self._homes = homes
        self._background = background

    async def locate(self, click: Click, client: AsyncWebClient) -> Click | None:
        """Put the place of the job's thread into a click; leave it alone if it is about no job."""
        job = job_of(click.value)
        if not job:
            return click
        try:
            place = await self._homes.place_of(job)
        except StoreError as error:
            log.info("a click in a home was not dealt with: %s", error)
            self._answer_clicker(client, click, notices.NOT_READ)
            return None
        if place is None:
            self._answer_clicker(client, click, notices.UNKNOWN)
            return None
        return replace(click, place=place, message_ts=place.thread_ts)

    def _answer_clicker(self, client: AsyncWebClient, click: Click, words: str) -> None:
        self._background.start(answer_click(client, click, words), "answer a click in a home")


@dataclass(frozen=True, slots=True)
class _OfJob:
    """What a button of a job carries, beside more."""

    job: str


def job_of(value: str) -> str:
    """Return the job that a button is about; empty for any other."""
    found = read_carried(value, _OfJob)
    return found.job if found is not None else ""
