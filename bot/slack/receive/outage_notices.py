"""What people are told while the store is away: each of them once for each thing that could not be recorded."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from slack_sdk.web.async_client import AsyncWebClient

from bot.slack.receive.background import Background
from bot.slack.show import notices
from bot.slack.show.notices import note, tell
from bot.store.interface import PayloadTooLarge, StoreError
from handoff.contracts import Place

log = logging.getLogger(__name__)

REMEMBERED = 1000
SOON = 2.5
"""Seconds for an answer to a click or a command: Slack waits for three."""


class Unrecorded(Exception):
    """A click or a command could not be recorded. The text says why, in one line."""


class OutageNotices:
    """Tells people what was not recorded. Slack delivers an event again and again: each is told of once.

    Who spoke to the bot in a thread is remembered, so that a reply there counts as meant for it although nobody can
    look that up.
    """

    def __init__(self, background: Background) -> None:
        self._background = background
        self._told: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._talks: OrderedDict[tuple[str, str], None] = OrderedDict()

    def remember_talk(self, place: Place, user: str) -> None:
        """Remember that somebody spoke to the bot in that thread."""
        _remember(self._talks, (place.job_id, user))

    def talked_lately(self, place: Place, user: str) -> bool:
        """Return True if somebody spoke to the bot in that thread lately."""
        return (place.job_id, user) in self._talks

    def tell_not_recorded(self, client: AsyncWebClient, place: Place, user: str, ts: str, error: StoreError) -> None:
        """Tell who said something (its id is `ts`) that it was not recorded."""
        if (place.channel, ts) in self._told:
            return
        _remember(self._told, (place.channel, ts))
        words = str(error) if isinstance(error, PayloadTooLarge) else notices.AWAY
        self._background.start(tell(client, place, user, note(words)), "tell that the store is away")


def _remember(known: OrderedDict[tuple[str, str], None], one: tuple[str, str]) -> None:
    known[one] = None
    known.move_to_end(one)
    while len(known) > REMEMBERED:
        known.popitem(last=False)


@asynccontextmanager
async def soon() -> AsyncIterator[None]:
    """Raise Unrecorded if the work within is not done in time for Slack: clicks and commands never come again."""
    try:
        async with asyncio.timeout(SOON):
            yield
    except (StoreError, TimeoutError) as error:
        log.error("a click or a command was not recorded: %s", str(error) or "the store does not answer in time")  # noqa: TRY400 - one clear line
        raise Unrecorded(str(error)) from error
