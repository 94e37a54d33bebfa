"""What the command line says of itself, and what it takes."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from bot.__main__ import _COMMAND_FUNCTIONS
from bot.settings import VARIABLES
from tests.command_line.command import ROOT, environment, leadhand, leadhand_inside, words

COMMANDS = (*_COMMAND_FUNCTIONS, "slack")


def test_help_lists_every_command_and_those_of_a_bot_its_settings(tmp_path: Path) -> None:
    ended = leadhand("--help", env=environment(tmp_path), afresh=True)
    assert (ended.code, ended.err) == (0, "")
    assert words(ended.out, [f"    {command} " for command in COMMANDS]) == []
    ended = leadhand("run", "--help", env=environment(tmp_path), afresh=True)
    assert (ended.code, words(ended.out, [*VARIABLES, "--verbose"])) == (0, [])


def test_the_help_imports_nothing_that_is_slow_to_import() -> None:
    program = (
        "import sys, bot.__main__; bot.__main__._make_parser(); print(*{name.split('.')[0] for name in sys.modules})"
    )
    run = subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True, capture_output=True, text=True)
    assert "argparse" in run.stdout.split()
    assert {"aiohttp", "asyncio", "logging", "pydantic", "slack_sdk"}.isdisjoint(run.stdout.split())


def test_version(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    ended = leadhand_inside("--version", env=environment(tmp_path), capture=capsys)
    assert (ended.code, ended.out, ended.err) == (0, f"leadhand {version}\n", "")
    repeated = [path for path in (ROOT / "bot").rglob("*.py") if f'"{version}"' in path.read_text(encoding="utf-8")]
    assert repeated == []


def test_no_command_shows_the_help(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ended = leadhand_inside(env=environment(tmp_path), capture=capsys)
    assert (ended.code, words(ended.out, COMMANDS)) == (2, [])


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (["fly"], "invalid choice: 'fly'"),
        (["--loud"], "--loud"),
        (["try", "--loud"], "unrecognized arguments: --loud"),
        (["run", "now"], "unrecognized arguments: now"),
        (["check", "--ask", "x"], "unrecognized arguments: --ask x"),
        (["try", "--ask"], "--ask: expected one argument"),
        (["try", "--port", "70000"], "'70000' is no port"),
        (["try", "--port", "-1"], "is no port"),
        (["try", "--port", "http"], "'http' is no port"),
        (["try", "--ask", "x", "--timeout", "0"], "'0' is no number of seconds"),
        (["try", "--ask", "x", "--timeout", "nan"], "'nan' is no number of seconds"),
        (["try", "--ask", "x", "--timeout", "soon"], "'soon' is no number of seconds"),
    ],
)
def test_wrong_usage_is_shown_the_right_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], fault: str
) -> None:
    ended = leadhand_inside(*arguments, env=environment(tmp_path / "data"), capture=capsys)
    assert ended.code == 2
    own = f" {arguments[0]}" if arguments[0] in {"try", "run", "check"} else ""
    assert ended.err.startswith(f"usage: leadhand{own} [-h]")
    assert fault in ended.err
    assert ended.out == ""
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    ("name", "value", "fault"),
    [
        ("LEADHAND_MODEL", "oracle", "LEADHAND_MODEL is 'oracle'; it takes one of: anthropic, openai"),
        ("LEADHAND_CREW", "nobody", "nobody:1: there is no such folder; there are: "),
        ("LEADHAND_REHEARSAL_PACE", "slow", "LEADHAND_REHEARSAL_PACE is 'slow'; it takes seconds"),
    ],
)
def test_a_setting_that_cannot_be_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, value: str, fault: str
) -> None:
    ended = leadhand_inside("try", "--ask", "hello", env=environment(tmp_path, **{name: value}), capture=capsys)
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith("leadhand: ")
    assert fault in ended.err
