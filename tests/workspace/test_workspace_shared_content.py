"""What people bring into a message as they do in Slack: a pasted table, a forwarded message, a canvas, a mention."""

from __future__ import annotations

import aiohttp
import pytest

from bot.workspace.refusal import ActionFailed
from bot.workspace.shared_content import render_canvas_page
from bot.workspace.workspace_server import Workspace

ROWS = [["City", "Amount"], ["Lisbon", "980"], ["Porto", ""]]


async def test_a_pasted_table_is_a_block_of_an_attachment(workspace: Workspace) -> None:
    ts = await workspace.person("ana").say("#general", "sum it", tables=[ROWS])
    (message,) = workspace.thread("#general", ts)
    (attachment,) = message["attachments"]
    (block,) = attachment["blocks"]
    assert block["type"] == "table"
    assert [len(row) for row in block["rows"]] == [2, 2, 2]
    assert "Lisbon" not in message["text"]
    for wrong in ([], [[]], [["x"] * 21], [["x"]] * 101):
        with pytest.raises(ActionFailed, match="A table has"):
            await workspace.person("ana").say("#general", "sum it", tables=[wrong])


async def test_a_message_is_forwarded_with_its_author_place_and_files(workspace: Workspace) -> None:
    ana = workspace.person("ana")
    first = await workspace.person("ben").say("#sales", "see *this*", files=[("a.txt", b"hello")], tables=[ROWS])
    ts = await ana.forward("#sales", first, "#general")
    (message,) = workspace.thread("#general", ts)
    (share,) = message["attachments"]
    assert (message["text"], "blocks" in message) == ("", False)
    assert (share["is_share"], share["author_subname"], share["footer"]) == (True, "ben", "Posted in #sales")
    assert (share["text"], share["ts"]) == ("see *this*", first)
    assert [file["name"] for file in share["files"]] == ["a.txt"]
    inside = share["message_blocks"][0]["message"]
    assert inside["attachments"][0]["blocks"][0]["type"] == "table"
    with pytest.raises(ActionFailed):
        await ana.forward("#sales", "1.1", "#general")


async def test_a_canvas_is_served_as_a_page(workspace: Workspace) -> None:
    text = "# Steps\n- restart <it>\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nThen wait."
    ts = await workspace.person("ana").say("#general", "look", canvases=[("Runbook", text)])
    (file,) = workspace.thread("#general", ts)[0]["files"]
    assert (file["mode"], file["filetype"], file["mimetype"]) == ("quip", "quip", "application/vnd.slack-docs")
    headers = {"Authorization": f"Bearer {workspace.bot_token}"}
    async with aiohttp.ClientSession() as session, session.get(file["url_private"], headers=headers) as response:
        page = await response.text()
        assert response.content_type == "text/html"
    assert page == render_canvas_page("Runbook", text)
    assert "<h1>Steps</h1><ul><li>restart &lt;it&gt;</li></ul>" in page
    assert "<table><tr><td>a</td><td>b</td></tr><tr><td>1</td><td>2</td></tr></table>" in page
