"""A repository of three commits, and the code tools over it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from specialists.tools.code.code_tools import code_toolkit
from specialists.tools.tool import ToolOutcome
from specialists.tools.toolkit import Toolkit, ToolSettings
from tests.code.made_repository import commit, run_git

Call = Callable[..., Awaitable[ToolOutcome]]
FIRST = "def total(prices):\n    return sum(prices)\n"
SECOND = "def total(prices, discount=0):\n    return sum(prices) * (1 - discount)\n"
THIRD = SECOND.replace(":\n", ":\n    # A discount is a share: 0.1, never 10.\n", 1)


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with a branch `topic` beside its main one."""
    folder = tmp_path_factory.mktemp("shop")
    commit(folder, "Add up prices", {"shop/basket.py": FIRST, "README.md": "A shop.\n", "data/x.bin": "a\0b"}, day=1)
    commit(folder, "Discounts\n\nThey were asked for by sales.", {"shop/basket.py": SECOND}, day=2)
    commit(folder, "Say what a discount is (#12)", {"shop/basket.py": THIRD, "shop/tax.py": "RATE = 0.19\n"}, day=3)
    run_git(folder, "checkout", "-q", "-b", "topic")
    commit(folder, "Round", {"shop/basket.py": THIRD.replace("sum(prices)", "round(sum(prices))")}, day=4)
    run_git(folder, "checkout", "-q", "main")
    return folder


def toolkit(data: Path, repositories: str, env: Mapping[str, str] | None = None) -> Toolkit:
    """The code tools over those repositories."""
    return code_toolkit(ToolSettings({"LEADHAND_REPOSITORIES": repositories, **(env or {})}, data))


def caller(kit: Toolkit) -> Call:
    """What calls a tool by its name, as the runner does."""
    by_name = {tool.name: tool for tool in kit.tools}

    async def call(name: str, **arguments: Any) -> ToolOutcome:
        tool = by_name[name]
        outcome: ToolOutcome = await tool.run(tool.arguments.model_validate(arguments), None)
        return outcome

    return call


@pytest.fixture
def call(shop: Path, tmp_path_factory: pytest.TempPathFactory) -> Call:
    """The tools over the one repository `shop`."""
    data = tmp_path_factory.getbasetemp() / "copies"  # one copy for all tests of a worker
    return caller(toolkit(data, f"shop={shop}"))
