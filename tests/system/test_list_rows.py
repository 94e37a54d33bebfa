"""A ticket as a row of the Slack list that the bot keeps for a channel: approved, added once, found again."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from pathlib import Path

from specialists.tools.tickets import ticket_tools
from specialists.tools.toolkit import ToolSettings
from tests.system.brains import tool_call
from tests.system.desk import Desk, open_window, press, wait_for_card
from tests.system.scene import Json, Scene, extract_shown_text


def list_desk(scene: Scene, folder: Path, to: str) -> Desk:
    """A clerk who opens tickets in that list."""
    return Desk(scene, folder, *ticket_tools.tools(ToolSettings({"LEADHAND_TICKETS": to})))


def open_ticket(desk: Desk, title: str) -> AbstractAsyncContextManager[None]:
    """Have the clerk open a ticket."""
    return desk.serve(tool_call("open_ticket", title=title, body="It is **late**."))


async def approve_ticket(desk: Desk, title: str) -> str:
    """Have a ticket opened and approved; gives what the thread says of it."""
    async with open_ticket(desk, title), desk.bot():
        talk = await desk.scene.ask("Open a ticket for the export")
        card = await wait_for_card(talk)
        assert "becomes a row of the list of tickets there" in extract_shown_text(card)
        await press(talk, card)
        await talk.over()
        return talk.join_bot_texts()


def texts(item: Json) -> list[str]:
    return [one["rich_text"][0]["elements"][0]["elements"][0]["text"] for one in item["fields"]]


async def test_a_row_is_added_once_to_the_list_that_the_first_one_made(scene: Scene, tmp_path: Path) -> None:
    desk = list_desk(scene, tmp_path, "list:#sales")
    sales = scene.workspace.channel_id("#sales")
    assert f"The ticket was sent to #sales ({sales})." in await approve_ticket(desk, "The export is late")
    scene.workspace.faults.add("slackLists.items.create", "lost_reply")
    await approve_ticket(desk, "And again")
    (made,) = scene.workspace.lists()
    assert made["channels"] == {sales: "write"}
    assert [texts(one)[0] for one in made["items"]] == ["The export is late", "And again"]
    assert texts(made["items"][0])[1] == "It is **late**.\n\nAdded for Ana Duarte, who asked for it."


async def test_a_list_needs_a_channel_and_the_optional_scopes(scene: Scene, tmp_path: Path) -> None:
    scene.workspace.faults.add("slackLists.create", "error", error="missing_scope")
    said = await approve_ticket(list_desk(scene, tmp_path, "list:#sales"), "The export is late")
    assert "The ticket was not sent: the app lacks a scope" in said
    assert scene.workspace.lists() == []
    desk = list_desk(scene, tmp_path, "list:@ben")
    async with open_ticket(desk, "T"), desk.bot():
        talk = await scene.ask("Open a ticket for the export")
        await talk.over()
    assert "A list of tickets needs a channel" in talk.join_bot_texts()


async def test_people_edit_what_is_theirs_on_the_card_and_where_it_goes_stays_the_operators(
    scene: Scene, tmp_path: Path
) -> None:
    desk = list_desk(scene, tmp_path, "list:#sales")
    sales = scene.workspace.channel_id("#sales")
    async with open_ticket(desk, "T"), desk.bot():
        talk = await scene.ask("Open a ticket for the export")
        view = await open_window(talk, await wait_for_card(talk), "edit")
        filled = {"to": f"#sales ({sales})", "title": "The export is late", "body": "Since noon."}
        assert not await scene.person().submit(view, {**filled, "to": "#general"})
        assert await scene.person().submit(view, filled)
        await talk.over()
    assert f"The ticket was sent to #sales ({sales})." in talk.join_bot_texts()
    (made,) = scene.workspace.lists()
    assert [texts(one)[0] for one in made["items"]] == ["The export is late"]
