"""files.getUploadURLExternal, completeUploadExternal, info, delete."""

from bot.workspace.refusal import Refusal
from bot.workspace.web_api.api_call import Answer, Call
from bot.workspace.workspace_state import Channel, Json


async def get_upload_url(call: Call) -> Answer:
    """Hand out a URL to upload to."""
    if call.args["length"] <= 0:
        raise Refusal("invalid_arguments", "[ERROR] length must be more than 0 [json-pointer:/length]")
    url, file_id = call.world.files.promise(call.args["filename"], call.args["length"], call.args.get("alt_txt") or "")
    return {"upload_url": url, "file_id": file_id}


async def complete_upload(call: Call) -> Answer:
    """Turn uploads into files, and share them."""
    wanted = call.args["files"]
    if (
        not isinstance(wanted, list)
        or not wanted
        or not all(isinstance(each, dict) and "id" in each for each in wanted)
    ):
        raise Refusal("invalid_arguments", "[ERROR] must be an array of objects with an id [json-pointer:/files]")
    channels = _find_channels(call)
    thread_ts = call.thread_ts(channels[0]) if channels else None
    done = []
    for each in wanted:
        file = call.world.files.complete(str(each["id"]), each.get("title"), call.state.identity.bot_user_id)
        if file is None:
            raise Refusal("file_not_found")
        done.append(file)
    for channel in channels:
        for file in done:
            call.world.files.share(file, channel.id)
        content: Json = {"text": call.args.get("initial_comment") or "", "files": done, "upload": True}
        call.world.messages.by_bot(channel, content, thread_ts)
    return {"files": done}


async def file_info(call: Call) -> Answer:
    """Describe a file."""
    file = call.state.files.get(str(call.args["file"]))
    if file is None:
        raise Refusal("file_not_found")
    return {"file": file, "comments": [], "response_metadata": {"next_cursor": ""}}


async def delete_file(call: Call) -> Answer:
    """Delete a file of the app's own: a bot's token does no more."""
    file = call.state.files.get(str(call.args["file"]))
    if file is None:
        raise Refusal("file_not_found")
    if file["user"] != call.state.identity.bot_user_id:
        raise Refusal("cant_delete_file")
    await call.world.delete_file(file)
    return {}


def _find_channels(call: Call) -> list[Channel]:
    if "channels" in call.args:
        named = [each for each in str(call.args["channels"]).split(",") if each]
    else:
        named = [call.args["channel_id"]] if call.args.get("channel_id") else []
    found = []
    for name in named:
        call.args["channel"] = name
        found.append(call.writable_channel())
    return found
