"""Makes the tools of a crew's MCP servers from `.mcp.json` and `mcp.lock` alone, without connecting to a server.

A tool counts as writing unless the operator says that it only reads. The first call connects to its server, and
compares the server's description of the tool with the accepted one. A tool that changed is refused.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from handoff.text.context_budget import estimate_token_count
from handoff.text.invisible_characters import remove_invisible
from specialists.files.frontmatter import CrewFault
from specialists.mcp import safe_schema, server_config, server_replies, shown_schema, tool_lock
from specialists.mcp.oauth_metadata import find_authorization_server
from specialists.mcp.safe_schema import ServerArguments, make_argument_model
from specialists.mcp.sdk import load_sdk
from specialists.mcp.server_config import ServerConfig
from specialists.mcp.server_connection import CallRefusedByServer, ServerConnection, ServerUnreachable, ToolChanged
from specialists.mcp.server_sign_in import ServerSignIn
from specialists.mcp.tool_lock import LockedTool, LockError, ToolLock
from specialists.tools.extras import describe_unavailable_tool
from specialists.tools.tool import OutgoingData, Tool, ToolOutcome, Workbench
from specialists.tools.tool_sign_in import SignInFailed
from specialists.tools.toolkit import Toolkit, ToolSettings

LONGEST_DESCRIPTION = 1_000
"""Most characters of a tool's description that models see."""
LONGEST_TOOL_NAME = 128
"""Most characters of a server's own name for a tool."""
MAX_APPROVAL_CHARACTERS = 20_000
"""Most characters of arguments as JSON that people can be asked to approve."""
_LONGEST_OFFERED_NAME = 64
_UNFIT_CHARACTER = re.compile(r"[^A-Za-z0-9_-]")
EXTRA_MODULES = ("mcp", "jsonschema", "referencing")
"""The packages that the extra `mcp` brings."""


def read_server_toolkits(folder: Path, settings: ToolSettings, faults: list[CrewFault]) -> tuple[Toolkit, ...]:
    """Make a toolkit for each MCP server of a crew's folder. A server with faults is left out.

    Args:
        folder: The crew's folder.
        settings: The environment for the variables of `.mcp.json`, and the folder for the servers' HOMEs.
        faults: The list to which each fault is added, with file and line.
    """
    path = folder / server_config.FILE_NAME
    server_list = server_config.read_servers(path, settings.env)
    faults += [CrewFault(path, line, text) for line, text in server_list.faults]
    if not server_list.servers:
        return ()
    try:
        lock = tool_lock.read_lock(folder / tool_lock.FILE_NAME)
    except LockError as fault:
        faults.append(CrewFault(folder / tool_lock.FILE_NAME, 1, str(fault)))
        return ()
    toolkits = []
    for config in server_list.servers:
        server_faults = _find_lock_faults(config, lock)
        faults += [CrewFault(path, config.line, text) for text in server_faults]
        if not server_faults:
            toolkits.append(make_toolkit(config, lock.servers[config.name], settings, folder.name))
    return tuple(toolkits)


def _find_lock_faults(config: ServerConfig, lock: ToolLock) -> list[str]:
    tools = lock.find_tools(config.name)
    if tools is None:
        hint = f"run `leadhand mcp accept {config.name}` to look at them"
        return [f"nobody has accepted the tools of the server {config.name} yet; {hint}"]
    unknown_names = sorted(config.read_only_tools - {tool.name for tool in tools})
    return [
        f"the server {config.name}: readOnly names {one[:60]!r}, and no such tool was accepted; take it out"
        for one in unknown_names
    ]


def make_connection(config: ServerConfig, settings: ToolSettings, crew: str) -> ServerConnection:
    """Make the connection to a server, without connecting. `crew` keeps the HOMEs of different crews' servers apart."""
    home = settings.data.expanduser() / "mcp" / crew / config.name
    sign_in = ServerSignIn(config, crew) if config.uses_oauth else None
    return ServerConnection(config, home, settings.env.get("PATH") or os.defpath, sign_in=sign_in)


def make_toolkit(config: ServerConfig, tools: tuple[LockedTool, ...], settings: ToolSettings, crew: str) -> Toolkit:
    """Make the toolkit of a server's accepted tools, without those that `find_unusable_reason` rejects."""
    connection = make_connection(config, settings, crew)
    left_out_reasons = list_left_out_reasons(config.name, tools)
    registry_tools = [
        _ServerTool(config, one, connection).registry_tool for one in tools if one.name not in left_out_reasons
    ]
    return Toolkit(
        f"{server_config.FILE_NAME}: {config.name}",
        tuple(registry_tools),
        unusable_tools={" ".join(remove_invisible(name).split())[:60]: why for name, why in left_out_reasons.items()},
        prove=functools.partial(_find_server_problems, config, tools, connection),
        background_task=_preload_sdk,
        close=connection.close,
    )


def list_left_out_reasons(server: str, tools: Iterable[LockedTool]) -> dict[str, str]:
    """Return the tools of a server that cannot be offered: the server's name for the tool -> the reason."""
    reasons: dict[str, str] = {}
    taken_names: dict[str, str] = {}
    for one in tools:
        offered_name = make_tool_name(server, one.name)
        if why := find_unusable_reason(one):
            reasons[one.name] = why
        elif offered_name in taken_names:
            other_name = remove_invisible(taken_names[offered_name])[:60]
            reasons[one.name] = f"specialists would call it {offered_name}, which is {other_name!r}"
        else:
            taken_names[offered_name] = one.name
    return reasons


def find_unusable_reason(tool: LockedTool) -> str:
    """Return why a server's tool cannot be offered, whatever its other tools are; "" if it can."""
    if tool.broken_reason:
        return tool.broken_reason
    if not tool.name.strip():
        return "it has no name"
    if len(tool.name) > LONGEST_TOOL_NAME:
        return f"its name has more than {LONGEST_TOOL_NAME} characters"
    return safe_schema.find_schema_fault(tool.schema)


def make_tool_name(server: str, tool: str) -> str:
    """Return the name of a server's tool for specialists and models: letters, digits, - and _, at most 64."""
    name = f"{server_config.TOOL_NAME_PREFIX}{server}__{_UNFIT_CHARACTER.sub('_', tool)}"
    if len(name) <= _LONGEST_OFFERED_NAME:
        return name
    digest = hashlib.sha256(tool.encode()).hexdigest()[:6]
    return f"{name[: _LONGEST_OFFERED_NAME - len(digest) - 1]}_{digest}"


def list_changes(
    accepted_tools: tuple[LockedTool, ...], live_tools: tuple[LockedTool, ...]
) -> tuple[list[str], list[str], list[str]]:
    """Return the names of tools as three lists: (changed, gone, new)."""
    before, now = {one.name: one for one in accepted_tools}, {one.name: one for one in live_tools}
    changed_names = [name for name in before if name in now and before[name].digest != now[name].digest]
    return changed_names, [name for name in before if name not in now], [name for name in now if name not in before]


async def _preload_sdk() -> None:
    """Load the SDK in the background, before a call has to wait for it."""
    if not describe_unavailable_tool("mcp", *EXTRA_MODULES):
        await load_sdk()


async def _find_server_problems(
    config: ServerConfig, accepted_tools: tuple[LockedTool, ...], connection: ServerConnection
) -> tuple[str, ...]:
    """Return why a server cannot be used as accepted: not reachable, or tools that changed; empty if it can.

    With OAuth, only the sign-in is checked.
    """
    if absent := describe_unavailable_tool("mcp", *EXTRA_MODULES):
        return (absent,)
    if config.uses_oauth:
        return await _find_sign_in_problems(config)
    try:
        changed_names, removed_names, _ = list_changes(accepted_tools, await connection.list_tools())
    except ServerUnreachable as error:
        words = f"; it said: {connection.last_error}" if connection.last_error else ""
        return (f"the MCP server {config.name} cannot be reached: {error}{words}",)
    finally:
        await connection.close()
    hint = f"see what with `leadhand mcp accept {config.name}`"
    return (
        *(
            f"{config.name}: the tool {one[:60]} changed since it was accepted, and is refused; {hint}"
            for one in changed_names
        ),
        *(f"{config.name}: the tool {one[:60]} is gone; {hint}" for one in removed_names),
    )


async def _find_sign_in_problems(config: ServerConfig) -> tuple[str, ...]:
    """Return why people cannot sign in to a server; empty if they can. Its tools are not listed before a sign-in."""
    try:
        await find_authorization_server(config.url)
    except SignInFailed as error:
        return (f"the MCP server {config.name}: nobody can sign in. {error}",)
    return ()


@dataclass(frozen=True, slots=True)
class _ServerTool:
    """One tool of a server."""

    config: ServerConfig
    locked_tool: LockedTool
    connection: ServerConnection

    @property
    def registry_tool(self) -> Tool:
        """The tool as the registry knows it."""
        reads = self.locked_tool.name in self.config.read_only_tools
        return Tool(
            make_tool_name(self.config.name, self.locked_tool.name),
            "read" if reads else "write",
            make_argument_model(self.locked_tool.schema),
            self._call,
            what=None if reads else self._describe_call,
            target=None if reads else self._find_target,
            sends=None if self.config.is_local else self._describe_outgoing,
            description=describe_tool(self.locked_tool),
            parameters=shown_schema.rebuild_schema(self.locked_tool.schema),
            signs_in=self.connection.sign_in,
        )

    async def _call(self, arguments: ServerArguments, workbench: Workbench) -> ToolOutcome:
        name = self._visible_name
        if absent := describe_unavailable_tool("mcp", *EXTRA_MODULES):
            return ToolOutcome(absent, failed=True)
        try:
            answer = await self.connection.call_tool(self.locked_tool, dict(arguments.root))
        except ToolChanged as change:
            return ToolOutcome(self._describe_refusal(change), failed=True)
        except ServerUnreachable as error:
            text = f"{name} was not called: the MCP server {self.config.name} cannot be reached: {error}."
            return ToolOutcome(f"{text} Go on without it, and say so.", failed=True)
        except CallRefusedByServer as error:
            head = server_replies.UNTRUSTED_HEADING.format(server=self.config.name)
            return ToolOutcome(f"The server refused {name}.\n{head}\n{str(error)[:1000]}", failed=True)
        except (TimeoutError, ConnectionError) as error:
            if self._is_writing:
                raise
            text = f"{name} of the MCP server {self.config.name} gave no answer: {error or 'it took too long'}."
            return ToolOutcome(text, failed=True)
        return await server_replies.make_outcome(answer, self.config.name, name, workbench)

    def _describe_refusal(self, change: ToolChanged) -> str:
        """Return the message that tells the model why a changed or missing tool was not called."""
        change_text = (
            "is no longer there"
            if change.is_gone
            else "has changed since it was accepted: its server describes it differently"
        )
        hint = f"Whoever runs the bot can see what changed with `leadhand mcp accept {self.config.name}`."
        return f"{self._visible_name} was not called: it {change_text}. {hint} Go on without it, and say so."

    @property
    def _is_writing(self) -> bool:
        return self.locked_tool.name not in self.config.read_only_tools

    @property
    def _visible_name(self) -> str:
        return " ".join(remove_invisible(self.locked_tool.name).split())[:60]

    def _describe_call(self, arguments: ServerArguments) -> str:
        values = ", ".join(f"{key}={json.dumps(value, ensure_ascii=False)[:60]}" for key, value in arguments)
        return f"{self._visible_name}({values}) on the MCP server {self.config.name}"

    def _find_target(self, arguments: ServerArguments) -> str:
        del arguments
        return self.config.recipient

    def _describe_outgoing(self, arguments: ServerArguments) -> OutgoingData:
        text = json.dumps(arguments.root, ensure_ascii=False)
        # A call that no window can show whole is not put to people: nobody should approve what they cannot read.
        return OutgoingData(
            self.config.recipient, f"{self._visible_name} {text}", in_arguments=len(text) <= MAX_APPROVAL_CHARACTERS
        )


def estimate_tokens(tools: Iterable[LockedTool]) -> int:
    """Estimate how many tokens these tools add to each call of a specialist that has them."""
    texts = (f"{one.name} {describe_tool(one)} {json.dumps(shown_schema.rebuild_schema(one.schema))}" for one in tools)
    return sum(map(estimate_token_count, texts))


def describe_tool(tool: LockedTool) -> str:
    """Return a tool's description for models: the server's words, cut and with visible characters only."""
    text = (
        remove_invisible(tool.description).strip()
        or " ".join(remove_invisible(tool.title).split())
        or "No description."
    )
    return text if len(text) <= LONGEST_DESCRIPTION else f"{text[:LONGEST_DESCRIPTION]}…"
