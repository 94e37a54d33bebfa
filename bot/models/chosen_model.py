"""What the bot asks of the model that it works with, beside the calls themselves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from handoff.contracts import Tier
from specialists.model import Model

REHEARSAL = "rehearsal"
"""The provider of the model that is none: rules alone, which cannot take in what is said while they work."""


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

    async def take_on(self, names: Iterable[str]) -> Mapping[str, str]:
        """Make models known that specialists name, see `named_models`; why one cannot be had, by its name."""

    def price(self, tier: Tier, tokens_in: int, tokens_out: int, model: str = "") -> float | None:
        """Return the dollars of so many tokens; 0 if calls take no tokens at all, None if no price is known (yet).

        `model` is one that a specialist names in place of the tier's.
        """
