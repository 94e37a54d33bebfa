"""Renders the sections of the App Home that show admins the state of the bot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bot.limits.call_limits import CallLimits
from bot.slack.text.cleaning import clean, plain
from bot.slack.views.outgoing import describe_minimum_duration, sections
from bot.slack.views.paging import HomePart, ListPage, Row, make_page, take_page
from bot.supervisor.instance_board import InstanceBoard, InstanceSummary
from handoff.text.counts import format_count
from specialists.several_crews import Crews


def model_lines(models: Sequence[str], specialists: int, resting: Sequence[str]) -> list[str]:
    """Render the models, and the paused models and specialists; `resting` has a line for each paused one."""
    named = ", ".join(f"`{clean(plain(one, 80))}`" for one in models) or "none"
    lines = [f"*Models:* {named}"]
    if not resting:
        return [*lines, f":white_check_mark: {format_count(specialists, 'specialist')} and all models take work."]
    return [*lines, *(f":warning: {clean(plain(one, 300))}" for one in resting)]


def instance_lines(instances: Sequence[InstanceSummary]) -> list[str]:
    """Render a line for each instance. One that has been silent for a while is marked: it may be gone."""
    return [_render_instance(one) for one in sorted(instances, key=lambda one: one.name)]


def _render_instance(one: InstanceSummary) -> str:
    silent = describe_minimum_duration(one.age)
    heard = f"not heard of for {silent}" if silent else "running"
    mark = ":warning:" if silent else ":white_check_mark:"
    crews = ", ".join(clean(plain(crew, 60)) for crew in one.crews)
    busy = f" · {format_count(one.busy, 'attempt')} under way" if one.busy else ""
    return f"{mark} `{clean(plain(one.name, 60))}` · {heard}{f' · {crews}' if crews else ''}{busy}"


class StateParts:
    """The sections of the App Home with the state of the bot, for admins."""

    def __init__(self, crews: Crews, limits: CallLimits, board: InstanceBoard, models: Sequence[str]) -> None:
        self._crews = crews
        self._limits = limits
        self._board = board
        self._models = tuple(models)

    async def specialists(self, team: str, user: str, page: int) -> HomePart:
        """Render the models, and which specialists and models are paused. Raises StoreError."""
        del team, user, page
        names = [name for crew in self._crews.by_name.values() for name in crew.all_specialists]
        lines = model_lines(self._models, len(names), await self._limits.breakers.status())
        return HomePart("Specialists and models", make_page([tuple(sections(lines))], 1, 1))

    async def instances(self, team: str, user: str, page: int) -> HomePart:
        """Render the instances that report to the store. Raises StoreError."""
        del team, user
        known = await self._board.list_instances()
        found = take_page(instance_lines(known), page)
        return HomePart(
            "Instances",
            _page_of_rows(found, [tuple(sections(found.rows))] if found.rows else []),
            "No instance has reported.",
        )


def _page_of_rows(found: ListPage[Any], rows: Sequence[Row]) -> ListPage[Row]:
    return ListPage(tuple(rows), found.number, found.pages, found.total)
