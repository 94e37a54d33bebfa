"""A toolkit: tools from one place, such as a file of a crew, a package or a server. What it holds open it closes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from specialists.toolkits.tool import Tool


@dataclass(frozen=True, slots=True)
class ToolSettings:
    """What toolkits are set up with: the environment of the bot, and a folder for what they keep between starts.

    Only code of ours reads `env`: a server or a child process gets what is named for it, and nothing else.
    """

    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    data: Path = Path("~/.local/share/leadhand")


@dataclass(frozen=True, slots=True)
class Toolkit:
    """Tools from one place.

    Attributes:
        origin: Where they come from, in a few words for people: `toolkits/glossary.py`, `.mcp.json: git`.
        tools: The tools, in their order.
        prove: Finds out if they would work now, for `leadhand check`. Gives the faults, each in a line that says what
            to do; does not raise for what is to be expected.
        close: Ends what they hold open. The bot calls it once, at its end.
    """

    origin: str
    tools: tuple[Tool, ...] = ()
    prove: Callable[[], Awaitable[tuple[str, ...]]] | None = None
    close: Callable[[], Awaitable[None]] | None = None
