"""A server that takes notes and counts them, and tools that post to it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp
from aiohttp import web
from pydantic import BaseModel

from specialists.tools.tool import KeyUse, Tool, ToolOutcome, Workbench
from tests.specialists.local_web import Site, serving


class NoteArguments(BaseModel):
    text: str


@dataclass
class FarSide:
    """What the outside world got. Closed `before` or `after`, a gate holds what comes in until it is opened."""

    site: Site = field(default_factory=lambda: Site(0))
    notes: list[str] = field(default_factory=list)
    keys: dict[str, str] = field(default_factory=dict)
    calls: int = 0
    looks: int = 0
    tells: bool = True
    before: asyncio.Event = field(default_factory=asyncio.Event)
    after: asyncio.Event = field(default_factory=asyncio.Event)
    came: asyncio.Event = field(default_factory=asyncio.Event)
    taken_event: asyncio.Event = field(default_factory=asyncio.Event)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        if request.method == "GET":
            self.looks += 1
            if not self.tells:
                raise web.HTTPServiceUnavailable
            return web.json_response(self.notes)
        self.calls += 1
        self.came.set()
        await self.before.wait()
        said = await request.json()
        if said["key"] not in self.keys:
            self.notes.append(said["text"])
        if said["key"]:
            self.keys[said["key"]] = said["text"]
        self.taken_event.set()
        await self.after.wait()
        return web.json_response({"number": len(self.notes)})

    def tool(self, name: str = "post_note", *, key: KeyUse = "none", looks: bool = False, **more: Any) -> Tool:
        async def post_note(arguments: NoteArguments, _bench: Workbench, key: str = "") -> ToolOutcome:
            """Post a note where everybody reads it."""
            said = {"text": arguments.text, "key": key}
            if arguments.text == "refused":
                return ToolOutcome("The board is closed; nothing was posted.", failed=True)
            async with aiohttp.ClientSession() as session, session.post(self.site.url(), json=said) as answer:
                number = (await answer.json())["number"]
            return ToolOutcome(f"posted as number {number}")

        async def look_up(arguments: NoteArguments, _bench: Workbench, _key: str = "") -> ToolOutcome | None:
            async with aiohttp.ClientSession() as session, session.get(self.site.url()) as answer:
                answer.raise_for_status()
                notes = await answer.json()
            return ToolOutcome("it is on the board") if arguments.text in notes else None

        return Tool(name, "write", NoteArguments, post_note, key=key, look_up=look_up if looks else None, **more)


@asynccontextmanager
async def far_side(*, closed_gate: str = "") -> AsyncIterator[FarSide]:
    """A far side. `closed_gate` names the gate that is closed: `before` or `after` the note is taken."""
    side = FarSide()
    for name in ("before", "after"):
        if name != closed_gate:
            getattr(side, name).set()
    async with serving(side.handle) as site:
        side.site = site
        yield side
