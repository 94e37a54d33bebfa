"""Keeps open homes right: what changed in jobs that run here, whom that concerns, and whose home is open.

Slack tells when a home is opened, never that it was closed: one counts as open for `OPEN_FOR` seconds after its person
last did something in it. Whichever instance commits a change draws the homes that it concerns. The store knows
whose homes are open, and is asked only if something changed.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from bot.jobs.job_runner import Effects, JobRunner, PassedEffects
from bot.limits.spending import EndedRequest, Spending
from bot.slack.send.web_calls import WebCalls
from bot.slack.show.people import GroupsOf, find_no_groups
from bot.store.redis.redis_store import Store
from bot.store.values import EVERYBODY, Claim, JobKey, StoreError
from handoff.contracts import Place
from handoff.state.job_state import Job
from handoff.summaries.summary import QuarantineNotice

log = logging.getLogger(__name__)

Pages = Mapping[str, int]
"""The page of each section that is not at its first, by the section's name."""
Publish = Callable[[str, Pages, str], Awaitable[str]]
"""Draws a person's home, unless it looks as the digest says. Returns the digest of how it looks now."""

ROUND = 1.0
"""Seconds between two looks at what changed."""
ADMIN_ROUND = 4.0
"""Seconds between two looks at the homes of admins: instances and breakers change without a job's change."""
OPEN_FOR = 1800.0
JUST_ENDED = 120.0
"""Seconds for which a request counts as just ended: a job that is read anew also has earlier ones."""
AT_ONCE = 6
"""Homes that are drawn at once."""


@dataclass(slots=True)
class _OpenHome:
    """A home as the store knows it: when its person last did something in it, its pages, and what it looks like."""

    at: float
    pages: dict[str, int] = field(default_factory=dict)
    digest: str = ""

    def as_text(self) -> str:
        return json.dumps({"at": self.at, "pages": self.pages, "digest": self.digest}, separators=(",", ":"))


class HomeDesk:
    """The homes of a running bot.

    Args:
        store: Where open homes are known.
        team: Our workspace.
        calls: The shared budget of calls to Slack.
        admins: Slack ids of the admins: their homes show more.
        groups_of: The user groups of a person.
    """

    def __init__(
        self,
        store: Store,
        *,
        team: str,
        calls: WebCalls,
        admins: frozenset[str] = frozenset(),
        groups_of: GroupsOf = find_no_groups,
    ) -> None:
        self.calls = calls
        self.team = team
        self.admins = admins
        self._store = store
        self._groups_of = groups_of
        self._spending = Spending(store.counters)
        self._publish: Publish | None = None
        self._touched: set[str] = set()
        self._again: set[str] = set()
        """Who was drawn in the last round: another instance may have drawn something older just after."""
        self._unsaid: dict[JobKey, tuple[tuple[str, ...], tuple[str, ...]]] = {}
        """For each job that the store has not been told of yet: for whom it waits now, and did before."""
        self._ended: list[EndedRequest] = []
        self._counted: OrderedDict[str, float] = OrderedDict()
        """When each request ended that is counted, or will be: those of the last `JUST_ENDED` seconds."""
        self._admins_at = 0.0

    def wrap_effects(self, effects: Effects) -> Effects:
        """Wrap effects, so that this desk sees the changes of jobs."""
        return _SeenEffects(effects, self)

    def set_publisher(self, publish: Publish) -> None:
        """Publish homes by this call from now on."""
        self._publish = publish

    def mark_changed(self, *who: str) -> None:
        """Say that something changed for these people and user groups: open homes of theirs are drawn anew."""
        self._touched.update(who)

    async def note_opening(self, user: str, turned: Mapping[str, int] | None = None) -> Pages:
        """Note that somebody opened their home, or did something in it, and give its pages. Raises StoreError.

        A home that is opened anew begins with its first pages; `turned` are the pages that were turned in it.
        """
        pages: dict[str, int] = {}
        if turned is not None:
            known = _parse_home(await self._read_row(user))
            pages = {**(known.pages if known is not None else {}), **turned}
        await self._store.homes.put(self.team, user, _OpenHome(self._store.clock(), pages).as_text())
        return pages

    async def _read_row(self, user: str) -> str:
        return (await self._store.homes.rows(self.team)).get(user, "")

    def note_change(self, before: Job, after: Job) -> None:
        """Take in a change of a job. Costs no call."""
        now, was = _list_awaited(after), _list_awaited(before)
        key = JobKey(after.place.team, after.id)
        if now != was or after.takeovers != before.takeovers:  # who was lost may not have told the store
            self._queue_change(key, now, was)
        self.mark_changed(*(ask.request.user for ask in after.asks[-5:]), *now, *was)
        self._note_ended(before, after)

    def _note_ended(self, before: Job, after: Job) -> None:
        """Count each request that just ended, once. A lost owner may not have told the store of all of them."""
        just = self._store.clock() - JUST_ENDED
        while self._counted and next(iter(self._counted.values())) <= just:
            self._counted.popitem(last=False)
        known = before if after.takeovers == before.takeovers else None
        for ask, was in after.changes_since(known):
            at = ask.ended or 0.0
            if at <= just or not ask.is_over or (was is not None and was.is_over):
                continue
            mark = f"{after.id}:{ask.id}"
            if mark not in self._counted:
                self._counted[mark] = at
                self._ended.append(EndedRequest(after.place.team, ask.request.user, mark, ask.usage, at))

    def note_quarantine(self, key: JobKey, user: str) -> None:
        """Take in that a job was set aside."""
        self._queue_change(key, (EVERYBODY,), ())
        self.mark_changed(user, *self.admins)

    def _queue_change(self, key: JobKey, now: Sequence[str], before: Sequence[str]) -> None:
        earlier = self._unsaid.get(key, ((), ()))[1]
        self._unsaid[key] = (tuple(now), tuple({*earlier, *before}))

    async def note_release(self, key: JobKey) -> None:
        """Tell the store for whom a released job waits; later if the store is away."""
        try:
            await self._store_waiting(key)
            await self._tell_spent()
        except StoreError as error:
            log.info("for whom job %s waits is noted later: %s", key.job, error)

    async def find_place(self, job: str) -> Place | None:
        """Return the thread of a job of our workspace; None if there is no such job any more. Raises StoreError."""
        head = await self._store.jobs.head(JobKey(self.team, job)) if job.isalnum() else None
        if head is None:
            return None
        place = Place(team=self.team, channel=head.fields["channel"], thread_ts=head.fields["thread_ts"])
        return place if place.job_id == job else None

    async def run(self) -> None:
        """Draw open homes again and again as things change, until cancelled."""
        while True:
            await asyncio.sleep(ROUND)
            try:
                await self._tell_store()
                await self._draw()
            except StoreError as error:
                log.info("homes are drawn anew when the store is back: %s", error)
            except Exception:
                log.exception("homes could not be drawn anew")

    async def _tell_store(self) -> None:
        for key in list(self._unsaid):
            await self._store_waiting(key)
        await self._tell_spent()

    async def _tell_spent(self) -> None:
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
            await self._store.homes.note_waits(key, now=told[0], before=told[1])
            if self._unsaid.get(key) == told:
                del self._unsaid[key]

    async def _draw(self) -> None:
        for_admins = bool(self.admins) and time.monotonic() - self._admins_at >= ADMIN_ROUND
        touched = self._touched | self._again
        if self._publish is None or not (touched or for_admins):
            return
        self._touched, self._again = set(), set()
        try:
            homes = await self._open_homes()
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
        slots = asyncio.Semaphore(AT_ONCE)
        await asyncio.gather(*(self._draw_one(user, home, slots) for user, home in wanted))

    async def _is_concerned(self, user: str, touched: set[str]) -> bool:
        if user in touched:
            return True
        return any(one.startswith("S") for one in touched) and bool(touched.intersection(await self._groups_of(user)))

    async def _open_homes(self) -> dict[str, _OpenHome]:
        """Read whose home is open, and drop those that are not any more."""
        now = self._store.clock()
        rows = {user: _parse_home(row) for user, row in (await self._store.homes.rows(self.team)).items()}
        homes = {user: home for user, home in rows.items() if home is not None and now - home.at <= OPEN_FOR}
        await self._store.homes.drop(self.team, [user for user in rows if user not in homes])
        return homes

    async def _draw_one(self, user: str, home: _OpenHome, slots: asyncio.Semaphore) -> None:
        async with slots:
            if self._publish is None:
                return
            digest = await self._publish(user, home.pages, home.digest)
            if digest and digest != home.digest:
                self._again.add(user)
                await self.note_drawing(user, digest)

    async def note_drawing(self, user: str, digest: str) -> None:
        """Note what a home looks like now, so that nobody draws the same again. Raises StoreError."""
        home = _parse_home(await self._read_row(user))
        if home is not None:
            home.digest = digest
            await self._store.homes.put(self.team, user, home.as_text())


def _parse_home(row: str) -> _OpenHome | None:
    try:
        fields = json.loads(row)
        pages = {str(name): int(page) for name, page in fields["pages"].items()}
        return _OpenHome(float(fields["at"]), pages, str(fields["digest"]))
    except (ValueError, KeyError, TypeError, AttributeError):
        return None  # a newer release wrote it, or there is none


def _list_awaited(job: Job) -> tuple[str, ...]:
    """Return for whom a job waits: people, user groups, and `EVERYBODY` if it waits at all."""
    if not job.asks:
        return ()
    ask = job.latest
    asked = {one for each in ask.open_questions.values() for one in each.whom or (ask.request.user,)}
    return (*sorted(asked), EVERYBODY) if asked or job.quarantine is not None else ()


class _SeenEffects(PassedEffects):
    """`Effects` whose changes of jobs a desk sees."""

    def __init__(self, effects: Effects, desk: HomeDesk) -> None:
        super().__init__(effects)
        self._desk = desk

    def job_changed(self, runner: JobRunner, before: Job, after: Job) -> None:
        """Show the desk what changed, and pass it on."""
        self._desk.note_change(before, after)
        super().job_changed(runner, before, after)

    async def job_released(self, runner: JobRunner) -> bool:
        """Tell the desk, and pass it on."""
        await self._desk.note_release(runner.claim.key)
        return await super().job_released(runner)

    async def job_quarantined(self, claim: Claim, notice: QuarantineNotice) -> None:
        """Tell the desk, and pass it on."""
        self._desk.note_quarantine(claim.key, notice.user)
        await super().job_quarantined(claim, notice)
