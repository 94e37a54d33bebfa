"""Quarantine of a job that brings down its owners, or whose log cannot be read: it rests until an admin releases it."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Awaitable, Callable, Sequence

from bot.jobs.exclusive_trial import MAX_OWNERS_WITHOUT_TRIAL
from bot.store.redis.redis_store import Store
from bot.store.values import Claim, Head, LogBroken, LogEntry, StoreError
from handoff import events as ev
from handoff.contracts import Place
from handoff.engine.engine import apply_event
from handoff.engine.ladder import MAX_LOST_OWNERS
from handoff.engine.replay import parse_log
from handoff.events import NewerEventError
from handoff.state.job_state import Job
from handoff.summaries.summary import NOT_BEGUN_STEP, QUARANTINE_KEY_PREFIX, QuarantineNotice

log = logging.getLogger(__name__)

FOLDED_FIELD = "folded"
"""The head field that holds the `Claim.lost_owners` of the last owner that could fold the log."""
READING_LOG_STEP = "reading its log"


class UnreadableLog(Exception):
    """The job's log cannot be folded. The text says why, in words for people."""


def read_log(entries: Sequence[LogEntry]) -> Job | None:
    """Fold a whole log into its job. Raises UnreadableLog, or NewerEventError if a newer release wrote some of it."""
    lines = [entry.payload for entry in entries]
    try:
        return parse_log(lines)
    except NewerEventError:
        raise
    except Exception as error:
        # Any exception: a log that cannot be folded now cannot be folded at the next try either.
        # Its text is not logged: it may quote the event.
        log.error("a log of %d events cannot be folded: %s", len(lines), type(error).__name__)  # noqa: TRY400
        raise UnreadableLog(
            f"event {_find_unreadable_seq(entries)} of its log cannot be read by this release"
        ) from error


def _find_unreadable_seq(entries: Sequence[LogEntry]) -> int:
    job: Job | None = None
    for entry in entries:
        try:
            job = apply_event(job, ev.load_event(entry.payload))
        except Exception:  # noqa: BLE001 - the caller has logged the error; this only finds its entry
            return entry.seq
    return len(entries)


async def quarantine_job(
    claim: Claim, store: Store, notify: Callable[[Claim, QuarantineNotice], Awaitable[None]], *, log_fault: str = ""
) -> None:
    """Tell the thread, then quarantine the job. This needs the job's head, but not its log.

    The thread is not told if it is unknown, or if so many owners were lost that telling it may be the cause.

    Args:
        claim: The claim of the job.
        store: The store that keeps it.
        notify: Posts the notice in the job's thread.
        log_fault: Why the job's log cannot be read; empty if the reason is that too many owners were lost.

    Raises:
        StoreError: The store is away.
    """
    head = await store.jobs.read_head(claim.key)
    if head is None:
        return
    step = READING_LOG_STEP if log_fault else head.fields.get("step") or NOT_BEGUN_STEP
    reason = log_fault or (
        f"{claim.lost_owners} times in a row, the instance that worked on it ended or got stuck there, "
        "at last while it worked on nothing else"
    )
    if head.seq == 0:
        await _commit_first_request(claim, store)
    event = ev.SetAside(at=store.clock(), step=step, reason=reason)
    is_thread_skipped = (
        claim.lost_owners >= MAX_OWNERS_WITHOUT_TRIAL + MAX_LOST_OWNERS
        or not {"channel", "thread_ts"} <= head.fields.keys()
    )
    if not is_thread_skipped:
        job = await _read_job_for_card(claim, store, head, event)
        await notify(claim, _make_quarantine_notice(claim, head, event, readable=not log_fault, job=job))
    is_quarantined = await store.jobs.quarantine(claim, ev.dump_event(event), schema=ev.SCHEMA, fields={"step": step})
    log.error(
        "job %s: set aside%s: %s",  # without its step: that may contain a title, and no contents are logged
        claim.key.job,
        "" if is_quarantined else " by another instance",
        f"its thread was not told: {reason}" if is_thread_skipped else reason,
        extra={"event": "set_aside"},
    )


async def _commit_first_request(claim: Claim, store: Store) -> None:
    """Commit the first event of the inbox, a request, to the empty log: every log has to begin with a request."""
    with contextlib.suppress(LogBroken):
        for first in (await store.jobs.read_inbox(claim.key))[:1]:
            await store.jobs.commit(
                claim, "begin", 0, [first.payload], taken_entries=[first.seq], schema=ev.SCHEMA, is_progress=False
            )


def _make_quarantine_notice(
    claim: Claim, head: Head, event: ev.SetAside, *, readable: bool, job: Job | None
) -> QuarantineNotice:
    fields = head.fields
    return QuarantineNotice(
        key=f"{QUARANTINE_KEY_PREFIX}{head.seq}",
        place=Place(team=claim.key.team, channel=fields["channel"], thread_ts=fields["thread_ts"]),
        step=event.step,
        reason=event.reason,
        title=fields.get("title", ""),
        user=fields.get("user", ""),
        is_readable=readable,
        job=job,
    )


async def _read_job_for_card(claim: Claim, store: Store, head: Head, event: ev.SetAside) -> Job | None:
    """Return the quarantined job for its card; None if its log cannot be folded.

    Folding is not tried if the last owner did not complete it, since it may be what brings owners down.
    """
    if head.fields.get(FOLDED_FIELD) != str(claim.lost_owners - 1):
        return None
    try:
        job = read_log(await store.jobs.read_log(claim.key))
    except (UnreadableLog, NewerEventError, LogBroken):
        return None
    return apply_event(job, event) if job is not None else None


def describe_unreadable_log(error: Exception) -> str:
    """Return the reason why a log cannot be read, in one line for people."""
    if isinstance(error, StoreError | UnreadableLog):
        return str(error).split("\n", 1)[0]
    return f"it raised {type(error).__name__}"
