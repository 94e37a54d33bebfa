"""canvases.access.set: who may open a canvas, with Slack's refusals."""

from collections.abc import Awaitable
from typing import Any

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from bot.workspace.workspace_server import Workspace
from tests.workspace.conftest import ExpectRefusal, Start

SET = "canvases.access.set"


@pytest.fixture
async def canvas(client: AsyncWebClient) -> str:
    made = await client.canvases_create(title="Note", document_content={"type": "markdown", "markdown": "Hello"})
    return str(made["canvas_id"])


async def test_a_channel_gets_access(workspace: Workspace, client: AsyncWebClient, canvas: str) -> None:
    general, sales = workspace.channel_id("#general"), workspace.channel_id("#sales")
    await client.canvases_access_set(canvas_id=canvas, access_level="read", channel_ids=[general, sales])
    await client.api_call(SET, json={"canvas_id": canvas, "access_level": "write", "channel_ids": [general]})
    shown = await client.files_info(file=canvas)
    assert shown["file"]["channels"] == [general, sales]
    assert shown["file"]["permalink"].startswith("http")


async def test_a_person_gets_access_once_the_link_was_sent(
    workspace: Workspace, client: AsyncWebClient, canvas: str, expect_refusal: ExpectRefusal
) -> None:
    ana, ben = workspace.person("ana"), workspace.person("ben")

    def grant(*people: str, level: str = "read") -> Awaitable[Any]:
        return client.canvases_access_set(canvas_id=canvas, access_level=level, user_ids=list(people))

    answer = await expect_refusal("failed_to_update_user_ids", grant(ana.id))
    assert answer["failed_to_update_user_ids"] == [ana.id]
    link = (await client.files_info(file=canvas))["file"]["permalink"]
    await client.chat_postMessage(channel=ana.dm, text=f"Canvas: <{link}|Note>")
    await grant(ana.id)
    assert (await expect_refusal("failed_to_update_user_ids", grant(ana.id, ben.id)))["failed_to_update_user_ids"] == [
        ben.id
    ]
    await grant(ana.id, level="owner")
    file = (await client.files_info(file=canvas))["file"]
    assert file["dm_mpdm_users_with_file_access"] == [{"user_id": ana.id, "access": "owner"}]
    assert file["user"] == ana.id


async def test_what_slack_refuses(
    workspace: Workspace, client: AsyncWebClient, canvas: str, expect_refusal: ExpectRefusal
) -> None:
    ana, general = workspace.person("ana"), workspace.channel_id("#general")
    for code, change in (
        ("canvas_not_found", {"canvas_id": "F0NONE"}),
        ("invalid_parameters", {"user_ids": [ana.id]}),
        ("invalid_parameters", {"channel_ids": None}),
        ("invalid_arguments", {"access_level": "rule"}),
        ("invalid_arguments", {"access_level": "owner"}),
        ("channel_not_found", {"channel_ids": ["C0NONE"]}),
        ("channel_not_found", {"channel_ids": [ana.dm]}),
        ("user_not_found", {"channel_ids": None, "user_ids": ["U0NONE"]}),
        ("invalid_arguments", {"channel_ids": '["C1", 2]'}),
    ):
        args: dict[str, Any] = {"canvas_id": canvas, "access_level": "read", "channel_ids": [general], **change}
        await expect_refusal(code, client.canvases_access_set(**args))


async def test_a_refused_change_names_its_field(
    client: AsyncWebClient, canvas: str, expect_refusal: ExpectRefusal
) -> None:
    for field, operation in (("title_content", "rename"), ("document_content", "replace")):
        change = {"operation": operation, field: "# Report"}
        answer = await expect_refusal("invalid_arguments", client.canvases_edit(canvas_id=canvas, changes=[change]))
        assert answer["response_metadata"]["messages"][0].endswith(f"[json-pointer:/changes/0/{field}]")


async def test_a_file_is_no_canvas(workspace: Workspace, client: AsyncWebClient, expect_refusal: ExpectRefusal) -> None:
    ts = await workspace.person("ana").say("#general", "a file", files=[("a.txt", b"text")])
    file = workspace.thread("#general", ts)[0]["files"][0]["id"]
    channels = [workspace.channel_id("#general")]
    await expect_refusal(
        "canvas_not_found", client.canvases_access_set(canvas_id=file, access_level="read", channel_ids=channels)
    )


async def test_it_needs_its_scope(
    start: Start, manifest_with: Any, expect_refusal: ExpectRefusal, client_of: Any
) -> None:
    def edit(raw: dict[str, Any]) -> None:
        raw["oauth_config"]["scopes"]["bot"].remove("canvases:write")

    workspace = await start(manifest=manifest_with(edit))
    call = client_of(workspace).canvases_access_set(canvas_id="F1", access_level="read", channel_ids=["C1"])
    assert (await expect_refusal("missing_scope", call))["needed"] == "canvases:write"
