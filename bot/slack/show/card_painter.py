"""Keeps a plan card up to date: changes are gathered into one edit, which is sent only if the card looks different.

An edit that waits for its turn shows the state at that turn. While a job is under way, its edits go last. An edit which
shows that the job has ended or waits for a person goes earlier, and replaces an edit that still waits.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from bot.slack.send.outbox import Outbox, SentMessage
from bot.slack.send.published_limits import Priority
from bot.slack.send.web_calls import JobGone, OutdatedCall, PermissionCheck
from bot.slack.views.card import render_plan_card
from bot.slack.views.outgoing import Outgoing
from bot.store.values import Claim, JobKey, StoreError
from handoff.effects import make_card_key, make_question_key
from handoff.state.job_state import Job, RequestState, RequestStatus

log = logging.getLogger(__name__)

EDIT_PAUSE_SECONDS = 1.2
"""Seconds between two edits of one card: Slack lets 50 a minute through, for all cards together."""
GATHER_SECONDS = 0.2
"""Seconds that an edit waits for further changes: a plan and the first steps of its specialists come together."""
REDRAW_SECONDS = 20.0
"""Seconds after which a card is drawn again even if nothing happened. The times on it advance in steps of 30 s, so that
people see progress each minute."""


MAX_TAKEOVER_REDRAWS = 3
"""Maximum number of redraws after another instance took over the job, which draws each change itself."""

UNSETTLED_STATES: frozenset[RequestStatus] = frozenset({"submitted", "working", "synthesizing"})
"""The states of a request in which its card will soon change again."""


def is_settled(request: RequestState) -> bool:
    """Return True if a card will not change for a while: its request has ended, or all open questions are posted."""
    if request.state != "input_required":
        return request.state not in UNSETTLED_STATES
    question_keys = (make_question_key(request.id, name, one.number) for name, one in request.open_questions.items())
    return all(key in request.posted_ids for key in question_keys)


class CardPainter:
    """Draws the card of one job for as long as this instance works on it.

    A card is edited only if it looks different from the one that was sent last. An owner whose process was frozen must
    not draw an old state over the card of the next owner. So `check_allowed` is called before each try of an edit, and
    once after it. If another instance owns the job by then, the card is redrawn from the job's current state
    (`read_job`), because the new owner may not draw it again. `needs_stop` returns True if a card needs a
    Stop button of its own.
    """

    def __init__(
        self,
        outbox: Outbox,
        *,
        check_allowed: PermissionCheck,
        needs_stop: Callable[[RequestState], bool],
        read_job: Callable[[], Awaitable[Job | None]],
    ) -> None:
        self.needs_stop = needs_stop
        self._read_job = read_job
        self._outbox = outbox
        self._check_allowed = check_allowed
        self._latest: tuple[Job, RequestState, str] | None = None
        self._sent_card: Outgoing | None = None
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()
        self._cancel_event = asyncio.Event()
        """Set to drop an edit that waits for its turn, because a newer one is to replace it."""
        self._waiting_priority: Priority | None = None

    def record_posted(self, card: Outgoing) -> None:
        """Record the card as it was just posted: it is edited only if it looks different."""
        self._sent_card = card

    def show(self, job: Job, request: RequestState, ts: str) -> None:
        """Have the card show this state. Returns at once; the latest state wins."""
        self._latest = (job, request, ts)
        self._wake.set()
        if self._waiting_priority is not None and is_settled(request) != (self._waiting_priority == "settled"):
            self._cancel_event.set()
        if self._task is None and not self._closing.is_set():
            self._task = asyncio.create_task(self._run())

    def request_redraw(self) -> None:
        """Have the card drawn again if it looks different by now. Returns at once."""
        self._wake.set()

    async def stop(self, *, draw_latest: bool = False) -> None:
        """Stop drawing. An edit that is being sent is awaited; one that waits for its turn is left out.

        With `draw_latest`, the latest state is drawn first if it is not drawn yet: no instance will draw it for a
        while.
        """
        self._closing.set()
        self._wake.set()
        self._cancel_event.set()
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)
        if draw_latest:
            with contextlib.suppress(JobGone, StoreError, OutdatedCall):
                await self._send_latest()

    async def _run(self) -> None:
        try:
            await self._paint_until_closed()
        except (JobGone, StoreError) as error:
            log.info("a plan card is drawn no more here: %s", error)
        except Exception:
            log.exception("a plan card could not be drawn; the job goes on without it")

    async def _paint_until_closed(self) -> None:
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(REDRAW_SECONDS):
                    await self._wake.wait()
            await self._pause(GATHER_SECONDS)
            self._wake.clear()
            if self._closing.is_set():
                return
            try:
                is_sent = await self._send_latest()
            except OutdatedCall:
                self._wake.set()
                continue
            if is_sent:
                await self._pause(EDIT_PAUSE_SECONDS - GATHER_SECONDS)

    async def _send_latest(self) -> bool:
        """Send the latest card, or return False if it equals the one sent last. Raises JobGone or OutdatedCall."""
        if self._latest is None or (card := self._draw_newest()) == self._sent_card:
            return False
        job, request, ts = self._latest
        is_tried = False

        def draw_newest() -> Outgoing:
            nonlocal card, is_tried
            card, is_tried = self._draw_newest(), True
            return card

        self._cancel_event = asyncio.Event()
        self._waiting_priority = "settled" if is_settled(request) else "card"
        try:
            if await self._outbox.edit_message(
                *(job.place, ts, draw_newest),
                check_allowed=self._check_allowed,
                priority=self._waiting_priority,
                cancel_event=self._cancel_event,
            ):
                self._sent_card = card
            is_ours = await self._check_allowed()
        except JobGone:
            if not is_tried:
                raise
            is_ours = False
        finally:
            self._waiting_priority = None
        if not is_ours:
            await self._redraw_current(request.id, ts)
            raise JobGone(f"{job.place.job_id}: it went into other hands while its card was drawn")
        return True

    async def _redraw_current(self, request_id: str, ts: str) -> None:
        """Redraw the card from the job's current state: our edit may have replaced a newer one of the next owner."""
        drawn_job: Job | None = None
        for _ in range(MAX_TAKEOVER_REDRAWS):
            job = await self._read_job()
            request = job.find_request(request_id) if job is not None else None
            if job is None or request is None or job == drawn_job:
                return
            stop = not request.run.is_concluded and self.needs_stop(request)
            card = render_plan_card(job, request, self._outbox.store.clock(), with_stop=stop)
            await self._outbox.edit_message(job.place, ts, card, check_allowed=None, priority="settled")
            drawn_job = job

    def _draw_newest(self) -> Outgoing:
        if self._latest is None:
            raise RuntimeError("no state of the job was shown yet")
        job, request, _ = self._latest
        return render_plan_card(job, request, self._outbox.store.clock(), with_stop=self.needs_stop(request))

    async def _pause(self, seconds: float) -> None:
        """Wait `seconds`, or until `stop` is called."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._closing.wait()


CARD_WAIT_SECONDS = 1.0
"""Seconds that a card may still wait to be posted after its request has ended, so that it stands above the answer. If
other messages wait in the channel, the card is dropped at once: the answer itself reports the work."""


@dataclass(slots=True)
class _WaitingCard:
    """A card that waits to be posted: the newest state to draw, and the event that drops it."""

    job: Job
    request: RequestState
    cancel_event: asyncio.Event = field(default_factory=asyncio.Event)


class CardPoster:
    """Posts the cards of an instance, and keeps each up to date while it waits for its turn."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox
        self._waiting_cards: dict[tuple[JobKey, str], _WaitingCard] = {}

    async def post_card(self, claim: Claim, job: Job, request: RequestState, painter: CardPainter) -> SentMessage:
        """Post the card of a request, once. It is left out if its request ends and its turn does not come soon after.

        Raises JobGone if the job is no longer ours.
        """
        name, card = (claim.key, request.id), _WaitingCard(job, request)
        self._waiting_cards[name] = card
        drawn_cards: list[Outgoing] = []

        def draw() -> Outgoing:
            with_stop = painter.needs_stop(card.request)
            drawn_cards.append(
                render_plan_card(card.job, card.request, self._outbox.store.clock(), with_stop=with_stop)
            )
            return drawn_cards[-1]

        try:
            sent_message = await self._outbox.post(
                claim, job.place, make_card_key(request.id), draw, cancel_event=card.cancel_event
            )
        finally:
            if self._waiting_cards.get(name) is card:  # not where the job was lost and claimed again meanwhile
                del self._waiting_cards[name]
        # Otherwise an earlier owner posted an older state.
        if sent_message.ts and not sent_message.is_adopted and drawn_cards:
            painter.record_posted(drawn_cards[-1])
        return sent_message

    def update_waiting_card(self, key: JobKey, job: Job, request: RequestState) -> None:
        """Have a card that waits to be posted show this state. If its request has ended, the card is dropped soon."""
        card = self._waiting_cards.get((key, request.id))
        if card is None:
            return
        card.job, card.request = job, request
        if not request.run.is_concluded:
            return
        channel = job.place.channel
        cancel_events = [
            one.cancel_event
            for one in self._waiting_cards.values()
            if one.request.run.is_concluded and one.job.place.channel == channel
        ]
        if len(cancel_events) > 1 or self._outbox.calls.budget.has_waiting_calls("chat.postMessage", channel):
            for over in cancel_events:
                over.set()
        else:
            asyncio.get_running_loop().call_later(CARD_WAIT_SECONDS, card.cancel_event.set)
