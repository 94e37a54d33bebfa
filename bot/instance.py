"""One instance: claims jobs as slots are free, and passes on what comes in for those it owns."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
from collections import deque

from bot.owner import Owner, Performer
from handoff.events import SCHEMA
from handoff.store.interface import JobKey, Store, StoreError

log = logging.getLogger(__name__)

LONGEST_NAP = 5.0
"""Seconds between two looks at the store, should every notice be lost."""
PATIENCE = 1.0
"""Seconds to wait after the store could not be reached."""


class Instance:
    """Works on up to `slots` jobs at once; each is owned for `lease` seconds unless renewed."""

    def __init__(self, store: Store, performer: Performer, *, slots: int, lease: float) -> None:
        self.name = secrets.token_hex(6)
        self._store = store
        self._performer = performer
        self._slots = slots
        self._lease = lease
        self._owners: dict[JobKey, Owner] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._wake = asyncio.Event()
        self._hints: deque[JobKey] = deque(maxlen=slots)

    def nudge(self, key: JobKey) -> None:
        """Something came in for a job: tell its owner if that is us, else look whether it can be claimed."""
        owner = self._owners.get(key)
        if owner is not None:
            owner.nudge()
        else:
            self._hints.append(key)
        self._wake.set()

    async def run(self) -> None:
        """Claim and work until cancelled; then let go of every job, so that others can go on at once."""
        listener = asyncio.create_task(self._listen())
        try:
            while True:
                self._wake.clear()
                if len(self._owners) >= self._slots or not await self._claim_one():
                    await self._nap()
        finally:
            await end(listener, *self._tasks)

    async def _claim_one(self) -> bool:
        try:
            hint = self._hints.popleft() if self._hints else None
            claim = await self._store.claim(self.name, lease=self._lease, schema=SCHEMA, prefer=hint)
        except StoreError as error:
            log.error("no job can be claimed: %s", error)  # noqa: TRY400 - one clear line, no trace
            await asyncio.sleep(PATIENCE)
            return False
        if claim is None:
            return False
        owner = Owner(claim, self._store, self._performer, lease=self._lease)
        self._owners[claim.key] = owner
        task = asyncio.create_task(self._own(claim.key, owner))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return True

    async def _own(self, key: JobKey, owner: Owner) -> None:
        try:
            await owner.work()
        except Exception:
            log.exception("job %s: its work broke; it is tried again when the lease has run out", key.job)
        finally:
            if self._owners.get(key) is owner:
                del self._owners[key]
            self._wake.set()

    async def _nap(self) -> None:
        nap = LONGEST_NAP
        with contextlib.suppress(StoreError):
            due = await self._store.next_due()
            if due is not None and len(self._owners) < self._slots:
                nap = min(nap, max(0.01, due - await self._store.now()))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(nap):
                await self._wake.wait()

    async def _listen(self) -> None:
        async for key in self._store.signals():
            self.nudge(key)


async def end(*tasks: asyncio.Task[None]) -> None:
    """Cancel tasks until all have ended: a library in between may swallow one cancellation."""
    while alive := [task for task in tasks if not task.done()]:
        for task in alive:
            task.cancel()
        await asyncio.wait(alive, timeout=1)
