import json
from pathlib import Path
from typing import Any

import aiohttp
from slack_sdk.web.async_client import AsyncWebClient

from bot.workspace.workspace_server import Workspace
from tests.patience import eventually
from tests.workspace.conftest import ExpectRefusal, Listen


async def test_the_sdk_uploads_in_three_steps(workspace: Workspace, client: AsyncWebClient, general: str) -> None:
    ana = workspace.person("ana")
    root = await ana.say("#general", "chart please")
    uploads = [
        {"filename": "chart.png", "content": b"\x89PNG....", "title": "A chart"},
        {"filename": "notes.txt", "content": "text"},
    ]
    answer = await client.files_upload_v2(
        channel=general, thread_ts=root, file_uploads=uploads, initial_comment="Here they are"
    )
    assert [file["title"] for file in answer["files"]] == ["A chart", "notes.txt"]
    message = workspace.thread("#general", root)[1]
    assert message["text"] == "Here they are"
    assert [file["mimetype"] for file in message["files"]] == ["image/png", "text/plain"]
    assert await workspace.file(message["files"][0]["id"]) == b"\x89PNG...."
    info = await client.files_info(file=message["files"][0]["id"])
    assert info["file"]["size"] == 8


async def test_attached_files_come_with_the_event_and_are_fetched_with_the_token(
    workspace: Workspace, listen: Listen, session: aiohttp.ClientSession, tmp_path: Path
) -> None:
    seen: list[Any] = []

    def register(app: Any) -> None:
        @app.event("app_mention")
        async def mention(event: Any) -> None:
            seen.append(event)

        @app.event("message")
        async def message() -> None:
            pass

    await listen(workspace, register)
    table = tmp_path / "sales figures.csv"
    table.write_text("a,b\n1,2\n", encoding="utf-8")
    await workspace.person("ana").say("#general", "@testhand sum", files=[table, ("x.bin", b"\x00\x01")])
    await eventually(lambda: seen)
    file = seen[0]["files"][0]
    assert (file["name"], file["mimetype"], file["size"]) == ("sales figures.csv", "text/csv", 8)
    headers = {"Authorization": f"Bearer {workspace.bot_token}"}
    async with session.get(file["url_private_download"], headers=headers) as response:
        assert await response.read() == b"a,b\n1,2\n"
    async with session.get(file["url_private"]) as response:
        assert response.status == 200
        assert response.content_type == "text/html"
        assert b"a,b" not in await response.read()


async def test_uploads_that_slack_refuses(
    workspace: Workspace,
    client: AsyncWebClient,
    general: str,
    session: aiohttp.ClientSession,
    expect_refusal: ExpectRefusal,
) -> None:
    ticket = await client.files_getUploadURLExternal(filename="a.txt", length=4)
    shared = {"files": json.dumps([{"id": ticket["file_id"]}]), "channel_id": general}
    await expect_refusal("file_not_found", client.api_call("files.completeUploadExternal", params=shared))
    async with session.post(ticket["upload_url"], data=b"toolong") as response:
        assert response.status == 400
    async with session.post(ticket["upload_url"], data=b"four") as response:
        assert (response.status, await response.text()) == (200, "OK - 4")
    async with session.post(ticket["upload_url"], data=b"four") as response:
        assert response.status == 400
    await client.api_call("files.completeUploadExternal", params=shared)
    await expect_refusal("file_not_found", client.api_call("files.completeUploadExternal", params=shared))
    await expect_refusal("file_not_found", client.files_info(file="F0NONE"))
    await workspace.person("ana").kick("#general")
    await expect_refusal("not_in_channel", client.files_upload_v2(channel=general, filename="a", content="b"))
