"""The wire format of OpenAI's Responses API."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from contextlib import aclosing
from functools import partial
from typing import Any

from bot.models.event_stream import SILENCE_SECONDS, StreamEvent, StreamEventKind, make_silence_limits, read_events
from bot.models.model_faults import extract_code_and_message
from bot.models.openai_client import is_openai_url, make_connection, post_request
from bot.models.picture_support import OPENAI_LIMITS, openai_sees_pictures
from bot.models.refused_fields import RefusedFields
from bot.models.strict_schema import make_strict_schema
from bot.models.wire import (
    BadReplyError,
    Emitter,
    ProviderConnection,
    WireError,
    WireReply,
    check_call_count,
    choose_effort,
    choose_temperature,
    fill_call_ids,
    find_unknown_fields,
    make_cut_reply_error,
    make_data_url,
    parse_tool_calls,
    read_openai_usage,
    read_stop_reason,
)
from handoff.contracts import StopReason
from specialists.model import ModelCall, ModelMessage

_REFUSAL_PATTERNS = {
    "tool_choice": re.compile(r"tool.?choice", re.IGNORECASE),
    "temperature": re.compile("temperature", re.IGNORECASE),
    "include": re.compile(r"encrypted|\binclude\b", re.IGNORECASE),
    "effort": re.compile(r"reasoning.?effort|\beffort\b", re.IGNORECASE),
    "thoughts": re.compile(r"reasoning.?item|\brs_|type 'reasoning'|unknown parameter: 'input\[", re.IGNORECASE),
}
"""Request fields that some models refuse, each with a pattern for the error message that refuses it."""
_STOP_REASONS: dict[str, StopReason] = {
    "completed": "end",
    "max_output_tokens": "max_tokens",
    "content_filter": "refused",
}
_LAST_EVENTS = ("response.completed", "response.incomplete", "response.failed", "error")
_OPENING_EVENTS = ("response.created", "response.queued", "response.in_progress")


class OpenAIResponses:
    """OpenAI's Responses API.

    Args:
        api_key: OpenAI's key.
        base_url: Another server that speaks the Responses API, or None for OpenAI's own.
        silence: Seconds without an event after which a call is given up.
        is_own_server: True if the server is OpenAI's own, whatever its address.
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
        self.picture_limits = OPENAI_LIMITS
        self._silence = silence
        self._api_key = api_key
        self._is_own_server = is_openai_url(base_url) if is_own_server is None else is_own_server
        self._refused_fields = RefusedFields(_REFUSAL_PATTERNS)

    def connect(self) -> ProviderConnection:
        """Import the SDK and make a client. Blocks for about 1.5 s at the first call."""
        return make_connection(self._api_key, self.base_url)

    def needs_step_schema(self, model: str) -> bool:
        """Return False: OpenAI's models call tools natively."""
        del model
        return False

    async def fetch_context_size(self, connection: ProviderConnection, model: str) -> int | None:
        """Return None: OpenAI does not report the size."""
        del connection, model
        return None

    async def sees_pictures(self, connection: ProviderConnection, model: str) -> bool | None:
        """Return whether a model sees pictures, by its name, as OpenAI's API does not say; None for other servers."""
        del connection
        return openai_sees_pictures(model) if self._is_own_server else None

    async def send(
        self, connection: ProviderConnection, call: ModelCall, model: str, emitter: Emitter, prompt_tokens: int
    ) -> WireReply:
        """Send a call and read the reply. A request field that the model refuses is omitted from then on."""
        silence_limits = make_silence_limits(self._silence, 0 if self._is_own_server else prompt_tokens)

        async def post(request: dict[str, Any]) -> WireReply:
            open_stream = partial(post_request, connection.client, "responses", request)
            async with aclosing(read_events(open_stream, silence_limits, _classify_event)) as events:
                return _read_response(await _collect_response(events, emitter))

        def render_request(without: frozenset[str]) -> dict[str, Any]:
            return _make_request(call, model, without, is_own_server=self._is_own_server)

        return await self._refused_fields.send_until_accepted(model, connection.sdk, render_request, post)


def _make_request(
    call: ModelCall, model: str, omitted_fields: frozenset[str], *, is_own_server: bool
) -> dict[str, Any]:
    request: dict[str, Any] = {
        "model": model,
        "max_output_tokens": call.max_tokens,
        "input": [
            item
            for message in call.messages
            for item in _render_items(message, with_thoughts="thoughts" not in omitted_fields)
        ],
        "store": False,
        "stream": True,
        "prompt_cache_key": f"leadhand:{call.purpose}",
    }
    if (effort := choose_effort(call, is_provider_server=is_own_server)) is not None and "effort" not in omitted_fields:
        request["reasoning"] = {"effort": effort}
    if is_own_server and "include" not in omitted_fields:
        request["include"] = ["reasoning.encrypted_content"]  # without it, the reply has no reasoning to send back
    if (
        temperature := choose_temperature(call, is_provider_server=is_own_server)
    ) is not None and "temperature" not in omitted_fields:
        request["temperature"] = temperature
    if call.system:
        request["instructions"] = call.system
    if call.tools:
        request["tools"] = [
            {
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.parameters,
                "strict": False,
            }
            for tool in call.tools
        ]
        if call.tool_choice == "required" and "tool_choice" not in omitted_fields:
            request["tool_choice"] = "required"
    if call.answer_schema is not None:
        schema = make_strict_schema(call.answer_schema)
        request["text"] = {"format": {"type": "json_schema", "name": "answer", "schema": schema, "strict": True}}
    return request


def _render_items(message: ModelMessage, *, with_thoughts: bool) -> list[dict[str, Any]]:
    if message.thoughts and with_thoughts:
        return list(message.thoughts)
    items: list[dict[str, Any]] = [
        {
            "type": "function_call_output",
            "call_id": reply.call_id,
            "output": f"ERROR: {reply.text}" if reply.failed else reply.text,
        }
        for reply in message.replies
    ]
    if message.text or message.pictures:
        items.append(
            {"role": "assistant" if message.role == "assistant" else "user", "content": _render_content(message)}
        )
    items += [
        {
            "type": "function_call",
            "call_id": call.id,
            "name": call.name,
            "arguments": json.dumps(call.arguments, ensure_ascii=False),
        }
        for call in message.calls
    ]
    return items


def _render_content(message: ModelMessage) -> str | list[dict[str, Any]]:
    """Render a message's text; with pictures, as a list of parts in which each picture follows its name."""
    if not message.pictures:
        return message.text
    parts: list[dict[str, Any]] = []
    for picture in message.pictures:
        parts.append({"type": "input_text", "text": f"{picture.name}:"})
        parts.append({"type": "input_image", "image_url": make_data_url(picture), "detail": "auto"})
    return parts + ([{"type": "input_text", "text": message.text}] if message.text else [])


def _read_response(response: dict[str, Any]) -> WireReply:
    tokens = read_openai_usage(response.get("usage"), "input_tokens", "output_tokens")
    status = response.get("status")
    output = [item for item in response.get("output") or () if isinstance(item, dict)]
    parts = [
        part
        for item in output
        if item.get("type") == "message"
        for part in item.get("content") or ()
        if isinstance(part, dict)
    ]
    text = "".join(part.get("text") or "" for part in parts if part.get("type") == "output_text")
    refusal = "".join(part.get("refusal") or "" for part in parts if part.get("type") == "refusal")
    if status == "failed":
        raise WireError(*extract_code_and_message(response.get("error")))
    raw_stop_reason = (response.get("incomplete_details") or {}).get("reason") if status == "incomplete" else status
    stop = read_stop_reason(raw_stop_reason, _STOP_REASONS)
    if stop is None or raw_stop_reason == "" or (status == "incomplete" and stop in {"end", "tool_use"}):
        raise make_cut_reply_error(raw_stop_reason, f"it was cut short ({raw_stop_reason!r})", tokens)
    if refusal:
        return WireReply(refusal, (), "refused", tokens)
    raw_calls = fill_call_ids((item for item in output if item.get("type") == "function_call"), "call_id")
    check_call_count(len(raw_calls))
    call_iterator = iter(raw_calls)
    output = [next(call_iterator) if item.get("type") == "function_call" else item for item in output]
    arguments = ((item["call_id"], str(item.get("name")), item.get("arguments")) for item in raw_calls)
    calls = parse_tool_calls(arguments, stop, tokens)
    if calls:
        complete_call_ids = {call.id for call in calls}
        kept_items = [
            item
            for item in output
            if item.get("type") != "function_call" or str(item.get("call_id")) in complete_call_ids
        ]
        return WireReply(text, calls, "tool_use", tokens, _collect_opaque_items(kept_items))
    if raw_stop_reason not in _STOP_REASONS and stop == "end" and not text.strip():
        raise BadReplyError(f"it said nothing (status {raw_stop_reason!r})", tokens)
    return WireReply(text, (), stop, tokens)


_KNOWN_FIELDS = {
    "message": frozenset({"type", "id", "role", "status", "content"}),
    "function_call": frozenset({"type", "id", "call_id", "name", "arguments", "status"}),
}
"""The items and fields that our own messages can express. All others must be sent back to OpenAI unchanged."""


def _collect_opaque_items(output: list[dict[str, Any]]) -> tuple[dict[str, Any], ...]:
    """Return the whole output to send back with the next turn, if our own messages cannot express it; otherwise ()."""
    more = (
        item.get("type") not in _KNOWN_FIELDS or find_unknown_fields(item, _KNOWN_FIELDS[item["type"]])
        for item in output
    )
    return tuple(output) if any(more) else ()


def _classify_event(event: StreamEvent) -> StreamEventKind:
    name = event.get("type")
    return "last" if name in _LAST_EVENTS else "opening" if name in _OPENING_EVENTS else "words"


async def _collect_response(events: AsyncIterator[StreamEvent], emitter: Emitter) -> dict[str, Any]:
    """Return the response from the last event of a stream, or `{"status": None}` if the stream was cut short.

    Some gateways send the last event without the output. It is then assembled from earlier events.
    """
    call_count = 0
    items: list[Any] = []
    async for event in events:
        name = event.get("type")
        if name == "response.output_item.added":
            call_count += (event.get("item") or {}).get("type") == "function_call"
            check_call_count(call_count)
        elif name == "response.output_item.done":
            items.append(event.get("item"))
        elif name == "response.output_text.delta":
            await emitter.emit(event["delta"])
        elif name == "error" or (event.get("error") and not name and "status" not in event):
            raise WireError(*extract_code_and_message(event.get("error") or {**event, "type": ""}))
        elif name in _LAST_EVENTS:
            whole: dict[str, Any] = event["response"]
            status = whole.get("status") or str(name).removeprefix("response.")
            return whole | {"status": status, "output": whole.get("output") or items}
        elif event.get("object") == "response":
            return event  # the server does not stream
    return {"status": None}
