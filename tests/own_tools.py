"""Leadhand's own tools, loaded as the bot loads them."""

from __future__ import annotations

from specialists.loading import package_toolkits
from specialists.tools.tool import Tool
from specialists.tools.toolkit import Toolkit, ToolSettings


def all_toolkits(settings: ToolSettings | None = None) -> tuple[Toolkit, ...]:
    toolkits, faults = package_toolkits.load_toolkits(settings or ToolSettings())
    assert faults == ()
    return toolkits


def all_tools(settings: ToolSettings | None = None) -> dict[str, Tool]:
    return {tool.name: tool for toolkit in all_toolkits(settings) for tool in toolkit.tools}
