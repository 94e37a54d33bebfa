"""Keeps what people say of an answer: with its request, in the job's log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from bot.jobs.job_records import JobRecords, key_of, read_lines
from bot.store.values import JobKey
from handoff import events as ev
from handoff.contracts import Place

ThumbOutcome = Literal["recorded", "ask", "again", "forgotten"]
"""What became of a thumb. `ask`: it is the person's first one down, so that they may be asked why. `again`: nothing
new. `forgotten`: the job is forgotten by now, or had no such request."""
MOST_THUMBS = 5
"""Thumbs of one person on one answer that are recorded: up, down and up again are changes of mind."""
MOST_REASONS = 2
"""Reasons of one person for one answer that are kept; the last one counts."""


class FeedbackDesk:
    """Records what people say of answers. Everything raises StoreError."""

    def __init__(self, records: JobRecords) -> None:
        self._records = records

    async def feedback(
        self,
        place: Place,
        *,
        request: str,
        user: str,
        good: bool,
        dedupe: tuple[str, ...],
        reason: str = "",
        withdrawn: bool = False,
    ) -> ThumbOutcome:
        """Record a thumb on an answer, the reason of one, or that it was taken back (`withdrawn`)."""
        said = {"user": user, "good": good, "reason": reason, "withdrawn": withdrawn}
        event = ev.FeedbackGiven.model_validate({"at": self._records.clock(), "request": request, **said})
        return await record_thumb(self._records, key_of(place), event, dedupe)


async def record_thumb(
    records: JobRecords, key: JobKey, given: ev.FeedbackGiven, dedupe: tuple[str, ...]
) -> ThumbOutcome:
    """Record a thumb, a reason for one, or that one was taken back. A person's last word counts. Raises StoreError."""
    lines = await read_lines(records.store.jobs, key)
    if not any(f'"{given.request}"' in line and '"type":"RequestAdded"' in line for line in lines):
        return "forgotten"
    events = (ev.load(line) for line in lines if '"type":"FeedbackGiven"' in line)
    theirs = [
        one
        for one in events
        if isinstance(one, ev.FeedbackGiven) and (one.request, one.user) == (given.request, given.user)
    ]
    if not _is_new_feedback(given, theirs):
        return "again"
    once = (f"thumb:{key.job}:{given.request}:{given.user}:{len(theirs)}", *dedupe)
    if not await records.record(key, given, once):
        return "again"
    asked = any(not one.good for one in theirs)
    return "recorded" if given.good or given.withdrawn or given.reason or asked else "ask"


def _is_new_feedback(given: ev.FeedbackGiven, before: Sequence[ev.FeedbackGiven]) -> bool:
    """Return True if feedback differs from the person's last, and they have not changed their mind too often."""
    last = before[-1] if before and not before[-1].withdrawn else None
    if given.reason:
        reasons = [one.reason for one in before if one.reason]
        return last is not None and not last.good and len(reasons) < MOST_REASONS and given.reason not in reasons
    if given.withdrawn:
        return last is not None and last.good == given.good
    thumbs = [one for one in before if not one.reason and not one.withdrawn]
    return len(thumbs) < MOST_THUMBS and (last is None or last.good != given.good)
