"""What CONTRIBUTING and the page on retries say of the house is true."""

import importlib
import re
import subprocess
from collections import Counter
from pathlib import Path
from typing import get_args

import pytest

from bot.jobs.effect_runner import HANDLERS, handler_of
from bot.slack.receive.commands import SUBCOMMANDS
from handoff import effects as ef
from handoff import events as ev
from handoff.engine.transitions import TRANSITIONS

ROOT = Path(__file__).parents[2]
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
RELIABILITY = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
PACKAGES = ("bot", "handoff", "specialists")
MOST_WORDS = 30
MOST_FILES_OF_A_ROLE = 5
VALUE = re.compile(r"^\| `([\w.]+)` \| ([^|]+) \| `([\w/]+)\.py` \|$", re.MULTILINE)


def part(page: str, heading: str) -> str:
    """The text below a heading, up to the next one."""
    return page.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def files_to_add(what: str) -> list[str]:
    (row,) = [
        line for line in part(CONTRIBUTING, "To add one, these files").splitlines() if line.startswith(f"| {what}")
    ]
    return re.findall(r"`((?:\w+/)+[\w.]+|manifest\.yml)`", row)


TOP = {
    *(
        "bot",
        "handoff",
        "specialists",
        "tests",
        "docs",
        ".ci",
        ".github",
        ".gitignore",
        "pyproject.toml",
        "manifest.yml",
    ),
    *("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "LICENSE", "Makefile", "requirements.lock"),
    *("Dockerfile", "compose.yaml"),
}
"""What may lie at the top: packages, and what convention asks for."""


def test_nothing_else_lies_at_the_top() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("this is no checkout of git, so that nobody can tell what belongs to it")
    listing = ["git", "ls-files"]
    listed = subprocess.run(listing, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    assert {path.partition("/")[0] for path in listed.splitlines()} <= TOP


def test_no_two_files_have_one_name() -> None:
    names = Counter(path.name for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
    assert {name for name, count in names.items() if count > 1} <= {"__init__.py", "__main__.py"}


def test_the_glossary_is_short_and_has_each_word_once() -> None:
    first = re.findall(r"^\| ([^|]+) \|", part(CONTRIBUTING, "Words"), re.MULTILINE)[2:]
    words = [word.strip() for row in first for word in row.split(",")]
    assert len(words) == len(set(words)) <= MOST_WORDS


def test_a_role_is_an_effect_an_event_a_step_a_module_and_a_prompt() -> None:
    assert len(files_to_add("a role")) <= MOST_FILES_OF_A_ROLE
    for name in ef.ROLES:
        assert (ROOT / f"bot/supervisor/{name}.md").is_file()
        assert (ROOT / f"bot/supervisor/{name}.py").is_file()
    planners = {"planner", "replanner"}  # they are called by bot.supervisor.planning, which knows the crew
    for name in set(ef.ROLES) - planners:
        assert callable(importlib.import_module(f"bot.supervisor.{name}").perform)


def test_a_role_is_named_nowhere_else() -> None:
    """Taking the verifier, which has most of all roles: what its two names stand in is what the guide names."""
    found = {
        path.relative_to(ROOT).as_posix()
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        if re.search(r"\b(?:VerifyAnswer|AnswerVerified)\b", path.read_text(encoding="utf-8"))
    }
    (more,) = [text for text in CONTRIBUTING.split("\n\n") if text.startswith("Five files are enough for a role")]
    needed = [path.replace("NAME", "verifier") for path in files_to_add("a role") if path.endswith(".py")]
    assert found == {*needed, *re.findall(r"`([\w/]+\.py)`", more)} - {"specialists/loading/crew_file.py"}


@pytest.mark.parametrize("kind", get_args(get_args(ev.Event)[0]), ids=lambda kind: kind.__name__)
def test_each_event_of_a_request_has_its_transition(kind: type[ev.Fact]) -> None:
    assert issubclass(kind, ev.OfRequest) == (kind.__name__ in TRANSITIONS)


def test_each_effect_is_handled() -> None:
    for kind in get_args(ef.Effect):
        assert kind in HANDLERS or kind.role in ef.ROLES
        assert handler_of(object.__new__(kind))


def test_each_subcommand_stands_in_the_manifest() -> None:
    hint = re.search(r'usage_hint: "([^"]+)"', (ROOT / "manifest.yml").read_text(encoding="utf-8"))
    assert hint is not None
    assert {word.split()[0] for word in hint[1].split(" | ")} == {one.name for one in SUBCOMMANDS}


def test_the_numbers_of_the_page_on_retries_are_those_of_the_code() -> None:
    rows = VALUE.findall(part(RELIABILITY, "Retries"))
    assert len(rows) == 11
    for name, value, path in rows:
        module = importlib.import_module(path.replace("/", "."))
        owner, _, field = name.partition(".")
        found = getattr(module, owner)
        found = getattr(found(), field) if field else found
        assert str(found) == value.strip(), name
