"""The cost of calls, from the price list of `genai-prices`.

The list takes about 30 MB of memory, most of which Python never returns, and half a second of CPU time. So a child
process reads it once and prints the few numbers that are needed. On a busy machine that can take many seconds. So a
cost is computed after the reply, and waits for the prices until the call's deadline at most.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import sys
from asyncio.subprocess import PIPE
from collections.abc import Iterable
from pathlib import Path

from bot.models.wire import TokenCounts

_log = logging.getLogger(__name__)
_SCRIPT = Path(__file__).with_name("price_lookup.py")
LOOKUP_SECONDS = 60.0
"""Seconds after which a lookup is considered stuck and is cancelled."""
MAX_LOOKUPS = 3
"""Maximum number of lookups. Each call after a failed lookup starts the next one."""
_MILLION = 1_000_000

PriceSteps = list[tuple[int, float]]
"""Pairs of (input tokens above which the price holds, dollars per million tokens), lowest first."""


ModelPrices = dict[str, dict[str, PriceSteps | None]]
"""By model: the rates of `input`, `output`, `read` (from the cache) and `written` (to the cache) tokens."""

_PRICES_CACHE: dict[tuple[str, ...], ModelPrices] = {}
"""The rates that this process has found, by (provider, API URL, models ...). The list does not change meanwhile."""


class Prices:
    """The prices of some models. No price is known before `wait_until_ready` has been awaited.

    Args:
        models: Names to look up.
        provider: The provider's name in the price list, or empty.
        api_url: The API's address, which identifies the provider if `provider` is empty. If both are empty,
            no price is known: anybody may serve a model of the same name.
    """

    def __init__(self, models: Iterable[str], *, provider: str = "", api_url: str = "") -> None:
        self._lookup_key = (provider, api_url, *sorted(set(models)))
        self._rates: ModelPrices = {}
        self._lookup: asyncio.Task[None] | None = None
        self._lookups_left = MAX_LOOKUPS if provider or api_url else 0

    def add_models(self, models: Iterable[str]) -> None:
        """Add models, which the next lookup includes."""
        provider, api_url, *earlier_models = self._lookup_key
        new_key = (provider, api_url, *sorted({*earlier_models, *models}))
        if new_key != self._lookup_key:
            self._lookup_key, self._lookup = new_key, None
            self._lookups_left = MAX_LOOKUPS if provider or api_url else 0

    def start_lookup(self) -> None:
        """Start a lookup of the prices, unless they are known, one is running, or no tries are left."""
        if self._lookups_left and (self._lookup is None or self._lookup.done()):
            self._lookup = asyncio.create_task(self._run_lookup(), name="model prices")

    async def wait_until_ready(self, *, seconds: float | None = None) -> None:
        """Wait until the current lookup has ended, with prices or without; at most `seconds` seconds, if given."""
        if self._lookup is None:
            self.start_lookup()
        if self._lookup is not None:
            await asyncio.wait({self._lookup}, timeout=seconds if seconds is None else max(0.0, seconds))

    def compute_cost(self, model: str, tokens: TokenCounts) -> float | None:
        """Return the cost in dollars, or None if no price is known (yet)."""
        rates = self._rates.get(model)
        if rates is None:
            return None
        total = 0.0
        uncached_count = tokens.input
        for name, count in (("read", tokens.cache_read), ("written", tokens.cache_written)):
            rate = rates[name]
            if rate is not None:
                total += count * _find_price_per_million(rate, tokens.input)
                uncached_count -= count
        for name, count in (("input", uncached_count), ("output", tokens.output)):
            rate = rates[name]
            if rate is not None:
                total += count * _find_price_per_million(rate, tokens.input)
        return total / _MILLION

    async def close(self) -> None:
        """Cancel a lookup that is running."""
        if self._lookup is not None:
            self._lookup.cancel()
            await asyncio.gather(self._lookup, return_exceptions=True)

    async def _run_lookup(self) -> None:
        self._lookups_left -= 1
        try:
            if self._lookup_key not in _PRICES_CACHE:
                async with asyncio.timeout(LOOKUP_SECONDS):
                    _PRICES_CACHE[self._lookup_key] = await _load_prices(*self._lookup_key)
        except (OSError, TimeoutError, ValueError) as error:
            why = str(error) or f"the price list could not be read within {LOOKUP_SECONDS:g} s"
            then = "; tried again with the next call" if self._lookups_left else ""
            _log.warning("no prices of models are known (%s)%s", why, then)
        else:
            self._rates = _PRICES_CACHE[self._lookup_key]
            self._lookups_left = 0


async def _load_prices(*arguments: str) -> ModelPrices:
    """Read the rates of the models that have a price, in a child process. Takes half a second of CPU time.

    Raises OSError if the process cannot be started or fails, and ValueError if it prints no JSON.
    """
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-P", str(_SCRIPT), *arguments, stdout=PIPE, stderr=PIPE, env={}
    )
    try:
        out, err = await child.communicate()
    except BaseException:
        with contextlib.suppress(ProcessLookupError):
            child.kill()
        await child.wait()
        raise
    if child.returncode:
        last = err.decode(errors="replace").strip().rpartition("\n")[2]
        raise ChildProcessError(f"{_SCRIPT.name} ended with {child.returncode}: {last}")
    rates: ModelPrices = json.loads(out)
    return rates


def _find_price_per_million(rate: PriceSteps, tokens_in: int) -> float:
    """Return the dollars per million tokens. All tokens have the price of the highest step below `tokens_in`."""
    return next(price for start, price in reversed(rate) if tokens_in > start)
