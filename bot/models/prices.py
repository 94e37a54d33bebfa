"""The cost of calls, by the `genai-prices` list.

The list takes 22 MB of memory, most of which Python never gives back, and half a second of CPU time. So a child
process reads it, once, and prints the few numbers that are needed. On a busy machine that can take many seconds:
a cost is worked out after the reply, and waits for the numbers as long as the call may take.
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

from bot.models.wire import Tokens

_log = logging.getLogger(__name__)
_SCRIPT = Path(__file__).with_name("price_lookup.py")
LOOKUP_SECONDS = 60.0
"""Seconds after which a lookup is taken to be stuck and is ended."""
LOOKUPS = 3
"""Lookups that may fail before no more are made, each at a later call."""
_MILLION = 1_000_000

TokenRate = list[tuple[int, float]]
"""Dollars a million tokens, each with the number of input tokens above which it holds, lowest first."""


ModelRates = dict[str, dict[str, TokenRate | None]]
"""For each model its rates of `input`, `output`, `read` and `written` tokens."""

_FOUND: dict[tuple[str, ...], ModelRates] = {}
"""The rates found so far in this process, by what was asked for: the list does not change while it runs."""


class Prices:
    """The prices of a few models. None is known until `wait_until_ready` has been awaited; then costs are arithmetic.

    Args:
        models: Names to look up.
        provider: The provider's name in the price list, or empty.
        api_url: The API's address, by which the provider is found if it has no name. With neither, no
            price is known: a model of the same name may be served by anybody.
    """

    def __init__(self, models: Iterable[str], *, provider: str = "", api_url: str = "") -> None:
        self._asked = (provider, api_url, *sorted(set(models)))
        self._rates: ModelRates = {}
        self._lookup: asyncio.Task[None] | None = None
        self._lookups_left = LOOKUPS if provider or api_url else 0

    def add_models(self, models: Iterable[str]) -> None:
        """Look up these models as well, from the next lookup on."""
        provider, api_url, *before = self._asked
        asked = (provider, api_url, *sorted({*before, *models}))
        if asked != self._asked:
            self._asked, self._lookup = asked, None
            self._lookups_left = LOOKUPS if provider or api_url else 0

    def start(self) -> None:
        """Begin to look the prices up, unless they are known, being looked up, or not to be had."""
        if self._lookups_left and (self._lookup is None or self._lookup.done()):
            self._lookup = asyncio.create_task(self._look_up(), name="model prices")

    async def wait_until_ready(self, *, within: float | None = None) -> None:
        """Wait until the prices are known or known to be unknown; `within` so many seconds, if given."""
        if self._lookup is None:
            self.start()
        if self._lookup is not None:
            await asyncio.wait({self._lookup}, timeout=within if within is None else max(0.0, within))

    def cost(self, model: str, tokens: Tokens) -> float | None:
        """Return the cost in dollars, or None if no price is known (yet)."""
        rates = self._rates.get(model)
        if rates is None:
            return None
        total = 0.0
        plain = tokens.input
        for name, count in (("read", tokens.read), ("written", tokens.written)):
            rate = rates[name]
            if rate is not None:
                total += count * _dollars_per_million(rate, tokens.input)
                plain -= count
        for name, count in (("input", plain), ("output", tokens.output)):
            rate = rates[name]
            if rate is not None:
                total += count * _dollars_per_million(rate, tokens.input)
        return total / _MILLION

    async def close(self) -> None:
        """End a lookup that is under way."""
        if self._lookup is not None:
            self._lookup.cancel()
            await asyncio.gather(self._lookup, return_exceptions=True)

    async def _look_up(self) -> None:
        self._lookups_left -= 1
        try:
            if self._asked not in _FOUND:
                async with asyncio.timeout(LOOKUP_SECONDS):
                    _FOUND[self._asked] = await _load_listed_rates(*self._asked)
        except (OSError, TimeoutError, ValueError) as error:
            why = str(error) or f"the price list could not be read within {LOOKUP_SECONDS:g} s"
            then = "; tried again with the next call" if self._lookups_left else ""
            _log.warning("no prices of models are known (%s)%s", why, then)
        else:
            self._rates = _FOUND[self._asked]
            self._lookups_left = 0


async def _load_listed_rates(*asked: str) -> ModelRates:
    """Read the rates of those models that have a price, in a process of its own. Takes half a second of CPU time.

    Raises OSError if the process cannot be started or fails, and ValueError if it prints no JSON.
    """
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-P", str(_SCRIPT), *asked, stdout=PIPE, stderr=PIPE, env={}
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
    rates: ModelRates = json.loads(out)
    return rates


def _dollars_per_million(rate: TokenRate, tokens_in: int) -> float:
    """Return dollars a million tokens. The highest step below the size of the prompt counts for all of its tokens."""
    return next(price for start, price in reversed(rate) if tokens_in > start)
