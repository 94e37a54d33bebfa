"""The key `mcpServers` of a specialist: all tools of the MCP servers that it names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from specialists.files.frontmatter import MarkdownPage, did_you_mean
from specialists.loading.crew_checks import tool_names
from specialists.mcp.server_config import PREFIX
from specialists.tools.tool import Tool

KEY = "mcpServers"


def assign_tools(pages: Sequence[MarkdownPage], tools: Mapping[str, Tool]) -> None:
    """Put the tools of the servers that a page names under its `tools`. Faults are added to the page.

    A tool that writes and that another page names under its own `tools` belongs to that one alone.
    """
    own = {page.path: frozenset(tool_names(page) or ()) for page in pages}
    servers = sorted({name.split("__")[1] for name in tools if name.startswith(PREFIX)})
    for page in pages:
        if KEY not in page.values:
            continue
        named = _read_server_names(page)
        for server in named:
            if server not in servers:
                known = ", ".join(servers) or "none"
                page.fault(f"unknown server {server}{did_you_mean(server, servers)}; there are {known}", key=KEY)
        theirs = frozenset().union(*(names for path, names in own.items() if path != page.path))
        given = [
            name
            for name, tool in tools.items()
            if any(name.startswith(f"{PREFIX}{server}__") for server in named)
            and name not in own[page.path]
            and not (tool.access == "write" and name in theirs)
        ]
        if tool_names(page) is not None:
            page.values["tools"] = [*(tool_names(page) or ()), *given]
            page.lines.setdefault("tools", page.lines.get(KEY, 1))


def _read_server_names(page: MarkdownPage) -> list[str]:
    value = page.values[KEY]
    if isinstance(value, str):
        value = [name.strip() for name in value.split(",") if name.strip()]
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        page.fault(f"{KEY} must be a list of servers of .mcp.json, such as [git]", key=KEY)
        return []
    return list(dict.fromkeys(value))
