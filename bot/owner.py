"""Works on one claimed job: folds its log, performs what is outstanding side by side, commits what happened.

There is one committer a job. What its performers report while a commit is
under way goes into the next one together, so that a busy job costs few writes.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import logging
import time
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from handoff import events as ev
from handoff.effects import Effect
from handoff.engine import apply, fold, outstanding
from handoff.job import Job
from handoff.store.interface import Claim, Commit, Store, StoreError

log = logging.getLogger(__name__)

HOLD = 2.0
"""Seconds: a job whose next work comes up sooner is kept, a later one is let go until then."""


class Fenced(Exception):
    """The job is no longer ours: nothing more may be committed or posted."""


class Performer(Protocol):
    """Performs effects. Every call belongs to one owner, which it reports to."""

    async def perform(self, effect: Effect, owner: Owner) -> ev.Event | None:
        """Do it, and say what happened. None: it was reported already, or there is nothing to say."""

    def changed(self, owner: Owner, before: Job, after: Job) -> None:
        """Told when commits changed the job, to keep the card and the status up to date. Must not block."""

    async def left(self, owner: Owner) -> None:
        """Told when the owner lets go of the job, whatever the reason."""


@dataclass(slots=True)
class _Report:
    events: Sequence[ev.Event]
    done: asyncio.Future[None] | None = None
    """None: nobody waits for it."""


class Owner:
    """One claimed job in the hands of this instance."""

    def __init__(self, claim: Claim, store: Store, performer: Performer, *, lease: float) -> None:
        self.claim = claim
        self.job: Job | None = None
        self.rests = False
        """Whether all was done that could be done for now; False while at work, and where the job was lost."""
        self._store = store
        self._performer = performer
        self._lease = lease
        self._shown: Job | None = None
        self._running: dict[Effect, asyncio.Task[None]] = {}
        self._reports: list[_Report] = []
        self._wake = asyncio.Event()
        self._inbox = True
        self._operations = itertools.count(1)
        self._trouble: Fenced | StoreError | None = None
        self._over = False

    def nudge(self) -> None:
        """Something came in for this job: look at its inbox at once."""
        self._inbox = True
        self._wake.set()

    async def report(self, *events: ev.Event) -> None:
        """Commit events and return when they are kept. Raises Fenced if the job is no longer ours."""
        if self._over:
            raise Fenced  # nobody commits any more: who waited for it would wait for ever
        done = asyncio.get_running_loop().create_future()
        self._reports.append(_Report(events, done))
        self._wake.set()
        await done

    def note(self, *events: ev.Event) -> None:
        """Commit events soon, before any that is reported later; for those that nothing has to wait for.

        If the job is no longer ours, all of its work is cancelled.
        """
        self._reports.append(_Report(events))
        self._wake.set()

    async def work(self) -> None:
        """Do all that can be done for now, then let go of the job. Never raises for what a job may hold."""
        beat = asyncio.create_task(self._beat())
        due: float | None = None
        lets_go = False
        try:
            due = await self._work(beat)
            self.rests = lets_go = True
        except asyncio.CancelledError:
            # We are told to stop in the middle of it: whoever is there, or starts next, goes on at once.
            due, lets_go = time.time(), True
            raise
        except Fenced:
            log.warning("job %s: taken over by another instance", self.claim.key.job)
        except StoreError as error:
            log.error("job %s: %s", self.claim.key.job, error)  # noqa: TRY400 - one clear line, no trace
        finally:
            beat.cancel()
            await _to_the_end(self._let_go(beat, due=due, release=lets_go))

    async def _let_go(self, beat: asyncio.Task[None], *, due: float | None, release: bool) -> None:
        await self._drop_all()
        await asyncio.gather(beat, return_exceptions=True)
        await self._performer.left(self)
        if release:
            with contextlib.suppress(StoreError):
                await self._store.release(self.claim, due=due)

    async def _work(self, beat: asyncio.Task[None]) -> float | None:
        await self._load()
        while True:
            self._wake.clear()
            if self._trouble is not None:
                raise self._trouble
            if beat.done():
                raise Fenced
            if self._inbox:
                await self._take_inbox()
            await self._commit_reports()
            if self.job is None:
                return None
            due = self._start_and_cancel(self.job)
            self._show(self.job)  # after the work was started: what people see must not hold it up
            if self._reports or self._inbox:
                continue
            wait = None if due is None else max(0.0, due - time.time())
            if not self._running and (wait is None or wait > HOLD):
                return due
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await self._wake.wait()

    async def _load(self) -> None:
        entries = await self._store.log(self.claim.key)
        self.job = self._shown = fold(ev.load(entry.payload) for entry in entries)

    async def _take_inbox(self) -> None:
        self._inbox = False
        entries = await self._store.inbox(self.claim.key)
        if entries:
            await self._commit([ev.load(entry.payload) for entry in entries], taken=[entry.seq for entry in entries])

    async def _commit_reports(self) -> None:
        while self._reports:
            reports, self._reports = self._reports, []
            try:
                await self._commit([event for report in reports for event in report.events])
            except BaseException:
                _cancel(reports)
                raise
            for report in reports:
                if report.done is not None and not report.done.done():
                    report.done.set_result(None)

    async def _commit(self, events: list[ev.Event], taken: Sequence[int] = ()) -> None:
        before = self.job
        after = before
        for event in events:
            after = apply(after, event)
        if after is None:
            return
        operation = f"{self.claim.owner}:{self.claim.epoch}:{next(self._operations)}"
        outcome = await self._store.commit(
            self.claim,
            operation,
            before.seq if before else 0,
            [ev.dump(event) for event in events],
            taken=taken,
            fields=projection(after),
            schema=ev.SCHEMA,
            ends=after.current is None,
        )
        if outcome in {Commit.FENCED, Commit.CONFLICT}:
            raise Fenced
        self.job = after

    def _show(self, job: Job) -> None:
        if job is not self._shown:
            before, self._shown = self._shown, job
            self._performer.changed(self, before or Job(place=job.place), job)

    def _start_and_cancel(self, job: Job) -> float | None:
        effects, due = outstanding(job, time.time())
        wanted = set(effects)
        for effect, task in self._running.items():
            if effect not in wanted:
                task.cancel()
        for effect in effects:
            if effect not in self._running:
                self._running[effect] = asyncio.create_task(self._perform(effect))
        return due

    async def _perform(self, effect: Effect) -> None:
        try:
            event = await self._performer.perform(effect, self)
            if event is not None:
                await self.report(event)
        except (Fenced, StoreError) as error:
            self._trouble = error
        finally:
            self._running.pop(effect, None)
            self._wake.set()

    async def _drop_all(self) -> None:
        self._over = True
        tasks = list(self._running.values())
        for task in tasks:
            task.cancel()
        _cancel(self._reports)
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _beat(self) -> None:
        """Renew the lease for as long as the job's work is alive. Ends when the job is no longer ours."""
        while True:
            await asyncio.sleep(self._lease / 3)
            try:
                if not await self._store.beat(self.claim, lease=self._lease):
                    break
            except StoreError as error:
                log.warning("job %s: the lease could not be renewed: %s", self.claim.key.job, error)
        self._wake.set()


def _cancel(reports: Sequence[_Report]) -> None:
    for report in reports:
        if report.done is not None:
            report.done.cancel()


async def _to_the_end(work: Coroutine[Any, Any, None]) -> None:
    """Do it whole: told to stop meanwhile, stop after it. A job that is not let go of rests until its lease ends."""
    task = asyncio.create_task(work)
    told = False
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            told = True
    task.result()
    if told:
        raise asyncio.CancelledError


def projection(job: Job) -> dict[str, str]:
    """What status needs of a job without replaying its log; kept beside the log by the same script."""
    ask = job.latest
    questions = [
        {"request": ask.id, "subtask": name, "number": work.question.number, "user": ask.request.user}
        for name, work in ask.work.items()
        if work.state == "input_required" and work.question is not None and ask.answer is None and ask.failure is None
    ]
    return {
        "state": ask.state,
        "title": (ask.plan.goal if ask.plan else ask.request.text)[:200],
        "user": ask.request.user,
        "channel": job.place.channel,
        "thread_ts": job.place.thread_ts,
        "asked": str(ask.request.at),
        "questions": json.dumps(questions) if questions else "",
    }
