"""The erasure service: erases jobs in the store, deletes their posts in Slack, and sends a receipt.

Each erasure is kept in the store as a schedule with ids and counts, so that another instance can go on with it. Every
step may be repeated. A job that was started in the same thread after the erasure began is left alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import logging
from collections import Counter
from typing import Any

from bot.features.erasure.view import ErasureReport, ErasureTarget, JobToErase, render_receipt
from bot.features.memory.service import MemoriesService
from bot.features.schedules.schedule import SCHEDULE_PREFIX
from bot.jobs.job_records import DenialReason, read_job
from bot.limits.limit_rules import list_erasable_counters
from bot.limits.spending import list_recent_counters
from bot.logs import log_audit_entry
from bot.slack.send.message_deletion import LAST_CALL_SECONDS, DeletionReport, delete_posts
from bot.slack.send.outbox import STREAM_SUFFIX, Outbox
from bot.slack.send.outside_sender import OUTSIDE_KEY_PREFIX
from bot.slack.send.web_calls import NoReply
from bot.slack.show.notices import try_send_direct_message
from bot.store.redis.redis_store import Store
from bot.store.values import EVERYBODY, Head, JobKey, StoreError
from handoff.access.audit_entry import AuditEntry, AuditRecorder, discard_entry
from handoff.access.rights import list_file_digests, list_requesters, list_source_ids, may_erase
from handoff.contracts import Place
from handoff.state.job_state import ENDED_STATES, Job
from specialists.tools.tables.table_cache import TableCache, find_cache_folder

log = logging.getLogger(__name__)

ERASURE_PREFIX = "forget:"
"""Prefix of the names of erasures among the store's schedules."""
POLL_SECONDS = 5.0
"""Seconds between two polls for erasures that other instances left unfinished."""
TAKEOVER_SECONDS = 300.0
"""Seconds without progress after which another instance takes over an erasure."""
MAX_TRIES = 20
"""Maximum number of retries while Slack does not answer, `TAKEOVER_SECONDS` apart. Then the receipt says so."""
MAX_ERASED_JOBS = 20_000
MAX_CONCURRENT = 16
NO_ANSWER_REASON = "Slack did not answer"


class ErasureService:
    """Erases jobs, memories and schedules of a team. An instance has one service for each team.

    Args:
        store: The store of the jobs.
        outbox: Calls Slack.
        team: The team whose erasures are carried out; empty for all teams.
        admins: Slack ids of people who may have anything erased.
        record_audit: Stores an audit entry for each refusal.
        tables: The cached tables of files that this machine has read.
        memories: Erases what a person had the bot remember; None to leave memories alone.
    """

    def __init__(
        self,
        store: Store,
        outbox: Outbox,
        *,
        team: str = "",
        admins: frozenset[str],
        record_audit: AuditRecorder = discard_entry,
        tables: TableCache | None = None,
        memories: MemoriesService | None = None,
    ) -> None:
        self._memories = memories
        self._store = store
        self._outbox, self._team = outbox, team
        self._admins = admins
        self._record_audit = record_audit
        self._tables = tables if tables is not None else TableCache(find_cache_folder())
        self._wake = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()

    # -- the data to erase, and the right to erase it ------------------------------------------------

    async def _find_allowed_target(
        self, team: str, user: str, *, job: str = "", person: str = ""
    ) -> ErasureTarget | None:
        """Return the data that an erasure would delete; None if `user` may not erase it, which the audit records."""
        admin = user in self._admins
        if person:
            if person != user and not admin:
                await self._record_refusal(team, user, target=person)
                return None
            return await self._read_person_data(team, person)
        key = JobKey(team, job)
        head = await self._store.jobs.read_head(key)
        if head is None:
            return ErasureTarget(())
        job_to_erase, requester_ids = await self._inspect_job(head)
        if not may_erase(requester_ids, user, admin=admin):
            await self._record_refusal(team, user, job=job)
            return None
        return ErasureTarget((job_to_erase,))

    async def find_target(
        self, team: str, user: str, *, job: str = "", person: str = ""
    ) -> ErasureTarget | DenialReason:
        """Return the data that an erasure of one job or one person would delete, or the reason for a denial."""
        target = await self._find_allowed_target(team, user, job=job.upper(), person=person)
        if target is None:
            return "not_yours"
        return target if target.jobs or not job else await self._explain_missing_job(JobKey(team, job.upper()))

    async def start_erasure(self, team: str, user: str, dedupe_id: str, *, job: str = "", person: str = "") -> bool:
        """Start an erasure, once for each id `dedupe_id`.

        Returns False if there is nothing to erase, or `user` may not.
        """
        target = await self.find_target(team, user, job=job, person=person)
        something = not isinstance(target, str) and (target.jobs or target.memory_count or target.schedule_count)
        if isinstance(target, str) or not something:
            return False
        await self._store_erasure(team, user, target, dedupe_id)
        return True

    async def _explain_missing_job(self, key: JobKey) -> DenialReason:
        return "unknown" if await self._store.jobs.read_forget_time(key) is None else "forgotten"

    async def _read_person_data(self, team: str, person: str) -> ErasureTarget:
        heads = await self._store.jobs.read_heads_asked_by(team, person, limit=MAX_ERASED_JOBS)
        slots = asyncio.Semaphore(MAX_CONCURRENT)

        async def inspect_with_limit(head: Head) -> tuple[JobToErase, set[str]]:
            async with slots:
                return await self._inspect_job(head)

        inspected_jobs = await asyncio.gather(*map(inspect_with_limit, heads))
        own = tuple(
            job_to_erase
            for job_to_erase, requester_ids in inspected_jobs
            if may_erase(requester_ids, person, admin=False)
        )
        shared_jobs = tuple(
            job_to_erase.job
            for job_to_erase, requester_ids in inspected_jobs
            if not may_erase(requester_ids, person, admin=False)
        )
        memory_count = await self._memories.count_person_memories(team, person) if self._memories is not None else 0
        schedules = await self._store.schedules.list_all(team, f"{SCHEDULE_PREFIX}{person}:")
        return ErasureTarget(own, shared_jobs, person, memory_count, len(schedules))

    async def _inspect_job(self, head: Head) -> tuple[JobToErase, set[str]]:
        """Return the data that is kept of a job, and the ids of its requesters: {""} if they cannot be read."""
        key = head.key
        found_job = await read_job(self._store.jobs, key)
        job = found_job if isinstance(found_job, Job) else None
        number, size = await self._store.blobs.measure_usage(key)
        stored_messages = (await self._store.outbox.read_messages(key)).items()
        own = [
            one
            for name, one in stored_messages
            if not name.startswith(OUTSIDE_KEY_PREFIX) and not name.endswith(STREAM_SUFFIX)
        ]
        posts = [one for one in own if one.ts or one.draft_ts]
        requesters = list_requesters(job) if job is not None else {}
        job_to_erase = JobToErase(
            job=key.job,
            title=head.fields.get("title", ""),
            channel=head.fields.get("channel", ""),
            thread_ts=head.fields.get("thread_ts", ""),
            steps=head.seq,
            files=number,
            bytes=size,
            posts=len(posts),
            under_way=head.fields.get("state") not in ENDED_STATES,
            askers=requesters,
            digests=list_file_digests(job) if job is not None else (),
            sources=list_source_ids(job) if job is not None else (),
        )
        return job_to_erase, set(requesters.values()) if requesters else {""}

    async def _record_refusal(self, team: str, user: str, **what: str) -> None:
        of = {"at": self._store.clock(), "team": team, "deed": "forgot", "user": user, "outcome": "refused"}
        await self._record_audit(AuditEntry.model_validate({**of, **what, "why": "others asked there, or no admin"}))

    # -- the work ------------------------------------------------------------------------------------

    async def _store_erasure(self, team: str, user: str, target: ErasureTarget, dedupe_id: str) -> None:
        """Store an erasure, so that some instance will carry it out.

        A repeat with the same `dedupe_id` changes nothing.
        """
        jobs = [{**dataclasses.asdict(one), "title": ""} for one in target.jobs]
        work = {"by": user, "person": target.person, "shared": target.shared_jobs, "jobs": jobs, "done": {}, "tries": 0}
        work["begun"] = await self._store.read_time()
        await self._store.schedules.put(team, f"{ERASURE_PREFIX}{dedupe_id}", json.dumps(work), self._store.clock())
        self._wake.set()

    async def run(self) -> None:
        """Carry out erasures, including those that other instances left unfinished, until cancelled."""
        try:
            while True:
                self._wake.clear()
                try:
                    await self._start_due_erasures()
                except StoreError as error:
                    log.warning("nothing is forgotten until the store is back: %s", error)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(POLL_SECONDS):
                        await self._wake.wait()
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _start_due_erasures(self) -> None:
        for team, name, payload, due in await self._store.schedules.list_due(team=self._team, kind=ERASURE_PREFIX):
            if await self._store.schedules.fire(team, name, due, self._compute_retry_time()):
                task = asyncio.create_task(self._perform_erasure(team, name, json.loads(payload)))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

    async def _perform_erasure(self, team: str, name: str, work: dict[str, Any]) -> None:
        try:
            jobs = [JobToErase(**one) for one in work["jobs"]]
            await self._erase_memories(team, name, work)
            await self._erase_schedules(team, name, work)
            for one in jobs:
                await self._erase_job(team, one, work)
            for one in jobs:
                if one.job not in work["done"]:
                    work["done"][one.job] = dataclasses.asdict(await self._delete_posts(team, one, work))
                    await self._store_progress(team, name, work)
            await try_send_direct_message(
                self._outbox, work["by"], render_receipt(_summarize_erasure(jobs, work), work["by"])
            )
            await self._store.schedules.put(team, name, "", None)
        except NoReply as error:
            log.warning("what a forgotten job posted is still in Slack: %s; tried again later", error)
            work["tries"] += 1
            with contextlib.suppress(StoreError):
                await self._store_progress(team, name, work)
        except StoreError as error:
            log.warning("forgetting goes on when the store is back: %s", error)
        except Exception:
            log.exception("forgetting broke; it is tried again later")

    async def _erase_memories(self, team: str, name: str, work: dict[str, Any]) -> None:
        """Erase the memories that a person wrote or that are about them, and add their count to `work`."""
        if not work["person"] or self._memories is None:
            return
        if erased_count := await self._memories.forget_person(team, work["person"], by=work["by"]):
            work["remembered"] = work.get("remembered", 0) + erased_count
            await self._store_progress(team, name, work)

    async def _erase_schedules(self, team: str, name: str, work: dict[str, Any]) -> None:
        """Remove a person's schedules, and add the count to `work` for the receipt."""
        rows = (
            await self._store.schedules.list_all(team, f"{SCHEDULE_PREFIX}{work['person']}:") if work["person"] else []
        )
        for schedule, _, _ in rows:
            await self._store.schedules.put(team, schedule, "", None)
        if rows:
            work["schedules"] = work.get("schedules", 0) + len(rows)
            await self._store_progress(team, name, work)

    async def _erase_job(self, team: str, job: JobToErase, work: dict[str, Any]) -> None:
        """Erase a job in the store, once: a job that was started in its thread since then is left alone."""
        key = JobKey(team, job.job)
        if (await self._store.jobs.read_forget_time(key) or 0.0) >= work["begun"]:
            return
        audit_fields = {"at": self._store.clock(), "team": team, "channel": job.channel, "job": job.job}
        entry = AuditEntry(deed="forgot", user=work["by"], target=work["person"], **audit_fields)
        await asyncio.to_thread(self._tables.remove_file_entries, job.digests)
        users = sorted({*job.askers.values(), work["person"]} - {""})
        line = entry.model_dump_json(exclude_defaults=True)
        if await self._store.jobs.forget(key, users=users, files=job.sources, audit_entries=[line]):
            log_audit_entry(entry)
        await self._store.homes.record_waits(key, people=(), former_people=[*users, EVERYBODY])
        counters = list_erasable_counters(team, job.job, work["person"])
        if work["person"]:
            counters += list_recent_counters(team, work["person"], self._store.clock())
        await self._store.counters.forget_counters(counters)

    async def _delete_posts(self, team: str, job: JobToErase, work: dict[str, Any]) -> DeletionReport:
        key = JobKey(team, job.job)
        at = await self._store.jobs.read_forget_time(key)
        if at is None:
            return DeletionReport()
        await asyncio.sleep(max(0.0, at + LAST_CALL_SECONDS - await self._store.read_time()))
        place = Place(team=team, channel=job.channel, thread_ts=job.thread_ts)
        try:
            deletion_report = await delete_posts(
                self._outbox, place, job.askers, await self._store.outbox.read_forgotten_messages(key), at
            )
        except NoReply:
            if work["tries"] < MAX_TRIES:
                raise
            deletion_report = DeletionReport(faults=Counter({NO_ANSWER_REASON: 1}))
        await self._store.outbox.erase_forgotten_messages(key)
        return deletion_report

    async def _store_progress(self, team: str, name: str, work: dict[str, Any]) -> None:
        await self._store.schedules.put(team, name, json.dumps(work), self._compute_retry_time())

    def _compute_retry_time(self) -> float:
        return self._store.clock() + TAKEOVER_SECONDS


def _summarize_erasure(jobs: list[JobToErase], work: dict[str, Any]) -> ErasureReport:
    deletion_reports = list(work["done"].values())
    undeleted_counts: Counter[str] = Counter()
    for one in deletion_reports:
        undeleted_counts.update(one["faults"])
    return ErasureReport(
        jobs=tuple(one.job for one in jobs),
        shared_jobs=tuple(work["shared"]),
        person=work["person"],
        steps=sum(one.steps for one in jobs),
        files=sum(one.files for one in jobs),
        bytes=sum(one.bytes for one in jobs),
        messages=sum(one["messages"] for one in deletion_reports),
        posted_files=sum(one["files"] for one in deletion_reports),
        undeleted_counts=dict(undeleted_counts),
        memory_count=work.get("remembered", 0),
        schedule_count=work.get("schedules", 0),
    )
