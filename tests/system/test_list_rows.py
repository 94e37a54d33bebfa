"""A ticket as a row of the Slack list that the bot keeps for a channel: approved, added once, found again."""

from __future__ import annotations

from pathlib import Path

from specialists.crew import Crew
from specialists.registry import load_crew
from specialists.tools.tickets import ticket_tools
from specialists.tools.toolkit import ToolSettings
from tests.system.brains import Words, after_calls, connect, plan, provider, subtask, tool_call
from tests.system.scene import Json, Scene, extract_shown_text

PAGE = """\
---
name: clerk
description: Opens tickets.
tools: [open_ticket]
model: fast
---
You are the clerk."""


def clerk(title: str) -> Words:
    return after_calls(tool_call("open_ticket", title=title, body="It is **late**."))


def crew_at(folder: Path, to: str) -> Crew:
    (folder / "clerk.md").write_text(PAGE)
    made = ticket_tools.tools(ToolSettings({"LEADHAND_TICKETS": to}))
    return load_crew(folder, {tool.name: tool for tool in made})


async def approve_ticket(scene: Scene, crew: Crew, title: str) -> str:
    """Have a ticket opened and approved; gives what the thread says of it."""
    planner = lambda _: plan(subtask("open", "clerk"))  # noqa: E731 - as the others of this kind
    async with provider(planner=planner, clerk=clerk(title)) as server, scene.bot(connect("chat", server), crew=crew):
        talk = await scene.ask("Open a ticket for the export", channel="#general")
        await talk.wait_for_question()
        (card,) = [one for one in talk.words() if "wants to" in extract_shown_text(one)]
        assert "becomes a row of the list of tickets there" in extract_shown_text(card)
        await scene.person().click(talk.channel, card["ts"], "approval:approve")
        await talk.over()
        return talk.join_bot_texts()


def texts(item: Json) -> list[str]:
    return [one["rich_text"][0]["elements"][0]["elements"][0]["text"] for one in item["fields"]]


async def test_a_row_is_added_once_to_the_list_that_the_first_one_made(scene: Scene, tmp_path: Path) -> None:
    crew = crew_at(tmp_path, "list:#sales")
    sales = scene.workspace.channel_id("#sales")
    assert f"The ticket was sent to #sales ({sales})." in await approve_ticket(scene, crew, "The export is late")
    scene.workspace.faults.add("slackLists.items.create", "lost_reply")
    await approve_ticket(scene, crew, "And again")
    (made,) = scene.workspace.lists()
    assert made["channels"] == {sales: "write"}
    assert [texts(one)[0] for one in made["items"]] == ["The export is late", "And again"]
    assert texts(made["items"][0])[1] == "It is **late**.\n\nAdded for Ana Duarte, who asked for it."


async def test_a_list_needs_a_channel_and_the_optional_scopes(scene: Scene, tmp_path: Path) -> None:
    scene.workspace.faults.add("slackLists.create", "error", error="missing_scope")
    said = await approve_ticket(scene, crew_at(tmp_path, "list:#sales"), "The export is late")
    assert "The ticket was not sent: the app lacks a scope" in said
    assert scene.workspace.lists() == []
    planner = lambda _: plan(subtask("open", "clerk"))  # noqa: E731 - as the others of this kind
    crew = crew_at(tmp_path, "list:@ben")
    async with provider(planner=planner, clerk=clerk("T")) as server, scene.bot(connect("chat", server), crew=crew):
        talk = await scene.ask("Open a ticket for the export", channel="#general")
        await talk.over()
    assert "A list of tickets needs a channel" in talk.join_bot_texts()


async def test_people_edit_what_is_theirs_on_the_card_and_where_it_goes_stays_the_operators(
    scene: Scene, tmp_path: Path
) -> None:
    planner = lambda _: plan(subtask("open", "clerk"))  # noqa: E731 - as the others of this kind
    crew, ana = crew_at(tmp_path, "list:#sales"), scene.person()
    sales = scene.workspace.channel_id("#sales")
    async with provider(planner=planner, clerk=clerk("T")) as server, scene.bot(connect("chat", server), crew=crew):
        talk = await scene.ask("Open a ticket for the export", channel="#general")
        await talk.wait_for_question()
        (card,) = [one for one in talk.words() if "wants to" in extract_shown_text(one)]
        await ana.click(talk.channel, card["ts"], "approval:edit")
        (view,) = await scene.workspace.until(ana.views)
        filled = {"to": f"#sales ({sales})", "title": "The export is late", "body": "Since noon."}
        assert not await ana.submit(str(view["id"]), {**filled, "to": "#general"})
        assert await ana.submit(str(view["id"]), filled)
        await talk.over()
    assert f"The ticket was sent to #sales ({sales})." in talk.join_bot_texts()
    (made,) = scene.workspace.lists()
    assert [texts(one)[0] for one in made["items"]] == ["The export is late"]
