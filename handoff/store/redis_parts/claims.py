"""Which job is next, and who gets it."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import Any

from handoff.store import bounds
from handoff.store.interface import Claim, JobKey, StoreError
from handoff.store.redis_parts.calls import Calls, nonce
from handoff.store.redis_parts.fenced import Fenced
from handoff.store.redis_parts.keys import PLACES
from handoff.store.replicas import Unconfirmed

AGAIN = 2.0
"""Seconds until a job is due again whose claim no replica has confirmed."""


class Claims:
    """Looks for a job that is ready, over all partitions, and takes it."""

    def __init__(self, calls: Calls, fenced: Fenced) -> None:
        self._calls = calls
        self._fenced = fenced

    async def claim(self, owner: str, *, lease: float, schema: int, prefer: JobKey | None) -> Claim | None:
        """See `Store.claim`."""
        token = f"{owner}.{nonce()}"
        if prefer is not None:
            part = self._calls.keys.part_of(prefer)
            claim = await self._claim_in(part, token, lease, schema, bounds.member(prefer))
            if claim is not None:
                return claim
        now, scores = await self._peek()
        parts = self._calls.keys.parts()
        ready = [
            (kind, score, part)
            for kind, limit in enumerate((now, float(schema), now))  # leases, what was put by, what is due
            for part, score in zip(parts, scores[kind :: len(PLACES)], strict=True)
            if score is not None and score <= limit
        ]
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
        _, scores = await self._peek()
        times = (score for kind, name in enumerate(PLACES) if name != "newer" for score in scores[kind :: len(PLACES)])
        return min((at for at in times if at is not None), default=None)

    async def _peek(self) -> tuple[float, list[float | None]]:
        """The time, and for each partition the earliest lease, the oldest schema put by, and the earliest due time."""
        parts = [[f"{part}:{name}" for name in PLACES] for part in self._calls.keys.parts()]
        asked = time.monotonic()
        if self._calls.server.is_cluster:
            replies = await asyncio.gather(*(self._calls.run("peek", part) for part in parts))
        else:
            replies = [await self._calls.run("peek", [key for part in parts for key in part])]
        scores = [float(score) if score else None for reply in replies for score in reply[1:]]
        return self._calls.clock.heard(replies[0][0], asked), scores


def _claim(reply: list[bytes], token: str) -> Claim:
    member, epoch, expires, lost = reply
    return Claim(bounds.job_key(member.decode()), int(epoch), token, float(expires), int(lost))
