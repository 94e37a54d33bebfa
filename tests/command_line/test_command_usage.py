"""What the command line says of itself, and what it takes."""

import tomllib
from pathlib import Path

import pytest

from bot.settings import NAMES
from tests.command_line.command import ROOT, environment, leadhand, leadhand_inside, words

COMMANDS = ("try", "run", "check", "jobs", "audit", "trace", "eval", "slack")


def test_help_lists_every_command(tmp_path: Path) -> None:
    ended = leadhand("--help", env=environment(tmp_path), afresh=True)
    assert ended.code == 0
    assert words(ended.out, [f"    {command} " for command in COMMANDS]) == []
    assert ended.err == ""


@pytest.mark.parametrize(
    ("command", "wanted"),
    [
        ("try", ["--ask", "--file", "--json", "--out", "--timeout", "--port", "--no-browser", "--verbose"]),
        ("slack", ["--manifest", "--port", "--page", "--request-url", "--data", "--methods", "COMMAND"]),
        ("run", [*NAMES, "--verbose"]),
        ("check", [*NAMES, "--verbose"]),
        ("jobs", ["JOB", "--user", "--watch", "--every", "--json", "--verbose"]),
        ("audit", ["--since", "--until", "--user", "--job", "--deed", "--json", "--verbose"]),
        (
            "eval",
            ["--sets", "--limit", "--seed", "--tags", "--crew", "--parallel", "--no-naive", "--resume", "--compare"],
        ),
    ],
)
def test_help_of_a_command_lists_its_options_and_settings(tmp_path: Path, command: str, wanted: list[str]) -> None:
    ended = leadhand(command, "--help", env=environment(tmp_path), afresh=True)
    assert ended.code == 0
    assert words(ended.out, wanted) == []


def test_version(tmp_path: Path) -> None:
    ended = leadhand("--version", env=environment(tmp_path))
    assert (ended.code, ended.err) == (0, "")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert ended.out == f"leadhand {project['version']}\n"


def test_the_version_is_said_in_one_place() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    repeated = [path for path in (ROOT / "bot").rglob("*.py") if f'"{version}"' in path.read_text(encoding="utf-8")]
    assert repeated == []


def test_no_command_shows_the_help(tmp_path: Path) -> None:
    ended = leadhand(env=environment(tmp_path))
    assert ended.code == 2
    assert words(ended.out, COMMANDS) == []


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
def test_wrong_usage_is_shown_the_right_one(tmp_path: Path, arguments: list[str], fault: str) -> None:
    ended = leadhand(*arguments, env=environment(tmp_path / "data"))
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
        ("LEADHAND_PORT", "http", "LEADHAND_PORT is 'http'; it takes a port from 0 to 65535, or host:port"),
        (
            "LEADHAND_URL",
            "http://bot.example.com",
            "LEADHAND_URL is 'http://bot.example.com'; it takes",
        ),
        ("LEADHAND_URL", "bot.example.com", "LEADHAND_URL is no address"),
        ("LEADHAND_SLOTS", "0", "LEADHAND_SLOTS is 0; it takes a number from 1 to 1000"),
        ("LEADHAND_LEASE", "nan", "LEADHAND_LEASE is nan; it takes a number from 1 to 600"),
        ("LEADHAND_PORT", "3.7", "LEADHAND_PORT is '3.7'; it takes a port from 0 to 65535"),
        ("LEADHAND_SLACK_UNLIMITED", "yes", "LEADHAND_SLACK_UNLIMITED is 'yes'; it takes a number from 0 to 1"),
        (
            "SLACK_API_URL",
            "127.0.0.1:3900/api/",
            "SLACK_API_URL is no address: it begins with one of: https://, http://",
        ),
        ("OPENAI_BASE_URL", "localhost:8000/v1", "OPENAI_BASE_URL is no address"),
        ("ANTHROPIC_BASE_URL", "http://[", "ANTHROPIC_BASE_URL is no address"),
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
