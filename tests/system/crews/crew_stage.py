"""A crew of ours in a whole bot: its real tools over its demo's material, with models whose words a test decides."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from specialists.crew import Crew
from specialists.registry import CREWS_FOLDER, load_crew
from specialists.tools.toolkit import ToolSettings
from tests.own_tools import all_tools
from tests.providers.scripts import purpose_of
from tests.providers.server import ProviderServer
from tests.system.brains import Words, connect, provider
from tests.system.scene import Scene


def demo_of(name: str) -> Path:
    """The folder of a crew's demo."""
    return CREWS_FOLDER / name / "demo"


def crew_of(name: str) -> Crew:
    """A crew of ours; the web is its demo's recorded pages, where it has some."""
    pages = demo_of(name) / "pages"
    settings = ToolSettings({"LEADHAND_RECORDED_PAGES": str(pages)} if pages.is_dir() else {})
    return load_crew(CREWS_FOLDER / name, all_tools(settings), settings)


@asynccontextmanager
async def crew_at_work(scene: Scene, name: str, **words: Words) -> AsyncIterator[ProviderServer]:
    """A bot with that crew. What no `words` are for, the rehearsal says."""
    async with provider(**words) as server, scene.bot(connect("chat", server), crew=crew_of(name)):
        yield server


def join_call_bodies(server: ProviderServer, purpose: str) -> str:
    """All that the calls of a purpose were told: their prompts, the brief, and what tools replied."""
    return "\n".join(str(request.body) for request in server.requests if purpose_of(request) == purpose)
