"""Sets a job aside that brings down its owners, or whose log cannot be read: the thread is told, then it rests."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Protocol

from bot.store.interface import Claim, Entry, Head, LogBroken, Store, StoreError
from handoff import events as ev
from handoff.contracts import Place
from handoff.engine.engine import apply
from handoff.engine.policy import MAX_LOST_OWNERS
from handoff.engine.replay import open_log
from handoff.state import Job
from handoff.summary import NOT_BEGUN, QuarantineNotice
from handoff.upcasters import NewerEvent

log = logging.getLogger(__name__)

FOLDED = "folded"
"""The head field that says which owner, counted by `Claim.lost`, got past folding the log."""
READING = "reading its log"


class Unreadable(Exception):
    """The job's log makes no job. The text says why, in words for people."""


class Teller(Protocol):
    """Tells the thread."""

    async def set_aside(self, claim: Claim, aside: QuarantineNotice) -> None:
        """Post the message, once; put the card and the session right as far as can be."""


def read_log(entries: Sequence[Entry]) -> Job | None:
    """The job of a whole log. Raises Unreadable, or NewerEvent where a newer release wrote some of it."""
    lines = [entry.payload for entry in entries]
    try:
        return open_log(lines)
    except NewerEvent:
        raise
    except Exception as error:
        # Whatever it is: a log that makes no job today makes none at the next try either.
        # Without what it says: that may quote the event.
        log.error("a log of %d events cannot be folded: %s", len(lines), type(error).__name__)  # noqa: TRY400
        raise Unreadable(f"event {_first_fault(entries)} of its log cannot be read by this release") from error


def _first_fault(entries: Sequence[Entry]) -> int:
    job: Job | None = None
    for entry in entries:
        try:
            job = apply(job, ev.load(entry.payload))
        except Exception:  # noqa: BLE001 - the caller has logged it; this only finds the place
            return entry.seq
    return len(entries)


async def set_aside(claim: Claim, store: Store, teller: Teller, *, unreadable: str = "") -> None:
    """Tell the thread, then set the job aside. Works from the job's head alone.

    Where not even that got through in as many tries again, the job is set aside in silence.

    Args:
        claim: The job.
        store: Where it is.
        teller: Tells its thread.
        unreadable: Why its log cannot be read; empty where it was lost too often.

    Raises:
        StoreError: The store is away.
    """
    head = await store.jobs.head(claim.key)
    if head is None:
        return
    step = READING if unreadable else head.fields.get("step") or NOT_BEGUN
    reason = unreadable or f"{claim.lost} times in a row, the instance that worked on it ended or got stuck there"
    event = ev.SetAside(at=store.clock(), step=step, reason=reason)
    silent = claim.lost >= 2 * MAX_LOST_OWNERS or not {"channel", "thread_ts"} <= head.fields.keys()
    if not silent:
        job = await _as_it_stands(claim, store, head, event)
        await teller.set_aside(claim, _told(claim, head, event, readable=not unreadable, job=job))
    aside = await store.jobs.set_aside(claim, ev.dump(event), schema=ev.SCHEMA, fields={"step": step})
    log.error(
        "job %s: set aside%s: %s",  # its step is named in the thread alone: titles are contents
        claim.key.job,
        "" if aside else " by another instance",
        f"its thread was not told: {reason}" if silent else reason,
        extra={"event": "set_aside"},
    )


def _told(claim: Claim, head: Head, event: ev.SetAside, *, readable: bool, job: Job | None) -> QuarantineNotice:
    fields = head.fields
    return QuarantineNotice(
        key=f"aside:{head.seq}",
        place=Place(team=claim.key.team, channel=fields["channel"], thread_ts=fields["thread_ts"]),
        step=event.step,
        reason=event.reason,
        title=fields.get("title", ""),
        user=fields.get("user", ""),
        readable=readable,
        job=job,
    )


async def _as_it_stands(claim: Claim, store: Store, head: Head, event: ev.SetAside) -> Job | None:
    """The job, for its card, if the last owner got past folding it: else that may be what breaks owners."""
    if head.fields.get(FOLDED) != str(claim.lost - 1):
        return None
    try:
        job = read_log(await store.jobs.log(claim.key))
    except (Unreadable, NewerEvent, LogBroken):
        return None
    return apply(job, event) if job is not None else None


def unreadable_reason(error: Exception) -> str:
    """Why a log cannot be read, in one line."""
    if isinstance(error, StoreError | Unreadable):
        return str(error).split("\n", 1)[0]
    return f"it raised {type(error).__name__}"
