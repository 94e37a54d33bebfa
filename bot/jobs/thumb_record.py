"""Keeps what people say of an answer: with its request, in the job's log."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bot.jobs.job_reading import read_lines
from bot.slack.receive.service import Thumbed
from bot.store.interface import JobKey, Store
from handoff import events as ev

MOST_THUMBS = 5
"""Thumbs of one person on one answer that are recorded: up, down and up again are changes of mind."""
MOST_REASONS = 2
"""Reasons of one person for one answer that are kept; the last one counts."""


async def record_thumb(
    store: Store, nudge: Callable[[JobKey], None], key: JobKey, given: ev.FeedbackGiven, dedupe: tuple[str, ...]
) -> Thumbed:
    """Record a thumb, a reason for one, or that one was taken back. A person's last word counts. Raises StoreError."""
    lines = await read_lines(store.jobs, key)
    if not any(f'"{given.request}"' in line and '"type":"RequestAdded"' in line for line in lines):
        return "forgotten"
    events = (ev.load(line) for line in lines if '"type":"FeedbackGiven"' in line)
    theirs = [
        one
        for one in events
        if isinstance(one, ev.FeedbackGiven) and (one.request, one.user) == (given.request, given.user)
    ]
    if not _says_more(given, theirs):
        return "again"
    once = (f"thumb:{key.job}:{given.request}:{given.user}:{len(theirs)}", *dedupe)
    if not await store.jobs.signal(key, ev.dump(given), dedupe=once):
        return "again"
    nudge(key)
    asked = any(not one.good for one in theirs)
    return "recorded" if given.good or given.withdrawn or given.reason or asked else "ask"


def _says_more(given: ev.FeedbackGiven, before: Sequence[ev.FeedbackGiven]) -> bool:
    """Return True if that is news: neither what they said last, nor one change of mind too many."""
    last = before[-1] if before and not before[-1].withdrawn else None
    if given.reason:
        reasons = [one.reason for one in before if one.reason]
        return last is not None and not last.good and len(reasons) < MOST_REASONS and given.reason not in reasons
    if given.withdrawn:
        return last is not None and last.good == given.good
    thumbs = [one for one in before if not one.reason and not one.withdrawn]
    return len(thumbs) < MOST_THUMBS and (last is None or last.good != given.good)
