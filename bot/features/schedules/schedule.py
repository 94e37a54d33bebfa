"""A schedule: work that somebody wants again and again, or once at a time. Frozen values, pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from handoff.contracts import Attachment, Contract

Missed = Literal["once", "all", "skip"]
"""What becomes of the times at which no bot was running: one run for all of them, one for each, or none."""
ScheduleState = Literal["draft", "on", "paused"]
"""`draft`: it was shown to its owner, who has not saved it yet."""


class ScheduleRule(Contract):
    """The times of a schedule: `cron`, else every `days`, else once, at `start`.

    `cron` is five fields with names of weekdays and months, such as `0 9 * * mon-fri`; a day may also be `last`, and a
    weekday `mon#1` (the first Monday) or `fri#last`. `start` (seconds since the epoch) is what days count from.
    Days are those of the calendar, at the same time of the day, whatever becomes of summer time.
    """

    cron: str = ""
    days: int = Field(default=0, ge=0)
    start: float = 0.0

    @property
    def is_once(self) -> bool:
        """True if there is but one time."""
        return not (self.cron or self.days)


class LastRun(Contract):
    """What became of the latest run. `due` is the time it was meant for, `at` when it began (both in seconds).

    `job` is the job of its thread, empty if none was opened; `trace` is the job that was to open it, and says why
    not. `since` is the time from which it read its channels. `outcome`, once known, is how it ended, and `why`.
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
    """A schedule as the store keeps it. Times are seconds since the epoch.

    `asks` is what is to be done each time, in its owner's words. It runs in `channel`, with the rights and the budgets
    of `owner`, by a rule in the zone `zone` (an IANA name), until `until` (the last moment at which it may; None: for
    good). `reads` are the channels whose messages since the last run it works on; `only_if_new`: without any it keeps
    quiet. `why` says why it is paused, if nobody paused it. `next_at`, which is not kept with it, is when it runs next.
    """

    id: str = ""
    team: str
    channel: str
    owner: str
    asks: str
    rule: ScheduleRule
    zone: str = "UTC"
    until: float | None = None
    missed: Missed = "once"
    only_if_new: bool = False
    reads: tuple[str, ...] = ()
    files: tuple[Attachment, ...] = ()
    state: ScheduleState = "draft"
    why: str = ""
    failures: int = 0
    last: LastRun | None = None
    crew: str = ""
    said: str = ""
    """Of a draft: the message that it was read from, whole, so that it can still be taken for a request."""
    said_ts: str = ""
    said_thread: str = ""
    made_by: str = ""
    made_at: float = 0.0
    edited_by: str = ""
    edited_at: float = 0.0
    next_at: float | None = Field(default=None, exclude=True)


@dataclass(frozen=True, slots=True)
class ParsedSchedule:
    """A schedule as it was read from words. `zone` is "" if none was named, `until` the last moment or None."""

    asks: str
    rule: ScheduleRule
    zone: str = ""
    until: float | None = None
    only_if_new: bool = False


KIND = "work:"
"""What the names of schedules in the store start with; an owner and an id follow."""


def make_name(one: Schedule) -> str:
    """Return the name of a schedule in the store."""
    return f"{KIND}{one.owner}:{one.id}"


class ScheduleRefusal(Contract):
    """Why a schedule was not made or changed, in a sentence for whoever wanted it."""

    words: str
