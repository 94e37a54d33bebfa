"""Runs one claimed job: folds its log, runs the outstanding effects side by side, and commits their events."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
from collections.abc import Awaitable, Callable
from typing import Protocol

from bot.jobs.effect_tasks import EffectTasks, StuckLimits
from bot.jobs.event_writer import EventWriter
from bot.jobs.exclusive_trial import MAX_TRIAL_SECONDS, Exclusivity, NoExclusivity, Trial
from bot.jobs.lease import (
    CANCEL_SECONDS,
    LAST_EDIT_SECONDS,
    RELEASE_SECONDS,
    REPEAT_EDITS_DELAY_SECONDS,
    Fenced,
    Lease,
    Stalled,
    TeardownLimits,
    finish_despite_cancel,
    log_and_classify_error,
    log_task_error,
    read_boot_clock,
)
from bot.jobs.quarantine import UnreadableLog, describe_unreadable_log, quarantine_job
from bot.jobs.released_jobs import ReleasedJobs
from bot.logs import log_context
from bot.store.redis.redis_store import Store
from bot.store.values import Claim, LogBroken, StoreError
from handoff import events as ev
from handoff.effects import Effect, RunSubtask
from handoff.engine.ladder import MAX_LOST_OWNERS
from handoff.engine.outstanding_effects import list_outstanding_effects
from handoff.events import NewerEventError
from handoff.state.job_state import Job, RequestState
from handoff.summaries.summary import QuarantineNotice, TrialNotice

log = logging.getLogger(__name__)

MAX_HOLD_SECONDS = 2.0
"""Seconds. An idle job is kept if its next effect is due sooner, and otherwise released until that effect is due."""
STOPPING_POST_SECONDS = 0.9
"""Seconds that posts under way get to reach Slack when the instance is stopping."""
MAX_SLEEP_SECONDS = 3600.0
"""Seconds that a runner sleeps if nothing is due at a known time. Events wake it earlier."""


LEFT_JOB_DELAY_SECONDS = 0.5
"""Seconds after which a job that was left to another instance is due again."""

BelongsElsewhere = Callable[[RequestState], Awaitable[bool]]
"""Returns whether a request has to be left to another instance."""


def _were_edits_delivered(last_edits: asyncio.Task[bool]) -> bool:
    """Return True if the last edits of a thread have ended and Slack took them all."""
    return last_edits.done() and not last_edits.cancelled() and last_edits.exception() is None and last_edits.result()


async def belongs_nowhere_else(_ask: RequestState) -> bool:
    """Return False: no request is left to another instance."""
    return False


class Effects(Protocol):
    """Runs the effects of jobs, and shows people their progress. One object serves many job runners."""

    async def run(self, effect: Effect, runner: JobRunner) -> ev.Event | None:
        """Run an effect and return its event; None if there is nothing to commit."""

    def show_job_change(self, runner: JobRunner, before: Job, after: Job) -> None:
        """Show the change from `before` to `after` on the card and in the session's status. Must not block."""

    async def stop_showing_job(self, runner: JobRunner) -> bool:
        """Stop updating what people see of a job that is no longer run here.

        Returns False if the job is idle and Slack did not accept its last edits in time. If the job is over too, it is
        then due again, so that the edits are repeated.
        """

    async def announce_trial(self, claim: Claim, notice: TrialNotice) -> None:
        """Tell the thread, once, that an instance is about to run its job alone."""

    async def announce_quarantine(self, claim: Claim, notice: QuarantineNotice) -> None:
        """Tell the thread, once, that its job is quarantined, and update the card and the session if possible."""


class ForwardingEffects:
    """`Effects` that pass every call on to other `Effects`. A subclass adds to some of the calls."""

    def __init__(self, effects: Effects) -> None:
        self._effects = effects

    async def run(self, effect: Effect, runner: JobRunner) -> ev.Event | None:
        """Pass the call on."""
        return await self._effects.run(effect, runner)

    def show_job_change(self, runner: JobRunner, before: Job, after: Job) -> None:
        """Pass the call on."""
        self._effects.show_job_change(runner, before, after)

    async def stop_showing_job(self, runner: JobRunner) -> bool:
        """Pass the call on."""
        return await self._effects.stop_showing_job(runner)

    async def announce_trial(self, claim: Claim, notice: TrialNotice) -> None:
        """Pass the call on."""
        await self._effects.announce_trial(claim, notice)

    async def announce_quarantine(self, claim: Claim, notice: QuarantineNotice) -> None:
        """Pass the call on."""
        await self._effects.announce_quarantine(claim, notice)


class JobRunner:
    """The runner of one claimed job, on this instance.

    Args:
        claim: The claim of the job.
        store: The store that keeps the job.
        effects: Runs the job's effects.
        lease: Seconds for which the job is ours unless the lease is renewed.
        claimed_at: When the claim was sent, on the clock of `bot.jobs.lease.read_boot_clock`; None: now.
        stuck_limits: When work counts as stuck.
        belongs_elsewhere: Returns whether a request has to be left to another instance.
        released_jobs: The long jobs that this instance ran recently.
        exclusivity: Makes the instance hold no other job during the trial of this one.
    """

    def __init__(  # noqa: PLR0913 - the parts of an instance that a job needs
        self,
        claim: Claim,
        store: Store,
        effects: Effects,
        *,
        lease: float,
        claimed_at: float | None = None,
        stuck_limits: StuckLimits | None = None,
        belongs_elsewhere: BelongsElsewhere = belongs_nowhere_else,
        released_jobs: ReleasedJobs | None = None,
        exclusivity: Exclusivity | None = None,
    ) -> None:
        self.claim = claim
        self.is_left_to_others = False
        """True if we released the job because only another instance can go on with it."""
        self.is_idle = False
        """True if we released the job because nothing is runnable for now."""
        self.is_unreleased = False
        """True if the job is no longer run here, but could not be released because the store is away."""
        self._store = store
        self._effects = effects
        self._lease = Lease(
            claim, store, seconds=lease, claimed_at=read_boot_clock() if claimed_at is None else claimed_at
        )
        self._stuck_limits = stuck_limits or StuckLimits()
        self._belongs_elsewhere = belongs_elsewhere
        self._wake = asyncio.Event()
        self._writer = EventWriter(claim, store, self._wake.set, released_jobs)
        self._effect_tasks = EffectTasks(self._run_effect, self._wake.set, self._stuck_limits)
        self._loaded_job: Job | None = None
        """The job as we loaded it. Its last owner has shown people all changes up to this state."""
        self._shown_job: Job | None = None
        self._inbox_changed = True
        self._effect_error: Exception | None = None
        self._step_started_at: float | None = None
        self._posts_deadline: float | None = None
        """The time by `read_boot_clock` at which posts under way are cancelled; None unless we are stopping."""
        self._teardown: TeardownLimits | None = None
        self._is_quarantined = False
        self._is_broken = False
        self._retry_seconds = lease
        self._exclusivity = exclusivity or NoExclusivity()
        self._is_postponed = False
        """True if we released the job until its trial."""
        self._trial_timer: asyncio.Task[None] | None = None

    @property
    def job(self) -> Job | None:
        """The job as committed; None before its first event."""
        return self._writer.job

    def find_request(self, request_id: str) -> tuple[Job, RequestState]:
        """Return the job as committed and its request of this id. Raises KeyError if there is none."""
        request = self.job.find_request(request_id) if self.job else None
        if self.job is None or request is None:
            raise KeyError(request_id)
        return self.job, request

    def nudge(self) -> None:
        """Have the job's inbox read at once: it has a new event."""
        self._inbox_changed = True
        self._wake.set()

    def stop(self) -> None:
        """Begin to release the job, so that another instance goes on. Only posts under way get time to end."""
        if self._posts_deadline is None:
            self._posts_deadline = read_boot_clock() + STOPPING_POST_SECONDS
            self._wake.set()
            if self._teardown is not None:
                self._teardown.hurry()

    def now(self) -> float:
        """Return the time of the store's clock in seconds since the epoch. All times of a job are on this clock."""
        return self._store.clock()

    async def ensure_held(self) -> None:
        """Make sure that the job is ours; ask the store only if that is not certain. Raises Fenced or StoreError.

        Await it before starting anything that does not directly follow a commit.
        """
        await self._lease.ensure_held()

    async def may_show(self) -> bool:
        """Return True if we may still change the job's messages in Slack. Raises StoreError."""
        return await self._lease.may_show()

    async def report(self, *events: ev.Event) -> None:
        """Commit events, and return once they are committed. Raises Fenced if the job is no longer ours."""
        await self._writer.report(*events)
        await self._lease.ensure_held()

    def report_soon(self, *events: ev.Event) -> None:
        """Have events committed within moments, and return at once. Events reported later are committed after them.

        If the job turns out to be no longer ours, all of its work is cancelled.
        """
        self._writer.report_soon(*events)

    async def run(self) -> None:
        """Run the job until nothing is runnable, then release it. Contents of a job never make this raise."""
        with log_context(job=self.claim.key.job):
            renewals = asyncio.create_task(self._lease.keep_renewing(self._find_stuck_effect))
            main = asyncio.create_task(self._work_until_idle())
            due: float | None = None
            release = False
            try:
                due = await self._wait_for_work_end(main, renewals)
                release = not self._is_quarantined
                self.is_idle = (
                    release and self._posts_deadline is None and not self.is_left_to_others and not self._is_postponed
                )
            except asyncio.CancelledError:
                # We are stopped during the work: another instance, or this one after its next start, goes on at once.
                self.stop()
                due, release = self.now(), not self._is_quarantined
                raise
            except (Fenced, Stalled, StoreError) as error:
                ending = log_and_classify_error(self.claim.key.job, error)
                self._is_broken, self.is_unreleased = ending == "broken", ending == "unreleased"
            except Exception:
                self._is_broken = True
                raise
            finally:
                await finish_despite_cancel(self._tear_down(main, renewals, due=due, release=release))

    async def _wait_for_work_end(self, main: asyncio.Task[float | None], renewals: asyncio.Task[str]) -> float | None:
        """Return when the job is due again, once the work ends. Raises Stalled or Fenced if the lease ends first."""
        await asyncio.wait({main, renewals}, return_when=asyncio.FIRST_COMPLETED)
        if main.done():
            return main.result()
        raise Stalled if renewals.result() == "stalled" else Fenced

    async def _tear_down(
        self, main: asyncio.Task[float | None], renewals: asyncio.Task[str], *, due: float | None, release: bool
    ) -> None:
        limits = self._teardown = TeardownLimits()
        if self._posts_deadline is not None:
            limits.hurry()
        if not main.done():
            main.cancel()
            main.add_done_callback(log_task_error)
            await limits.wait(asyncio.wait({main}), CANCEL_SECONDS)
        self._writer.close()
        await limits.wait(self._effect_tasks.cancel_and_wait(), CANCEL_SECONDS)
        self._writer.close()  # again: effects may have reported while they ended
        self._end_trial()
        last_edits = asyncio.create_task(self._effects.stop_showing_job(self))
        await limits.wait(asyncio.wait({last_edits}), LAST_EDIT_SECONDS)
        last_edits.add_done_callback(log_task_error)
        last_edits.cancel()
        renewals.cancel()
        await limits.wait(asyncio.wait({last_edits, renewals}), CANCEL_SECONDS)
        await self._lease.close()
        is_over = self.job is not None and self.job.current_request is None
        if self._is_broken or (self.is_idle and is_over and not _were_edits_delivered(last_edits)):
            # Make the job due again for its next owner. The failure may have passed by then, and the edits that Slack
            # did not take are repeated. Edits still under way get time to arrive, unless this instance is stopping.
            retries_soon = self._is_broken or self._posts_deadline is not None
            due = min(
                due or math.inf, self.now() + (self._retry_seconds if retries_soon else REPEAT_EDITS_DELAY_SECONDS)
            )
        if release or self._is_broken:
            await self._release(due)

    async def _release(self, due: float | None) -> None:
        # None keeps the count of lost owners: if we stop during the work, the next owner may be lost like those before.
        counts_as_lost = True if self._is_broken else False if self.is_idle else None
        try:
            async with asyncio.timeout(None if self._posts_deadline is None else RELEASE_SECONDS):
                await self._store.jobs.release(self.claim, due=due, counts_as_lost=counts_as_lost)
        except StoreError:
            self.is_unreleased = not self._is_broken
        except TimeoutError:
            log.warning("job %s: the store cannot be told that it is let go of: its lease runs out", self.claim.key.job)

    async def _work_until_idle(self) -> float | None:
        """Work until nothing is runnable. Returns when the job is due again; None if only a new event makes it due."""
        self._step_started_at = read_boot_clock()
        if self.claim.lost_owners >= MAX_LOST_OWNERS and not await self._begin_trial():
            return None if self._is_quarantined else self.now() + self._retry_seconds
        try:
            await self._writer.load_job()
            self._loaded_job = self.job
            # If the job is over, its last owner may have stopped before it showed that to people: announce it again.
            self._shown_job = self.job if self.job is None or self.job.current_request is not None else None
            await self._writer.commit_takeover()
            while True:
                wait, due = await self._run_step()
                if wait is None:
                    return due
                await self._sleep(wait)
        except NewerEventError as error:
            await self._writer.leave_to_newer_release(error.schema)
            return self.now()
        except (LogBroken, UnreadableLog) as error:
            await self._quarantine_job(describe_unreadable_log(error))
            return None

    async def _run_step(self) -> tuple[float | None, float | None]:
        """Commit all reports, then start and cancel effects.

        Returns a pair (wait, due): `wait` is the seconds to sleep before the next step; None: release the job until
        `due`, or until an event comes in if `due` is None too.
        """
        self._wake.clear()
        self._step_started_at = read_boot_clock()
        if self._effect_error is not None:
            raise self._effect_error
        if self._inbox_changed and self._posts_deadline is None:
            self._inbox_changed = False
            await self._writer.commit_inbox()
        await self._writer.commit_reports(include_soon=self._posts_deadline is not None or not self._effect_tasks)
        if self.job is None:
            return None, None
        if self._posts_deadline is not None:
            return self._run_stopping_step(self._posts_deadline)
        if self.job.current_request is not None and await self._belongs_elsewhere(self.job.current_request):
            self.is_left_to_others = True
            return None, self.now() + LEFT_JOB_DELAY_SECONDS
        effects, due = list_outstanding_effects(self.job, self.now())
        self._effect_tasks.sync_effects(effects)
        self._show_change(self.job)  # after the effects were started: showing it must not delay them
        wait = None if due is None else max(0.0, due - self.now())
        if not self._effect_tasks:  # a running effect wakes us with its report
            if self._writer.has_waiting_reports or self._inbox_changed:
                return 0.0, due
            if wait is None or wait > MAX_HOLD_SECONDS:
                return None, due
        return MAX_SLEEP_SECONDS if wait is None else wait, due

    def _run_stopping_step(self, deadline: float) -> tuple[float | None, float | None]:
        self._effect_tasks.cancel_all_but_posts()
        seconds_left = deadline - read_boot_clock()
        if not self._writer.has_waiting_reports and (not self._effect_tasks or seconds_left <= 0):
            return None, self.now()
        return max(0.0, seconds_left), None

    async def _sleep(self, seconds: float) -> None:
        self._step_started_at = None
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._wake.wait()

    async def _begin_trial(self) -> bool:
        """Begin the trial of a job that has lost too many owners. False if we have to release the job instead."""
        trial = Trial(self.claim, self._store, self._exclusivity)
        verdict = await trial.read_stage()
        if verdict == "guilty":
            await self._quarantine_job("")
            return False
        if verdict == "untold":
            await trial.announce(self._effects.announce_trial)
        elif await trial.begin():
            self._writer.on_first_progress = self._end_trial
            self._trial_timer = asyncio.create_task(self._end_trial_after_limit(trial))
            self._trial_timer.add_done_callback(log_task_error)
            return True
        self._is_postponed = True
        return False

    async def _end_trial_after_limit(self, trial: Trial) -> None:
        await asyncio.sleep(MAX_TRIAL_SECONDS)
        self._writer.on_first_progress = None
        await trial.end_without_progress(self.job.seq if self.job is not None else 0)

    def _end_trial(self) -> None:
        if self._trial_timer is not None:
            self._trial_timer.cancel()
        self._exclusivity.end_trial(self.claim.key)

    async def _quarantine_job(self, log_fault: str) -> None:
        self._is_quarantined = True
        await quarantine_job(self.claim, self._store, self._effects.announce_quarantine, log_fault=log_fault)

    def _show_change(self, job: Job) -> None:
        if job is not self._shown_job:
            before, self._shown_job = self._shown_job or self._loaded_job, job
            self._effects.show_job_change(self, before or Job(place=job.place), job)

    async def _run_effect(self, effect: Effect) -> None:
        subtask, attempt = (effect.subtask, effect.attempt) if isinstance(effect, RunSubtask) else ("", 0)
        try:
            with log_context(request=effect.request, subtask=subtask, attempt=attempt, effect=type(effect).__name__):
                await self._lease.ensure_held()
                event = await self._effects.run(effect, self)
                if event is not None:
                    await self.report(event)
        except Exception as error:  # noqa: BLE001 - any exception ends the work: `_run_step` raises it
            self._effect_error = error

    def _find_stuck_effect(self) -> str:
        """Return the name of a stuck effect for logs, or of this runner if its own step is stuck; "" if neither is."""
        if (
            self._step_started_at is not None
            and read_boot_clock() - self._step_started_at > self._stuck_limits.step_seconds
        ):
            return "its owner"
        return self._effect_tasks.describe_stuck_effect()
