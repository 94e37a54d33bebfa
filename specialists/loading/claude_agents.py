"""Reads agents of Claude Code as specialists: translates their keys, models and tools before anything is checked.

A file counts as one of theirs if its `model` is haiku, sonnet, opus, fable or inherit, if one of its tools begins with
a capital letter, or if it has only keys of theirs, no `tools`, and no tier of ours as its `model`. Keys and tools
without an equal here are left out with a warning, and an unknown model becomes the tier `balanced`. So such a file
works before anybody rewrites it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, get_args

from handoff.contracts import Tier
from handoff.planning.adhoc import NAME_PATTERN
from specialists.files.frontmatter import MarkdownPage, read_invalid_keys, shorten_description, suggest_name
from specialists.tools.tool import Tool

TIERS_BY_MODEL: Mapping[str, Tier] = {
    "haiku": "fast",
    "sonnet": "balanced",
    "opus": "deep",
    "fable": "deep",
    "inherit": "balanced",
}
EQUIVALENT_TOOLS: Mapping[str, str] = {
    "WebSearch": "web_search",
    "WebFetch": "fetch_page",
    "Read": "read_code",
    "Grep": "search_code",
    "Glob": "list_files",
    "LS": "list_files",
}
"""Our equals of their tools, by their name. Our file tools read the repositories that the operator names."""
MAX_DESCRIPTION_LENGTH = 200
MAX_TURNS = 50
_SHARED_KEYS = ("name", "description", "skills", "mcpServers")
_TRANSLATED_KEYS = ("tools", "disallowedTools", "model", "maxTurns")
_IGNORED_KEYS = ("color", "memory", "background", "isolation", "effort", "initialPrompt")
_KEYS = (*_SHARED_KEYS, *_TRANSLATED_KEYS, *_IGNORED_KEYS, "permissionMode", "hooks")
_OUTER_COMMA = re.compile(r",(?![^(]*\))")
_NOT_IN_NAMES = re.compile(r"[^a-z0-9_-]+")


def translate_foreign_agent(page: MarkdownPage, tools: Mapping[str, Tool], skills: Collection[str]) -> MarkdownPage:
    """Return the page translated if it is an agent of Claude Code, otherwise unchanged.

    Args:
        page: The page as it was read.
        tools: The available tools by name.
        skills: The names of the available skills.
    """
    values = read_invalid_keys(page, _KEYS) if page.is_invalid_yaml else page.values
    if not (_has_foreign_marks(values) or (not page.is_invalid_yaml and _looks_like_agent(values))):
        return page
    kept_faults = [] if page.is_invalid_yaml else page.faults
    translated_page = replace(page, values={}, faults=kept_faults, warnings=[], key_lines=dict(page.key_lines))
    model, tier = _choose_tier(translated_page, values)
    our_names = _map_tools(translated_page, values, tools)
    translated_page.values = {
        "name": _make_name(str(values.get("name") or page.path.stem), page.path.stem),
        "description": shorten_description(str(values.get("description") or ""), MAX_DESCRIPTION_LENGTH),
        "tools": list(dict.fromkeys(our_names.values())),
        "model": tier,
    }
    servers = {name.split("__")[1] for name in tools if name.startswith("mcp__")}
    for key, word, there in (("skills", "skill", skills), ("mcpServers", "MCP server", servers)):
        if names := _read_known_names(translated_page, values, key, word, there):
            translated_page.values[key] = names
    if isinstance(turns := values.get("maxTurns"), int) and not isinstance(turns, bool):
        translated_page.values["max_turns"] = min(max(turns, 1), MAX_TURNS)
    if unused_keys := [key for key in values if key not in {*_SHARED_KEYS, *_TRANSLATED_KEYS, *_IGNORED_KEYS}]:
        translated_page.add_warning(
            f"these keys of an agent do nothing here: {', '.join(unused_keys)}", key=unused_keys[0]
        )
    equal = ", ".join(f"{theirs} is {ours}" for theirs, ours in our_names.items() if theirs != ours)
    translated_page.translation_note = "; ".join(filter(None, (f"{model}: tier {tier}", equal)))
    return translated_page


def _has_foreign_marks(values: Mapping[str, Any]) -> bool:
    return str(values.get("model", "")).lower() in TIERS_BY_MODEL or any(
        name[:1].isupper() for name in _read_names(values, "tools")
    )


def _looks_like_agent(values: Mapping[str, Any]) -> bool:
    ours = values.get("model") in get_args(Tier)
    return not ours and {"name", "description"} <= set(values) <= {*_SHARED_KEYS, *_IGNORED_KEYS, "model", "maxTurns"}


def _make_name(name: str, stem: str) -> str:
    """Return the agent's name, or else its file's name, in the form of our names."""
    names = [_NOT_IN_NAMES.sub("-", one.strip().lower()).strip("-") for one in (name, stem)]
    return next((one for one in names if NAME_PATTERN.fullmatch(one)), names[0])


def _read_names(values: Mapping[str, Any], key: str) -> list[str]:
    """Read the names under a key, a YAML list or text with commas; `Bash(git log:*, ls)` is one name."""
    value = values.get(key, [])
    names = _OUTER_COMMA.split(value) if isinstance(value, str) else value if isinstance(value, list) else []
    return [name for one in names if (name := str(one).strip())]


def _choose_tier(page: MarkdownPage, values: Mapping[str, Any]) -> tuple[str, Tier]:
    model = str(values.get("model") or "")
    if not model:
        return "no model", "balanced"
    for word, tier in TIERS_BY_MODEL.items():
        if word in model.lower():
            return f"model {model}", tier
    page.add_warning(f"the model {model} is not known here; the agent works on the tier balanced", key="model")
    return f"model {model}", "balanced"


def _map_tools(page: MarkdownPage, values: Mapping[str, Any], tools: Mapping[str, Tool]) -> dict[str, str]:
    """Return our names of the agent's tools, by their names. A warning names the tools that are missing here."""
    if "tools" not in values:
        page.add_warning("it names no tools, which means all of them in Claude Code and none here; name those it needs")
    disallowed_names = {name.partition("(")[0] for name in _read_names(values, "disallowedTools")}
    our_names: dict[str, str] = {}
    missing_tools: list[str] = []
    for name in dict.fromkeys(one.partition("(")[0].strip() for one in _read_names(values, "tools")):
        our_name = name if name in tools else EQUIVALENT_TOOLS.get(name, "")
        if name in disallowed_names:
            continue
        if our_name in tools:
            our_names[name] = our_name
        elif our_name:
            missing_tools.append(f"{name} (it would be {our_name}, which is not there)")
        else:
            missing_tools.append(f"{name}{suggest_name(name.lower(), tools)}")
    if missing_tools:
        page.add_warning(f"there is no tool {', '.join(missing_tools)} here; the agent works without", key="tools")
    return our_names


def _read_known_names(
    page: MarkdownPage, values: Mapping[str, Any], key: str, kind_name: str, known_names: Collection[str]
) -> list[str]:
    """Return the names under a key that are known here; a warning names the others, with `kind_name` before them."""
    names = _read_names(values, key)
    if unknown_names := [name for name in names if name not in known_names]:
        page.add_warning(f"there is no {kind_name} {', '.join(unknown_names)} here; the agent works without", key=key)
    return [name for name in names if name in known_names]
