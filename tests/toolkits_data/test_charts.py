"""Charts: which rows they show and what they say of the rest, that no texts overlap, and real pictures of a child."""

from __future__ import annotations

import asyncio
import datetime as dt
import io
import math
from decimal import Decimal
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox
from PIL import Image

import specialists
from specialists.tools.charts import chart_labels
from specialists.tools.charts.chart_data import ChartData, ChartKind, ChartRefused, make_chart_data
from specialists.tools.charts.charts import DrawChartArguments, draw_chart, make_chart_shape, tools
from specialists.tools.charts.figure import STYLE
from specialists.tools.charts.plots import draw_data
from specialists.tools.tool import ToolOutcome

from .conftest import Bench, Blobs

SALES = (Path(specialists.__file__).parent / "samples" / "sales.csv").read_bytes()


def picture(blobs: Blobs, outcome: ToolOutcome) -> Image.Image:
    """The picture, once it is known to be one of the right size with something in it."""
    assert not outcome.failed, outcome.text
    (artifact,) = outcome.artifacts
    assert (artifact.media_type, artifact.publish_as) == ("image/png", "file")
    with Image.open(io.BytesIO(blobs[artifact.id])) as image:
        assert image.format == "PNG"
        assert image.size == (1600, 900)
        colours = image.convert("RGB")
    assert len(colours.getcolors(1_000_000) or []) > 20
    return colours


def has(image: Image.Image, colour: str) -> bool:
    wanted = tuple(bytes.fromhex(colour))
    return any(value == wanted for _, value in image.getcolors(1_000_000) or [])


async def test_lines_of_the_sample(bench: Bench, blobs: Blobs) -> None:
    workbench = bench({"sales.csv": SALES})
    told = await draw_chart(
        DrawChartArguments(
            title="Churned customers by region",
            kind="line",
            sql="SELECT month, region, sum(churned_customers) AS churned FROM sales GROUP BY ALL",
            x="month",
            y=["churned"],
            unit="customers",
        ),
        workbench,
    )
    image = picture(blobs, told)
    assert all(has(image, colour) for colour in ("0072b2", "d55e00", "009e73", "cc79a7"))
    assert told.artifacts[0].name == "churned-customers-by-region.png"
    assert told.artifacts[0].about == "Churned customers by region"
    assert workbench.new_artifacts == told.artifacts
    assert told.sources == ("sales.csv",)
    assert "South: 2025-07-01 32, 2025-08-01 30" in told.text


_VALUES = "SELECT * FROM (VALUES {}) t(x, v)"
_MANY = "SELECT 'Customer ' || range || ' of Example Holdings' AS x, range AS v FROM range(200), a"
_HARD: list[dict[str, Any]] = [
    {"title": "Negative, empty, not a number", "kind": "bar", "rows": "('a',-5.5),('b',NULL),('c','nan'::DOUBLE)"},
    {"title": "One point", "kind": "line", "rows": "(DATE '2026-03-01', 0)"},
    {
        "title": "東京 🚀 $x_1^2$ \\frac{",
        "kind": "barh",
        "rows": "('東京 🗼', 1), ('$\\alpha$', 2), ('🙂', 3), ('عربى', 4)",
    },
    {"title": "T " * 200, "kind": "pie", "rows": "('a', 1), ('b', 2)", "unit": "EUR " * 30},
    {"title": "", "kind": "scatter", "rows": "(1e300, 1e300), (-1e300, -1e300), (0, 1)"},
    {"title": "Revenue by customer", "kind": "bar", "sql": _MANY},
]


async def test_hard_data_is_drawn_all_the_same(bench: Bench, blobs: Blobs) -> None:
    workbench = bench({"a.csv": "n\n1\n"})
    two_at_once = asyncio.Semaphore(2)

    async def draw(case: dict[str, Any]) -> ToolOutcome:
        rest = {key: value for key, value in case.items() if key != "rows"}
        async with two_at_once:
            sql = case.get("sql") or _VALUES.format(case["rows"])
            return await draw_chart(DrawChartArguments(x="x", y=["v"], **{**rest, "sql": sql}), workbench)

    outcomes = await asyncio.gather(*map(draw, _HARD))
    for outcome in outcomes:
        picture(blobs, outcome)
        assert outcome.artifacts[0].name.endswith(".png")
        assert len(outcome.artifacts[0].name) < 70
    assert len(workbench.new_artifacts) == len(_HARD)
    assert "a barh chart (horizontal, because of the labels) of 30 values" in outcomes[-1].text
    assert "the 30 largest of 200; 170 others not shown" in outcomes[-1].text


async def test_what_cannot_be_drawn_is_told_and_nothing_is_kept(bench: Bench) -> None:
    workbench = bench({"sales.csv": SALES})
    wrong_sql = DrawChartArguments(title="t", kind="bar", sql="SELECT nope FROM sales", x="nope", y=["v"])
    wrong_y = DrawChartArguments(title="t", kind="bar", sql="SELECT region, plan FROM sales", x="region", y=["plan"])
    for arguments, said in ((wrong_sql, "nope"), (wrong_y, "not a number")):
        told = await draw_chart(arguments, workbench)
        assert told.failed
        assert said in told.text
    assert workbench.new_artifacts == ()


def test_the_tool_takes_what_a_model_writes() -> None:
    (tool,) = tools()
    assert tool.spec.parameters["required"] == ["title", "kind", "sql", "x", "y"]
    with pytest.raises(ValueError, match="kind"):
        DrawChartArguments.model_validate({"title": "t", "kind": "radar", "sql": "s", "x": "x", "y": ["y"]})


JAN, FEB, MAR = (dt.date(2026, month, 1) for month in (1, 2, 3))


def chart(kind: ChartKind, columns: str, *rows: tuple[Any, ...], y: str = "v") -> ChartData:
    names = columns.split()
    return make_chart_data(kind, names, rows, names[0], y.split())


def values(data: ChartData) -> list[tuple[float | None, ...]]:
    return [series.values for series in data.series]


def test_dates_are_sorted_and_holes_are_told() -> None:
    data = chart("line", "d v", (MAR, 3), (JAN, Decimal("1.5")), (FEB, math.nan), (None, 9))
    assert data.x_kind == "date"
    assert [x.month for x in data.x] == [1, 2, 3]
    assert values(data) == [(1.5, None, 3.0)]
    assert data.notes == ("1 rows without d left out", "1 missing value")


def test_months_as_text_are_dates_and_other_text_is_not() -> None:
    assert chart("line", "m v", ("2026-02", 2), ("2026-01", 1)).x_kind == "date"
    assert chart("line", "m v", ("2026-13", 2), ("2026-01", 1)).x_kind == "text"
    assert chart("bar", "m v", (2025, 2), (2024, 1)).x == (2024.0, 2025.0)


def test_one_text_column_more_tells_the_series_apart() -> None:
    rows = [(JAN, "North", 1), (JAN, "South", 2), (FEB, "South", 4), (MAR, "North", 5)]
    data = chart("line", "m region v", *rows)
    assert [series.name for series in data.series] == ["North", "South"]
    assert values(data) == [(1.0, None, 5.0), (2.0, 4.0, None)]


@pytest.mark.parametrize(
    ("kind", "columns", "rows", "y", "expected_words"),
    [
        ("bar", "a v", [], "v", "no rows"),
        ("bar", "a v", [("x", 1)], "nope", "no column 'nope'; it has a, v"),
        ("bar", "a v", [("x", "many")], "v", "not a number"),
        ("bar", "a v", [("x", True)], "v", "not a number"),
        ("bar", "a v", [("x", None), ("y", math.inf)], "v", "no numbers in v"),
        ("bar", "a v", [(None, 1)], "v", "empty in every row"),
        ("bar", "a v", [("x", 1), ("x", 2)], "v", "GROUP BY"),
        ("bar", "a b v", [("x", "p", 1), ("x", "p", 2)], "v", "together occur several"),
        ("scatter", "a v", [("x", 1)], "v", "scatter needs numbers"),
        ("pie", "a v w", [("x", 1, 2)], "v w", "one column of y"),
        ("pie", "a v", [("x", -1), ("y", 3)], "v", "positive"),
    ],
)
def test_what_cannot_be_drawn_says_why(
    kind: ChartKind, columns: str, rows: list[Any], y: str, expected_words: str
) -> None:
    with pytest.raises(ChartRefused, match=expected_words):
        chart(kind, columns, *rows, y=y)


def test_too_many_categories_become_the_largest_and_lie_down() -> None:
    rows = [(f"Customer number {number}", number - 100) for number in range(200)]
    data = chart("bar", "c v", *rows)
    assert data.kind == "barh"
    assert len(data.x) == 30
    assert data.x[0] == "Customer number 0"
    assert data.notes == ("the 30 largest of 200; 170 others not shown",)
    assert chart("bar", "c v", ("North", 1), ("South", 2)).kind == "bar"


def test_small_slices_of_a_pie_are_one_other() -> None:
    rows = [("big", 60), ("mid", 30), *((f"tiny {number}", 1) for number in range(10))]
    data = chart("pie", "c v", *rows)
    assert data.x == ("big", "mid", "Other (10)")
    assert values(data) == [(60.0, 30.0, 10.0)]
    assert chart("pie", "c v", ("big", 99), ("tiny", 1)).x == ("big", "tiny")


def test_large_numbers_on_the_axis_stay_apart() -> None:
    rows = [(1_234_567, 4), (1_234_568, 9)]
    assert chart("pie", "c v", *rows).x == ("1234568", "1234567")
    shape = make_chart_shape(chart("bar", "c v", *rows), "t", "", "", "")
    assert shape.categories == ("1234567", "1234568")


def test_more_series_than_colours_are_cut_to_the_largest() -> None:
    rows = [(f"x{x}", f"s{number}", number) for x in range(2) for number in range(12)]
    data = chart("bar", "x s v", *rows)
    assert [series.name for series in data.series] == [f"s{number}" for number in range(4, 12)]
    assert data.notes == ("the 8 largest of 12 series",)


@pytest.mark.parametrize(
    ("value", "largest", "text"),
    [
        (12000, 50000, "12,000"),
        (1_200_000, 3_000_000, "1.2M"),
        (-1_200_000, 3_000_000, "\N{MINUS SIGN}1.2M"),
        (0, 3_000_000, "0"),
        (2.5e9, 3e9, "2.5B"),
        (-0.25, 1, "\N{MINUS SIGN}0.25"),
        (0.00002, 0.00005, "2e-05"),
        (2e300, 4e300, "2e+300"),
    ],
)
def test_ticks_read_well(value: float, largest: float, text: str) -> None:
    assert chart_labels.format_tick(value, largest) == text


@pytest.mark.parametrize(
    ("value", "largest", "unit", "text"),
    [
        (1234.5, 9999, "EUR", "1,234"),
        (12.34, 50, "%", "12.3%"),
        (42, 50, "", "42"),
        (-0.126, 1, "", "\N{MINUS SIGN}0.13"),
        (0.0034, 0.05, "", "0.0034"),
        (12.345, 10_000_000, "", "12.3"),
        (500_000, 10_000_000, "", "0.5M"),
        (0, 10_000_000, "", "0"),
    ],
)
def test_labels_read_well(value: float, largest: float, unit: str, text: str) -> None:
    assert chart_labels.format_label(value, largest, unit) == text


@pytest.mark.parametrize(("part", "text"), [(0, "0%"), (1, "<1%"), (333, "33%"), (999, ">99%"), (1000, "100%")])
def test_a_part_is_nothing_or_all_only_where_it_is(part: float, text: str) -> None:
    assert chart_labels.format_share(part, 1000) == text


def test_a_series_that_a_larger_one_leaves_flat_is_told() -> None:
    data = chart("line", "x v w", (1, 1e6, 5), (2, 2e6, 6), y="v w")
    assert data.notes == ("too small to be seen on this scale: w",)
    assert not chart("line", "x v w", (1, 1e6, 5e4), (2, 2e6, 0), y="v w").notes


def test_dates_say_their_year_once() -> None:
    dates = [dt.datetime.combine(day, dt.time()) for day in (dt.date(2025, 12, 1), JAN, FEB)]
    assert chart_labels.label_dates(dates) == ["Dec\n2025", "Jan\n2026", "Feb"]
    assert chart_labels.label_dates([dates[0], dates[0].replace(day=5)]) == ["1 Dec\n2025", "5 Dec"]
    assert chart_labels.label_dates([dates[1], dates[1].replace(year=2027)]) == ["2026", "2027"]
    assert chart_labels.label_dates(dates[1:2]) == ["Jan\n2026"]


def test_text_that_no_font_has_goes_or_is_told() -> None:
    def latin(letter: str) -> bool:
        return ord(letter) < 0x2000

    assert chart_labels.drop_unprintable("Launch \N{ROCKET} day\x00\n!", latin) == ("Launch day !", False)
    assert chart_labels.drop_unprintable("Tokyo \u6771\u4eac", latin) == ("Tokyo \u6771\u4eac", True)


def texts(data: ChartData) -> list[tuple[str, Bbox]]:
    """What is written in the plot, and where."""
    with rc_context(STYLE):
        figure = Figure(figsize=(8, 4.5), dpi=100, layout="constrained")
        canvas = FigureCanvasAgg(figure)
        axes = figure.add_subplot()
        draw_data(axes, data, "")
        canvas.draw()
        written = [*axes.texts, *axes.get_xticklabels(), *axes.get_yticklabels()]
        if not axes.axison:
            written = list(axes.texts)
        return [(text.get_text(), text.get_window_extent()) for text in written if text.get_text()]


def rows(names: list[str], *values: list[float]) -> list[tuple[Any, ...]]:
    return list(zip(names, *values, strict=True))


LONG = [f"Customer with a rather long name number {number}" for number in range(15)]
CASES: dict[str, tuple[ChartKind, list[tuple[Any, ...]]]] = {
    "thin slices": ("pie", rows(list("abcdefg"), [960, 25, 24, 22, 21, 3, 2])),
    "thin slices on top": ("pie", rows(["Rent", "Pay", "Ads", "Trips", "IT", "Other"], [30, 50, 10, 5, 8, 3])),
    "seven and the rest": ("pie", rows([f"Segment {number}" for number in range(20)], [10] * 20)),
    "eight long words": ("bar", rows([f"Communication{letter}" for letter in "abcdefgh"], list(range(8)))),
    "seven of two words": ("bar", rows([f"{letter} Western Europe" for letter in "abcdefg"], list(range(7)))),
    "twelve bars": ("bar", rows([f"Month{number}" for number in range(12)], [1234567.0 * n for n in range(12)])),
    "a line of weeks": ("line", rows([f"Week number {number}" for number in range(40)], list(range(40)))),
    "long names": ("barh", rows(LONG, list(range(15)))),
}


@pytest.mark.parametrize(("kind", "chart_rows"), CASES.values(), ids=CASES)
def test_no_two_texts_stand_on_each_other(kind: ChartKind, chart_rows: list[tuple[Any, ...]]) -> None:
    data = make_chart_data(kind, ["n", "v"], chart_rows, "n", ["v"])
    there = texts(data)
    for (one, box), (other, place) in combinations(there, 2):
        across = min(box.x1, place.x1) - max(box.x0, place.x0)
        down = min(box.y1, place.y1) - max(box.y0, place.y0)
        assert across <= 1 or down <= 1, f"{one!r} stands on {other!r}"


def test_names_that_differ_at_their_end_are_told_apart() -> None:
    data = make_chart_data("barh", ["n", "v"], rows(LONG, list(range(15))), "n", ["v"])
    names = [text for text, _ in texts(data) if text.startswith("Customer")]
    assert len(set(names)) == 15


def test_no_bar_of_words_is_without_its_name() -> None:
    names = [f"Communication{letter}"[-11:] for letter in "abcdefgh"]
    shown = [text for text, _ in texts(make_chart_data("bar", ["n", "v"], rows(names, list(range(8))), "n", ["v"]))]
    assert set(names) <= {text.replace("\n", "") for text in shown}


def test_what_is_counted_has_no_halves() -> None:
    shown = {text for text, _ in texts(make_chart_data("bar", ["n", "v"], rows(["a", "b"], [1, 2]), "n", ["v"]))}
    assert "1.5" not in shown
    assert {"1", "2"} <= shown
