"""Plan cards that wait to be posted: each shows what is true when its turn comes, and none comes after its answer."""

from __future__ import annotations

import asyncio

from bot.slack.send.outbox import Outbox, SentMessage
from bot.slack.show.card_painter import CardPainter
from bot.slack.views.card import plan_card
from bot.slack.views.outgoing import Outgoing
from bot.store.interface import Claim, JobKey
from handoff.effects import card_key
from handoff.state.job_state import Job, RequestState

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

        Raises Gone if the job is no longer ours.
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
        if not ask.run.concluded:
            return
        channel = job.place.channel
        ended = [
            self._overtaken[one]
            for one, (other, its) in self._newest.items()
            if its.run.concluded and other.place.channel == channel
        ]
        if len(ended) > 1 or self._outbox.calls.budget.is_crowded("chat.postMessage", channel):
            for over in ended:
                over.set()
        else:
            asyncio.get_running_loop().call_later(PATIENCE, self._overtaken[name].set)
