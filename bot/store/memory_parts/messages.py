"""The outbox of a job: which messages it meant to send, and what became of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from bot.store import bounds
from bot.store.interface import Claim, Intent, PayloadTooLarge
from bot.store.memory_parts.jobs import Jobs


class Messages:
    """Records what is about to be sent, and what was."""

    def __init__(self, jobs: Jobs, clock: Callable[[], float]) -> None:
        self._jobs = jobs
        self._clock = clock

    def begin(self, claim: Claim, message: str, operation: str) -> Intent | None:
        """See `Store.outbox_begin`."""
        job = self._jobs.owned(claim)
        if job is None:
            return None
        if message not in job.outbox:
            if len(job.outbox) >= bounds.OUTBOX_LIMIT:
                raise PayloadTooLarge(bounds.JOB_FULL)
            job.outbox[message] = (operation, self._new())
            self._jobs.touch(job)
        by, intent = job.outbox[message]
        if not intent.ts and self._clock() - intent.began < bounds.SETTLES_IN:
            job.head = replace(job.head, lost=0)
        return replace(intent, first=by == operation)

    def note(self, claim: Claim, message: str, change: Callable[[Intent], Intent]) -> bool:
        """Change what is known of a message. False if the job is no longer ours."""
        job = self._jobs.owned(claim)
        if job is None:
            return False
        by, intent = job.outbox.get(message, ("", self._new()))
        job.outbox[message] = (by, change(intent))
        self._jobs.touch(job)
        return True

    def _new(self) -> Intent:
        return Intent(first=False, began=self._clock(), ts="", draft_ts="")
