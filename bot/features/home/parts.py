"""The sections of the home that say how the bot itself is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bot.limits.call_limits import CallLimits
from bot.slack.views.bot_state import InstanceLine, instance_lines, model_lines
from bot.slack.views.home_part import HomePart, Row
from bot.slack.views.outgoing import sections
from bot.slack.views.paging import Page, page_of, part_of
from bot.supervisor.instance_board import InstanceBoard
from specialists.several_crews import Crews


class StateParts:
    """How the bot itself is, for admins."""

    def __init__(self, crews: Crews, limits: CallLimits, board: InstanceBoard, models: Sequence[str]) -> None:
        self._crews = crews
        self._limits = limits
        self._board = board
        self._models = tuple(models)

    async def specialists(self, team: str, user: str, page: int) -> HomePart:
        """Show the models, and which specialists and models are left alone at the moment. Raises StoreError."""
        del team, user, page
        names = [name for crew in self._crews.by_name.values() for name in crew.everyone]
        lines = model_lines(self._models, len(names), await self._limits.breakers.status())
        return HomePart("Specialists and models", part_of([tuple(sections(lines))], 1, 1))

    async def instances(self, team: str, user: str, page: int) -> HomePart:
        """Show the instances that are heard of. Raises StoreError."""
        del team, user
        known = [InstanceLine(one.name, one.age, one.crews, one.busy) for one in await self._board.everyone()]
        found = page_of(instance_lines(known), page)
        return HomePart(
            "Instances", _page(found, [tuple(sections(found.rows))] if found.rows else []), "No instance has reported."
        )


def _page(found: Page[Any], rows: Sequence[Row]) -> Page[Row]:
    return Page(tuple(rows), found.number, found.pages, found.total)
