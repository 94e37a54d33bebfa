"""Limits a plan to the highest tier of its channel: no subtask begins on a higher tier or is raised to one. Pure.

A specialist that names a model of its own keeps that model, since it works on no tier.
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
    """Return the tier itself, or `highest` if the tier is above it."""
    return min(tier, highest, key=TIERS.index)


def list_tiers_up_to(highest: Tier) -> tuple[Tier, ...]:
    """Return the tiers up to `highest`, the lowest first."""
    return TIERS[: TIERS.index(highest) + 1]


def cap_members(members: Sequence[Member], highest: Tier, *, own_model_names: frozenset[str]) -> tuple[Member, ...]:
    """Return the members of a crew, with no tier above `highest`.

    The members in `own_model_names` name a model of their own and stay unchanged.
    """
    return tuple(one if one.name in own_model_names else _cap_member(one, highest) for one in members)


def _cap_member(member: Member, highest: Tier) -> Member:
    member_tiers = member.tiers or TIERS
    allowed_tiers = tuple(tier for tier in list_tiers_up_to(highest) if tier in member_tiers) or (highest,)
    return member.model_copy(update={"tier": cap_tier(member.tier, highest), "tiers": allowed_tiers})


def cap_plan(plan: Plan, highest: Tier) -> Plan:
    """Return a plan whose subtasks ask for no tier above `highest`.

    A subtask that asks for a higher tier gets `highest`. A subtask of an ad-hoc specialist gets the specialist's tier.
    """
    subtasks = tuple(
        one
        if one.tier is None or one.tier in list_tiers_up_to(highest)
        else one.model_copy(update={"tier": None if find_made_specialist(plan, one.specialist) else highest})
        for one in plan.subtasks
    )
    return plan.model_copy(update={"subtasks": subtasks})


def cap_allowance(allowance: AdhocAllowance | None, highest: Tier) -> AdhocAllowance | None:
    """Return the crew's allowance of ad-hoc specialists, with no tier above `highest`; None if no tier is left."""
    allowed_tiers = tuple(
        tier for tier in list_tiers_up_to(highest) if allowance is not None and tier in allowance.tiers
    )
    return replace(allowance, tiers=allowed_tiers) if allowance is not None and allowed_tiers else None
