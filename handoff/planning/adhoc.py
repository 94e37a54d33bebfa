"""Ad-hoc specialists, which a plan asks for: what a crew allows, and the faults of a plan's wishes.

A planner is a model that has read texts of people and web pages, so its wishes grant no rights: the tools and tiers
must be among those that the crew lends.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from handoff.contracts import SUPERVISOR, MadeSpecialist, Member, Plan, Tier

NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")
"""The form of every specialist's name."""
MAX_DESCRIPTION = 200
MAX_BRIEF = 2_000
"""The most characters of an ad-hoc specialist's brief, which is sent with each of its model calls."""
MAX_WHY = 200
MOST = 5
"""The most ad-hoc specialists that a crew may allow for one plan."""
_QUOTED = 60
_HIDDEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
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
    taken: frozenset[str] = frozenset()
    """The names that no ad-hoc specialist may have."""
    writing: frozenset[str] = frozenset()
    """The names of writing tools, for which there is a fault of its own."""


def clean_made_specialists(plan: Plan) -> Plan:
    """Return the plan without invisible characters in the fields of its ad-hoc specialists."""
    if not plan.made:
        return plan
    made = tuple(
        one.model_copy(
            update={
                "name": one.name.strip(),
                "description": " ".join(_HIDDEN.sub(" ", one.description).split()),
                "brief": _HIDDEN.sub("", one.brief.replace("\r\n", "\n")).strip(),
                "why": " ".join(_HIDDEN.sub(" ", one.why).split()),
            }
        )
        for one in plan.made
    )
    return plan.model_copy(update={"made": made})


def find_made_specialist(plan: Plan | None, name: str) -> MadeSpecialist | None:
    """Return the plan's ad-hoc specialist of that name; None if there is none, or no plan."""
    return next((one for one in plan.made if one.name == name), None) if plan is not None else None


def members_of(plan: Plan, allowed: AdhocAllowance) -> dict[str, Member]:
    """Return the ad-hoc specialists of a plan as members of the crew, by name."""
    return {
        one.name: Member(
            name=one.name,
            description=one.description,
            tier=one.tier,
            fallback=allowed.fallback,
            made=True,
            tiers=allowed.tiers,
        )
        for one in plan.made
    }


def faults_of(plan: Plan, members: Mapping[str, Member], allowed: AdhocAllowance | None) -> list[str]:
    """Return the certain faults of a plan's ad-hoc specialists. `allowed` is None if the crew allows none."""
    if not plan.made:
        return []
    if allowed is None:
        return ["This crew has no specialists made: leave `made` out, and what nobody can do goes into `missing`."]
    if len(plan.made) > allowed.at_most:
        return [f"`made` has {len(plan.made)} specialists; at most {allowed.at_most} are allowed."]
    counts = Counter(one.name for one in plan.made)
    faults = [f"Two made specialists are called {name[:_QUOTED]!r}." for name, n in counts.items() if n > 1]
    working = {subtask.specialist for subtask in plan.subtasks}
    for one in plan.made:
        wrong = [
            *_find_name_faults(one, allowed.taken | set(members)),
            *_find_text_faults(one),
            *_find_right_faults(one, allowed),
        ]
        if one.name not in working:
            wrong.append("works on no subtask; give it one or leave it out")
        faults += [_make_fault(one, text) for text in wrong]
    return faults


def find_wording_faults(plan: Plan) -> list[str]:
    """Return the faults in the wording of ad-hoc specialists' briefs, which are a matter of judgement."""
    text = "has a brief that only repeats its description; say how it works and what a good result is"
    briefs = ((one, " ".join(one.brief.split()).casefold()) for one in plan.made)
    return [_make_fault(one, text) for one, brief in briefs if brief and brief == one.description.casefold()]


def _make_fault(one: MadeSpecialist, text: str) -> str:
    return f"The made specialist {one.name[:_QUOTED]!r} {text}."


def _find_name_faults(one: MadeSpecialist, taken: Iterable[str]) -> list[str]:
    if not NAME.fullmatch(one.name) or one.name == SUPERVISOR:
        return ["needs a name of small letters, digits, - and _, a letter first, at most 40"]
    return ["has the name of a specialist that there is; work with that one, or choose another name"] * (
        one.name in taken
    )


def _find_text_faults(one: MadeSpecialist) -> list[str]:
    found = []
    if not one.description:
        found.append("has no description; say in a line what it can do")
    elif len(one.description) > MAX_DESCRIPTION:
        found.append(f"has a description of {len(one.description)} characters; at most {MAX_DESCRIPTION} are allowed")
    if not one.why:
        found.append("has no `why`; say what it is needed for and why nobody there can do it")
    elif len(one.why) > MAX_WHY:
        found.append(f"has a `why` of {len(one.why)} characters; at most {MAX_WHY} are allowed")
    if not one.brief:
        found.append("has no brief; say how it works, what a good result is and what it leaves alone")
    elif len(one.brief) > MAX_BRIEF:
        found.append(f"has a brief of {len(one.brief):,} characters; at most {MAX_BRIEF:,} are allowed")
    return found


def _find_right_faults(one: MadeSpecialist, allowed: AdhocAllowance) -> list[str]:
    lent = ", ".join(allowed.tools) or "none"
    found = []
    for tool in dict.fromkeys(one.tools):
        if tool in allowed.writing:
            found.append(f"asks for the tool {tool}, which writes; a made one only reads (it may have: {lent})")
        elif tool not in allowed.tools:
            found.append(f"asks for the tool {tool[:_QUOTED]!r}, which is not lent; it may have: {lent}")
        elif one.tools.count(tool) > 1:
            found.append(f"asks for the tool {tool} twice")
    if one.tier not in allowed.tiers:
        found.append(f"asks for the tier {one.tier}; it may have: {', '.join(allowed.tiers)}")
    return found


def reasons_of(plan: Plan) -> tuple[str, ...]:
    """Return one line for the trace for each ad-hoc specialist, with its tier, its tools and the reason for it."""
    return tuple(
        f"{one.name} made for this job ({one.tier}, {', '.join(one.tools) or 'no tools'}): {one.why}"
        for one in plan.made
    )
