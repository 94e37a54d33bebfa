"""A crew may ask for more room for material; what the operator set comes first."""

from __future__ import annotations

from pathlib import Path

from bot.supervisor.planning import Planning
from bot.supervisor.track_record import TrackRecord
from handoff.contracts import Context, Terms
from tests.specialists.crew_of_two import faults, load
from tests.specialists.scripted_model import ScriptedModel


def test_a_crew_asks_for_room_and_the_operator_has_the_last_word(tmp_path: Path) -> None:
    crew = load(tmp_path, "context: {balanced: 96000, fast: 20000}\n")
    usual = Planning(crew, ScriptedModel([]), TrackRecord(), Terms())
    assert usual._terms.context == Context(fast=20_000, balanced=96_000)
    small = Planning(crew, ScriptedModel([]), TrackRecord(), Terms(context=Context(balanced=8_000)))
    assert small._terms.context == Context(fast=20_000, balanced=8_000)


def test_a_tier_that_is_none_and_room_that_is_none_are_faults(tmp_path: Path) -> None:
    said = "\n".join(faults(tmp_path, "context:\n  quick: 5000\n  deep: 12\n"))
    assert "2: " in said
    assert "3: " in said
