"""Reads and writes `mcp.lock`: the tools of MCP servers as somebody accepted them.

A server may change the names, descriptions and arguments of its tools at any time. A crew works with the tools in the
lock; a digest over all of a tool shows if the server now describes it differently.
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
"""Most bytes of the file."""
BROKEN = "leadhandLeftOut"
"""A key that only we write: the reason why a tool was left out."""
_VERSION = 1
_HEAD = (
    "# Written by `leadhand mcp accept`: the tools of MCP servers as they were accepted. Keep it beside .mcp.json.\n"
)


class LockFault(Exception):
    """A fault of the file. The text says what is wrong and what to do."""


@dataclass(frozen=True, slots=True)
class LockedTool:
    """A tool as its server describes it. `told` holds the fields that the digest covers, by their protocol names."""

    told: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The server's name for it."""
        return str(self.told["name"])

    @property
    def title(self) -> str:
        """The server's title of the tool; "" if there is none."""
        hints = self.told.get("annotations")
        return str(self.told.get("title") or (hints.get("title") if isinstance(hints, dict) else "") or "")

    @property
    def description(self) -> str:
        """The server's description of the tool; "" if there is none."""
        return str(self.told.get("description") or "")

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of its arguments."""
        schema = self.told.get("inputSchema")
        return schema if isinstance(schema, dict) else {"type": "object"}

    @property
    def broken_reason(self) -> str:
        """Why the server's description of it is unusable, so that it has only a name; "" if it is usable."""
        return str(self.told.get(BROKEN) or "")

    @property
    def hinted_read_only(self) -> bool:
        """True if the server calls it read-only, which is only a hint."""
        hints = self.told.get("annotations")
        return isinstance(hints, dict) and hints.get("readOnlyHint") is True

    @property
    def digest(self) -> str:
        """The sha256 over all of it, keys in order: it differs after any change."""
        text = json.dumps(self.told, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def parse_told_tool(told: Mapping[str, Any]) -> LockedTool:
    """Make a tool from a server's description, with characters that no file can hold replaced."""
    plain = json.dumps(told, ensure_ascii=False).encode("utf-8", "replace").decode()
    return LockedTool(json.loads(plain))


def make_broken_tool(name: str, why: str) -> LockedTool:
    """Make a tool with an unusable description, which has only its name and the reason."""
    return parse_told_tool({"name": name, BROKEN: why})


@dataclass(frozen=True, slots=True)
class ToolLock:
    """The accepted tools of each server, by the server's name."""

    servers: Mapping[str, tuple[LockedTool, ...]] = field(default_factory=dict)

    def tools_of(self, server: str) -> tuple[LockedTool, ...] | None:
        """Return the accepted tools of a server; None if nobody has accepted any."""
        return self.servers.get(server)

    def with_server(self, server: str, tools: Sequence[LockedTool]) -> ToolLock:
        """Return the lock with the tools of a server added or replaced."""
        return ToolLock({**self.servers, server: tuple(tools)})

    def keep_only(self, keep: Sequence[str]) -> ToolLock:
        """Return the lock with only the named servers."""
        return ToolLock({name: tools for name, tools in self.servers.items() if name in keep})


def read(path: Path) -> ToolLock:
    """Read a lock. A missing file gives an empty lock.

    Raises:
        LockFault: It cannot be read, or was changed by hand.
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
    """Write a lock atomically, sorted by name, with one key a line.

    Raises:
        LockFault: Read back, it would not be the same.
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
    read(part)  # raises if YAML reads any text back differently
    part.replace(path)


def _order_keys(told: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tool's fields in one order at all levels, the name first: servers send them in any order."""
    rest = json.loads(json.dumps({key: value for key, value in told.items() if key != "name"}, sort_keys=True))
    return {"name": told["name"], **rest}


class _Readable(yaml.SafeDumper):
    """Writes texts of several lines as blocks, and never uses YAML references."""

    def ignore_aliases(self, _data: Any) -> bool:
        """Return True: references are hard to read in a diff."""
        return True


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = '"' if visible(text) != text or "\r" in text else "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Readable.add_representer(str, _represent_text)
