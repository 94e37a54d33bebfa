"""The erasure service: erases jobs in the store, deletes their posts in Slack, and sends a receipt.

Each erasure is kept in the store as a schedule with ids and counts, so that another instance can go on with it. Every
step may be repeated. A job that was started anew in the same thread meanwhile is left alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import logging
from collections import Counter
from typing import Any

from bot.features.erasure.view import ErasureReport, ErasureTarget, JobToForget, render_receipt
from bot.features.memory.service import MemoriesService
from bot.features.schedules.schedule import SCHEDULE_PREFIX
from bot.jobs.job_records import DenialReason, read_job
from bot.limits.rules import list_erasable_counters
from bot.limits.spending import list_stored_counters
from bot.logs import log_audit_entry
from bot.slack.send.message_deletion import SETTLE_SECONDS, DeletionReport, delete_posts
from bot.slack.send.other_places import ELSEWHERE_PREFIX
from bot.slack.send.outbox import STREAM_SUFFIX, Outbox
from bot.slack.send.web_calls import NoReply
from bot.slack.show.notices import try_send_direct
from bot.store.redis.redis_store import Store
from bot.store.values import EVERYBODY, Head, JobKey, StoreError
from handoff.access.audit_entry import AuditEntry, AuditRecorder, discard_entry
from handoff.access.rights import list_file_digests, list_requesters, list_source_ids, may_erase
from handoff.contracts import Place
from handoff.state.job_state import ENDED_STATES, Job
from specialists.tools.tables.table_cache import TableCache, find_cache_folder

log = logging.getLogger(__name__)

NAME_PREFIX = "forget:"
"""Prefix of the names of erasures among the store's schedules."""
POLL_SECONDS = 5.0
"""Seconds between two polls for erasures that other instances left unfinished."""
TAKEOVER_SECONDS = 300.0
"""Seconds without progress after which another instance takes over an erasure."""
MAX_TRIES = 20
"""Tries while Slack does not answer, `TAKEOVER_SECONDS` apart, before the receipt says that it did not."""
MAX_JOBS = 20_000
MAX_CONCURRENT = 16
NO_ANSWER_REASON = "Slack did not answer"


class ErasureService:
    """Erases jobs of a team. An instance has one for each team.

    Args:
        store: The store of the jobs.
        outbox: Calls Slack.
        team: The team whose jobs are erased; empty for all teams.
        admins: Slack ids of people who may have anything erased.
        record_audit: Stores an audit entry for each refusal.
        tables: The cached tables of files that this machine has read.
        memories: The remembered things, which are erased with all of a person's jobs.
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
        self._note = record_audit
        self._tables = tables if tables is not None else TableCache(find_cache_folder())
        self._wake = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()

    # -- the data to erase, and the right to erase it ------------------------------------------------

    async def _find_allowed_target(
        self, team: str, user: str, *, job: str = "", person: str = ""
    ) -> ErasureTarget | None:
        """Return what an erasure would delete, or None if `user` may not erase it: the audit records the refusal."""
        admin = user in self._admins
        if person:
            if person != user and not admin:
                await self._record_refusal(team, user, target=person)
                return None
            return await self._read_person_data(team, person)
        key = JobKey(team, job)
        head = await self._store.jobs.head(key)
        if head is None:
            return ErasureTarget(())
        found, asked = await self._inspect_job(head)
        if not may_erase(asked, user, admin=admin):
            await self._record_refusal(team, user, job=job)
            return None
        return ErasureTarget((found,))

    async def find_target(
        self, team: str, user: str, *, job: str = "", person: str = ""
    ) -> ErasureTarget | DenialReason:
        """Return what an erasure of one job or one person would delete, or the reason why it is not possible."""
        found = await self._find_allowed_target(team, user, job=job.upper(), person=person)
        if found is None:
            return "not_yours"
        return found if found.jobs or not job else await self._explain_missing_job(JobKey(team, job.upper()))

    async def start_erasure(self, team: str, user: str, mark: str, *, job: str = "", person: str = "") -> bool:
        """Start an erasure, once for each `mark`. Returns False if there is nothing to erase, or `user` may not."""
        found = await self.find_target(team, user, job=job, person=person)
        something = not isinstance(found, str) and (found.jobs or found.memory_count or found.schedule_count)
        if isinstance(found, str) or not something:
            return False
        await self._store_erasure(team, user, found, mark)
        return True

    async def _explain_missing_job(self, key: JobKey) -> DenialReason:
        return "unknown" if await self._store.jobs.read_forget_time(key) is None else "forgotten"

    async def _read_person_data(self, team: str, person: str) -> ErasureTarget:
        heads = await self._store.jobs.list_asked_by(team, person, limit=MAX_JOBS)
        slots = asyncio.Semaphore(MAX_CONCURRENT)

        async def inspect_with_limit(head: Head) -> tuple[JobToForget, set[str]]:
            async with slots:
                return await self._inspect_job(head)

        looked = await asyncio.gather(*map(inspect_with_limit, heads))
        own = tuple(found for found, asked in looked if may_erase(asked, person, admin=False))
        shared = tuple(found.job for found, asked in looked if not may_erase(asked, person, admin=False))
        remembered = await self._memories.count_person_memories(team, person) if self._memories is not None else 0
        schedules = await self._store.schedules.list_all(team, f"{SCHEDULE_PREFIX}{person}:")
        return ErasureTarget(own, shared, person, remembered, len(schedules))

    async def _inspect_job(self, head: Head) -> tuple[JobToForget, set[str]]:
        """Return the data that is kept of a job, and the ids of its requesters: {""} if they cannot be read."""
        key = head.key
        found_job = await read_job(self._store.jobs, key)
        job = found_job if isinstance(found_job, Job) else None
        number, size = await self._store.blobs.count(key)
        known = (await self._store.outbox.messages(key)).items()
        own = [one for name, one in known if not name.startswith(ELSEWHERE_PREFIX) and not name.endswith(STREAM_SUFFIX)]
        posts = [one for one in own if one.ts or one.draft_ts]
        who = list_requesters(job) if job is not None else {}
        found = JobToForget(
            job=key.job,
            title=head.fields.get("title", ""),
            channel=head.fields.get("channel", ""),
            thread_ts=head.fields.get("thread_ts", ""),
            steps=head.seq,
            files=number,
            bytes=size,
            posts=len(posts),
            under_way=head.fields.get("state") not in ENDED_STATES,
            askers=who,
            digests=list_file_digests(job) if job is not None else (),
            sources=list_source_ids(job) if job is not None else (),
        )
        return found, set(who.values()) if who else {""}

    async def _record_refusal(self, team: str, user: str, **what: str) -> None:
        of = {"at": self._store.clock(), "team": team, "deed": "forgot", "user": user, "outcome": "refused"}
        await self._note(AuditEntry.model_validate({**of, **what, "why": "others asked there, or no admin"}))

    # -- the work ------------------------------------------------------------------------------------

    async def _store_erasure(self, team: str, user: str, target: ErasureTarget, mark: str) -> None:
        """Store an erasure, so that some instance will carry it out. A repeat with the same `mark` changes nothing."""
        jobs = [{**dataclasses.asdict(one), "title": ""} for one in target.jobs]
        work = {"by": user, "person": target.person, "shared": target.shared, "jobs": jobs, "done": {}, "tries": 0}
        work["begun"] = await self._store.now()
        await self._store.schedules.put(team, f"{NAME_PREFIX}{mark}", json.dumps(work), self._store.clock())
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
        for team, name, payload, due in await self._store.schedules.list_due(team=self._team, kind=NAME_PREFIX):
            if await self._store.schedules.fire(team, name, due, self._compute_retry_time()):
                task = asyncio.create_task(self._carry_out(team, name, json.loads(payload)))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

    async def _carry_out(self, team: str, name: str, work: dict[str, Any]) -> None:
        try:
            jobs = [JobToForget(**one) for one in work["jobs"]]
            await self._erase_memories(team, name, work)
            await self._erase_schedules(team, name, work)
            for one in jobs:
                await self._erase_job(team, one, work)
            for one in jobs:
                if one.job not in work["done"]:
                    work["done"][one.job] = dataclasses.asdict(await self._delete_posts(team, one, work))
                    await self._store_progress(team, name, work)
            await try_send_direct(self._outbox, work["by"], render_receipt(_summarize_erasure(jobs, work), work["by"]))
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
        """Erase what a person had the bot remember, and add the count to `work` for the receipt."""
        if not work["person"] or self._memories is None:
            return
        if done := await self._memories.forget_person(team, work["person"], by=work["by"]):
            work["remembered"] = work.get("remembered", 0) + done
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

    async def _erase_job(self, team: str, job: JobToForget, work: dict[str, Any]) -> None:
        """Erase a job in the store, once: a job that was started in its thread since then is left alone."""
        key = JobKey(team, job.job)
        if (await self._store.jobs.read_forget_time(key) or 0.0) >= work["begun"]:
            return
        of = {"at": self._store.clock(), "team": team, "channel": job.channel, "job": job.job}
        entry = AuditEntry(deed="forgot", user=work["by"], target=work["person"], **of)
        await asyncio.to_thread(self._tables.remove_files, job.digests)
        users = sorted({*job.askers.values(), work["person"]} - {""})
        line = entry.model_dump_json(exclude_defaults=True)
        if await self._store.jobs.forget(key, users=users, files=job.sources, audit_entries=[line]):
            log_audit_entry(entry)
        await self._store.homes.note_waits(key, people=(), former_people=[*users, EVERYBODY])
        counters = list_erasable_counters(team, job.job, work["person"])
        if work["person"]:
            counters += list_stored_counters(team, work["person"], self._store.clock())
        await self._store.counters.forget_counters(counters)

    async def _delete_posts(self, team: str, job: JobToForget, work: dict[str, Any]) -> DeletionReport:
        key = JobKey(team, job.job)
        at = await self._store.jobs.read_forget_time(key)
        if at is None:
            return DeletionReport()
        await asyncio.sleep(max(0.0, at + SETTLE_SECONDS - await self._store.now()))
        place = Place(team=team, channel=job.channel, thread_ts=job.thread_ts)
        try:
            done = await delete_posts(
                self._outbox, place, job.askers, await self._store.outbox.read_left_behind(key), at
            )
        except NoReply:
            if work["tries"] < MAX_TRIES:
                raise
            done = DeletionReport(faults=Counter({NO_ANSWER_REASON: 1}))
        await self._store.outbox.erase_left_behind(key)
        return done

    async def _store_progress(self, team: str, name: str, work: dict[str, Any]) -> None:
        await self._store.schedules.put(team, name, json.dumps(work), self._compute_retry_time())

    def _compute_retry_time(self) -> float:
        return self._store.clock() + TAKEOVER_SECONDS


def _summarize_erasure(jobs: list[JobToForget], work: dict[str, Any]) -> ErasureReport:
    done = list(work["done"].values())
    kept: Counter[str] = Counter()
    for one in done:
        kept.update(one["faults"])
    return ErasureReport(
        jobs=tuple(one.job for one in jobs),
        shared=tuple(work["shared"]),
        person=work["person"],
        steps=sum(one.steps for one in jobs),
        files=sum(one.files for one in jobs),
        bytes=sum(one.bytes for one in jobs),
        messages=sum(one["messages"] for one in done),
        posted_files=sum(one["files"] for one in done),
        undeleted_counts=dict(kept),
        memory_count=work.get("remembered", 0),
        schedule_count=work.get("schedules", 0),
    )
