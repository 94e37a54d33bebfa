"""The feedback service: records thumbs on an answer and their reasons in the job's log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from bot.jobs.job_records import JobRecords, key_of, read_lines
from bot.store.values import JobKey
from handoff import events as ev
from handoff.contracts import Place

ThumbOutcome = Literal["recorded", "ask", "again", "forgotten"]
"""The outcome of a thumb. `ask`: it is the person's first thumb down, so they may be asked why. `again`: it adds
nothing new. `forgotten`: the job was erased, or has no such request."""
MOST_THUMBS = 5
"""Maximum thumbs of one person on one answer that are recorded: people change their minds."""
MOST_REASONS = 2
"""Maximum reasons of one person for one answer that are recorded; the last one counts."""


class FeedbackDesk:
    """Records people's feedback on answers. Each coroutine raises StoreError."""

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
        """Record a thumb on an answer, the reason of a thumb, or that a thumb was removed (`withdrawn`)."""
        said = {"user": user, "good": good, "reason": reason, "withdrawn": withdrawn}
        event = ev.FeedbackGiven.model_validate({"at": self._records.clock(), "request": request, **said})
        return await record_thumb(self._records, key_of(place), event, dedupe)


async def record_thumb(
    records: JobRecords, key: JobKey, given: ev.FeedbackGiven, dedupe: tuple[str, ...]
) -> ThumbOutcome:
    """Record a thumb, its reason, or its removal, if that is new. A person's last thumb counts. Raises StoreError."""
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
