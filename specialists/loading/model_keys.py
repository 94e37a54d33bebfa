"""Reads what a specialist asks of its model: one by its name in place of a tier, `effort`, and `temperature`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import get_args

from handoff.contracts import Tier
from specialists.files.frontmatter import CrewFault, MarkdownPage, did_you_mean
from specialists.model import Effort

KEYS = ("effort", "temperature")
"""The keys beside `model`."""
HOTTEST = 2.0

_TIERS: tuple[Tier, ...] = get_args(Tier)
_EFFORTS: tuple[Effort, ...] = get_args(Effort)
_NAME = re.compile(r"(?=.*[\d/:-])[A-Za-z0-9][\w.:/@-]{1,99}")
"""A model's name has a digit or a sign in it, which no tier has: a tier that is spelt wrong is none."""


@dataclass(frozen=True, slots=True)
class ModelWish:
    """What a specialist's file asks of its model. `name` is a provider's model, empty: that of its tier.

    `effort` and `temperature` are as in `ModelCall`. `fault` words a fault of the line that names the model.
    """

    name: str = ""
    effort: Effort | None = None
    temperature: float | None = None
    page: MarkdownPage | None = None

    def fault(self, text: str) -> CrewFault:
        """Return a fault of the line that names the model. Raises ValueError if no file did."""
        if self.page is None:
            raise ValueError("nobody named a model")
        return CrewFault(self.page.path, self.page.lines.get("model", 1), text)


NO_WISH = ModelWish()


def read(page: MarkdownPage) -> ModelWish:
    """Read what a page asks of its model; what is wrong is added to its faults. A tier is not read here."""
    name, effort, temperature = (page.values.get(key) for key in ("model", *KEYS))
    named = name if isinstance(name, str) and is_name(name) else ""
    level = next((one for one in _EFFORTS if one == effort), None)
    if "effort" in page.values and level is None:
        page.fault(f"effort takes {', '.join(_EFFORTS)}{did_you_mean(str(effort), _EFFORTS)}", key="effort")
    heat = None
    if "temperature" in page.values:
        if isinstance(temperature, bool) or not isinstance(temperature, int | float) or not 0 <= temperature <= HOTTEST:
            page.fault(f"temperature takes a number from 0 to {HOTTEST:g}, such as 0.3", key="temperature")
        else:
            heat = float(temperature)
    return ModelWish(named, level, heat, page if named else None)


def is_name(value: str) -> bool:
    """Return True for what may be the name of a provider's model, and is no tier."""
    return value not in _TIERS and _NAME.fullmatch(value) is not None
