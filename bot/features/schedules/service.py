"""The schedules service: makes, lists and changes schedules, checks people's rights, and keeps the audit."""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from collections.abc import Callable
from typing import Any

from pydantic import ValidationError

from bot.features.schedules.rights import MOST_OWN, find_fault, may_change
from bot.features.schedules.rule_times import next_time
from bot.features.schedules.schedule import KIND, LastRun, Schedule, ScheduleRefusal, make_name
from bot.jobs.job_records import begin_opening, opening_place
from bot.store.redis.redis_store import Store
from bot.store.values import JobKey, PayloadTooLarge
from handoff.access.audit_entry import AuditEntry, AuditRecorder, discard_entry
from handoff.contracts import Place

OPENER = "schedule"
"""The kind of opening for runs of schedules."""
DRAFT_FOR = 86_400.0
"""Seconds after which a draft that nobody saved is dropped."""
TRIES = 8
"""Maximum number of tries to change a schedule that others change at the same time."""
ALPHABET = "23456789ABCDEFGHJKMNPQRSTVWXYZ"

GONE = ScheduleRefusal(words="That schedule is not there any more. `/leadhand schedule` lists yours.")
NOT_YOURS = ScheduleRefusal(words="Only the owner of a schedule, or an admin, can change it.")
BUSY = ScheduleRefusal(words="Somebody changed that schedule at the same time. Look at it again and try once more.")
FULL = ScheduleRefusal(
    words="There are 10,000 schedules, which is the most that I keep. Remove one that nobody needs, then try again."
)
TOO_MANY = ScheduleRefusal(words=f"One person has {MOST_OWN} schedules at most. Please remove one first.")

Change = Callable[[Schedule], "Schedule | ScheduleRefusal"]


def new_id(mark: str = "") -> str:
    """Draw a random id for a schedule, or derive it from `mark`, so that a repeat has the same id."""
    number = int.from_bytes(hashlib.sha256((mark or secrets.token_hex(16)).encode()).digest()[:8], "big")
    return "S" + "".join(ALPHABET[number // 30**place % 30] for place in range(6))


def _ignore_change(_owner: str) -> None:
    """Do nothing: nobody is told of a change."""


class ScheduleDesk:
    """The schedules of a running bot. After a StoreError, the change is not recorded.

    Args:
        store: The store of the schedules.
        admins: Slack ids of people who may change every schedule.
        note: Stores an audit entry for each change and refusal.
        touch: Is called with the owner of a schedule that was made, changed or run.
    """

    def __init__(
        self,
        store: Store,
        *,
        admins: frozenset[str] = frozenset(),
        note: AuditRecorder = discard_entry,
        touch: Callable[[str], None] = _ignore_change,
    ) -> None:
        self._store = store
        self._admins = admins
        self._note = note
        self._touch = touch
        self.changed = asyncio.Event()
        """Set when a schedule was made or changed in this instance: it may be due before all others."""

    def clock(self) -> float:
        """Return the time on the store's clock."""
        return self._store.clock()

    async def list_schedules(self, team: str, user: str = "") -> tuple[Schedule, ...]:
        """List a person's schedules, or all if `user` is empty: by their next run, the paused ones last."""
        rows = await self._store.schedules.list_all(team, f"{KIND}{user}:" if user else KIND)
        found = [_parse_schedule(payload, due) for _, payload, due in rows]
        listed = [one for one in found if one is not None and one.state != "draft"]
        return tuple(sorted(listed, key=lambda one: (one.next_at is None, one.next_at or 0.0, one.id)))

    async def find(self, team: str, schedule: str, user: str) -> Schedule | None:
        """Find a schedule or draft by its id; None if there is none, or it is another person's and `user` no admin."""
        own = await self.read(team, user, schedule.upper())
        if own is not None or user not in self._admins:
            return own
        named = f":{schedule.upper()}"
        rows = await self._store.schedules.list_all(team, KIND)
        return next((_parse_schedule(payload, due) for name, payload, due in rows if name.endswith(named)), None)

    def is_admin(self, user: str) -> bool:
        """Return True for an admin."""
        return user in self._admins

    async def make(self, wanted: Schedule, *, mark: str = "") -> Schedule | ScheduleRefusal:
        """Store a new schedule, either `on` or a `draft`, which is dropped after a day. Without an `id` it gets one.

        `mark` identifies the command: its second delivery returns the schedule of the first.
        """
        now = self._store.clock()
        of = {"id": wanted.id or new_id(mark), "made_by": wanted.made_by or wanted.owner, "made_at": now}
        one = wanted.model_copy(update={**of, "edited_by": of["made_by"], "edited_at": now})
        rows = await self._store.schedules.list_all(one.team, f"{KIND}{one.owner}:")
        known = next((_parse_schedule(payload, due) for name, payload, due in rows if name == make_name(one)), None)
        if known is not None:
            return known
        admin = one.made_by in self._admins
        if one.state != "draft" and (fault := find_fault(one, now, admin=admin)) is not None:
            return fault
        if len(rows) >= MOST_OWN and not admin:
            return TOO_MANY
        due = now + DRAFT_FOR if one.state == "draft" else next_time(one.rule, one.zone, now, one.until)
        try:
            await self._store.schedules.put(one.team, make_name(one), _dump_schedule(one), due)
        except PayloadTooLarge:
            return FULL
        if one.state != "draft":
            await self._record(one, one.made_by, "made")
        self.changed.set()
        return one.model_copy(update={"next_at": due})

    async def edit(
        self, one: Schedule, user: str, change: Change, why: str, *, seen: float | None = None
    ) -> Schedule | ScheduleRefusal:
        """Change a schedule for a person, and set its next time; a paused one has none.

        `why` is the change in the audit's words. `seen` is the time of the last edit that the person saw: after a later
        one, the change is refused.
        """
        admin = user in self._admins

        def check_change(now_is: Schedule) -> Schedule | ScheduleRefusal:
            if seen is not None and now_is.edited_at != seen:
                return BUSY
            after = change(now_is)
            if isinstance(after, ScheduleRefusal):
                return after
            now = self._store.clock()
            after = after.model_copy(update={"edited_by": user, "edited_at": now})
            return (find_fault(after, now, admin=admin) if after.state == "on" else None) or after

        if not may_change(one, user, admin=admin):
            await self._record(one, user, why, refused=True)
            return NOT_YOURS
        after = await self._swap(one, check_change, keep_due=False)
        if isinstance(after, Schedule):
            await self._record(after, user, why)
            self.changed.set()
        return after

    async def remove(self, one: Schedule, user: str) -> Schedule | ScheduleRefusal:
        """Remove a schedule, or discard a draft, for a person. Returns it as it was, or a refusal."""
        if not may_change(one, user, admin=user in self._admins):
            await self._record(one, user, "removed", refused=True)
            return NOT_YOURS
        await self._store.schedules.put(one.team, make_name(one), "", None)
        if one.state != "draft":
            await self._record(one, user, "removed")
        return one

    async def run_now(self, one: Schedule, user: str) -> Schedule | ScheduleRefusal:
        """Start a run outside of a schedule's times, even if it is paused."""
        if not may_change(one, user, admin=user in self._admins):
            await self._record(one, user, "run now", refused=True)
            return NOT_YOURS
        await begin_run(self._store, one, self._store.clock(), "now")
        await self._record(one, user, "run now")
        return one

    async def record_run(self, one: Schedule, last: LastRun, *, failures: int) -> None:
        """Record the outcome of a run, unless a later run is recorded already."""

        def noted(now_is: Schedule) -> Schedule:
            if now_is.last is not None and now_is.last.at > last.at:
                return now_is
            return now_is.model_copy(update={"last": last, "failures": failures})

        await self._swap(one, noted, keep_due=True)

    async def stop(self, one: Schedule, why: str) -> None:
        """Pause a schedule that cannot run; `why` continues "Paused: ..." in people's lists."""
        after = await self._swap(
            one, lambda now: now.model_copy(update={"state": "paused", "why": why}), keep_due=False
        )
        if isinstance(after, Schedule):
            await self._record(after, "", "paused: it could not run")

    async def remove_finished(self, one: Schedule) -> None:
        """Remove a schedule that has no further time."""
        await self._store.schedules.put(one.team, make_name(one), "", None)
        await self._record(one, "", "over: it has no further time")

    async def read(self, team: str, owner: str, schedule: str) -> Schedule | None:
        """Read a schedule from the store; None if it is not there any more."""
        found = await self._store.schedules.read(team, f"{KIND}{owner}:{schedule}")
        return _parse_schedule(*found) if found is not None else None

    async def _swap(self, one: Schedule, change: Change, *, keep_due: bool) -> Schedule | ScheduleRefusal:
        """Apply `change` to the stored schedule, again if others changed it meanwhile, at most `TRIES` times."""
        for _ in range(TRIES):
            seen, _ = await self._store.schedules.read(one.team, make_name(one)) or ("", None)
            known = _parse_schedule(seen, None) if seen else None
            if known is None:
                return GONE
            after = change(known)
            if isinstance(after, ScheduleRefusal):
                return after
            due = None if after.state != "on" else next_time(after.rule, after.zone, self._store.clock(), after.until)
            when: tuple[float | None, ...] = () if keep_due else (due,)
            if await self._store.schedules.swap(one.team, make_name(one), seen, _dump_schedule(after), *when):
                self._touch(one.owner)
                return after.model_copy(update={"next_at": due})
        return BUSY

    async def _record(self, one: Schedule, user: str, why: str, *, refused: bool = False) -> None:
        of: dict[str, Any] = {"at": self._store.clock(), "team": one.team, "channel": one.channel, "user": user}
        outcome = {"outcome": "refused"} if refused else {}
        if not refused:
            self._touch(one.owner)
        await self._note(AuditEntry(deed="scheduled", target=one.id, why=why, **of, **outcome))


def make_run_place(one: Schedule, due: float, mark: str = "") -> Place:
    """Return the place of a run that has no thread yet; its job's id is derived from the place."""
    return opening_place(one.team, one.channel, OPENER, f"{one.owner}:{one.id}:{due!r}:{mark}")


async def begin_run(store: Store, one: Schedule, due: float, mark: str = "") -> JobKey:
    """Start the run of a schedule for a time, unless it was started already. Returns the key of its job.

    `mark` is empty for a run that is due by the rule, `now` for one that a person asked for.
    """
    place = make_run_place(one, due, mark)
    await begin_opening(store, place, one.owner, f"Run of schedule {one.id}")
    return JobKey(place.team, place.job_id)


def _dump_schedule(one: Schedule) -> str:
    return one.model_dump_json(exclude_defaults=True)


def _parse_schedule(payload: str, due: float | None) -> Schedule | None:
    """Parse a stored schedule; None if it is damaged, or a newer release wrote it."""
    try:
        one = Schedule.model_validate_json(payload)
    except ValidationError:
        return None
    return one.model_copy(update={"next_at": due if one.state == "on" else None})
