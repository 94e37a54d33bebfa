"""Decides who may change a schedule, whether a schedule is valid, and whether a run may start. No I/O."""

from __future__ import annotations

from dataclasses import dataclass

from bot.access.access_rules import AccessRefusal
from bot.features.schedules.rule_times import find_next_time, find_shortest_interval
from bot.features.schedules.schedule import Schedule, ScheduleRefusal, ScheduleRule

MIN_INTERVAL_SECONDS = 900.0
"""Minimum seconds between two runs; an admin's schedule may run once a minute."""
MIN_ADMIN_INTERVAL_SECONDS = 60.0
MAX_FAILED_RUNS = 3
"""Number of failed runs in a row after which a schedule is paused."""
MAX_TASK_CHARS = 2_000
"""Maximum characters of a schedule's task."""
MAX_SCHEDULES_PER_PERSON = 100
"""Maximum number of schedules of one person."""

ACCESS_REFUSAL_TEXTS: dict[AccessRefusal, str] = {
    "gone": "its owner has left the workspace",
    "bot": "its owner is not a person",
    "place": "I may not be used in that channel any more",
    "stranger": "its owner is of another workspace, whose people may not use me there",
    "guest": "its owner is a guest, and guests may not use me there",
    "not_named": "its owner is not among those who may use me there any more",
}


@dataclass(frozen=True, slots=True)
class RunRefusal:
    """Why a run does not start, in words that continue "it did not run: ...".

    `pauses_schedule`: the cause will not pass by itself, so the schedule is paused. Otherwise the run counts as failed.
    """

    reason: str
    pauses_schedule: bool = True


def may_change(schedule: Schedule, user: str, *, admin: bool) -> bool:
    """Return True if a person may change, pause, run or remove a schedule: its owner, and admins."""
    return admin or user == schedule.owner


def find_schedule_fault(schedule: Schedule, now: float, *, admin: bool) -> ScheduleRefusal | None:
    """Return what is wrong with a schedule that a person wants, or None if it is valid."""
    if not schedule.asks.strip():
        words = "Say also what I should do then, for example: “every Monday at 9 summarise #sales”."
        return ScheduleRefusal(words=words)
    if len(schedule.asks) > MAX_TASK_CHARS:
        words = f"What a schedule asks has {MAX_TASK_CHARS:,} characters at most, and this has {len(schedule.asks):,}."
        return ScheduleRefusal(words=f"{words} Put the rest into a canvas or a file and name that.")
    return find_rule_fault(schedule.rule, schedule.zone, schedule.until, now, admin=admin)


def find_rule_fault(
    rule: ScheduleRule, zone: str, until: float | None, now: float, *, admin: bool
) -> ScheduleRefusal | None:
    """Return why a rule is invalid, as it has no future time or runs too often; None if it is valid."""
    if find_next_time(rule, zone, now, until) is None:
        ends_too_early = find_next_time(rule, zone, now) is not None
        is_past = rule.is_once and not ends_too_early
        return ScheduleRefusal(
            words="It would end before its first run."
            if ends_too_early
            else "That time has already passed."
            if is_past
            else "That day never comes, so it would never run."
        )
    gap, min_seconds = (
        find_shortest_interval(rule, zone, now),
        MIN_ADMIN_INTERVAL_SECONDS if admin else MIN_INTERVAL_SECONDS,
    )
    if gap is None or gap >= min_seconds:
        return None
    if admin:
        return ScheduleRefusal(words="A schedule runs once a minute at most.")
    return ScheduleRefusal(
        words="That is too often: a schedule runs every 15 minutes at most, unless an admin made it."
    )


def find_run_refusal(
    *, access_refusal: AccessRefusal | None, channel_fault: str, budget: str, unreadable_reason: str
) -> RunRefusal | None:
    """Return why a run may not start, by facts that the caller looked up; None if it may.

    Args:
        access_refusal: why the owner may not use the bot there; None if they may.
        channel_fault: what is wrong with the channel, in words; empty if nothing is.
        budget: the budget that is used up, in words; empty if none is.
        unreadable_reason: why the owner may not read a channel, in words; empty if they may read all.
    """
    if access_refusal == "unknown":
        return RunRefusal("Slack could not be asked if its owner may still use me there", pauses_schedule=False)
    if access_refusal is not None:
        return RunRefusal(ACCESS_REFUSAL_TEXTS[access_refusal])
    if channel_fault:
        return RunRefusal(channel_fault)
    if unreadable_reason:
        return RunRefusal(unreadable_reason)
    return RunRefusal(budget, pauses_schedule=False) if budget else None
