"""A crew: its specialists, rules and toolkits; and the ad-hoc specialists that plans ask for."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from handoff.approval_values import ADMINS
from handoff.contracts import ANYONE, REQUESTER, MadeSpecialist, Plan, Tier
from handoff.planning.adhoc import AdhocAllowance, find_made_specialist
from handoff.planning.pipeline import Pipeline
from handoff.planning.routing import RoutingRule
from specialists.files.frontmatter import CrewFault
from specialists.loading.approval_keys import NO_APPROVAL_RULES, ApprovalRules
from specialists.loading.crew_prompts import NO_PROMPTS, CrewPrompts
from specialists.specialist import ADHOC_TURNS, Specialist
from specialists.tools.tool import Tool
from specialists.tools.toolkit import Toolkit
from specialists.turns import briefing

CLOSE_TIMEOUT_SECONDS = 10.0
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class CrewDescription:
    """A crew's description of itself for the crew around it, with fields as in `Specialist`."""

    description: str = ""
    cannot: tuple[str, ...] = ()
    fallback: str = ""


@dataclass(frozen=True)
class Crew:
    """A named set of specialists, in order of name, and of crews inside it.

    Specialists of an inner crew have its `path` before their names, such as `legal/writer`, at each level. The
    outermost crew has no path.

    Attributes:
        rules: The rules that give a request to a specialist without a planner.
        equals: Groups of specialists that do the same work.
        terms: The fields of `handoff.contracts.Terms` that its file sets.
        roles: The tiers that its file sets for roles of its supervisor.
        asking_terms: The fields of `handoff.contracts.AskingTerms` that its file sets.
        default: The member that gets a request for which no plan could be made; "" for the first member.
        first: The first responder, which gets a request before the planner and may hand it over; "" for none.
        pipeline: Its fixed plan; None if the planner plans.
        contact: The contact that people are referred to when nothing works: its own, or that of the crew around it.
        make: The ad-hoc specialists that a plan may have; None for none.
        lent_tools: The tools that ad-hoc specialists may use, by name.
        allow_out: The tools and hosts that may be sent private data without asking anybody.
        approvals: The rules on approvals from its file, completed by the files of the crews around it.
        toolkits: The toolkits in its folder; for the outermost crew also those that it was loaded with.
        warnings: The faults of its files with which the crew can still be used.
    """

    name: str
    specialists: Mapping[str, Specialist]
    rules: tuple[RoutingRule, ...] = ()
    equals: tuple[tuple[str, ...], ...] = ()
    terms: Mapping[str, Any] = field(default_factory=dict)
    roles: Mapping[str, Tier] = field(default_factory=dict)
    asking_terms: Mapping[str, Any] = field(default_factory=dict)
    default: str = ""
    first: str = ""
    needs: tuple[str, ...] = ()
    """The settings without which it cannot be a member of another crew of the same bot."""
    pipeline: Pipeline | None = None
    contact: str = ""
    make: AdhocAllowance | None = None
    lent_tools: Mapping[str, Tool] = field(default_factory=dict)
    path: str = ""
    crews: Mapping[str, Crew] = field(default_factory=dict)
    about: CrewDescription = CrewDescription()
    allow_out: frozenset[str] = frozenset()
    approvals: ApprovalRules = NO_APPROVAL_RULES
    toolkits: tuple[Toolkit, ...] = ()
    prompts: CrewPrompts = NO_PROMPTS
    """The texts of its file for its supervisor."""
    requests: tuple[str, ...] = ()
    """Example requests for people, which show what the crew does."""
    channel: Mapping[str, tuple[str, CrewFault]] = field(default_factory=dict)
    """The settings of its file for channels, see `CrewFile.channel`."""
    warnings: tuple[CrewFault, ...] = ()

    @property
    def level_count(self) -> int:
        """The number of nested levels of crews, including this crew."""
        return 1 + max((crew.level_count for crew in self.crews.values()), default=0)

    def find_crew(self, name: str) -> Crew | None:
        """Return the crew with the path `name`, at any level; None if there is none."""
        if name == self.path:
            return self
        return next((inner_crew for crew in self.crews.values() if (inner_crew := crew.find_crew(name))), None)

    @property
    def house_rules(self) -> str:
        """The text of `AGENTS.md` and `CLAUDE.md` in its folder, cut if long; otherwise that of the crew around it."""
        return self.prompts.house_rules

    @property
    def addressee_ids(self) -> frozenset[str]:
        """The Slack ids that this crew and the crews inside it name for questions and approvals."""
        own = {
            *self.asking_terms.get("whom", ()),
            *self.asking_terms.get("then", ()),
            *self.approvals.usual_terms.approvers,
        }
        terms = (each for one in self.specialists.values() for each in (one.usual_terms, *one.approvals.values()))
        theirs = (one for each in self.specialists.values() for one in each.asks)
        approvers = (who for each in terms if each is not None for who in each.approvers)
        inside = (crew.addressee_ids for crew in self.crews.values())
        return frozenset(own).union(theirs, approvers, *inside) - {REQUESTER, ANYONE, ADMINS}

    def without_first_responder(self) -> Crew:
        """Return the crew without its first responder, so that the planner gets each request."""
        others = {name: one for name, one in self.specialists.items() if name != self.first}
        return replace(self, first="", specialists=others) if others or self.crews else self

    @property
    def all_specialists(self) -> dict[str, Specialist]:
        """The specialists of this crew and of all crews inside it, by name."""
        inside = {name: one for crew in self.crews.values() for name, one in crew.all_specialists.items()}
        return {**self.specialists, **inside}

    @property
    def all_warnings(self) -> tuple[CrewFault, ...]:
        """The warnings about the files of this crew and of all crews inside it."""
        return (*self.warnings, *(each for crew in self.crews.values() for each in crew.all_warnings))

    @property
    def background_work(self) -> tuple[Callable[[], Coroutine[Any, Any, None]], ...]:
        """The background work of the toolkits of this crew and the crews inside it, for as long as the bot runs."""
        own = (kit.background_task for kit in self.toolkits if kit.background_task is not None)
        return (*own, *(work for crew in self.crews.values() for work in crew.background_work))

    @property
    def fetching_toolkits(self) -> tuple[Toolkit, ...]:
        """The toolkits that can fetch what a request names, and of whose tools a specialist of this crew has one."""
        tool_names = {tool.name for one in self.all_specialists.values() for tool in one.tools}
        there = (*self.toolkits, *(each for crew in self.crews.values() for each in crew.fetching_toolkits))
        return tuple(one for one in there if one.finds is not None and tool_names & {tool.name for tool in one.tools})

    async def close(self) -> None:
        """Close the toolkits of this crew and its inner crews, each within `CLOSE_TIMEOUT_SECONDS`.

        Errors are only logged.
        """
        closing = [kit.close() for kit in self.toolkits if kit.close is not None]
        ends = (asyncio.wait_for(each, CLOSE_TIMEOUT_SECONDS) for each in closing)
        outcomes = await asyncio.gather(*ends, *(crew.close() for crew in self.crews.values()), return_exceptions=True)
        for error in outcomes:
            if isinstance(error, Exception):
                _log.warning("a toolkit could not be closed: %s: %s", type(error).__name__, error)


class AdhocNotAllowed(Exception):
    """Raised for an ad-hoc specialist, tool or tier that the crew does not allow. The text says which, for people."""


def find_specialist(crew: Crew, plan: Plan | None, name: str, tier: Tier) -> Specialist | None:
    """Return the plan's ad-hoc specialist of that name, else the crew's member; None if there is neither.

    Raises AdhocNotAllowed if the crew does not allow, or no longer allows, the ad-hoc specialist or its `tier`.
    """
    made_specialist = find_made_specialist(plan, name)
    if made_specialist is None:
        return crew.specialists.get(name)
    one = build_adhoc_specialist(crew, made_specialist)
    if crew.make is not None and tier not in crew.make.tiers:
        raise AdhocNotAllowed(f"the crew does not allow the tier {tier}, on which {name} is to work")
    return one


def build_adhoc_specialist(crew: Crew, made_specialist: MadeSpecialist) -> Specialist:
    """Build the ad-hoc specialist that a plan asks for. Raises AdhocNotAllowed if the crew does not allow it."""
    if crew.make is None:
        raise AdhocNotAllowed(f"the crew allows no ad-hoc specialists, and {made_specialist.name} is one")
    for name in made_specialist.tools:
        if name not in crew.lent_tools or crew.lent_tools[name].access != "read":
            raise AdhocNotAllowed(
                f"the crew does not allow {name} for ad-hoc specialists, and {made_specialist.name} has it"
            )
    return Specialist(
        name=made_specialist.name,
        description=made_specialist.description,
        tools=tuple(crew.lent_tools[name] for name in made_specialist.tools),
        tier=made_specialist.tier,
        fallback=crew.make.fallback or None,
        max_turns=ADHOC_TURNS,
        prompt=briefing.render_adhoc_prompt(made_specialist.name, made_specialist.brief),
        path=Path(),
        is_adhoc=True,
        allow_out=crew.allow_out,
        usual_terms=crew.approvals.usual_terms,
    )


MIN_CROWDED_SPECIALISTS = 8
"""The number of specialists in one crew from which planners choose worse, as they read all of them each time."""


def suggest_inner_crews(crew: Crew) -> str:
    """Suggest inner crews for crews with many specialists; "" if there are none.

    Crews with a fixed plan are left out, since they ask no planner.
    """
    many = [
        _describe_crowding(one)
        for one in _list_crews(crew)
        if one.pipeline is None and len(one.specialists) >= MIN_CROWDED_SPECIALISTS
    ]
    return "; ".join(many)


def _describe_crowding(crew: Crew) -> str:
    where = f"in {crew.path}, " if crew.path else ""
    return (
        f"{where}{len(crew.specialists)} specialists are in one crew, and planners choose worse among so many; move "
        "those that belong together into a crew of their own: a folder with a crew.yml"
    )


def _list_crews(crew: Crew) -> list[Crew]:
    return [crew, *(one for inner in crew.crews.values() for one in _list_crews(inner))]
