"""Estimates the usage and cost of a typical plan of a crew, for people who choose the models."""

from __future__ import annotations

from bot.supervisor.planning import worker_of
from bot.supervisor.prompts import prompt
from handoff.contracts import Estimate, Subtask, Terms
from handoff.planning.estimates import CHARACTERS, NO_PAST, RESULT_OUT, Price, estimate, sum_estimates
from specialists.crew import Crew

PARTS = 3
"""Parts of a typical plan."""
PLAN_OUT, ANSWER_OUT = 400, 600
"""Tokens that the planner and the synthesizer write, including their thinking."""
BRIEF = 300
"""Tokens of a request with the outlines of its material."""


def price_of_plan(crew: Crew, terms: Terms, price: Price) -> Estimate:
    """Estimate a plan of `PARTS` parts for average specialists of a crew, with the calls of planner and synthesizer.

    A first responder is left out, since plans give it no part. `price` returns the dollars of tokens; if it knows no
    price, the cost is None.
    """
    people = crew.without_first_responder().all_specialists
    works = [
        estimate(Subtask(id=name, title=name, intent="", specialist=name), worker_of(one), NO_PAST, price)
        for name, one in people.items()
    ]
    whole = sum_estimates("", works)
    share = PARTS / max(1, len(works))
    parts = Estimate(
        subtask="",
        calls=round(whole.calls * share),
        tokens=round(whole.tokens * share),
        cost=whole.cost * share if whole.cost is not None else None,
    )
    members = sum(len(name) + len(one.description) for name, one in people.items()) // CHARACTERS
    planning = _estimate_role_call(
        "planner", len(prompt("planner_examples")) // CHARACTERS + members, PLAN_OUT, terms, price
    )
    return sum_estimates(
        "", [planning, parts, _estimate_role_call("synthesizer", PARTS * RESULT_OUT, ANSWER_OUT, terms, price)]
    )


def _estimate_role_call(role: str, told: int, out: int, terms: Terms, price: Price) -> Estimate:
    """Estimate one call of a role: it reads `told` tokens besides prompt and request, and writes `out` tokens."""
    given = len(prompt(role)) // CHARACTERS + BRIEF + told
    return Estimate(subtask=role, calls=1, tokens=given + out, cost=price(terms.tier_of(role), given, out))
