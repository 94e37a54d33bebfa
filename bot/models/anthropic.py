"""Claude, through Anthropic's Messages API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bot.models.calling import Calling, Emitter, Limits
from bot.models.prices import Prices
from bot.models.sdk import Connection
from bot.models.strict_schema import strict_schema
from bot.models.wire_reading import BadReplyError, Reading, Tokens, json_object, tool_call, whole_count
from handoff.contracts import StopReason, Tier, Turn
from specialists.turns.model import ModelCall, ModelMessage

if TYPE_CHECKING:
    import anthropic

_WHO = "Anthropic"
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


class AnthropicModel:
    """Claude models by tier. The SDK (2 s, 85 MB) is imported by `warm`, or by the first call.

    Args:
        tiers: The model's name for each tier.
        api_key: Anthropic's key.
        base_url: Another server that speaks the Messages API, or None for Anthropic's own.
        limits: How hard each call is tried.
    """

    def __init__(
        self, tiers: Mapping[Tier, str], *, api_key: str, base_url: str | None = None, limits: Limits | None = None
    ) -> None:
        self.tiers = dict(tiers)
        self._calling = Calling(_WHO, limits or Limits(), Prices(self.tiers.values(), provider="anthropic"))
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
        if call.on_text is None and call.max_tokens <= _LONGEST_UNSTREAMED:
            raw = await client.messages.with_raw_response.create(**wire)
            return _read(json_object(await raw.read()))
        async with await client.messages.create(stream=True, **wire) as stream:
            return _read(await _collect(stream, emitter))


def connect(api_key: str, base_url: str | None) -> tuple[Any, anthropic.AsyncAnthropic]:
    """The SDK's module and a client without retries of its own. Blocks for 2 s when first called."""
    import anthropic  # noqa: PLC0415 - 2 s and 85 MB, only for those who use it

    # The SDK's transport over aiohttp takes half the CPU time of its default one, and aiohttp is here anyway.
    client = anthropic.AsyncAnthropic(
        api_key=api_key, base_url=base_url, max_retries=0, http_client=anthropic.DefaultAioHttpClient()
    )
    _ = client.messages.with_raw_response  # brings the types of messages in
    return anthropic, client


def _wire(call: ModelCall, model: str) -> dict[str, Any]:
    wire: dict[str, Any] = {
        "model": model,
        "max_tokens": call.max_tokens,
        "messages": [message for each in call.messages for message in _message(each)],
    }
    if call.system:
        # Tools come before the system prompt in Anthropic's cache: this one mark keeps both.
        wire["system"] = [{"type": "text", "text": call.system, "cache_control": _CACHED}]
    if call.tools:
        wire["tools"] = [
            {"name": tool.name, "description": tool.description, "input_schema": tool.parameters} for tool in call.tools
        ]
        if wire["messages"]:
            # With tools the conversation so far comes again in the next turn.
            wire["messages"][-1]["content"][-1]["cache_control"] = _CACHED
    if call.answer_schema is not None:
        wire["output_config"] = {"format": {"type": "json_schema", "schema": strict_schema(call.answer_schema)}}
    return wire


def _message(message: ModelMessage) -> list[dict[str, Any]]:
    """The message on the wire: none at all if it is empty, which Anthropic refuses."""
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
    """The whole message of a stream, in the shape it has without one. `input` of a tool call stays JSON text."""
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
