"""The wire format of Anthropic's Messages API."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from bot.models.event_stream import SILENCE_SECONDS, StreamEvent, StreamEventKind, make_silence_limits, read_events
from bot.models.model_faults import extract_code_and_message
from bot.models.picture_support import ANTHROPIC_LIMITS, claude_sees_pictures
from bot.models.refused_fields import RefusedFields
from bot.models.server_facts import ANSWER_SECONDS
from bot.models.strict_schema import make_strict_schema
from bot.models.wire import (
    BadReplyError,
    Emitter,
    ProviderConnection,
    TokenCounts,
    WireError,
    WireReply,
    check_call_count,
    choose_effort,
    choose_temperature,
    fill_call_ids,
    find_unknown_fields,
    make_cut_reply_error,
    parse_tool_calls,
    read_stop_reason,
    read_token_count,
)
from handoff.contracts import StopReason, ToolCall
from specialists.model import ModelCall, ModelMessage, Picture
from specialists.outbound.clients import make_client

_STOP_REASONS: dict[str, StopReason] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "tool_use": "tool_use",
    "max_tokens": "max_tokens",
    "model_context_window_exceeded": "max_tokens",
    "refusal": "refused",
}
_CACHE_CONTROL = {"type": "ephemeral"}


_ANTHROPIC_HOST = "api.anthropic.com"
_REFUSAL_PATTERNS = {
    "tool_choice": re.compile(r"tool.?choice", re.IGNORECASE),
    "temperature": re.compile("temperature", re.IGNORECASE),
    "effort": re.compile(r"\beffort\b", re.IGNORECASE),
    "thoughts": re.compile(
        r"thinking.{0,40}block|signature|content.{0,20}(?:extra inputs|input tag)", re.IGNORECASE | re.DOTALL
    ),
}
"""Request fields that some models refuse, each with a pattern for the error message that refuses it."""


class AnthropicMessages:
    """Anthropic's Messages API.

    Args:
        api_key: Anthropic's key.
        base_url: Another server that speaks the Messages API, or None for Anthropic's own.
        silence: Seconds without an event after which a call is given up.
        is_own_server: True if the server is Anthropic's own, whatever its address.
    """

    def __init__(
        self,
        api_key: str,
        base_url: str | None = None,
        *,
        silence: float = SILENCE_SECONDS,
        is_own_server: bool | None = None,
    ) -> None:
        self.base_url = base_url
        self.picture_limits = ANTHROPIC_LIMITS
        self._silence = silence
        self._api_key = api_key
        self._is_own_server = (
            (base_url is None or urlsplit(base_url).hostname == _ANTHROPIC_HOST)
            if is_own_server is None
            else is_own_server
        )
        self._refused_fields = RefusedFields(_REFUSAL_PATTERNS)

    def connect(self) -> ProviderConnection:
        """Import the SDK and make a client. Blocks for about 2 s at the first call."""
        import anthropic  # noqa: PLC0415 - 2 s and 85 MB, only for those who use it

        # The SDK's transport over aiohttp takes half the CPU time of its default one, and aiohttp is here anyway.
        client = anthropic.AsyncAnthropic(
            api_key=self._api_key,
            base_url=self.base_url,
            max_retries=0,
            timeout=anthropic.Timeout(None, connect=5.0),  # `read_events` times silence, as pings reset a read timeout
            http_client=make_client(self.base_url or f"https://{_ANTHROPIC_HOST}", anthropic.DefaultAioHttpClient),
        )
        _ = client.messages.with_streaming_response  # loads the types of messages now, not in the first call
        return ProviderConnection(anthropic, client)

    def needs_step_schema(self, model: str) -> bool:
        """Return False: Anthropic's models call tools natively."""
        del model
        return False

    async def fetch_context_size(self, connection: ProviderConnection, model: str) -> int | None:
        """Return the size of a model's context in tokens; None if the server does not report it."""
        try:
            about = await connection.client.models.retrieve(model, timeout=ANSWER_SECONDS)
        except connection.sdk.APIError:
            return None
        max_tokens = getattr(about, "max_input_tokens", None)
        return max_tokens if isinstance(max_tokens, int) else None

    async def sees_pictures(self, connection: ProviderConnection, model: str) -> bool | None:
        """Return whether a model sees pictures: as the server reports, or by Claude's model names; None if unknown."""
        try:
            about = await connection.client.models.retrieve(model, timeout=ANSWER_SECONDS)
        except connection.sdk.APIError:
            about = None
        image_input = getattr(getattr(about, "capabilities", None), "image_input", None)
        is_supported = getattr(image_input, "supported", None)
        if isinstance(is_supported, bool):
            return is_supported
        return claude_sees_pictures(model) if self._is_own_server else None

    async def send(
        self, connection: ProviderConnection, call: ModelCall, model: str, emitter: Emitter, prompt_tokens: int
    ) -> WireReply:
        """Send a call and read the reply. A request field that the model refuses is omitted from then on."""
        silence_limits = make_silence_limits(self._silence, 0 if self._is_own_server else prompt_tokens)

        async def post(request: dict[str, Any]) -> WireReply:
            open_stream = partial(_open_stream, connection.client, request)
            async with aclosing(read_events(open_stream, silence_limits, _classify_event)) as events:
                return _read_reply(await _collect_message(events, emitter))

        def render_request(without: frozenset[str]) -> dict[str, Any]:
            return _make_request(call, model, without, is_own_server=self._is_own_server)

        return await self._refused_fields.send_until_accepted(model, connection.sdk, render_request, post)


@asynccontextmanager
async def _open_stream(client: Any, request: dict[str, Any]) -> AsyncIterator[Any]:
    async with client.messages.with_streaming_response.create(**request) as response:
        yield response.http_response


def _make_request(
    call: ModelCall, model: str, omitted_fields: frozenset[str], *, is_own_server: bool
) -> dict[str, Any]:
    thoughts = "thoughts" not in omitted_fields
    request: dict[str, Any] = {
        "model": model,
        "max_tokens": call.max_tokens,
        "messages": [part for message in call.messages for part in _render_message(message, with_thoughts=thoughts)],
        "stream": True,
    }
    effort, temperature = (
        choose_effort(call, is_provider_server=is_own_server),
        choose_temperature(call, is_provider_server=is_own_server),
    )
    output: dict[str, Any] = {"effort": effort} if effort is not None and "effort" not in omitted_fields else {}
    if temperature is not None and "temperature" not in omitted_fields:
        request["extra_body"] = {"temperature": temperature}  # the SDK no longer has a parameter for it
    if call.system:
        # Tools come before the system prompt in Anthropic's cache, so this one marker caches both.
        request["system"] = [{"type": "text", "text": call.system, "cache_control": _CACHE_CONTROL}]
    if call.tools:
        request["tools"] = [
            {"name": tool.name, "description": tool.description, "input_schema": tool.parameters} for tool in call.tools
        ]
        if request["messages"]:
            # Cache the conversation so far: with tools, the next turn sends it again.
            last = request["messages"][-1]["content"]
            last[-1] = last[-1] | {"cache_control": _CACHE_CONTROL}
        kinds = (str(block.get("type")) for message in call.messages for block in message.thoughts)
        has_thinking = thoughts and any("thinking" in kind for kind in kinds)
        if call.tool_choice == "required" and not has_thinking and "tool_choice" not in omitted_fields:
            request["tool_choice"] = {"type": "any"}  # the API refuses it while a model thinks
    if call.answer_schema is not None:
        output |= {"format": {"type": "json_schema", "schema": make_strict_schema(call.answer_schema)}}
    return request | ({"output_config": output} if output else {})


def _render_message(message: ModelMessage, *, with_thoughts: bool) -> list[dict[str, Any]]:
    """Render a message in the wire format; [] for an empty message, which Anthropic refuses."""
    if message.thoughts and with_thoughts:
        return [{"role": "assistant", "content": list(message.thoughts)}]
    blocks = [block for picture in message.pictures for block in _render_picture(picture)]
    blocks += [{"type": "text", "text": message.text}] if message.text.strip() else []
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


def _render_picture(picture: Picture) -> list[dict[str, Any]]:
    """Render a picture as two blocks, its name and its data, so that the model can tell pictures apart."""
    data = b64encode(picture.data).decode()
    source = {"type": "base64", "media_type": picture.media_type, "data": data}
    return [{"type": "text", "text": f"{picture.name}:"}, {"type": "image", "source": source}]


def _read_reply(message: dict[str, Any]) -> WireReply:
    tokens = _read_tokens(message.get("usage"))
    raw_stop_reason = message.get("stop_reason")
    stop = read_stop_reason(raw_stop_reason, _STOP_REASONS)
    if stop is None or raw_stop_reason == "":
        raise make_cut_reply_error(raw_stop_reason, f"it was cut short (stop reason {raw_stop_reason!r})", tokens)
    blocks = [block for block in message.get("content") or () if isinstance(block, dict)]
    text = "".join(block.get("text") or "" for block in blocks if block.get("type") == "text")
    raw_calls = fill_call_ids(block for block in blocks if block.get("type") == "tool_use")
    check_call_count(len(raw_calls))
    remaining_calls = iter(raw_calls)
    blocks = [next(remaining_calls) if block.get("type") == "tool_use" else block for block in blocks]
    arguments = ((block["id"], str(block.get("name")), block.get("input")) for block in raw_calls)
    calls = parse_tool_calls(arguments, stop, tokens)
    if calls:  # for any stop reason: some gateways end a complete tool call with `end_turn`
        return WireReply(text, calls, "tool_use", tokens, _collect_opaque_blocks(blocks, calls))
    if stop == "tool_use":
        raise BadReplyError("it announced a tool call and made none", tokens)
    if raw_stop_reason not in _STOP_REASONS and stop == "end" and not text.strip():
        raise BadReplyError(f"it said nothing (stop reason {raw_stop_reason!r})", tokens)
    return WireReply(text, (), stop, tokens)


_KNOWN_FIELDS = {
    "text": frozenset({"type", "text", "citations"}),
    "tool_use": frozenset({"type", "id", "name", "input"}),
}
"""The blocks and fields that our own messages can express. All others must be sent back to the provider unchanged."""


def _collect_opaque_blocks(blocks: list[dict[str, Any]], calls: tuple[ToolCall, ...]) -> tuple[dict[str, Any], ...]:
    """Return all blocks to send back with the next turn, if any is a thought or has unknown fields; otherwise ()."""
    if not any(_has_unknown_fields(block) for block in blocks):
        return ()
    inputs = {call.id: call.arguments for call in calls}  # in a streamed block, `input` is still JSON text
    kept_blocks = [block for block in blocks if block.get("type") != "text" or (block.get("text") or "").strip()]
    kept_blocks = [block for block in kept_blocks if block.get("type") != "tool_use" or str(block.get("id")) in inputs]
    return tuple(
        block | {"input": inputs[str(block["id"])]} if block.get("type") == "tool_use" else block
        for block in kept_blocks
    )


def _has_unknown_fields(block: dict[str, Any]) -> bool:
    known_fields = _KNOWN_FIELDS.get(str(block.get("type")))
    return known_fields is None or bool(find_unknown_fields(block, known_fields))


def _read_tokens(usage: Any) -> TokenCounts:
    cache_read = read_token_count(usage, "cache_read_input_tokens")
    cache_written = read_token_count(usage, "cache_creation_input_tokens")
    plain = read_token_count(usage, "input_tokens")
    return TokenCounts(
        plain + cache_read + cache_written, read_token_count(usage, "output_tokens"), cache_read, cache_written
    )


def _classify_event(event: StreamEvent) -> StreamEventKind:
    name = event.get("type")
    return "last" if name in {"message_stop", "error"} else "opening" if name == "message_start" else "words"


async def _collect_message(events: AsyncIterator[StreamEvent], emitter: Emitter) -> dict[str, Any]:
    """Collect a stream into one message, in the form of a non-streamed reply. A tool call's `input` stays JSON text."""
    blocks: list[_Block] = []
    last: dict[int, _Block] = {}
    """The last block of each index. Some gateways give all blocks the same index."""
    call_count = 0
    usage: dict[str, Any] = {}
    stop = None
    async for event in events:
        name = event.get("type")
        if name == "message":
            return event  # the server does not stream
        if name == "error":
            raise WireError(*extract_code_and_message(event.get("error")))
        if name == "message_start":
            usage |= _drop_nulls(event["message"].get("usage"))
        elif name == "content_block_start":
            start_block = event["content_block"]
            call_count += start_block.get("type") == "tool_use"
            check_call_count(call_count)
            blocks.append(_Block(start_block))
            last[event["index"]] = blocks[-1]
            await emitter.emit(start_block.get("text") or "")
        elif name == "content_block_delta":
            if event["index"] not in last:
                blocks.append(_Block({}))
                last[event["index"]] = blocks[-1]
            await emitter.emit(last[event["index"]].add_delta(event["delta"]))
        elif name == "message_delta":
            stop = event["delta"].get("stop_reason") or stop
            usage |= _drop_nulls(event.get("usage"))
    return {"content": [block.assemble() for block in blocks], "stop_reason": stop, "usage": usage}


_DELTA_FIELDS = {
    "input_json_delta": ("input", "partial_json"),
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "signature_delta": ("signature", "signature"),
}
"""By delta type: the field of the block to which it adds, and the field of the delta that has the added text."""


class _Block:
    """A content block of a stream, assembled from its start event and its deltas."""

    def __init__(self, start_block: dict[str, Any]) -> None:
        self._start_block = start_block | {"input": ""} if start_block.get("type") == "tool_use" else start_block
        self._added_texts: dict[str, list[str]] = {}

    def add_delta(self, delta: dict[str, Any]) -> str:
        """Add a delta and return its text for people; "" for a thought or a tool call's arguments."""
        field, name = _DELTA_FIELDS.get(str(delta.get("type")), ("", ""))
        if not field:  # a delta of a block type that is unknown here: keep its texts
            for key in delta.keys() - {"type"}:
                if isinstance(delta[key], str):
                    self._added_texts.setdefault(key, []).append(delta[key])
            return ""
        self._added_texts.setdefault(field, []).append(delta[name])
        return str(delta[name]) if field == "text" else ""

    def assemble(self) -> dict[str, Any]:
        """Return the block in the form of a non-streamed reply."""
        text_fields = {
            field: (self._start_block.get(field) or "") + "".join(parts) for field, parts in self._added_texts.items()
        }
        return self._start_block | text_fields


def _drop_nulls(usage: dict[str, Any] | None) -> dict[str, Any]:
    return {key: value for key, value in (usage or {}).items() if value is not None}
