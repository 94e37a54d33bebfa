"""Handlers of slackLists.*: lists that the app makes, their rows, and who may open them."""

from __future__ import annotations

from typing import Any

from bot.workspace.identity import make_id
from bot.workspace.refusal import Refusal
from bot.workspace.web_api.api_call import Answer, Call
from bot.workspace.workspace_state import Json

ACCESS_LEVELS = ("read", "write", "owner")
COLUMN_TYPES = ("text", "rich_text", "number", "select", "date", "user", "checkbox", "link", "channel")
MAX_NAME_CHARACTERS = 255


async def create_list(call: Call) -> Answer:
    """Create a list with the columns of `schema`; without one, it has a single text column. One column is primary."""
    name = str(call.args["name"])
    if not 0 < len(name) <= MAX_NAME_CHARACTERS:
        raise Refusal("invalid_args", "[ERROR] a name has 1 to 255 characters [json-pointer:/name]")
    schema = call.args.get("schema") or [{"key": "name", "name": "Name", "type": "text", "is_primary_column": True}]
    columns = [{**one, "id": make_id("Col")} for one in _check_columns(schema)]
    slack_list: Json = {"id": make_id("F"), "name": name, "columns": columns, "items": [], "channels": {}}
    call.state.lists[slack_list["id"]] = slack_list
    _save_list(call, slack_list)
    return {"list_id": slack_list["id"], "list_metadata": {"schema": columns}}


async def create_item(call: Call) -> Answer:
    """Add a row."""
    slack_list = _find_list(call)
    fields = call.args.get("initial_fields") or []
    if not isinstance(fields, list):
        raise Refusal("invalid_arguments", "[ERROR] must be an array [json-pointer:/initial_fields]")
    item = {"id": make_id("Rec"), "list_id": slack_list["id"], "date_created": int(call.state.clock.now())}
    item["created_by"] = call.state.identity.bot_user_id
    item["fields"] = [_check_field(slack_list, one) for one in fields]
    slack_list["items"].append(item)
    _save_list(call, slack_list)
    return {"item": item}


async def list_items(call: Call) -> Answer:
    """List a page of rows, oldest first."""
    page, _, cursor = call.cut_page(_find_list(call)["items"], 100)
    return {"items": page, "response_metadata": {"next_cursor": cursor}}


async def set_list_access(call: Call) -> Answer:
    """Let the members of channels open a list."""
    slack_list, level = _find_list(call), call.args["access_level"]
    channels = call.args.get("channel_ids") or []
    if level not in ACCESS_LEVELS or not channels or call.args.get("user_ids"):
        raise Refusal("invalid_parameters")
    for channel_id in channels:
        channel = call.state.channels.get(channel_id)
        if channel is None or channel.kind in ("im", "mpim"):
            raise Refusal("channel_not_found")
        slack_list["channels"][channel_id] = level
    _save_list(call, slack_list)
    return {}


def _check_columns(schema: Any) -> list[Json]:
    good = isinstance(schema, list) and all(
        isinstance(one, dict) and all(isinstance(one.get(name), str) for name in ("key", "name", "type"))
        for one in schema
    )
    if (
        not good
        or len({one["key"] for one in schema}) != len(schema)
        or any(one["type"] not in COLUMN_TYPES for one in schema)
    ):
        raise Refusal(
            "invalid_schema", "[ERROR] columns have a key of their own, a name and a type [json-pointer:/schema]"
        )
    primary = [one for one in schema if one.get("is_primary_column")]
    if len(primary) != 1 or primary[0]["type"] != "text":
        raise Refusal("invalid_schema", "[ERROR] one column is the primary one, and it is text [json-pointer:/schema]")
    return list(schema)


def _check_field(slack_list: Json, field: Any) -> Json:
    """Check one field and return it with its key. Text must be rich text, a checkbox a boolean, the rest arrays."""
    column = next(
        (one for one in slack_list["columns"] if isinstance(field, dict) and one["id"] == field.get("column_id")), None
    )
    if column is None:
        raise Refusal("invalid_column_id")
    name = "rich_text" if column["type"] in ("text", "rich_text") else column["type"]
    value = field.get(name)
    fits = isinstance(value, bool if name == "checkbox" else list)
    if not fits or (name == "rich_text" and not all(_is_rich_text(one) for one in value)):
        raise Refusal("invalid_input_type")
    return {**field, "key": column["key"]}


def _is_rich_text(value: Any) -> bool:
    return isinstance(value, dict) and value.get("type") == "rich_text"


def _find_list(call: Call) -> Json:
    slack_list = call.state.lists.get(str(call.args["list_id"]))
    if slack_list is None:
        raise Refusal("list_not_found")
    return slack_list


def _save_list(call: Call, slack_list: Json) -> None:
    call.state.record.put("list", slack_list["id"], lambda: slack_list)
