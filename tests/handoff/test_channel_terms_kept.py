"""What a channel asks for, in the engine: reminders keep out of quiet hours, nobody works above the highest tier."""

from __future__ import annotations

from datetime import datetime

import pytest

from handoff import events as ev
from handoff.contracts import Asking, ChannelTerms, Made, Member, Plan, Quiet, Setting, Subtask
from handoff.conversation.working_time import after_work
from handoff.planning.adhoc import Allowance
from handoff.planning.tier_cap import capped_allowance, capped_members, capped_plan

HOUR = 3600
ASKING = Asking(remind_after=4 * HOUR)


def at(text: str) -> float:
    """Seconds since the epoch of a moment in UTC."""
    return datetime.fromisoformat(f"{text}+00:00").timestamp()


@pytest.mark.parametrize(
    ("quiet", "asked", "reminded"),
    [
        (Quiet(), "2026-03-04T10:00", "2026-03-04T14:00"),
        (Quiet(begins=13 * 60, ends=15 * 60), "2026-03-04T10:00", "2026-03-04T15:00"),
        (Quiet(begins=13 * 60, ends=15 * 60, offset=-2 * HOUR), "2026-03-04T11:00", "2026-03-04T17:00"),
        (Quiet(begins=13 * 60, ends=10 * 60), "2026-03-04T10:00", "2026-03-05T10:00"),
        (Quiet(begins=13 * 60, ends=10 * 60), "2026-03-06T10:00", "2026-03-09T10:00"),  # a Friday: nor on a weekend
        (Quiet(begins=8 * 60, ends=19 * 60), "2026-03-04T10:00", "2026-03-04T19:00"),  # nothing of the work is left
    ],
)
def test_no_reminder_comes_in_quiet_hours_nor_out_of_working_hours(quiet: Quiet, asked: str, reminded: str) -> None:
    assert after_work(at(asked), ASKING.remind_after, ASKING, 0, quiet) == at(reminded)


def test_members_and_parts_are_lowered_and_nobody_can_be_raised() -> None:
    members = (
        Member(name="a", tier="deep"),
        Member(name="b", tier="fast"),
        Member(name="own", tier="deep", tiers=("deep",)),
    )
    capped = {
        one.name: (one.tier, one.tiers) for one in capped_members(members, "balanced", own_model=frozenset({"own"}))
    }
    assert capped == {
        "a": ("balanced", ("fast", "balanced")),
        "b": ("fast", ("fast", "balanced")),
        "own": ("deep", ("deep",)),
    }
    made = Made(name="new", description="Does it.", brief="Do it.", why="Nobody can.", tier="balanced")
    parts = [Subtask(id=f"s{n}", title="t", intent="i", specialist=who, tier="deep") for n, who in enumerate("ab")]
    parts.append(Subtask(id="m", title="t", intent="i", specialist="new", tier="deep"))
    plan = capped_plan(Plan(goal="g", subtasks=tuple(parts), made=(made,)), "balanced")
    assert [one.tier for one in plan.subtasks] == ["balanced", "balanced", None]


def test_only_lower_tiers_are_lent_and_none_if_there_are_none() -> None:
    assert capped_allowance(Allowance(tiers=("fast", "deep")), "balanced") == Allowance(tiers=("fast",))
    assert capped_allowance(Allowance(tiers=("deep",)), "balanced") is None
    assert capped_allowance(None, "deep") is None


def test_a_channel_that_asks_for_nothing_leaves_no_trace_in_the_log() -> None:
    known = ev.SettingKnown(at=1.0, request="r", setting=Setting(requester="Ana"))
    assert "here" not in ev.dump(known)
    asks = ChannelTerms(instructions="In EUR.", highest="fast", quiet=Quiet(begins=60, offset=-60))
    known = ev.SettingKnown(at=1.0, request="r", setting=Setting(here=asks))
    assert ev.load(ev.dump(known)) == known
