"""Numbers with their units, months and quarters, and dates written in several ways, as people type them."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest

from specialists.tools.tables.cells import format_cell
from specialists.tools.tables.sheet import Sheet
from tests.toolkits_data.test_table_reading import column, loaded

MARCH = dt.date(2026, 3, 1)


@pytest.mark.parametrize(
    ("cells", "values", "fact"),
    [
        (("-$1,200.00", "$3.50", "$0.25"), [-1200.0, 3.5, 0.25], "x: $ removed"),
        (("($1,200.00)", "$3.50"), [-1200.0, 3.5], "x: $ removed"),
        (("$(1,200.00)", "$3.50"), [-1200.0, 3.5], "x: $ removed"),
        (("$-1,200.00", "$3.50"), [-1200.0, 3.5], "x: $ removed"),
        (("- $ 5", "$ 7"), [-5, 7], "x: $ removed"),
        ((" $ 1,200.00 ", " $ (15.25)"), [1200.0, -15.25], "x: $ removed"),
        (("1.200,00 €", "-3,50 €"), [1200.0, -3.5], "x: € removed"),
        (("€ -1.200,00", "€ 3,50"), [-1200.0, 3.5], "x: € removed"),
        (("(1.200,00 €)", "3,50 €"), [-1200.0, 3.5], "x: € removed"),
        (("\N{MINUS SIGN}1.200,00\u00a0€", "3,50\u00a0€"), [-1200.0, 3.5], "x: € removed"),
        (("1 200,50 €-", "3,50 €"), [-1200.5, 3.5], "x: € removed"),
        (("1'200.50 CHF", "CHF 3.50"), [1200.5, 3.5], "x: CHF removed"),
        (("US$1,200", "US$15"), [1200.0, 15.0], "x: US$ removed"),
        (("12 %", "-3 %"), [12, -3], "x: % removed"),
        (("12,5 %", "3 %"), [12.5, 3.0], "x: % removed"),
        (("12 kg", "3.5 kg"), [12.0, 3.5], "x: kg removed"),
        (("$5", "6", "7"), [5, 6, 7], "x: $ removed"),
    ],
)
def test_numbers_lose_their_unit_and_it_is_told(
    tmp_path: Path, cells: tuple[str, ...], values: list[float], fact: str
) -> None:
    kind, rows, table = column(tmp_path, *cells)
    assert kind in {"DOUBLE", "BIGINT"}
    assert rows == values
    assert fact in table.facts
    assert not table.faults


def test_numbers_in_several_units_stay_text_and_are_told(tmp_path: Path) -> None:
    kind, rows, table = column(tmp_path, "$5", "€6", "$7")
    assert (kind, rows) == ("VARCHAR", ["$5", "€6", "$7"])
    assert table.faults == ["column x: numbers in different units ($, €), so it was kept as text"]


def test_shares_without_their_sign_are_told(tmp_path: Path) -> None:
    kind, rows, table = column(tmp_path, "12 %", "30 %", "0.4")
    assert (kind, rows) == ("DOUBLE", [12.0, 30.0, 0.4])
    assert table.faults == ["column x: 1 value without the % of the others, read as they are"]


@pytest.mark.parametrize(
    "cell",
    [
        *("Mar 2026", "March 2026", "mar. 2026", "MAR 2026", "Mar-2026", "März 2026", "Mär 2026", "Mrz 2026"),
        *("mars 2026", "marzo 2026", "marzo de 2026", "maart 2026", "março 2026", "2026 März", "2026-Mar"),
        *("Mar-26", "Mar '26", "2026-03", "2026/03", "03/2026"),
    ],
)
def test_a_month_is_a_date(tmp_path: Path, cell: str) -> None:
    kind, rows, table = column(tmp_path, cell, cell)
    assert (kind, rows) == ("DATE", [MARCH, MARCH])
    assert table.facts == ["x: months, each as its first day"]
    assert not table.faults


@pytest.mark.parametrize("cell", ["2026-Q2", "2026 Q2", "2026Q2", "Q2 2026", "q2/2026", "2. Quartal 2026", "T2 2026"])
def test_a_quarter_is_a_date(tmp_path: Path, cell: str) -> None:
    kind, rows, table = column(tmp_path, cell)
    assert (kind, rows) == ("DATE", [dt.date(2026, 4, 1)])
    assert table.facts == ["x: quarters, each as its first day"]


def test_every_month_of_every_language_is_its_own(tmp_path: Path) -> None:
    years = {
        "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
        "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
        "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
        "it": "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
        "nl": "januari februari maart april mei juni juli augustus september oktober november december",
        "pt": "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
    }
    for names in years.values():
        _, rows, _ = column(tmp_path, *(f"{name} 2026" for name in names.split()))
        assert rows == [dt.date(2026, month, 1) for month in range(1, 13)]


@pytest.mark.parametrize("cells", [("2024-25", "2025-26"), ("2009-10", "2010-11"), ("2024-13", "2024-77")])
def test_what_only_looks_like_a_month_stays_text(tmp_path: Path, cells: tuple[str, ...]) -> None:
    assert column(tmp_path, *cells)[:2] == ("VARCHAR", list(cells))


def test_dates_in_several_ways_are_dates(tmp_path: Path) -> None:
    kind, rows, table = column(tmp_path, "2026-03-01", "02.03.2026", "Mar 3, 2026", "4. März 2026", "2026/3/5")
    assert (kind, rows) == ("DATE", [dt.date(2026, 3, day) for day in range(1, 6)])
    assert (table.facts, table.faults) == (["x: dates written in several ways"], [])


def test_the_order_of_day_and_month_is_what_the_column_shows(tmp_path: Path) -> None:
    kind, rows, table = column(tmp_path, "2026-03-01", "2/3/2026", "13/3/2026")
    assert (kind, rows) == ("DATE", [dt.date(2026, 3, 1), dt.date(2026, 3, 2), dt.date(2026, 3, 13)])
    assert table.facts == ["x: dates written in several ways, with the day first between slashes or dashes"]
    kind, rows, _ = column(tmp_path, "2026-03-01", "3/2/2026", "3/13/2026")
    assert (kind, rows) == ("DATE", [dt.date(2026, 3, 1), dt.date(2026, 3, 2), dt.date(2026, 3, 13)])


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        (("2026-03-01", "2/3/2026", "4/3/2026"), "day and month cannot be told apart ('2/3/2026')"),
        (("13/3/2026", "3/13/2026", "2026-01-01"), "not dates like the rest"),
        (("2026-03-01", "02.03.2026", "soon"), "1 value not dates like the rest ('soon')"),
    ],
)
def test_dates_that_cannot_be_read_for_certain_stay_text_and_are_told(
    tmp_path: Path, cells: tuple[str, ...], said: str
) -> None:
    kind, rows, table = column(tmp_path, *cells)
    assert (kind, rows) == ("VARCHAR", list(cells))
    assert said in table.faults[0]
    assert "kept as text" in table.faults[0]


def test_another_column_shows_the_order_of_day_and_month(tmp_path: Path) -> None:
    sheet = Sheet(names=["ordered", "shipped"], rows=[["3/4/2026", "13/4/2026"], ["5/4/2026", "6/4/2026"]])
    types, rows, table = loaded(tmp_path, sheet)
    assert types == {"ordered": "DATE", "shipped": "DATE"}
    assert rows[0] == (dt.date(2026, 4, 3), dt.date(2026, 4, 13))
    assert "ordered: read as day/month/year" in table.facts


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (8668735.0099999, "8668735.01"),
        (36.08247422680412, "36.0825"),
        (0.036082474226, "0.03608"),
        (1200.5, "1200.5"),
        (-200.25, "-200.25"),
        (3.0, "3"),
        (2999.999999999, "3000"),
        (float("inf"), "inf"),
        (1e-9, "1e-09"),
        (None, "NULL"),
        (7, "7"),
    ],
)
def test_numbers_are_said_rounded(value: float | None, said: str) -> None:
    assert format_cell(value) == said
