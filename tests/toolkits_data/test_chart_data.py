"""Which rows a chart shows, in which order, and what it says of the rest."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import Any

import pytest

from specialists.tools.charts import wording
from specialists.tools.charts.chart_data import ChartData, Kind, NoChart, chart_data

JAN, FEB, MAR = (dt.date(2026, month, 1) for month in (1, 2, 3))


def chart(kind: Kind, columns: str, *rows: tuple[Any, ...], y: str = "v") -> ChartData:
    names = columns.split()
    return chart_data(kind, names, rows, names[0], y.split())


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
    ("kind", "columns", "rows", "y", "said"),
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
def test_what_cannot_be_drawn_says_why(kind: Kind, columns: str, rows: list[Any], y: str, said: str) -> None:
    with pytest.raises(NoChart, match=said):
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
    assert wording.format_tick(value, largest) == text


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
    assert wording.format_label(value, largest, unit) == text


@pytest.mark.parametrize(("part", "text"), [(0, "0%"), (1, "<1%"), (333, "33%"), (999, ">99%"), (1000, "100%")])
def test_a_part_is_nothing_or_all_only_where_it_is(part: float, text: str) -> None:
    assert wording.share(part, 1000) == text


def test_a_series_that_a_larger_one_leaves_flat_is_told() -> None:
    data = chart("line", "x v w", (1, 1e6, 5), (2, 2e6, 6), y="v w")
    assert data.notes == ("too small to be seen on this scale: w",)
    assert not chart("line", "x v w", (1, 1e6, 5e4), (2, 2e6, 0), y="v w").notes


def test_dates_say_their_year_once() -> None:
    dates = [dt.datetime.combine(day, dt.time()) for day in (dt.date(2025, 12, 1), JAN, FEB)]
    assert wording.date_labels(dates) == ["Dec\n2025", "Jan\n2026", "Feb"]
    assert wording.date_labels([dates[0], dates[0].replace(day=5)]) == ["1 Dec\n2025", "5 Dec"]
    assert wording.date_labels([dates[1], dates[1].replace(year=2027)]) == ["2026", "2027"]
    assert wording.date_labels(dates[1:2]) == ["Jan\n2026"]


def test_text_that_no_font_has_goes_or_is_told() -> None:
    def latin(letter: str) -> bool:
        return ord(letter) < 0x2000

    assert wording.drop_unprintable("Launch \N{ROCKET} day\x00\n!", latin) == ("Launch day !", False)
    assert wording.drop_unprintable("Tokyo \u6771\u4eac", latin) == ("Tokyo \u6771\u4eac", True)
