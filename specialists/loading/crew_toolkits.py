"""Reads the toolkits that lie in a crew's folder, beside its specialists."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from specialists.loading.frontmatter import CrewFault
from specialists.mcp_servers import server_tools
from specialists.toolkits.tool import Tool
from specialists.toolkits.toolkit import Toolkit, ToolSettings


def read(
    folder: Path, tools: Mapping[str, Tool], settings: ToolSettings, faults: list[CrewFault]
) -> tuple[Toolkit, ...]:
    """Read the toolkits of a crew's folder; what is wrong with one is added to `faults`, and it is left out.

    Args:
        folder: The crew's folder. Its toolkits serve this crew and the crews inside it.
        tools: The tools that are there already, whose names are taken.
        settings: What toolkits are set up with.
        faults: Where each fault goes, by file and line.
    """
    del tools
    return server_tools.read(folder, settings, faults)
