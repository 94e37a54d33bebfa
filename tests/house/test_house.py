"""What CONTRIBUTING and the READMEs of features say of the house is true."""

import ast
import importlib
import re
import subprocess
from collections import Counter
from collections.abc import Mapping
from graphlib import TopologicalSorter
from pathlib import Path
from typing import get_args

import pytest

from bot.features.catalogue import FEATURES as FEATURES_REGISTERED
from bot.features.catalogue import SUBCOMMANDS
from bot.jobs.effect_runner import EFFECT_HANDLERS, find_handler
from handoff import effects as ef
from handoff import events as ev
from handoff.engine.transitions import TRANSITIONS

ROOT = Path(__file__).parents[2]
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
PACKAGES = ("bot", "handoff", "specialists")
MAX_WORDS = 30
MAX_FILES_OF_A_ROLE = 5


FEATURES = ROOT / "bot" / "features"
FOLDERS = sorted(path.parent for path in FEATURES.glob("*/__init__.py"))
PARTS = {f"{name}.py" for name in ("__init__", "actions", "commands", "service", "view", "home", "lines")}
MAX_LINES_OF_A_README = 20


def part(page: str, heading: str) -> str:
    """The text below a heading, up to the next one."""
    return page.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def files_to_add(what: str) -> list[str]:
    (row,) = [line for line in part(CONTRIBUTING, "To add one").splitlines() if line.startswith(f"| {what}")]
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


def test_no_two_files_have_one_name_but_the_parts_of_features() -> None:
    files = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py") if FEATURES not in path.parents]
    twice = {name for name, count in Counter(path.name for path in files).items() if count > 1}
    assert twice <= {"__init__.py", "__main__.py"}
    inside = Counter(path.name for path in FEATURES.glob("*/*.py"))
    assert {name for name, count in inside.items() if count > 1} <= PARTS


def test_no_class_name_is_used_twice() -> None:
    """One word, one meaning. Classes inside of others, as a library asks for them, are not looked at."""
    paths = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    texts = [path.read_text(encoding="utf-8") for path in paths]
    names = Counter(name for text in texts for name in re.findall(r"^class (\w+)", text, re.MULTILINE))
    assert len(names) > 500
    assert {name for name, count in names.items() if count > 1} == set()


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_feature_registers_and_says_which_of_its_files_does_what(folder: Path) -> None:
    assert importlib.import_module(f"bot.features.{folder.name}") in FEATURES_REGISTERED
    lines = (folder / "README.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= MAX_LINES_OF_A_README
    named = set(re.findall(r"`(\w+\.py)`", "\n".join(lines)))
    assert named == {path.name for path in folder.glob("*.py")} - {"__init__.py"}


PARTICIPLE = re.compile(
    r"_*(?!(?:[a-z]*deed|embed|expected|feed|need|seed|speed)$)(?:un|with|for)?"
    r"(?:[a-z]+ed|begun|bidden|bought|bound|broken|brought|built|caught|chosen|dealt|done|drawn|driven|felt|found|given"
    r"|gone|gotten|heard|held|hidden|kept|known|laid|led|lent|lost|made|meant|met|paid|said|seen|sent|shown|sold|sought|spelt"
    r"|spent|spoken|stood|taken|taught|thrown|told|torn|won|worn|written)"
)
"""A participle alone. Not among them: `left` (a side), `read`, `put` and `set` (verbs), nouns, and `expected`."""


def list_bound_names(path: Path) -> set[str]:
    """The names of functions, parameters and values in a file. Not those of fields, as some of these are stored."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    fields = {
        id(target)
        for node in nodes
        if isinstance(node, ast.ClassDef)
        for line in node.body
        if isinstance(line, ast.Assign | ast.AnnAssign)
        for target in (line.targets if isinstance(line, ast.Assign) else [line.target])
    }
    values = {
        one.id
        for one in nodes
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store) and id(one) not in fields
    }
    functions = {one.name for one in nodes if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)}
    return values | functions | {one.arg for one in nodes if isinstance(one, ast.arg)}


def test_no_name_is_a_participle_alone() -> None:
    """A function is a verb with its object, a value is a noun, a boolean is a question."""
    names = {
        (str(path.relative_to(ROOT)), name)
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        for name in list_bound_names(path)
    }
    assert len(names) > 10_000
    assert {(path, name) for path, name in names if PARTICIPLE.fullmatch(name.lower())} == set()


def imports_of(path: Path, modules: Mapping[str, Path]) -> set[str]:
    """The modules of ours that one imports: at its start, in a function, or for types alone."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            parts = {f"{node.module}.{name.name}" for name in node.names}
            found |= parts | ({node.module} if parts - set(modules) else set())
    return found & set(modules)


def test_no_modules_import_each_other_not_even_for_types_or_later() -> None:
    modules = {}
    for path in (path for package in PACKAGES for path in (ROOT / package).rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    graph = {name: imports_of(path, modules) - {name} for name, path in modules.items()}
    assert len(graph) > 500
    tuple(TopologicalSorter(graph).static_order())  # raises CycleError, which names the modules


def test_the_glossary_is_short_and_has_each_word_once() -> None:
    first = re.findall(r"^\| ([^|]+) \|", part(ARCHITECTURE, "Words"), re.MULTILINE)[2:]
    words = [word.strip() for row in first for word in row.split(",")]
    assert len(words) == len(set(words)) <= MAX_WORDS


def test_a_role_is_an_effect_an_event_a_step_a_module_and_a_prompt() -> None:
    assert len(files_to_add("a role")) <= MAX_FILES_OF_A_ROLE
    for name in ef.ROLES:
        assert (ROOT / f"bot/supervisor/{name}.md").is_file()
        assert (ROOT / f"bot/supervisor/{name}.py").is_file()
    planners = {"planner", "replanner"}  # they are called by bot.supervisor.crew_planner, which knows the crew
    for name in set(ef.ROLES) - planners:
        assert callable(importlib.import_module(f"bot.supervisor.{name}").perform)


DISPLAY_FILES = {
    "bot/jobs/effect_handlers.py",
    "bot/jobs/effect_runner.py",
    "bot/slack/views/status.py",
    "bot/tracing/role_outcomes.py",
    "bot/tracing/role_spans.py",
    "handoff/evidence/omissions.py",
    "handoff/state/job_state.py",
}
"""What it found stands in the answer; it shows at work and in traces; and an answer goes out without it if it fails."""


def test_a_role_is_named_nowhere_else() -> None:
    """Taking the verifier, which has most of all roles: what its two names stand in is what the guide names."""
    found = {
        path.relative_to(ROOT).as_posix()
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        if re.search(r"\b(?:VerifyAnswer|AnswerVerified)\b", path.read_text(encoding="utf-8"))
    }
    needed = {path.replace("NAME", "verifier") for path in files_to_add("a role") if path.endswith(".py")}
    assert found == needed | DISPLAY_FILES


def test_each_event_of_a_request_has_its_transition() -> None:
    kinds = get_args(get_args(ev.Event)[0])
    assert {kind.__name__ for kind in kinds if issubclass(kind, ev.RequestEvent)} == set(TRANSITIONS)


def test_each_effect_is_handled() -> None:
    for kind in get_args(ef.Effect):
        assert kind in EFFECT_HANDLERS or kind.role in ef.ROLES
        assert find_handler(object.__new__(kind))


def test_each_subcommand_stands_in_the_manifest() -> None:
    hint = re.search(r'usage_hint: "([^"]+)"', (ROOT / "manifest.yml").read_text(encoding="utf-8"))
    assert hint is not None
    assert {word.split()[0] for word in hint[1].split(" | ")} == {"REQUEST", *(one.name for one in SUBCOMMANDS)}
