"""What a planner is told of specialists that it may have made, and what becomes of those in its plan."""

from __future__ import annotations

from dataclasses import dataclass

from bot.supervisor.prompts import prompt
from handoff.contracts import Member, Plan
from handoff.planning.adhoc import Allowance, members_of, reasons_of
from specialists.registry import Crew


@dataclass(frozen=True, slots=True)
class Making:
    """What a crew allows, and `words` that say so: they follow the planner's prompt."""

    allowed: Allowance
    words: str


def making_of(crew: Crew) -> Making | None:
    """What the planner of a crew may have made; None where its file allows nothing."""
    allowed = crew.make
    if allowed is None:
        return None
    lines = [f"\n  - `{name}`: {_first_line(tool.spec.description)}" for name, tool in crew.lent.items()]
    words = prompt("adhoc_offer").format(
        at_most=allowed.at_most,
        tools="".join(lines) or " none, so `tools` is left out",
        tiers=" or ".join(f"`{tier}`" for tier in allowed.tiers),
    )
    return Making(allowed, f"\n\n{words}")


def made_of(plan: Plan, making: Making | None) -> tuple[tuple[Member, ...], tuple[str, ...]]:
    """Those made for a plan as members, and what each is for."""
    if making is None or not plan.made:
        return (), ()
    return tuple(members_of(plan, making.allowed).values()), reasons_of(plan)


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0]
