"""Who works: reads a crew's files and refuses, all at once, what is wrong with them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import get_args

from handoff.contracts import SUPERVISOR, Tier
from specialists import briefing, finish, frontmatter
from specialists.dialogue import ToolSpec
from specialists.frontmatter import Fault, Page
from specialists.toolkits.tool import Tool

CREWS = Path(__file__).parent / "crews"
DESCRIPTION_LIMIT = 200
DEPTH_LIMIT = 3
TURNS_LIMIT = 50
DEFAULT_TURNS = 10

_TIERS: tuple[str, ...] = get_args(Tier)
_REQUIRED = ("name", "description", "tools", "model")
_KEYS = (*_REQUIRED, "fallback", "max_turns")
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")

_EXAMPLE = """\
A specialist is one Markdown file in the crew's folder, named after it. For example translator.md:

---
name: translator
description: Translates given text and keeps its layout. Cannot look anything up.
tools: []              # of those that no other specialist has
model: balanced        # fast, balanced or deep
fallback: writer       # optional: who takes over where this one fails
max_turns: 5           # optional: 1 to 50
---
You are the translator. ..."""


class CrewError(Exception):
    """A crew that cannot be used. `faults` are all of its faults, each with its file and line."""

    def __init__(self, folder: Path, faults: Iterable[Fault]) -> None:
        self.faults = tuple(sorted(set(faults)))
        lines = "\n".join(str(fault) for fault in self.faults)
        super().__init__(f"The crew in {folder} cannot be used:\n{lines}\n\n{_EXAMPLE}")


@dataclass(frozen=True)
class Specialist:
    """A specialist as its file describes it.

    Attributes:
        name: What the plan calls it; also the name of its file.
        description: The one line that the planner sees.
        tools: Its own tools, which no other specialist of the crew has.
        tier: The model tier it works on unless a subtask asks for another.
        fallback: Who takes over where it fails, or None.
        max_turns: How many model turns it may take before its last call.
        prompt: The body of its file.
        path: Its file.
    """

    name: str
    description: str
    tools: tuple[Tool, ...]
    tier: Tier
    fallback: str | None
    max_turns: int
    prompt: str
    path: Path

    @cached_property
    def toolbox(self) -> dict[str, Tool]:
        """Its tools by name."""
        return {tool.name: tool for tool in self.tools}

    @cached_property
    def specs(self) -> tuple[ToolSpec, ...]:
        """What its model is offered: its tools and the two ways to finish. Built once."""
        return (*(tool.spec for tool in self.tools), *finish.FINISHERS)

    @cached_property
    def system(self) -> str:
        """Its prompt and the shared protocol. Built once."""
        return briefing.system(self.prompt)


@dataclass(frozen=True)
class Crew:
    """A named set of specialists, in the order of their names."""

    name: str
    specialists: Mapping[str, Specialist]


def available_crews(folder: Path = CREWS) -> tuple[str, ...]:
    """The names of the crews in a folder, in order."""
    return tuple(sorted(path.name for path in folder.iterdir() if path.is_dir() and path.name[0] not in "._"))


def load_crew(folder: Path, tools: Mapping[str, Tool]) -> Crew:
    """Read and check a crew.

    Args:
        folder: The crew's folder. Files may lie in folders inside it, `DEPTH_LIMIT` levels in all.
        tools: All tools there are, by name.

    Raises:
        CrewError: Anything at all is wrong; it names every fault.
    """
    if not folder.is_dir():
        others = ", ".join(available_crews(folder.parent)) if folder.parent.is_dir() else ""
        hint = f"; there are: {others}" if others else ""
        raise CrewError(folder, [Fault(folder, 1, f"there is no such folder{hint}")])
    files = [path for path in sorted(folder.rglob("*.md")) if not path.name.startswith(".")]
    pages = [frontmatter.read(path) for path in files if _depth(folder, path) <= DEPTH_LIMIT]
    faults = [
        Fault(path, 1, f"the file lies more than {DEPTH_LIMIT} levels deep; move it up")
        for path in files
        if _depth(folder, path) > DEPTH_LIMIT
    ]
    if not files:
        faults.append(Fault(folder, 1, "the crew is empty; add a specialist"))
    readable = [page for page in pages if not page.faults]
    found = [_specialist(page, tools) for page in readable]
    _check_together(readable, unread=[page.path.stem for page in pages if page not in readable])
    faults.extend(fault for page in pages for fault in page.faults)
    if faults:
        raise CrewError(folder, faults)
    return Crew(folder.name, {one.name: one for one in sorted(found, key=lambda one: one.name)})


def _depth(folder: Path, path: Path) -> int:
    return len(path.relative_to(folder).parts)


def _specialist(page: Page, tools: Mapping[str, Tool]) -> Specialist:
    """The specialist of a page. What is wrong is added to the page's faults and left out."""
    for key in page.values:
        if key not in _KEYS:
            page.fault(f"unknown key {key}{_meant(key, _KEYS)}; the keys are {', '.join(_KEYS)}", key=key)
    for key in _REQUIRED:
        if key not in page.values:
            page.fault(f"the key {key} is missing; add it to the front matter")
    if not page.body:
        page.fault("the prompt is empty; write it below the front matter", line=page.body_line)
    fallback = page.values.get("fallback")
    if fallback is not None and not isinstance(fallback, str):
        page.fault("fallback must be the name of another specialist", key="fallback")
    return Specialist(
        name=_read_name(page),
        description=_read_description(page),
        tools=tuple(tools[name] for name in _read_tools(page, tools)),
        tier=_read_tier(page),
        fallback=str(fallback) if fallback else None,
        max_turns=_read_turns(page),
        prompt=page.body,
        path=page.path,
    )


def _read_name(page: Page) -> str:
    name = page.values.get("name")
    if "name" not in page.values:
        return page.path.stem
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        page.fault("name must be small letters, digits, - and _, a letter first, at most 40", key="name")
    elif name == SUPERVISOR:
        page.fault(f"the name {SUPERVISOR} is taken by the bot itself; choose another", key="name")
    elif name != page.path.stem:
        page.fault(f"the name {name} is not that of the file; call the file {name}.md", key="name")
    return str(name)


def _read_description(page: Page) -> str:
    text = page.values.get("description", "")
    if "description" not in page.values:
        return ""
    if not isinstance(text, str) or not text.strip():
        page.fault("description must be one line that tells the planner what this one can do", key="description")
    elif len(text) > DESCRIPTION_LIMIT:
        page.fault(
            f"the description has {len(text)} characters, and at most {DESCRIPTION_LIMIT} are allowed; shorten it",
            key="description",
        )
    return " ".join(str(text).split())


def _read_tools(page: Page, tools: Mapping[str, Tool]) -> list[str]:
    named = _tool_names(page)
    if named is None:
        page.fault("tools must be a list of tool names; write [] for none", key="tools")
        return []
    for name in dict.fromkeys(named):
        if name in finish.NAMES:
            page.fault(f"every specialist has {name}; take it out of tools", key="tools")
        elif name not in tools:
            known = ", ".join(sorted(tools)) or "none"
            page.fault(f"unknown tool {name}{_meant(name, tools)}; the tools are {known}", key="tools")
        elif named.count(name) > 1:
            page.fault(f"the tool {name} is named twice; keep one", key="tools")
        else:
            for fault in tools[name].faults:
                page.fault(f"the tool {name} {fault}", key="tools")
    return [name for name in named if name in tools]


def _tool_names(page: Page) -> list[str] | None:
    """The names under `tools`, as a YAML list or separated by commas; None for anything else."""
    value = page.values.get("tools", [])
    if isinstance(value, str):
        return [name.strip() for name in value.split(",") if name.strip()]
    if isinstance(value, list) and all(isinstance(name, str) for name in value):
        return list(value)
    return None


def _read_tier(page: Page) -> Tier:
    value = page.values.get("model")
    for tier in get_args(Tier):
        if value == tier:
            return tier  # type: ignore[no-any-return]  # a member of the Literal that it was read from
    if "model" in page.values:
        page.fault(f"model must be a tier: {', '.join(_TIERS)}; which model that is, the settings say", key="model")
    return "balanced"


def _read_turns(page: Page) -> int:
    value = page.values.get("max_turns", DEFAULT_TURNS)
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= TURNS_LIMIT:
        page.fault(f"max_turns must be a whole number from 1 to {TURNS_LIMIT}", key="max_turns")
        return DEFAULT_TURNS
    return value


def _check_together(pages: Sequence[Page], unread: Sequence[str]) -> None:
    """Find what is only wrong between files: names and tools used twice, fallbacks to nowhere or in a circle.

    `unread` are names of files that have faults of their own already.
    """
    owners: dict[str, Page] = {}
    holders: dict[str, Page] = {}
    for page in pages:
        name = str(page.values.get("name", page.path.stem))
        if name in owners:
            page.fault(f"the name {name} is that of {owners[name].path} too; rename one of them", key="name")
            continue
        owners[name] = page
        for tool in dict.fromkeys(_tool_names(page) or ()):
            other = holders.setdefault(tool, page)
            if other is not page and tool not in finish.NAMES:
                text = f"the tool {tool} belongs to {other.path} too; a tool belongs to one specialist"
                page.fault(text, key="tools")
    fallbacks: dict[str, object] = dict.fromkeys(unread)
    fallbacks.update({name: page.values.get("fallback") for name, page in owners.items()})
    for name, page in owners.items():
        _check_fallback(name, page, fallbacks)


def _check_fallback(name: str, page: Page, fallbacks: Mapping[str, object]) -> None:
    fallback = fallbacks[name]
    if not isinstance(fallback, str):
        return
    if fallback == name:
        page.fault(f"{name} is its own fallback; name another or leave the key out", key="fallback")
        return
    if fallback not in fallbacks:
        known = ", ".join(sorted(fallbacks))
        meant = _meant(fallback, fallbacks)
        page.fault(f"there is no specialist {fallback} to fall back to{meant}; there are {known}", key="fallback")
        return
    way = [name]
    while isinstance(fallback, str) and fallback in fallbacks and fallback not in way:
        way.append(fallback)
        fallback = fallbacks[fallback]
    if fallback == name:
        circle = " -> ".join((*way, name))
        page.fault(f"the fallbacks go in a circle: {circle}; take one of them out", key="fallback")


def _meant(word: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(word, list(known), n=1)
    return f" (did you mean {near[0]}?)" if near else ""
