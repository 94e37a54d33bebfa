"""`leadhand try --tool NAME JSON`: calls one tool of the crew by hand, as its specialist's model would."""

from __future__ import annotations

import argparse
import asyncio
import json
import secrets
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bot.app import load_crews
from bot.command_line.console import say
from bot.command_line.tool_list import list_toolkits
from bot.settings import Settings, SettingsError
from handoff.contracts import ToolCall
from specialists.crew import Crew
from specialists.formats.contents import guess_media_type
from specialists.tools.tool import FolderWorkbench, Tool, ToolOutcome
from specialists.turns.one_call import ToolCrashed, check_call, prepare_call, run_read_call

EXIT_WORKED, EXIT_FAILED = 0, 1
YES = "yes"
_ARGUMENTS_FORM = """Write them such as '{"word": "tide"}'."""
READ_TIMEOUT_SECONDS = 120.0
"""Timeout in seconds of a call that only reads. A call that writes has none."""


async def call_tool(options: argparse.Namespace, settings: Settings) -> int:
    """Call the tool and print its outcome as a model would get it; without arguments, print its schema.

    Returns the exit code. Raises SettingsError.
    """
    crew = load_crews(settings).usual_crew
    try:
        tool = _find_tool(options.tool, crew)
        if options.arguments is None:
            say(f"{tool.name}: {tool.spec.description}\nIts arguments:\n{json.dumps(tool.spec.parameters, indent=2)}")
            return EXIT_WORKED
        with tempfile.TemporaryDirectory(prefix="leadhand-tool-") as folder:
            outcome = await _make_call(tool, _parse_arguments(options.arguments), options.file, Path(folder))
            for artifact in outcome.artifacts:
                say(f"made {artifact.name} ({artifact.size:,} bytes)")
    finally:
        await asyncio.gather(*(kit.close() for kit in list_toolkits(crew) if kit.close is not None))
    say(outcome.text)
    for label, lines in (("gap", outcome.gaps), ("note", outcome.notes), ("source", outcome.sources)):
        for line in lines:
            say(f"{label}: {line}")
    return EXIT_FAILED if outcome.failed else EXIT_WORKED


def _find_tool(name: str, crew: Crew) -> Tool:
    tools = {tool.name: tool for kit in list_toolkits(crew) for tool in kit.tools}
    tools |= {tool.name: tool for one in crew.all_specialists.values() for tool in one.tools}
    if name not in tools:
        raise SettingsError(f"The crew {crew.name} has no tool {name!r}. It has: {', '.join(sorted(tools))}.")
    return tools[name]


def _parse_arguments(text: str) -> dict[str, object]:
    try:
        arguments = json.loads(text)
    except ValueError as error:
        raise SettingsError(f"The arguments are no JSON: {error}. {_ARGUMENTS_FORM}") from None
    if not isinstance(arguments, dict):
        raise SettingsError(f"The arguments are no JSON object. {_ARGUMENTS_FORM}")
    return arguments


async def _make_call(tool: Tool, arguments: dict[str, object], files: Sequence[Path], folder: Path) -> ToolOutcome:
    """Check, prepare and make the call as a specialist's turn does. A tool that writes is called only after a yes."""
    workbench = FolderWorkbench.make_in_memory([await _read_file(path) for path in files], folder)
    ready_call = check_call(
        ToolCall(id="by_hand", name=tool.name, arguments=arguments), {tool.name: tool}, request_count=1
    )
    ready_call = await prepare_call(ready_call, workbench)
    if isinstance(ready_call, ToolOutcome):
        return ready_call
    try:
        if tool.access == "read":
            return await run_read_call(
                ready_call, workbench, deadline=asyncio.get_running_loop().time() + READ_TIMEOUT_SECONDS
            )
        if not _ask_for_yes(tool, arguments):
            words = f"{tool.name} changes something outside, and was not called: nobody said {YES}."
            return ToolOutcome(words, failed=True)
        key = () if tool.key == "none" else (secrets.token_hex(16),)
        return await tool.run(ready_call.arguments, workbench, *key)
    except ToolCrashed as error:
        return ToolOutcome(f"{tool.name} broke: {error}", failed=True)


async def _read_file(path: Path) -> tuple[str, str, bytes]:
    """Return the name, media type and bytes of a file. Raises SettingsError."""
    try:
        data = await asyncio.to_thread(path.read_bytes)
    except OSError as error:
        raise SettingsError(f"{path} cannot be read: {error.strerror}.") from None
    return path.name, guess_media_type(path.name) or "application/octet-stream", data


def _ask_for_yes(tool: Tool, arguments: object) -> bool:
    """Ask in the terminal whether to call the tool. Returns False after any answer but yes, or without a terminal."""
    if not sys.stdin.isatty():
        return False
    say(f"{tool.name} changes something outside of Leadhand, with\n{json.dumps(arguments, indent=2, default=str)}")
    return input(f"Type {YES} to call it: ").strip().lower() == YES
