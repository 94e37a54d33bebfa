"""Extras: each has bounds, those by purpose hold one another, and what is not installed is named with its command."""

import importlib.metadata
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from specialists.tools.extras import ALL, BY_PURPOSE, RECOMMENDED, TRY, absent_extras, install_command

ROOT = Path(__file__).parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
BOUNDED = re.compile(r"[\w.-]+(\[\w+\])?>=[\d.]+,<(\d+)")


def held(extra: str) -> set[str]:
    """The extras by domain that one by purpose stands for."""
    named = {name for one in EXTRAS[extra] for name in re.findall(r"[\w-]+", one.removeprefix("leadhand"))}
    return set().union(*(held(name) if name in BY_PURPOSE else {name} for name in named))


def test_every_dependency_has_a_highest_major_version_which_the_lock_keeps() -> None:
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    needs = [*PROJECT["dependencies"], *(one for name in EXTRAS.keys() - BY_PURPOSE for one in EXTRAS[name])]
    for need in needs:
        bound = BOUNDED.fullmatch(need)
        assert bound, need
        locked = re.search(rf"^{re.split(r'[>[]', need)[0]}(?:\[\w+\])?==(\d+)", lock, re.MULTILINE)
        assert locked, need
        assert int(locked[1]) == int(bound[2]) - 1, need


def test_each_purpose_holds_the_one_before_it_and_the_last_holds_all() -> None:
    assert held(TRY) < held(RECOMMENDED) < held(ALL) == EXTRAS.keys() - BY_PURPOSE


def test_what_is_not_installed_is_named_by_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    assert absent_extras() == ()
    there = importlib.metadata.distribution

    def without(name: str) -> importlib.metadata.Distribution:
        if name in {"duckdb", "ddgs", "sqlalchemy"}:
            raise importlib.metadata.PackageNotFoundError(name)
        return there(name)

    monkeypatch.setattr(importlib.metadata, "distribution", without)
    assert absent_extras() == ("databases", "tables", "web")
    assert absent_extras(TRY) == ("tables", "web")
    assert install_command(*absent_extras(TRY)) == "pip install 'leadhand[tables,web]'"
