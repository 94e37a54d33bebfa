"""Renders the members of a crew, page by page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bot.slack.text.cleaning import clean_mrkdwn, to_plain_line
from bot.slack.views.outgoing import Outgoing, make_context, make_header, make_section
from bot.slack.views.paging import render_page_buttons, select_page


@dataclass(frozen=True, slots=True)
class CrewMember:
    """A member of a crew: a specialist, or with `is_crew` an inner crew.

    `is_paused`: it is paused after repeated failures.
    """

    name: str
    description: str
    cannot: Sequence[str] = ()
    tools: Sequence[str] = ()
    tier: str = ""
    is_paused: bool = False
    is_crew: bool = False


@dataclass(frozen=True, slots=True)
class CrewPage:
    """A crew with its members. `crews` are the names of all crews; empty if there is only one."""

    name: str
    members: tuple[CrewMember, ...]
    crews: tuple[str, ...] = ()


def render_crew_page(crew: CrewPage, page: int, crew_name: str) -> Outgoing:
    """Render a page of a crew's members. `crew_name` is the crew's name in the command, which may be empty."""
    member_page = select_page(crew.members, page)
    title = f"Crew {to_plain_line(crew.name, 60)}"
    rows = [make_section(_render_member(one)) for one in member_page.rows]
    others = [f"`/leadhand crew {clean_mrkdwn(to_plain_line(name, 60))}`" for name in crew.crews if name != crew.name]
    more = [make_context(f"Other crews: {', '.join(others)}")] if others else []
    return Outgoing(
        text=title, blocks=(make_header(title), *rows, *render_page_buttons(member_page, "crew", crew_name), *more)
    )


def _render_member(member: CrewMember) -> str:
    kind = "crew" if member.is_crew else member.tier
    out = " · :warning: paused after repeated failures" if member.is_paused else ""
    tools = ", ".join(f"`{clean_mrkdwn(to_plain_line(tool, 60))}`" for tool in member.tools)
    cannot = f"\nCannot: {clean_mrkdwn(to_plain_line(', '.join(member.cannot), 200))}" if member.cannot else ""
    uses = f"\nTools: {tools}" if tools else ""
    name = f"*{clean_mrkdwn(to_plain_line(member.name, 80))}*{f' · {kind}' if kind else ''}{out}"
    return f"{name}\n{clean_mrkdwn(to_plain_line(member.description, 400))}{cannot}{uses}"
