"""Keeps one plan card true: edits are coalesced, unchanged pictures are not sent, and it never falls silent."""

from __future__ import annotations

import asyncio
import contextlib
import logging

from bot.slack.send.outbox import Outbox
from bot.slack.send.web_calls import Allowed, Gone
from bot.slack.views.card import plan_card
from bot.store.interface import StoreError
from handoff.state import Ask, Job

log = logging.getLogger(__name__)

PAUSE = 1.2
"""Seconds between two edits of one card: Slack lets 50 a minute through, for all cards together."""
GATHER = 0.2
"""Seconds that an edit waits for more: a plan and the first steps of its specialists come together."""
QUIET = 30.0
"""Seconds after which a card is drawn again even if no row changed, so that running times move."""


class CardPainter:
    """Draws the card of one job for as long as this instance works on it.

    An owner that was frozen must not draw an old state over what the next one drew: whether an edit is `allowed` is
    asked before each try of it.
    """

    def __init__(self, outbox: Outbox, *, allowed: Allowed) -> None:
        self._outbox = outbox
        self._allowed = allowed
        self._wanted: tuple[Job, Ask, str] | None = None
        self._drawn: tuple[object, ...] = ()
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()

    def drew(self, ask: Ask) -> None:
        """The card was just posted, and shows this state."""
        self._drawn = self._rows(ask)

    def show(self, job: Job, ask: Ask, ts: str) -> None:
        """The card should show this state. Returns at once; the latest state wins."""
        self._wanted = (job, ask, ts)
        if self._rows(ask) != self._drawn:
            self._wake.set()
        if self._task is None and not self._closing.is_set():
            self._task = asyncio.create_task(self._paint_on())

    async def stop(self, *, up_to_date: bool = False) -> None:
        """Draw no more. An edit that is on its way arrives first, so that a later one is not overtaken.

        `up_to_date`: draw what was wanted last, if it is not drawn yet: nobody else will for a while.
        """
        self._closing.set()
        self._wake.set()
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)
        if up_to_date and self._wanted is not None and self._rows(self._wanted[1]) != self._drawn:
            with contextlib.suppress(Gone, StoreError):
                await self._draw(*self._wanted)

    def _rows(self, ask: Ask) -> tuple[object, ...]:
        rows = ((name, work.state, work.specialist, work.attempt, work.changed) for name, work in ask.work.items())
        return (ask.id, ask.state, ask.run.plan is not None, ask.replans, *rows)

    async def _paint_on(self) -> None:
        try:
            await self._paint()
        except (Gone, StoreError) as error:
            log.info("a plan card is drawn no more here: %s", error)
        except Exception:
            log.exception("a plan card could not be drawn; the job goes on without it")

    async def _paint(self) -> None:
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(QUIET):
                    await self._wake.wait()
            await self._pause(GATHER)
            self._wake.clear()
            if self._closing.is_set():
                return
            if self._wanted is not None:
                await self._draw(*self._wanted)
            await self._pause(PAUSE - GATHER)

    async def _draw(self, job: Job, ask: Ask, ts: str) -> None:
        self._drawn = self._rows(ask)
        card = plan_card(job, ask, self._outbox.store.clock())
        await self._outbox.update(job.place, ts, card, allowed=self._allowed)

    async def _pause(self, seconds: float) -> None:
        """Wait a little, so that changes gather; a stop ends it at once."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._closing.wait()
