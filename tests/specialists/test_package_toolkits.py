"""Tools of installed packages, by their entry points; a package that is broken costs its own tools alone."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from bot.app import open_crew
from bot.settings import Settings, SettingsError, read_settings
from specialists.loading.package_toolkits import GROUP
from tests.command_line.command import ROOT
from tests.specialists.test_registry import page

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
    crew = open_crew(settings_for(tmp_path, "[term, rate, calculate]"))
    assert {name: tool.origin for name, tool in crew.specialists["a"].toolbox.items()} == {
        "term": "the package acme-terms",
        "rate": "the package acme-rates",
        "calculate": "",
    }
    assert crew.warnings == ()
    assert site.is_dir()


def test_ours_come_by_the_same_entry_points_as_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    own = {one.name: one.value for one in entry_points(group=GROUP) if one.module.startswith("specialists.")}
    assert own == project["entry-points"][GROUP], "run `make install`: the installation is older than pyproject.toml"


def test_a_package_cannot_take_the_name_of_a_tool_of_ours(site: Path, tmp_path: Path) -> None:
    install(site, "acme-above", MODULE.replace("def term", "def calculate"), "acme_above")
    crew = open_crew(settings_for(tmp_path, "[calculate]"))
    assert crew.specialists["a"].toolbox["calculate"].origin == ""
    (fault,) = crew.warnings
    assert "the tool calculate is there already, from Leadhand; rename this one" in str(fault)


def test_a_copy_that_no_installation_knows_says_so(site: Path, tmp_path: Path) -> None:
    install(site, "leadhand", MODULE, "leadhand")
    (site / "leadhand-1.dist-info" / "entry_points.txt").write_text("[console_scripts]\nleadhand = bot.__main__:main\n")
    with pytest.raises(SettingsError, match=r"own tools are not found: the copy in .* is not installed.*make install"):
        open_crew(settings_for(tmp_path, "[calculate]"))


def test_a_broken_package_costs_its_own_tools_and_is_named(site: Path, tmp_path: Path) -> None:
    install(site, "acme-broken", '"""Broken."""\n1 / 0\n', "acme_broken:tools")
    install(site, "acme-words", MODULE, "acme_words")
    install(site, "acme-missing", '"""Empty."""\n', "acme_missing:tools")
    settings = settings_for(tmp_path, "[term]")
    missing = "AttributeError (module 'acme_missing' has no attribute 'tools')"
    assert [str(one).removeprefix(f"{site}/").partition(";")[0] for one in open_crew(settings).warnings] == [
        "acme_broken.py:2: the package acme-broken: it raises ZeroDivisionError (division by zero) when it is imported",
        f"acme_missing.py:1: the package acme-missing: it raises {missing} when it is imported",
        "acme_words.py:4: the tool term is there already, from the package acme-terms",
    ]
    (tmp_path / "crew" / "b.md").write_text(page("b", tools="[lost]"))
    with pytest.raises(SettingsError) as raised:
        open_crew(settings)
    assert "unknown tool lost" in str(raised.value)
    assert "the package acme-broken" in str(raised.value), "that may be why it is unknown"
