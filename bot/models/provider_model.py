"""One provider's models by tier, whatever wire format they are reached by."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping

from bot.models.prices import Prices
from bot.models.retrying import Retrying, RetryPolicy
from bot.models.wire import Connection, Emitter, Reading, Tokens, Wire
from handoff.contracts import Tier, Turn
from specialists.turns.model import ModelCall

DISPLAY_NAMES: Mapping[str, str] = {"anthropic": "Anthropic", "openai": "OpenAI", "ollama": "Ollama"}
"""Names for people, by the provider's name. A provider that is not listed is shown by its own name."""
LISTED = frozenset({"anthropic", "openai"})
"""Providers that the price list knows by the same name. Any other is looked up by its address."""


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

        async def attempt(emitter: Emitter) -> Reading:
            return await self.wire.send(connection, call, model, emitter)

        return await self._retrying.run(call, model, connection.sdk, attempt)

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


def _prices(provider: str, base_url: str | None, models: Iterable[str]) -> Prices:
    if provider in LISTED:
        return Prices(models, provider=provider)
    public = base_url is not None and base_url.startswith("https://")  # nobody lists prices of local servers
    return Prices(models, api_url=base_url if base_url and public else "")
