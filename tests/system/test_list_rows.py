"""A ticket as a row of the Slack list that the bot keeps for a channel: approved, added once, found again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from specialists.tools.tickets import ticket_tools
from specialists.tools.toolkit import ToolSettings
from tests.system.brains import tool_call
from tests.system.desk import Desk, decide_on_card, open_window, wait_for_card
from tests.system.scene import Json, Scene, Talk, extract_shown_text


def list_desk(scene: Scene, folder: Path, to: str) -> Desk:
    """A clerk who opens tickets in that list."""
    return Desk(scene, folder, *ticket_tools.tools(ToolSettings({"LEADHAND_TICKETS": to})))


def open_ticket(desk: Desk, title: str) -> AbstractAsyncContextManager[None]:
    """Have the clerk open a ticket."""
    return desk.serve(tool_call("open_ticket", title=title, body="It is **late**."))


async def request_ticket(
    desk: Desk, title: str, decide: Callable[[Talk, Json], Awaitable[object]] = decide_on_card
) -> str:
    """Have a ticket opened once people decide on its card; gives what the thread says of it."""
    async with open_ticket(desk, title), desk.bot():
        talk = await desk.scene.ask("Open a ticket for the export")
        card = await wait_for_card(talk)
        assert "becomes a row of the list of tickets there" in extract_shown_text(card)
        await decide(talk, card)
        await talk.over()
        return talk.join_bot_texts()


def texts(item: Json) -> list[str]:
    return [one["rich_text"][0]["elements"][0]["elements"][0]["text"] for one in item["fields"]]


async def test_a_row_is_added_once_to_the_list_that_the_first_one_made_and_people_edit_what_is_theirs(
    scene: Scene, tmp_path: Path
) -> None:
    desk = list_desk(scene, tmp_path, "list:#sales")
    sales = scene.workspace.channel_id("#sales")

    async def edit(talk: Talk, card: Json) -> None:
        view, ana = await open_window(talk, card, "edit"), scene.person()
        form = {"to": f"#sales ({sales})", "title": "The export is late", "body": "Since noon."}
        assert not await ana.submit(view, {**form, "to": "#general"}), "where it goes stays the operator's"
        assert await ana.submit(view, form)

    assert f"The ticket was sent to #sales ({sales})." in await request_ticket(desk, "T", edit)
    scene.workspace.faults.add("slackLists.items.create", "lost_reply")
    await request_ticket(desk, "And again")
    (made,) = scene.workspace.lists()
    assert made["channels"] == {sales: "write"}
    assert [texts(one)[0] for one in made["items"]] == ["The export is late", "And again"]
    assert texts(made["items"][1])[1].startswith("It is **late**.\n\nAdded for ")
    assert texts(made["items"][0])[1] == "Since noon.\n\nAdded for Ana Duarte, who asked for it."


async def test_a_list_needs_a_channel_and_the_optional_scopes(scene: Scene, tmp_path: Path) -> None:
    scene.workspace.faults.add("slackLists.create", "error", error="missing_scope")
    said = await request_ticket(list_desk(scene, tmp_path, "list:#sales"), "The export is late")
    assert "The ticket was not sent: the app lacks a scope" in said
    assert scene.workspace.lists() == []
    desk = list_desk(scene, tmp_path, "list:@ben")
    async with open_ticket(desk, "T"), desk.bot():
        talk = await scene.ask("Open a ticket for the export")
        await talk.over()
    assert "A list of tickets needs a channel" in talk.join_bot_texts()
