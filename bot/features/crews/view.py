"""Renders the members of a crew, page by page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bot.slack.text.cleaning import clean, plain
from bot.slack.views.outgoing import Outgoing, context, header, section
from bot.slack.views.paging import page_buttons, take_page


@dataclass(frozen=True, slots=True)
class CrewRow:
    """A member of a crew: a specialist, or with `crew` an inner crew. `out`: it is paused after repeated failures."""

    name: str
    description: str
    cannot: Sequence[str] = ()
    tools: Sequence[str] = ()
    tier: str = ""
    out: bool = False
    crew: bool = False


@dataclass(frozen=True, slots=True)
class CrewPage:
    """A crew with its members. `crews` are the names of all crews, if there are several."""

    name: str
    members: tuple[CrewRow, ...]
    crews: tuple[str, ...] = ()


def crew_page(crew: CrewPage, page: int, asked: str) -> Outgoing:
    """Render a page of a crew's members. `asked` is the crew's name in the command, which may be empty."""
    found = take_page(crew.members, page)
    title = f"Crew {plain(crew.name, 60)}"
    rows = [section(_render_member(one)) for one in found.rows]
    others = [f"`/leadhand crew {clean(plain(name, 60))}`" for name in crew.crews if name != crew.name]
    more = [context(f"Other crews: {', '.join(others)}")] if others else []
    return Outgoing(text=title, blocks=(header(title), *rows, *page_buttons(found, "crew", asked), *more))


def _render_member(one: CrewRow) -> str:
    kind = "crew" if one.crew else one.tier
    out = " · :warning: paused after repeated failures" if one.out else ""
    tools = ", ".join(f"`{clean(plain(tool, 60))}`" for tool in one.tools)
    cannot = f"\nCannot: {clean(plain(', '.join(one.cannot), 200))}" if one.cannot else ""
    uses = f"\nTools: {tools}" if tools else ""
    name = f"*{clean(plain(one.name, 80))}*{f' · {kind}' if kind else ''}{out}"
    return f"{name}\n{clean(plain(one.description, 400))}{cannot}{uses}"
