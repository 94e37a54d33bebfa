"""The offer of ad-hoc specialists to a planner, and the members that its plan makes of it."""

from __future__ import annotations

from dataclasses import dataclass

from bot.supervisor.prompts import read_prompt
from handoff.contracts import Member, Plan, Tier
from handoff.planning.adhoc import AdhocAllowance, list_adhoc_reasons, make_adhoc_members
from handoff.planning.tier_cap import cap_allowance
from specialists.crew import Crew


@dataclass(frozen=True, slots=True)
class AdhocOffer:
    """The allowance of a crew for ad-hoc specialists. `prompt_words` explain it after the planner's prompt."""

    allowance: AdhocAllowance
    prompt_words: str


def make_adhoc_offer(crew: Crew, highest_tier: Tier = "deep") -> AdhocOffer | None:
    """Return the offer to a crew's planner, with tiers up to `highest_tier`; None if the crew's file allows none."""
    allowance = cap_allowance(crew.make, highest_tier)
    if allowance is None:
        return None
    lines = [f"\n  - `{name}`: {_cut_to_first_line(tool.spec.description)}" for name, tool in crew.lent_tools.items()]
    words = read_prompt("adhoc_offer").format(
        at_most=allowance.at_most,
        tools="".join(lines) or " none, so `tools` is left out",
        tiers=" or ".join(f"`{tier}`" for tier in allowance.tiers),
    )
    return AdhocOffer(allowance, f"\n\n{words}")


def list_adhoc_members(plan: Plan, offer: AdhocOffer | None) -> tuple[tuple[Member, ...], tuple[str, ...]]:
    """Return the ad-hoc specialists of a plan as members, and the reason for each; both empty without an offer."""
    if offer is None or not plan.made:
        return (), ()
    return tuple(make_adhoc_members(plan, offer.allowance).values()), list_adhoc_reasons(plan)


def _cut_to_first_line(text: str) -> str:
    return text.strip().partition("\n")[0]
