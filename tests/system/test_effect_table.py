"""The table of effects: whoever adds an effect to the engine is told here that nothing runs it yet."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import get_args

import pytest

import bot.supervisor
from bot.jobs.effect_runner import EFFECT_HANDLERS, find_handler
from bot.supervisor.roles import find_role_performer
from handoff.effects import ROLES, Effect

EFFECTS: tuple[type, ...] = get_args(Effect)
SUPERVISOR = Path(bot.supervisor.__path__[0])
CALLED_BY_PLANNING = {"planner", "replanner"}
"""The roles that `bot.supervisor.crew_planner` calls, which knows the crew."""


@pytest.mark.parametrize("kind", EFFECTS)
def test_each_effect_of_the_engine_is_handled(kind: type) -> None:
    assert (kind in EFFECT_HANDLERS) or hasattr(kind, "role")
    assert find_handler(object.__new__(kind))


def test_what_is_no_effect_is_not_handled() -> None:
    assert set(EFFECT_HANDLERS) <= set(EFFECTS)
    with pytest.raises(KeyError):
        find_handler(object())  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ROLES)
def test_each_role_has_a_module_and_a_prompt(name: str) -> None:
    assert (SUPERVISOR / f"{name}.md").read_text(encoding="utf-8").strip()
    if name in CALLED_BY_PLANNING:
        assert (SUPERVISOR / f"{name}.py").is_file()
    else:
        assert callable(find_role_performer(name))


def test_each_role_performs_one_effect() -> None:
    assert set(ROLES) >= CALLED_BY_PLANNING
    assert set(Counter(ROLES).values()) == {1}
    performing = {path.stem for path in SUPERVISOR.glob("*.py") if "def perform(" in path.read_text(encoding="utf-8")}
    assert performing == set(ROLES) - CALLED_BY_PLANNING
