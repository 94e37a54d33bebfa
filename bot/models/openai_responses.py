"""OpenAI's models, through its Responses API."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from bot.models.calling import Calling, Emitter, Limits
from bot.models.openai_client import connect, post
from bot.models.prices import Prices
from bot.models.sdk import Connection
from bot.models.strict_schema import strict_schema
from bot.models.wire_reading import BadReplyError, Reading, Tokens, WireError, json_object, tool_call, whole_count
from handoff.contracts import Tier, Turn
from specialists.turns.model import ModelCall, ModelMessage

_WHO = "OpenAI"


class OpenAIResponsesModel:
    """OpenAI's models by tier. The SDK is imported by `warm`, or by the first call.

    Args:
        tiers: The model's name for each tier.
        api_key: OpenAI's key.
        base_url: Another server that speaks the Responses API, or None for OpenAI's own.
        limits: How hard each call is tried.
    """

    def __init__(
        self, tiers: Mapping[Tier, str], *, api_key: str, base_url: str | None = None, limits: Limits | None = None
    ) -> None:
        self.tiers = dict(tiers)
        self._calling = Calling(_WHO, limits or Limits(), Prices(self.tiers.values(), provider="openai"))
        self._connection = Connection(lambda: connect(api_key, base_url))

    @property
    def label(self) -> str:
        """What people are told."""
        return f"{self.tiers['balanced']} ({_WHO})"

    async def warm(self) -> None:
        """Import the SDK, in a thread, so that the first call need not wait for it."""
        self._calling.prices.start()
        await self._connection.open()

    def price(self, tier: Tier, tokens_in: int, tokens_out: int) -> float | None:
        """Dollars of so many tokens, or None where no price is known (yet)."""
        return self._calling.prices.cost(self.tiers[tier], Tokens(tokens_in, tokens_out))

    async def reply(self, call: ModelCall) -> Turn:
        """One turn. Raises `ModelError`."""
        self._calling.prices.start()
        sdk, _ = await self._connection.open()
        return await self._calling.run(call, self.tiers[call.tier], sdk, self._attempt)

    async def close(self) -> None:
        """Release connections, inside the running loop."""
        await self._calling.prices.close()
        await self._connection.close()

    async def _attempt(self, call: ModelCall, emitter: Emitter) -> Reading:
        _, client = await self._connection.open()
        wire = _wire(call, self.tiers[call.tier])
        if call.on_text is None:
            return _read(json_object(await post(client, "responses", wire)))
        async with await client.responses.create(stream=True, **wire) as stream:
            return _read(await _collect(stream, emitter))


def _wire(call: ModelCall, model: str) -> dict[str, Any]:
    wire: dict[str, Any] = {
        "model": model,
        "max_output_tokens": call.max_tokens,
        "input": [item for message in call.messages for item in _items(message)],
        "store": False,
        "prompt_cache_key": f"leadhand:{call.purpose}",
    }
    if call.system:
        wire["instructions"] = call.system
    if call.tools:
        wire["tools"] = [
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
        wire["text"] = {"format": {"type": "json_schema", "name": "answer", "schema": schema, "strict": True}}
    return wire


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
    """The whole response of a stream, as its last event tells it. Without one it was cut short."""
    async for event in stream:
        if event.type == "response.output_text.delta":
            await emitter.emit(event.delta)
        elif event.type in {"response.completed", "response.incomplete", "response.failed"}:
            whole: dict[str, Any] = event.response.model_dump()
            return whole
        elif event.type == "error":
            raise WireError(event.code or "", event.message or "")
    return {"status": None}
