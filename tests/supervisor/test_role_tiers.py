"""The setting `LEADHAND_ROLES`: which tiers it gives to the roles; and what a usual plan takes on those tiers."""

from __future__ import annotations

import pytest

from bot.settings import SettingsError, read_settings
from bot.supervisor.plan_price import TYPICAL_PART_COUNT, estimate_typical_plan
from handoff.contracts import Terms, Tier
from handoff.effects import ROLES
from specialists.registry import load_crew
from tests.command_line.command import ROOT
from tests.own_tools import all_tools


def test_a_role_works_on_the_tier_that_is_set_and_the_others_on_their_own() -> None:
    terms = read_settings({"LEADHAND_ROLES": "planner deep,  Verifier  FAST,"}).terms
    set_to = {"planner": "deep", "verifier": "fast"}
    best = dict.fromkeys(("planner", "replanner", "synthesizer"), "deep")
    usual = {**dict.fromkeys(ROLES, "balanced"), **best, "dispatcher": "fast"}
    assert {role: terms.get_tier(role) for role in ROLES} == {**usual, **set_to}
    assert [terms.get_context_tokens(role) for role in ("planner", "verifier", "refiner")] == [64_000, 16_000, 32_000]
    assert Terms.model_validate_json(terms.model_dump_json()).roles == {}, "they are not kept with a plan"


@pytest.mark.parametrize("text", ["", " ", ","])
def test_without_it_nothing_is_set(text: str) -> None:
    assert read_settings({"LEADHAND_ROLES": text}).terms == read_settings({}).terms
    assert read_settings({}).terms.roles == {}


@pytest.mark.parametrize(
    "wrong",
    [
        "planner",
        "deep",
        "planer deep",
        "planner huge",
        "planner deep fast",
        "verifier fast, verifier deep",
        "verifier: x",
    ],
)
def test_a_wrong_one_is_refused_with_the_roles_and_tiers_there_are(wrong: str) -> None:
    with pytest.raises(SettingsError) as raised:
        read_settings({"LEADHAND_ROLES": f"refiner deep, {wrong}"})
    text = str(raised.value)
    assert text.startswith(f"LEADHAND_ROLES is 'refiner deep, {wrong}'; it takes a role and its tier")
    assert f"The roles are {', '.join(ROLES)}, each once; the tiers are fast, balanced, deep." in text


# ---------------------------------------------------------------- what a usual plan takes

CREW = load_crew(ROOT / "specialists/crews/general", all_tools())
RATES: dict[Tier, float] = {"fast": 1e-6, "balanced": 3e-6, "deep": 15e-6}


def at(**changed_rates: float) -> float | None:
    rates = {**RATES, **changed_rates}
    return estimate_typical_plan(CREW, Terms(), lambda tier, given, out, *_: (given + 5 * out) * rates[tier]).cost


def test_planning_and_answering_count_on_their_own_tiers() -> None:
    usual, without_roles = at(), at(deep=0.0)
    assert usual is not None
    assert without_roles is not None
    assert usual > without_roles > 0, "specialists work on other tiers"
    roles = estimate_typical_plan(CREW, Terms(roles={"planner": "fast", "synthesizer": "fast"}), lambda *_: 1.0)
    assert roles.cost == pytest.approx(TYPICAL_PART_COUNT + 2), "a dollar for each part and for each of the two roles"
    assert roles.calls > TYPICAL_PART_COUNT + 2, "who has tools takes more than one call"


def test_a_price_that_nobody_knows_is_not_guessed() -> None:
    likely = estimate_typical_plan(CREW, Terms(), lambda tier, *_: None if tier == "deep" else 1.0)
    assert likely.cost is None
    assert likely.tokens > 0


def test_a_first_responder_gets_no_part_of_a_plan() -> None:
    assert CREW.first
    assert estimate_typical_plan(CREW, Terms(), lambda *_: 1.0) == estimate_typical_plan(
        CREW.without_first_responder(), Terms(), lambda *_: 1.0
    )
