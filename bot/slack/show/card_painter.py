"""Keeps one plan card true: changes gather into one edit, and an edit is sent only if the card looks different.

An edit that waits for its turn shows what is true when its turn comes. While a job is under way its edits go last. An
edit that shows how it ended, or that it waits for somebody, goes earlier, and replaces an edit that still waits.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable

from bot.slack.send.outbox import Outbox, SentMessage
from bot.slack.send.published_limits import Priority
from bot.slack.send.web_calls import Allowed, CallNeedless, JobGone
from bot.slack.views.card import plan_card
from bot.slack.views.outgoing import Outgoing
from bot.store.values import Claim, JobKey, StoreError
from handoff.effects import card_key, question_key
from handoff.state.job_state import Job, RequestState, RequestStatus

log = logging.getLogger(__name__)

PAUSE = 1.2
"""Seconds between two edits of one card: Slack lets 50 a minute through, for all cards together."""
GATHER = 0.2
"""Seconds that an edit waits for more: a plan and the first steps of its specialists come together."""
QUIET = 20.0
"""Seconds after which a card is looked at again even if nothing happened: the times in it go on by steps of 30 s, and
people see something move each minute."""


ROUNDS = 3
"""Times that a card is drawn anew while its job goes on in other hands: whoever has it draws each change as well."""

MOVING: frozenset[RequestStatus] = frozenset({"submitted", "working", "synthesizing"})
"""The states of a request in which its card changes again soon."""


def is_lasting(ask: RequestState) -> bool:
    """Return True if a card will show this for a while: its request has ended, or what it waits for has been asked."""
    if ask.state != "input_required":
        return ask.state not in MOVING
    asked = (question_key(ask.id, name, one.number) for name, one in ask.open_questions.items())
    return all(key in ask.posted for key in asked)


class CardPainter:
    """Draws the card of one job for as long as this instance works on it.

    A card counts as changed if it looks different: it is drawn, and compared with the one that was sent last.
    An owner that was frozen must not draw an old state over what the next owner drew. So `allowed` is asked before
    each try of an edit, and once more after it. If the owner was frozen in between, or the edit was long on its way,
    the card is drawn as the job is by then (`read_job`): nobody else may draw it again. `needs_stop` tells whether the
    card of a request needs a Stop button of its own.
    """

    def __init__(
        self,
        outbox: Outbox,
        *,
        allowed: Allowed,
        needs_stop: Callable[[RequestState], bool],
        read_job: Callable[[], Awaitable[Job | None]],
    ) -> None:
        self.needs_stop = needs_stop
        self._read_job = read_job
        self._outbox = outbox
        self._allowed = allowed
        self._wanted: tuple[Job, RequestState, str] | None = None
        self._sent: Outgoing | None = None
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()
        self._overtaken = asyncio.Event()
        """Ends the waiting of an edit for its turn."""
        self._waits_as: Priority | None = None

    def note_posted(self, card: Outgoing) -> None:
        """Note that the card was just posted like this."""
        self._sent = card

    def show(self, job: Job, ask: RequestState, ts: str) -> None:
        """Have the card show this state. Returns at once; the latest state wins."""
        self._wanted = (job, ask, ts)
        self._wake.set()
        if self._waits_as is not None and is_lasting(ask) != (self._waits_as == "settled"):
            self._overtaken.set()
        if self._task is None and not self._closing.is_set():
            self._task = asyncio.create_task(self._paint_on())

    def look_again(self) -> None:
        """Draw the card again if it looks different by now."""
        self._wake.set()

    async def stop(self, *, up_to_date: bool = False) -> None:
        """Draw no more. An edit that is on its way arrives first; one that waits for its turn is left out.

        `up_to_date`: draw what was wanted last, if it is not drawn yet: nobody else will for a while.
        """
        self._closing.set()
        self._wake.set()
        self._overtaken.set()
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)
        if up_to_date:
            with contextlib.suppress(JobGone, StoreError, CallNeedless):
                await self._draw()

    async def _paint_on(self) -> None:
        try:
            await self._paint()
        except (JobGone, StoreError) as error:
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
            try:
                drawn = await self._draw()
            except CallNeedless:
                self._wake.set()
                continue
            if drawn:
                await self._pause(PAUSE - GATHER)

    async def _draw(self) -> bool:
        """Send the wanted card if it differs from the last one, else return False. Raises JobGone or CallNeedless."""
        if self._wanted is None or (card := self._draw_newest()) == self._sent:
            return False
        job, ask, ts = self._wanted
        is_tried = False

        def newest() -> Outgoing:
            nonlocal card, is_tried
            card, is_tried = self._draw_newest(), True
            return card

        self._overtaken = asyncio.Event()
        self._waits_as = "settled" if is_lasting(ask) else "card"
        try:
            if await self._outbox.update(
                *(job.place, ts, newest), allowed=self._allowed, priority=self._waits_as, needless=self._overtaken
            ):
                self._sent = card
            is_ours = await self._allowed()
        except JobGone:
            if not is_tried:
                raise
            is_ours = False
        finally:
            self._waits_as = None
        if not is_ours:
            await self._redraw_current(ask.id, ts)
            raise JobGone(f"{job.place.job_id}: it went into other hands while its card was drawn")
        return True

    async def _redraw_current(self, request: str, ts: str) -> None:
        """Draw the card as its job is now: what was sent may have come after what the next owner drew."""
        drawn: Job | None = None
        for _ in range(ROUNDS):
            job = await self._read_job()
            ask = job.find_request(request) if job is not None else None
            if job is None or ask is None or job == drawn:
                return
            stop = not ask.run.is_concluded and self.needs_stop(ask)
            card = plan_card(job, ask, self._outbox.store.clock(), stop=stop)
            await self._outbox.update(job.place, ts, card, allowed=None, priority="settled")
            drawn = job

    def _draw_newest(self) -> Outgoing:
        if self._wanted is None:
            raise RuntimeError("no state of the job was shown yet")
        job, ask, _ = self._wanted
        return plan_card(job, ask, self._outbox.store.clock(), stop=self.needs_stop(ask))

    async def _pause(self, seconds: float) -> None:
        """Wait a little, so that changes gather; a stop ends it at once."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._closing.wait()


PATIENCE = 1.0
"""Seconds that a card may still wait for its turn once its request has ended: the answer stands below it then. Where
other answers wait in the channel, or will within moments, it waits no more: the answer itself says what it took."""


class CardPosts:
    """The cards of an instance that are being posted."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox
        self._newest: dict[tuple[JobKey, str], tuple[Job, RequestState]] = {}
        self._overtaken: dict[tuple[JobKey, str], asyncio.Event] = {}

    async def post(self, claim: Claim, job: Job, ask: RequestState, painter: CardPainter) -> SentMessage:
        """Post the card of a request, once. Where its request ends before its turn comes, there is none.

        Raises JobGone if the job is no longer ours.
        """
        name = (claim.key, ask.id)
        self._newest[name], over = (job, ask), asyncio.Event()
        self._overtaken[name] = over
        drawn: list[Outgoing] = []

        def draw() -> Outgoing:
            job, ask = self._newest[name]
            drawn.append(plan_card(job, ask, self._outbox.store.clock(), stop=painter.needs_stop(ask)))
            return drawn[-1]

        try:
            sent = await self._outbox.post(claim, job.place, card_key(ask.id), draw, needless=over)
        finally:
            del self._newest[name], self._overtaken[name]
        if sent.ts and not sent.adopted and drawn:  # else an earlier owner drew it, some time ago
            painter.note_posted(drawn[-1])
        return sent

    def job_changed(self, key: JobKey, job: Job, ask: RequestState) -> None:
        """Have a card that waits show this state."""
        name = (key, ask.id)
        if name not in self._newest:
            return
        self._newest[name] = (job, ask)
        if not ask.run.is_concluded:
            return
        channel = job.place.channel
        ended = [
            self._overtaken[one]
            for one, (other, its) in self._newest.items()
            if its.run.is_concluded and other.place.channel == channel
        ]
        if len(ended) > 1 or self._outbox.calls.budget.is_crowded("chat.postMessage", channel):
            for over in ended:
                over.set()
        else:
            asyncio.get_running_loop().call_later(PATIENCE, self._overtaken[name].set)
