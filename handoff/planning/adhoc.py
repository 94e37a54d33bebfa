"""Ad-hoc specialists, which a plan asks for: the crew's allowance, and the faults of a plan's wishes.

A planner is a model that has read texts of people and web pages, so its wishes grant no rights: the tools and tiers
must be among those that the crew lends.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from handoff.contracts import SUPERVISOR, MadeSpecialist, Member, Plan, Tier

NAME_PATTERN = re.compile(r"[a-z][a-z0-9_-]{0,39}")
"""The pattern of every specialist's name."""
MAX_DESCRIPTION_LENGTH = 200
MAX_BRIEF_LENGTH = 2_000
"""The most characters of an ad-hoc specialist's brief, which is sent with each of its model calls."""
MAX_WHY_LENGTH = 200
MAX_SPECIALISTS_PER_PLAN = 5
"""The most ad-hoc specialists that a crew may allow for one plan."""
_MAX_QUOTE_LENGTH = 60
_HIDDEN_CHARACTERS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
"""Characters that people do not see but models read."""


@dataclass(frozen=True, slots=True)
class AdhocAllowance:
    """The ad-hoc specialists that a crew allows its planner."""

    tools: tuple[str, ...] = ()
    """The names of the reading tools that an ad-hoc specialist may have."""
    tiers: tuple[Tier, ...] = ("fast", "balanced")
    """The tiers that it may work on."""
    at_most: int = 2
    """The most ad-hoc specialists of one plan."""
    fallback: str = ""
    """The member that takes over if one fails; empty: nobody."""
    reserved_names: frozenset[str] = frozenset()
    """The names that no ad-hoc specialist may have."""
    writing_tools: frozenset[str] = frozenset()
    """The names of the writing tools. A wish for one of them gets its own fault text."""


def clean_made_specialists(plan: Plan) -> Plan:
    """Return the plan without invisible characters in the fields of its ad-hoc specialists."""
    if not plan.made:
        return plan
    made_specialists = tuple(
        one.model_copy(
            update={
                "name": one.name.strip(),
                "description": " ".join(_HIDDEN_CHARACTERS.sub(" ", one.description).split()),
                "brief": _HIDDEN_CHARACTERS.sub("", one.brief.replace("\r\n", "\n")).strip(),
                "why": " ".join(_HIDDEN_CHARACTERS.sub(" ", one.why).split()),
            }
        )
        for one in plan.made
    )
    return plan.model_copy(update={"made": made_specialists})


def find_made_specialist(plan: Plan | None, name: str) -> MadeSpecialist | None:
    """Return the plan's ad-hoc specialist of that name; None if there is none, or no plan."""
    return next((one for one in plan.made if one.name == name), None) if plan is not None else None


def make_adhoc_members(plan: Plan, allowance: AdhocAllowance) -> dict[str, Member]:
    """Return the ad-hoc specialists of a plan as members of the crew, by name."""
    return {
        one.name: Member(
            name=one.name,
            description=one.description,
            tier=one.tier,
            fallback=allowance.fallback,
            made=True,
            tiers=allowance.tiers,
        )
        for one in plan.made
    }


def find_adhoc_faults(plan: Plan, members: Mapping[str, Member], allowance: AdhocAllowance | None) -> list[str]:
    """Return the faults of a plan's ad-hoc specialists in names, texts and rights, worded for the planner.

    `allowance` is None if the crew allows no ad-hoc specialists.
    """
    if not plan.made:
        return []
    if allowance is None:
        return ["This crew has no specialists made: leave `made` out, and what nobody can do goes into `missing`."]
    if len(plan.made) > allowance.at_most:
        return [f"`made` has {len(plan.made)} specialists; at most {allowance.at_most} are allowed."]
    counts = Counter(one.name for one in plan.made)
    faults = [f"Two made specialists are called {name[:_MAX_QUOTE_LENGTH]!r}." for name, n in counts.items() if n > 1]
    used_names = {subtask.specialist for subtask in plan.subtasks}
    for one in plan.made:
        fault_texts = [
            *_find_name_faults(one, allowance.reserved_names | set(members)),
            *_find_text_faults(one),
            *_find_rights_faults(one, allowance),
        ]
        if one.name not in used_names:
            fault_texts.append("works on no subtask; give it one or leave it out")
        faults += [_make_fault(one, text) for text in fault_texts]
    return faults


def find_wording_faults(plan: Plan) -> list[str]:
    """Return the faults in the wording of ad-hoc specialists' briefs, which are a matter of judgement."""
    text = "has a brief that only repeats its description; say how it works and what a good result is"
    briefs = ((one, " ".join(one.brief.split()).casefold()) for one in plan.made)
    return [_make_fault(one, text) for one, brief in briefs if brief and brief == one.description.casefold()]


def _make_fault(specialist: MadeSpecialist, text: str) -> str:
    return f"The made specialist {specialist.name[:_MAX_QUOTE_LENGTH]!r} {text}."


def _find_name_faults(specialist: MadeSpecialist, reserved_names: Iterable[str]) -> list[str]:
    if not NAME_PATTERN.fullmatch(specialist.name) or specialist.name == SUPERVISOR:
        return ["needs a name of small letters, digits, - and _, a letter first, at most 40"]
    return ["has the name of a specialist that there is; work with that one, or choose another name"] * (
        specialist.name in reserved_names
    )


def _find_text_faults(specialist: MadeSpecialist) -> list[str]:
    faults = []
    if not specialist.description:
        faults.append("has no description; say in a line what it can do")
    elif len(specialist.description) > MAX_DESCRIPTION_LENGTH:
        faults.append(
            f"has a description of {len(specialist.description)} characters; at most "
            f"{MAX_DESCRIPTION_LENGTH} are allowed"
        )
    if not specialist.why:
        faults.append("has no `why`; say what it is needed for and why nobody there can do it")
    elif len(specialist.why) > MAX_WHY_LENGTH:
        faults.append(f"has a `why` of {len(specialist.why)} characters; at most {MAX_WHY_LENGTH} are allowed")
    if not specialist.brief:
        faults.append("has no brief; say how it works, what a good result is and what it leaves alone")
    elif len(specialist.brief) > MAX_BRIEF_LENGTH:
        faults.append(f"has a brief of {len(specialist.brief):,} characters; at most {MAX_BRIEF_LENGTH:,} are allowed")
    return faults


def _find_rights_faults(specialist: MadeSpecialist, allowance: AdhocAllowance) -> list[str]:
    tool_names = ", ".join(allowance.tools) or "none"
    faults = []
    for tool in dict.fromkeys(specialist.tools):
        if tool in allowance.writing_tools:
            faults.append(f"asks for the tool {tool}, which writes; a made one only reads (it may have: {tool_names})")
        elif tool not in allowance.tools:
            faults.append(
                f"asks for the tool {tool[:_MAX_QUOTE_LENGTH]!r}, which is not lent; it may have: {tool_names}"
            )
        elif specialist.tools.count(tool) > 1:
            faults.append(f"asks for the tool {tool} twice")
    if specialist.tier not in allowance.tiers:
        faults.append(f"asks for the tier {specialist.tier}; it may have: {', '.join(allowance.tiers)}")
    return faults


def list_adhoc_reasons(plan: Plan) -> tuple[str, ...]:
    """Return one line for the trace for each ad-hoc specialist, with its tier, its tools and the reason for it."""
    return tuple(
        f"{one.name} made for this job ({one.tier}, {', '.join(one.tools) or 'no tools'}): {one.why}"
        for one in plan.made
    )
