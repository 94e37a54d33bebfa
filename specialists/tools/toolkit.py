"""Toolkits: tools from one place, such as a crew's file, a package or a server; and decorators of plain functions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from specialists.tools.tool import Tool

_Function = TypeVar("_Function", bound=Callable[..., Any])
_DECLARATIONS = "__leadhand__"


@dataclass(frozen=True, slots=True)
class ToolSettings:
    """The settings that toolkits are made with: the environment of the bot, and a folder for data between starts.

    Only our own code reads `env`: a server or a child process gets only the variables that are named for it.
    """

    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    data: Path = Path("~/.local/share/leadhand")


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file that a request names and a toolkit fetched: it becomes material before planning begins.

    `line_url_template` is the web address of a line that the file shows, with {path} and {line} to fill in; "" if there
    is none.
    """

    name: str
    media_type: str
    data: bytes
    line_url_template: str = ""


@dataclass(frozen=True, slots=True)
class FoundMaterial:
    """The files that a request names and a toolkit fetched. `faults` say, for people, what it could not fetch."""

    files: tuple[FoundFile, ...] = ()
    faults: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Toolkit:
    """Tools from one place.

    Attributes:
        origin: Where they come from, in a few words for people: `toolkits/glossary.py`, `.mcp.json: git`.
        tools: The tools, in their order.
        prove: Finds out whether they would work now, for `leadhand check`. Returns the faults, one line each that says
            what to do; raises only for bugs.
        close: Closes what they hold open. The bot calls it once, when it ends.
        background_task: A background task, such as updating an index. The bot starts it without waiting for it, and
            cancels it when the bot ends.
        path: The crew's file or folder that they were read from, to name in faults; None if they are not the crew's.
        lines: The lines of that file at which tools are made, by the tools' names, if they are known.
        replaces: True if its tools replace tools of the same names from outside the crew. Otherwise equal names are a
            fault.
        unusable_tools: The tools that cannot be used, by name, each with the reason.
        finds: Fetches what a text names, such as a pull request by its link, so that the planner sees it. It is called
            with the words of people, if a specialist of the crew has a tool of the toolkit.
    """

    origin: str
    tools: tuple[Tool, ...] = ()
    prove: Callable[[], Awaitable[tuple[str, ...]]] | None = None
    close: Callable[[], Awaitable[None]] | None = None
    background_task: Callable[[], Coroutine[Any, Any, None]] | None = None
    path: Path | None = None
    lines: Mapping[str, int] = field(default_factory=dict)
    replaces: bool = False
    unusable_tools: Mapping[str, str] = field(default_factory=dict)
    finds: Callable[[str], Awaitable[FoundMaterial]] | None = None


# ---------------------------------------------------------------- decorators of plain functions


def writes(function: _Function) -> _Function:
    """Declare that a function of a toolkit changes something outside of the job, so that people approve its calls.

    The declaration is a decorator, so that it moves with the function and no separate list is needed.
    """
    return _declare(function, access="write")


def public(function: _Function) -> _Function:
    """Declare that the results of a function of a toolkit are not private, such as prices from an exchange.

    Without it, the results count as private: people are asked before the specialist sends anything out after that.
    """
    return _declare(function, public=True)


def sends_to(service: str) -> Callable[[_Function], _Function]:
    """Declare that a function of a toolkit sends its arguments out, and to which host or service.

    Once something private is in view, a person is asked before such a call.
    """
    return lambda function: _declare(function, sends_to=service)


def read_declarations(function: Callable[..., Any]) -> Mapping[str, Any]:
    """Return what the decorators of a function declare: `access`, `public`, `sends_to`."""
    return dict(getattr(function, _DECLARATIONS, {}))


def _declare(function: _Function, **declarations: Any) -> _Function:
    setattr(function, _DECLARATIONS, {**read_declarations(function), **declarations})
    return function
