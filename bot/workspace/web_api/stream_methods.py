"""Handlers of chat.startStream, appendStream and stopStream."""

from typing import Any

from bot.workspace.agent_sessions import SESSION_STATES
from bot.workspace.blocks import TASK_SOURCES, check_message_blocks, check_task_message_size
from bot.workspace.message_streams import TASK_STATES, MessageStream
from bot.workspace.refusal import Refusal
from bot.workspace.schema import Check, Complaints, accept_anything, by_type, items, string, typed_fields
from bot.workspace.web_api.api_call import Answer, Call
from bot.workspace.web_api.chat_methods import MAX_TEXT_CHARACTERS, check_markdown, check_metadata, find_own_message
from bot.workspace.workspace_state import Channel, Message

MAX_CHUNKS = 100
CHUNK_CHECKS: dict[str, Check] = {
    "markdown_text": typed_fields({"text": string(12_000)}),
    "plan_update": typed_fields({"title": string(256, min_length=1)}),
    "task_update": typed_fields(
        {"id": string(255, min_length=1), "title": string(256, min_length=1), "status": string(choices=TASK_STATES)},
        {"details": string(), "output": string(), "sources": TASK_SOURCES},
    ),
    "blocks": typed_fields({"blocks": accept_anything}),
}
CHUNKS_CHECK = items(by_type(lambda: CHUNK_CHECKS), MAX_CHUNKS, min_items=0)
DISPLAY_MODES = ("timeline", "plan")


async def start_stream(call: Call) -> Answer:
    """Start a streamed message. Outside direct messages, the call must name its recipient."""
    call.require_scope("chat:write")
    channel = call.find_writable_channel()
    thread_ts = call.find_thread_ts(channel)
    if thread_ts is None and channel.kind == "im":
        raise Refusal("invalid_arguments", "[ERROR] missing required field: thread_ts")
    if channel.kind != "im":
        _check_recipient(call)
    mode = call.args.get("task_display_mode", "timeline")
    if mode not in DISPLAY_MODES:
        raise Refusal("invalid_arguments", "[ERROR] must be timeline or plan [json-pointer:/task_display_mode]")
    stream = MessageStream(mode, call.state.clock.now())
    _add_chunks(call, stream)
    message = call.world.messages.post_as_bot(channel, {}, thread_ts, stream)
    return {"channel": channel.id, "ts": message.ts}


async def append_stream(call: Call) -> Answer:
    """Append text or chunks to a streamed message."""
    call.require_scope("chat:write")
    channel, message, stream = _find_live_stream(call)
    if not call.args.get("markdown_text") and not call.args.get("chunks"):
        raise Refusal("no_text")
    _add_chunks(call, stream)
    call.world.messages.update_streamed_message(channel, message)
    return {"channel": channel.id, "ts": message.ts}


async def stop_stream(call: Call) -> Answer:
    """End a streamed message, with final blocks, metadata and a session status if the call has them."""
    call.require_scope("chat:write")
    channel, message, stream = _find_live_stream(call)
    status = call.args.get("session_status")
    if status and status not in SESSION_STATES:
        raise Refusal(
            "invalid_arguments", f"[ERROR] must be one of {', '.join(SESSION_STATES)} [json-pointer:/session_status]"
        )
    blocks = check_message_blocks(call.args["blocks"]) if "blocks" in call.args else []
    if "metadata" in call.args:
        check_metadata(call.args["metadata"])
    _add_chunks(call, stream, blocks)
    stream.final_blocks = blocks
    if call.args.get("metadata"):
        message.data["metadata"] = call.args["metadata"]
    call.world.messages.end_stream(channel, message)
    if status and message.data.get("thread_ts"):
        own = call.state.identity.app_id
        call.world.sessions.set_session(channel.id, message.data["thread_ts"], status, app_id=own)
    return {"channel": channel.id, "ts": message.ts, "message": message.data}


def _find_live_stream(call: Call) -> tuple[Channel, Message, MessageStream]:
    channel = call.find_channel()
    message = find_own_message(call, "message_not_owned_by_app")
    if message.stream is None or not message.stream.live:
        raise Refusal("message_not_in_streaming_state")
    return channel, message, message.stream


def _check_recipient(call: Call) -> None:
    team, user = call.args.get("recipient_team_id"), call.args.get("recipient_user_id")
    if not team:
        raise Refusal("missing_recipient_team_id")
    if not user:
        raise Refusal("missing_recipient_user_id")
    if team != call.state.identity.team_id:
        raise Refusal("team_not_found")
    if user not in call.state.users:
        raise Refusal("user_not_found")


def _add_chunks(call: Call, stream: MessageStream, final_blocks: list[dict[str, Any]] | None = None) -> None:
    text, chunks = call.args.get("markdown_text"), call.args.get("chunks")
    if text and chunks:
        raise Refusal("invalid_arguments", "[ERROR] markdown_text and chunks cannot be used together")
    chunks = [{"type": "markdown_text", "text": text}] if text else chunks or []
    if text:
        check_markdown(text)
    complaints: Complaints = []
    CHUNKS_CHECK(chunks, "/chunks", complaints)
    if complaints:
        raise Refusal("invalid_chunks", *complaints)
    for chunk in chunks:
        if chunk["type"] == "blocks":
            chunk["blocks"] = check_message_blocks(chunk["blocks"])
    _check_whole_message(stream, chunks, final_blocks or [])
    for chunk in chunks:
        stream.add_chunk(chunk)


def _check_whole_message(
    stream: MessageStream, chunks: list[dict[str, Any]], final_blocks: list[dict[str, Any]]
) -> None:
    """Raise Refusal if the message would become too long. It runs before anything is added to the stream."""
    added_length = sum(len(chunk.get("text", "")) for chunk in chunks if chunk["type"] == "markdown_text")
    if len(stream.text) + added_length > MAX_TEXT_CHARACTERS:
        raise Refusal("msg_too_long")
    if stream.tasks or any(chunk["type"] == "task_update" for chunk in chunks):
        trial = MessageStream(
            stream.mode,
            stream.started,
            plan_title=stream.plan_title,
            segments=[dict(segment) for segment in stream.segments],
            tasks={task_id: dict(task) for task_id, task in stream.tasks.items()},
            final_blocks=final_blocks,
        )
        for chunk in chunks:
            trial.add_chunk(chunk)
        check_task_message_size(trial.make_blocks(), "")
