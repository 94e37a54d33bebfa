"""What the proofs that are commands share: what they print, where they play, and crews that are written for them."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from bot.app import find_manifest
from bot.store.embedded import start_embedded, stop_embedded
from bot.workspace.workspace_server import Workspace
from specialists.crew import Crew
from specialists.registry import load_crew
from specialists.tools.tool import Tool
from specialists.tools.toolkit import ToolSettings

P = TypeVar("P")
T = TypeVar("T")
TOLD_EACH = 50
"""After so many tasks a line says how many are left."""


def say(text: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def row(name: str, figure: str, bar: str = "", beside: str = "", *, is_met: bool | None = None) -> None:
    """Print a figure beside its bar, and beside what it is compared with."""
    mark = "" if is_met is None else "ok" if is_met else "MISSED"
    say(f"{name:<46} {figure:>12} {bar:>12} {beside:>12}  {mark}".rstrip())


@asynccontextmanager
async def open_store_server(folder: Path) -> AsyncIterator[str]:
    """An embedded server in a new folder of this one; gives its address. A store belongs to one workspace."""
    data = Path(tempfile.mkdtemp(dir=folder))
    url = await start_embedded(data)
    try:
        yield url
    finally:
        await stop_embedded(data)


@asynccontextmanager
async def open_workspace(manifest: Path | None = None, **options: Any) -> AsyncIterator[Workspace]:
    """A workspace, without Slack's limits unless the options, those of `Workspace.start`, say otherwise."""
    workspace = await Workspace.start(manifest or find_manifest(), **{"rate_limits": False, **options})
    try:
        yield workspace
    finally:
        await workspace.stop()


async def play_side_by_side(tasks: Iterable[T], places: Sequence[P], play: Callable[[P, T], Awaitable[None]]) -> None:
    """Play tasks in order, as many at a time as there are places for them."""
    todo = list(tasks)[::-1]

    async def stay(place: P) -> None:
        while todo:
            await play(place, todo.pop())
            if todo and not len(todo) % TOLD_EACH:
                say(f"{len(todo)} are left")

    await asyncio.gather(*map(stay, places))


# ------------------------------------------------------------------------------ crews


@dataclass(frozen=True)
class Worker:
    """A specialist as its file has it. `more` holds further keys, `prompt` what follows "You are the NAME."."""

    description: str
    tools: Sequence[str] = ()
    model: str = "balanced"
    turns: int = 6
    prompt: str = "Do what the task says."
    more: Mapping[str, str] = field(default_factory=dict)

    def render(self, name: str) -> str:
        """Return the file of a specialist of that name."""
        keys = {
            "name": name,
            "description": self.description,
            "tools": f"[{', '.join(self.tools)}]",
            "model": self.model,
            "max_turns": str(self.turns),
            **self.more,
        }
        lines = "".join(f"{key}: {value}\n" for key, value in keys.items())
        return f"---\n{lines}---\nYou are the {name}. {self.prompt}\n"


NO_SETTINGS = ToolSettings()
NONE_INSIDE: Mapping[str, str] = MappingProxyType({})


def write_crew(folder: Path, workers: Mapping[str, Worker], inside: Mapping[str, str] = NONE_INSIDE) -> Path:
    """Write a crew's files and return their folder.

    `workers` are named by their paths, such as `office/scribe`; `inside` has what the crews inside it say of
    themselves, by their folders.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name, description in inside.items():
        (folder / name).mkdir(parents=True)
        (folder / name / "crew.yml").write_text(f"description: {description}\n", encoding="utf-8")
    for path, worker in workers.items():
        (folder / f"{path}.md").write_text(worker.render(path.rpartition("/")[2]), encoding="utf-8")
    return folder


def make_crew(
    workers: Mapping[str, Worker],
    tools: Mapping[str, Tool],
    inside: Mapping[str, str] = NONE_INSIDE,
    settings: ToolSettings = NO_SETTINGS,
) -> Crew:
    """Return a crew as if its files had been read: see `write_crew`."""
    with tempfile.TemporaryDirectory(prefix="leadhand-crew-") as folder:
        return load_crew(write_crew(Path(folder), workers, inside), tools, settings)
