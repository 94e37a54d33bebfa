"""Writes the events of a claimed job to its log. Reports made during one commit go into the next one together."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bot.jobs.exclusive_trial import TRIAL_FIELD
from bot.jobs.lease import Fenced
from bot.jobs.quarantine import FOLDED_FIELD, UnreadableLog, read_log
from bot.jobs.released_jobs import ReleasedJobs, apply_new_entries
from bot.logs import log_audit_entry
from bot.store.redis.redis_store import Store
from bot.store.values import Claim, Commit, LogEntry
from handoff import events as ev
from handoff.access.audit_entry import AuditEntry
from handoff.engine.engine import apply_event
from handoff.events import NewerEventError
from handoff.state.job_state import Job
from handoff.summaries.audit_events import derive_audit_entries
from handoff.summaries.card_rows import make_rows_field
from handoff.summaries.summary import make_summary_fields

log = logging.getLogger(__name__)

SOON_COMMIT_SECONDS = 0.02
"""Seconds within which `report_soon` commits. Reports made meanwhile go into the same commit."""
MIN_AWAY_SECONDS = 60.0
"""Seconds. If the last event is older at a claim, nobody is assumed to have worked on the job since."""


@dataclass(slots=True)
class _Report:
    events: Sequence[ev.Event]
    commit_future: asyncio.Future[None] | None = None
    """Resolved once the events are committed; None if nobody waits."""


class EventWriter:
    """The only writer of a claimed job's log.

    `wake` is called when there are reports to commit. `released_jobs` has the long jobs that this instance ran
    recently.
    """

    def __init__(
        self, claim: Claim, store: Store, wake: Callable[[], None], released_jobs: ReleasedJobs | None = None
    ) -> None:
        self.job: Job | None = None
        self._released_jobs = released_jobs
        self._last_line = ""
        self._claim = claim
        self._store = store
        self._wake = wake
        self._reports: list[_Report] = []
        self._soon_timer: asyncio.TimerHandle | None = None
        self._is_soon_due = False
        self._last_head_fields: dict[str, str] = {}
        """The fields of the job's head as we last wrote them: a commit writes only those that changed."""
        self._operations = itertools.count(1)
        self._is_closed = False
        self._last_event_at = 0.0
        self.on_first_progress: Callable[[], None] | None = None
        """Called once, after the first commit with progress. That commit also ends the job's trial."""

    @property
    def has_waiting_reports(self) -> bool:
        """True if a report is not committed yet."""
        return bool(self._reports)

    async def report(self, *events: ev.Event) -> None:
        """Commit the events, and return once they are committed. Raises Fenced after `close`."""
        if self._is_closed:
            raise Fenced  # nothing would ever commit them
        commit_future = asyncio.get_running_loop().create_future()
        self._reports.append(_Report(events, commit_future))
        self._wake()
        await commit_future

    def report_soon(self, *events: ev.Event) -> None:
        """Have the events committed within `SOON_COMMIT_SECONDS` seconds.

        Events reported later are committed after them.
        """
        self._reports.append(_Report(events))
        if self._soon_timer is None:
            self._soon_timer = asyncio.get_running_loop().call_later(SOON_COMMIT_SECONDS, self._mark_soon_due)

    async def load_job(self) -> None:
        """Read the log and fold it into the job.

        Raises:
            UnreadableLog, LogBroken: The log cannot be folded.
            NewerEventError: A newer release wrote some of it.
            StoreError: The store is away.
        """
        entries = await self._resume_released_job()
        if self.job is None:
            entries = await self._store.jobs.read_log(self._claim.key)
            self.job = read_log(entries)
        self._last_line = entries[-1].payload if entries else ""
        self._last_event_at = ev.load_event(self._last_line).at if entries else 0.0

    async def _resume_released_job(self) -> list[LogEntry]:
        """Set `self.job` from the released jobs, if they have the job and its log continues from there.

        Returns the last known entry of the log and all later ones; empty if the job is not kept.
        """
        released_job = self._released_jobs.find(self._claim.key) if self._released_jobs is not None else None
        if released_job is None:
            return []
        entries = await self._store.jobs.read_log(self._claim.key, after_seq=released_job.job.seq - 1)
        try:
            self.job = apply_new_entries(released_job, entries)
        except NewerEventError:
            raise
        except Exception as error:  # noqa: BLE001 - on any error the whole log is read, which names the error
            log.info("job %s: its log is read from the start (%s)", self._claim.key.job, type(error).__name__)
        return entries

    async def commit_takeover(self) -> None:
        """Commit that the last owner was lost, and how long the job had no owner, before we go on with it.

        Time without an owner is committed if it is longer than `MIN_AWAY_SECONDS` and the request has a deadline: it
        does not count towards the deadline.
        """
        if self.job is None:
            return
        events: list[ev.Event] = [self._make_takeover()] if self._claim.lost_owners else []
        away = self._store.clock() - self._last_event_at
        if (
            away > MIN_AWAY_SECONDS
            and self.job.current_request is not None
            and self.job.current_request.run.deadline is not None
        ):
            events.append(ev.WorkResumed(at=self._store.clock(), away=away))
        if events:
            await self._commit(events, log_folded=bool(self._claim.lost_owners), progress=False)

    def _make_takeover(self) -> ev.TakenOver:
        text = "job %s: taken over from an owner that let its lease run out (%d in a row)"
        log.warning(text, self._claim.key.job, self._claim.lost_owners, extra={"event": "taken_over"})
        return ev.TakenOver(at=self._store.clock(), owner=self._claim.owner, lost=self._claim.lost_owners)

    async def commit_inbox(self) -> None:
        """Commit the events of the job's inbox. Raises what `load_job` raises, and Fenced."""
        entries = await self._store.jobs.read_inbox(self._claim.key)
        if not entries:
            return
        events = [_load_event(entry) for entry in entries]
        if self._claim.lost_owners and self.job is None:
            events.append(self._make_takeover())  # without a log, the request has to come before it
        await self._commit(events, inbox_seqs=[entry.seq for entry in entries], progress=False)

    async def commit_reports(self, *, include_soon: bool = False) -> None:
        """Commit all reports, including those made meanwhile. Raises Fenced or StoreError.

        If all waiting reports are from `report_soon`, they are committed only once due, or if `include_soon` is set.
        """
        include_soon = include_soon or self._is_soon_due
        while self._reports and (include_soon or any(report.commit_future is not None for report in self._reports)):
            include_soon = False
            self._cancel_soon_timer()
            reports, self._reports = self._reports, []
            try:
                await self._commit([event for report in reports for event in report.events])
            except BaseException:
                _cancel_waiting_callers(reports)
                raise
            for report in reports:
                if report.commit_future is not None and not report.commit_future.done():
                    report.commit_future.set_result(None)

    def _mark_soon_due(self) -> None:
        self._is_soon_due = True
        self._wake()

    def _cancel_soon_timer(self) -> None:
        self._is_soon_due = False
        if self._soon_timer is not None:
            self._soon_timer.cancel()
            self._soon_timer = None

    async def _commit(
        self, events: list[ev.Event], *, inbox_seqs: Sequence[int] = (), progress: bool = True, log_folded: bool = False
    ) -> None:
        before = self.job
        after = before
        audit_entries: list[AuditEntry] = []
        for event in events:
            job_before, after = after, apply_event(after, event)
            audit_entries += derive_audit_entries(job_before, event, after)
        if after is None:
            return
        head = make_summary_fields(after) | make_rows_field(after)
        if log_folded:
            head[FOLDED_FIELD] = str(self._claim.lost_owners)
        ends_trial = progress and self.on_first_progress is not None
        if ends_trial:
            head[TRIAL_FIELD] = ""
        lines = [ev.dump_event(event) for event in events]
        outcome = await self._store.jobs.commit(
            self._claim,
            self._make_operation_id(),
            before.seq if before else 0,
            lines,
            taken_entries=inbox_seqs,
            fields=dict(head.items() - self._last_head_fields.items()),
            schema=ev.SCHEMA,
            starts_expiry=after.current_request is None,
            is_progress=progress,
            audit_entries=[entry.model_dump_json(exclude_defaults=True) for entry in audit_entries],
        )
        if outcome in {Commit.FENCED, Commit.CONFLICT}:
            raise Fenced
        for deed in audit_entries:
            log_audit_entry(deed)
        self.job, self._last_line = after, lines[-1] if lines else self._last_line
        self._last_head_fields |= head
        if ends_trial and self.on_first_progress is not None:
            self.on_first_progress()
            self.on_first_progress = None

    def _make_operation_id(self) -> str:
        return f"{self._claim.owner}:{self._claim.epoch}:{next(self._operations)}"

    async def leave_to_newer_release(self, schema: int) -> None:
        """Commit all reports, then let only instances that know `schema` claim the job."""
        await self.commit_reports(include_soon=True)
        head = await self._store.jobs.read_head(self._claim.key)
        seq = head.seq if head else 0
        await self._store.jobs.commit(self._claim, self._make_operation_id(), seq, [], schema=schema, is_progress=False)
        log.warning("job %s: left to a newer release, which wrote schema %d", self._claim.key.job, schema)

    def close(self) -> None:
        """Stop committing, cancel all callers that wait for a commit, and keep a long job in `released_jobs`."""
        if not self._is_closed and self._released_jobs is not None and self.job is not None:
            self._released_jobs.keep(self._claim.key, self.job, self._last_line)
        self._is_closed = True
        self._cancel_soon_timer()
        _cancel_waiting_callers(self._reports)


def _load_event(entry: LogEntry) -> ev.Event:
    try:
        return ev.load_event(entry.payload)
    except NewerEventError:
        raise
    except ValueError as error:
        raise UnreadableLog(f"something that came in (number {entry.seq}) cannot be read by this release") from error


def _cancel_waiting_callers(reports: Sequence[_Report]) -> None:
    for report in reports:
        if report.commit_future is not None:
            report.commit_future.cancel()
