"""The protocol of a chosen model: its provider, tiers and prices, beside the calls themselves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from handoff.contracts import Tier
from specialists.model import Model

REHEARSAL = "rehearsal"
"""The provider name of the rehearsal: rules in place of a model, which cannot use what people say while they work."""


class ChosenModel(Model, Protocol):
    """A model whose provider, tiers and prices are known, and that can be made ready before it is needed."""

    @property
    def provider(self) -> str:
        """The provider's name, as settings and metrics have it."""

    @property
    def tiers(self) -> Mapping[Tier, str]:
        """The model's name for each tier."""

    async def warm(self) -> None:
        """Import the SDK and look prices up, without blocking the loop. Costs nothing once that is done."""

    async def register_models(self, names: Iterable[str]) -> Mapping[str, str]:
        """Register the models that specialists name, see `named_models`. Returns, by name, why one cannot be had."""

    def price(self, tier: Tier, tokens_in: int, tokens_out: int, model: str = "") -> float | None:
        """Return the dollars of so many tokens; 0 if calls take no tokens at all, None if no price is known (yet).

        `model` is one that a specialist names in place of the tier's.
        """
