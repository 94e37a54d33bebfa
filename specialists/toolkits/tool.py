"""What a tool is: a name, a schema, whether it reads or writes, and a coroutine."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from pydantic import BaseModel

from handoff.contracts import Artifact
from specialists.dialogue import ToolSpec

Access = Literal["read", "write"]


class Workbench(Protocol):
    """What a tool may reach beside its arguments: the files of its handoff, and a place for new ones."""

    @property
    def artifacts(self) -> tuple[Artifact, ...]:
        """The files of the handoff and those made since, by this specialist."""

    async def path(self, artifact: Artifact) -> Path:
        """A local read-only copy of the file, valid until the attempt ends."""

    async def keep(self, name: str, data: bytes, *, media_type: str, about: str, publish_as: str) -> Artifact:
        """Store a new file and give back its reference."""


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """What a tool gives back: text for the model, the files it made, and the gaps it knows of.

    `failed` is an expected failure (bad argument, page not found), said in
    words that let the model mend its call. A bug raises instead.
    `gaps` go into the specialist's `Result` whatever the model says, for instance a parse report.
    `sources` are addresses or file names that the answer can cite.
    """

    text: str
    artifacts: tuple[Artifact, ...] = ()
    gaps: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as the registry knows it. Its `description` is a prompt: the docstring of `run`."""

    name: str
    access: Access
    arguments: type[BaseModel]
    run: Callable[[Any, Workbench], Awaitable[ToolOutcome]]

    @property
    def spec(self) -> ToolSpec:
        """The tool as a model sees it."""
        schema = self.arguments.model_json_schema()
        for title in ("title", "description"):
            schema.pop(title, None)
        for parameter in schema.get("properties", {}).values():
            parameter.pop("title", None)
        return ToolSpec(self.name, inspect.cleandoc(self.run.__doc__ or ""), schema)
