"""Who may make and change schedules, what is refused with which words, two edits at once, and when a run may begin."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from bot.access.access_rules import AccessRefusal
from bot.features.schedules.drafts import parse_model_rule
from bot.features.schedules.schedule import (
    SCHEDULE_PREFIX,
    LastRun,
    ParsedSchedule,
    Schedule,
    ScheduleRefusal,
    ScheduleRule,
    make_store_name,
)
from bot.features.schedules.schedule_checks import (
    ACCESS_REFUSAL_TEXTS,
    MAX_SCHEDULES_PER_PERSON,
    RunRefusal,
    find_run_refusal,
    find_schedule_fault,
    may_change,
)
from bot.features.schedules.service import (
    CONFLICT_REFUSAL,
    GONE_REFUSAL,
    NOT_OWNER_REFUSAL,
    STORE_FULL_REFUSAL,
    TOO_MANY_REFUSAL,
    ScheduleService,
    make_schedule_id,
)
from bot.store.redis import layout
from bot.store.redis.redis_store import Store
from handoff.access.audit_entry import AuditEntry

NOW = 1_800_000_000.0
MONDAYS = ScheduleRule(cron="0 9 * * mon")


def build_schedule(**more: Any) -> Schedule:
    of: dict[str, Any] = {"team": "T1", "channel": "C1", "owner": "U1", "asks": "summarise", "rule": MONDAYS}
    return Schedule(**{"state": "on", **of, **more})


def pause_schedule(one: Schedule) -> Schedule:
    return one.model_copy(update={"state": "paused"})


@pytest.fixture
def audit_entries() -> list[AuditEntry]:
    return []


@pytest.fixture
def desk(store: Store, audit_entries: list[AuditEntry]) -> ScheduleService:
    async def note(entry: AuditEntry) -> None:
        audit_entries.append(entry)

    return ScheduleService(store, admins=frozenset({"UADMIN"}), record_audit=note)


def test_who_may_change_one() -> None:
    one = build_schedule()
    who = {user: may_change(one, user, admin=admin) for user, admin in (("U1", False), ("U2", False), ("U3", True))}
    assert who == {"U1": True, "U2": False, "U3": True}


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"asks": "  "}, "Say also what I should do"),
        ({"asks": "x" * 2_001}, "2,000 characters at most"),
        ({"rule": ScheduleRule(cron="0 9 31 2 *")}, "never comes"),
        ({"rule": ScheduleRule(start=NOW - 1)}, "already passed"),
        ({"until": NOW + 60}, "end before its first run"),
        ({"rule": ScheduleRule(cron="*/10 * * * *")}, "every 15 minutes at most"),
    ],
)
def test_what_cannot_be_is_refused_in_words(more: dict[str, Any], words: str) -> None:
    fault = find_schedule_fault(build_schedule(**more), NOW, admin=False)
    assert fault is not None
    assert words in fault.words


def test_an_admin_may_have_one_a_minute() -> None:
    one = build_schedule(rule=ScheduleRule(cron="* * * * *"))
    assert find_schedule_fault(one, NOW, admin=True) is None
    assert find_schedule_fault(one, NOW, admin=False) is not None


@pytest.mark.parametrize("why", ACCESS_REFUSAL_TEXTS)
def test_a_run_of_somebody_who_may_no_longer_pauses(why: AccessRefusal) -> None:
    assert find_run_refusal(access_refusal=why, channel_fault="", budget="", unreadable_reason="") == RunRefusal(
        ACCESS_REFUSAL_TEXTS[why]
    )


def test_what_may_pass_pauses_nothing() -> None:
    assert find_run_refusal(access_refusal=None, channel_fault="", budget="", unreadable_reason="") is None
    for found in (
        find_run_refusal(access_refusal="unknown", channel_fault="", budget="", unreadable_reason=""),
        find_run_refusal(
            access_refusal=None, channel_fault="", budget="the budget of the day is used up", unreadable_reason=""
        ),
    ):
        assert found is not None
        assert not found.pauses_schedule
    both = find_run_refusal(
        access_refusal=None, channel_fault="it is archived", budget="used up", unreadable_reason="private"
    )
    assert both == RunRefusal("it is archived")


async def test_made_listed_changed_and_removed_with_an_audit(
    desk: ScheduleService, audit_entries: list[AuditEntry]
) -> None:
    one = await desk.create(build_schedule())
    other = await desk.create(build_schedule(rule=ScheduleRule(cron="0 9 * * *")))
    assert isinstance(one, Schedule)
    assert isinstance(other, Schedule)
    await desk.create(build_schedule(owner="U2"))
    listed = await desk.list_schedules("T1", "U1")
    assert {each.id for each in listed} == {one.id, other.id}
    times = [each.next_at or 0.0 for each in listed]
    assert times == sorted(times), "the next to run first"
    assert await desk.find_changeable("T1", one.id, "U2") is None
    assert await desk.find_changeable("T1", one.id.lower(), "UADMIN") == one
    assert await desk.edit(one, "U2", pause_schedule, "paused") == NOT_OWNER_REFUSAL
    after = await desk.edit(one, "UADMIN", pause_schedule, "paused")
    assert isinstance(after, Schedule)
    assert (after.state, after.next_at, after.edited_by) == ("paused", None, "UADMIN")
    assert await desk.remove(other, "U2") == NOT_OWNER_REFUSAL
    assert await desk.remove(other, "U1") == other
    assert await desk.edit(other, "U1", pause_schedule, "paused") == GONE_REFUSAL
    told = [(entry.user, entry.why, entry.outcome) for entry in audit_entries if entry.target in {one.id, other.id}]
    assert told == [
        ("U1", "made", "done"),
        ("U1", "made", "done"),
        ("U2", "paused", "refused"),
        ("UADMIN", "paused", "done"),
        ("U2", "removed", "refused"),
        ("U1", "removed", "done"),
    ]


async def test_of_two_edits_at_once_one_counts_and_the_other_is_told(desk: ScheduleService) -> None:
    one = await desk.create(build_schedule())
    assert isinstance(one, Schedule)

    async def asks(text: str) -> Schedule | ScheduleRefusal:
        return await desk.edit(
            one, "U1", lambda now: now.model_copy(update={"asks": text}), "edited", seen_edit=one.edited_at
        )

    came = await asyncio.gather(asks("a"), asks("b"))
    assert sum(found == CONFLICT_REFUSAL for found in came) == 1
    (kept,) = await desk.list_schedules("T1", "U1")
    assert kept.asks == next(found.asks for found in came if isinstance(found, Schedule))


async def test_what_a_run_notes_and_what_a_person_edits_both_stay(desk: ScheduleService) -> None:
    one = await desk.create(build_schedule())
    assert isinstance(one, Schedule)
    last = LastRun(due=1.0, at=2.0, trace="J1", job="J2")
    await asyncio.gather(
        desk.record_run(one, last, failures=1),
        desk.edit(one, "U1", lambda now: now.model_copy(update={"asks": "b"}), "edited"),
    )
    (kept,) = await desk.list_schedules("T1", "U1")
    assert (kept.asks, kept.last, kept.failures, kept.next_at) == ("b", last, 1, one.next_at)
    await desk.record_run(one, last.model_copy(update={"at": 1.0}), failures=0)
    assert (await desk.list_schedules("T1", "U1"))[0].failures == 1, (
        "an earlier run that comes late says nothing any more"
    )


async def test_the_same_wish_twice_is_one(desk: ScheduleService) -> None:
    first = await desk.create(build_schedule(state="draft", id=make_schedule_id("C1/5.0")))
    assert isinstance(first, Schedule)
    saved = await desk.edit(first, "U1", lambda now: now.model_copy(update={"state": "on"}), "made")
    again = await desk.create(build_schedule(state="draft", id=make_schedule_id("C1/5.0")))
    assert isinstance(saved, Schedule)
    assert isinstance(again, Schedule)
    assert again.state == "on", "a second delivery does not make a draft of it again"


async def test_nobody_fills_it_up(desk: ScheduleService, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(MAX_SCHEDULES_PER_PERSON):
        one = build_schedule(id=f"S{number}")
        await store.schedules.put("T1", make_store_name(one), one.model_dump_json(exclude_defaults=True), NOW * 2)
    assert await desk.create(build_schedule()) == TOO_MANY_REFUSAL
    monkeypatch.setattr(layout, "SCHEDULE_LIMIT", MAX_SCHEDULES_PER_PERSON)
    assert await desk.create(build_schedule(owner="U2")) == STORE_FULL_REFUSAL
    assert len(await store.schedules.list_all("T1", SCHEDULE_PREFIX)) == MAX_SCHEDULES_PER_PERSON


def test_a_models_rule_is_checked_as_any_other() -> None:
    of = {"schedule": True, "asks": "x", "cron": "", "at": "", "zone": "", "until": "", "cannot": ""}
    read = {
        cron: parse_model_rule({**of, "cron": cron}, "UTC")
        for cron in ("0 9 * * mon-fri", "0 9 * *", "* * * * * *", "rm -rf /", "0 9 * * 1")
    }
    rules = {cron: getattr(getattr(found, "rule", None), "cron", None) for cron, found in read.items()}
    assert rules == {
        "0 9 * * mon-fri": "0 9 * * mon,tue,wed,thu,fri",
        "0 9 * *": None,
        "* * * * * *": None,
        "rm -rf /": None,
        "0 9 * * 1": "0 9 * * mon",
    }
    fortnight = parse_model_rule({**of, "at": "2026-11-27 09:30", "every_days": 14, "only_if_new": True}, "UTC")
    assert isinstance(fortnight, ParsedSchedule)
    assert (fortnight.rule, fortnight.only_if_new) == (ScheduleRule(start=1_795_771_800.0, days=14), True)
    zone = parse_model_rule({**of, "cron": "0 9 * * mon", "zone": "Berln"}, "UTC")
    assert isinstance(zone, ScheduleRefusal)
    assert "Europe/Berlin" in zone.words
    assert parse_model_rule({**of, "schedule": False, "cron": "0 9 * * mon"}, "UTC") is None
    cannot = parse_model_rule({**of, "cannot": "no rule for business days"}, "UTC")
    assert isinstance(cannot, ScheduleRefusal)
