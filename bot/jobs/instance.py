"""One instance of the bot: claims jobs while slots are free, and runs each in a `JobRunner`."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
from collections import Counter, OrderedDict, deque
from collections.abc import Awaitable, Callable

from bot.jobs.job_runner import LEFT_JOB_SECONDS, BelongsElsewhere, Effects, JobRunner, belongs_nowhere_else
from bot.jobs.lease import boottime
from bot.jobs.opened_jobs import ReleasedJobs
from bot.jobs.shutdown import SHUTDOWN_SECONDS
from bot.jobs.tasks import StuckLimits
from bot.store.redis.redis_store import Store
from bot.store.values import Claim, Holder, JobKey, StoreError
from handoff.events import SCHEMA

log = logging.getLogger(__name__)

LONGEST_NAP = 5.0
"""Seconds at most between two looks for due jobs, in case the store's notices are lost."""
SHORTEST_NAP = 0.25
"""Seconds to wait if a job is due but the store did not give it to us: another instance is claiming it."""
STORE_NAP = 1.0
"""Seconds to wait after the store could not be reached, or was full."""
RUNNER_END_SECONDS = 1.1
"""Seconds that job runners get to end by themselves when we are told to stop. After that they are cancelled."""
CLOSE_SECONDS = 0.3
"""Seconds of the shutdown that are reserved for closing connections."""
MIN_TIME_LEFT = 0.1
UNREACHABLE_TEAM_SECONDS = 60.0
"""Seconds until a job is due again whose team cannot be reached."""
MIN_SHARED_SLOTS = 4
"""With at least this many slots, an instance shares them between people and between teams."""
MAX_SLOT_SHARE = 0.75
"""The largest share of the slots for the jobs of one person; with several teams, also for the jobs of one team."""


LEFT_ALONE_SECONDS = LEFT_JOB_SECONDS + 2.0
"""Seconds for which a person's due jobs are not claimed, after one of them was left to another instance."""


def make_instance_name() -> str:
    """Return a new random name for an instance."""
    return secrets.token_hex(6)


async def can_reach_any_team(_team: str) -> bool:
    """Return True: every team can be reached."""
    return True


class Instance:
    """Claims due jobs and runs them.

    Args:
        store: The store that keeps the jobs.
        effects: Runs the effects of all jobs.
        slots: How many jobs are run at once.
        lease: Seconds for which a claimed job is owned unless the lease is renewed.
        bounds: When work counts as stuck.
        name: The name of this instance; random if empty.
        belongs_elsewhere: Returns whether a request has to be left to another instance.
        find_hold_reason: Returns why no job may be claimed at present; empty if jobs may be claimed.
        can_reach_team: Returns whether Slack can be called for a team; if not, its jobs are released for
            `UNREACHABLE_TEAM_SECONDS` seconds.
        has_several_teams: Returns whether there are several teams, which then share the slots.
    """

    def __init__(  # noqa: PLR0913 - what an instance asks before it takes a job
        self,
        store: Store,
        effects: Effects,
        *,
        slots: int,
        lease: float,
        bounds: StuckLimits | None = None,
        name: str = "",
        belongs_elsewhere: BelongsElsewhere = belongs_nowhere_else,
        find_hold_reason: Callable[[], str] = str,
        can_reach_team: Callable[[str], Awaitable[bool]] = can_reach_any_team,
        has_several_teams: Callable[[], bool] = bool,
    ) -> None:
        self.name = name or make_instance_name()
        self.hold_reason = ""
        """Why no job is claimed although slots are free; empty if jobs are claimed."""
        self._store = store
        self._effects = effects
        self._slots = slots
        self._lease = lease
        self._bounds = bounds or StuckLimits()
        self._runners: dict[JobKey, JobRunner] = {}
        self._released_jobs = ReleasedJobs()
        self._tasks: dict[asyncio.Task[None], JobKey] = {}
        self._trial_key: JobKey | None = None
        """The job on trial: no other job is held or claimed meanwhile. None without a trial."""
        self._unreleased_claims: deque[Claim] = deque(maxlen=slots)
        self._away_since: float | None = None
        self._belongs_elsewhere = belongs_elsewhere
        self._find_hold_reason = find_hold_reason
        self._can_reach_team = can_reach_team
        self._has_several_teams = has_several_teams
        self._left_alone_until: dict[Holder, float] = {}
        """By person, until when their due jobs are not claimed, on the clock of `boottime`: see
        `LEFT_ALONE_SECONDS`."""
        self._stopping = False
        self._stop_asked_at: float | None = None
        self._wake = asyncio.Event()
        self._hints: OrderedDict[JobKey, None] = OrderedDict()

    @property
    def owned_jobs(self) -> int:
        """The number of jobs that this instance runs."""
        return len(self._runners)

    @property
    def is_store_away(self) -> bool:
        """True if the store could not be reached at the last try."""
        return self._away_since is not None

    def nudge(self, key: JobKey) -> None:
        """Wake the runner of a job that has a new event in its inbox. If the job is not run here, try to claim it."""
        runner = self._runners.get(key)
        if runner is not None:
            runner.nudge()
        else:
            self._hints[key] = None  # one mention may nudge us several times: by our own gate and by the store's notice
            if len(self._hints) > self._slots:
                self._hints.popitem(last=False)
        self._wake.set()

    async def run(self) -> None:
        """Claim and run jobs until stopped or cancelled; then release all jobs, for other instances to go on."""
        listener = asyncio.create_task(self._listen())
        try:
            while not self._stopping:
                self._wake.clear()
                if self._trial_key or len(self._runners) >= self._slots or not await self._start_next_job():
                    await self._sleep_until_ready()
            await self._end_runners()
        finally:
            await cancel_tasks(listener, *self._tasks)

    def begin_stop(self) -> None:
        """Stop claiming jobs, and begin to release all jobs. `stop` waits until they are released."""
        self._stopping = True
        self._stop_asked_at = boottime() if self._stop_asked_at is None else self._stop_asked_at
        self._wake.set()
        for runner in self._runners.values():
            runner.stop()

    async def stop(self) -> None:
        """Stop claiming jobs, and release all jobs within two seconds of `begin_stop`. May be called again."""
        self.begin_stop()
        await self._end_runners()

    async def _end_runners(self) -> None:
        if self._tasks and self._stop_asked_at is not None:
            await asyncio.wait(self._tasks, timeout=max(0.0, self._stop_asked_at + RUNNER_END_SECONDS - boottime()))
        await cancel_tasks(*self._tasks)

    def compute_time_left(self) -> float:
        """Return the seconds of the shutdown that remain after the job runners ended; at least `MIN_TIME_LEFT`."""
        gone = 0.0 if self._stop_asked_at is None else boottime() - self._stop_asked_at
        return max(MIN_TIME_LEFT, SHUTDOWN_SECONDS - CLOSE_SECONDS - gone)

    async def _start_next_job(self) -> bool:
        try:
            await self._release_unreleased_jobs()
            if await self._update_hold_reason():
                return False
            hint = self._hints.popitem(last=False)[0] if self._hints else None
            since = boottime()
            claim = await self._claim_job(hint)
            if claim is not None and (self._stopping or self._trial_key):
                await self._store.jobs.release(claim, due=self._store.clock(), counts_as_lost=None)
                return False
            if claim is not None and not await self._can_reach_team(claim.key.team):
                await self._store.jobs.release(
                    claim, due=self._store.clock() + UNREACHABLE_TEAM_SECONDS, counts_as_lost=None
                )
                return True
        except StoreError as error:
            self._note_store_away(error)
            return False
        if claim is None:
            return False
        runner = JobRunner(
            claim,
            self._store,
            self._effects,
            lease=self._lease,
            claimed_at=since,
            bounds=self._bounds,
            belongs_elsewhere=self._belongs_elsewhere,
            released_jobs=self._released_jobs,
            seclusion=self,
        )
        self._runners[claim.key] = runner
        self._hints.pop(claim.key, None)  # the runner reads the inbox first of all
        task = asyncio.create_task(self._run_job(claim.key, runner))
        self._tasks[task] = claim.key
        task.add_done_callback(self._tasks.pop)
        return True

    async def hand_over_others(self, key: JobKey) -> bool:
        """Release all jobs but `key`, and claim none until its trial ends. Jobs without room elsewhere wait until then.

        Returns False if another job is on trial here.
        """
        if self._trial_key or self._stopping:
            return False
        self._trial_key = key
        for runner in (runner for held, runner in self._runners.items() if held != key):
            runner.stop()
        others = [task for task, held in self._tasks.items() if held != key]
        if others:
            log.warning("job %s: tried by itself; %d others are handed over", key.job, len(others))
            await asyncio.wait(others, timeout=RUNNER_END_SECONDS)
            await cancel_tasks(*others)
        return True

    async def release_team(self, team: str) -> None:
        """Release all jobs of a team. Posts under way still arrive. `reach` must return False for the team by now."""
        tasks = [task for task, held in self._tasks.items() if held.team == team]
        for runner in (runner for held, runner in self._runners.items() if held.team == team):
            runner.stop()
        if tasks:
            await asyncio.wait(tasks, timeout=RUNNER_END_SECONDS)
            await cancel_tasks(*tasks)

    def resume_claiming(self, key: JobKey) -> None:
        """Claim jobs again, if the job that was on trial is `key`."""
        if self._trial_key == key:
            self._trial_key = None
            self._wake.set()

    async def _claim_job(self, hint: JobKey | None) -> Claim | None:
        """Claim a job, or return None.

        Each try skips the jobs of fewer people and teams, see `_list_skipped_holders`.
        """
        for leave in self._list_skipped_holders():
            claim = await self._store.jobs.claim(
                self.name, lease=self._lease, schema=SCHEMA, preferred_job=hint, skipped_holders=leave
            )
            if claim is not None:
                return claim
        return None

    def _list_skipped_holders(self) -> list[frozenset[Holder]]:
        """Return for each try to claim a job the people and teams whose jobs it skips.

        While fewer than half of the slots are taken, or with fewer than `MIN_SHARED_SLOTS` slots, only those of
        `_list_left_alone_holders` are skipped. After that, teams without a slot come first, then teams with less than
        an even share; among people, those without a slot come first. No person gets more than `MAX_SLOT_SHARE`, and
        with several teams no team does.
        """
        left = frozenset(self._list_left_alone_holders())
        claims = [runner.claim for runner in self._runners.values()]
        people = Counter((claim.key.team, claim.user) for claim in claims if claim.user)
        if self._slots < MIN_SHARED_SLOTS or len(claims) < self._slots // 2 or not people:
            return [left]
        most = self._slots * MAX_SLOT_SHARE
        with_one, with_many = left.union(people), left | _find_heavy_holders(people, most)
        if not self._has_several_teams():
            return [with_one, with_many]
        teams = Counter((claim.key.team, "") for claim in claims)
        even, full = _find_heavy_holders(teams, min(most, self._slots / len(teams))), _find_heavy_holders(teams, most)
        return [left.union(teams), even | with_one, even | with_many, full | with_many]

    def _list_left_alone_holders(self) -> list[Holder]:
        now = boottime()
        self._left_alone_until = {who: until for who, until in self._left_alone_until.items() if until > now}
        return list(self._left_alone_until)

    async def _release_unreleased_jobs(self) -> None:
        """Release the jobs that could not be released while the store was away, so that nobody waits for their leases.

        Raises StoreError if the store is still away. A job runner may have found it away even if no claim did.
        """
        if self._away_since is not None:
            await self._store.jobs.next_due()
            log.warning("the store is back after %.0f s", boottime() - self._away_since, extra={"event": "store_back"})
            self._away_since = None
        while self._unreleased_claims:
            await self._store.jobs.release(self._unreleased_claims[0], due=self._store.clock(), counts_as_lost=None)
            self._unreleased_claims.popleft()

    def _note_store_away(self, error: StoreError) -> None:
        if self._away_since is None:
            self._away_since = boottime()
            log.error("no job can be claimed until the store is back: %s", error, extra={"event": "store_away"})

    async def _update_hold_reason(self) -> bool:
        """Return True if no job may be claimed: the store's memory is full, or `hold` gives a reason."""
        memory = await self._store.explain_fullness()
        full = self._find_hold_reason() or memory
        if bool(full) != bool(self.hold_reason):
            text = f"no job is claimed: {full}" if full else "jobs are claimed again"
            log.warning("%s", text, extra={"event": "memory_full"} if full and full == memory else None)
        self.hold_reason = full
        return bool(full)

    async def _run_job(self, key: JobKey, runner: JobRunner) -> None:
        try:
            await runner.run()
        except Exception:
            log.exception("job %s: its work broke; it is tried again when the lease has run out", key.job)
        finally:
            if self._runners.get(key) is runner:
                del self._runners[key]
                self.resume_claiming(key)
            if runner.is_left_to_others and runner.claim.user:
                self._left_alone_until[key.team, runner.claim.user] = boottime() + LEFT_ALONE_SECONDS
            if runner.is_unreleased:
                self._unreleased_claims.append(runner.claim)
            self._wake.set()

    async def _sleep_until_ready(self) -> None:
        self._released_jobs.drop_old()
        nap = STORE_NAP if self.is_store_away or self.hold_reason else LONGEST_NAP
        if not self.is_store_away and not self.hold_reason and len(self._runners) < self._slots:
            try:
                due = await self._store.jobs.next_due()
            except StoreError as error:
                self._note_store_away(error)
                nap = STORE_NAP
            else:
                wait = LONGEST_NAP if due is None else due - self._store.clock()
                nap = nap if self._trial_key else min(nap, wait) if wait > 0 else SHORTEST_NAP
        if self.is_store_away and not self._stopping:
            self._wake.clear()  # drop earlier wake-ups: while the store is away, nothing can be claimed
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(nap):
                await self._wake.wait()

    async def _listen(self) -> None:
        async for key in self._store.listen():
            self.nudge(key)


def _find_heavy_holders(counts: Counter[Holder], min_count: float) -> frozenset[Holder]:
    return frozenset(who for who, count in counts.items() if count >= min_count)


async def cancel_tasks(*tasks: asyncio.Task[None]) -> None:
    """Cancel tasks again and again until all have ended: a library may swallow a cancellation."""
    while alive := [task for task in tasks if not task.done()]:
        for task in alive:
            task.cancel()
        await asyncio.wait(alive, timeout=1)
