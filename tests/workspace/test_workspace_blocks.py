from typing import Any

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from bot.workspace.channel_messages import iterate_elements
from bot.workspace.workspace_server import Workspace
from tests.workspace.conftest import ExpectRefusal

TEXT = {"type": "mrkdwn", "text": "hello"}
PLAIN = {"type": "plain_text", "text": "hello"}
BUTTON = {"type": "button", "text": PLAIN, "action_id": "go", "value": "1"}
CARD = {"type": "task_card", "task_id": "1", "title": "Read", "status": "pending"}
RICH = {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": [{"type": "text", "text": "x"}]}]}
CELL = {"type": "raw_text", "text": "x"}
SERIES = {"name": "s", "data": [{"label": "a", "value": 1}]}
BARS = {"type": "bar", "series": [SERIES], "axis_config": {"categories": ["a"]}}
CHART = {"type": "data_visualization", "title": "T", "chart": BARS}


def options(count: int) -> Any:
    return [{"text": PLAIN, "value": str(number)} for number in range(count)]


def section(**more: Any) -> Any:
    return {"type": "section", "text": TEXT, **more}


def long(length: int) -> Any:
    return {"type": "mrkdwn", "text": "x" * length}


def box(*blocks: Any) -> Any:
    return {"type": "container", "title": PLAIN, "child_blocks": list(blocks)}


def menu(kind: str, **option: Any) -> Any:
    choice = {"text": PLAIN, "value": "1", **option}
    return {"type": "actions", "elements": [{"type": kind, "action_id": "m", "options": [choice]}]}


GOOD = [
    [section(), {"type": "divider"}],
    [section(accessory=BUTTON), section(fields=[TEXT] * 10)],
    [section(text=long(3000))],
    [{"type": "actions", "elements": [BUTTON, {"type": "static_select", "action_id": "s", "options": options(100)}]}],
    [
        {
            "type": "context",
            "elements": [TEXT, {"type": "image", "image_url": "https://x.example/i.png", "alt_text": "i"}],
        }
    ],
    [{"type": "header", "text": PLAIN}],
    [{"type": "markdown", "text": "x" * 12_000}],
    [{"type": "plan", "title": "Plan", "tasks": [{**CARD, "output": RICH}]}],
    [{"type": "plan", "title": "Plan", "tasks": [{key: CARD[key] for key in CARD if key != "type"}]}],
    [CARD],
    [{"type": "table", "rows": [[{"type": "raw_text", "text": "a"}] * 20] * 100}],
    [
        {
            "type": "context_actions",
            "elements": [
                {
                    "type": "feedback_buttons",
                    "action_id": "f",
                    "positive_button": {"text": PLAIN, "value": "up"},
                    "negative_button": {"text": PLAIN, "value": "down"},
                }
            ],
        }
    ],
    [{"type": "carousel", "elements": [{"type": "card", "title": TEXT, "actions": [BUTTON]}]}],
    [box(section())],
    [menu("checkboxes", text=TEXT, description=TEXT)],
    [menu("overflow", url="https://x.example")],
    [section()] * 50,
    [CHART, CHART],
]
BAD = [
    ([{"type": "sektion"}], "unsupported type: sektion [json-pointer:/blocks/0/type]"),
    ([section(), section(text=long(3001))], "must be less than 3001 characters [json-pointer:/blocks/1/text/text]"),
    ([section(text=long(0))], "must be more than 0 characters [json-pointer:/blocks/0/text/text]"),
    ([section(colour="red")], "invalid additional property: colour [json-pointer:/blocks/0]"),
    ([section(accessory={**BUTTON, "label": "x"})], "invalid additional property: label"),
    (
        [section(accessory={**BUTTON, "text": {"type": "plain_text", "text": "x" * 76}})],
        "must be less than 76 characters",
    ),
    ([section(accessory={"type": "plain_text_input"})], "unsupported type: plain_text_input"),
    ([section()] * 51, "no more than 50 items allowed [json-pointer:/blocks]"),
    ([{"type": "section"}], "missing required field: text or fields"),
    ([{"type": "header", "text": TEXT}], "unsupported type: mrkdwn"),
    ([{"type": "actions", "elements": []}], "must provide at least 1 items"),
    ([{"type": "actions", "elements": [BUTTON, BUTTON]}], "action_id already exists: go"),
    ([section(block_id="a"), section(block_id="a")], "block_id already exists: a"),
    ([{"type": "markdown", "text": "x" * 12_001}], "must be less than 12001 characters"),
    ([{"type": "markdown", "text": "x" * 6_001}] * 2, "all markdown blocks together"),
    ([{"type": "plan", "title": "Plan", "tasks": [{**CARD, "type": "card"}]}], "unsupported type: card"),
    ([CARD, {"type": "plan", "title": "Plan", "tasks": [CARD]}], "plan and task_card cannot share a message"),
    ([{**CARD, "status": "done"}], "must be a valid enum value: pending, in_progress, complete, error"),
    ([{"type": "table", "rows": [[{"type": "raw_text", "text": "a"}] * 21]}], "no more than 20 items"),
    ([{"type": "table", "rows": [[{"type": "raw_text", "text": "a"}]] * 101}], "no more than 100 items"),
    ([{"type": "alert", "text": TEXT}], "unsupported type: alert"),
    ([{"type": "context_actions", "elements": [BUTTON]}], "unsupported type: button"),
    ([{"type": "image", "alt_text": "x"}], "exactly one of image_url and slack_file"),
    ([{"type": "actions", "elements": [{"type": "static_select", "action_id": "s"}]}], "exactly one of options"),
    (
        [{"type": "actions", "elements": [{"type": "static_select", "action_id": "s", "options": options(101)}]}],
        "no more than 100 items",
    ),
    ([box(section(text=long(3001)))], "[json-pointer:/blocks/0/child_blocks/0/text/text]"),
    ([box({"type": "section"})], "missing required field: text or fields [json-pointer:/blocks/0/child_blocks/0]"),
    ([CARD, box({"type": "plan", "title": "Plan", "tasks": [CARD]})], "plan and task_card cannot share a message"),
    ([box(section(block_id="a")), section(block_id="a")], "block_id already exists: a"),
    ([menu("static_select", text=TEXT)], "unsupported type: mrkdwn"),
    ([menu("static_select", url="https://x.example")], "invalid additional property: url"),
    ([section(accessory={**BUTTON, "url": "javascript:alert(1)"})], "must be a valid URL"),
    ([{"type": "image", "alt_text": "x", "image_url": "/relative.png"}], "must be a valid URL"),
    ([CHART] * 3, "no more than 2 data_visualization blocks"),
    ([{**CHART, "title": "t" * 51}], "less than 51"),
    ([{**CHART, "chart": {"type": "pie", "segments": [{"label": "a", "value": 0}]}}], "more than 0"),
    ([{**CHART, "chart": {**BARS, "axis_config": {"categories": ["a", "b"]}}}], "exactly one point"),
    ([{**CHART, "chart": {**BARS, "series": [SERIES, SERIES]}}], "unique names"),
    ([{"type": "data_table", "caption": "c", "rows": [[CELL]]}], "at least 2"),
    ([{"type": "data_table", "caption": "c", "rows": [[CELL], [CELL, CELL]]}], "same number of cells"),
    ([{"type": "data_table", "caption": "c", "rows": [[RICH], [CELL]]}], "unsupported"),
    ([{"type": "data_table", "rows": [[CELL], [CELL]], "page_size": 101}], "caption"),
]


@pytest.mark.parametrize("blocks", GOOD, ids=[f"{blocks[0]['type']}-{number}" for number, blocks in enumerate(GOOD)])
async def test_good_blocks_are_taken(client: AsyncWebClient, blocks: list[dict[str, Any]], general: str) -> None:
    answer = await client.chat_postMessage(channel=general, text="x", blocks=blocks)
    assert all(block["block_id"] for block in answer["message"]["blocks"])


@pytest.mark.parametrize(
    ("blocks", "complaint"), BAD, ids=[f"{complaint[:40]}-{number}" for number, (_, complaint) in enumerate(BAD)]
)
async def test_bad_blocks_are_refused_and_the_fault_is_named(
    workspace: Workspace,
    client: AsyncWebClient,
    expect_refusal: ExpectRefusal,
    blocks: list[dict[str, Any]],
    complaint: str,
    general: str,
) -> None:
    answer = await expect_refusal("invalid_blocks", client.chat_postMessage(channel=general, text="x", blocks=blocks))
    assert any(complaint in each for each in answer["response_metadata"]["messages"]), answer
    assert workspace.messages("#general") == []


async def test_cards_have_a_size_as_a_whole(
    client: AsyncWebClient, expect_refusal: ExpectRefusal, general: str
) -> None:
    tasks = [{**CARD, "task_id": str(number)} for number in range(49)]
    plan = {"type": "plan", "title": "Plan", "tasks": tasks[:48]}
    await client.chat_postMessage(channel=general, text="x", blocks=[plan])
    await expect_refusal(
        "msg_too_long", client.chat_postMessage(channel=general, text="x", blocks=[{**plan, "tasks": tasks}])
    )
    detail = {
        "type": "rich_text",
        "elements": [{"type": "rich_text_section", "elements": [{"type": "text", "text": "x" * 900}]}],
    }
    wordy = [{**task, "details": detail} for task in tasks[:12]]
    await expect_refusal(
        "msg_too_long", client.chat_postMessage(channel=general, text="x", blocks=[{**plan, "tasks": wordy}])
    )


async def test_a_button_within_a_frame_can_be_pressed(client: AsyncWebClient, general: str) -> None:
    """What stands in a container or a card gets its ids like any other."""
    button = {"type": "button", "text": PLAIN}
    card = {"type": "card", "title": TEXT, "actions": [button]}
    blocks = [box(section(accessory=button)), card, {"type": "carousel", "elements": [card]}]
    answer = await client.chat_postMessage(channel=general, text="x", blocks=blocks)
    found = list(iterate_elements(answer["message"]["blocks"]))
    assert len({(block["block_id"], element["action_id"]) for block, element in found}) == 3


async def test_one_table_a_message_and_a_list_of_blocks(
    client: AsyncWebClient, expect_refusal: ExpectRefusal, general: str
) -> None:
    table = {"type": "table", "rows": [[{"type": "raw_text", "text": "a"}]]}
    await expect_refusal(
        "only_one_table_allowed", client.chat_postMessage(channel=general, text="x", blocks=[table, table])
    )
    for wrong in ('{"type": "section"}', "no JSON", "[" * 20_000 + "]" * 20_000):
        await expect_refusal("invalid_blocks_format", client.chat_postMessage(channel=general, text="x", blocks=wrong))


async def test_new_text_alone_replaces_blocks_and_an_empty_list_removes_them(
    workspace: Workspace, client: AsyncWebClient, general: str
) -> None:
    ts = (await client.chat_postMessage(channel=general, text="x", blocks=[section()]))["ts"]
    await client.chat_update(channel=general, ts=ts, text="y", blocks=[{"type": "divider"}])
    assert workspace.messages("#general")[0]["blocks"][0]["type"] == "divider"
    await client.chat_update(channel=general, ts=ts, text="z")
    assert "blocks" not in workspace.messages("#general")[0]
