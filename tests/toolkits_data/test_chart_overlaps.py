"""No two texts of a chart stand on each other, whatever the data is called."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest
from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from specialists.tools.charts.chart_data import ChartData, Kind, chart_data
from specialists.tools.charts.figure import STYLE
from specialists.tools.charts.plots import draw


def texts(data: ChartData) -> list[tuple[str, Bbox]]:
    """What is written in the plot, and where."""
    with rc_context(STYLE):
        figure = Figure(figsize=(8, 4.5), dpi=100, layout="constrained")
        canvas = FigureCanvasAgg(figure)
        axes = figure.add_subplot()
        draw(axes, data, "")
        canvas.draw()
        written = [*axes.texts, *axes.get_xticklabels(), *axes.get_yticklabels()]
        if not axes.axison:
            written = list(axes.texts)
        return [(text.get_text(), text.get_window_extent()) for text in written if text.get_text()]


def rows(names: list[str], *values: list[float]) -> list[tuple[Any, ...]]:
    return list(zip(names, *values, strict=True))


LONG = [f"Customer with a rather long name number {number}" for number in range(15)]
CASES: dict[str, tuple[Kind, list[tuple[Any, ...]]]] = {
    "thin slices": ("pie", rows(list("abcdefg"), [960, 25, 24, 22, 21, 3, 2])),
    "thin slices on top": ("pie", rows(["Rent", "Pay", "Ads", "Trips", "IT", "Other"], [30, 50, 10, 5, 8, 3])),
    "seven and the rest": ("pie", rows([f"Segment {number}" for number in range(20)], [10] * 20)),
    "eight long words": ("bar", rows([f"Communication{letter}" for letter in "abcdefgh"], list(range(8)))),
    "seven of two words": ("bar", rows([f"{letter} Western Europe" for letter in "abcdefg"], list(range(7)))),
    "twelve bars": ("bar", rows([f"Month{number}" for number in range(12)], [1234567.0 * n for n in range(12)])),
    "a line of weeks": ("line", rows([f"Week number {number}" for number in range(40)], list(range(40)))),
    "long names": ("barh", rows(LONG, list(range(15)))),
}


@pytest.mark.parametrize(("kind", "given"), CASES.values(), ids=CASES)
def test_no_two_texts_stand_on_each_other(kind: Kind, given: list[tuple[Any, ...]]) -> None:
    data = chart_data(kind, ["n", "v"], given, "n", ["v"])
    there = texts(data)
    for (one, box), (other, place) in combinations(there, 2):
        across = min(box.x1, place.x1) - max(box.x0, place.x0)
        down = min(box.y1, place.y1) - max(box.y0, place.y0)
        assert across <= 1 or down <= 1, f"{one!r} stands on {other!r}"


def test_names_that_differ_at_their_end_are_told_apart() -> None:
    data = chart_data("barh", ["n", "v"], rows(LONG, list(range(15))), "n", ["v"])
    names = [text for text, _ in texts(data) if text.startswith("Customer")]
    assert len(set(names)) == 15


def test_no_bar_of_words_is_without_its_name() -> None:
    names = [f"Communication{letter}"[-11:] for letter in "abcdefgh"]
    shown = [text for text, _ in texts(chart_data("bar", ["n", "v"], rows(names, list(range(8))), "n", ["v"]))]
    assert set(names) <= {text.replace("\n", "") for text in shown}


def test_what_is_counted_has_no_halves() -> None:
    shown = {text for text, _ in texts(chart_data("bar", ["n", "v"], rows(["a", "b"], [1, 2]), "n", ["v"]))}
    assert "1.5" not in shown
    assert {"1", "2"} <= shown
