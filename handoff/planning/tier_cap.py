"""Keeps a plan within the highest tier of its channel: nobody in it begins on a higher one, or is raised to one. Pure.

A specialist that names a model of its own keeps it: it works on no tier.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import get_args

from handoff.contracts import Member, Plan, Tier
from handoff.planning.adhoc import AdhocAllowance, find_made_specialist

TIERS: tuple[Tier, ...] = get_args(Tier)
"""All tiers, the lowest first."""


def cap_tier(tier: Tier, highest: Tier) -> Tier:
    """Return the tier, or the highest that there may be."""
    return min(tier, highest, key=TIERS.index)


def tiers_to(highest: Tier) -> tuple[Tier, ...]:
    """List the tiers up to that one, the lowest first."""
    return TIERS[: TIERS.index(highest) + 1]


def capped_members(members: Sequence[Member], highest: Tier, *, own_model: frozenset[str]) -> tuple[Member, ...]:
    """Return the members of a crew as they work under a highest tier. Those of `own_model` name a model themselves."""
    return tuple(one if one.name in own_model else _cap_member(one, highest) for one in members)


def _cap_member(one: Member, highest: Tier) -> Member:
    allowed = one.tiers or TIERS
    within = tuple(tier for tier in tiers_to(highest) if tier in allowed) or (highest,)
    return one.model_copy(update={"tier": cap_tier(one.tier, highest), "tiers": within})


def capped_plan(plan: Plan, highest: Tier) -> Plan:
    """Return a plan whose subtasks ask for no tier above the highest; a made specialist works on its own tier then."""
    subtasks = tuple(
        one
        if one.tier is None or one.tier in tiers_to(highest)
        else one.model_copy(update={"tier": None if find_made_specialist(plan, one.specialist) else highest})
        for one in plan.subtasks
    )
    return plan.model_copy(update={"subtasks": subtasks})


def capped_allowance(allowed: AdhocAllowance | None, highest: Tier) -> AdhocAllowance | None:
    """Return what may be made under a highest tier; None if the crew lends only higher ones, or nothing."""
    within = tuple(tier for tier in tiers_to(highest) if allowed is not None and tier in allowed.tiers)
    return replace(allowed, tiers=within) if allowed is not None and within else None
