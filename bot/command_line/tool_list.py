"""Lists and tests a crew's tools for `leadhand check`: their origin, access and holders, and whether they work."""

from __future__ import annotations

import asyncio
import textwrap
from collections.abc import AsyncGenerator, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from handoff.approval_values import ApprovalTerms
from specialists.crew import Crew
from specialists.loading.crew_toolkits import OWN_ORIGIN
from specialists.loading.toolkit_files import FOLDER
from specialists.mcp.server_config import FILE_NAME as SERVERS
from specialists.tools.tool import Tool
from specialists.tools.toolkit import Toolkit

PROOF_TIMEOUT_SECONDS = 30.0
"""Seconds that the test of a toolkit may take."""
AD_HOC_HOLDERS = "those made for a job"
_LINE_CHARS = 110
_UNUSED_PREFIX = "held by nobody: "


@dataclass(slots=True)
class _ListedTool:
    """A tool, the specialists that have it, and the terms under which it asks for approval."""

    tool: Tool
    holders: list[str] = field(default_factory=list)
    terms: ApprovalTerms | None = None

    @property
    def access(self) -> str:
        if self.tool.access == "read":
            return "read"
        if not self.holders:
            return "write"
        modes = {"ask": "write, asks", "always": "write, always asks", "never": "write, asks nobody"}
        return modes["never" if self.terms is None else self.terms.mode]


def summarize_and_list_tools(crew: Crew, *, show_unused: bool = True) -> tuple[str, list[str]]:
    """List the tools of a crew by origin. Returns a pair: the count of held tools in words, and the lines.

    Each tool that a specialist has gets a line of its own. The others share lines, or are left out if `show_unused` is
    False.
    """
    listed_tools = _collect_tools(crew)
    held_tools = [one for one in listed_tools if one.holders]
    writing_count = sum(one.tool.access == "write" for one in held_tools)
    name, access = (max((len(text) for text in texts), default=0) for texts in _collect_columns(held_tools))
    lines: list[str] = []
    left_out = {kit.origin: kit.unusable_tools for kit in list_toolkits(crew) if kit.unusable_tools}
    for origin in dict.fromkeys([*(one.tool.origin for one in listed_tools), *left_out]):
        lines.append(origin or OWN_ORIGIN)
        origin_tools = [one for one in listed_tools if one.tool.origin == origin]
        lines += [
            f"  {one.tool.name:<{name}}  {one.access:<{access}}  {', '.join(one.holders)}"
            for one in origin_tools
            if one.holders
        ]
        if show_unused and (names := ", ".join(_label_tool(one) for one in origin_tools if not one.holders)):
            lines += textwrap.wrap(_UNUSED_PREFIX + names, _LINE_CHARS, initial_indent="  ", subsequent_indent="    ")
        for tool, why in left_out.get(origin, {}).items():
            lines += textwrap.wrap(
                f"left out: {tool}: {why}", _LINE_CHARS, initial_indent="  ", subsequent_indent="    "
            )
    return (
        f"{len(held_tools)} held, {writing_count or 'none'} of them {'write' if writing_count != 1 else 'writes'}",
        lines,
    )


def _collect_columns(tools: list[_ListedTool]) -> tuple[list[str], list[str]]:
    return [one.tool.name for one in tools], [one.access for one in tools]


def _label_tool(listed_tool: _ListedTool) -> str:
    return listed_tool.tool.name if listed_tool.tool.access == "read" else f"{listed_tool.tool.name} (writes)"


def _collect_tools(crew: Crew) -> list[_ListedTool]:
    """List all tools of a crew: those of toolkits, then those that only a specialist has, then those lent for a job."""
    listed_tools: dict[tuple[str, str], _ListedTool] = {}
    for tool in (tool for kit in list_toolkits(crew) for tool in kit.tools):
        listed_tools.setdefault((tool.origin, tool.name), _ListedTool(tool))
    for name, one in crew.all_specialists.items():
        for tool in one.tools:
            listed_tool = listed_tools.setdefault((tool.origin, tool.name), _ListedTool(tool))
            listed_tool.holders.append(name)
            listed_tool.terms = one.find_approval_terms(tool.name)
    for each in _iterate_crews(crew):
        for tool in each.lent_tools.values():
            holders = listed_tools.setdefault((tool.origin, tool.name), _ListedTool(tool)).holders
            holders += [AD_HOC_HOLDERS] if AD_HOC_HOLDERS not in holders else []
    return list(listed_tools.values())


def describe_unused_tools(crew: Crew) -> list[str]:
    """Return a line of advice for each of the crew's own toolkits and MCP servers that has unused tools.

    A server counts only if none of its tools is used, as it may offer more than the crew needs.
    """
    listed_tools, lines = _collect_tools(crew), []
    for each in _iterate_crews(crew):
        holder = next((one.path.name for one in each.all_specialists.values()), "clerk.md")
        for kit in each.toolkits:
            kit_tools = [one for one in listed_tools if one.tool.origin == kit.origin]
            unused_names = [one.tool.name for one in kit_tools if not one.holders]
            if unused_names and FOLDER in kit.origin.split("/"):
                them = "it" if len(unused_names) == 1 else "them"
                what, add = f"{', '.join(unused_names)} of {kit.origin}", f"add {them} to `tools`"
            elif unused_names and SERVERS in kit.origin and len(unused_names) == len(kit_tools):
                what, them, add = f"a tool of {kit.origin}", "them", "add those that it needs to `tools`"
            else:
                continue
            lines.append(f"nobody holds {what}, so no job can use {them}: {add} of a specialist, such as in {holder}")
    return lines


def list_toolkits(crew: Crew) -> list[Toolkit]:
    """List the toolkits of a crew and of the crews inside it."""
    return [kit for each in _iterate_crews(crew) for kit in each.toolkits]


def _iterate_crews(crew: Crew) -> Iterable[Crew]:
    yield crew
    for inner in crew.crews.values():
        yield from _iterate_crews(inner)


async def prove_toolkits(
    crew: Crew, proved_toolkits: set[tuple[str, Path | None]]
) -> AsyncGenerator[tuple[str, tuple[str, ...]]]:
    """Test all toolkits that have a test, side by side. Yields pairs of (origin, faults) as they are known.

    Crews share toolkits, so those whose (origin, path) is in `proved_toolkits` are skipped. The others are added to it.
    """
    kits = {(kit.origin, kit.path): kit for kit in list_toolkits(crew) if kit.prove is not None}
    tasks = [asyncio.create_task(_prove_toolkit(kit)) for key, kit in kits.items() if key not in proved_toolkits]
    proved_toolkits |= set(kits)
    try:
        for work in asyncio.as_completed(tasks):
            yield await work
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _prove_toolkit(kit: Toolkit) -> tuple[str, tuple[str, ...]]:
    origin = kit.origin or OWN_ORIGIN
    try:
        async with asyncio.timeout(PROOF_TIMEOUT_SECONDS):
            return origin, tuple(await kit.prove()) if kit.prove is not None else ()
    except TimeoutError:
        fault = f"gave no answer within {PROOF_TIMEOUT_SECONDS:g} s; see if what it reaches is up, or take it away"
        return origin, (fault,)
    except Exception as error:  # noqa: BLE001 - not hidden: it is said, and the other toolkits are proved all the same
        return origin, (f"its proof broke with {type(error).__name__} ({str(error)[:200]}); tell whoever made it",)
