"""What the homes of people are made of besides the heads of jobs: whose is open, and which jobs wait for whom.

`Store.homes` is one of these. All of it follows from what is kept elsewhere, or is soon over: to lose it loses
nothing that people asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from bot.store.interface import JobKey

EVERYBODY = "*"
"""In place of a person: all jobs that wait for people, whoever they are."""
MOST_OPEN = 500
"""Open homes of a team that are remembered."""
MOST_WAITING = 1000
"""Jobs that wait for one person, or user group, that are known: those that began to wait last."""


class Homes(Protocol):
    """Open homes, and the jobs that wait for people."""

    async def put(self, team: str, user: str, row: str) -> None:
        """Note how somebody's home is, as a text. A row is dropped some time after the last of the team was put."""

    async def drop(self, team: str, users: Sequence[str]) -> None:
        """Drop the rows of those whose home is open no more."""

    async def rows(self, team: str) -> Mapping[str, str]:
        """Read the rows of all whose home is open, by person."""

    async def waits(self, key: JobKey, *, now: Sequence[str], before: Sequence[str] = ()) -> None:
        """Note for whom a job waits now, and for whom it did: ids of people and user groups, or `EVERYBODY`."""

    async def waiting(self, team: str, who: Sequence[str], *, limit: int = 100) -> list[JobKey]:
        """List the jobs that wait for any of these, who waits longest first.

        Some may wait no more, or be gone: their heads say so.
        """
