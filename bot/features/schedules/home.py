"""The schedules of a person in their home."""

from __future__ import annotations

from bot.features.schedules.service import ScheduleDesk
from bot.features.schedules.view import line
from bot.slack.views.home_part import HomePart
from bot.slack.views.outgoing import section
from bot.slack.views.paging import page_of

NONE = "You have none. Mention me with one, such as “every Monday at 9 summarise #sales”."


class SchedulesAtHome:
    """The section: each with its next and its last run. `/leadhand schedule` has the buttons that change them."""

    def __init__(self, desk: ScheduleDesk) -> None:
        self._desk = desk

    async def part(self, team: str, user: str, page: int) -> HomePart:
        """Give a page of the list."""
        rows = [(section(line(one, user)),) for one in await self._desk.of(team, user)]
        return HomePart("Schedules", page_of(rows, page), none=NONE)
