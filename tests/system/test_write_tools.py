"""A crew whose tool posts to the outside world: whatever dies, nothing is posted twice unless a person says it may."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from handoff import events as ev
from specialists.crew import Crew
from specialists.registry import load_crew
from specialists.tools.tool import Tool
from specialists.turns import tool_calls
from tests.patience import patience
from tests.providers.rendering import Reply
from tests.providers.wire import WireRequest
from tests.specialists.far_side import far_side
from tests.system.brains import connect, plan, provider, result, subtask, tool_call
from tests.system.scene import Scene, buttons, extract_shown_text

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


@pytest.mark.parametrize("closed_gate", ["before", "after"])
async def test_after_a_crash_a_person_is_asked_and_a_click_decides(
    scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, closed_gate: str
) -> None:
    has_happened = closed_gate == "after"
    option = "It happened" if has_happened else "It did not happen"
    monkeypatch.setattr(tool_calls, "GRACE_SECONDS", 0.01)
    words = {"planner": lambda _: plan(subtask("note", "clerk")), "clerk": clerk}
    async with far_side(closed_gate=closed_gate) as side, provider(**words) as server:
        crew, ana = crew_with(tmp_path, side.tool()), scene.person().id
        async with scene.bot(connect("chat", server), crew=crew):
            talk = await scene.ask("Tell everybody that there is tea")
            await asyncio.wait_for((side.taken_event if has_happened else side.came).wait(), patience())
        side.before = asyncio.Event()
        side.before.set()  # the first call waits at the old gate for good
        async with scene.bot(connect("chat", server), crew=crew):
            question = await talk.question()
            await talk.wait_until_seen(lambda: talk.status() == "suspended")
            assert list(buttons(question)) == ["It happened", "It did not happen", "Stop this part"]
            assert "post_note(text='tea')" in extract_shown_text(question)
            assert side.calls == 1
            await scene.person().click(talk.channel, question["ts"], "answer:0" if has_happened else "answer:1")
            job = await talk.over()
            await scene.barrier()
        assert (side.notes, side.calls) == (["tea"], 1 if has_happened else 2)

    assert job.latest_request.state == "completed"
    (closed, answer) = talk.words()
    assert not buttons(closed)
    assert f"<@{ana}> answered “{option}”" in extract_shown_text(closed)
    receipt = "A person checked: post_note was carried out" if has_happened else "posted as number 1"
    assert receipt in extract_shown_text(answer)
    assert "Answered in part" not in extract_shown_text(answer)
    assert [event.attempt for event in await talk.of(ev.AttemptStarted)] == [1], "the same attempt went on"
    trace = await talk.timeline()
    assert "note: begins post_note(text='tea')" in trace
    assert "note: not known whether it was done: post_note(text='tea') (I was interrupted" in trace
    assert f"note: answered by {ana}: {option}" in trace
