"""Estimates the usage and cost of a typical plan of a crew, for people who choose the models."""

from __future__ import annotations

from bot.supervisor.crew_planner import make_specialist_worker
from bot.supervisor.prompts import read_prompt
from handoff.contracts import Estimate, Subtask, Terms
from handoff.planning.estimates import (
    CHARACTERS_PER_TOKEN,
    NO_PAST_USAGE,
    RESULT_TOKENS,
    TokenPricer,
    estimate_subtask,
    sum_estimates,
)
from specialists.crew import Crew

TYPICAL_PART_COUNT = 3
"""Parts of a typical plan."""
PLAN_TOKENS, ANSWER_TOKENS = 400, 600
"""Tokens that the planner and the synthesizer write, including their thinking."""
REQUEST_TOKENS = 300
"""Tokens of a request with the outlines of its material."""


def estimate_typical_plan(crew: Crew, terms: Terms, price: TokenPricer) -> Estimate:
    """Estimate `TYPICAL_PART_COUNT` parts by average specialists, with the calls of planner and synthesizer.

    A first responder is left out, since plans give it no part. `price` returns the dollars of tokens; if it knows no
    price, the cost is None.
    """
    specialists_by_name = crew.without_first_responder().all_specialists
    works = [
        estimate_subtask(
            Subtask(id=name, title=name, intent="", specialist=name), make_specialist_worker(one), NO_PAST_USAGE, price
        )
        for name, one in specialists_by_name.items()
    ]
    whole = sum_estimates("", works)
    share = TYPICAL_PART_COUNT / max(1, len(works))
    parts = Estimate(
        subtask="",
        calls=round(whole.calls * share),
        tokens=round(whole.tokens * share),
        cost=whole.cost * share if whole.cost is not None else None,
    )
    members = sum(len(name) + len(one.description) for name, one in specialists_by_name.items()) // CHARACTERS_PER_TOKEN
    planning = _estimate_role_call(
        "planner", len(read_prompt("planner_examples")) // CHARACTERS_PER_TOKEN + members, PLAN_TOKENS, terms, price
    )
    return sum_estimates(
        "",
        [
            planning,
            parts,
            _estimate_role_call("synthesizer", TYPICAL_PART_COUNT * RESULT_TOKENS, ANSWER_TOKENS, terms, price),
        ],
    )


def _estimate_role_call(role: str, tokens_in: int, tokens_out: int, terms: Terms, price: TokenPricer) -> Estimate:
    """Estimate one call of a role: it reads `tokens_in` besides prompt and request, and writes `tokens_out`."""
    input_tokens = len(read_prompt(role)) // CHARACTERS_PER_TOKEN + REQUEST_TOKENS + tokens_in
    return Estimate(
        subtask=role,
        calls=1,
        tokens=input_tokens + tokens_out,
        cost=price(terms.get_tier(role), input_tokens, tokens_out),
    )
