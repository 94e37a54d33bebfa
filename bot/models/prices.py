"""What calls cost, by the `genai-prices` list, without keeping that list in memory."""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Protocol, runtime_checkable

from bot.models.wire_reading import Tokens
from handoff.contracts import Tier

_log = logging.getLogger(__name__)
_LOOKUP = Path(__file__).with_name("price_lookup.py")
_LOOKUP_SECONDS = 30.0
_PATIENCE = 5.0
_MILLION = 1_000_000

Rate = list[tuple[int, float]]
"""Dollars a million tokens, each with the number of input tokens above which it holds, lowest first."""


@runtime_checkable
class Priced(Protocol):
    """A model that can say beforehand what tokens cost."""

    def price(self, tier: Tier, tokens_in: int, tokens_out: int) -> float | None:
        """Dollars; 0 where its calls take no tokens at all, None where no price is known (yet)."""


class Prices:
    """The prices of a few models. Nothing is known until `ready` has been awaited; then costs are arithmetic.

    Args:
        models: Names to look up.
        provider: The provider's name in the price list, or empty.
        api_url: The API's address, by which the provider is found if it has no name. With neither, no
            price is known: a model of the same name may be served by anybody.
    """

    def __init__(self, models: Iterable[str], *, provider: str = "", api_url: str = "") -> None:
        self._models = sorted(set(models))
        self._provider = provider
        self._api_url = api_url
        self._rates: dict[str, dict[str, Rate | None]] = {}
        self._loading: asyncio.Task[None] | None = None
        self._loaded = not (provider or api_url)

    def start(self) -> None:
        """Begin to look the prices up, beside whatever else goes on."""
        if not self._loaded and self._loading is None:
            self._loading = asyncio.create_task(self._load(), name="model prices")

    async def ready(self) -> None:
        """Wait until the prices are known or known to be unknown, but not for long."""
        if self._loaded:
            return
        self.start()
        if self._loading is not None:
            await asyncio.wait({self._loading}, timeout=_PATIENCE)

    def cost(self, model: str, tokens: Tokens) -> float | None:
        """The cost in dollars, or None where no price is known."""
        rates = self._rates.get(model)
        if rates is None:
            return None
        total = 0.0
        plain = tokens.input
        for name, count in (("read", tokens.read), ("written", tokens.written)):
            rate = rates[name]
            if rate is not None:
                total += count * _dollars(rate, tokens.input)
                plain -= count
        for name, count in (("input", plain), ("output", tokens.output)):
            rate = rates[name]
            if rate is not None:
                total += count * _dollars(rate, tokens.input)
        return total / _MILLION

    async def close(self) -> None:
        """Let a lookup that is under way end."""
        if self._loading is not None:
            await self._loading

    async def _load(self) -> None:
        self._rates = await asyncio.to_thread(_look_up, self._provider, self._api_url, *self._models)
        self._loaded = True


@cache
def _look_up(provider: str, api_url: str, *models: str) -> dict[str, dict[str, Rate | None]]:
    """The rates of those models that have a price. Takes about a second the first time."""
    command = [sys.executable, "-P", str(_LOOKUP), provider, api_url, *models]
    try:
        done = subprocess.run(command, capture_output=True, timeout=_LOOKUP_SECONDS, check=True, env={})  # noqa: S603 - our own script
        rates: dict[str, dict[str, Rate | None]] = json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        _log.warning("No prices of models are known: %s", error)
        return {}
    return rates


def _dollars(rate: Rate, tokens_in: int) -> float:
    """Dollars a million tokens: the highest step that the whole prompt is above counts for all of its tokens."""
    return next(price for start, price in reversed(rate) if tokens_in > start)
