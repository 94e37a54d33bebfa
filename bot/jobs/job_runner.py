"""Works on one claimed job: folds its log, performs what is outstanding side by side, commits what happened."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import Protocol

from bot.jobs.event_writer import Committer
from bot.jobs.lease import Fenced, Lease, steady
from bot.jobs.letting_go import LAST_EDIT, LAST_WORD, STUBBORN, Patience, Stalled, note_fault, say_why, to_the_end
from bot.jobs.quarantine import Teller, Unreadable, set_aside, unreadable_reason
from bot.jobs.tasks import Bounds, SideBySide
from bot.logs import about
from bot.store.interface import Claim, LogBroken, Store, StoreError
from handoff import events as ev
from handoff.effects import Effect, RunSubtask
from handoff.engine.engine import outstanding
from handoff.engine.policy import MAX_LOST_OWNERS
from handoff.state import Ask, Job
from handoff.upcasters import NewerEvent

log = logging.getLogger(__name__)

HOLD = 2.0
"""Seconds: a job whose next work comes up sooner is kept, a later one is let go until then."""
LAST_POSTS = 0.9
"""Seconds that messages on their way get to arrive when we are told to stop."""
FOREVER = 3600.0
"""Seconds of sleep where only something that happens can be a reason to wake."""


class Performer(Teller, Protocol):
    """Performs effects. Every call belongs to one owner, which it reports to."""

    async def perform(self, effect: Effect, owner: Owner) -> ev.Event | None:
        """Do it, and say what happened. None: it was reported already, or there is nothing to say."""

    def changed(self, owner: Owner, before: Job, after: Job) -> None:
        """Told when commits changed the job, to keep the card and the status up to date. Must not block."""

    async def left(self, owner: Owner) -> None:
        """Told when the owner lets go of the job, whatever the reason."""


class Owner:
    """One claimed job in the hands of this instance.

    Args:
        claim: The job.
        store: Where it is.
        performer: Does its work.
        lease: Seconds that it is ours unless renewed.
        since: When the claim was sent, on the clock of `bot.jobs.lease.steady`; now unless given.
        bounds: When its work counts as stuck.
    """

    def __init__(
        self,
        claim: Claim,
        store: Store,
        performer: Performer,
        *,
        lease: float,
        since: float | None = None,
        bounds: Bounds | None = None,
    ) -> None:
        self.claim = claim
        self.rests = False
        """Whether all was done that could be done for now; False while at work, and where the job was lost."""
        self.owed = False
        """Whether the store, which is away, was not told of our letting go."""
        self._store = store
        self._performer = performer
        self._lease = Lease(claim, store, seconds=lease, since=steady() if since is None else since)
        self._bounds = bounds or Bounds()
        self._wake = asyncio.Event()
        self._committer = Committer(claim, store, self._wake.set)
        self._running = SideBySide(self._perform, self._wake.set, self._bounds)
        self._shown: Job | None = None
        self._inbox = True
        self._trouble: Exception | None = None
        self._step_began: float | None = None
        self._leaves: float | None = None
        self._patience: Patience | None = None
        self._aside = False
        self._broke = False
        self._pause = lease

    @property
    def job(self) -> Job | None:
        """The job as committed; None before its first event."""
        return self._committer.job

    def at(self, request: str) -> tuple[Job, Ask]:
        """The job as committed, and that request of it. Raises KeyError where there is none."""
        ask = self.job.ask(request) if self.job else None
        if self.job is None or ask is None:
            raise KeyError(request)
        return self.job, ask

    def nudge(self) -> None:
        """Something came in for this job: look at its inbox at once."""
        self._inbox = True
        self._wake.set()

    def leave(self) -> None:
        """Let go of the job soon, for another instance to go on: only messages on their way get to arrive."""
        if self._leaves is None:
            self._leaves = steady() + LAST_POSTS
            self._wake.set()
            if self._patience is not None:
                self._patience.hurry()

    def now(self) -> float:
        """Seconds since the epoch on the store's clock, which all times of a job are on."""
        return self._store.clock()

    async def hold(self) -> None:
        """Return if the job is ours; costs nothing while that is certain. Raises Fenced or StoreError.

        For whoever is about to start something that was not committed just before.
        """
        await self._lease.hold()

    async def shows(self) -> bool:
        """Whether something may still be shown for the job, see `Lease.shows`. Raises StoreError."""
        return await self._lease.shows()

    async def report(self, *events: ev.Event) -> None:
        """Commit events and return when they are kept. Raises Fenced if the job is no longer ours."""
        await self._committer.report(*events)
        await self._lease.hold()

    def note(self, *events: ev.Event) -> None:
        """Commit events soon, before any that is reported later; for those that nothing has to wait for.

        If the job is no longer ours, all of its work is cancelled.
        """
        self._committer.note(*events)

    async def work(self) -> None:
        """Do all that can be done for now, then let go of the job. Never raises for what a job may hold."""
        with about(job=self.claim.key.job):
            keeping = asyncio.create_task(self._lease.keep(self._stuck))
            main = asyncio.create_task(self._work())
            due: float | None = None
            lets_go = False
            try:
                due = await self._whichever_ends(main, keeping)
                lets_go = not self._aside
                self.rests = lets_go and self._leaves is None
            except asyncio.CancelledError:
                # We are told to stop in the middle of it: whoever is there, or starts next, goes on at once.
                self.leave()
                due, lets_go = self.now(), not self._aside
                raise
            except (Fenced, Stalled, StoreError) as error:
                ending = say_why(self.claim.key.job, error)
                self._broke, self.owed = ending == "broke", ending == "owed"
            except Exception:
                self._broke = True
                raise
            finally:
                await to_the_end(self._let_go(main, keeping, due=due, release=lets_go))

    async def _whichever_ends(self, main: asyncio.Task[float | None], keeping: asyncio.Task[str]) -> float | None:
        """The end of the work, or of the lease if that comes first."""
        await asyncio.wait({main, keeping}, return_when=asyncio.FIRST_COMPLETED)
        if main.done():
            return main.result()
        raise Stalled if keeping.result() == "stalled" else Fenced

    async def _let_go(
        self, main: asyncio.Task[float | None], keeping: asyncio.Task[str], *, due: float | None, release: bool
    ) -> None:
        patience = self._patience = Patience()
        if self._leaves is not None:
            patience.hurry()
        if not main.done():
            main.cancel()
            main.add_done_callback(note_fault)
            await patience.wait(asyncio.wait({main}), STUBBORN)
        self._committer.close()
        await patience.wait(self._running.drop(), STUBBORN)
        self._committer.close()
        leaving = asyncio.create_task(self._performer.left(self))
        await patience.wait(asyncio.wait({leaving}), LAST_EDIT)
        leaving.add_done_callback(note_fault)
        leaving.cancel()
        keeping.cancel()
        await patience.wait(asyncio.wait({leaving, keeping}), STUBBORN)
        await self._lease.close()
        if self._broke:
            due = self.now() + self._pause  # whoever is next: what broke may be on its way to mend itself
        if release or self._broke:
            await self._release(due)

    async def _release(self, due: float | None) -> None:
        # Handed over in the middle of it, its next owner may fare as those that were lost: they go on counting.
        lost = True if self._broke else False if self.rests else None
        try:
            async with asyncio.timeout(None if self._leaves is None else LAST_WORD):
                await self._store.jobs.release(self.claim, due=due, lost=lost)
        except StoreError:
            self.owed = not self._broke
        except TimeoutError:
            log.warning("job %s: the store cannot be told that it is let go of: its lease runs out", self.claim.key.job)

    async def _work(self) -> float | None:
        self._step_began = steady()
        if self.claim.lost >= MAX_LOST_OWNERS:
            await self._set_aside("")
            return None
        try:
            await self._committer.load()
            # Of a job that is over, nobody knows whether its last owner, told to stop, still told the session so.
            self._shown = self.job if self.job is None or self.job.current is not None else None
            await self._committer.take_over()
            while True:
                wait, due = await self._step()
                if wait is None:
                    return due
                await self._sleep(wait)
        except NewerEvent as error:
            await self._committer.leave_to_newer(error.schema)
            return self.now()
        except (LogBroken, Unreadable) as error:
            await self._set_aside(unreadable_reason(error))
            return None

    async def _step(self) -> tuple[float | None, float | None]:
        """Commit, start and cancel what there is. Gives the seconds to wait for more, None: let go until `due`."""
        self._wake.clear()
        self._step_began = steady()
        if self._trouble is not None:
            raise self._trouble
        if self._inbox and self._leaves is None:
            self._inbox = False
            await self._committer.take_inbox()
        await self._committer.commit_reports(noted=self._leaves is not None or not self._running)
        if self.job is None:
            return None, None
        if self._leaves is not None:
            return self._last_posts(self._leaves)
        effects, due = outstanding(self.job, self.now())
        self._running.match(effects)
        self._show(self.job)  # after the work was started: what people see must not hold it up
        wait = None if due is None else max(0.0, due - self.now())
        if not self._running:  # else whatever comes in wakes us
            if self._committer.waiting or self._inbox:
                return 0.0, due
            if wait is None or wait > HOLD:
                return None, due
        return FOREVER if wait is None else wait, due

    def _last_posts(self, until: float) -> tuple[float | None, float | None]:
        self._running.only_posts()
        left = until - steady()
        if not self._committer.waiting and (not self._running or left <= 0):
            return None, self.now()
        return max(0.0, left), None

    async def _sleep(self, seconds: float) -> None:
        self._step_began = None
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._wake.wait()

    async def _set_aside(self, unreadable: str) -> None:
        self._aside = True
        await set_aside(self.claim, self._store, self._performer, unreadable=unreadable)

    def _show(self, job: Job) -> None:
        if job is not self._shown:
            before, self._shown = self._shown, job
            self._performer.changed(self, before or Job(place=job.place), job)

    async def _perform(self, effect: Effect) -> None:
        subtask, attempt = (effect.subtask, effect.attempt) if isinstance(effect, RunSubtask) else ("", 0)
        try:
            with about(request=effect.request, subtask=subtask, attempt=attempt, effect=type(effect).__name__):
                await self._lease.hold()
                event = await self._performer.perform(effect, self)
                if event is not None:
                    await self.report(event)
        except Exception as error:  # noqa: BLE001 - whatever it is, it ends the work: the main task raises it
            self._trouble = error

    def _stuck(self) -> str:
        """What has gone on for too long, in words: an effect, or our own step."""
        if self._step_began is not None and steady() - self._step_began > self._bounds.step:
            return "its owner"
        return self._running.stuck()
