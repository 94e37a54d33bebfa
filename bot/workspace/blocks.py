"""Checks Block Kit as Slack does: which blocks and keys are allowed where, how long they are, and how many."""

import json
import secrets
from collections.abc import Iterator, Mapping
from typing import Any

from bot.workspace.data_blocks import MAX_CHARTS, check_data_table, check_data_visualization
from bot.workspace.elements import (
    ACTIONS_ELEMENT,
    BUTTON,
    CONTEXT_ACTIONS_ELEMENT,
    CONTEXT_ELEMENT,
    IMAGE,
    INPUT_ELEMENT,
    OVERFLOW,
    RICH_TEXT,
    SECTION_ELEMENT,
    SLACK_FILE,
    URL,
    plain_text,
    text_object,
)
from bot.workspace.message_streams import TASK_STATES
from bot.workspace.refusal import Refusal
from bot.workspace.schema import (
    Check,
    Complaints,
    accept_anything,
    add_complaint,
    by_type,
    check_boolean,
    check_number,
    items,
    string,
    typed_fields,
)

MAX_MESSAGE_BLOCKS = 50
MAX_VIEW_BLOCKS = 100
MAX_MARKDOWN_CHARS = 12_000
MAX_TASK_MESSAGE_BYTES = 10_600
MAX_TASK_CARDS = 48
BLOCK_FIELDS: Mapping[str, Check] = {"block_id": string(255)}
TASK_SOURCES = items(
    by_type(lambda: {"url": typed_fields({"url": string(min_length=1), "text": string()}, {})}), 100, min_items=0
)
RICH_TEXT_BLOCK = by_type(lambda: {"rich_text": RICH_TEXT})
TASK_CARD = typed_fields(
    {"task_id": string(255, min_length=1), "title": string(256, min_length=1)},
    {
        **BLOCK_FIELDS,
        "status": string(choices=TASK_STATES),
        "details": RICH_TEXT_BLOCK,
        "output": RICH_TEXT_BLOCK,
        "sources": TASK_SOURCES,
    },
)
PLAN_TASK = by_type(lambda: {"task_card": TASK_CARD})


def _check_plan_task(value: Any, pointer: str, complaints: Complaints) -> None:
    """Check a task of a plan. It may lack its `type`, as in Slack's own example of the block."""
    PLAN_TASK({"type": "task_card", **value} if isinstance(value, dict) else value, pointer, complaints)


CARD = typed_fields(
    {},
    {
        **BLOCK_FIELDS,
        "hero_image": by_type(lambda: {"image": IMAGE}),
        "icon": by_type(lambda: {"image": IMAGE}),
        "title": text_object(150),
        "subtitle": text_object(150),
        "body": text_object(200),
        "actions": items(by_type(lambda: {"button": BUTTON}), 5),
    },
)
TABLE_CELL = by_type(
    lambda: {
        "raw_text": typed_fields({"text": string(min_length=1)}),
        "raw_number": typed_fields({"value": check_number}, {"text": string()}),
        "rich_text": RICH_TEXT,
    }
)
CONTENT_BLOCKS: dict[str, Check] = {
    "section": typed_fields(
        {},
        {
            **BLOCK_FIELDS,
            "text": text_object(3000),
            "fields": items(text_object(2000), 10),
            "accessory": SECTION_ELEMENT,
            "expand": check_boolean,
        },
    ),
    "divider": typed_fields({}, BLOCK_FIELDS),
    "image": typed_fields(
        {"alt_text": string(2000)},
        {**BLOCK_FIELDS, "image_url": URL, "slack_file": SLACK_FILE, "title": plain_text(2000)},
    ),
    "actions": typed_fields({"elements": items(ACTIONS_ELEMENT, 25)}, BLOCK_FIELDS),
    "context": typed_fields({"elements": items(CONTEXT_ELEMENT, 10)}, BLOCK_FIELDS),
    "header": typed_fields({"text": plain_text(150)}, {**BLOCK_FIELDS, "level": check_number}),
    "input": typed_fields(
        {"label": plain_text(2000), "element": INPUT_ELEMENT},
        {**BLOCK_FIELDS, "hint": plain_text(2000), "optional": check_boolean, "dispatch_action": check_boolean},
    ),
    "rich_text": RICH_TEXT,
    "video": typed_fields(
        {"alt_text": string(), "video_url": URL, "thumbnail_url": URL, "title": plain_text(199)},
        {
            **BLOCK_FIELDS,
            "title_url": URL,
            "description": plain_text(199),
            "provider_icon_url": URL,
            "provider_name": string(),
            "author_name": string(49),
        },
    ),
}
MESSAGE_ONLY_BLOCKS: dict[str, Check] = {
    "markdown": typed_fields({"text": string(MAX_MARKDOWN_CHARS, min_length=1)}, BLOCK_FIELDS),
    "table": typed_fields(
        {"rows": items(items(TABLE_CELL, 20), 100)},
        {**BLOCK_FIELDS, "column_settings": items(accept_anything, 20, min_items=0)},
    ),
    "context_actions": typed_fields({"elements": items(CONTEXT_ACTIONS_ELEMENT, 5)}, BLOCK_FIELDS),
    "plan": typed_fields(
        {"title": string(256, min_length=1)},
        {**BLOCK_FIELDS, "tasks": items(_check_plan_task, MAX_MESSAGE_BLOCKS, min_items=0)},
    ),
    "task_card": TASK_CARD,
    "card": CARD,
    "carousel": typed_fields({"elements": items(by_type(lambda: {"card": CARD}), 10)}, BLOCK_FIELDS),
    "container": typed_fields(
        {"child_blocks": items(by_type(lambda: {**CONTENT_BLOCKS, **MESSAGE_ONLY_BLOCKS}), 10)},
        {
            **BLOCK_FIELDS,
            "title": plain_text(150),
            "rich_text_title": RICH_TEXT_BLOCK,
            "subtitle": text_object(150),
            "width": string(choices=("narrow", "standard", "wide", "full")),
            "icon": by_type(lambda: {"image": IMAGE}),
            "is_collapsible": check_boolean,
            "default_collapsed": check_boolean,
            "has_header_divider": check_boolean,
        },
    ),
    "file": typed_fields({"external_id": string(), "source": string(choices=("remote",))}, BLOCK_FIELDS),
    "call": typed_fields(
        {"call_id": string()}, {**BLOCK_FIELDS, "api_decoration_available": check_boolean, "call": accept_anything}
    ),
    "data_table": check_data_table,
    "data_visualization": check_data_visualization,
}
ALERT = typed_fields(
    {"text": text_object(3000)},
    {**BLOCK_FIELDS, "level": string(choices=("default", "info", "warning", "error", "success"))},
)
AUTH_PROVIDER = typed_fields(
    {"value": string(150, min_length=1), "name": plain_text(75), "is_connected": check_boolean},
    {
        **BLOCK_FIELDS,
        "description": plain_text(150),
        "icon_url": URL,
        "auth_url": URL,
        "disconnect_url": URL,
        "connected_identity": plain_text(75),
        "connected_context": plain_text(75),
        "accessory": by_type(lambda: {"overflow": OVERFLOW}),
        "fallback": items(by_type(lambda: CONTENT_BLOCKS), MAX_VIEW_BLOCKS),
    },
)
MESSAGE_BLOCKS = {**CONTENT_BLOCKS, **MESSAGE_ONLY_BLOCKS}
HOME_BLOCKS = {**CONTENT_BLOCKS, "auth_provider": AUTH_PROVIDER}
MODAL_BLOCKS = {**HOME_BLOCKS, "alert": ALERT}
VIEW_FIELDS = {
    "private_metadata": string(3000),
    "callback_id": string(255),
    "external_id": string(255),
    "clear_on_close": check_boolean,
    "notify_on_close": check_boolean,
    "submit_disabled": check_boolean,
    "submit": plain_text(24),
    "close": plain_text(24),
}


def check_message_blocks(blocks: Any, *, outer_text: str = "") -> list[dict[str, Any]]:
    """Check the blocks of a message, and return them with ids for the blocks that have none.

    Args:
        blocks: The blocks that the app sent.
        outer_text: The text of the message outside its blocks, which counts towards its size.

    Raises:
        Refusal: `invalid_blocks`, `invalid_blocks_format`, `msg_too_long` or
            `only_one_table_allowed`, with Slack's complaints.
    """
    if not isinstance(blocks, list):
        raise Refusal("invalid_blocks_format")
    complaints: Complaints = []
    items(by_type(lambda: MESSAGE_BLOCKS), MAX_MESSAGE_BLOCKS, min_items=0)(blocks, "/blocks", complaints)
    if not complaints:
        _check_whole_message(blocks, complaints)
        _check_block_ids(blocks, complaints)
    if complaints:
        raise Refusal("invalid_blocks", *complaints)
    if sum(block["type"] == "table" for block, _ in _iterate_blocks(blocks)) > 1:
        raise Refusal("only_one_table_allowed")
    check_task_message_size(blocks, outer_text)
    return _fill_block_ids(blocks)


def check_task_message_size(blocks: list[dict[str, Any]], outer_text: str) -> None:
    """Refuse a message that has too many task cards, or has task cards and is too long together with `outer_text`.

    Raises:
        Refusal: `msg_too_long`.
    """
    tasks = [block for block, _ in _iterate_blocks(blocks) if shows_tasks(block)]
    cards = sum(len(block.get("tasks") or ()) if block["type"] == "plan" else 1 for block in tasks)
    if cards:
        size = len(json.dumps(blocks, ensure_ascii=False).encode()) + len(outer_text.encode())
        if cards > MAX_TASK_CARDS or size > MAX_TASK_MESSAGE_BYTES:
            raise Refusal("msg_too_long")


def shows_tasks(block: dict[str, Any]) -> bool:
    """Return True for a block that shows tasks."""
    return block["type"] in ("plan", "task_card")


def check_view(view: Any) -> dict[str, Any]:
    """Check a modal or a home view, and return it with ids for the blocks that have none.

    Raises:
        Refusal: `invalid_arguments` with Slack's complaints.
    """
    kind = view.get("type") if isinstance(view, dict) else None
    if not isinstance(view, dict) or kind not in ("modal", "home"):
        raise Refusal("invalid_arguments", "[ERROR] must provide a string [json-pointer:/view/type]")
    table = MODAL_BLOCKS if kind == "modal" else HOME_BLOCKS
    required_fields = {"blocks": items(by_type(lambda: table), MAX_VIEW_BLOCKS, min_items=0)}
    complaints: Complaints = []
    if kind == "modal":
        typed_fields({**required_fields, "title": plain_text(24)}, VIEW_FIELDS)(view, "/view", complaints)
        blocks = view.get("blocks")
        has_input = isinstance(blocks, list) and any(
            isinstance(block, dict) and block.get("type") == "input" for block in blocks
        )
        if has_input and "submit" not in view:
            add_complaint(complaints, "missing required field: submit", "/view")
    else:
        typed_fields(
            required_fields, {key: VIEW_FIELDS[key] for key in ("private_metadata", "callback_id", "external_id")}
        )(view, "/view", complaints)
    if not complaints:
        _check_contents(view["blocks"], complaints, "/view/blocks")
        _check_block_ids(view["blocks"], complaints, "/view/blocks")
    if complaints:
        raise Refusal("invalid_arguments", *complaints)
    return {**view, "blocks": _fill_block_ids(view["blocks"])}


def _check_whole_message(blocks: list[dict[str, Any]], complaints: Complaints) -> None:
    all_blocks = [block for block, _ in _iterate_blocks(blocks)]
    if {"plan", "task_card"} <= {block["type"] for block in all_blocks}:
        add_complaint(complaints, "plan and task_card cannot share a message", "/blocks")
    if sum(len(block["text"]) for block in all_blocks if block["type"] == "markdown") > MAX_MARKDOWN_CHARS:
        add_complaint(
            complaints, f"all markdown blocks together must be less than {MAX_MARKDOWN_CHARS + 1} characters", "/blocks"
        )
    if sum(block["type"] == "data_visualization" for block in all_blocks) > MAX_CHARTS:
        add_complaint(complaints, f"no more than {MAX_CHARTS} data_visualization blocks allowed", "/blocks")
    _check_contents(blocks, complaints, "/blocks")


def _check_contents(blocks: list[dict[str, Any]], complaints: Complaints, pointer: str) -> None:
    """Check that each section has text or fields, and each image exactly one source."""
    for block, place in _iterate_blocks(blocks, pointer):
        if block["type"] == "section" and "text" not in block and "fields" not in block:
            add_complaint(complaints, "missing required field: text or fields", place)
        if block["type"] == "image" and ("image_url" in block) == ("slack_file" in block):
            add_complaint(complaints, "exactly one of image_url and slack_file is required", place)


def _iterate_blocks(blocks: list[dict[str, Any]], pointer: str = "/blocks") -> Iterator[tuple[dict[str, Any], str]]:
    """Yield every block with its JSON pointer, blocks inside containers too."""
    for index, block in enumerate(blocks):
        yield block, f"{pointer}/{index}"
        yield from _iterate_blocks(block.get("child_blocks") or [], f"{pointer}/{index}/child_blocks")


def _check_block_ids(blocks: list[dict[str, Any]], complaints: Complaints, pointer: str = "/blocks") -> None:
    seen_ids: set[str] = set()
    for block, place in _iterate_blocks(blocks, pointer):
        block_id = block.get("block_id")
        if block_id in seen_ids:
            add_complaint(complaints, f"block_id already exists: {block_id}", f"{place}/block_id")
        if block_id:
            seen_ids.add(block_id)
        ids = [each.get("action_id") for each in block.get("elements") or [] if isinstance(each, dict)]
        action_ids = [each for each in ids if each]
        for action_id in sorted({each for each in action_ids if action_ids.count(each) > 1}):
            add_complaint(complaints, f"action_id already exists: {action_id}", f"{place}/elements")


def _fill_block_ids(blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [_fill_block_id(block) for block in blocks]


def _fill_block_id(block: dict[str, Any]) -> dict[str, Any]:
    block = {**block, "block_id": block.get("block_id") or secrets.token_urlsafe(4)}
    if block["type"] in ("actions", "context_actions"):
        block["elements"] = [_fill_action_id(element) for element in block["elements"]]
    if block["type"] == "carousel":
        block["elements"] = _fill_block_ids(block["elements"])
    if block["type"] == "card" and "actions" in block:
        block["actions"] = [_fill_action_id(element) for element in block["actions"]]
    if "child_blocks" in block:
        block["child_blocks"] = _fill_block_ids(block["child_blocks"])
    for key in ("accessory", "element"):
        if key in block and block[key]["type"] != "image":
            block[key] = _fill_action_id(block[key])
    return block


def _fill_action_id(element: dict[str, Any]) -> dict[str, Any]:
    return {**element, "action_id": element.get("action_id") or secrets.token_urlsafe(4)}
