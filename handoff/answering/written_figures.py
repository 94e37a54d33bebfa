"""Lists figures in the form that a text has them in, and removes figures from a text. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from handoff.checking.figures import Figure

_CURRENCY_BEFORE = re.compile(r"[$€£¥][ \u00a0]?$")
_UNIT_AFTER = re.compile(r"[ \u00a0\u202f]?[%€£¥$]")


def list_written_figures(text: str, figures: Iterable[Figure]) -> tuple[str, ...]:
    """Return figures as the text has them, with the currency or per cent sign beside them, each once."""
    figure_texts = []
    for one in figures:
        before, after = _CURRENCY_BEFORE.search(text[: one.start]), _UNIT_AFTER.match(text[one.end :])
        figure_texts.append(f"{before[0] if before else ''}{one.text}{after[0] if after else ''}")
    return tuple(dict.fromkeys(figure_texts))


def remove_figures(text: str, figures: Iterable[str]) -> str:
    """Return the text without these figures, so that it no longer counts as a source of them."""
    for figure in sorted(figures, key=len, reverse=True):
        text = re.sub(_make_figure_pattern(figure), " ", text) if figure.strip() else text
    return text


def _make_figure_pattern(figure: str) -> str:
    """Return a pattern that matches the figure, but not as a part of a longer number."""
    before = r"(?<![\d])(?<!\d[.,])" if figure[0].isdigit() else ""
    after = r"(?!\d|[.,]\d)" if figure[-1].isdigit() else ""
    return f"{before}{re.escape(figure)}{after}"
