"""Updates open App Homes when jobs that run in this instance change.

Slack sends an event when a home is opened, but not when it is closed. A home counts as open for `HOME_OPEN_SECONDS`
seconds after the person's last action in it. The instance that commits a change redraws the homes of
those concerned. The store holds the open homes, and is read only after a change.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from bot.jobs.job_runner import Effects, ForwardingEffects, JobRunner
from bot.limits.spending import EndedRequest, SpendingRecorder
from bot.slack.send.web_calls import WebCalls
from bot.slack.show.people import FindGroups, find_no_groups
from bot.store.redis.redis_store import Store
from bot.store.values import EVERYBODY, Claim, JobKey, StoreError
from handoff.contracts import Place
from handoff.state.job_state import Job
from handoff.summaries.summary import QuarantineNotice

log = logging.getLogger(__name__)

SectionPages = Mapping[str, int]
"""Page numbers by section name, for sections that do not show their first page."""
PublishHome = Callable[[str, SectionPages, str], Awaitable[str]]
"""A function of (user, pages, digest) that publishes a home unless it has that digest. Returns the new digest."""

REDRAW_SECONDS = 1.0
"""Seconds between two rounds of redrawing homes."""
ADMIN_REDRAW_SECONDS = 4.0
"""Seconds between two redraws of admins' homes: instances and breakers change without a change of a job."""
HOME_OPEN_SECONDS = 1800.0
RECENT_END_SECONDS = 120.0
"""Seconds for which an ended request may still be counted. Older ends, from a log that is read again, are not new."""
MAX_CONCURRENT = 6
"""Maximum number of homes that are drawn concurrently."""


@dataclass(slots=True)
class _OpenHome:
    """An open home as it is stored: the time of its person's last action, its pages, and the digest of its view."""

    at: float
    pages: dict[str, int] = field(default_factory=dict)
    digest: str = ""

    def to_json(self) -> str:
        return json.dumps({"at": self.at, "pages": self.pages, "digest": self.digest}, separators=(",", ":"))


class HomeService:
    """The App Homes of a running bot.

    Args:
        store: The store, which holds the open homes.
        team: Our workspace.
        calls: The shared budget of calls to Slack.
        admins: Slack ids of the admins, whose homes also show the state of the bot.
        find_groups: Returns the user groups of a person.
    """

    def __init__(
        self,
        store: Store,
        *,
        team: str,
        calls: WebCalls,
        admins: frozenset[str] = frozenset(),
        find_groups: FindGroups = find_no_groups,
    ) -> None:
        self.calls = calls
        self.team = team
        self.admins = admins
        self._store = store
        self._find_groups = find_groups
        self._spending = SpendingRecorder(store.counters)
        self._publish: PublishHome | None = None
        self._changed_ids: set[str] = set()
        self._recently_drawn: set[str] = set()
        """People whose homes were drawn in the last round: another instance may have published an older view since."""
        self._unsaved_waits: dict[JobKey, tuple[tuple[str, ...], tuple[str, ...]]] = {}
        """Changes still to be stored, by job: a pair of whom the job waits for now, and whom it waited for before."""
        self._uncounted_requests: list[EndedRequest] = []
        self._counted_ends: OrderedDict[str, float] = OrderedDict()
        """Times at which already counted requests ended, by `job:request`; dropped after `RECENT_END_SECONDS`."""
        self._admins_drawn_at = 0.0

    def wrap_effects(self, effects: Effects) -> Effects:
        """Return effects that also report the changes of jobs to this service."""
        return _ObservedEffects(effects, self)

    def set_publisher(self, publish: PublishHome) -> None:
        """Set the function that publishes homes. Until then, nothing is redrawn."""
        self._publish = publish

    def mark_changed(self, *ids: str) -> None:
        """Mark these people and user groups as changed: their open homes are redrawn in the next round."""
        self._changed_ids.update(ids)

    async def store_opening(self, user: str, new_pages: Mapping[str, int] | None = None) -> SectionPages:
        """Store that a person opened their home or turned pages in it, and return its pages. Raises StoreError.

        Without `new_pages`, the home was opened and shows its first pages; `new_pages` are page numbers by section
        name.
        """
        pages: dict[str, int] = {}
        if new_pages is not None:
            home = _parse_home(await self._read_row(user))
            pages = {**(home.pages if home is not None else {}), **new_pages}
        await self._store.homes.put(self.team, user, _OpenHome(self._store.clock(), pages).to_json())
        return pages

    async def _read_row(self, user: str) -> str:
        return (await self._store.homes.read_rows(self.team)).get(user, "")

    def queue_job_change(self, before: Job, after: Job) -> None:
        """Queue the change of a job in memory. `run` stores it, and redraws the homes of those concerned."""
        now, was = _list_awaited_ids(after), _list_awaited_ids(before)
        key = JobKey(after.place.team, after.id)
        if now != was or after.takeover_count != before.takeover_count:  # a lost owner may not have stored its changes
            self._queue_change(key, now, was)
        self.mark_changed(*(request.spec.user for request in after.requests[-5:]), *now, *was)
        self._queue_ended_requests(before, after)

    def _queue_ended_requests(self, before: Job, after: Job) -> None:
        """Queue each request that just ended to be counted once; not those that the bot refused.

        A lost owner may not have counted all of them.
        """
        oldest_end = self._store.clock() - RECENT_END_SECONDS
        while self._counted_ends and next(iter(self._counted_ends.values())) <= oldest_end:
            self._counted_ends.popitem(last=False)
        earlier_job = before if after.takeover_count == before.takeover_count else None
        for request, was in after.list_changed_requests(earlier_job):
            at = request.ended_at or 0.0
            if request.refusal or at <= oldest_end or not request.is_over or (was is not None and was.is_over):
                continue
            mark = f"{after.id}:{request.id}"
            if mark not in self._counted_ends:
                self._counted_ends[mark] = at
                self._uncounted_requests.append(
                    EndedRequest(after.place.team, request.spec.user, mark, request.usage, at)
                )

    def queue_quarantine(self, key: JobKey, user: str) -> None:
        """Queue in memory that a job was quarantined. `run` stores it, and redraws homes of `user` and the admins."""
        self._queue_change(key, (EVERYBODY,), ())
        self.mark_changed(user, *self.admins)

    def _queue_change(self, key: JobKey, waits_now: Sequence[str], waited_before: Sequence[str]) -> None:
        earlier = self._unsaved_waits.get(key, ((), ()))[1]
        self._unsaved_waits[key] = (tuple(waits_now), tuple({*earlier, *waited_before}))

    async def store_release(self, key: JobKey) -> None:
        """Store for whom a released job waits, and the spending of ended requests. If that fails, `run` retries."""
        try:
            await self._store_waiting(key)
            await self._store_spending()
        except StoreError as error:
            log.info("for whom job %s waits is noted later: %s", key.job, error)

    async def find_place(self, job: str) -> Place | None:
        """Return the thread of a job of our workspace; None if the job does not exist any more. Raises StoreError."""
        head = await self._store.jobs.read_head(JobKey(self.team, job)) if job.isalnum() else None
        if head is None:
            return None
        place = Place(team=self.team, channel=head.fields["channel"], thread_ts=head.fields["thread_ts"])
        return place if place.job_id == job else None

    async def run(self) -> None:
        """Redraw open homes after changes, until cancelled."""
        while True:
            await asyncio.sleep(REDRAW_SECONDS)
            try:
                await self._store_changes()
                await self._redraw_homes()
            except StoreError as error:
                log.info("homes are drawn anew when the store is back: %s", error)
            except Exception:
                log.exception("homes could not be drawn anew")

    async def _store_changes(self) -> None:
        for key in list(self._unsaved_waits):
            await self._store_waiting(key)
        await self._store_spending()

    async def _store_spending(self) -> None:
        if self._uncounted_requests:
            ended_requests, self._uncounted_requests = self._uncounted_requests, []
            try:
                await self._spending.record_requests(ended_requests)
            except StoreError:
                self._uncounted_requests = [*ended_requests, *self._uncounted_requests]
                raise

    async def _store_waiting(self, key: JobKey) -> None:
        change = self._unsaved_waits.get(key)
        if change is not None:
            await self._store.homes.record_waits(key, people=change[0], former_people=change[1])
            if self._unsaved_waits.get(key) == change:
                del self._unsaved_waits[key]

    async def _redraw_homes(self) -> None:
        for_admins = bool(self.admins) and time.monotonic() - self._admins_drawn_at >= ADMIN_REDRAW_SECONDS
        changed_ids = self._changed_ids | self._recently_drawn
        if self._publish is None or not (changed_ids or for_admins):
            return
        self._changed_ids, self._recently_drawn = set(), set()
        try:
            homes = await self._read_open_homes()
        except StoreError:
            self._changed_ids |= changed_ids
            raise
        if for_admins:
            self._admins_drawn_at = time.monotonic()
        homes_to_redraw = [
            (user, home)
            for user, home in homes.items()
            if (for_admins and user in self.admins) or await self._is_concerned(user, changed_ids)
        ]
        homes_to_redraw.sort(key=lambda one: one[1].at, reverse=True)
        slots = asyncio.Semaphore(MAX_CONCURRENT)
        await asyncio.gather(*(self._redraw_home(user, home, slots) for user, home in homes_to_redraw))

    async def _is_concerned(self, user: str, changed_ids: set[str]) -> bool:
        if user in changed_ids:
            return True
        return any(one.startswith("S") for one in changed_ids) and bool(
            changed_ids.intersection(await self._find_groups(user))
        )

    async def _read_open_homes(self) -> dict[str, _OpenHome]:
        """Read the open homes by user id, and delete the rows of homes that no longer count as open."""
        now = self._store.clock()
        rows = {user: _parse_home(row) for user, row in (await self._store.homes.read_rows(self.team)).items()}
        homes = {user: home for user, home in rows.items() if home is not None and now - home.at <= HOME_OPEN_SECONDS}
        await self._store.homes.drop(self.team, [user for user in rows if user not in homes])
        return homes

    async def _redraw_home(self, user: str, home: _OpenHome, slots: asyncio.Semaphore) -> None:
        async with slots:
            if self._publish is None:
                return
            digest = await self._publish(user, home.pages, home.digest)
            if digest and digest != home.digest:
                self._recently_drawn.add(user)
                await self.store_digest(user, digest)

    async def store_digest(self, user: str, digest: str) -> None:
        """Store the digest of a home's view, so that no instance publishes the same view again. Raises StoreError."""
        home = _parse_home(await self._read_row(user))
        if home is not None:
            home.digest = digest
            await self._store.homes.put(self.team, user, home.to_json())


def _parse_home(row: str) -> _OpenHome | None:
    try:
        fields = json.loads(row)
        pages = {str(name): int(page) for name, page in fields["pages"].items()}
        return _OpenHome(float(fields["at"]), pages, str(fields["digest"]))
    except (ValueError, KeyError, TypeError, AttributeError):
        return None  # a newer release wrote it, or there is no row


def _list_awaited_ids(job: Job) -> tuple[str, ...]:
    """List whom a job waits for: ids of people and user groups, and `EVERYBODY` if it waits for anybody."""
    if not job.requests:
        return ()
    request = job.latest_request
    awaited_ids = {one for each in request.open_questions.values() for one in each.whom or (request.spec.user,)}
    return (*sorted(awaited_ids), EVERYBODY) if awaited_ids or job.quarantine is not None else ()


class _ObservedEffects(ForwardingEffects):
    """`Effects` that also report the changes of jobs to a `HomeService`."""

    def __init__(self, effects: Effects, service: HomeService) -> None:
        super().__init__(effects)
        self._homes = service

    def show_job_change(self, runner: JobRunner, before: Job, after: Job) -> None:
        """Note the change of a job, and pass it on."""
        self._homes.queue_job_change(before, after)
        super().show_job_change(runner, before, after)

    async def stop_showing_job(self, runner: JobRunner) -> bool:
        """Note the release of a job, and pass it on."""
        await self._homes.store_release(runner.claim.key)
        return await super().stop_showing_job(runner)

    async def announce_quarantine(self, claim: Claim, notice: QuarantineNotice) -> None:
        """Note the quarantine of a job, and pass it on."""
        self._homes.queue_quarantine(claim.key, notice.user)
        await super().announce_quarantine(claim, notice)
