"""The setting `LEADHAND_ROLES`: which tiers it gives to the roles, and how a wrong one is refused."""

from __future__ import annotations

import pytest

from bot.settings import SettingsError, read_settings
from handoff.contracts import Terms
from handoff.effects import ROLES


def test_a_role_works_on_the_tier_that_is_set_and_the_others_on_their_own() -> None:
    terms = read_settings({"LEADHAND_ROLES": "planner deep,  Verifier  FAST,"}).terms
    set_to = {"planner": "deep", "verifier": "fast"}
    best = dict.fromkeys(("planner", "replanner", "synthesizer"), "deep")
    usual = {**dict.fromkeys(ROLES, "balanced"), **best, "dispatcher": "fast"}
    assert {role: terms.tier_of(role) for role in ROLES} == {**usual, **set_to}
    assert [terms.room_of(role) for role in ("planner", "verifier", "refiner")] == [64_000, 16_000, 32_000]
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
