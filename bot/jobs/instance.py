"""One instance of the bot: claims jobs while slots are free, and runs each in a `JobRunner`."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
from collections import Counter, OrderedDict, deque
from collections.abc import Awaitable, Callable

from bot.jobs.effect_tasks import StuckLimits
from bot.jobs.job_runner import LEFT_JOB_DELAY_SECONDS, BelongsElsewhere, Effects, JobRunner, belongs_nowhere_else
from bot.jobs.lease import read_boot_clock
from bot.jobs.released_jobs import ReleasedJobs
from bot.jobs.shutdown import SHUTDOWN_SECONDS
from bot.store.redis.redis_store import Store
from bot.store.values import Claim, Holder, JobKey, StoreError
from handoff.events import SCHEMA

log = logging.getLogger(__name__)

MAX_POLL_SECONDS = 5.0
"""Maximum seconds between two polls for due jobs, in case the store's notices are lost."""
MIN_POLL_SECONDS = 0.25
"""Seconds to wait if a job is due but the store did not give it to us: another instance is claiming it."""
STORE_RETRY_SECONDS = 1.0
"""Seconds to wait after the store could not be reached, or was full."""
RUNNER_END_SECONDS = 1.1
"""Seconds that job runners get to end by themselves when we are told to stop. After that they are cancelled."""
CLOSE_SECONDS = 0.3
"""Seconds of the shutdown that are reserved for closing connections."""
MIN_SECONDS_LEFT = 0.1
UNREACHABLE_TEAM_SECONDS = 60.0
"""Seconds until a job is due again whose team cannot be reached."""
MIN_SHARED_SLOTS = 4
"""With at least this many slots, an instance shares them between people and between teams."""
MAX_HOLDER_SHARE = 0.75
"""The largest share of the slots for the jobs of one person; with several teams, also for the jobs of one team."""


SKIP_PERSON_SECONDS = LEFT_JOB_DELAY_SECONDS + 2.0
"""Seconds for which no job of a person is claimed, after one of their jobs was left to another instance."""


def make_instance_name() -> str:
    """Return a new random name for an instance."""
    return secrets.token_hex(6)


async def reach_every_team(_team: str) -> bool:
    """Return True: every team can be reached."""
    return True


class Instance:
    """Claims due jobs and runs them.

    Args:
        store: The store that keeps the jobs.
        effects: Runs the effects of all jobs.
        slots: How many jobs are run at once.
        lease: Seconds for which a claimed job is owned unless the lease is renewed.
        stuck_limits: When work counts as stuck.
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
        stuck_limits: StuckLimits | None = None,
        name: str = "",
        belongs_elsewhere: BelongsElsewhere = belongs_nowhere_else,
        find_hold_reason: Callable[[], str] = str,
        can_reach_team: Callable[[str], Awaitable[bool]] = reach_every_team,
        has_several_teams: Callable[[], bool] = bool,
    ) -> None:
        self.name = name or make_instance_name()
        self.hold_reason = ""
        """Why no job is claimed although slots are free; empty if jobs are claimed."""
        self._store = store
        self._effects = effects
        self._slots = slots
        self._lease = lease
        self._stuck_limits = stuck_limits or StuckLimits()
        self._runners: dict[JobKey, JobRunner] = {}
        self._released_jobs = ReleasedJobs()
        self._tasks: dict[asyncio.Task[None], JobKey] = {}
        self._trial_key: JobKey | None = None
        """The job on trial: no other job is held or claimed meanwhile. None without a trial."""
        self._unreleased_claims: deque[Claim] = deque(maxlen=slots)
        self._store_away_since: float | None = None
        self._belongs_elsewhere = belongs_elsewhere
        self._find_hold_reason = find_hold_reason
        self._can_reach_team = can_reach_team
        self._has_several_teams = has_several_teams
        self._skipped_until: dict[Holder, float] = {}
        """By person, until when their due jobs are not claimed, on the clock of `read_boot_clock`: see
        `SKIP_PERSON_SECONDS`."""
        self._is_stopping = False
        self._stop_asked_at: float | None = None
        self._wake = asyncio.Event()
        self._claim_hints: OrderedDict[JobKey, None] = OrderedDict()

    @property
    def owned_job_count(self) -> int:
        """The number of jobs that this instance runs."""
        return len(self._runners)

    @property
    def is_store_away(self) -> bool:
        """True if the store could not be reached at the last try."""
        return self._store_away_since is not None

    def nudge(self, key: JobKey) -> None:
        """Wake the runner of a job that has a new event in its inbox. If the job is not run here, try to claim it."""
        runner = self._runners.get(key)
        if runner is not None:
            runner.nudge()
        else:
            self._claim_hints[key] = (
                None  # one mention may nudge us several times: by our own gate and by the store's notice
            )
            if len(self._claim_hints) > self._slots:
                self._claim_hints.popitem(last=False)
        self._wake.set()

    async def run(self) -> None:
        """Claim and run jobs until stopped or cancelled; then release all jobs, for other instances to go on."""
        listener = asyncio.create_task(self._listen())
        try:
            while not self._is_stopping:
                self._wake.clear()
                if self._trial_key or len(self._runners) >= self._slots or not await self._start_next_job():
                    await self._sleep_until_ready()
            await self._end_runners()
        finally:
            await cancel_until_ended(listener, *self._tasks)

    def begin_stop(self) -> None:
        """Stop claiming jobs, and begin to release all jobs. `stop` waits until they are released."""
        self._is_stopping = True
        self._stop_asked_at = read_boot_clock() if self._stop_asked_at is None else self._stop_asked_at
        self._wake.set()
        for runner in self._runners.values():
            runner.stop()

    async def stop(self) -> None:
        """Stop claiming jobs, and release all jobs within two seconds of `begin_stop`. May be called again."""
        self.begin_stop()
        await self._end_runners()

    async def _end_runners(self) -> None:
        if self._tasks and self._stop_asked_at is not None:
            await asyncio.wait(
                self._tasks, timeout=max(0.0, self._stop_asked_at + RUNNER_END_SECONDS - read_boot_clock())
            )
        await cancel_until_ended(*self._tasks)

    def compute_seconds_left(self) -> float:
        """Return the seconds of the shutdown that remain after the job runners ended; at least `MIN_SECONDS_LEFT`."""
        elapsed_seconds = 0.0 if self._stop_asked_at is None else read_boot_clock() - self._stop_asked_at
        return max(MIN_SECONDS_LEFT, SHUTDOWN_SECONDS - CLOSE_SECONDS - elapsed_seconds)

    async def _start_next_job(self) -> bool:
        try:
            await self._release_unreleased_jobs()
            if await self._update_hold_reason():
                return False
            hint = self._claim_hints.popitem(last=False)[0] if self._claim_hints else None
            since = read_boot_clock()
            claim = await self._claim_job(hint)
            if claim is not None and (self._is_stopping or self._trial_key):
                await self._store.jobs.release(claim, due=self._store.clock(), counts_as_lost=None)
                return False
            if claim is not None and not await self._can_reach_team(claim.key.team):
                await self._store.jobs.release(
                    claim, due=self._store.clock() + UNREACHABLE_TEAM_SECONDS, counts_as_lost=None
                )
                return True
        except StoreError as error:
            self._log_store_away(error)
            return False
        if claim is None:
            return False
        runner = JobRunner(
            claim,
            self._store,
            self._effects,
            lease=self._lease,
            claimed_at=since,
            stuck_limits=self._stuck_limits,
            belongs_elsewhere=self._belongs_elsewhere,
            released_jobs=self._released_jobs,
            exclusivity=self,
        )
        self._runners[claim.key] = runner
        self._claim_hints.pop(claim.key, None)  # the runner reads the inbox first of all
        task = asyncio.create_task(self._run_job(claim.key, runner))
        self._tasks[task] = claim.key
        task.add_done_callback(self._tasks.pop)
        return True

    async def release_other_jobs(self, key: JobKey) -> bool:
        """Release all jobs but `key`, and claim none until its trial ends. Jobs without room elsewhere wait until then.

        Returns False if another job is on trial here.
        """
        if self._trial_key or self._is_stopping:
            return False
        self._trial_key = key
        for runner in (runner for held_key, runner in self._runners.items() if held_key != key):
            runner.stop()
        others = [task for task, held_key in self._tasks.items() if held_key != key]
        if others:
            log.warning("job %s: tried by itself; %d others are handed over", key.job, len(others))
            await asyncio.wait(others, timeout=RUNNER_END_SECONDS)
            await cancel_until_ended(*others)
        return True

    async def release_team(self, team: str) -> None:
        """Release all jobs of a team. Posts under way still arrive. `can_reach_team` must be False for it by now."""
        tasks = [task for task, held_key in self._tasks.items() if held_key.team == team]
        for runner in (runner for held_key, runner in self._runners.items() if held_key.team == team):
            runner.stop()
        if tasks:
            await asyncio.wait(tasks, timeout=RUNNER_END_SECONDS)
            await cancel_until_ended(*tasks)

    def end_trial(self, key: JobKey) -> None:
        """Claim jobs again, if `key` is the job on trial here."""
        if self._trial_key == key:
            self._trial_key = None
            self._wake.set()

    async def _claim_job(self, hint: JobKey | None) -> Claim | None:
        """Claim a due job, or return None.

        Tries several times, each time skipping the jobs of fewer people and teams.
        """
        for skipped_holders in self._list_claim_filters():
            claim = await self._store.jobs.claim(
                self.name, lease=self._lease, schema=SCHEMA, preferred_job=hint, skipped_holders=skipped_holders
            )
            if claim is not None:
                return claim
        return None

    def _list_claim_filters(self) -> list[frozenset[Holder]]:
        """Return the people and teams whose jobs are skipped, for each try to claim a job.

        While fewer than half of the slots are taken, or with fewer than `MIN_SHARED_SLOTS` slots, only those of
        `_list_skipped_people` are skipped. After that, teams without a slot come first, then teams with less than
        an even share; among people, those without a slot come first. No person gets more than `MAX_HOLDER_SHARE`, and
        with several teams no team does.
        """
        skipped_people = frozenset(self._list_skipped_people())
        claims = [runner.claim for runner in self._runners.values()]
        people = Counter((claim.key.team, claim.user) for claim in claims if claim.user)
        if self._slots < MIN_SHARED_SLOTS or len(claims) < self._slots // 2 or not people:
            return [skipped_people]
        max_slots = self._slots * MAX_HOLDER_SHARE
        with_one, with_many = skipped_people.union(people), skipped_people | _find_heavy_holders(people, max_slots)
        if not self._has_several_teams():
            return [with_one, with_many]
        teams = Counter((claim.key.team, "") for claim in claims)
        even, full = (
            _find_heavy_holders(teams, min(max_slots, self._slots / len(teams))),
            _find_heavy_holders(teams, max_slots),
        )
        return [skipped_people.union(teams), even | with_one, even | with_many, full | with_many]

    def _list_skipped_people(self) -> list[Holder]:
        now = read_boot_clock()
        self._skipped_until = {who: until for who, until in self._skipped_until.items() if until > now}
        return list(self._skipped_until)

    async def _release_unreleased_jobs(self) -> None:
        """Release the jobs that could not be released while the store was away, so that their leases need not run out.

        Raises StoreError if the store is still away.
        """
        if self._store_away_since is not None:
            await self._store.jobs.read_next_due()
            log.warning(
                "the store is back after %.0f s",
                read_boot_clock() - self._store_away_since,
                extra={"event": "store_back"},
            )
            self._store_away_since = None
        while self._unreleased_claims:
            await self._store.jobs.release(self._unreleased_claims[0], due=self._store.clock(), counts_as_lost=None)
            self._unreleased_claims.popleft()

    def _log_store_away(self, error: StoreError) -> None:
        if self._store_away_since is None:
            self._store_away_since = read_boot_clock()
            log.error("no job can be claimed until the store is back: %s", error, extra={"event": "store_away"})

    async def _update_hold_reason(self) -> bool:
        """Set `hold_reason`, from `find_hold_reason` or the store's full memory. Returns True if there is one."""
        memory = await self._store.explain_fullness()
        hold_reason = self._find_hold_reason() or memory
        if bool(hold_reason) != bool(self.hold_reason):
            text = f"no job is claimed: {hold_reason}" if hold_reason else "jobs are claimed again"
            log.warning("%s", text, extra={"event": "memory_full"} if hold_reason and hold_reason == memory else None)
        self.hold_reason = hold_reason
        return bool(hold_reason)

    async def _run_job(self, key: JobKey, runner: JobRunner) -> None:
        try:
            await runner.run()
        except Exception:
            log.exception("job %s: its work broke; it is tried again when the lease has run out", key.job)
        finally:
            if self._runners.get(key) is runner:
                del self._runners[key]
                self.end_trial(key)
            if runner.is_left_to_others and runner.claim.user:
                self._skipped_until[key.team, runner.claim.user] = read_boot_clock() + SKIP_PERSON_SECONDS
            if runner.is_unreleased:
                self._unreleased_claims.append(runner.claim)
            self._wake.set()

    async def _sleep_until_ready(self) -> None:
        self._released_jobs.drop_old()
        sleep_seconds = STORE_RETRY_SECONDS if self.is_store_away or self.hold_reason else MAX_POLL_SECONDS
        if not self.is_store_away and not self.hold_reason and len(self._runners) < self._slots:
            try:
                due = await self._store.jobs.read_next_due()
            except StoreError as error:
                self._log_store_away(error)
                sleep_seconds = STORE_RETRY_SECONDS
            else:
                wait = MAX_POLL_SECONDS if due is None else due - self._store.clock()
                sleep_seconds = (
                    sleep_seconds if self._trial_key else min(sleep_seconds, wait) if wait > 0 else MIN_POLL_SECONDS
                )
        if self.is_store_away and not self._is_stopping:
            self._wake.clear()  # drop earlier wake-ups: while the store is away, nothing can be claimed
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(sleep_seconds):
                await self._wake.wait()

    async def _listen(self) -> None:
        async for key in self._store.listen():
            self.nudge(key)


def _find_heavy_holders(counts: Counter[Holder], min_count: float) -> frozenset[Holder]:
    return frozenset(who for who, count in counts.items() if count >= min_count)


async def cancel_until_ended(*tasks: asyncio.Task[None]) -> None:
    """Cancel tasks, once a second until all have ended: a library may swallow a cancellation."""
    while alive := [task for task in tasks if not task.done()]:
        for task in alive:
            task.cancel()
        await asyncio.wait(alive, timeout=1)
