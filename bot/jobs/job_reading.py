"""Reads a job from the store, for those who only look at it."""

from __future__ import annotations

import logging
from typing import Literal

from bot.store.interface import JobKey, LogBroken
from bot.store.redis.redis_jobs import Jobs
from handoff.engine.replay import open_log
from handoff.events import NewerEvent
from handoff.state.job_state import Job

log = logging.getLogger(__name__)


async def read_lines(jobs: Jobs, key: JobKey) -> list[str]:
    """Return the JSON of a job's events: those of its log, then those that wait in its inbox.

    Raises:
        StoreError: The store is away; LogBroken, which is one, if an entry cannot be read.
    """
    waiting = await jobs.inbox(key)  # read first: what its runner takes in meanwhile is in the log, and not missed
    lines = [entry.payload for entry in await jobs.log(key)]
    taken = set(lines) if waiting else set()
    return [*lines, *(entry.payload for entry in waiting if entry.payload not in taken)]


async def read_job(jobs: Jobs, key: JobKey) -> Job | Literal["unknown", "newer", "unreadable"]:
    """Return a job as it will be once its inbox is taken in, or why it cannot be read. Raises StoreError."""
    try:
        found = open_log(await read_lines(jobs, key))
    except NewerEvent:
        return "newer"
    except (LogBroken, ValueError) as error:
        # Only its type: the text of a validation error quotes what people wrote.
        log.error("job %s: its log cannot be read (%s)", key.job, type(error).__name__)  # noqa: TRY400 - one line
        return "unreadable"
    return found if found is not None else "unknown"
