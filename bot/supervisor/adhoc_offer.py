"""The offer of ad-hoc specialists to a planner, and the members that its plan makes of it."""

from __future__ import annotations

from dataclasses import dataclass

from bot.supervisor.prompts import prompt
from handoff.contracts import Member, Plan, Tier
from handoff.planning.adhoc import AdhocAllowance, members_of, reasons_of
from handoff.planning.tier_cap import capped_allowance
from specialists.crew import Crew


@dataclass(frozen=True, slots=True)
class AdhocOffer:
    """The allowance of a crew for ad-hoc specialists. `words` explain it after the planner's prompt."""

    allowed: AdhocAllowance
    words: str


def make_adhoc_offer(crew: Crew, highest: Tier = "deep") -> AdhocOffer | None:
    """Return the offer to the planner of a crew, with tiers up to `highest`; None if the crew's file allows none."""
    allowed = capped_allowance(crew.make, highest)
    if allowed is None:
        return None
    lines = [f"\n  - `{name}`: {_cut_to_first_line(tool.spec.description)}" for name, tool in crew.lent.items()]
    words = prompt("adhoc_offer").format(
        at_most=allowed.at_most,
        tools="".join(lines) or " none, so `tools` is left out",
        tiers=" or ".join(f"`{tier}`" for tier in allowed.tiers),
    )
    return AdhocOffer(allowed, f"\n\n{words}")


def list_made_members(plan: Plan, making: AdhocOffer | None) -> tuple[tuple[Member, ...], tuple[str, ...]]:
    """Return the ad-hoc specialists of a plan as members, and the reason for each; both empty without an offer."""
    if making is None or not plan.made:
        return (), ()
    return tuple(members_of(plan, making.allowed).values()), reasons_of(plan)


def _cut_to_first_line(text: str) -> str:
    return text.strip().partition("\n")[0]
