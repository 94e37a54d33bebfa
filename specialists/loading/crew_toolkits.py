"""Reads the toolkits that lie in a crew's folder, beside its specialists."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from specialists.files.frontmatter import CrewFault
from specialists.loading import toolkit_files
from specialists.mcp import server_config
from specialists.tools.knowledge import knowledge_files
from specialists.tools.tool import Tool
from specialists.tools.toolkit import Toolkit, ToolSettings
from specialists.turns import finish_tools

TOOL_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
"""The names that providers accept for a tool."""
RESERVED_TOOLS = finish_tools.FINISH_TOOLS | {"read_material", "search_material", "read_reply", "read_skill"}
OWN_ORIGIN = "Leadhand"
"""The origin shown for those of Leadhand's own tools whose `origin` is empty."""

ToolkitReader = Callable[[Path, ToolSettings, list[CrewFault]], tuple[Toolkit, ...]]
"""Reads toolkits of one kind from a crew's folder: `read_toolkits(folder, settings, faults)`; empty if it has none."""


def _read_servers(folder: Path, settings: ToolSettings, faults: list[CrewFault]) -> tuple[Toolkit, ...]:
    if not os.path.lexists(folder / server_config.FILE_NAME):
        return ()
    from specialists.mcp import server_tools  # noqa: PLC0415 - only where a crew has servers

    return server_tools.read_server_toolkits(folder, settings, faults)


def _read_knowledge(folder: Path, settings: ToolSettings, faults: list[CrewFault]) -> tuple[Toolkit, ...]:
    if not (folder / knowledge_files.KNOWLEDGE_FOLDER).is_dir():
        return ()
    from specialists.tools.knowledge import knowledge_toolkit  # noqa: PLC0415 - only where a crew has such a folder

    return knowledge_toolkit.make_crew_toolkits(folder, settings, faults)


TOOLKIT_READERS: tuple[ToolkitReader, ...] = (toolkit_files.read_toolkit_files, _read_servers, _read_knowledge)


def read_toolkits(
    folder: Path, tools: Mapping[str, Tool], settings: ToolSettings, faults: list[CrewFault], crew: str = ""
) -> tuple[Toolkit, ...]:
    """Read the toolkits of a crew's folder. One that is unusable is left out, and its faults are added to `faults`.

    Args:
        folder: The crew's folder. Its toolkits serve this crew and the crews inside it.
        tools: The tools that exist already, whose names are taken.
        settings: What toolkits are set up with.
        faults: The list to which each fault is added, with file and line.
        crew: The path of an inner crew, which is put before the origin of its toolkits; "" for the outermost crew.
    """
    toolkits = [toolkit for source in TOOLKIT_READERS for toolkit in source(folder, settings, faults)]
    if crew:
        toolkits = [replace(toolkit, origin=f"{crew}/{toolkit.origin}") for toolkit in toolkits]
    return drop_clashing_tools(toolkits, tools, folder, faults)


def explain_unknown_tools(faults: Iterable[CrewFault], toolkit_faults: Iterable[CrewFault]) -> list[CrewFault]:
    """Return the faults; those about unknown tools name the faulty toolkits to fix first."""
    broken_files = ", ".join(sorted({fault.path.name for fault in toolkit_faults}))
    return [
        replace(one, text=f"{one.text.partition(';')[0]}; fix {broken_files} first")
        if broken_files and one.text.startswith("unknown tool")
        else one
        for one in faults
    ]


def drop_clashing_tools(
    toolkits: list[Toolkit], tools: Mapping[str, Tool], folder: Path, faults: list[CrewFault]
) -> tuple[Toolkit, ...]:
    """Return the toolkits with the origin set on each tool.

    A tool with a taken, reserved or invalid name is left out, with a fault. A toolkit with `replaces` may reuse the
    names in `tools`.
    """
    own: dict[str, Tool] = {}
    kept_toolkits = []
    for toolkit in toolkits:
        usable_tools = []
        for tool in toolkit.tools:
            outer_tool = None if toolkit.replaces else tools.get(tool.name)
            if text := _find_name_fault(tool.name, own.get(tool.name) or outer_tool):
                faults.append(CrewFault(toolkit.path or folder, toolkit.lines.get(tool.name, 1), text))
            else:
                own[tool.name] = replace(tool, origin=toolkit.origin)
                usable_tools.append(own[tool.name])
        kept_toolkits.append(replace(toolkit, tools=tuple(usable_tools), path=toolkit.path or folder))
    return tuple(kept_toolkits)


def _find_name_fault(name: str, namesake: Tool | None) -> str:
    """Return why a tool may not have its name; "" if it may."""
    if namesake is not None:
        return f"the tool {name} is there already, from {namesake.origin or OWN_ORIGIN}; rename this one"
    if name in RESERVED_TOOLS:
        return f"the name {name} is that of a tool which the bot itself adds; rename this one"
    if not TOOL_NAME.fullmatch(name):
        return f"the tool {name[:70]!r} must be called in letters, digits, _ and -, a letter first, at most 64"
    return ""
