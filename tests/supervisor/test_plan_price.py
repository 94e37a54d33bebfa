"""What a usual plan takes: it grows with the price of each tier that has a part in it, and is unknown if one is."""

from __future__ import annotations

import pytest

from bot.supervisor.plan_price import PARTS, price_of_plan
from handoff.contracts import Terms, Tier
from specialists.registry import load_crew
from tests.command_line.command import ROOT
from tests.own_tools import all_tools

CREW = load_crew(ROOT / "specialists/crews/general", all_tools())
RATES: dict[Tier, float] = {"fast": 1e-6, "balanced": 3e-6, "deep": 15e-6}


def at(**changed: float) -> float | None:
    rates = {**RATES, **changed}
    return price_of_plan(CREW, Terms(), lambda tier, given, out, *_: (given + 5 * out) * rates[tier]).cost


def test_planning_and_answering_count_on_their_own_tiers() -> None:
    usual, without_roles = at(), at(deep=0.0)
    assert usual is not None
    assert without_roles is not None
    assert usual > without_roles > 0, "specialists work on other tiers"
    roles = price_of_plan(CREW, Terms(roles={"planner": "fast", "synthesizer": "fast"}), lambda *_: 1.0)
    assert roles.cost == pytest.approx(PARTS + 2), "a dollar for each part and for each of the two roles"
    assert roles.calls > PARTS + 2, "who has tools takes more than one call"


def test_a_price_that_nobody_knows_is_not_guessed() -> None:
    likely = price_of_plan(CREW, Terms(), lambda tier, *_: None if tier == "deep" else 1.0)
    assert likely.cost is None
    assert likely.tokens > 0


def test_a_first_responder_gets_no_part_of_a_plan() -> None:
    assert CREW.first
    assert price_of_plan(CREW, Terms(), lambda *_: 1.0) == price_of_plan(CREW.without_first(), Terms(), lambda *_: 1.0)
