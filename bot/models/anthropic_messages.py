"""The wire format of Anthropic's Messages API."""

from __future__ import annotations

from typing import Any

from bot.models.strict_schema import strict_schema
from bot.models.wire import BadReplyError, Connection, Emitter, Reading, Tokens, json_object, tool_call, whole_count
from handoff.contracts import StopReason
from specialists.turns.model import ModelCall, ModelMessage

_STOPS: dict[str, StopReason] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "tool_use": "tool_use",
    "max_tokens": "max_tokens",
    "model_context_window_exceeded": "max_tokens",
    "refusal": "refused",
}
_LONGEST_UNSTREAMED = 21_000
"""The SDK refuses to wait for more tokens than about this in one piece."""
_CACHED = {"type": "ephemeral"}


class AnthropicMessages:
    """Anthropic's Messages API.

    Args:
        api_key: Anthropic's key.
        base_url: Another server that speaks the Messages API, or None for Anthropic's own.
    """

    def __init__(self, api_key: str, base_url: str | None = None) -> None:
        self.base_url = base_url
        self._api_key = api_key

    def connect(self) -> Connection:
        """See `Wire.connect`."""
        import anthropic  # noqa: PLC0415 - 2 s and 85 MB, only for those who use it

        # The SDK's transport over aiohttp takes half the CPU time of its default one, and aiohttp is here anyway.
        client = anthropic.AsyncAnthropic(
            api_key=self._api_key,
            base_url=self.base_url,
            max_retries=0,
            http_client=anthropic.DefaultAioHttpClient(),
        )
        _ = client.messages.with_raw_response  # brings the types of messages in
        return Connection(anthropic, client)

    async def send(self, connection: Connection, call: ModelCall, model: str, emitter: Emitter) -> Reading:
        """See `Wire.send`."""
        messages = connection.client.messages
        request = _request(call, model)
        if call.on_text is None and call.max_tokens <= _LONGEST_UNSTREAMED:
            raw = await messages.with_raw_response.create(**request)
            return _read(json_object(await raw.read()))
        async with await messages.create(stream=True, **request) as stream:
            return _read(await _collect(stream, emitter))


def _request(call: ModelCall, model: str) -> dict[str, Any]:
    request: dict[str, Any] = {
        "model": model,
        "max_tokens": call.max_tokens,
        "messages": [message for each in call.messages for message in _message(each)],
    }
    if call.system:
        # Tools come before the system prompt in Anthropic's cache: this one mark keeps both.
        request["system"] = [{"type": "text", "text": call.system, "cache_control": _CACHED}]
    if call.tools:
        request["tools"] = [
            {"name": tool.name, "description": tool.description, "input_schema": tool.parameters} for tool in call.tools
        ]
        if request["messages"]:
            # With tools the conversation so far comes again in the next turn.
            request["messages"][-1]["content"][-1]["cache_control"] = _CACHED
    if call.answer_schema is not None:
        request["output_config"] = {"format": {"type": "json_schema", "schema": strict_schema(call.answer_schema)}}
    return request


def _message(message: ModelMessage) -> list[dict[str, Any]]:
    """Write a message in the wire format; nothing for an empty one, which Anthropic refuses."""
    blocks: list[dict[str, Any]] = [{"type": "text", "text": message.text}] if message.text.strip() else []
    blocks += [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments} for call in message.calls
    ]
    blocks[:0] = [
        {
            "type": "tool_result",
            "tool_use_id": reply.call_id,
            "content": reply.text or "(nothing)",
            **({"is_error": True} if reply.failed else {}),
        }
        for reply in message.replies
    ]
    role = "assistant" if message.role == "assistant" else "user"
    return [{"role": role, "content": blocks}] if blocks else []


def _read(message: dict[str, Any]) -> Reading:
    tokens = _tokens(message.get("usage"))
    stop = _STOPS.get(message.get("stop_reason") or "")
    if stop is None:
        raise BadReplyError(f"it was cut short (stop reason {message.get('stop_reason')!r})", tokens)
    blocks = [block for block in message.get("content") or () if isinstance(block, dict)]
    text = "".join(block.get("text") or "" for block in blocks if block.get("type") == "text")
    if stop != "tool_use":
        return Reading(text, (), stop, tokens)
    calls = tuple(
        tool_call(str(block.get("id")), str(block.get("name")), block.get("input"), tokens)
        for block in blocks
        if block.get("type") == "tool_use"
    )
    if not calls:
        raise BadReplyError("it announced a tool call and made none", tokens)
    return Reading(text, calls, stop, tokens)


def _tokens(usage: Any) -> Tokens:
    read = whole_count(usage, "cache_read_input_tokens")
    written = whole_count(usage, "cache_creation_input_tokens")
    plain = whole_count(usage, "input_tokens")
    return Tokens(plain + read + written, whole_count(usage, "output_tokens"), read, written)


async def _collect(stream: Any, emitter: Emitter) -> dict[str, Any]:
    """Collect a stream into the message that a call without one returns. `input` of a tool call stays JSON text."""
    blocks: dict[int, dict[str, Any]] = {}
    usage: dict[str, Any] = {}
    stop = None
    async for event in stream:
        if event.type == "message_start":
            usage |= event.message.usage.model_dump(exclude_none=True)
        elif event.type == "content_block_start":
            block = event.content_block.model_dump()
            blocks[event.index] = block | {"input": ""} if block.get("type") == "tool_use" else block
            await emitter.emit(block.get("text") or "")
        elif event.type == "content_block_delta":
            block = blocks.setdefault(event.index, {})
            if event.delta.type == "text_delta":
                block["text"] = (block.get("text") or "") + event.delta.text
                await emitter.emit(event.delta.text)
            elif event.delta.type == "input_json_delta":
                block["input"] += event.delta.partial_json
        elif event.type == "message_delta":
            stop = event.delta.stop_reason or stop
            usage |= event.usage.model_dump(exclude_none=True)
    return {"content": list(blocks.values()), "stop_reason": stop, "usage": usage}
