"""The traces service: reads the steps of a person's own requests in a job, or for an admin all steps."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot.jobs.job_records import DenialReason, JobRecords, make_job_key, read_job
from bot.store.values import JobKey, LogBroken
from handoff.access import rights
from handoff.access.audit_entry import AuditEntry
from handoff.contracts import Place
from handoff.state.job_state import Job
from specialists.tools.blocking import import_in_thread

if TYPE_CHECKING:
    from bot.tracing.job_trace import Trace

log = logging.getLogger(__name__)

NOT_OWNER_REASON = "neither asked for something in it nor an admin"


@dataclass(frozen=True, slots=True)
class VisibleTrace:
    """The part of a job's trace that a person may see: their own requests, or for an admin the whole (`is_whole`).

    `job` is None if the log cannot be folded; then `denial_reason` says why.
    """

    trace: Trace
    job: Job | None
    denial_reason: DenialReason = "unreadable"
    is_whole: bool = False


class TraceService:
    """Reads traces, and writes to the audit who read them. Its coroutines raise StoreError if the store cannot be used.

    `put_names` returns a text with names for the ids of people and public channels in it.
    """

    def __init__(self, records: JobRecords, put_names: Callable[[str], Awaitable[str]]) -> None:
        self._records = records
        self.replace_ids_by_names = put_names

    async def read_visible_trace(self, team: str, job: str, user: str) -> VisibleTrace | DenialReason:
        """Return the steps of a person's own requests in a job, or for an admin all steps, or the reason for a denial.

        If the log cannot be folded, the owner of a step is unknown: then only admins get the steps.
        """
        key = JobKey(team, job.upper())
        head = await self._records.store.jobs.read_head(key)
        if head is None:
            return await self._records.explain_missing(key)
        read_outcome, actor = await read_job(self._records.store.jobs, key), await self._records.find_actor(user)
        own_request_ids = (
            frozenset[str]()
            if isinstance(read_outcome, str)
            else rights.list_traceable_request_ids(read_outcome, actor)
        )
        may_read = (
            await self._records.is_requester_or_admin(key, head, actor)
            if isinstance(read_outcome, str)
            else bool(own_request_ids)
        )
        if not may_read:
            await self._records.record_refusal("traced", key, head, user, NOT_OWNER_REASON)
            return "not_yours"
        await import_in_thread("bot.tracing.job_trace")
        from bot.tracing.job_trace import derive_trace  # noqa: PLC0415 - only for those who ask

        try:
            entries = await self._records.store.jobs.read_log(key)
            audit_fields = {
                "at": self._records.clock(),
                "team": team,
                "job": key.job,
                "channel": head.fields.get("channel", ""),
            }
            await self._records.record_audit(
                AuditEntry.model_validate({"deed": "traced", "user": user, **audit_fields})
            )
            if actor.is_admin:
                readable = None if isinstance(read_outcome, str) else read_outcome
                why: DenialReason = read_outcome if isinstance(read_outcome, str) else "unreadable"
                trace = await asyncio.to_thread(derive_trace, entries, job=key.job, team=team)
                return VisibleTrace(trace, readable, why, is_whole=True)
            if isinstance(read_outcome, str):
                return read_outcome
            return VisibleTrace(
                await asyncio.to_thread(
                    derive_trace, entries, job=key.job, team=team, request_ids=own_request_ids, user=user
                ),
                read_outcome,
            )
        except LogBroken as error:
            log.error("%s", error)  # noqa: TRY400 - one clear line, no trace
            return "unreadable"
        except ValueError:
            return "unreadable"

    async def find_thread_job(self, place: Place) -> Job | None:
        """Return the job of a thread, for anybody who can read the thread; None if it has expired.

        Unlike the trace, the evidence may be shown to all of them, since it belongs to the answer in the thread.
        """
        job = await read_job(self._records.store.jobs, make_job_key(place))
        return job if isinstance(job, Job) else None
