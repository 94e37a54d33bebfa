"""Cells as people type them become numbers, dates and words; what cannot be read for certain stays text and is told."""
# ruff: noqa: RUF001 - signs and digits of other scripts look like Latin ones

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specialists.tools.tables.cells import format_cell
from specialists.tools.tables.delimited import read_delimited_sheets
from specialists.tools.tables.duckdb_database import LoadedTable, load_sheet, open_duckdb
from specialists.tools.tables.number_format import to_ascii_digits
from specialists.tools.tables.sheet import Sheet

MARCH = dt.date(2026, 3, 1)


def load_table(folder: Path, sheet: Sheet) -> tuple[dict[str, str], list[tuple[Any, ...]], LoadedTable]:
    """The column types, the rows, and the table with its notes."""
    with open_duckdb() as connection:
        table = LoadedTable("t", "t.csv")
        load_sheet(connection, table, sheet, folder / "rows.csv")
        types = {name: kind for name, kind, *_ in connection.execute("DESCRIBE t").fetchall()}
        return types, connection.execute("SELECT * FROM t").fetchall(), table


def column(folder: Path, *cells: str) -> tuple[str, list[Any], LoadedTable]:
    """One column of these cells: its type, its values, the notes."""
    types, rows, table = load_table(folder, Sheet(names=["x"], rows=[[cell] for cell in cells]))
    return types["x"], [row[0] for row in rows], table


NUMBERS: list[tuple[tuple[str, ...], str, list[object], str]] = [
    (("1", " 2 ", "", "-3"), "BIGINT", [1, 2, None, -3], ""),
    (("1", "2.5", "1e3", ".5"), "DOUBLE", [1.0, 2.5, 1000.0, 0.5], ""),
    (("1,234", "12,345.5", "7"), "DOUBLE", [1234.0, 12345.5, 7.0], ""),
    (("1,5", "1.234,25", "7"), "DOUBLE", [1.5, 1234.25, 7.0], ""),
    (("true", "FALSE"), "BOOLEAN", [True, False], ""),
    (("1", "n/a", "2", "3"), "BIGINT", [1, None, 2, 3], ""),
    (("", ""), "VARCHAR", [None, None], ""),
    # signs and brackets
    (("(1,200)", "3,400", "(50)"), "DOUBLE", [-1200, 3400, -50], "x: (5) or 5- read as -5"),
    (("5-", "7", "\N{MINUS SIGN}8"), "BIGINT", [-5, 7, -8], "x: (5) or 5- read as -5"),
    (("–5", "3", "\N{FIGURE DASH}4"), "BIGINT", [-5, 3, -4], "x: (5) or 5- read as -5"),
    (("5\u200b", "\u200e6", "\ufeff7"), "BIGINT", [5, 6, 7], "x: invisible characters left out"),
    (("\u200f٥", "\u200f٦"), "BIGINT", [5, 6], "x: invisible characters left out"),
    # units
    (("-$1,200.00", "$3.50", "$0.25"), "DOUBLE", [-1200.0, 3.5, 0.25], "x: $ removed"),
    (("($1,200.00)", "$(3.50)", "$-7.00"), "DOUBLE", [-1200.0, -3.5, -7.0], "x: $ removed"),
    (("- $ 5", "$ 7"), "BIGINT", [-5, 7], "x: $ removed"),
    (("$5", "6", "7"), "BIGINT", [5, 6, 7], "x: $ removed"),
    (("1.200,00 €", "€ -3,50", "(2,00 €)"), "DOUBLE", [1200.0, -3.5, -2.0], "x: € removed"),
    (("\N{MINUS SIGN}1.200,00\u00a0€", "3,50\u00a0€"), "DOUBLE", [-1200.0, 3.5], "x: € removed"),
    (("1 200,50 €-", "3,50 €"), "DOUBLE", [-1200.5, 3.5], "x: € removed"),
    (("1'200.50 CHF", "CHF 3.50"), "DOUBLE", [1200.5, 3.5], "x: CHF removed"),
    (("US$1,200", "US$15"), "DOUBLE", [1200.0, 15.0], "x: US$ removed"),
    (("12,5 %", "-3 %"), "DOUBLE", [12.5, -3.0], "x: % removed"),
    (("12 kg", "3.5 kg"), "DOUBLE", [12.0, 3.5], "x: kg removed"),
    # thousands, and digits of other scripts
    (("1 234,50 €", "12 345,60 €"), "DOUBLE", [1234.5, 12345.6], "x: gaps between thousands"),
    (("1\u202f234", "-12\u00a0345\u00a0678"), "BIGINT", [1234, -12345678], "x: gaps between thousands"),
    (("1'234.50", "1\u2019000\u2019000.75"), "DOUBLE", [1234.5, 1000000.75], "x: gaps between thousands"),
    (("₹1,25,000.50", "₹-5,000", "(₹2,00,000)"), "DOUBLE", [125000.5, -5000, -200000], "x: ₹ removed"),
    (("１，２００．５", "３，４００"), "DOUBLE", [1200.5, 3400], ""),
    (("٣٫٥", "٤٫٢٥"), "DOUBLE", [3.5, 4.25], ""),
    (("१२", "३४५"), "BIGINT", [12, 345], ""),
    (("￥1,200", "￥3,400"), "DOUBLE", [1200, 3400], ""),
]


@pytest.mark.parametrize(("cells", "kind", "values", "fact"), NUMBERS)
def test_numbers_are_read_and_what_came_off_is_told(
    tmp_path: Path, cells: tuple[str, ...], kind: str, values: list[object], fact: str
) -> None:
    got, rows, table = column(tmp_path, *cells)
    assert (got, rows, table.faults) == (kind, values, [])
    assert fact in table.facts or not fact


@given(st.integers(-(10**12), 10**12), st.sampled_from(["０", "٠", "۰", "०", "০", "௦"]))
def test_digits_of_every_script_are_digits(number: int, zero: str) -> None:
    written = "".join(chr(ord(zero) + int(digit)) if digit.isdigit() else digit for digit in str(number))
    assert to_ascii_digits(written) == str(number)


@pytest.mark.parametrize(
    "cells",
    [
        *(("a", "b"), ("a (1)", "b (2)"), ("3 Main Street", "5 Main Street"), ("Room 12", "Room 13"), ("12a", "13b")),
        *(("007", "010", "123"), ("+49 30 123", "+49 89 22"), ("030 123", "12 345"), ("5–7", "8–9")),
        *(("1.2.3", "1.2.4"), ("A-1", "B-2"), ("7:30", "8:15"), ("12345678901234567890", "12")),
        *(("2024-25", "2025-26"), ("2009-10", "2010-11"), ("2024-13", "2024-77")),
    ],
)
def test_words_and_codes_are_words_and_nothing_is_said_of_them(tmp_path: Path, cells: tuple[str, ...]) -> None:
    kind, rows, table = column(tmp_path, *cells)
    assert (kind, rows, table.faults) == ("VARCHAR", list(cells), [])


@pytest.mark.parametrize(
    ("cells", "fault_words"),
    [
        (("$5", "€6", "$7"), "numbers in different units ($, €), so it was kept as text"),
        (("½", "1½"), "looks like numbers ('½') in a form that is not read, so it was kept as text"),
        (("1万", "3万"), "looks like numbers ('1万')"),
        (("三千", "五"), "looks like numbers ('三千')"),
        (("1.2 Mio", "3 Mio", "12,5 Mio"), "looks like numbers ('1.2 Mio')"),
        (("3k", "5k", "10k"), "looks like numbers ('3k')"),
        (("1_000", "2_000"), "looks like numbers ('1_000')"),
        (("2 marca 2026", "3 kwietnia 2026"), "looks like dates ('2 marca 2026')"),
        (("1 марта 2026 г.", "2 апреля 2026 г."), "looks like dates ('1 марта 2026 г.')"),
        (("1er mars 2026", "1er avril 2026"), "looks like dates ('1er mars 2026')"),
        (("Mon 5/3/2024", "Tue 6/3/2024"), "looks like dates ('Mon 5/3/2024')"),
        (("3/4/2026", "5/6/2026"), "day and month cannot be told apart ('3/4/2026'), so it was kept as text; ask"),
        (("2026-03-01", "2/3/2026", "4/3/2026"), "day and month cannot be told apart ('2/3/2026')"),
        (("3/1/26", "4/2/26"), "day and month cannot be told apart"),
        (("3-1-2026", "4-2-2026"), "day and month cannot be told apart"),
        (("13/3/2026", "3/13/2026", "2026-01-01"), "1 value not dates like the rest ('13/3/2026')"),
        (("2026-01-01", "2026-02-30", "2026-03-01", "soon"), "2 values not dates like the rest ('2026-02-30', 'soon')"),
    ],
)
def test_what_cannot_be_read_for_certain_stays_text_and_is_told(
    tmp_path: Path, cells: tuple[str, ...], fault_words: str
) -> None:
    kind, rows, table = column(tmp_path, *cells)
    assert (kind, rows) == ("VARCHAR", list(cells))
    (fault,) = table.faults
    assert fault.startswith(f"column x: {fault_words}")
    assert "kept as text" in fault


def test_an_exception_far_behind_the_sample_is_found(tmp_path: Path) -> None:
    kind, _, table = column(tmp_path, *map(str, range(30_000)), "ca. 12", "7")
    assert kind == "VARCHAR"
    assert "1 value not whole numbers like the rest ('ca. 12')" in table.faults[0]


def test_shares_without_their_sign_are_told(tmp_path: Path) -> None:
    kind, rows, table = column(tmp_path, "12 %", "30 %", "0.4")
    assert (kind, rows) == ("DOUBLE", [12.0, 30.0, 0.4])
    assert table.faults == ["column x: 1 value without the % of the others, read as they are"]


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("a;b\n1.500;x\n2.250;y\n", ["column a: '1.500' may be 1.500 or 1500; read as 1.500"]),
        ("a;b\n1,500;x\n2,250;y\n", ["column a: '1,500' may be 1.500 or 1500; read as 1500"]),
        ("a;b\n1.5;x\n2.250;y\n", []),
        ("a;b\n1.500;3,25\n2.250;4,75\n", []),  # the other column says what a comma is here
        ('a,b\n"1,500",x\n"2,250",y\n', []),
    ],
)
def test_a_number_that_may_be_a_thousand_times_as_much_is_told(tmp_path: Path, text: str, faults: list[str]) -> None:
    (sheet,) = read_delimited_sheets(text.encode(), ".csv")
    assert load_table(tmp_path, sheet)[2].faults == faults


def test_decimal_commas_say_what_a_dot_is_and_whole_numbers_stay_whole(tmp_path: Path) -> None:
    text = b"item;price;units;id\na;1,50;1.200;100000000000000001\nb;2,25;3.450;100000000000000003\n"
    types, rows, table = load_table(tmp_path, read_delimited_sheets(text, ".csv")[0])
    assert types == {"item": "VARCHAR", "price": "DOUBLE", "units": "DOUBLE", "id": "BIGINT"}
    assert rows == [("a", 1.5, 1200.0, 100000000000000001), ("b", 2.25, 3450.0, 100000000000000003)]
    assert table.facts == ["semicolon-separated, UTF-8", "price: decimal commas", "units: decimal commas"]


SEVERAL = "x: dates written in several ways"
DATES: list[tuple[tuple[str, ...], str, list[str], list[str]]] = [
    (("2026-03-01", "2026/3/2"), "DATE", ["2026-03-01", "2026-03-02"], []),
    (("31.12.2026", "1.3.2026"), "DATE", ["2026-12-31", "2026-03-01"], []),
    (("13/2/2026", "1/3/2026"), "DATE", ["2026-02-13", "2026-03-01"], []),
    (("2/13/2026", "3/1/2026"), "DATE", ["2026-02-13", "2026-03-01"], []),
    (("01-13-2026", "02-14-2026"), "DATE", ["2026-01-13", "2026-02-14"], []),
    (("13/01/26", "14/02/26"), "DATE", ["2026-01-13", "2026-02-14"], []),
    (("Mar 1, 2026", "Apr 2, 2026"), "DATE", ["2026-03-01", "2026-04-02"], []),
    (("March 1, 2026", "May 2, 2026"), "DATE", ["2026-03-01", "2026-05-02"], []),
    (("03 January 2026", "14 May 2026"), "DATE", ["2026-01-03", "2026-05-14"], []),
    (("3-Jan-2026", "14-Feb-2026"), "DATE", ["2026-01-03", "2026-02-14"], []),
    (("3-Jan-26", "14-Feb-26"), "DATE", ["2026-01-03", "2026-02-14"], []),
    (("2024年1月5日", "2024年12月31日"), "DATE", ["2024-01-05", "2024-12-31"], []),
    (("2024. 01. 05.", "2024. 12. 31."), "DATE", ["2024-01-05", "2024-12-31"], []),
    (("２０２４/０１/０５", "２０２４/１２/３１"), "DATE", ["2024-01-05", "2024-12-31"], []),
    (("2026-03-01", "02.03.2026", "Mar 3, 2026"), "DATE", ["2026-03-01", "2026-03-02", "2026-03-03"], [SEVERAL]),
    (("2026-03-01", "4. März 2026", "2026/3/5"), "DATE", ["2026-03-01", "2026-03-04", "2026-03-05"], [SEVERAL]),
    (
        ("2026-03-01", "2/3/2026", "13/3/2026"),
        "DATE",
        ["2026-03-01", "2026-03-02", "2026-03-13"],
        [f"{SEVERAL}, with the day first between slashes or dashes"],
    ),
    (("2026-03-01 10:15", "2026-03-02T10:15:30"), "TIMESTAMP", ["2026-03-01 10:15:00", "2026-03-02 10:15:30"], []),
    (("2026-03-01", "2026-03-02 10:15:00"), "TIMESTAMP", ["2026-03-01 00:00:00", "2026-03-02 10:15:00"], []),
    (("2026-03-01T10:00:00+02:00", "2026-03-01T10:00:00Z"), "TIMESTAMP", ["2026-03-01 08:00:00"], []),
    (("31.12.2026 23:59", "1.1.2026 00:00"), "TIMESTAMP", ["2026-12-31 23:59:00", "2026-01-01 00:00:00"], []),
    (("3/1/2026 2:05 PM", "2/14/2026 12:05 AM"), "TIMESTAMP", ["2026-03-01 14:05:00", "2026-02-14 00:05:00"], []),
]


@pytest.mark.parametrize(("cells", "kind", "values", "facts"), DATES)
def test_dates_are_read_in_the_order_that_their_column_shows(
    tmp_path: Path, cells: tuple[str, ...], kind: str, values: list[str], facts: list[str]
) -> None:
    got, rows, table = column(tmp_path, *cells)
    assert (got, [str(value) for value in rows][: len(values)], table.faults) == (kind, values, [])
    assert not facts or table.facts == facts


def test_another_column_shows_the_order_of_day_and_month(tmp_path: Path) -> None:
    sheet = Sheet(names=["ordered", "shipped"], rows=[["3/4/2026", "13/4/2026"], ["5/4/2026", "6/4/2026"]])
    types, rows, table = load_table(tmp_path, sheet)
    assert types == {"ordered": "DATE", "shipped": "DATE"}
    assert rows[0] == (dt.date(2026, 4, 3), dt.date(2026, 4, 13))
    assert "ordered: read as day/month/year" in table.facts


@pytest.mark.parametrize(
    ("unit", "first", "cells"),
    [
        *[("months", MARCH, one) for one in ("Mar 2026", "mar. 2026", "MAR 2026", "Mar-2026", "Mrz 2026", "2026 März")],
        *[("months", MARCH, one) for one in ("marzo de 2026", "2026-Mar", "Mar-26", "Mar '26", "2026-03", "03/2026")],
        *[("quarters", dt.date(2026, 4, 1), one) for one in ("2026-Q2", "2026Q2", "Q2 2026", "q2/2026", "T2 2026")],
        ("quarters", dt.date(2026, 4, 1), "2. Quartal 2026"),
    ],
)
def test_a_month_and_a_quarter_are_dates(tmp_path: Path, unit: str, first: dt.date, cells: str) -> None:
    kind, rows, table = column(tmp_path, cells, cells)
    assert (kind, rows) == ("DATE", [first, first])
    assert (table.facts, table.faults) == ([f"x: {unit}, each as its first day"], [])


@pytest.mark.parametrize(
    "names",
    [
        "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
        "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
        "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
        "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
        "januari februari maart april mei juni juli augustus september oktober november december",
        "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
    ],
)
def test_every_month_of_every_language_is_its_own(tmp_path: Path, names: str) -> None:
    _, rows, _ = column(tmp_path, *(f"{name} 2026" for name in names.split()))
    assert rows == [dt.date(2026, month, 1) for month in range(1, 13)]


@pytest.mark.parametrize(
    ("value", "cell_text"),
    [
        *[(8668735.0099999, "8668735.01"), (36.08247422680412, "36.0825"), (0.036082474226, "0.03608")],
        *[(1200.5, "1200.5"), (-200.25, "-200.25"), (3.0, "3"), (2999.999999999, "3000"), (1e-9, "1e-09")],
        *[(float("inf"), "inf"), (None, "NULL"), (7, "7")],
    ],
)
def test_numbers_are_said_rounded(value: float | None, cell_text: str) -> None:
    assert format_cell(value) == cell_text
