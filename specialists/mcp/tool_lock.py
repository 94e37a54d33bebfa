"""Reads and writes `mcp.lock`: the tools of MCP servers as somebody accepted them.

A server may change the names, descriptions and arguments of its tools at any time. A crew works with the tools in the
lock. A digest of a tool's whole description shows if the server now describes it differently.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from handoff.text.invisible_characters import remove_invisible

FILE_NAME = "mcp.lock"
MAX_BYTES = 4 * 1024 * 1024
"""Most bytes of the file."""
BROKEN_REASON_KEY = "leadhandLeftOut"
"""A key that only we write: the reason why a tool was left out."""
_VERSION = 1
_HEADER = (
    "# Written by `leadhand mcp accept`: the tools of MCP servers as they were accepted. Keep it beside .mcp.json.\n"
)


class LockError(Exception):
    """The lock file cannot be used. The text says what is wrong and what to do."""


@dataclass(frozen=True, slots=True)
class LockedTool:
    """A tool as its server describes it. `fields` holds the fields that the digest covers, by their protocol names."""

    fields: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The server's name for it."""
        return str(self.fields["name"])

    @property
    def title(self) -> str:
        """The server's title of the tool; "" if there is none."""
        hints = self.fields.get("annotations")
        return str(self.fields.get("title") or (hints.get("title") if isinstance(hints, dict) else "") or "")

    @property
    def description(self) -> str:
        """The server's description of the tool; "" if there is none."""
        return str(self.fields.get("description") or "")

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of its arguments."""
        schema = self.fields.get("inputSchema")
        return schema if isinstance(schema, dict) else {"type": "object"}

    @property
    def broken_reason(self) -> str:
        """Why the server's description of the tool is unusable, and only its name is known; "" if it is usable."""
        return str(self.fields.get(BROKEN_REASON_KEY) or "")

    @property
    def is_hinted_read_only(self) -> bool:
        """True if the server calls it read-only, which is only a hint."""
        hints = self.fields.get("annotations")
        return isinstance(hints, dict) and hints.get("readOnlyHint") is True

    @property
    def digest(self) -> str:
        """The SHA-256 of `fields` as JSON with sorted keys, in hex. It differs after any change."""
        text = json.dumps(self.fields, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def make_locked_tool(fields: Mapping[str, Any]) -> LockedTool:
    """Make a tool from a server's description, with characters that no file can hold replaced."""
    plain = json.dumps(fields, ensure_ascii=False).encode("utf-8", "replace").decode()
    return LockedTool(json.loads(plain))


def make_broken_tool(name: str, reason: str) -> LockedTool:
    """Make a tool with an unusable description, which has only its name and the reason."""
    return make_locked_tool({"name": name, BROKEN_REASON_KEY: reason})


@dataclass(frozen=True, slots=True)
class ToolLock:
    """The accepted tools of each server, by the server's name."""

    servers: Mapping[str, tuple[LockedTool, ...]] = field(default_factory=dict)

    def find_tools(self, server: str) -> tuple[LockedTool, ...] | None:
        """Return the accepted tools of a server; None if nobody has accepted any."""
        return self.servers.get(server)

    def with_server(self, server: str, tools: Sequence[LockedTool]) -> ToolLock:
        """Return the lock with the tools of a server added or replaced."""
        return ToolLock({**self.servers, server: tuple(tools)})

    def select_servers(self, names: Sequence[str]) -> ToolLock:
        """Return the lock with only the named servers."""
        return ToolLock({name: tools for name, tools in self.servers.items() if name in names})


def read_lock(path: Path) -> ToolLock:
    """Read a lock. A missing file gives an empty lock.

    Raises:
        LockError: It cannot be read, is too large, has another version, or was changed by hand.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return ToolLock()
    except OSError as error:
        raise LockError(f"it cannot be read: {error.strerror}; check its permissions") from None
    hint = "run `leadhand mcp accept` to write it again"
    if len(data) > MAX_BYTES:
        raise LockError(f"it has more than {MAX_BYTES // 1024 // 1024} MB; {hint}")
    try:
        document = yaml.load(data, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - both are safe
        servers = {str(name): tuple(_parse_tool(one) for one in tools) for name, tools in document["servers"].items()}
    except (yaml.YAMLError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise LockError(f"it was changed by hand or damaged, so nobody knows what was accepted; {hint}") from None
    if document.get("version") != _VERSION:
        raise LockError(f"its version is not {_VERSION}; {hint}")
    return ToolLock(servers)


def _parse_tool(entry: Any) -> LockedTool:
    tool = LockedTool({key: value for key, value in entry.items() if key != "sha256"})
    if not isinstance(tool.fields["name"], str) or entry["sha256"] != tool.digest:
        raise ValueError
    return tool


def write_lock(path: Path, lock: ToolLock) -> None:
    """Write a lock atomically, sorted by name, with one key a line.

    Raises:
        LockError: Read back, it would not be the same.
        OSError: It cannot be written.
    """
    servers = {
        name: [{"sha256": one.digest, **_order_keys(one.fields)} for one in sorted(tools, key=lambda one: one.name)]
        for name, tools in sorted(lock.servers.items())
    }
    body = yaml.dump(
        {"version": _VERSION, "servers": servers},
        Dumper=_ReadableDumper,
        sort_keys=False,
        allow_unicode=True,
        width=110,
    )
    part = path.with_name(path.name + ".part")
    part.write_text(_HEADER + body, encoding="utf-8")
    read_lock(part)  # raises if YAML reads any text back differently
    part.replace(path)


def _order_keys(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tool's fields with sorted keys at all levels, the name first, since servers send them in any order."""
    rest = json.loads(json.dumps({key: value for key, value in fields.items() if key != "name"}, sort_keys=True))
    return {"name": fields["name"], **rest}


class _ReadableDumper(yaml.SafeDumper):
    """Writes texts of several lines as blocks, and never uses YAML references."""

    def ignore_aliases(self, _data: Any) -> bool:
        """Return True: references are hard to read in a diff."""
        return True


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = '"' if remove_invisible(text) != text or "\r" in text else "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_ReadableDumper.add_representer(str, _represent_text)
