"""Reads a crew's demo, `demo/demo.yml`: one job that shows what the crew does, on material of its own.

The file is data only: files to attach, settings, recorded web pages, git bundles to unpack, and the replies that stand
in for a model where there is none. Nothing in it is run.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any

import yaml

from handoff.planning.plan_check import MAX_SUBTASKS
from specialists.files import yaml_nodes as nodes
from specialists.files.frontmatter import CrewFault
from specialists.files.yaml_nodes import read_yaml_root

FOLDER_NAME, FILE_NAME = "demo", "demo.yml"
FOLDER_PLACEHOLDER = "{demo}"
"""The placeholder, in the values of `settings`, for the folder with the demo's files and unpacked bundles."""
MAX_BYTES = 200_000
"""Most bytes of `demo.yml`."""
MAX_TURNS = 20
_SETTING_NAME = re.compile(r"[A-Z][A-Z0-9_]{1,60}")
_SUBTASK_KEYS = ("id", "specialist", "title", "intent", "after", "needs", "done_when")
_REPLY_KEYS = ("plan", "specialists", "answer")


@dataclass(frozen=True, slots=True)
class DemoTurn:
    """One turn of a scripted specialist: the tools that it calls in parallel, each with its arguments.

    `line` is the turn's line in the demo's file.
    """

    calls: tuple[tuple[str, Mapping[str, Any]], ...]
    line: int


@dataclass(frozen=True, slots=True)
class DemoReplies:
    """The replies to a demo's request that stand in for a model's. The tools that they call are real.

    - plan: the planner's reply, with the fields of `handoff.contracts.Plan`; None if rules or a pipeline plan.
    - steps: the turns of each specialist, by its name. The last turn calls `return_result`, as a model would.
    - answer: the synthesizer's reply; "" if no synthesizer is called.
    """

    plan: Mapping[str, Any] | None = None
    turns: Mapping[str, tuple[DemoTurn, ...]] = field(default_factory=dict)
    answer: str = ""


@dataclass(slots=True)
class Demo:
    """A crew's demo as read, with its faults. All paths lie in its folder."""

    path: Path
    says: str = ""
    """What the demo shows, in one line."""
    ask: str = ""
    files: tuple[Path, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    pages: Path | None = None
    """The folder of recorded web pages."""
    prepare: Mapping[str, Path] = field(default_factory=dict)
    """The git bundles to unpack, by the name of the folder that each becomes."""
    replies: DemoReplies | None = None
    faults: list[CrewFault] = field(default_factory=list)

    @property
    def files_folder(self) -> Path:
        """The folder with the demo's files."""
        return self.path.parent

    def add_fault(self, node: yaml.Node, text: str) -> None:
        """Record a fault at a node's line."""
        self.faults.append(CrewFault(self.path, node.start_mark.line + 1, text))


def read_demo(crew_folder: Path) -> Demo | None:
    """Read the demo in a crew's folder; None if it has none. Faults are in its `faults`."""
    demo = Demo(crew_folder / FOLDER_NAME / FILE_NAME)
    if not demo.path.exists():
        return None
    root = read_yaml_root(demo.path, demo.faults, max_bytes=MAX_BYTES)
    if root is None:
        if not demo.faults:
            demo.faults.append(CrewFault(demo.path, 1, f"the file is empty; the keys are {', '.join(_READERS)}"))
        return demo
    top = nodes.read_mapping(demo, root, tuple(_READERS), "the file")
    for key, reader in _READERS.items():
        if key in top:
            reader(demo, top[key][1])
    for key in ("says", "ask"):
        if key not in top and isinstance(root, yaml.MappingNode):
            demo.add_fault(root, f"the key {key} is missing")
    return demo


def _read_says(demo: Demo, node: yaml.Node) -> None:
    demo.says = " ".join(nodes.read_text(demo, node, "says").split())


def _read_ask(demo: Demo, node: yaml.Node) -> None:
    demo.ask = nodes.read_text(demo, node, "ask").strip()


def _read_files(demo: Demo, node: yaml.Node) -> None:
    paths = (
        (_find_demo_path(demo, one, "files", Path.is_file, "file")) for one in nodes.read_sequence(demo, node, "files")
    )
    demo.files = tuple(path for path in paths if path is not None)


def _read_settings(demo: Demo, node: yaml.Node) -> None:
    demo.settings = {}
    for key, value in _read_pairs(demo, node, "settings"):
        name = str(key.value)
        if not _SETTING_NAME.fullmatch(name):
            demo.add_fault(key, f"{name!r} is no name of a setting, such as LEADHAND_DATA")
        else:
            demo.settings = {**demo.settings, name: nodes.read_text(demo, value, name)}


def _read_pages(demo: Demo, node: yaml.Node) -> None:
    demo.pages = _find_demo_path(demo, node, "pages", Path.is_dir, "folder")


def _read_prepare(demo: Demo, node: yaml.Node) -> None:
    for key, value in _read_pairs(demo, node, "prepare"):
        name = str(key.value)
        bundle = _find_demo_path(demo, value, "prepare", Path.is_file, "git bundle")
        if PurePath(name).name != name or name in {".", ".."} or (demo.files_folder / name).exists():
            demo.add_fault(key, f"{name!r} is the name of the folder to be made; it must be new, and a name alone")
        elif bundle is not None:
            demo.prepare = {**demo.prepare, name: bundle}


def _read_replies(demo: Demo, node: yaml.Node) -> None:
    keys = nodes.read_mapping(demo, node, _REPLY_KEYS, "replies")
    plan = _read_plan(demo, keys["plan"][1]) if "plan" in keys else None
    turns_by_specialist = {}
    for key, value in _read_pairs(demo, keys["specialists"][1], "specialists") if "specialists" in keys else ():
        turns = nodes.read_sequence(demo, value, str(key.value))
        if len(turns) > MAX_TURNS:
            demo.add_fault(key, f"{key.value} has {len(turns)} steps; at most {MAX_TURNS} are allowed")
        turns_by_specialist[str(key.value)] = tuple(step for one in turns if (step := _read_turn(demo, one)))
    answer = nodes.read_text(demo, keys["answer"][1], "answer").strip() if "answer" in keys else ""
    demo.replies = DemoReplies(plan, turns_by_specialist, answer)


def _read_plan(demo: Demo, node: yaml.Node) -> Mapping[str, Any]:
    subtasks: list[dict[str, Any]] = []
    for one in nodes.read_sequence(demo, node, "plan")[:MAX_SUBTASKS]:
        keys = {
            key: value for key, (_, value) in nodes.read_mapping(demo, one, _SUBTASK_KEYS, "a part of the plan").items()
        }
        for key in ("id", "specialist"):
            if keys and key not in keys:
                demo.add_fault(one, f"the part of the plan has no {key}")
        subtask: dict[str, Any] = {
            key: _read_names(demo, value, key) if key in {"after", "needs"} else nodes.read_text(demo, value, key)
            for key, value in keys.items()
        }
        subtasks.append({"after": [], "title": subtask.get("id", ""), "intent": demo.ask, "done_when": "", **subtask})
    return {"goal": demo.says or demo.ask, "subtasks": subtasks, "strategy": "merge", "instruction": "", "missing": []}


def _read_names(demo: Demo, node: yaml.Node, key: str) -> list[str]:
    empty = isinstance(node, yaml.SequenceNode) and not node.value
    return [] if empty else nodes.read_texts(demo, node, key)


def _read_turn(demo: Demo, node: yaml.Node) -> DemoTurn | None:
    """Read a turn: `tool: {arguments}`, or several such lines to be called in parallel."""
    calls = []
    for key, value in _read_pairs(demo, node, "a step"):
        try:
            arguments = yaml.constructor.SafeConstructor().construct_object(value, deep=True) or {}
            json.dumps(arguments)
        except (TypeError, ValueError, RecursionError, yaml.YAMLError):
            demo.add_fault(value, f"the arguments of {key.value} hold something that is no text or number; quote dates")
            continue
        if isinstance(arguments, dict):
            calls.append((str(key.value), arguments))
        else:
            demo.add_fault(value, f"{key.value} takes its arguments by name: `{key.value}: {{name: value}}`")
    return DemoTurn(tuple(calls), node.start_mark.line + 1) if calls else None


def _read_pairs(demo: Demo, node: yaml.Node, list_name: str) -> list[tuple[yaml.Node, yaml.Node]]:
    if isinstance(node, yaml.MappingNode) and node.value:
        return list(node.value)
    demo.add_fault(node, f"{list_name} is a list of `name: value` lines")
    return []


def _find_demo_path(demo: Demo, node: yaml.Node, key: str, is_kind: Callable[[Path], bool], kind: str) -> Path | None:
    """Return the path of a file or folder inside the demo's folder; None, with a fault, if there is none."""
    name = nodes.read_text(demo, node, key)
    path = demo.files_folder / name
    if not name:
        return None
    if not path.resolve().is_relative_to(demo.files_folder.resolve()) or not is_kind(path):
        demo.add_fault(node, f"{key}: there is no {kind} {name} in the demo's folder")
        return None
    return path


_READERS: Mapping[str, Callable[[Demo, yaml.Node], None]] = {
    "says": _read_says,
    "ask": _read_ask,
    "files": _read_files,
    "settings": _read_settings,
    "pages": _read_pages,
    "prepare": _read_prepare,
    "replies": _read_replies,
}
"""The reader of each key. `says` and `ask` come before `replies`, whose plan uses them as defaults."""
