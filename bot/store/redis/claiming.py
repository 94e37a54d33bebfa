"""Which job is next, and who gets it."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import Any

from bot.store import bounds
from bot.store.interface import Claim, JobKey, StoreError
from bot.store.redis.fenced import Fenced
from bot.store.redis.keys import PLACES
from bot.store.redis.script_calls import Calls, nonce
from bot.store.replicas import Unconfirmed

AGAIN = 2.0
"""Seconds until a job is due again whose claim no replica has confirmed."""


class Claims:
    """Looks for a job that is ready, over all partitions, and takes it."""

    def __init__(self, calls: Calls, fenced: Fenced) -> None:
        self._calls = calls
        self._fenced = fenced
        self._sets = [(kind, part) for part in calls.keys.parts() for kind in range(len(PLACES))]
        self._names = [f"{part}:{PLACES[kind]}" for kind, part in self._sets]

    async def claim(self, owner: str, *, lease: float, schema: int, prefer: JobKey | None) -> Claim | None:
        """See `Store.claim`."""
        token = f"{owner}.{nonce()}"
        if prefer is not None:
            part = self._calls.keys.part_of(prefer)
            claim = await self._claim_in(part, token, lease, schema, bounds.member(prefer))
            if claim is not None:
                return claim
        now, found = await self._peek()
        limits = (now, float(schema), now)  # for leases, what was put by, what is due
        ready = [(kind, score, part) for kind, score, part in found if score <= limits[kind]]
        for part in dict.fromkeys(part for _, _, part in sorted(ready)):
            claim = await self._claim_in(part, token, lease, schema, "")
            if claim is not None:
                return claim
        return None

    async def _claim_in(self, part: str, token: str, lease: float, schema: int, prefer: str) -> Claim | None:
        keys = (f"{part}:lease", f"{part}:due", f"{part}:newer", f"{part}:claim:{token}")
        args = (f"{part}:", token, lease, schema, prefer, self._calls.keys.channel)
        reply: Any = b"more"
        try:
            while reply == b"more":
                reply = await self._calls.run("claim", keys, *args)
        except Unconfirmed as error:
            if isinstance(error.reply, list):
                # Not ours. To let the lease run out would count as one more owner that was lost.
                claim = _claim(error.reply, token)
                with contextlib.suppress(StoreError):
                    await self._fenced.let_go(claim, claim.expires - lease + AGAIN, lost=claim.lost)
            raise
        if reply is None:
            return None
        return _claim(reply, token)

    async def now(self) -> float:
        """See `Store.now`."""
        asked = time.monotonic()
        return self._calls.clock.heard((await self._calls.run("peek", ()))[0], asked)

    async def next_due(self) -> float | None:
        """See `Store.next_due`."""
        _, found = await self._peek()
        return min((score for kind, score, _ in found if PLACES[kind] != "newer"), default=None)

    async def _peek(self) -> tuple[float, list[tuple[int, float, str]]]:
        """The time, and the first of each of `PLACES` in each partition: which place that is, its score, the partition.

        The score is the time of the earliest lease or due job, or the oldest schema put by.
        """
        asked = time.monotonic()
        at_once = len(PLACES) if self._calls.server.is_cluster else len(self._names)
        calls = (self._calls.run("peek", self._names[at : at + at_once]) for at in range(0, len(self._names), at_once))
        replies = await asyncio.gather(*calls)
        found = []
        for number, (_, *firsts) in enumerate(replies):
            for place, score in zip(firsts[::2], firsts[1::2], strict=True):
                kind, part = self._sets[number * at_once + place - 1]
                found.append((kind, float(score), part))
        return self._calls.clock.heard(replies[0][0], asked), found


def _claim(reply: list[bytes], token: str) -> Claim:
    member, epoch, expires, lost = reply
    return Claim(bounds.job_key(member.decode()), int(epoch), token, float(expires), int(lost))
