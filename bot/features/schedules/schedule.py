"""The stored values of schedules. A schedule runs a task repeatedly, or once at a given time. Frozen, no I/O."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from handoff.contracts import Attachment, Contract

MissedRunPolicy = Literal["once", "all", "skip"]
"""The rule for times that were missed while no bot was running: one run for all of them, one for each, or none."""
ScheduleState = Literal["draft", "on", "paused"]
"""`draft`: the schedule was shown to its owner, who has not saved it yet."""


class ScheduleRule(Contract):
    """The times of a schedule: by `cron`, or else every `days` days, or else once, at `start`.

    `cron` is five fields with names of weekdays and months, such as `0 9 * * mon-fri`; a day may also be `last`, and a
    weekday `mon#1` (the first Monday) or `fri#last`. `days` count from `start`, in seconds since
    the epoch. They are calendar days: the local time stays the same in summer and winter.
    """

    cron: str = ""
    days: int = Field(default=0, ge=0)
    start: float = 0.0

    @property
    def is_once(self) -> bool:
        """True if the rule has only one time."""
        return not (self.cron or self.days)


class LastRun(Contract):
    """The latest run. `due` is the time for which it was scheduled, `at` when it started (seconds since the epoch).

    `job` is the id of the job in its thread, "" if none was opened; `trace` is the id of the job that opens the
    thread. `since` is the time from which the run read its channels. `outcome` is how it ended, "" while
    that is unknown, and `why` the reason for `quiet` or `failed`.
    """

    due: float
    at: float
    trace: str
    job: str = ""
    thread_ts: str = ""
    since: float = 0.0
    outcome: Literal["", "answered", "quiet", "failed"] = ""
    why: str = ""


class Schedule(Contract):
    """A schedule as it is stored. Times are seconds since the epoch.

    - asks: the task of each run, in its owner's words.
    - channel, owner: where it runs, and the person whose rights and budgets apply.
    - rule, zone: its times, and their zone (an IANA name).
    - until: the last moment at which it may run; None for no end.
    - reads: the channels whose messages since the last run it works on.
    - only_if_new: it does not run if these channels have no new messages.
    - why: the reason why it is paused, if no person paused it.
    - failures: the number of failed runs in a row.
    - next_at: its next time, which is not stored.
    """

    id: str = ""
    team: str
    channel: str
    owner: str
    asks: str
    rule: ScheduleRule
    zone: str = "UTC"
    until: float | None = None
    missed: MissedRunPolicy = "once"
    only_if_new: bool = False
    reads: tuple[str, ...] = ()
    files: tuple[Attachment, ...] = ()
    state: ScheduleState = "draft"
    why: str = ""
    failures: int = 0
    last: LastRun | None = None
    crew: str = ""
    said: str = ""
    """The whole message that a draft was parsed from, so that it can still become a request."""
    said_ts: str = ""
    said_thread: str = ""
    made_by: str = ""
    made_at: float = 0.0
    edited_by: str = ""
    edited_at: float = 0.0
    next_at: float | None = Field(default=None, exclude=True)


@dataclass(frozen=True, slots=True)
class ParsedSchedule:
    """A schedule parsed from a text. `zone` is "" if none is named; `until` is seconds since the epoch, or None."""

    asks: str
    rule: ScheduleRule
    zone: str = ""
    until: float | None = None
    only_if_new: bool = False


SCHEDULE_PREFIX = "work:"
"""Prefix of the names of schedules in the store; the owner and the id follow."""


def make_store_name(schedule: Schedule) -> str:
    """Return the name of a schedule in the store."""
    return f"{SCHEDULE_PREFIX}{schedule.owner}:{schedule.id}"


class ScheduleRefusal(Contract):
    """Why a schedule was not made or changed, in a sentence for the person who wanted it."""

    words: str
