"""One instance: claims jobs as slots are free, and passes on what comes in for those it owns."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
from collections import OrderedDict, deque

from bot.jobs.job_runner import Owner, Performer
from bot.jobs.lease import steady
from bot.jobs.shutdown import ENDS_IN
from bot.jobs.tasks import Bounds
from bot.store.interface import Claim, JobKey, Store, StoreError
from handoff.events import SCHEMA

log = logging.getLogger(__name__)

LONGEST_NAP = 5.0
"""Seconds between two looks at the store, should every notice be lost."""
SHORTEST_NAP = 0.25
"""Seconds to wait where a job should be ready and none was given: another instance is at it."""
PATIENCE = 1.0
"""Seconds to wait after the store could not be reached, or was full."""
LET_GO = 1.1
"""Seconds that owners get until they are cut short when we are told to stop. All that they then do is bounded."""

CLOSING = 0.3
"""Seconds that are kept for closing what is open then."""
SHORTEST_REST = 0.1


class Instance:
    """Works on up to `slots` jobs at once; each is owned for `lease` seconds unless renewed."""

    def __init__(
        self, store: Store, performer: Performer, *, slots: int, lease: float, bounds: Bounds | None = None
    ) -> None:
        self.name = secrets.token_hex(6)
        self.full = ""
        """Why nothing is claimed although slots are free, or empty."""
        self._store = store
        self._performer = performer
        self._slots = slots
        self._lease = lease
        self._bounds = bounds or Bounds()
        self._owners: dict[JobKey, Owner] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._owed: deque[Claim] = deque(maxlen=slots)
        self._away_since: float | None = None
        self._stopping = False
        self._told: float | None = None
        self._wake = asyncio.Event()
        self._hints: OrderedDict[JobKey, None] = OrderedDict()

    @property
    def owned(self) -> int:
        """How many jobs it works on."""
        return len(self._owners)

    @property
    def away(self) -> bool:
        """Whether the store could not be reached at the last try."""
        return self._away_since is not None

    def nudge(self, key: JobKey) -> None:
        """Something came in for a job: tell its owner if that is us, else look whether it can be claimed."""
        owner = self._owners.get(key)
        if owner is not None:
            owner.nudge()
        else:
            self._hints[key] = None  # one mention is heard of several times: each way to here may be the fastest
            if len(self._hints) > self._slots:
                self._hints.popitem(last=False)
        self._wake.set()

    async def run(self) -> None:
        """Claim and work until stopped or cancelled; then let go of every job, so that others can go on at once."""
        listener = asyncio.create_task(self._listen())
        try:
            while not self._stopping:
                self._wake.clear()
                if len(self._owners) >= self._slots or not await self._claim_one():
                    await self._nap()
            await self._let_go()
        finally:
            await end(listener, *self._tasks)

    def leave(self) -> None:
        """Claim nothing from now on, and begin to let go of all jobs. `stop` waits for the end of it."""
        self._stopping = True
        self._told = steady() if self._told is None else self._told
        self._wake.set()
        for owner in self._owners.values():
            owner.leave()

    async def stop(self) -> None:
        """Claim nothing from now on, and let go of all jobs within two seconds of `leave`. May be called again."""
        self.leave()
        await self._let_go()

    async def _let_go(self) -> None:
        if self._tasks and self._told is not None:
            await asyncio.wait(self._tasks, timeout=max(0.0, self._told + LET_GO - steady()))
        await end(*self._tasks)

    def time_left(self) -> float:
        """Seconds that are left, when we are told to stop, for what goes on beside the owners."""
        gone = 0.0 if self._told is None else steady() - self._told
        return max(SHORTEST_REST, ENDS_IN - CLOSING - gone)

    async def _claim_one(self) -> bool:
        try:
            await self._settle_up()
            if await self._is_full():
                return False
            hint = self._hints.popitem(last=False)[0] if self._hints else None
            since = steady()
            claim = await self._store.jobs.claim(self.name, lease=self._lease, schema=SCHEMA, prefer=hint)
            if claim is not None and self._stopping:
                await self._store.jobs.release(claim, due=self._store.clock(), lost=None)
                return False
        except StoreError as error:
            self._gone(error)
            return False
        if claim is None:
            return False
        owner = Owner(claim, self._store, self._performer, lease=self._lease, since=since, bounds=self._bounds)
        self._owners[claim.key] = owner  # which looks into the inbox first of all, whatever is still to be heard of it
        self._hints.pop(claim.key, None)
        task = asyncio.create_task(self._own(claim.key, owner))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return True

    async def _settle_up(self) -> None:
        """Once the store is back, release the jobs that it was not told of, so that nobody waits for their leases.

        An owner may have found it away although no look for work did.
        """
        if self._away_since is not None:
            await self._store.jobs.next_due()
            log.warning("the store is back after %.0f s", steady() - self._away_since, extra={"event": "store_back"})
            self._away_since = None
        while self._owed:
            await self._store.jobs.release(self._owed[0], due=self._store.clock(), lost=None)
            self._owed.popleft()

    def _gone(self, error: StoreError) -> None:
        if self._away_since is None:
            self._away_since = steady()
            log.error("no job can be claimed until the store is back: %s", error, extra={"event": "store_away"})

    async def _is_full(self) -> bool:
        full = await self._store.full()
        if bool(full) != bool(self.full):
            text = f"no job is claimed: {full}" if full else "the store has room again; jobs are claimed"
            log.warning("%s", text, extra={"event": "memory_full"} if full else None)
        self.full = full
        return bool(full)

    async def _own(self, key: JobKey, owner: Owner) -> None:
        try:
            await owner.work()
        except Exception:
            log.exception("job %s: its work broke; it is tried again when the lease has run out", key.job)
        finally:
            if self._owners.get(key) is owner:
                del self._owners[key]
            if owner.owed:
                self._owed.append(owner.claim)
            self._wake.set()

    async def _nap(self) -> None:
        nap = PATIENCE if self.away or self.full else LONGEST_NAP
        if not self.away and not self.full and len(self._owners) < self._slots:
            try:
                due = await self._store.jobs.next_due()
            except StoreError as error:
                self._gone(error)
                nap = PATIENCE
            else:
                wait = LONGEST_NAP if due is None else due - self._store.clock()
                nap = min(nap, wait) if wait > 0 else SHORTEST_NAP
        if self.away and not self._stopping:
            self._wake.clear()  # what comes in cannot be claimed now: do not ask for each of it
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
