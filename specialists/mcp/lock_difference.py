"""Lists the differences between a server's accepted tools and its present ones, for people at a terminal. Pure."""

from __future__ import annotations

import difflib
import json
from collections.abc import Sequence
from typing import Any

from handoff.text.invisible_characters import remove_invisible
from specialists.mcp.server_tools import find_unusable_reason, list_changes
from specialists.mcp.tool_lock import LockedTool

MAX_TOOL_LINES = 200
"""Most lines that are shown of one tool."""
LONGEST_LINE = 400


def list_differences(accepted_tools: Sequence[LockedTool] | None, live_tools: Sequence[LockedTool]) -> list[str]:
    """Return the lines that show what accepting would change; [] if nothing differs.

    Control characters and invisible characters are written as their codes.
    """
    accepted_by_name = {one.name: one for one in accepted_tools or ()}
    live_by_name = {one.name: one for one in live_tools}
    changed_names, removed_names, new_names = list_changes(tuple(accepted_tools or ()), tuple(live_tools))
    lines: list[str] = []
    for name in new_names:
        lines += [f"+ {make_plain_line(name)}{_render_hint(live_by_name[name])}", *_render_new_tool(live_by_name[name])]
    for name in changed_names:
        lines += [
            f"~ {make_plain_line(name)}{_render_hint(live_by_name[name])}",
            *_render_changed_tool(accepted_by_name[name], live_by_name[name]),
        ]
    return lines + [f"- {make_plain_line(name)} is gone" for name in removed_names]


def make_plain_line(text: str) -> str:
    """Return a text on one line, cut at `LONGEST_LINE` characters, with control and invisible characters as codes."""
    plain_line = "".join(
        one if remove_invisible(one) == one and one != "\n" else f"\\u{{{ord(one):x}}}" for one in text
    )
    return plain_line if len(plain_line) <= LONGEST_LINE else f"{plain_line[:LONGEST_LINE]}… ({len(text):,} characters)"


def _render_hint(tool: LockedTool) -> str:
    if fault := find_unusable_reason(tool):
        return f"  (cannot be used: {fault})"
    return "  (its server calls it read-only)" if tool.is_hinted_read_only else ""


def _render_new_tool(tool: LockedTool) -> list[str]:
    lines = [f"    {make_plain_line(line)}" for line in tool.description.splitlines() if line.strip()]
    return [
        *lines[:MAX_TOOL_LINES],
        f"    takes: {make_plain_line(', '.join(map(_render_argument, _list_arguments(tool))) or 'nothing')}",
    ]


def _list_arguments(tool: LockedTool) -> list[tuple[str, Any, bool]]:
    properties, required_keys = tool.schema.get("properties"), tool.schema.get("required")
    if not isinstance(properties, dict):
        return []
    return [
        (name, about, name in (required_keys if isinstance(required_keys, list) else ()))
        for name, about in properties.items()
    ]


def _render_argument(argument: tuple[str, Any, bool]) -> str:
    name, schema, is_required = argument
    kind = schema.get("type", "any") if isinstance(schema, dict) else "any"
    return f"{name} ({kind if isinstance(kind, str) else 'any'}{', needed' if is_required else ''})"


def _render_changed_tool(accepted_tool: LockedTool, live_tool: LockedTool) -> list[str]:
    diff = difflib.unified_diff(
        _render_lines(accepted_tool), _render_lines(live_tool), "accepted", "now", lineterm="", n=1
    )
    lines = [f"    {make_plain_line(line)}" for line in list(diff)[2:]]
    left_out_count = len(lines) - MAX_TOOL_LINES
    return lines if left_out_count <= 0 else [*lines[:MAX_TOOL_LINES], f"    … and {left_out_count} more lines"]


def _render_lines(tool: LockedTool) -> list[str]:
    """Render a tool, one line for each line of its description and of its schema."""
    rest = {key: value for key, value in tool.fields.items() if key != "description"}
    json_text = json.dumps(rest, indent=1, sort_keys=True, ensure_ascii=False)
    return [*(f"description: {line}" for line in tool.description.splitlines()), *json_text.splitlines()]
