"""Handlers of the chat methods without streams, and of reactions.add, remove and get."""

import json
import re
from typing import Any

from bot.workspace.blocks import check_message_blocks
from bot.workspace.refusal import Refusal
from bot.workspace.web_api.api_call import Answer, Call
from bot.workspace.workspace_state import Json, Message

MAX_TEXT_CHARACTERS = 40_000
MAX_UPDATED_CHARACTERS = 4_000
MAX_MARKDOWN_CHARACTERS = 12_000
MAX_ATTACHMENTS = 100
MAX_METADATA_BYTES = 16_384
PERSONA_ARGUMENTS = ("username", "icon_emoji", "icon_url")


async def post_message(call: Call) -> Answer:
    """Post a message."""
    call.require_scope("chat:write")
    _check_persona(call)
    channel = call.find_writable_channel()
    content = _read_content(call, MAX_TEXT_CHARACTERS)
    thread_ts = call.find_thread_ts(channel)
    if thread_ts and call.args.get("reply_broadcast"):
        content["subtype"] = "thread_broadcast"
    message = call.world.messages.post_as_bot(channel, content, thread_ts)
    message.step = call.step_run_id
    return {"channel": channel.id, "ts": message.ts, "message": message.data}


async def update_message(call: Call) -> Answer:
    """Edit a message of the app. Its stream, if it has one, must have ended."""
    call.require_scope("chat:write")
    channel = call.find_channel()
    message = find_own_message(call, "cant_update_message")
    if message.stream and message.stream.live:
        raise Refusal("streaming_state_conflict")
    content = _read_content(call, MAX_UPDATED_CHARACTERS)
    if "text" in call.args and "blocks" not in call.args and "markdown_text" not in call.args:
        content["blocks"] = None  # a new text without blocks removes the old blocks
    if message.stream:
        message.stream = None
    call.world.messages.edit_message(channel, message, content)
    return {"channel": channel.id, "ts": message.ts, "text": message.data["text"], "message": message.data}


async def delete_message(call: Call) -> Answer:
    """Delete a message of the app."""
    call.require_scope("chat:write")
    channel = call.find_channel()
    message = find_own_message(call, "cant_delete_message")
    call.world.messages.delete_message(channel, message)
    return {"channel": channel.id, "ts": message.ts}


async def post_ephemeral(call: Call) -> Answer:
    """Show a message to one member of a channel."""
    call.require_scope("chat:write")
    _check_persona(call)
    channel = call.find_writable_channel()
    user_id = str(call.args["user"])
    if user_id not in call.state.users:
        raise Refusal("user_not_found")
    if user_id not in channel.members:
        raise Refusal("user_not_in_channel")
    content = _read_content(call, MAX_TEXT_CHARACTERS)
    message = call.world.messages.post_ephemeral(channel, user_id, content, call.find_thread_ts(channel))
    message.step = call.step_run_id
    return {"message_ts": message.ts}


async def schedule_message(call: Call) -> Answer:
    """Schedule a message for `post_at`, in seconds since the epoch."""
    call.require_scope("chat:write")
    channel = call.find_writable_channel()
    content = _read_content(call, MAX_TEXT_CHARACTERS)
    scheduled_message = call.world.scheduled_messages.add(
        channel, call.args["post_at"], content, call.find_thread_ts(channel)
    )
    message_body = {**call.world.messages.make_bot_fields(), **content, "type": "delayed_message"}
    about = {"scheduled_message_id": scheduled_message.id, "post_at": scheduled_message.post_at}
    return {"channel": channel.id, **about, "message": message_body}


async def list_scheduled_messages(call: Call) -> Answer:
    """List a page of the scheduled messages, soonest first."""
    oldest, latest = call.read_ts("oldest"), call.read_ts("latest")
    channel = call.find_channel().id if "channel" in call.args else None
    rows = [
        {key: getattr(each, key) for key in ("id", "channel_id", "post_at", "date_created")}
        | {"text": each.content["text"]}
        for each in sorted(call.world.scheduled_messages.messages_by_id.values(), key=lambda each: each.post_at)
        if channel in (None, each.channel_id)
        and (oldest is None or oldest <= (each.post_at, 0))
        and (latest is None or (each.post_at, 0) <= latest)
    ]
    page, _, cursor = call.cut_page(rows, 100)
    return {"scheduled_messages": page, "response_metadata": {"next_cursor": cursor}}


async def delete_scheduled_message(call: Call) -> Answer:
    """Delete a scheduled message."""
    call.require_scope("chat:write")
    call.world.scheduled_messages.delete(call.find_channel(), call.args["scheduled_message_id"])
    return {}


async def get_permalink(call: Call) -> Answer:
    """Return the permalink of a message."""
    channel = call.find_channel()
    message = call.find_message(channel, "message_ts")
    link = f"{call.world.base_url}/archives/{channel.id}/p{message.ts.replace('.', '')}"
    thread_ts = message.data.get("thread_ts")
    if thread_ts and thread_ts != message.ts:
        link += f"?thread_ts={thread_ts}&cid={channel.id}"
    return {"channel": channel.id, "permalink": link}


def find_own_message(call: Call, error: str) -> Message:
    """Return the message that the arguments `channel` and `ts` name, if the app wrote it.

    Raises:
        Refusal: `message_not_found`, or the code `error` if somebody else wrote it.
    """
    message = call.find_message(call.find_channel())
    if message.data.get("bot_id") != call.state.identity.bot_id:
        raise Refusal(error)
    return message


def check_metadata(metadata: Any) -> None:
    """Check that metadata is empty, or has `event_type` and `event_payload` and at most `MAX_METADATA_BYTES` bytes.

    Raises:
        Refusal: `invalid_metadata_format` or `metadata_too_large`.
    """
    if not isinstance(metadata, dict):
        raise Refusal("invalid_metadata_format")
    if metadata and not (
        isinstance(metadata.get("event_type"), str) and isinstance(metadata.get("event_payload"), dict)
    ):
        raise Refusal("invalid_metadata_format")
    if len(json.dumps(metadata)) > MAX_METADATA_BYTES:
        raise Refusal("metadata_too_large")


def check_markdown(text: str) -> None:
    """Check that `markdown_text` has at most `MAX_MARKDOWN_CHARACTERS` characters.

    Raises:
        Refusal: `msg_too_long`.
    """
    if len(text) > MAX_MARKDOWN_CHARACTERS:
        raise Refusal("msg_too_long")


def _read_content(call: Call, max_characters: int) -> Json:
    args = call.args
    content: Json = {}
    if "markdown_text" in args:
        if args.get("text") or args.get("blocks"):
            raise Refusal("markdown_text_conflict")
        check_markdown(args["markdown_text"])
        block = {"type": "markdown", "text": args["markdown_text"]}
        content = {"text": args["markdown_text"], "blocks": check_message_blocks([block])}
    text = args.get("text", "")
    if len(text) > max_characters:
        raise Refusal("msg_too_long")
    if text or "text" in args:
        content["text"] = text
    if "blocks" in args:
        blocks = check_message_blocks(args["blocks"], outer_text=text)
        content["blocks"] = blocks or None
    if "attachments" in args:
        content["attachments"] = _check_attachments(args["attachments"])
    if "metadata" in args:
        check_metadata(args["metadata"])
        content["metadata"] = args["metadata"] or None
    if call.method != "chat.update":
        content = {key: value for key, value in content.items() if value is not None}
        content.setdefault("text", "")
    if not (content.get("text") or "").strip() and not content.get("blocks") and not content.get("attachments"):
        raise Refusal("no_text")
    return content


def _check_attachments(attachments: Any) -> list[Json] | None:
    if not isinstance(attachments, list) or not all(isinstance(each, dict) for each in attachments):
        raise Refusal("invalid_attachments")
    if len(attachments) > MAX_ATTACHMENTS:
        raise Refusal("too_many_attachments")
    for each in attachments:
        if "blocks" in each:
            each["blocks"] = check_message_blocks(each["blocks"])
    return attachments or None


def _check_persona(call: Call) -> None:
    if any(key in call.args for key in PERSONA_ARGUMENTS):
        call.require_scope("chat:write.customize")


REACTION_NAME = re.compile(r"[a-z0-9_+'-]{1,100}(::skin-tone-[2-6])?")


async def add_reaction(call: Call) -> Answer:
    """Add a reaction."""
    return _change_reaction(call, add=True)


async def remove_reaction(call: Call) -> Answer:
    """Remove the bot's reaction from a message."""
    if not call.args.get("channel") or not call.args.get("timestamp"):
        raise Refusal("no_item_specified")
    return _change_reaction(call, add=False)


async def get_reactions(call: Call) -> Answer:
    """Return a message with its reactions."""
    channel = call.find_channel()
    return {"type": "message", "channel": channel.id, "message": call.find_message(channel, "timestamp").data}


def _change_reaction(call: Call, *, add: bool) -> Answer:
    channel = call.find_writable_channel()
    name = str(call.args["name"]).strip(":")
    if not REACTION_NAME.fullmatch(name):
        raise Refusal("invalid_name")
    message = call.find_message(channel, "timestamp")
    if not call.world.messages.change_reaction(channel, message, call.state.identity.bot_user_id, name, add=add):
        raise Refusal("already_reacted" if add else "no_reaction")
    return {}
