"""Handlers of files.* and canvases.*. A canvas is stored as its Markdown."""

from typing import Any

from bot.workspace.refusal import Refusal
from bot.workspace.web_api.api_call import Answer, Call
from bot.workspace.workspace_state import Channel, Json


async def get_upload_url(call: Call) -> Answer:
    """Return a new upload URL, and the id that the file will have."""
    if call.args["length"] <= 0:
        raise Refusal("invalid_arguments", "[ERROR] length must be more than 0 [json-pointer:/length]")
    url, file_id = call.world.files.start_upload(
        call.args["filename"], call.args["length"], call.args.get("alt_txt") or ""
    )
    return {"upload_url": url, "file_id": file_id}


async def complete_upload(call: Call) -> Answer:
    """Turn uploads into files, and share them in the channels that the call names, if any."""
    uploads = call.args["files"]
    if (
        not isinstance(uploads, list)
        or not uploads
        or not all(isinstance(each, dict) and "id" in each for each in uploads)
    ):
        raise Refusal("invalid_arguments", "[ERROR] must be an array of objects with an id [json-pointer:/files]")
    channels = _find_channels(call)
    thread_ts = call.find_thread_ts(channels[0]) if channels else None
    files = []
    for each in uploads:
        file = call.world.files.complete_upload(str(each["id"]), each.get("title"), call.state.identity.bot_user_id)
        if file is None:
            raise Refusal("file_not_found")
        files.append(file)
    for channel in channels:
        for file in files:
            call.world.files.record_share(file, channel.id)
        content: Json = {"text": call.args.get("initial_comment") or "", "files": files, "upload": True}
        call.world.messages.post_as_bot(channel, content, thread_ts)
    return {"files": files}


async def get_file_info(call: Call) -> Answer:
    """Describe a file."""
    file = call.state.files.get(str(call.args["file"]))
    if file is None:
        raise Refusal("file_not_found")
    return {"file": file, "comments": [], "response_metadata": {"next_cursor": ""}}


async def delete_file(call: Call) -> Answer:
    """Delete a file of the bot. Files of others are refused: a bot token does not reach them."""
    file = call.state.files.get(str(call.args["file"]))
    if file is None:
        raise Refusal("file_not_found")
    if file["user"] != call.state.identity.bot_user_id:
        raise Refusal("cant_delete_file")
    await call.world.delete_file(file)
    return {}


def _find_channels(call: Call) -> list[Channel]:
    if "channels" in call.args:
        channel_names = [each for each in str(call.args["channels"]).split(",") if each]
    else:
        channel_names = [call.args["channel_id"]] if call.args.get("channel_id") else []
    channels = []
    for name in channel_names:
        call.args["channel"] = name
        channels.append(call.find_writable_channel())
    return channels


ACCESS_LEVELS = ("read", "write", "owner")
CANVAS_OPERATIONS = ("insert_at_start", "insert_at_end", "replace", "rename")
MAX_CANVAS_CHARACTERS = 100_000


async def create_canvas(call: Call) -> Answer:
    """Create a canvas, and share it in `channel_id` if the call names one."""
    content = call.args.get("document_content", {"type": "markdown", "markdown": ""})
    markdown = _read_markdown(content, "/document_content")
    channel = call.find_writable_channel("channel_id") if call.args.get("channel_id") else None
    title = call.args.get("title") or "Untitled"
    canvas = await call.world.files.add_canvas(title, markdown, call.state.identity.bot_user_id)
    if channel:
        call.world.files.record_share(canvas, channel.id)
    return {"canvas_id": canvas["id"]}


async def edit_canvas(call: Call) -> Answer:
    """Apply one change to a canvas: insert, replace or rename."""
    canvas = _find_canvas(call)
    changes = call.args["changes"]
    if not isinstance(changes, list) or len(changes) != 1 or not isinstance(changes[0], dict):
        raise Refusal("invalid_arguments", "[ERROR] must be an array of one change [json-pointer:/changes]")
    await _apply_change(call, canvas, changes[0])
    return {}


async def delete_canvas(call: Call) -> Answer:
    """Delete a canvas."""
    await call.world.delete_file(_find_canvas(call))
    return {}


async def set_canvas_access(call: Call) -> Answer:
    """Give channels or people access to a canvas, or make people its owners."""
    canvas, level = _find_canvas(call), call.args["access_level"]
    channels, users = call.args.get("channel_ids") or [], call.args.get("user_ids") or []
    if bool(channels) == bool(users):
        raise Refusal("invalid_parameters")
    if level not in ACCESS_LEVELS:
        raise Refusal("invalid_arguments", f"[ERROR] must be one of {ACCESS_LEVELS} [json-pointer:/access_level]")
    if users:
        _grant_to_users(call, canvas, users, level)
    else:
        _grant_to_channels(call, canvas, channels, level)
    return {}


def _grant_to_channels(call: Call, canvas: Json, channels: list[str], level: str) -> None:
    if level == "owner":
        raise Refusal("invalid_arguments", "[ERROR] only a user can be the owner [json-pointer:/access_level]")
    for channel_id in channels:
        channel = call.state.channels.get(channel_id)
        if channel is None or channel.kind in ("im", "mpim"):  # access in a direct message is given to its people
            raise Refusal("channel_not_found")
    for channel_id in channels:
        call.world.files.record_share(canvas, channel_id)


def _grant_to_users(call: Call, canvas: Json, users: list[str], level: str) -> None:
    if any(user_id not in call.state.users for user_id in users):
        raise Refusal("user_not_found")
    unsent_ids = [user_id for user_id in users if not _was_link_sent(call, canvas, user_id)]
    if unsent_ids:
        raise Refusal("failed_to_update_user_ids", failed_to_update_user_ids=unsent_ids)
    call.world.files.grant_access(canvas, dict.fromkeys(users, level))


def _was_link_sent(call: Call, canvas: Json, user_id: str) -> bool:
    """Return True if the canvas's link was posted in the direct message with that person, as Slack demands."""
    direct = call.state.find_channel(user_id)
    messages = direct.messages.values() if direct else ()
    return any(canvas["permalink"] in str(message.data.get("text")) for message in messages)


def _find_canvas(call: Call) -> Json:
    canvas = call.state.files.get(call.args["canvas_id"])
    if canvas is None or canvas["mode"] != "quip":
        raise Refusal("canvas_not_found")
    return canvas


async def _apply_change(call: Call, canvas: Json, change: Json) -> None:
    operation = change.get("operation")
    if operation not in CANVAS_OPERATIONS:
        raise Refusal("invalid_arguments", "[ERROR] unsupported operation [json-pointer:/changes/0/operation]")
    if operation == "rename":
        title = _read_markdown(change.get("title_content"), "/changes/0/title_content")
        canvas |= {"title": title, "name": title}
        await call.world.files.replace_content(canvas, await call.world.files.read_content(canvas["id"]))
        return
    if change.get("section_id"):
        raise Refusal("section_not_found")
    new = _read_markdown(change.get("document_content"), "/changes/0/document_content")
    old = (await call.world.files.read_content(canvas["id"])).decode()
    whole = {"insert_at_start": f"{new}\n{old}", "insert_at_end": f"{old}\n{new}", "replace": new}[operation]
    await call.world.files.replace_content(canvas, whole.encode())


def _read_markdown(content: Any, pointer: str) -> str:
    if (
        not isinstance(content, dict)
        or content.get("type") != "markdown"
        or not isinstance(content.get("markdown"), str)
    ):
        raise Refusal(
            "invalid_arguments", f"[ERROR] must be {{type: markdown, markdown: ...}} [json-pointer:{pointer}]"
        )
    if len(content["markdown"]) > MAX_CANVAS_CHARACTERS:
        raise Refusal("canvas_too_large")
    return str(content["markdown"])
