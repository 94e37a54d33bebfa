"""The table of effects: whoever adds an effect to the engine is told here that nothing runs it yet."""

from __future__ import annotations

from typing import get_args

from bot.jobs.effect_runner import HANDLERS
from handoff.effects import Effect


def test_each_effect_of_the_engine_has_a_handler() -> None:
    assert set(HANDLERS) == set(get_args(Effect))
