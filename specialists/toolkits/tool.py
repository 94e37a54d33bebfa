"""Tools: each has a name, a schema, the word that it reads or writes, and a coroutine.

A tool that writes is called at most once for a model's wish: its intent is
kept before the call and its outcome after it. If the outcome is not known
(the bot died, the time was up, the tool raised), the tool says what it can:
`look_up` finds out, a `key` can make it safe to repeat. Without either, a
person is asked.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, get_args

from pydantic import BaseModel

from handoff.contracts import Artifact
from handoff.provenance import Provenance

Access = Literal["read", "write"]
Key = Literal["none", "marks", "drops_repeats"]


class WorkbenchLost(Exception):
    """The place where a workbench keeps its files is away. `reason` is the error that said so.

    The tool that needed a file is not at fault: its attempt is interrupted, and goes on from its last checkpoint.
    """

    def __init__(self, reason: Exception) -> None:
        super().__init__(str(reason))
        self.reason = reason


class Workbench(Protocol):
    """A tool's place of work: the files of its handoff, and room for new ones.

    Both methods raise WorkbenchLost while the place that keeps the files is away. A tool lets it pass.
    """

    @property
    def provenance(self) -> Provenance:
        """The words of people that the brief is made of, and if it holds more than those."""

    @property
    def artifacts(self) -> tuple[Artifact, ...]:
        """The files of the handoff and those made since, by this specialist."""

    async def path(self, artifact: Artifact) -> Path:
        """Give a local read-only copy of the file, valid until the attempt ends."""

    async def keep(self, name: str, data: bytes, *, media_type: str, about: str, publish_as: str) -> Artifact:
        """Store a new file and give back its reference."""


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """A tool's outcome: text for the model, the files it made, and the gaps it knows of.

    `failed` is an expected failure (bad argument, page not found), said in
    words that let the model mend its call. A bug raises instead. From a tool that writes it says
    that for certain nothing was done; if that is not certain (no answer came, say), the tool raises.
    `gaps` go into the specialist's `Result` whatever the model says, for instance a parse report.
    `sources` are addresses or file names that the answer can cite.
    """

    text: str
    artifacts: tuple[Artifact, ...] = ()
    gaps: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    failed: bool = False


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as models see it: `parameters` is a JSON Schema object."""

    name: str
    description: str
    parameters: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as the registry knows it. Its `description` is a prompt: the docstring of `run`.

    Attributes:
        name: What models call it.
        access: `write` for whatever changes something outside of the job.
        arguments: The model of its arguments.
        run: Does it: `run(arguments, workbench)`, and if there is a key, `run(arguments, workbench, key)`.
        key: For `write`: whether it is handed a key, and what for. With `drops_repeats` it is safe to repeat,
            because its far side does nothing for a key that it has seen; with `marks` it only leaves the
            key where `look_up` finds it. The key is random: it is drawn when the intent of a call is kept,
            and kept with it, so that it is the same after a restart and another for every other call.
        look_up: For `write`: takes what `run` takes, and finds out whether that call was carried out. Gives
            its outcome if it was, None if it certainly was not and no longer will be; raises, or gives a
            failed outcome, if it cannot tell.
        what: For `write`: a few words for people on what a call does. Without, the tool's name and arguments.
        url_of: Gives the URL that a call with these arguments asks for; see `turns.egress`. None: it asks for none.
        finds_urls: True if its replies hold URLs that the web gave, and none of the model's own making.
    """

    name: str
    access: Access
    arguments: type[BaseModel]
    run: Callable[..., Awaitable[ToolOutcome]]
    key: Key = "none"
    look_up: Callable[..., Awaitable[ToolOutcome | None]] | None = None
    what: Callable[[Any], str] | None = None
    url_of: Callable[[Any], str] | None = None
    finds_urls: bool = False

    @property
    def spec(self) -> ToolSpec:
        """The tool as a model sees it."""
        schema = self.arguments.model_json_schema()
        for title in ("title", "description"):
            schema.pop(title, None)
        for parameter in schema.get("properties", {}).values():
            parameter.pop("title", None)
        return ToolSpec(self.name, inspect.cleandoc(self.run.__doc__ or ""), schema)

    @property
    def faults(self) -> tuple[str, ...]:
        """The faults of its declaration, each in words that follow its name."""
        found = []
        if self.access not in get_args(Access):
            found.append(f"has the access {self.access!r}; it is read or write")
        elif self.access == "read":
            extras = {"a key": self.key != "none", "look_up": self.look_up, "what": self.what}
            found += [f"only reads, so {name} is not for it; leave that out" for name, has in extras.items() if has]
        if self.key not in get_args(Key):
            found.append(f"has the key {self.key!r}; it is one of {', '.join(get_args(Key))}")
        elif self.key == "marks" and self.look_up is None:
            found.append("has a key that marks, and no look_up to find it with")
        given = ("arguments", "workbench") if self.key == "none" else ("arguments", "workbench", "key")
        for name, work in (("run", self.run), ("look_up", self.look_up)):
            if work is not None and not _takes(work, len(given)):
                found.append(f"must have a {name} that takes {', '.join(given)}")
        return tuple(found)

    def words(self, arguments: BaseModel) -> str:
        """Word what a call does, in a few words for people."""
        if self.what is not None:
            return _short(self.what(arguments), _WORDS)
        values = (f"{name}={_short(repr(value), _VALUE)}" for name, value in arguments)
        return _short(f"{self.name}({', '.join(values)})", _WORDS)


_WORDS = 200
_VALUE = 60


def _takes(work: Callable[..., Any], count: int) -> bool:
    try:
        inspect.signature(work).bind(*range(count))
    except TypeError:
        return False
    return True


def _short(text: str, limit: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"
