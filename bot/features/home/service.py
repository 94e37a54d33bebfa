"""Updates open App Homes when jobs that run in this instance change.

Slack sends an event when a home is opened, but not when it is closed. A home counts as open for `OPEN_SECONDS` seconds
after its person last did something in it. The instance that commits a change redraws the homes of the people whom it
concerns. The store holds the open homes, and is read only after a change.
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
from bot.limits.spending import EndedRequest, SpendingCounter
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

ROUND_SECONDS = 1.0
"""Seconds between two rounds of redrawing homes."""
ADMIN_ROUND_SECONDS = 4.0
"""Seconds between two redraws of admins' homes: instances and breakers change without a change of a job."""
OPEN_SECONDS = 1800.0
RECENT_END_SECONDS = 120.0
"""Seconds for which a request counts as just ended: a log that is read again also has requests ended long ago."""
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
        admins: Slack ids of the admins, whose homes show more.
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
        self._groups_of = find_groups
        self._spending = SpendingCounter(store.counters)
        self._publish: PublishHome | None = None
        self._touched: set[str] = set()
        self._again: set[str] = set()
        """People whose homes were drawn in the last round: another instance may have published an older view since."""
        self._unsaid: dict[JobKey, tuple[tuple[str, ...], tuple[str, ...]]] = {}
        """Changes still to be stored, by job: a pair of whom the job waits for now, and whom it waited for before."""
        self._ended: list[EndedRequest] = []
        self._counted: OrderedDict[str, float] = OrderedDict()
        """The ends of requests that are counted already, by their mark: those of the last `RECENT_END_SECONDS`
        seconds."""
        self._admins_at = 0.0

    def wrap_effects(self, effects: Effects) -> Effects:
        """Return effects that also report the changes of jobs to this service."""
        return _ObservedEffects(effects, self)

    def set_publisher(self, publish: PublishHome) -> None:
        """Set the function that publishes homes."""
        self._publish = publish

    def mark_changed(self, *ids: str) -> None:
        """Mark these people and user groups as changed: their open homes are redrawn in the next round."""
        self._touched.update(ids)

    async def store_opening(self, user: str, new_pages: Mapping[str, int] | None = None) -> SectionPages:
        """Store that a person opened their home or turned pages in it, and return its pages. Raises StoreError.

        Without `new_pages`, the home was opened and shows its first pages; `new_pages` are page numbers by section
        name.
        """
        pages: dict[str, int] = {}
        if new_pages is not None:
            known = _parse_home(await self._read_row(user))
            pages = {**(known.pages if known is not None else {}), **new_pages}
        await self._store.homes.put(self.team, user, _OpenHome(self._store.clock(), pages).to_json())
        return pages

    async def _read_row(self, user: str) -> str:
        return (await self._store.homes.rows(self.team)).get(user, "")

    def note_change(self, before: Job, after: Job) -> None:
        """Note a change of a job in memory, to be stored and drawn later."""
        now, was = _list_awaited(after), _list_awaited(before)
        key = JobKey(after.place.team, after.id)
        if now != was or after.takeovers != before.takeovers:  # a lost owner may not have stored its changes
            self._queue_change(key, now, was)
        self.mark_changed(*(ask.request.user for ask in after.asks[-5:]), *now, *was)
        self._queue_ended_requests(before, after)

    def _queue_ended_requests(self, before: Job, after: Job) -> None:
        """Queue each request that just ended to be counted once. A lost owner may not have counted all of them."""
        just = self._store.clock() - RECENT_END_SECONDS
        while self._counted and next(iter(self._counted.values())) <= just:
            self._counted.popitem(last=False)
        known = before if after.takeovers == before.takeovers else None
        for ask, was in after.list_changed_requests(known):
            at = ask.ended or 0.0
            if at <= just or not ask.is_over or (was is not None and was.is_over):
                continue
            mark = f"{after.id}:{ask.id}"
            if mark not in self._counted:
                self._counted[mark] = at
                self._ended.append(EndedRequest(after.place.team, ask.request.user, mark, ask.usage, at))

    def note_quarantine(self, key: JobKey, user: str) -> None:
        """Note in memory that a job was set aside."""
        self._queue_change(key, (EVERYBODY,), ())
        self.mark_changed(user, *self.admins)

    def _queue_change(self, key: JobKey, waits_now: Sequence[str], waited_before: Sequence[str]) -> None:
        earlier = self._unsaid.get(key, ((), ()))[1]
        self._unsaid[key] = (tuple(waits_now), tuple({*earlier, *waited_before}))

    async def store_release(self, key: JobKey) -> None:
        """Store for whom a released job waits, and the spending of ended requests; later, if the store is away."""
        try:
            await self._store_waiting(key)
            await self._store_spending()
        except StoreError as error:
            log.info("for whom job %s waits is noted later: %s", key.job, error)

    async def find_place(self, job: str) -> Place | None:
        """Return the thread of a job of our workspace; None if the job does not exist any more. Raises StoreError."""
        head = await self._store.jobs.head(JobKey(self.team, job)) if job.isalnum() else None
        if head is None:
            return None
        place = Place(team=self.team, channel=head.fields["channel"], thread_ts=head.fields["thread_ts"])
        return place if place.job_id == job else None

    async def run(self) -> None:
        """Redraw open homes after changes, until cancelled."""
        while True:
            await asyncio.sleep(ROUND_SECONDS)
            try:
                await self._store_changes()
                await self._redraw_homes()
            except StoreError as error:
                log.info("homes are drawn anew when the store is back: %s", error)
            except Exception:
                log.exception("homes could not be drawn anew")

    async def _store_changes(self) -> None:
        for key in list(self._unsaid):
            await self._store_waiting(key)
        await self._store_spending()

    async def _store_spending(self) -> None:
        if self._ended:
            ended, self._ended = self._ended, []
            try:
                await self._spending.record_requests(ended)
            except StoreError:
                self._ended = [*ended, *self._ended]
                raise

    async def _store_waiting(self, key: JobKey) -> None:
        told = self._unsaid.get(key)
        if told is not None:
            await self._store.homes.note_waits(key, people=told[0], former_people=told[1])
            if self._unsaid.get(key) == told:
                del self._unsaid[key]

    async def _redraw_homes(self) -> None:
        for_admins = bool(self.admins) and time.monotonic() - self._admins_at >= ADMIN_ROUND_SECONDS
        touched = self._touched | self._again
        if self._publish is None or not (touched or for_admins):
            return
        self._touched, self._again = set(), set()
        try:
            homes = await self._read_open_homes()
        except StoreError:
            self._touched |= touched
            raise
        if for_admins:
            self._admins_at = time.monotonic()
        wanted = [
            (user, home)
            for user, home in homes.items()
            if (for_admins and user in self.admins) or await self._is_concerned(user, touched)
        ]
        wanted.sort(key=lambda one: one[1].at, reverse=True)
        slots = asyncio.Semaphore(MAX_CONCURRENT)
        await asyncio.gather(*(self._redraw_home(user, home, slots) for user, home in wanted))

    async def _is_concerned(self, user: str, changed_ids: set[str]) -> bool:
        if user in changed_ids:
            return True
        return any(one.startswith("S") for one in changed_ids) and bool(
            changed_ids.intersection(await self._groups_of(user))
        )

    async def _read_open_homes(self) -> dict[str, _OpenHome]:
        """Read the open homes by user id, and delete the rows of homes that no longer count as open."""
        now = self._store.clock()
        rows = {user: _parse_home(row) for user, row in (await self._store.homes.rows(self.team)).items()}
        homes = {user: home for user, home in rows.items() if home is not None and now - home.at <= OPEN_SECONDS}
        await self._store.homes.drop(self.team, [user for user in rows if user not in homes])
        return homes

    async def _redraw_home(self, user: str, home: _OpenHome, slots: asyncio.Semaphore) -> None:
        async with slots:
            if self._publish is None:
                return
            digest = await self._publish(user, home.pages, home.digest)
            if digest and digest != home.digest:
                self._again.add(user)
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


def _list_awaited(job: Job) -> tuple[str, ...]:
    """List whom a job waits for: ids of people and user groups, and `EVERYBODY` if it waits for anybody."""
    if not job.asks:
        return ()
    ask = job.latest_request
    asked = {one for each in ask.open_questions.values() for one in each.whom or (ask.request.user,)}
    return (*sorted(asked), EVERYBODY) if asked or job.quarantine is not None else ()


class _ObservedEffects(ForwardingEffects):
    """`Effects` that also report the changes of jobs to a `HomeService`."""

    def __init__(self, effects: Effects, service: HomeService) -> None:
        super().__init__(effects)
        self._desk = service

    def show_job_change(self, runner: JobRunner, before: Job, after: Job) -> None:
        """Note the change of a job, and pass it on."""
        self._desk.note_change(before, after)
        super().show_job_change(runner, before, after)

    async def stop_showing_job(self, runner: JobRunner) -> bool:
        """Note the release of a job, and pass it on."""
        await self._desk.store_release(runner.claim.key)
        return await super().stop_showing_job(runner)

    async def announce_quarantine(self, claim: Claim, notice: QuarantineNotice) -> None:
        """Note the quarantine of a job, and pass it on."""
        self._desk.note_quarantine(claim.key, notice.user)
        await super().announce_quarantine(claim, notice)
