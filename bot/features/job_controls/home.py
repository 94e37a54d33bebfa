"""The sections of the home that list jobs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bot.features.job_controls.lists import JobLists
from bot.slack.views.home_part import HomePart, Row
from bot.slack.views.job_rows import card_rows, job_line
from bot.slack.views.outgoing import Block, context, section, sections
from bot.slack.views.paging import ListPage, page_of


class JobParts:
    """Jobs under way, and those that ended."""

    def __init__(self, lists: JobLists) -> None:
        self._lists = lists

    async def running(self, team: str, user: str, page: int) -> HomePart:
        """Show a person's jobs under way with the rows of their cards. Raises StoreError."""
        found = await self._lists.of(team, user, page, "open")
        rows: list[Row] = []
        for line in found.rows:
            card = card_rows(line)
            rows.append((section(job_line(line, user, name=False) + (f"\n{card}" if card else "")),))
        return HomePart("Under way", _page_of_rows(found, rows), "Nothing is under way.")

    async def recent(self, team: str, user: str, page: int) -> HomePart:
        """Show a person's jobs that ended. Raises StoreError."""
        found = await self._lists.of(team, user, page, "over")
        rows = [tuple(sections(job_line(line, user, name=False) for line in found.rows))] if found.rows else []
        return HomePart("Recent", _page_of_rows(found, rows), "None yet.")

    async def show_quarantined(self, team: str, user: str, page: int) -> HomePart:
        """Show the jobs that are set aside. Raises StoreError."""
        lines = [self._lists.line(head) for head in await self._lists.read_quarantined(team)]
        found = page_of(lines, page)
        rows = [tuple(sections(job_line(line, user, asker=True) for line in found.rows))] if lines else []
        hint: list[Block] = [context("`/leadhand release JOB` lets one go on.")] if rows else []
        return HomePart("Set aside", _page_of_rows(found, [*rows, *([tuple(hint)] if hint else [])]))


def _page_of_rows(found: ListPage[Any], rows: Sequence[Row]) -> ListPage[Row]:
    return ListPage(tuple(rows), found.number, found.pages, found.total)
