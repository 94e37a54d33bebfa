"""`mcp.lock`: the tools of MCP servers as somebody accepted them. Pure but for reading and writing the file.

A server may change what its tools are called, say and take at any time. What a crew works with is what stands in the
lock; a digest over all of a tool shows if the server says something else by now.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from handoff.text.visible_text import visible

NAME = "mcp.lock"
LARGEST = 4 * 1024 * 1024
"""Bytes of the file."""
BROKEN = "leadhandLeftOut"
"""The key that only we write: why a tool was left out."""
_VERSION = 1
_HEAD = (
    "# Written by `leadhand mcp accept`: the tools of MCP servers as they were accepted. Keep it beside .mcp.json.\n"
)


class LockFault(Exception):
    """What is wrong with the file, and what to do."""


@dataclass(frozen=True, slots=True)
class LockedTool:
    """A tool as its server describes it: everything that its digest is over, by the names of the wire."""

    told: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The server's name for it."""
        return str(self.told["name"])

    @property
    def title(self) -> str:
        """The server's title of it; empty if there is none."""
        hints = self.told.get("annotations")
        return str(self.told.get("title") or (hints.get("title") if isinstance(hints, dict) else "") or "")

    @property
    def description(self) -> str:
        """What the server says of it."""
        return str(self.told.get("description") or "")

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of its arguments."""
        schema = self.told.get("inputSchema")
        return schema if isinstance(schema, dict) else {"type": "object"}

    @property
    def broken_reason(self) -> str:
        """Why the server's description of it cannot be read, if so: then it has a name and nothing else."""
        return str(self.told.get(BROKEN) or "")

    @property
    def hinted_read_only(self) -> bool:
        """True if the server calls it read-only: a suggestion, no more."""
        hints = self.told.get("annotations")
        return isinstance(hints, dict) and hints.get("readOnlyHint") is True

    @property
    def digest(self) -> str:
        """What shows a change: sha256 over all of it, keys in order."""
        text = json.dumps(self.told, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def parse_told_tool(told: Mapping[str, Any]) -> LockedTool:
    """Make a tool of what a server said, by the names of the wire, without what no file can hold."""
    plain = json.dumps(told, ensure_ascii=False).encode("utf-8", "replace").decode()
    return LockedTool(json.loads(plain))


def make_broken_tool(name: str, why: str) -> LockedTool:
    """Make a tool whose description cannot be used, so that it has only a name and the reason."""
    return parse_told_tool({"name": name, BROKEN: why})


@dataclass(frozen=True, slots=True)
class ToolLock:
    """The accepted tools of each server, by its name."""

    servers: Mapping[str, tuple[LockedTool, ...]] = field(default_factory=dict)

    def tools_of(self, server: str) -> tuple[LockedTool, ...] | None:
        """Return the accepted tools of a server; None if nobody has accepted any."""
        return self.servers.get(server)

    def with_server(self, server: str, tools: Sequence[LockedTool]) -> ToolLock:
        """Return the lock with these tools of a server."""
        return ToolLock({**self.servers, server: tuple(tools)})

    def keep_only(self, keep: Sequence[str]) -> ToolLock:
        """Return the lock with only the named servers."""
        return ToolLock({name: tools for name, tools in self.servers.items() if name in keep})


def read(path: Path) -> ToolLock:
    """Read a lock; one that is not there is empty.

    Raises:
        LockFault: It cannot be read, or somebody has changed it by hand.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return ToolLock()
    except OSError as error:
        raise LockFault(f"it cannot be read: {error.strerror}; check its permissions") from None
    again = "run `leadhand mcp accept` to write it again"
    if len(data) > LARGEST:
        raise LockFault(f"it has more than {LARGEST // 1024 // 1024} MB; {again}")
    try:
        said = yaml.load(data, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - both are safe
        servers = {str(name): tuple(_parse_tool(one) for one in tools) for name, tools in said["servers"].items()}
    except (yaml.YAMLError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise LockFault(f"it was changed by hand or damaged, so nobody knows what was accepted; {again}") from None
    if said.get("version") != _VERSION:
        raise LockFault(f"its version is not {_VERSION}; {again}")
    return ToolLock(servers)


def _parse_tool(said: Any) -> LockedTool:
    tool = LockedTool({key: value for key, value in said.items() if key != "sha256"})
    if not isinstance(tool.told["name"], str) or said["sha256"] != tool.digest:
        raise ValueError
    return tool


def write(path: Path, lock: ToolLock) -> None:
    """Write a lock whole, or not at all: in order of the names, a key a line.

    Raises:
        LockFault: Read again, it would not be the same.
        OSError: It cannot be written.
    """
    servers = {
        name: [{"sha256": one.digest, **_order_keys(one.told)} for one in sorted(tools, key=lambda one: one.name)]
        for name, tools in sorted(lock.servers.items())
    }
    body = yaml.dump(
        {"version": _VERSION, "servers": servers}, Dumper=_Readable, sort_keys=False, allow_unicode=True, width=110
    )
    part = path.with_name(path.name + ".part")
    part.write_text(_HEAD + body, encoding="utf-8")
    read(part)  # YAML has many ways to read a text as something else: what does not come back as it was is not kept
    part.replace(path)


def _order_keys(told: Mapping[str, Any]) -> dict[str, Any]:
    """Put the keys of a tool into one order at all levels, the name first: servers send them in any."""
    rest = json.loads(json.dumps({key: value for key, value in told.items() if key != "name"}, sort_keys=True))
    return {"name": told["name"], **rest}


class _Readable(yaml.SafeDumper):
    """Writes texts of several lines as such, and nothing by reference."""

    def ignore_aliases(self, _data: Any) -> bool:
        """Write everything out: a reference is hard to read in a diff."""
        return True


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = '"' if visible(text) != text or "\r" in text else "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Readable.add_representer(str, _represent_text)
