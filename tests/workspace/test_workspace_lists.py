"""Slack lists: columns, rows and pages, with Slack's refusals."""

from typing import Any

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from tests.workspace.conftest import Change, Clients, ExpectRefusal, Start

COLUMNS: list[dict[str, Any]] = [
    {"key": "name", "name": "Name", "type": "text", "is_primary_column": True},
    {"key": "done", "name": "Done", "type": "checkbox"},
]
TEXT = {
    "type": "rich_text",
    "elements": [{"type": "rich_text_section", "elements": [{"type": "text", "text": "Call Ana"}]}],
}


@pytest.fixture
async def client(start: Start, manifest_with: Change, client_of: Clients) -> AsyncWebClient:
    """A client of an app that may read and write lists."""
    scopes = ("lists:read", "lists:write")
    manifest = manifest_with(lambda raw: raw["oauth_config"]["scopes"]["bot"].extend(scopes))
    return client_of(await start(manifest=manifest, rate_limits=False))


@pytest.fixture
async def slack_list(client: AsyncWebClient) -> Any:
    return await client.api_call("slackLists.create", json={"name": "To do", "schema": COLUMNS})


async def test_rows_are_read_page_by_page(
    client: AsyncWebClient, slack_list: Any, expect_refusal: ExpectRefusal
) -> None:
    name, done = (column["id"] for column in slack_list["list_metadata"]["schema"])
    fields = [{"column_id": name, "rich_text": [TEXT]}, {"column_id": done, "checkbox": True}]
    rows = [
        (await client.slackLists_items_create(list_id=slack_list["list_id"], initial_fields=fields))["item"]
        for _ in range(3)
    ]
    pages = await client.slackLists_items_list(list_id=slack_list["list_id"], limit=2)
    assert [page["items"] async for page in pages] == [rows[:2], rows[2:]]
    await expect_refusal(
        "invalid_cursor", client.slackLists_items_list(list_id=slack_list["list_id"], cursor="\N{SUPERSCRIPT TWO}")
    )


@pytest.mark.parametrize("value", ["Call Ana", ["Call Ana"], [None], [{"type": "section"}]])
async def test_a_text_that_is_no_rich_text_is_refused(
    client: AsyncWebClient, slack_list: Any, expect_refusal: ExpectRefusal, value: Any
) -> None:
    column = slack_list["list_metadata"]["schema"][0]["id"]
    call = client.slackLists_items_create(
        list_id=slack_list["list_id"], initial_fields=[{"column_id": column, "rich_text": value}]
    )
    await expect_refusal("invalid_input_type", call)


async def test_fields_and_columns_of_the_wrong_kind_are_refused(
    client: AsyncWebClient, slack_list: Any, expect_refusal: ExpectRefusal
) -> None:
    fields = {"list_id": slack_list["list_id"], "initial_fields": 5}
    await expect_refusal("invalid_arguments", client.api_call("slackLists.items.create", json=fields))
    schema = [COLUMNS[0] | {"key": ["name"]}]
    await expect_refusal(
        "invalid_schema", client.api_call("slackLists.create", json={"name": "To do", "schema": schema})
    )
