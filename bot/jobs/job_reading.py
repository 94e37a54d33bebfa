"""Reads a job from the store, for those who only look at it."""

from __future__ import annotations

import logging
from typing import Literal

from bot.store.interface import JobKey, Jobs, LogBroken
from handoff.engine.replay import open_log
from handoff.state import Job
from handoff.upcasters import NewerEvent

log = logging.getLogger(__name__)


async def read_job(jobs: Jobs, key: JobKey) -> Job | Literal["unknown", "newer", "unreadable"]:
    """Return a job as it will be once its inbox is taken in, or why it cannot be read. Raises StoreError."""
    try:
        waiting = await jobs.inbox(key)  # read first: what is taken in meanwhile is not missed
        found = open_log([entry.payload for entry in [*await jobs.log(key), *waiting]])
    except NewerEvent:
        return "newer"
    except (LogBroken, ValueError) as error:
        # Only its type: the text of a validation error quotes what people wrote.
        log.error("job %s: its log cannot be read (%s)", key.job, type(error).__name__)  # noqa: TRY400 - one line
        return "unreadable"
    return found if found is not None else "unknown"
