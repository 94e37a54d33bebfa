"""A crew of one specialist whose tool writes: its bot, its approval cards, and what people press on them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from bot.app import App
from specialists.registry import load_crew
from specialists.tools.tool import Tool
from tests.providers.rendering import Reply
from tests.providers.server import ProviderServer
from tests.system.brains import after_calls, connect, plan, provider, subtask
from tests.system.scene import Json, Scene, Talk, extract_shown_text

PAGE = "---\nname: clerk\ndescription: Does it.\ntools: [{tools}]\nmodel: fast\n{more}---\nYou are the clerk.\n"


class Desk:
    """A scene with a clerk. `bot()` may be entered again and again, also side by side."""

    def __init__(self, scene: Scene, folder: Path, *tools: Tool) -> None:
        self.scene, self.folder, self.tools = scene, folder, tools
        self.more = ""
        """Further lines of the clerk's page."""
        self.server: ProviderServer

    @asynccontextmanager
    async def serve(self, *turns: Reply) -> AsyncIterator[None]:
        """A provider whose plan is the part `note` of the clerk, who takes these turns."""
        async with provider(planner=plan(subtask("note", "clerk")), clerk=after_calls(*turns)) as self.server:
            yield

    @asynccontextmanager
    async def bot(self, **options: Any) -> AsyncIterator[App]:
        """A bot with the crew as `more` and `tools` are now."""
        held = {tool.name: tool for tool in self.tools}
        (self.folder / "clerk.md").write_text(PAGE.format(tools=", ".join(held), more=self.more))
        crew = load_crew(self.folder, held)
        async with self.scene.bot(connect("chat", self.server), crew=crew, **options) as app:
            yield app

    def list_posts(self, channel: str) -> list[Json]:
        """What the bot posted at the top of a channel."""
        bot = self.scene.workspace.bot_user_id
        posted = self.scene.workspace.messages(channel)
        return [one for one in posted if one["user"] == bot and one.get("thread_ts", one["ts"]) == one["ts"]]


def list_cards(talk: Talk) -> list[Json]:
    """The approval cards, open and closed."""
    return [
        one
        for one in talk.words()
        if "unless that is approved" in (text := extract_shown_text(one)) or "asked for approval" in text
    ]


async def wait_for_card(talk: Talk, number: int = 1) -> Json:
    """The approval card of that number, once it is there and the job knows of it."""
    await talk.wait_for_question(number)
    return list_cards(talk)[number - 1]


async def decide_on_card(talk: Talk, card: Json, action: str = "approve", who: str = "ana") -> None:
    """Click a button of an approval card."""
    await talk.scene.person(who).click(talk.channel, card["ts"], f"approval:{action}")


async def open_window(talk: Talk, card: Json, action: str, who: str = "ana") -> str:
    """Click a button of an approval card that opens a window. Returns the window's id."""
    await decide_on_card(talk, card, action, who)
    (view,) = await talk.scene.workspace.until(talk.scene.person(who).views)
    return str(view["id"])
