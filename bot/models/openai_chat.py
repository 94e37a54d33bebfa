"""Any server that speaks OpenAI's chat completions: Ollama, LM Studio, llama.cpp, vLLM, gateways."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bot.models.calling import Calling, Emitter, Limits
from bot.models.chat_replies import collect, read
from bot.models.openai_client import connect, post
from bot.models.prices import Prices
from bot.models.sdk import Connection
from bot.models.strict_schema import strict_schema
from bot.models.wire_reading import Reading, Tokens, json_object
from handoff.contracts import Tier, Turn
from specialists.turns.model import ModelCall, ModelMessage

if TYPE_CHECKING:
    import openai

_IN_WORDS = Path(__file__).with_name("schema_in_words.md")
_REFUSALS = {
    "max_tokens": re.compile("max_completion_tokens"),  # OpenAI's newer models know only that name
    "max_completion_tokens": re.compile(r"tokens\W+is too large"),  # a small context, which is the server's limit then
    "response_format": re.compile(r"response.?format|json.?schema|structured.?output|grammar", re.IGNORECASE),
    "stream_options": re.compile(r"stream_options|include_usage"),
}
"""Fields that not every server takes, and how one says so."""


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
        self._refused: dict[str, frozenset[str]] = {}

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
        model = self.tiers[call.tier]
        while True:
            without = self._refused.get(model, frozenset())
            wire = _wire(call, model, without)
            try:
                return await _send(client, wire, emitter)
            except (sdk.BadRequestError, sdk.UnprocessableEntityError) as error:
                # What it refuses is learnt once, and said in another way from then on.
                said = f"{error} {error.response.text}"
                new = {name for name, words in _REFUSALS.items() if name in wire and words.search(said)}
                if not new:
                    raise
                self._refused[model] = self._refused.get(model, frozenset()) | new


async def _send(client: openai.AsyncOpenAI, wire: dict[str, Any], emitter: Emitter) -> Reading:
    if not wire.get("stream"):
        return read(json_object(await post(client, "chat/completions", wire)))
    async with await client.chat.completions.create(**wire) as stream:
        return read(await collect(stream, emitter))


def _wire(call: ModelCall, model: str, without: frozenset[str]) -> dict[str, Any]:
    """The request, with another way for each field of `_REFUSALS` that it is to do `without`."""
    instructions = call.system
    wire: dict[str, Any] = {"model": model}
    limit = "max_completion_tokens" if "max_tokens" in without else "max_tokens"
    if limit not in without:
        wire[limit] = call.max_tokens
    if call.on_text is not None:
        wire["stream"] = True
        wire |= {} if "stream_options" in without else {"stream_options": {"include_usage": True}}
    if call.tools:
        wire["tools"] = [
            {
                "type": "function",
                "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
            }
            for tool in call.tools
        ]
    if call.answer_schema is not None:
        schema = strict_schema(call.answer_schema)
        if "response_format" in without:
            instructions = f"{instructions}\n\n{_in_words(schema)}".strip()
        else:
            answer = {"name": "answer", "schema": schema, "strict": True}
            wire["response_format"] = {"type": "json_schema", "json_schema": answer}
    system = [{"role": "system", "content": instructions}] if instructions else []
    return wire | {"messages": system + [item for message in call.messages for item in _messages(message)]}


def _in_words(schema: dict[str, Any]) -> str:
    words = _IN_WORDS.read_text(encoding="utf-8").strip()
    return words.format(schema=json.dumps(schema, ensure_ascii=False, separators=(",", ":")))


def _messages(message: ModelMessage) -> list[dict[str, Any]]:
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
