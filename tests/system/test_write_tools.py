"""A crew whose tool posts to the outside world: whatever dies, nothing is posted twice unless a person says it may."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal

import pytest

from bot.settings import Settings
from handoff import events as ev
from handoff.contracts import Terms
from specialists.crew import Crew
from specialists.registry import load_crew
from specialists.tools.tool import Tool
from specialists.turns import tool_calls
from tests.patience import patience
from tests.providers.rendering import Reply
from tests.providers.server import ProviderServer
from tests.providers.wire import WireRequest
from tests.specialists.far_side import FarSide, far_side
from tests.system.brains import connect, plan, provider, result, subtask, tool_call
from tests.system.scene import Json, Scene, Talk, buttons, extract_shown_text

PAGE = """\
---
name: clerk
description: Puts notes on the board.
tools: [post_note]
approve: {post_note: never}
model: fast
fallback: clerk2
---
You are the clerk."""
Stage = Literal["before", "after"]


def clerk(request: WireRequest) -> Reply:
    """The clerk's words: post a note, once more where it may, then say what came of it."""
    replies = [reply.text for message in request.messages for reply in message.replies]
    if not replies or (len(replies) < 3 and "You may call it again" in replies[-1]):
        return tool_call("post_note", text="tea")
    return result("Said: " + replies[-1])


def crew_with(folder: Path, tool: Tool) -> Crew:
    (folder / "clerk.md").write_text(PAGE)
    (folder / "clerk2.md").write_text(
        PAGE.replace("clerk", "clerk2", 1).replace("[post_note]", "[]").partition("appr")[0]
        + "model: fast\n"
        + "---\nYou are the other clerk."
    )
    return load_crew(folder, {tool.name: tool})


class Office:
    """A scene with a clerk and a far side. `bot()` may be entered again and again."""

    def __init__(self, scene: Scene, side: FarSide, server: ProviderServer, folder: Path) -> None:
        self.scene = scene
        self.side = side
        self.server = server
        self.folder = folder
        self.tool = side.tool()

    @asynccontextmanager
    async def bot(self, terms: Terms = Settings.terms) -> AsyncIterator[None]:
        crew = crew_with(self.folder, self.tool)
        async with self.scene.bot(connect("chat", self.server), crew=crew, later=0.0, terms=terms):
            yield

    async def kill_bot(self, stage: Stage) -> Talk:
        """A job whose bot ended while its note was under way, `before` or `after` the far side took it."""
        gate = asyncio.Event()
        setattr(self.side, stage, gate)
        async with self.bot():
            talk = await self.scene.ask("Tell everybody that there is tea")
            await asyncio.wait_for((self.side.came if stage == "before" else self.side.taken_event).wait(), patience())
        opened = asyncio.Event()
        opened.set()
        setattr(self.side, stage, opened)  # the first call waits at the old gate for good
        return talk


@pytest.fixture
async def office(scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Office]:
    monkeypatch.setattr(tool_calls, "GRACE_SECONDS", 0.01)
    async with far_side() as side, provider(planner=lambda _: plan(subtask("note", "clerk")), clerk=clerk) as server:
        yield Office(scene, side, server, tmp_path)


async def doubt(talk: Talk, number: int = 1) -> Json:
    """The question of that number, once it is there and the job knows of it."""
    await talk.wait_for_question(number)
    return [message for message in talk.words() if "Was this carried out?" in extract_shown_text(message)][-1]


@pytest.mark.parametrize("stage", ["before", "after"])
async def test_after_a_crash_a_person_is_asked_and_a_click_decides(office: Office, stage: Stage) -> None:
    happened = stage == "after"
    talk = await office.kill_bot(stage)
    async with office.bot():
        question = await doubt(talk)
        await talk.wait_until_seen(lambda: talk.status() == "suspended")
        assert list(buttons(question)) == ["It happened", "It did not happen", "Stop this part"]
        assert "post_note(text='tea')" in extract_shown_text(question)
        assert office.side.calls == 1
        await office.scene.person().click(talk.channel, question["ts"], "answer:0" if happened else "answer:1")
        job = await talk.over()
        await office.scene.barrier()

    assert job.latest_request.state == "completed"
    assert office.side.notes == ["tea"]
    assert office.side.calls == (1 if happened else 2)
    (closed, answer) = talk.words()
    assert not buttons(closed)
    option = "It happened" if happened else "It did not happen"
    assert f"<@{office.scene.person().id}> answered “{option}”" in extract_shown_text(closed)
    said = "A person checked: post_note was carried out" if happened else "posted as number 1"
    assert said in extract_shown_text(answer)
    assert "Answered in part" not in extract_shown_text(answer)
    assert [event.attempt for event in await talk.of(ev.AttemptStarted)] == [1], "the same attempt went on"
    trace = await talk.timeline()
    assert "note: begins post_note(text='tea')" in trace
    assert "note: not known whether it was done: post_note(text='tea') (I was interrupted" in trace
    assert f"note: answered by {office.scene.person().id}: {option}" in trace


ToolDeclaration = Callable[[FarSide], Tool]
WAYS: dict[str, ToolDeclaration] = {
    "key": lambda side: side.tool(key="drops_repeats"),
    "look-up": lambda side: side.tool(looks=True),
}


@pytest.mark.parametrize(("way", "stage"), [("key", "before"), ("look-up", "after")])
async def test_a_tool_that_can_tell_or_be_repeated_asks_nobody(office: Office, way: str, stage: Stage) -> None:
    office.tool = WAYS[way](office.side)
    talk = await office.kill_bot(stage)
    async with office.bot():
        await talk.over()
    assert office.side.notes == ["tea"]
    assert office.side.calls == (1 if (way, stage) == ("look-up", "after") else 2)
    assert len(office.side.keys) == (way == "key")
    assert await talk.of(ev.ToolInDoubt) == []
    assert len(talk.words()) == 1
