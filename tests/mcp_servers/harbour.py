"""A crew's folder with one MCP server in it, our hostile one, and what it was told and noted."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from specialists.files.frontmatter import CrewFault
from specialists.mcp import server_config, server_tools, tool_lock
from specialists.mcp.server_config import ServerConfig
from specialists.mcp.tool_lock import ToolLock, make_locked_tool
from specialists.tools.tool import Tool
from specialists.tools.toolkit import Toolkit, ToolSettings

SERVER = Path(__file__).with_name("hostile_server.py")
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
ANYTHING = {"type": "object"}
PATH = {"PATH": "/usr/local/bin:/usr/bin:/bin"}


def make_tool_entry(name: str, schema: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """A tool as a server tells of it."""
    return {"name": name, "description": f"Does {name}.", "inputSchema": schema or ANYTHING, **more}


@dataclass
class Harbour:
    """The folder of a crew with the server `port`."""

    folder: Path

    def __post_init__(self) -> None:
        self.has("look", "note", readOnly=["look"])

    @property
    def settings(self) -> ToolSettings:
        """What the crew's tools are set up with: a token of ours is in the environment."""
        return ToolSettings({**PATH, "SLACK_BOT_TOKEN": "xoxb-ours"}, self.folder / "data")

    def tells(self, words: str) -> None:
        """Have the tool `tides` say this."""
        Path(self._files[1]).write_text(words, encoding="utf-8")

    @property
    def notes(self) -> list[str]:
        """What the server noted."""
        file = self.folder / "notes.txt"
        return file.read_text(encoding="utf-8").splitlines() if file.exists() else []

    def has(self, *tools: str | dict[str, Any], lock: bool = True, **ours: Any) -> None:
        """Have the server offer these, all accepted unless said otherwise; `ours` is the operator's word on it."""
        self.says(*tools)
        server = {"command": sys.executable, "args": ["-I", "-S", str(SERVER), *self._files], "env": {"TIDES": "high"}}
        file = {"mcpServers": {"port": {**server, "leadhand": ours} if ours else server}}
        (self.folder / server_config.FILE_NAME).write_text(json.dumps(file), encoding="utf-8")
        if lock:
            accepted = ToolLock().with_server("port", [make_locked_tool(one) for one in self._tool_entries])
            tool_lock.write_lock(self.folder / tool_lock.FILE_NAME, accepted)

    def says(self, *tools: str | dict[str, Any]) -> None:
        """Have the server say this of its tools from its next start on, whatever was accepted."""
        self._tool_entries = [make_tool_entry(one) if isinstance(one, str) else one for one in tools]
        Path(self._files[0]).write_text(json.dumps(self._tool_entries), encoding="utf-8")

    def pages(self, pages: int, *tools: Any) -> None:
        """Have the server say this as it stands, on one page, or with the last as the second page."""
        said = {"pages": pages, "tools": tools}
        Path(self._files[0]).write_text(json.dumps(said), encoding="utf-8")

    def servers(self) -> tuple[ServerConfig, ...]:
        """The servers of the file."""
        return server_config.read_servers(self.folder / server_config.FILE_NAME, self.settings.env).servers

    @property
    def _files(self) -> tuple[str, str]:
        return str(self.folder / "tools.json"), str(self.folder / "notes.txt")

    def read(self) -> tuple[Toolkit, list[str]]:
        """Read the folder as a crew does: its only toolkit, and the faults."""
        faults: list[CrewFault] = []
        found = server_tools.read_server_toolkits(self.folder, self.settings, faults)
        return (found[0] if found else Toolkit("none"), [str(fault) for fault in faults])

    def toolkit(self) -> Toolkit:
        """Read the folder, which has no faults."""
        toolkit, faults = self.read()
        assert not faults
        return toolkit


def tool(toolkit: Toolkit, name: str) -> Tool:
    """Find a tool by the server's name for it."""
    return next(one for one in toolkit.tools if one.name == f"mcp__port__{name}")
