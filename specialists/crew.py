"""A crew: who works in it, what it may do and what it closes at the end; and the specialists that a plan has made."""

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
from specialists.loading.approval_keys import NOTHING_SAID, ApprovalRules
from specialists.loading.crew_words import NO_WORDS, CrewWords
from specialists.specialist import ADHOC_TURNS, Specialist
from specialists.tools.tool import Tool
from specialists.tools.toolkit import Toolkit
from specialists.turns import briefing

CLOSE_SECONDS = 10.0
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class CrewDescription:
    """A crew's description of itself for the crew around it: see `Specialist`."""

    description: str = ""
    cannot: tuple[str, ...] = ()
    fallback: str = ""


@dataclass(frozen=True)
class Crew:
    """A named set of specialists, in the order of their names, and of crews inside it.

    Specialists of a crew inside another have its `path` before their names, `legal/writer`, and so on inside of it.
    The outermost crew has none.

    `rules` say which requests go to whom without a planner, and `equals` which specialists do the same work. `terms`
    are the fields of `handoff.contracts.Terms` that its file sets, `asking` those of `handoff.contracts.AskingTerms`,
    and `roles` the tiers that it sets for roles of its supervisor. `default` gets a request for which no plan could
    be made; empty: the first member does. `first` is the first responder, which gets a request before the planner and
    may hand it over; empty: the planner is asked at once. `pipeline` is its fixed plan, None if the planner plans.
    `contact` is whom people are sent to when nothing works: its own or that of the crew around it. `make` says which
    ad-hoc specialists a plan may have (None: none), and `lent` are the tools that these may use. `approvals` is what
    its file, and those of the crews around it, say on approvals. `allow_out` are the tools and the hosts that may be
    sent something private without asking anybody. `toolkits` are those in its folder; the outermost crew also has
    those that it was loaded with. `warnings` say what is odd in its files though the crew can be used.
    """

    name: str
    specialists: Mapping[str, Specialist]
    rules: tuple[RoutingRule, ...] = ()
    equals: tuple[tuple[str, ...], ...] = ()
    terms: Mapping[str, Any] = field(default_factory=dict)
    roles: Mapping[str, Tier] = field(default_factory=dict)
    asking: Mapping[str, Any] = field(default_factory=dict)
    default: str = ""
    first: str = ""
    needs: tuple[str, ...] = ()
    """The settings without which it is no member of another crew of the same bot."""
    pipeline: Pipeline | None = None
    contact: str = ""
    make: AdhocAllowance | None = None
    lent: Mapping[str, Tool] = field(default_factory=dict)
    path: str = ""
    crews: Mapping[str, Crew] = field(default_factory=dict)
    about: CrewDescription = CrewDescription()
    allow_out: frozenset[str] = frozenset()
    approvals: ApprovalRules = NOTHING_SAID
    toolkits: tuple[Toolkit, ...] = ()
    words: CrewWords = NO_WORDS
    """What its file says to its supervisor."""
    requests: tuple[str, ...] = ()
    """Requests that people are shown as what it is for."""
    channel: Mapping[str, tuple[str, CrewFault]] = field(default_factory=dict)
    """What its file sets for channels, see `CrewFile.channel`."""
    warnings: tuple[CrewFault, ...] = ()

    @property
    def levels(self) -> int:
        """How many levels of crews are nested here, this crew included."""
        return 1 + max((crew.levels for crew in self.crews.values()), default=0)

    def find_crew(self, name: str) -> Crew | None:
        """Find the crew with that path, at whatever level; None if there is none."""
        if name == self.path:
            return self
        return next((found for crew in self.crews.values() if (found := crew.find_crew(name))), None)

    @property
    def house_rules(self) -> str:
        """The text of `AGENTS.md` and `CLAUDE.md` in its folder, cut if long; else that of the crew around it."""
        return self.words.house_rules

    @property
    def addressees(self) -> frozenset[str]:
        """The Slack ids of those whom this crew and the crews inside it name for questions and approvals."""
        own = {*self.asking.get("whom", ()), *self.asking.get("then", ()), *self.approvals.usual_terms.approvers}
        terms = (each for one in self.specialists.values() for each in (one.usual, *one.approvals.values()))
        theirs = (one for each in self.specialists.values() for one in each.asks)
        approvers = (who for each in terms if each is not None for who in each.approvers)
        inside = (crew.addressees for crew in self.crews.values())
        return frozenset(own).union(theirs, approvers, *inside) - {REQUESTER, ANYONE, ADMINS}

    def without_first_responder(self) -> Crew:
        """Return the crew without its first responder: the planner gets each request."""
        others = {name: one for name, one in self.specialists.items() if name != self.first}
        return replace(self, first="", specialists=others) if others or self.crews else self

    @property
    def all_specialists(self) -> dict[str, Specialist]:
        """The specialists of this crew and of all inside it."""
        inside = {name: one for crew in self.crews.values() for name, one in crew.all_specialists.items()}
        return {**self.specialists, **inside}

    @property
    def every_warning(self) -> tuple[CrewFault, ...]:
        """The warnings about the files of this crew and of all crews inside it."""
        return (*self.warnings, *(each for crew in self.crews.values() for each in crew.every_warning))

    @property
    def background_work(self) -> tuple[Callable[[], Coroutine[Any, Any, None]], ...]:
        """The background work that the toolkits of this crew and of the crews inside it do while the bot runs."""
        own = (kit.beside for kit in self.toolkits if kit.beside is not None)
        return (*own, *(work for crew in self.crews.values() for work in crew.background_work))

    @property
    def finders(self) -> tuple[Toolkit, ...]:
        """The toolkits that can fetch what a request names, if a specialist of this crew has one of their tools."""
        held = {tool.name for one in self.all_specialists.values() for tool in one.tools}
        there = (*self.toolkits, *(each for crew in self.crews.values() for each in crew.finders))
        return tuple(one for one in there if one.finds is not None and held & {tool.name for tool in one.tools})

    async def close(self) -> None:
        """End what the toolkits of this crew and of the crews inside it hold open, each in bounded time."""
        closing = [kit.close() for kit in self.toolkits if kit.close is not None]
        ends = (asyncio.wait_for(each, CLOSE_SECONDS) for each in closing)
        ended = await asyncio.gather(*ends, *(crew.close() for crew in self.crews.values()), return_exceptions=True)
        for error in ended:
            if isinstance(error, Exception):
                _log.warning("a toolkit could not be closed: %s: %s", type(error).__name__, error)


class NotLent(Exception):
    """An ad-hoc specialist needs what the crew does not lend. The text says what, for people."""


def specialist_for(crew: Crew, plan: Plan | None, name: str, tier: Tier) -> Specialist | None:
    """Find who works under a name, on a tier: the plan's ad-hoc specialist, else the crew's member; None for nobody.

    Raises NotLent if the plan has an ad-hoc specialist that the crew does not allow, or not any more.
    """
    made = find_made_specialist(plan, name)
    if made is None:
        return crew.specialists.get(name)
    one = adhoc_specialist(crew, made)
    if crew.make is not None and tier not in crew.make.tiers:
        raise NotLent(f"the crew does not allow the tier {tier}, on which {name} is to work")
    return one


def adhoc_specialist(crew: Crew, made: MadeSpecialist) -> Specialist:
    """Build the ad-hoc specialist that a plan asks for. Raises NotLent."""
    if crew.make is None:
        raise NotLent(f"the crew allows no ad-hoc specialists, and {made.name} is one")
    for name in made.tools:
        if name not in crew.lent or crew.lent[name].access != "read":
            raise NotLent(f"the crew does not allow {name} for ad-hoc specialists, and {made.name} has it")
    return Specialist(
        name=made.name,
        description=made.description,
        tools=tuple(crew.lent[name] for name in made.tools),
        tier=made.tier,
        fallback=crew.make.fallback or None,
        max_turns=ADHOC_TURNS,
        prompt=briefing.adhoc_prompt(made.name, made.brief),
        path=Path(),
        adhoc=True,
        allow_out=crew.allow_out,
        usual=crew.approvals.usual_terms,
    )


FLAT = 8
"""Specialists side by side from which on planners choose worse: they read all of them with each request."""


def suggest_inner_crews(crew: Crew) -> str:
    """Suggest crews inside a crew with many specialists side by side; empty if it has not so many.

    A crew whose plan is fixed asks no planner, so there it does not matter.
    """
    many = [
        _describe_crowding(one) for one in _list_crews(crew) if one.pipeline is None and len(one.specialists) >= FLAT
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
