"""The schedules service: makes, lists and changes schedules, checks people's rights, and keeps the audit."""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from collections.abc import Callable
from typing import Any

from pydantic import ValidationError

from bot.features.schedules.rule_times import find_next_time
from bot.features.schedules.schedule import SCHEDULE_PREFIX, LastRun, Schedule, ScheduleRefusal, make_store_name
from bot.features.schedules.schedule_checks import MAX_SCHEDULES_PER_PERSON, find_schedule_fault, may_change
from bot.jobs.job_records import create_opening_job, make_opening_place
from bot.store.redis.redis_store import Store
from bot.store.values import JobKey, PayloadTooLarge
from handoff.access.audit_entry import AuditEntry, AuditRecorder, discard_entry
from handoff.contracts import Place

OPENING_KIND = "schedule"
"""The key in `Kit.openers` of the function that opens threads for runs."""
DRAFT_SECONDS = 86_400.0
"""Seconds after which an unsaved draft is dropped."""
MAX_TRIES = 8
"""Maximum number of tries to change a schedule that others change at the same time."""
ID_ALPHABET = "23456789ABCDEFGHJKMNPQRSTVWXYZ"

GONE_REFUSAL = ScheduleRefusal(words="That schedule is not there any more. `/leadhand schedule` lists yours.")
NOT_OWNER_REFUSAL = ScheduleRefusal(words="Only the owner of a schedule, or an admin, can change it.")
CONFLICT_REFUSAL = ScheduleRefusal(
    words="Somebody changed that schedule at the same time. Look at it again and try once more."
)
STORE_FULL_REFUSAL = ScheduleRefusal(
    words="There are 10,000 schedules, which is the most that I keep. Remove one that nobody needs, then try again."
)
TOO_MANY_REFUSAL = ScheduleRefusal(
    words=f"One person has {MAX_SCHEDULES_PER_PERSON} schedules at most. Please remove one first."
)

ScheduleChange = Callable[[Schedule], "Schedule | ScheduleRefusal"]


def make_schedule_id(seed: str = "") -> str:
    """Draw a random id for a schedule, or derive it from `seed`, so that a repeat has the same id."""
    number = int.from_bytes(hashlib.sha256((seed or secrets.token_hex(16)).encode()).digest()[:8], "big")
    return "S" + "".join(ID_ALPHABET[number // 30**place % 30] for place in range(6))


def _ignore_change(_owner: str) -> None:
    """Do nothing: nobody is told of a change."""


class ScheduleService:
    """Makes, changes and lists schedules. Its coroutines raise StoreError if the store cannot be used.

    Args:
        store: The store of the schedules.
        admins: Slack ids of people who may change every schedule.
        record_audit: Stores an audit entry for each change and refusal.
        on_change: Is called with the owner of a schedule that was made, changed or run.
    """

    def __init__(
        self,
        store: Store,
        *,
        admins: frozenset[str] = frozenset(),
        record_audit: AuditRecorder = discard_entry,
        on_change: Callable[[str], None] = _ignore_change,
    ) -> None:
        self._store = store
        self._admins = admins
        self._record_audit = record_audit
        self._on_change = on_change
        self.change_event = asyncio.Event()
        """Set when a schedule was made or changed in this instance, as it may now be the next that is due."""

    def clock(self) -> float:
        """Return the time on the store's clock."""
        return self._store.clock()

    async def list_schedules(self, team: str, user: str = "") -> tuple[Schedule, ...]:
        """List a person's schedules, or all if `user` is empty, without drafts: by next run, the paused ones last."""
        rows = await self._store.schedules.list_all(team, f"{SCHEDULE_PREFIX}{user}:" if user else SCHEDULE_PREFIX)
        schedules = [_parse_schedule(payload, due) for _, payload, due in rows]
        visible_schedules = [one for one in schedules if one is not None and one.state != "draft"]
        return tuple(sorted(visible_schedules, key=lambda one: (one.next_at is None, one.next_at or 0.0, one.id)))

    async def find_changeable(self, team: str, schedule_id: str, user: str) -> Schedule | None:
        """Find a schedule or draft by its id: the person's own, or for an admin anybody's; None if there is none."""
        own = await self.read(team, user, schedule_id.upper())
        if own is not None or user not in self._admins:
            return own
        name_suffix = f":{schedule_id.upper()}"
        rows = await self._store.schedules.list_all(team, SCHEDULE_PREFIX)
        return next((_parse_schedule(payload, due) for name, payload, due in rows if name.endswith(name_suffix)), None)

    def is_admin(self, user: str) -> bool:
        """Return True for an admin."""
        return user in self._admins

    async def create(self, schedule: Schedule, *, dedupe_key: str = "") -> Schedule | ScheduleRefusal:
        """Store a new schedule that is `on` or a `draft`, and set its `id` if that is empty.

        Returns a refusal if it is invalid or there are too many.

        `dedupe_key` identifies the command: its second delivery returns the schedule of the first.
        """
        now = self._store.clock()
        creation_fields = {
            "id": schedule.id or make_schedule_id(dedupe_key),
            "made_by": schedule.made_by or schedule.owner,
            "made_at": now,
        }
        new_schedule = schedule.model_copy(
            update={**creation_fields, "edited_by": creation_fields["made_by"], "edited_at": now}
        )
        rows = await self._store.schedules.list_all(new_schedule.team, f"{SCHEDULE_PREFIX}{new_schedule.owner}:")
        stored_schedule = next(
            (_parse_schedule(payload, due) for name, payload, due in rows if name == make_store_name(new_schedule)),
            None,
        )
        if stored_schedule is not None:
            return stored_schedule
        admin = new_schedule.made_by in self._admins
        if new_schedule.state != "draft" and (fault := find_schedule_fault(new_schedule, now, admin=admin)) is not None:
            return fault
        if len(rows) >= MAX_SCHEDULES_PER_PERSON and not admin:
            return TOO_MANY_REFUSAL
        due = _find_due(new_schedule, now)
        try:
            await self._store.schedules.put(
                new_schedule.team, make_store_name(new_schedule), _dump_schedule(new_schedule), due
            )
        except PayloadTooLarge:
            return STORE_FULL_REFUSAL
        if new_schedule.state != "draft":
            await self._audit_change(new_schedule, new_schedule.made_by, "made")
        self.change_event.set()
        return new_schedule.model_copy(update={"next_at": due})

    async def edit(
        self, schedule: Schedule, user: str, change: ScheduleChange, why: str, *, seen_edit: float | None = None
    ) -> Schedule | ScheduleRefusal:
        """Change a schedule for a person, and set its next time; a paused one has none.

        `why` names the change in the audit. `seen_edit` is the `edited_at` that the person saw. A change is refused if
        that differs by now, if the person has no right to it, or if it makes the schedule invalid.
        """
        admin = user in self._admins

        def check_change(stored_schedule: Schedule) -> Schedule | ScheduleRefusal:
            if seen_edit is not None and stored_schedule.edited_at != seen_edit:
                return CONFLICT_REFUSAL
            after = change(stored_schedule)
            if isinstance(after, ScheduleRefusal):
                return after
            now = self._store.clock()
            after = after.model_copy(update={"edited_by": user, "edited_at": now})
            return (find_schedule_fault(after, now, admin=admin) if after.state == "on" else None) or after

        if not may_change(schedule, user, admin=admin):
            await self._audit_change(schedule, user, why, is_refused=True)
            return NOT_OWNER_REFUSAL
        after = await self._apply_change(schedule, check_change, keep_due=False)
        if isinstance(after, Schedule):
            await self._audit_change(after, user, why)
            self.change_event.set()
        return after

    async def remove(self, schedule: Schedule, user: str) -> Schedule | ScheduleRefusal:
        """Remove a schedule, or discard a draft, for a person. Returns it as it was, or a refusal."""
        if not may_change(schedule, user, admin=user in self._admins):
            await self._audit_change(schedule, user, "removed", is_refused=True)
            return NOT_OWNER_REFUSAL
        await self._store.schedules.put(schedule.team, make_store_name(schedule), "", None)
        if schedule.state != "draft":
            await self._audit_change(schedule, user, "removed")
        return schedule

    async def start_run_now(self, schedule: Schedule, user: str) -> Schedule | ScheduleRefusal:
        """Start a run outside of a schedule's times, even if it is paused."""
        if not may_change(schedule, user, admin=user in self._admins):
            await self._audit_change(schedule, user, "run now", is_refused=True)
            return NOT_OWNER_REFUSAL
        await start_run(self._store, schedule, self._store.clock(), "now")
        await self._audit_change(schedule, user, "run now")
        return schedule

    async def record_run(self, schedule: Schedule, last: LastRun, *, failures: int) -> None:
        """Record the outcome of a run, unless a later run is recorded already."""

        def set_last_run(stored_schedule: Schedule) -> Schedule:
            if stored_schedule.last is not None and stored_schedule.last.at > last.at:
                return stored_schedule
            return stored_schedule.model_copy(update={"last": last, "failures": failures})

        await self._apply_change(schedule, set_last_run, keep_due=True)

    async def pause_failing(self, schedule: Schedule, why: str) -> None:
        """Pause a schedule that cannot run; `why` continues "Paused: ..." in people's lists."""
        after = await self._apply_change(
            schedule, lambda now: now.model_copy(update={"state": "paused", "why": why}), keep_due=False
        )
        if isinstance(after, Schedule):
            await self._audit_change(after, "", "paused: it could not run")

    async def remove_finished(self, schedule: Schedule) -> None:
        """Remove a schedule that has no further time."""
        await self._store.schedules.put(schedule.team, make_store_name(schedule), "", None)
        await self._audit_change(schedule, "", "over: it has no further time")

    async def read(self, team: str, owner: str, schedule_id: str) -> Schedule | None:
        """Read a schedule from the store; None if it is not there any more."""
        row = await self._store.schedules.read(team, f"{SCHEDULE_PREFIX}{owner}:{schedule_id}")
        return _parse_schedule(*row) if row is not None else None

    async def _apply_change(
        self, schedule: Schedule, change: ScheduleChange, *, keep_due: bool
    ) -> Schedule | ScheduleRefusal:
        """Apply `change` to the stored schedule. Tries up to `MAX_TRIES` times if others change it at the same time."""
        for _ in range(MAX_TRIES):
            old_payload, _ = await self._store.schedules.read(schedule.team, make_store_name(schedule)) or ("", None)
            stored_schedule = _parse_schedule(old_payload, None) if old_payload else None
            if stored_schedule is None:
                return GONE_REFUSAL
            after = change(stored_schedule)
            if isinstance(after, ScheduleRefusal):
                return after
            due = _find_due(after, self._store.clock())
            due_args: tuple[float | None, ...] = () if keep_due else (due,)
            if await self._store.schedules.compare_and_set(
                schedule.team, make_store_name(schedule), old_payload, _dump_schedule(after), *due_args
            ):
                self._on_change(schedule.owner)
                return after.model_copy(update={"next_at": due})
        return CONFLICT_REFUSAL

    async def _audit_change(self, schedule: Schedule, user: str, why: str, *, is_refused: bool = False) -> None:
        context: dict[str, Any] = {
            "at": self._store.clock(),
            "team": schedule.team,
            "channel": schedule.channel,
            "user": user,
        }
        outcome = {"outcome": "refused"} if is_refused else {}
        if not is_refused:
            self._on_change(schedule.owner)
        await self._record_audit(AuditEntry(deed="scheduled", target=schedule.id, why=why, **context, **outcome))


def make_run_place(schedule: Schedule, due: float, run_kind: str = "") -> Place:
    """Return the place of a run that has no thread yet. It has owner, schedule and time, and gives the job its id."""
    return make_opening_place(
        schedule.team, schedule.channel, OPENING_KIND, f"{schedule.owner}:{schedule.id}:{due!r}:{run_kind}"
    )


async def start_run(store: Store, schedule: Schedule, due: float, run_kind: str = "") -> JobKey:
    """Start the run of a schedule for a time, unless it was started already. Returns the key of its job.

    `run_kind` is empty for a run that is due by the rule, `now` for one that a person asked for.
    """
    place = make_run_place(schedule, due, run_kind)
    await create_opening_job(store, place, schedule.owner, f"Run of schedule {schedule.id}")
    return JobKey(place.team, place.job_id)


def _find_due(schedule: Schedule, now: float) -> float | None:
    """Return when the loop is to handle a schedule: at its next run, or when an unsaved draft expires."""
    if schedule.state == "draft":
        return now + DRAFT_SECONDS
    return find_next_time(schedule.rule, schedule.zone, now, schedule.until) if schedule.state == "on" else None


def _dump_schedule(schedule: Schedule) -> str:
    return schedule.model_dump_json(exclude_defaults=True)


def _parse_schedule(payload: str, due: float | None) -> Schedule | None:
    """Parse a stored schedule; None if it is damaged, or a newer release wrote it."""
    try:
        one = Schedule.model_validate_json(payload)
    except ValidationError:
        return None
    return one.model_copy(update={"next_at": due if one.state == "on" else None})
