"""Renders the sections of the App Home that show admins the state of the bot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bot.limits.call_limits import CallLimits
from bot.slack.text.cleaning import clean_mrkdwn, to_plain_line
from bot.slack.views.outgoing import describe_minimum_duration, make_sections
from bot.slack.views.paging import HomeList, HomeRow, ListPage, make_page, select_page
from bot.supervisor.instance_board import InstanceBoard, InstanceSummary
from handoff.text.counts import format_count
from specialists.crew_set import CrewSet


def render_model_lines(models: Sequence[str], specialists: int, paused_lines: Sequence[str]) -> list[str]:
    """Render the models, and `paused_lines` on paused models and specialists, or a line that all take work."""
    model_names = ", ".join(f"`{clean_mrkdwn(to_plain_line(one, 80))}`" for one in models) or "none"
    lines = [f"*Models:* {model_names}"]
    if not paused_lines:
        return [*lines, f":white_check_mark: {format_count(specialists, 'specialist')} and all models take work."]
    return [*lines, *(f":warning: {clean_mrkdwn(to_plain_line(one, 300))}" for one in paused_lines)]


def render_instance_lines(instances: Sequence[InstanceSummary]) -> list[str]:
    """Render a line for each instance, by name. An instance that has been silent is marked, as it may be gone."""
    return [_render_instance(one) for one in sorted(instances, key=lambda one: one.name)]


def _render_instance(instance: InstanceSummary) -> str:
    silent = describe_minimum_duration(instance.age)
    state_text = f"not heard of for {silent}" if silent else "running"
    mark = ":warning:" if silent else ":white_check_mark:"
    crews = ", ".join(clean_mrkdwn(to_plain_line(crew, 60)) for crew in instance.crews)
    busy = f" · {format_count(instance.attempts, 'attempt')} under way" if instance.attempts else ""
    name = clean_mrkdwn(to_plain_line(instance.name, 60))
    return f"{mark} `{name}` · {state_text}{f' · {crews}' if crews else ''}{busy}"


class StateSections:
    """The sections of the App Home with the state of the bot, for admins."""

    def __init__(self, crews: CrewSet, limits: CallLimits, board: InstanceBoard, models: Sequence[str]) -> None:
        self._crews = crews
        self._limits = limits
        self._board = board
        self._models = tuple(models)

    async def render_specialists(self, team: str, user: str, page: int) -> HomeList:
        """Render the models, and which specialists and models are paused. Raises StoreError."""
        del team, user, page
        names = [name for crew in self._crews.by_name.values() for name in crew.all_specialists]
        lines = render_model_lines(self._models, len(names), await self._limits.breakers.describe_open_breakers())
        return HomeList("Specialists and models", make_page([tuple(make_sections(lines))], 1, 1))

    async def render_instances(self, team: str, user: str, page: int) -> HomeList:
        """Render the instances that report to the store. Raises StoreError."""
        del team, user
        instances = await self._board.read_instances()
        instance_page = select_page(render_instance_lines(instances), page)
        return HomeList(
            "Instances",
            _make_row_page(instance_page, [tuple(make_sections(instance_page.rows))] if instance_page.rows else []),
            "No instance has reported.",
        )


def _make_row_page(page: ListPage[Any], rows: Sequence[HomeRow]) -> ListPage[HomeRow]:
    return ListPage(tuple(rows), page.number, page.page_count, page.total_rows)
