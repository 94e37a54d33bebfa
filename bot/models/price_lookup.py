"""A script that prints the prices of some models as JSON, for `bot.models.prices`.

It runs in a child process, because the price list takes half a second and about 30 MB to load.

    python -P price_lookup.py PROVIDER API_URL MODEL...

PROVIDER and API_URL may be empty. The output maps each model that has a price to
`{"input": RATE, "output": RATE, "read": RATE, "written": RATE}`, where a RATE is null or a list of
`[number of input tokens above which this price holds, dollars per million tokens]`, lowest first.
"""

from __future__ import annotations

import json
import sys

import genai_prices
from genai_prices.types import ModelPrice, TieredPrices

_PRICE_FIELDS = {
    "input": "input_mtok",
    "output": "output_mtok",
    "read": "cache_read_mtok",
    "written": "cache_write_mtok",
}


def main(provider: str, api_url: str, *models: str) -> None:
    """Look up the models and print the prices that were found."""
    prices_by_model = {}
    for model in models:
        try:
            if api_url and not provider:
                price = genai_prices.calc_price(genai_prices.Usage(), model, provider_api_url=api_url)
            else:
                price = genai_prices.calc_price(genai_prices.Usage(), model, provider_id=provider or None)
        except LookupError:
            continue
        prices_by_model[model] = {
            name: _list_price_steps(price.model_price, field) for name, field in _PRICE_FIELDS.items()
        }
    sys.stdout.write(json.dumps(prices_by_model))


def _list_price_steps(prices: ModelPrice, field: str) -> list[tuple[int, float]] | None:
    price = getattr(prices, field)
    if price is None:
        return None
    if isinstance(price, TieredPrices):
        return [(-1, float(price.base)), *((tier.start, float(tier.price)) for tier in price.tiers)]
    return [(-1, float(price))]


if __name__ == "__main__":
    main(*sys.argv[1:])
