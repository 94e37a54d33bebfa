"""canvases.create, edit, delete and access.set: a canvas is kept as the Markdown it was written in."""

from typing import Any

from bot.workspace.refusal import Refusal
from bot.workspace.web_api.api_call import Answer, Call
from bot.workspace.workspace_state import Json

LEVELS = ("read", "write", "owner")
OPERATIONS = ("insert_at_start", "insert_at_end", "replace", "rename")
MOST_MARKDOWN = 100_000


async def create(call: Call) -> Answer:
    """Write a canvas, in a channel when one is named."""
    markdown = _read_markdown(call.args.get("document_content", {"type": "markdown", "markdown": ""}))
    channel = call.writable_channel("channel_id") if call.args.get("channel_id") else None
    title = call.args.get("title") or "Untitled"
    canvas = await call.world.files.add_canvas(title, markdown, call.state.identity.bot_user_id)
    if channel:
        call.world.files.share(canvas, channel.id)
    return {"canvas_id": canvas["id"]}


async def edit(call: Call) -> Answer:
    """Change a canvas."""
    canvas = _find_canvas(call)
    changes = call.args["changes"]
    if not isinstance(changes, list) or len(changes) != 1 or not isinstance(changes[0], dict):
        raise Refusal("invalid_arguments", "[ERROR] must be an array of one change [json-pointer:/changes]")
    await _apply(call, canvas, changes[0])
    return {}


async def delete(call: Call) -> Answer:
    """Delete a canvas."""
    await call.world.delete_file(_find_canvas(call))
    return {}


async def set_access(call: Call) -> Answer:
    """Let channels or people open a canvas, or make somebody its owner."""
    canvas, level = _find_canvas(call), call.args["access_level"]
    channels, users = call.args.get("channel_ids") or [], call.args.get("user_ids") or []
    if bool(channels) == bool(users):
        raise Refusal("invalid_parameters")
    if level not in LEVELS:
        raise Refusal("invalid_arguments", f"[ERROR] must be one of {LEVELS} [json-pointer:/access_level]")
    if users:
        _let_users(call, canvas, users, level)
    else:
        _let_channels(call, canvas, channels, level)
    return {}


def _let_channels(call: Call, canvas: Json, channels: list[str], level: str) -> None:
    if level == "owner":
        raise Refusal("invalid_arguments", "[ERROR] only a user can be the owner [json-pointer:/access_level]")
    for channel_id in channels:
        channel = call.state.channels.get(channel_id)
        if channel is None or channel.kind in ("im", "mpim"):  # a direct message gets access by its people
            raise Refusal("channel_not_found")
    for channel_id in channels:
        call.world.files.share(canvas, channel_id)


def _let_users(call: Call, canvas: Json, users: list[str], level: str) -> None:
    if any(user_id not in call.state.users for user_id in users):
        raise Refusal("user_not_found")
    unsent = [user_id for user_id in users if not _was_link_sent(call, canvas, user_id)]
    if unsent:
        raise Refusal("failed_to_update_user_ids", failed_to_update_user_ids=unsent)
    call.world.files.grant(canvas, dict.fromkeys(users, level))


def _was_link_sent(call: Call, canvas: Json, user_id: str) -> bool:
    """Return True if the canvas's link stands in the direct message with that person, as Slack demands."""
    direct = call.state.find_channel(user_id)
    messages = direct.messages.values() if direct else ()
    return any(canvas["permalink"] in str(message.data.get("text")) for message in messages)


def _find_canvas(call: Call) -> Json:
    canvas = call.state.files.get(call.args["canvas_id"])
    if canvas is None or canvas["mode"] != "quip":
        raise Refusal("canvas_not_found")
    return canvas


async def _apply(call: Call, canvas: Json, change: Json) -> None:
    operation = change.get("operation")
    if operation not in OPERATIONS:
        raise Refusal("invalid_arguments", "[ERROR] unsupported operation [json-pointer:/changes/0/operation]")
    if operation == "rename":
        title = _read_markdown(change.get("title_content"))
        canvas |= {"title": title, "name": title}
        await call.world.files.rewrite(canvas, await call.world.files.content(canvas["id"]))
        return
    if change.get("section_id"):
        raise Refusal("section_not_found")
    new = _read_markdown(change.get("document_content"))
    old = (await call.world.files.content(canvas["id"])).decode()
    whole = {"insert_at_start": f"{new}\n{old}", "insert_at_end": f"{old}\n{new}", "replace": new}[operation]
    await call.world.files.rewrite(canvas, whole.encode())


def _read_markdown(content: Any) -> str:
    if (
        not isinstance(content, dict)
        or content.get("type") != "markdown"
        or not isinstance(content.get("markdown"), str)
    ):
        raise Refusal(
            "invalid_arguments", "[ERROR] must be {type: markdown, markdown: ...} [json-pointer:/document_content]"
        )
    if len(content["markdown"]) > MOST_MARKDOWN:
        raise Refusal("canvas_too_large")
    return str(content["markdown"])
