"""The wire format of OpenAI's Responses API."""

from __future__ import annotations

import json
from typing import Any

from bot.models.openai_client import connect, post
from bot.models.strict_schema import strict_schema
from bot.models.wire import (
    BadReplyError,
    Connection,
    Emitter,
    Reading,
    Tokens,
    WireError,
    json_object,
    tool_call,
    whole_count,
)
from specialists.turns.model import ModelCall, ModelMessage


class OpenAIResponses:
    """OpenAI's Responses API.

    Args:
        api_key: OpenAI's key.
        base_url: Another server that speaks the Responses API, or None for OpenAI's own.
    """

    def __init__(self, api_key: str, base_url: str | None = None) -> None:
        self.base_url = base_url
        self._api_key = api_key

    def connect(self) -> Connection:
        """See `Wire.connect`."""
        return connect(self._api_key, self.base_url)

    async def send(self, connection: Connection, call: ModelCall, model: str, emitter: Emitter) -> Reading:
        """See `Wire.send`."""
        request = _request(call, model)
        if call.on_text is None:
            return _read(json_object(await post(connection.client, "responses", request)))
        async with await connection.client.responses.create(stream=True, **request) as stream:
            return _read(await _collect(stream, emitter))


def _request(call: ModelCall, model: str) -> dict[str, Any]:
    request: dict[str, Any] = {
        "model": model,
        "max_output_tokens": call.max_tokens,
        "input": [item for message in call.messages for item in _items(message)],
        "store": False,
        "prompt_cache_key": f"leadhand:{call.purpose}",
    }
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
    if call.answer_schema is not None:
        schema = strict_schema(call.answer_schema)
        request["text"] = {"format": {"type": "json_schema", "name": "answer", "schema": schema, "strict": True}}
    return request


def _items(message: ModelMessage) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = [
        {
            "type": "function_call_output",
            "call_id": reply.call_id,
            "output": f"ERROR: {reply.text}" if reply.failed else reply.text,
        }
        for reply in message.replies
    ]
    if message.text:
        items.append({"role": "assistant" if message.role == "assistant" else "user", "content": message.text})
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


def _read(response: dict[str, Any]) -> Reading:
    tokens = _tokens(response.get("usage"))
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
        error = response.get("error") or {}
        raise WireError(str(error.get("code") or ""), str(error.get("message") or ""))
    if status == "incomplete":
        return _read_incomplete(response, text, tokens)
    if status != "completed":
        raise BadReplyError(f"it was cut short (status {status!r})", tokens)
    if refusal:
        return Reading(refusal, (), "refused", tokens)
    calls = tuple(
        tool_call(str(item.get("call_id")), str(item.get("name")), item.get("arguments"), tokens)
        for item in output
        if item.get("type") == "function_call"
    )
    return Reading(text, calls, "tool_use" if calls else "end", tokens)


def _read_incomplete(response: dict[str, Any], text: str, tokens: Tokens) -> Reading:
    reason = (response.get("incomplete_details") or {}).get("reason")
    if reason == "max_output_tokens":
        return Reading(text, (), "max_tokens", tokens)
    if reason == "content_filter":
        return Reading(text, (), "refused", tokens)
    raise BadReplyError(f"it was cut short ({reason!r})", tokens)


def _tokens(usage: Any) -> Tokens:
    details = usage.get("input_tokens_details") if isinstance(usage, dict) else None
    return Tokens(
        whole_count(usage, "input_tokens"),
        whole_count(usage, "output_tokens"),
        whole_count(details, "cached_tokens"),
        whole_count(details, "cache_write_tokens"),
    )


async def _collect(stream: Any, emitter: Emitter) -> dict[str, Any]:
    """Return the response that the last event of a stream holds; one without a status if the stream was cut short."""
    async for event in stream:
        if event.type == "response.output_text.delta":
            await emitter.emit(event.delta)
        elif event.type in {"response.completed", "response.incomplete", "response.failed"}:
            whole: dict[str, Any] = event.response.model_dump()
            return whole
        elif event.type == "error":
            raise WireError(event.code or "", event.message or "")
    return {"status": None}
