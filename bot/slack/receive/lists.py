"""What commands and the home need of lists of jobs."""

from __future__ import annotations

from typing import Literal, Protocol

from bot.slack.views.job_rows import JobLine
from bot.slack.views.paging import Page

Filter = Literal["", "open", "waiting", "over", "done", "failed", "stopped"]
"""Which jobs of a list: all, those not over, those that wait for people, those over, or those that ended so."""


class Lists(Protocol):
    """Lists of jobs by the page, from their heads. All raise StoreError."""

    async def of(self, team: str, user: str, page: int, kind: Filter = "") -> Page[JobLine]:
        """List the jobs that a person asked for, newest first."""

    async def of_all(self, team: str, page: int = 1) -> Page[JobLine]:
        """List the jobs of all people that are not over, those changed last first."""
