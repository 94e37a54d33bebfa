"""One provider's models by tier, whatever wire format they are reached by."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from bot.models.prices import Prices
from bot.models.prompt_size import PromptSizes
from bot.models.retrying import Retrying, RetryPolicy
from bot.models.wire import Connection, Emitter, Reading, Tokens, Wire
from handoff.contracts import Tier, Turn
from specialists.turns.model import ModelCall, ModelMessage

DISPLAY_NAMES: Mapping[str, str] = {"anthropic": "Anthropic", "openai": "OpenAI", "ollama": "Ollama"}
"""Names for people, by the provider's name. A provider that is not listed is shown by its own name."""
LISTED = frozenset({"anthropic", "openai"})
"""Providers that the price list knows by the same name. Any other is looked up by its address."""

_CALLS = ("tool_use", "function_call")


class ProviderModel:
    """The models of one provider. The SDK (2 s, 60 to 85 MB) is imported by `warm`, or by the first call.

    Args:
        wire: Sends a call in the provider's wire format.
        tiers: The model's name for each tier.
        provider: The provider's name as settings and metrics have it: `anthropic`, `openai`, `ollama`, or the host
            (with its port, if it has one) of another server.
        retries: How hard each call is tried.
    """

    def __init__(
        self, wire: Wire, tiers: Mapping[Tier, str], *, provider: str, retries: RetryPolicy | None = None
    ) -> None:
        self.wire = wire
        self.tiers = dict(tiers)
        self.provider = provider
        self._display_name = DISPLAY_NAMES.get(provider, provider)
        self._prices = _prices(provider, wire.base_url, self.tiers.values())
        self._retrying = Retrying(self._display_name, retries or RetryPolicy(), self._prices)
        self._sizes = PromptSizes()
        self._under_way = 0
        self._connection: Connection | None = None
        self._connecting = asyncio.Lock()

    @property
    def label(self) -> str:
        """Name the balanced model and the provider, for people."""
        return f"{self.tiers['balanced']} ({self._display_name})"

    async def warm(self) -> None:
        """Import the SDK and look the prices up, so that the first call need not wait for either."""
        self._prices.start()
        await asyncio.gather(self._connect(), self._prices.ready())

    def price(self, tier: Tier, tokens_in: int, tokens_out: int) -> float | None:
        """Return the dollars of so many tokens, or None if no price is known, as before `warm` is done."""
        return self._prices.cost(self.tiers[tier], Tokens(tokens_in, tokens_out))

    async def reply(self, call: ModelCall) -> Turn:
        """Make one turn. Raises `ModelError`."""
        self._prices.start()
        connection = await self._connect()
        model = self.tiers[call.tier]
        mark = {"provider": self.provider, "model": model}
        call = _with_own_thoughts(call, mark)
        size = self._sizes.of(call, model)

        async def attempt(emitter: Emitter) -> Reading:
            self._under_way += size
            try:
                # A small machine reads one prompt after the other, so those before this one count too.
                reading = await self.wire.send(connection, call, model, emitter, self._under_way)
            finally:
                self._under_way -= size
            self._sizes.learn(call, model, reading.tokens.input)
            return reading

        turn = await self._retrying.run(call, model, connection.sdk, attempt)
        return turn.model_copy(update={"thoughts": (mark, *turn.thoughts)}) if turn.thoughts else turn

    def takes_steps(self, tier: Tier) -> bool:
        """Return True if the model of a tier calls tools by steps in a schema, see `schema_steps`."""
        return self.wire.takes_steps(self.tiers[tier])

    async def context(self, tier: Tier) -> int | None:
        """Return the tokens that the context of a tier's model takes; None if its server does not say."""
        return await self.wire.context(await self._connect(), self.tiers[tier])

    async def close(self) -> None:
        """Release connections, inside the running loop."""
        await self._prices.close()
        if self._connection is not None:
            await self._connection.client.close()

    async def _connect(self) -> Connection:
        """Return the connection; the first call makes it, in a thread."""
        if self._connection is None:
            async with self._connecting:
                if self._connection is None:
                    self._connection = await asyncio.to_thread(self.wire.connect)
        return self._connection


def _with_own_thoughts(call: ModelCall, mark: dict[str, Any]) -> ModelCall:
    """Leave out the thoughts of other models, and those that do not fit the calls of their message any more."""
    if not any(message.thoughts for message in call.messages):
        return call
    return replace(call, messages=tuple(_own(message, mark) for message in call.messages))


def _own(message: ModelMessage, mark: dict[str, Any]) -> ModelMessage:
    first, *thoughts = message.thoughts or ({},)
    made = {item.get("call_id") or item.get("id") for item in thoughts if item.get("type") in _CALLS}
    fit = first == mark and made == {call.id for call in message.calls}
    return message.model_copy(update={"thoughts": tuple(thoughts) if fit else ()})


def _prices(provider: str, base_url: str | None, models: Iterable[str]) -> Prices:
    if provider in LISTED:
        return Prices(models, provider=provider)
    public = base_url is not None and base_url.startswith("https://")  # nobody lists prices of local servers
    return Prices(models, api_url=base_url if base_url and public else "")
