"""A toolkit: tools from one place, such as a file of a crew, a package or a server. What it holds open it closes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from specialists.tools.tool import Tool

_Function = TypeVar("_Function", bound=Callable[..., Any])
_SAID = "__leadhand__"


@dataclass(frozen=True, slots=True)
class ToolSettings:
    """What toolkits are set up with: the environment of the bot, and a folder for what they keep between starts.

    Only code of ours reads `env`: a server or a child process gets what is named for it, and nothing else.
    """

    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    data: Path = Path("~/.local/share/leadhand")


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file that a request names, fetched: it becomes material before anything is planned.

    `lines` is the address of a line of what it shows, with {path} and {line} in it; empty if there is none.
    """

    name: str
    media_type: str
    data: bytes
    lines: str = ""


@dataclass(frozen=True, slots=True)
class FoundMaterial:
    """What a request names and a toolkit could fetch. `faults` say what it could not, each in words for people."""

    files: tuple[FoundFile, ...] = ()
    faults: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Toolkit:
    """Tools from one place.

    Attributes:
        origin: Where they come from, in a few words for people: `toolkits/glossary.py`, `.mcp.json: git`.
        tools: The tools, in their order.
        prove: Finds out if they would work now, for `leadhand check`. Gives the faults, each in a line that says what
            to do; does not raise for what is to be expected.
        close: Ends what they hold open. The bot calls it once, at its end.
        beside: Work that goes on beside the bot, such as keeping an index new. It is started with the bot, which does
            not wait for it, and cancelled at its end.
        path: The file or folder that they were read from, for what is wrong with them; None: none of the crew's.
        lines: The lines in that file at which tools are made, by their names, as far as they are known.
        replaces: True if its tools take the place of those of their names from around the crew. Else that is a fault.
        left_out: The tools that cannot be used, by name, and why.
        finds: Fetches what a text names, so that the planner sees what there is to do: a request for review, by its
            link. It is asked of what people said, where a specialist of the crew holds a tool of the toolkit.
    """

    origin: str
    tools: tuple[Tool, ...] = ()
    prove: Callable[[], Awaitable[tuple[str, ...]]] | None = None
    close: Callable[[], Awaitable[None]] | None = None
    beside: Callable[[], Coroutine[Any, Any, None]] | None = None
    path: Path | None = None
    lines: Mapping[str, int] = field(default_factory=dict)
    replaces: bool = False
    left_out: Mapping[str, str] = field(default_factory=dict)
    finds: Callable[[str], Awaitable[FoundMaterial]] | None = None


# ---------------------------------------------------------------- what a plain function says of itself


def writes(function: _Function) -> _Function:
    """Say that a function of a toolkit changes something outside of the job: people approve its calls.

    It stands at the function, so that it goes where the function goes, and nobody has to keep a list.
    """
    return _attach_words(function, access="write")


def public(function: _Function) -> _Function:
    """Say that what a function of a toolkit gives is nobody's secret, such as prices from an exchange.

    Without it, what it gave counts as private: what its specialist sends out from then on is asked for.
    """
    return _attach_words(function, public=True)


def sends_to(service: str) -> Callable[[_Function], _Function]:
    """Say that a function of a toolkit sends its arguments out, and to which host or service.

    Once something private is in view, a person is asked before such a call.
    """
    return lambda function: _attach_words(function, sends_to=service)


def read_declarations(function: Callable[..., Any]) -> Mapping[str, Any]:
    """Return what a function says of itself: `access`, `public`, `sends_to`."""
    return dict(getattr(function, _SAID, {}))


def _attach_words(function: _Function, **words: Any) -> _Function:
    setattr(function, _SAID, {**read_declarations(function), **words})
    return function
