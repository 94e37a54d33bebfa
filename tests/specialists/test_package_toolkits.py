"""Tools of installed packages, extras and their bounds, and libraries that are loaded off the loop, one by one."""

from __future__ import annotations

import asyncio
import importlib.metadata
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from bot.app import load_crew_of_settings
from bot.settings import Settings, SettingsError, read_settings
from specialists.loading.package_toolkits import ENTRY_POINT_GROUP
from specialists.tools.blocking import import_in_thread
from specialists.tools.extras import (
    ALL_EXTRA,
    PURPOSE_EXTRAS,
    RECOMMENDED_EXTRA,
    TRY_EXTRA,
    list_missing_extras,
    make_install_command,
)
from tests.command_line.command import ROOT
from tests.specialists.crew_files import page

MODULE = (
    '"""Terms."""\nfrom specialists.tools.tool import ToolOutcome\n\ndef term(word: str) -> str:\n  "Give a term."\n'
)
GIVING = '"""Gives."""\n\ndef make(settings):\n  return [rate]\n\ndef rate(day: str) -> str:\n  "Give a rate."\n'


def install(site: Path, name: str, module: str, entry: str) -> None:
    """Put a package where Python finds it, as pip would."""
    stem = name.replace("-", "_")
    info = site / f"{stem}-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
    (info / "entry_points.txt").write_text(f"[leadhand.toolkits]\n{stem} = {entry}\n")
    (site / f"{stem}.py").write_text(module)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    install(tmp_path / "site", "acme-terms", MODULE, "acme_terms")
    install(tmp_path / "site", "acme-rates", GIVING, "acme_rates:make")
    yield tmp_path / "site"
    for name in [one for one in sys.modules if one.startswith("acme_")]:
        del sys.modules[name]


def settings_for(folder: Path, tools: str) -> Settings:
    (folder / "crew").mkdir()
    (folder / "crew" / "a.md").write_text(page("a", tools=tools))
    return read_settings({"LEADHAND_CREW": str(folder / "crew"), "LEADHAND_DATA": str(folder / "data")})


def test_tools_of_packages_are_there_under_their_names(site: Path, tmp_path: Path) -> None:
    crew = load_crew_of_settings(settings_for(tmp_path, "[term, rate, calculate]"))
    assert {name: tool.origin for name, tool in crew.specialists["a"].toolbox.items()} == {
        "term": "the package acme-terms",
        "rate": "the package acme-rates",
        "calculate": "",
    }
    assert crew.warnings == ()
    assert site.is_dir()


def test_ours_come_by_the_same_entry_points_as_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    own = {
        one.name: one.value for one in entry_points(group=ENTRY_POINT_GROUP) if one.module.startswith("specialists.")
    }
    assert own == project["entry-points"][ENTRY_POINT_GROUP], (
        "run `make install`: the installation is older than pyproject.toml"
    )


def test_a_package_cannot_take_the_name_of_a_tool_of_ours(site: Path, tmp_path: Path) -> None:
    install(site, "acme-above", MODULE.replace("def term", "def calculate"), "acme_above")
    crew = load_crew_of_settings(settings_for(tmp_path, "[calculate]"))
    assert crew.specialists["a"].toolbox["calculate"].origin == ""
    (fault,) = crew.warnings
    assert "the tool calculate is there already, from Leadhand; rename this one" in str(fault)


def test_a_copy_that_no_installation_knows_says_so(site: Path, tmp_path: Path) -> None:
    install(site, "leadhand", MODULE, "leadhand")
    (site / "leadhand-1.dist-info" / "entry_points.txt").write_text("[console_scripts]\nleadhand = bot.__main__:main\n")
    with pytest.raises(SettingsError, match=r"own tools are not found: the copy in .* is not installed.*make install"):
        load_crew_of_settings(settings_for(tmp_path, "[calculate]"))


def test_a_broken_package_costs_its_own_tools_and_is_named(site: Path, tmp_path: Path) -> None:
    install(site, "acme-broken", '"""Broken."""\n1 / 0\n', "acme_broken:tools")
    install(site, "acme-words", MODULE, "acme_words")
    install(site, "acme-missing", '"""Empty."""\n', "acme_missing:tools")
    settings = settings_for(tmp_path, "[term]")
    missing = "AttributeError (module 'acme_missing' has no attribute 'tools')"
    assert [
        str(one).removeprefix(f"{site}/").partition(";")[0] for one in load_crew_of_settings(settings).warnings
    ] == [
        "acme_broken.py:2: the package acme-broken: it raises ZeroDivisionError (division by zero) when it is imported",
        f"acme_missing.py:1: the package acme-missing: it raises {missing} when it is imported",
        "acme_words.py:4: the tool term is there already, from the package acme-terms",
    ]
    (tmp_path / "crew" / "b.md").write_text(page("b", tools="[lost]"))
    with pytest.raises(SettingsError) as raised:
        load_crew_of_settings(settings)
    assert "unknown tool lost" in str(raised.value)
    assert "the package acme-broken" in str(raised.value), "that may be why it is unknown"


PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
BOUNDED_PATTERN = re.compile(r"[\w.-]+(\[\w+\])?>=[\d.]+,<(\d+)")


def list_held_extras(extra: str) -> set[str]:
    """The extras by domain that one by purpose stands for."""
    named = {name for one in EXTRAS[extra] for name in re.findall(r"[\w-]+", one.removeprefix("leadhand"))}
    return set().union(*(list_held_extras(name) if name in PURPOSE_EXTRAS else {name} for name in named))


def test_every_dependency_has_a_highest_major_version_which_the_lock_keeps() -> None:
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    needs = [*PROJECT["dependencies"], *(one for name in EXTRAS.keys() - PURPOSE_EXTRAS for one in EXTRAS[name])]
    for need in needs:
        bound = BOUNDED_PATTERN.fullmatch(need)
        assert bound, need
        locked = re.search(rf"^{re.split(r'[>[]', need)[0]}(?:\[\w+\])?==(\d+)", lock, re.MULTILINE)
        assert locked, need
        assert int(locked[1]) == int(bound[2]) - 1, need


def test_each_purpose_holds_the_one_before_it_and_the_last_holds_all() -> None:
    assert (
        list_held_extras(TRY_EXTRA)
        < list_held_extras(RECOMMENDED_EXTRA)
        < list_held_extras(ALL_EXTRA)
        == EXTRAS.keys() - PURPOSE_EXTRAS
    )


def test_what_is_not_installed_is_named_by_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    assert list_missing_extras() == ()
    there = importlib.metadata.distribution

    def without(name: str) -> importlib.metadata.Distribution:
        if name in {"duckdb", "ddgs", "sqlalchemy"}:
            raise importlib.metadata.PackageNotFoundError(name)
        return there(name)

    monkeypatch.setattr(importlib.metadata, "distribution", without)
    assert list_missing_extras() == ("databases", "tables", "web")
    assert list_missing_extras(TRY_EXTRA) == ("tables", "web")
    assert make_install_command(*list_missing_extras(TRY_EXTRA)) == "pip install 'leadhand[tables,web]'"


SIGNS = """
from threading import Event
began, other_began = Event(), Event()
"""
LARGE = """
import loading_signs
loading_signs.began.set()
loading_signs.other_began.wait(1)
whole = True
"""
OTHER = """
import sys
import loading_signs
loading_signs.other_began.set()
found_whole = hasattr(sys.modules["loading_large"], "whole")
"""


@pytest.fixture
def signs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Two modules that can be imported: while `loading_large` is, it gives another thread time to begin."""
    for name, text in {"signs": SIGNS, "large": LARGE, "other": OTHER}.items():
        (tmp_path / f"loading_{name}.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    return __import__("loading_signs")


async def test_a_library_that_is_being_loaded_is_waited_for(signs: ModuleType) -> None:
    first = asyncio.create_task(import_in_thread("loading_large"))
    assert await asyncio.to_thread(signs.began.wait, 60)
    other = asyncio.create_task(import_in_thread("loading_other"))
    await import_in_thread("loading_large")
    assert hasattr(sys.modules["loading_large"], "whole")
    await asyncio.gather(first, other)
    assert sys.modules["loading_other"].found_whole


async def test_what_cannot_be_imported_is_said_each_time() -> None:
    for _ in range(2):
        with pytest.raises(ModuleNotFoundError, match="loading_none"):
            await import_in_thread("loading_none")
