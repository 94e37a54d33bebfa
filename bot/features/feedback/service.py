"""The feedback service: records thumbs on an answer and their reasons in the job's log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from bot.jobs.job_records import JobRecords, make_job_key, read_event_lines
from bot.store.values import JobKey
from handoff import events as ev
from handoff.contracts import Place

ThumbOutcome = Literal["recorded", "ask", "again", "forgotten"]
"""The outcome of a thumb. `ask`: it is the person's first thumb down, so they may be asked why. `again`: it adds
nothing new. `forgotten`: the job was erased, or has no such request."""
MAX_THUMBS = 5
"""Maximum thumbs of one person on one answer that are recorded: people change their minds."""
MAX_REASONS = 2
"""Maximum reasons of one person for one answer that are recorded; the last one counts."""


class FeedbackService:
    """Records people's feedback on answers. Each coroutine raises StoreError."""

    def __init__(self, records: JobRecords) -> None:
        self._records = records

    async def record_feedback(
        self,
        place: Place,
        *,
        request: str,
        user: str,
        good: bool,
        dedupe: tuple[str, ...],
        reason: str = "",
        is_withdrawal: bool = False,
    ) -> ThumbOutcome:
        """Record a thumb on an answer, the reason of a thumb down, or with `is_withdrawal` the removal of a thumb."""
        feedback_fields = {"user": user, "good": good, "reason": reason, "withdrawn": is_withdrawal}
        event = ev.FeedbackGiven.model_validate({"at": self._records.clock(), "request": request, **feedback_fields})
        return await record_feedback_event(self._records, make_job_key(place), event, dedupe)


async def record_feedback_event(
    records: JobRecords, key: JobKey, event: ev.FeedbackGiven, dedupe: tuple[str, ...]
) -> ThumbOutcome:
    """Record a feedback event if it is new and its request exists. A person's last thumb counts. Raises StoreError."""
    lines = await read_event_lines(records.store.jobs, key)
    if not any(f'"{event.request}"' in line and '"type":"RequestAdded"' in line for line in lines):
        return "forgotten"
    events = (ev.load_event(line) for line in lines if '"type":"FeedbackGiven"' in line)
    earlier_events = [
        one
        for one in events
        if isinstance(one, ev.FeedbackGiven) and (one.request, one.user) == (event.request, event.user)
    ]
    if not _is_new_feedback(event, earlier_events):
        return "again"
    dedupe_ids = (f"thumb:{key.job}:{event.request}:{event.user}:{len(earlier_events)}", *dedupe)
    if not await records.record_event(key, event, dedupe_ids):
        return "again"
    was_asked = any(not one.good for one in earlier_events)
    return "recorded" if event.good or event.withdrawn or event.reason or was_asked else "ask"


def _is_new_feedback(event: ev.FeedbackGiven, earlier_events: Sequence[ev.FeedbackGiven]) -> bool:
    """Return True if feedback differs from the person's last one, within `MAX_THUMBS` and `MAX_REASONS`."""
    last = earlier_events[-1] if earlier_events and not earlier_events[-1].withdrawn else None
    if event.reason:
        reasons = [one.reason for one in earlier_events if one.reason]
        return last is not None and not last.good and len(reasons) < MAX_REASONS and event.reason not in reasons
    if event.withdrawn:
        return last is not None and last.good == event.good
    thumbs = [one for one in earlier_events if not one.reason and not one.withdrawn]
    return len(thumbs) < MAX_THUMBS and (last is None or last.good != event.good)
