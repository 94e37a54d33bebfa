"""`leadhand mcp`: lists the crew's MCP servers, accepts their tools, and signs in to servers for that."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from bot.app import find_crew_folder
from bot.command_line import console
from bot.command_line.console import ask_person, is_interactive, say
from bot.settings import Settings, SettingsError
from specialists.mcp import server_config, tool_lock
from specialists.mcp.lock_difference import list_differences, make_plain_line
from specialists.mcp.server_config import ServerConfig
from specialists.mcp.server_connection import ServerUnreachable
from specialists.mcp.server_sign_in import ServerSignIn
from specialists.mcp.server_tools import (
    EXTRA_MODULES,
    estimate_tokens,
    list_left_out_reasons,
    make_connection,
    make_tool_name,
)
from specialists.mcp.tool_lock import LockedTool, LockError, ToolLock
from specialists.tools.extras import describe_unavailable_tool
from specialists.tools.tool_sign_in import LOCAL_RETURN_URL, SignInFailed
from specialists.tools.toolkit import ToolSettings

YES_ANSWERS = ("y", "yes")
_READ_ONLY_HINT = 'put "leadhand": {"readOnly": [...]} beside the server in .mcp.json'


async def manage_mcp_servers(options: argparse.Namespace, settings: Settings) -> int:
    """Run `list` or `accept`. Returns 0, or 1 if a server could not be reached or was not accepted.

    Raises SettingsError for a file that cannot be read, or for a named server that is in no file.
    """
    crew = find_crew_folder(settings)
    if not crew.is_dir():
        raise SettingsError(f"{crew}: there is no such crew; set LEADHAND_CREW to its folder.")
    places = [(path.parent, *_read_server_file(path, settings)) for path in _find_server_files(crew)]
    if not places:
        raise SettingsError(f"There is no {server_config.FILE_NAME} in {crew}; docs/tools.md says what goes into it.")
    if options.deed == "list":
        for _, servers, lock in places:
            for server in servers:
                _print_server(server, lock.find_tools(server.name))
        return 0
    server_names = [server.name for _, servers, _ in places for server in servers]
    for name in options.servers:
        if name not in server_names:
            raise SettingsError(f"There is no server {name}; there are {', '.join(server_names) or 'none'}.")
    if missing_package_fault := describe_unavailable_tool("mcp", *EXTRA_MODULES):
        raise SettingsError(missing_package_fault)
    outcomes = [await _accept_tools(*place, options, settings) for place in places]
    return 0 if all(outcomes) else 1


def _find_server_files(crew: Path) -> Iterator[Path]:
    """Find the server files of the crew and of the crews inside it."""
    return (path for path in sorted(crew.rglob(server_config.FILE_NAME)) if path.is_file())


def _read_server_file(path: Path, settings: Settings) -> tuple[tuple[ServerConfig, ...], ToolLock]:
    server_list = server_config.read_servers(path, settings.env)
    if server_list.faults:
        raise SettingsError("\n".join(f"{path}:{line}: {text}" for line, text in server_list.faults))
    try:
        return server_list.servers, tool_lock.read_lock(path.with_name(tool_lock.FILE_NAME))
    except LockError as fault:
        say(f"{path.with_name(tool_lock.FILE_NAME)}: {fault}")
        return server_list.servers, ToolLock()


def _print_server(server: ServerConfig, tools: tuple[LockedTool, ...] | None) -> None:
    """Print a server, and for each tool its access or why it is left out. `tools` is None if none were accepted."""
    local_note = ", local" if server.is_local else ""
    say(f"{server.name} ({server.kind}: {make_plain_line(server.command or server.recipient)}{local_note})")
    if tools is None:
        say(f"    nothing is accepted; run: leadhand mcp accept {server.name}")
    left_out = list_left_out_reasons(server.name, tools or ())
    for tool in tools or ():
        if tool.name in left_out:
            say(f"    {make_plain_line(tool.name)}: left out: {make_plain_line(left_out[tool.name])}")
            continue
        access = "read" if tool.name in server.read_only_tools else "write, asks"
        hint = "; its server calls it read-only" if tool.is_hinted_read_only and access != "read" else ""
        say(f"    {make_tool_name(server.name, tool.name)}: {access}{hint}")


async def _accept_tools(
    folder: Path, servers: tuple[ServerConfig, ...], lock: ToolLock, options: argparse.Namespace, settings: Settings
) -> bool:
    """Print the tool changes of each server in a file, and write those that a person accepts to the lock.

    Returns False if a server could not be reached or was not accepted.
    """
    all_accepted = True
    for server in servers:
        if options.servers and server.name not in options.servers:
            continue
        offered_tools = await _fetch_tools(server, ToolSettings(settings.env, settings.data), folder.name)
        if offered_tools is None:
            all_accepted = False
            continue
        lines = list_differences(lock.find_tools(server.name), offered_tools)
        if not lines and lock.find_tools(server.name) is not None:
            say(f"{server.name}: as it was accepted, {len(offered_tools)} tools.")
            continue
        say("\n".join([f"{server.name}:", *lines]))
        if not await _confirm_tools(server.name, yes=options.yes):
            say(f"{server.name}: not accepted; nothing was written.")
            all_accepted = False
            continue
        lock = lock.with_server(server.name, offered_tools).select_servers([one.name for one in servers])
        _write_lock(folder / tool_lock.FILE_NAME, lock)
        say(_summarize_tools(server, offered_tools))
    return all_accepted


async def _fetch_tools(server: ServerConfig, settings: ToolSettings, crew: str) -> tuple[LockedTool, ...] | None:
    connection = make_connection(server, settings, crew)
    if connection.sign_in is not None and (why := await sign_in(connection.sign_in)):
        say(f"{server.name}: {why}.")
        return None
    try:
        return await connection.list_tools()
    except ServerUnreachable as error:
        words = f" It said: {connection.last_error}" if connection.last_error else ""
        say(f"{server.name}: it cannot be reached: {error}.{words}")
        return None
    finally:
        await connection.close()


async def _confirm_tools(name: str, *, yes: bool) -> bool:
    if yes:
        return True
    if not is_interactive():
        say("Nobody is there to say yes; read the above, and run it again with --yes.")
        return False
    return (await ask_person(f"Accept these tools of {name}? (yes/no) ") or "").lower() in YES_ANSWERS


def _write_lock(path: Path, lock: ToolLock) -> None:
    try:
        tool_lock.write_lock(path, lock)
    except (OSError, LockError) as error:
        raise SettingsError(f"{path} cannot be written: {error}.") from None


def _summarize_tools(server: ServerConfig, tools: tuple[LockedTool, ...]) -> str:
    """Return a text with the numbers of accepted and of writing tools, the tools left out, and their cost in tokens."""
    left_out = list_left_out_reasons(server.name, tools)
    usable = [tool for tool in tools if tool.name not in left_out]
    writing_tools = [tool for tool in usable if tool.name not in server.read_only_tools]
    hinted_names = [make_plain_line(tool.name) for tool in writing_tools if tool.is_hinted_read_only]
    writing = f"{len(writing_tools)} of them may write, and ask before each call"
    lines = [f"{server.name}: accepted, {len(usable)} tools; {writing}."]
    lines += [f"Left out: {make_plain_line(name)}: {make_plain_line(why)}" for name, why in left_out.items()]
    lines.append(
        f"A specialist that has them all carries about {estimate_tokens(usable):,} tokens of them in each call."
    )
    if hinted_names:
        lines.append(
            f"Its server says that these only read: {', '.join(hinted_names)}. If you know so too, {_READ_ONLY_HINT}."
        )
    return "\n".join(lines)


MAX_SIGN_IN_TRIES = 3
_TERMINAL_USER = "terminal"


class SignInsInMemory:
    """Keeps sign-ins in memory while a command runs, as a `SignInStore`."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    async def keep(self, name: str, text: str, seconds: float | None = None) -> None:
        """Keep a text by name until the command ends. `seconds` is ignored."""
        del seconds
        self._texts[name] = text

    async def read(self, name: str) -> str:
        """Return a text; empty if there is none."""
        return self._texts.get(name, "")

    async def pop(self, name: str) -> str:
        """Return a text and remove it; empty if there is none."""
        return self._texts.pop(name, "")


async def sign_in(server_sign_in: ServerSignIn) -> str:
    """Have the person at the terminal sign in to a server. Returns the reason for a failure, or "" after success."""
    if not console.is_interactive():
        return "somebody has to sign in to it, and nobody sits at this terminal"
    sign_ins = SignInsInMemory()
    why = ""
    for _ in range(MAX_SIGN_IN_TRIES):
        try:
            link = await server_sign_in.begin(sign_ins, _TERMINAL_USER)
        except SignInFailed as failed:
            return str(failed).rstrip(".")
        console.say(f"{server_sign_in.server} wants a sign-in. Open this, and sign in there:\n\n{link}\n")
        console.say(f"Your browser ends at an address that begins with {LOCAL_RETURN_URL} and cannot be reached.")
        address = await console.ask_person("Paste that whole address here: ")
        if address is None:
            return "nobody signed in"
        try:
            await server_sign_in.finish(sign_ins, _TERMINAL_USER, address)
        except SignInFailed as failed:
            why = str(failed).rstrip(".")
            console.say(f"{why}.")
            continue
        await server_sign_in.is_signed_in(sign_ins)
        return ""
    return why
