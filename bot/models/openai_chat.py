"""Any server that speaks OpenAI's chat completions: Ollama, LM Studio, llama.cpp, vLLM, gateways."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bot.models.calling import Calling, Emitter, Limits
from bot.models.connection import Connection
from bot.models.openai_client import connect, post
from bot.models.prices import Prices
from bot.models.reading import BadReplyError, Reading, Tokens, json_object, tool_call, whole_count
from bot.models.strict_schema import strict_schema
from handoff.contracts import Tier
from specialists.turns.dialogue import Message, ModelCall, StopReason, Turn

if TYPE_CHECKING:
    import openai

if TYPE_CHECKING:
    pass

_STOPS: dict[str, StopReason] = {
    "stop": "end",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "length": "max_tokens",
    "content_filter": "refused",
}


class OpenAIChatModel:
    """Models of a compatible server by tier. The SDK is imported by `warm`, or by the first call.

    Args:
        tiers: The model's name for each tier.
        api_key: The server's key; local servers take any.
        base_url: The server's address, up to and with `/v1`; None for OpenAI's own.
        limits: How hard each call is tried.
        who: The server's name for people, such as `Ollama`.
    """

    def __init__(
        self,
        tiers: Mapping[Tier, str],
        *,
        api_key: str,
        base_url: str | None = None,
        limits: Limits | None = None,
        who: str = "OpenAI-compatible server",
    ) -> None:
        self.tiers = dict(tiers)
        self._who = who
        public = base_url is None or base_url.startswith("https://")  # nobody lists prices of local servers
        prices = Prices(self.tiers.values(), api_url=(base_url or "https://api.openai.com/v1") if public else "")
        self._calling = Calling(who, limits or Limits(), prices)
        self._connection = Connection(lambda: connect(api_key, base_url))
        self._max_tokens_field = "max_tokens"

    @property
    def label(self) -> str:
        """What people are told."""
        return f"{self.tiers['balanced']} ({self._who})"

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
        sdk, client = await self._connection.open()
        try:
            return await self._send(client, call, emitter)
        except sdk.BadRequestError as error:
            if self._max_tokens_field != "max_tokens" or "max_completion_tokens" not in str(error):
                raise
            # OpenAI's newer models know only this name, most local servers only the other.
            self._max_tokens_field = "max_completion_tokens"
            return await self._send(client, call, emitter)

    async def _send(self, client: openai.AsyncOpenAI, call: ModelCall, emitter: Emitter) -> Reading:
        wire = _wire(call, self.tiers[call.tier]) | {self._max_tokens_field: call.max_tokens}
        if call.on_text is None:
            return _read(json_object(await post(client, "/chat/completions", wire)))
        wire["stream_options"] = {"include_usage": True}
        async with await client.chat.completions.create(stream=True, **wire) as stream:
            return _read(await _collect(stream, emitter))


def _wire(call: ModelCall, model: str) -> dict[str, Any]:
    system = [{"role": "system", "content": call.system}] if call.system else []
    wire: dict[str, Any] = {
        "model": model,
        "messages": system + [item for message in call.messages for item in _messages(message)],
    }
    if call.tools:
        wire["tools"] = [
            {
                "type": "function",
                "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
            }
            for tool in call.tools
        ]
    if call.answer_schema is not None:
        schema = {"name": "answer", "schema": strict_schema(call.answer_schema), "strict": True}
        wire["response_format"] = {"type": "json_schema", "json_schema": schema}
    return wire


def _messages(message: Message) -> list[dict[str, Any]]:
    if message.role == "assistant":
        calls = [
            {
                "id": call.id,
                "type": "function",
                "function": {
                    "name": call.name,
                    "arguments": json.dumps(call.arguments, ensure_ascii=False),
                },
            }
            for call in message.calls
        ]
        return [{"role": "assistant", "content": message.text, **({"tool_calls": calls} if calls else {})}]
    replies: list[dict[str, Any]] = [
        {
            "role": "tool",
            "tool_call_id": reply.call_id,
            "content": f"ERROR: {reply.text}" if reply.failed else reply.text,
        }
        for reply in message.replies
    ]
    return [*replies, {"role": "user", "content": message.text}] if message.text or not replies else replies


def _read(completion: dict[str, Any]) -> Reading:
    tokens = _tokens(completion.get("usage"))
    choices = completion.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
    message = choice.get("message") or {}
    stop = _STOPS.get(choice.get("finish_reason") or "")
    if stop is None:
        raise BadReplyError(f"it was cut short (finish reason {choice.get('finish_reason')!r})", tokens)
    text = message.get("content") or ""
    if message.get("refusal"):
        return Reading(message["refusal"], (), "refused", tokens)
    wished = [call for call in message.get("tool_calls") or () if isinstance(call, dict)]
    if stop in {"max_tokens", "refused"} or not (wished or stop == "tool_use"):
        return Reading(text, (), stop, tokens)
    if not wished:
        raise BadReplyError("it announced a tool call and made none", tokens)
    # Some servers finish a whole tool call with `stop`; only `length` says that it was cut.
    calls = tuple(_call(call, tokens) for call in wished)
    return Reading(text, calls, "tool_use", tokens)


def _call(call: dict[str, Any], tokens: Tokens) -> Any:
    function = call.get("function") or {}
    return tool_call(str(call.get("id")), str(function.get("name")), function.get("arguments"), tokens)


def _tokens(usage: Any) -> Tokens:
    details = usage.get("prompt_tokens_details") if isinstance(usage, dict) else None
    return Tokens(
        whole_count(usage, "prompt_tokens"),
        whole_count(usage, "completion_tokens"),
        whole_count(details, "cached_tokens"),
        whole_count(details, "cache_write_tokens"),
    )


async def _collect(stream: Any, emitter: Emitter) -> dict[str, Any]:
    """The whole completion of a stream, in the shape it has without one."""
    text = ""
    refusal = ""
    calls: dict[int, dict[str, Any]] = {}
    finish = None
    usage: dict[str, Any] = {}
    async for chunk in stream:
        if chunk.usage is not None:
            usage = chunk.usage.model_dump()
        if not chunk.choices:
            continue
        finish = chunk.choices[0].finish_reason or finish
        delta = chunk.choices[0].delta
        refusal += delta.refusal or ""
        for part in delta.tool_calls or ():
            _add_call(calls, part)
        if delta.content:
            text += delta.content
            await emitter.emit(delta.content)
    message = {"content": text, "refusal": refusal, "tool_calls": list(calls.values())}
    return {"choices": [{"message": message, "finish_reason": finish}], "usage": usage}


def _add_call(calls: dict[int, dict[str, Any]], part: Any) -> None:
    call = calls.setdefault(part.index, {"id": "", "function": {"name": "", "arguments": ""}})
    call["id"] = part.id or call["id"]
    if part.function is not None:
        call["function"]["name"] += part.function.name or ""
        call["function"]["arguments"] += part.function.arguments or ""
