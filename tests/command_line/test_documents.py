"""README, CONTRIBUTING, docs/, the settings, the commands and the Makefile say the same, in few and short pages."""

import argparse
import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from bot.__main__ import _make_parser
from bot.settings import VARIABLES
from specialists.loading import approval_keys, crew_file
from specialists.loading.crew_folders import NON_SPECIALIST_FILES, NON_SPECIALIST_FOLDERS
from specialists.outbound import network
from specialists.specialist import _KEYS as SPECIALIST_KEYS
from specialists.tools.databases.named_databases import ANY_USER_SETTING
from tests import pages, reference
from tests.command_line.command import ROOT
from tests.conftest import LONG_FILES, LONG_FOLDERS, LONG_TESTS
from tests.own_tools import all_tools

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").glob("*.md"))]
EACH_PAGE = pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
CREWS = (ROOT / "docs" / "crews" / "README.md").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
SETTING = re.compile(r"(?:SLACK|LEADHAND|ANTHROPIC|OPENAI|OLLAMA|REDIS|BRAVE|TAVILY)_[A-Z_]+")
COMMAND = re.compile(r"(?<![@/.\w-])leadhand ([a-z]+)((?: +(?:--?[a-z][a-z-]*|\"[^\"]*\"|[\w.]+))*)")
CODE = re.compile(r"```.*?```|`[^`\n]+`", re.DOTALL)
SYSTEMS_OWN = {"XDG_RUNTIME_DIR", "XDG_CACHE_HOME", "PATH", "HOME", "PYTHONPATH", "NODE_OPTIONS"}
"""What belongs to the machine, not to us."""
OTHERS = {"OLLAMA_CONTEXT_LENGTH"}
"""Settings of other programs, which the documents tell people to set there."""


@cache
def texts() -> dict[Path, str]:
    paths = (path for package in ("bot", "specialists", "handoff") for path in sorted((ROOT / package).rglob("*.py")))
    return {path: path.read_text(encoding="utf-8") for path in paths}


def sources(words: str = r"\benv|getenv") -> Iterator[tuple[Path, ast.AST]]:
    """The modules with some words in them; without any given, those that could read the environment."""
    for path, text in texts().items():
        if re.search(words, text):
            yield path, ast.parse(text)


def names_read(tree: ast.AST) -> Iterator[str]:
    """Names looked up in an environment: `env.get(X)`, `env[X]`, `os.getenv(X)`, `X in env`, `_read_duration(env, X)`.

    A name put together, as in f"LEADHAND_MODEL_{tier}", comes with a star for what is open.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            is_get = (
                isinstance(node.func, ast.Attribute) and _is_env(node.func.value) and node.func.attr in {"get", "pop"}
            )
            is_getenv = isinstance(node.func, ast.Attribute) and node.func.attr == "getenv"
            if is_get or is_getenv:
                yield from _texts(node.args[0])
            elif node.args and _is_env(node.args[0]) and len(node.args) > 1:
                yield from _texts(node.args[1])
        elif isinstance(node, ast.Subscript) and _is_env(node.value):
            yield from _texts(node.slice)
        elif isinstance(node, ast.Compare) and _is_env(node.comparators[0]):
            yield from _texts(node.left)


def _is_env(node: ast.AST) -> bool:
    name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    return name in {"env", "environ", "environment"}


def _texts(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.JoinedStr):
        parts = [str(part.value) if isinstance(part, ast.Constant) else "*" for part in node.values]
        yield "".join(parts)


def options(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """The commands there are."""
    (commands,) = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    return dict(commands.choices)


COMMANDS = options(_make_parser())


def spoken(text: str) -> str:
    """What a document shows as code."""
    return "\n".join(CODE.findall(text))


def test_every_variable_that_is_read_is_a_setting_and_the_other_way_round() -> None:
    read = {name for _, tree in sources() for name in names_read(tree)} - SYSTEMS_OWN
    read |= {
        *network.PROXY_VARIABLES,
        network.NO_PROXY,
        network.CA_FILE,
        network.CA_FOLDER,
        network.PROXY_RESOLVES_SETTING,
        ANY_USER_SETTING,
    }
    patterns = [re.compile(name.replace("*", "[A-Z]+")) for name in read]
    unlisted = [name for name in read if "*" not in name and name not in VARIABLES]
    unread = [name for name in VARIABLES if not any(pattern.fullmatch(name) for pattern in patterns)]
    assert (unlisted, unread) == ([], [])


def test_only_the_settings_read_the_environment() -> None:
    readers = {
        path.relative_to(ROOT).as_posix()
        for path, tree in sources()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr in {"environ", "getenv"}
    }
    # Where a machine has its sockets, fonts and caches is no setting of ours.
    own = {"bot/store/embedded.py", "specialists/tools/charts/charts.py", "specialists/tools/tables/table_cache.py"}
    # The environment of another app that the local workspace starts: handed on, and read by that app's Python.
    own |= {"bot/workspace/app_process.py", "bot/workspace/redirect/sitecustomize.py"}
    # How the network is reached holds for the whole process: OpenSSL and the libraries read it there as well.
    assert readers - own == {"bot/settings.py", "bot/settings_file.py", "specialists/outbound/network.py"}


def test_every_setting_that_the_code_names_exists() -> None:
    named = {
        name
        for _, tree in sources(SETTING.pattern)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        for name in SETTING.findall(node.value)
        if not name.endswith("_")
    }
    assert named - set(VARIABLES) == set()


IN_A_CREW = {
    "crew.yml",
    "mcp.lock",
    "SKILL.md",
    ".agents",
    ".claude",
    *NON_SPECIALIST_FOLDERS,
    *NON_SPECIALIST_FILES,
} - {"README.md"}
"""What pages name as part of any crew's folder."""


@EACH_PAGE
def test_every_setting_that_a_document_names_exists(page: Path) -> None:
    in_files = {f"{name}_FILE" for name in VARIABLES}
    assert set(SETTING.findall(page.read_text(encoding="utf-8"))) - set(VARIABLES) - in_files - OTHERS == set()


@EACH_PAGE
def test_every_command_that_a_document_shows_exists(page: Path) -> None:
    code = spoken(page.read_text(encoding="utf-8"))
    for command, rest in COMMAND.findall(code):
        assert command in COMMANDS, f"leadhand {command}"
        for option in re.findall(r"(?<!\S)--?[a-z][a-z-]*", rest):
            assert option in COMMANDS[command]._option_string_actions, f"leadhand {command} {option}"


def test_commands_are_found_in_documents() -> None:
    shown = {command for page in PAGES for command, _ in COMMAND.findall(spoken(page.read_text(encoding="utf-8")))}
    assert shown == set(COMMANDS), "each command is shown in use"


@pytest.mark.parametrize("page", [*PAGES, ROOT / "Makefile"], ids=lambda page: page.name)
def test_every_target_of_make_that_is_named_exists(page: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE))
    text = page.read_text(encoding="utf-8")
    named = set(re.findall(r"\bmake ([a-z-]+)\b", text if page.name == "Makefile" else spoken(text)))
    assert {"try", "test"} <= named or page.name not in {"README.md", "CONTRIBUTING.md", "Makefile"}
    assert named - targets == set()


@EACH_PAGE
def test_every_file_that_a_document_points_at_exists(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    paths = [
        ROOT / word
        for word in re.findall(r"`([\w./-]+/[\w./-]*|\w+\.(?:yml|toml|md|lock))`", text)
        if "NAME" not in word
        and "translator" not in word
        and not word.startswith(("/", "./"))
        and word.split("/")[0] not in IN_A_CREW
    ]
    assert [path for path in paths if not path.exists()] == []


def test_the_readme_is_short_and_its_pictures_are_light() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 110
    named = re.findall(r"!\[[^\]]+\]\(([^)]+)\)|<img src=\"([^\"]+)\"", text)
    pictures = [ROOT / (linked or shown) for linked, shown in named]
    assert len(pictures) >= 4
    assert [picture for picture in pictures if picture.stat().st_size > 150_000] == []


def test_the_table_of_the_crew_is_the_crew() -> None:
    told = {
        name: set(re.findall(r"`(\w+)`", tools))
        for name, tools in re.findall(r"^\| ([a-z]+) \| (.*?)\|", CREWS, re.MULTILINE)
    }
    for path in (ROOT / "specialists" / "crews" / "general").glob("*.md"):
        head = path.read_text(encoding="utf-8").split("---")[1]
        tools = re.search(r"^tools:(.*?)(?=^\w|\Z)", head, re.MULTILINE | re.DOTALL)
        assert told[path.stem] == set(re.findall(r"\w+", tools[1]) if tools else ()), path.stem


def test_every_test_that_is_called_long_exists() -> None:
    tests = ROOT / "tests"
    assert [name for name in LONG_FOLDERS if not (tests / name).is_dir()] == []
    files = [*tests.rglob("test_*.py")]
    assert LONG_FILES - {path.stem for path in files} == set()
    text = "".join(path.read_text(encoding="utf-8") for path in files)
    assert LONG_TESTS - set(re.findall(r"^(?:async )?def (test_\w+)", text, re.MULTILINE)) == set()


MAX_PAGES = 16
MAX_WORDS = 22_000
"""The pages of crews in docs/crews do not count, nor does their README, which is the page of the crew general."""


@pytest.mark.parametrize("page", pages.PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_headings_and_blocks_of_code_are_whole(page: Path) -> None:
    assert [*pages.faults_of(page)] == []


def test_the_pages_are_few_and_short() -> None:
    found = [*(ROOT / "docs").glob("*.md")]
    assert len(found) <= MAX_PAGES
    assert sum(map(pages.words_of, found)) <= MAX_WORDS


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("See [this](gone.md).", "gone.md: there is no such file"),
        ("See [this](#gone).", "#gone: there is no such heading"),
        ("```\n# Gone\n```\nSee [this](#gone).", "#gone: there is no such heading"),
        ("1. So:\n\n   ```json\n   {1}\n   ```", "a block of json cannot be read"),
        ("```yaml\na: b: c\n```", "a block of yaml cannot be read"),
    ],
)
def test_what_is_broken_is_named(tmp_path: Path, text: str, fault: str) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"# A page\n\n[here](#a-page)\n\n{text}\n")
    (found,) = pages.faults_of(page)
    assert found.startswith(fault)


def test_the_reference_is_what_the_code_says() -> None:
    page = reference.PAGE.read_text(encoding="utf-8")
    assert page == reference.render(), f"docs/reference.md is out of date; renew it: {reference.RENEW}"


def test_each_setting_stands_below_one_heading() -> None:
    listed = [name for names in reference.SETTINGS.values() for name in names.split()]
    assert sorted(listed) == sorted(VARIABLES)


def test_the_example_of_a_crews_file_has_each_key_and_no_fault(tmp_path: Path) -> None:
    keys = re.findall(r"^(\w+):", reference.CREW_FILE, re.MULTILINE)
    assert sorted(keys) == sorted(
        # Each key that a file takes.
        {
            *crew_file._READERS,
            *crew_file._DESCRIPTION_KEYS,
            *crew_file._LAYER_KEYS,
            *approval_keys.APPROVAL_KEYS,
        }
    )
    (tmp_path / crew_file.FILE_NAME).write_text(reference.CREW_FILE, encoding="utf-8")
    assert crew_file.read_crew_file(tmp_path, ("translator", "translator_b"), all_tools()).faults == []


def test_the_example_of_a_specialist_has_each_key() -> None:
    assert sorted(re.findall(r"^(\w+):", reference.SPECIALIST_FILE, re.MULTILINE)) == sorted(SPECIALIST_KEYS)
