"""The protocol of the model that an instance uses: `Model`, and its provider, tiers and prices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from handoff.contracts import Tier
from specialists.model import Model

REHEARSAL_PROVIDER = "rehearsal"
"""The provider name of the rehearsal model."""


class ChosenModel(Model, Protocol):
    """A model whose provider, tiers and prices are known, and which can be prepared before its first call."""

    @property
    def provider(self) -> str:
        """The provider's name, as settings and metrics use it."""

    @property
    def tiers(self) -> Mapping[Tier, str]:
        """The model's name for each tier."""

    async def warm(self) -> None:
        """Import the SDK and look up prices, without blocking the event loop. If both are done, do nothing."""

    async def register_models(self, names: Iterable[str]) -> Mapping[str, str]:
        """Register models that specialists' files name. Returns the fault of each unavailable one, by its name."""

    def compute_price(self, tier: Tier, tokens_in: int, tokens_out: int, model: str = "") -> float | None:
        """Return the price of these tokens in dollars; 0 for the rehearsal, None if no price is known (yet).

        `model`, if not empty, is a model that a specialist names in place of the tier's.
        """
