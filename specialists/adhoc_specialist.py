"""Ad-hoc specialists, for one plan: built from what the plan says and what the crew lends, and from nothing else.

Any instance builds the same one from the job's log. What it may use is asked of the
crew again each time: a crew that lends less by now is not overruled by an old plan.
"""

from __future__ import annotations

from pathlib import Path

from handoff.contracts import Made, Plan, Tier
from handoff.planning.adhoc import made_as
from specialists.registry import Crew
from specialists.specialist import Specialist
from specialists.turns import briefing

MAX_TURNS = 8
"""Model turns that an ad-hoc specialist may take before its last call."""


class NotLent(Exception):
    """An ad-hoc specialist needs what the crew does not lend. The text says what, for people."""


def specialist_for(crew: Crew, plan: Plan | None, name: str, tier: Tier) -> Specialist | None:
    """Find who works under a name, on a tier: the plan's ad-hoc specialist, else the crew's member; None for nobody.

    Raises NotLent if the plan has an ad-hoc specialist that the crew does not allow, or not any more.
    """
    made = made_as(plan, name)
    if made is None:
        return crew.specialists.get(name)
    one = adhoc_specialist(crew, made)
    if crew.make is not None and tier not in crew.make.tiers:
        raise NotLent(f"the crew does not lend the tier {tier}, on which {name} is to work")
    return one


def adhoc_specialist(crew: Crew, made: Made) -> Specialist:
    """Build the ad-hoc specialist that a plan asks for. Raises NotLent."""
    if crew.make is None:
        raise NotLent(f"the crew has no specialists made, and {made.name} is one")
    for name in made.tools:
        if name not in crew.lent or crew.lent[name].access != "read":
            raise NotLent(f"the crew does not lend {name}, with which {made.name} was made")
    return Specialist(
        name=made.name,
        description=made.description,
        tools=tuple(crew.lent[name] for name in made.tools),
        tier=made.tier,
        fallback=crew.make.fallback or None,
        max_turns=MAX_TURNS,
        prompt=briefing.adhoc_prompt(made.name, made.brief),
        path=Path(),
        adhoc=True,
    )
