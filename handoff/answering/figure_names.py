"""Lists figures as a text writes them, and removes figures from a text. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from handoff.checking.figures import Figure

_CURRENCY = re.compile(r"[$€£¥][ \u00a0]?$")
_UNIT = re.compile(r"[ \u00a0\u202f]?[%€£¥$]")


def list_written_figures(text: str, figures: Iterable[Figure]) -> tuple[str, ...]:
    """Return figures as the text writes them, with a currency or per cent sign beside them, each once."""
    found = []
    for one in figures:
        before, after = _CURRENCY.search(text[: one.start]), _UNIT.match(text[one.end :])
        found.append(f"{before[0] if before else ''}{one.text}{after[0] if after else ''}")
    return tuple(dict.fromkeys(found))


def remove_figures(text: str, figures: Iterable[str]) -> str:
    """Return the text without these figures, so that it no longer counts as a source of them."""
    for figure in sorted(figures, key=len, reverse=True):
        text = re.sub(_exact_figure_pattern(figure), " ", text) if figure.strip() else text
    return text


def _exact_figure_pattern(figure: str) -> str:
    """Return a pattern that matches the figure, but not as a part of a longer number."""
    before = r"(?<![\d])(?<!\d[.,])" if figure[0].isdigit() else ""
    after = r"(?!\d|[.,]\d)" if figure[-1].isdigit() else ""
    return f"{before}{re.escape(figure)}{after}"
