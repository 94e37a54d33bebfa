"""How text becomes typed columns, and what is said when it looks wrong. In this process, for speed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from specialists.tools.tables.database import LoadedTable, open_duckdb
from specialists.tools.tables.decoding import text_of
from specialists.tools.tables.delimited import delimited_sheets
from specialists.tools.tables.jsonrows import json_sheets
from specialists.tools.tables.refused import TableRefused
from specialists.tools.tables.sheet import Sheet
from specialists.tools.tables.sheet_loading import load_sheet


def loaded(folder: Path, sheet: Sheet) -> tuple[dict[str, str], list[tuple[Any, ...]], LoadedTable]:
    """The column types, the rows, and the table with its notes."""
    with open_duckdb() as connection:
        table = LoadedTable("t", "t.csv")
        load_sheet(connection, table, sheet, folder / "rows.csv")
        types = {name: kind for name, kind, *_ in connection.execute("DESCRIBE t").fetchall()}
        return types, connection.execute("SELECT * FROM t").fetchall(), table


def column(folder: Path, *cells: str) -> tuple[str, list[Any], LoadedTable]:
    """One column of these cells: its type, its values, the notes."""
    types, rows, table = loaded(folder, Sheet(names=["x"], rows=[[cell] for cell in cells]))
    return types["x"], [row[0] for row in rows], table


@pytest.mark.parametrize(
    ("cells", "kind", "values"),
    [
        (("1", " 2 ", "", "-3"), "BIGINT", [1, 2, None, -3]),
        (("1", "2.5", "1e3", ".5"), "DOUBLE", [1.0, 2.5, 1000.0, 0.5]),
        (("007", "010", "123"), "VARCHAR", ["007", "010", "123"]),
        (("12345678901234567890", "1"), "DOUBLE", None),
        (("1,234", "12,345.5", "7"), "DOUBLE", [1234.0, 12345.5, 7.0]),
        (("1,5", "1.234,25", "7"), "DOUBLE", [1.5, 1234.25, 7.0]),
        (("€ 1.234,50", "2,00 €", "3,10 €"), "DOUBLE", [1234.5, 2.0, 3.1]),
        (("$1,200", "$15"), "DOUBLE", [1200.0, 15.0]),
        (("12.5%", "3%"), "DOUBLE", [12.5, 3.0]),
        (("$5", "€5", "$6"), "VARCHAR", ["$5", "€5", "$6"]),
        (("true", "FALSE"), "BOOLEAN", [True, False]),
        (("1", "n/a", "2", "3"), "BIGINT", [1, None, 2, 3]),
        (("a", "b"), "VARCHAR", ["a", "b"]),
        (("", ""), "VARCHAR", [None, None]),
    ],
)
def test_numbers_and_words(tmp_path: Path, cells: tuple[str, ...], kind: str, values: list[Any] | None) -> None:
    got, rows, _ = column(tmp_path, *cells)
    if values is None:
        assert got != "BIGINT"
        assert len(rows) == len(cells)
    else:
        assert (got, rows) == (kind, values)


@pytest.mark.parametrize(
    ("cells", "kind", "first"),
    [
        (("2026-03-01", "2026-12-31"), "DATE", "2026-03-01"),
        (("31.12.2026", "1.3.2026"), "DATE", "2026-12-31"),
        (("13/2/2026", "1/3/2026"), "DATE", "2026-02-13"),
        (("2/13/2026", "3/1/2026"), "DATE", "2026-02-13"),
        (("2026/03/01", "2026/3/2"), "DATE", "2026-03-01"),
        (("Mar 1, 2026", "Apr 2, 2026"), "DATE", "2026-03-01"),
        (("2026-03-01 10:15", "2026-03-01T10:15:30.5"), "TIMESTAMP", "2026-03-01 10:15:00"),
        (("2026-03-01", "2026-03-02 10:15:00"), "TIMESTAMP", "2026-03-01 00:00:00"),
        (("2026-03-01T10:00:00+02:00", "2026-03-01T10:00:00Z"), "TIMESTAMP", "2026-03-01 08:00:00"),
        (("31.12.2026 23:59", "1.1.2026 00:00"), "TIMESTAMP", "2026-12-31 23:59:00"),
        (("2026-01", "2026-02"), "DATE", "2026-01-01"),
    ],
)
def test_dates(tmp_path: Path, cells: tuple[str, ...], kind: str, first: str) -> None:
    got, rows, table = column(tmp_path, *cells)
    assert (got, str(rows[0])) == (kind, first)
    assert table.faults == []


def test_a_date_that_may_be_read_two_ways_stays_text_and_is_told(tmp_path: Path) -> None:
    kind, rows, table = column(tmp_path, "3/4/2026", "5/6/2026")
    assert (kind, str(rows[0])) == ("VARCHAR", "3/4/2026")
    (fault,) = table.faults
    assert fault.startswith("column x: day and month cannot be told apart ('3/4/2026'), so it was kept as text; ask")


def test_a_column_with_exceptions_stays_text_and_names_them(tmp_path: Path) -> None:
    kind, rows, table = column(tmp_path, "2026-01-01", "2026-02-30", "2026-03-01", "soon")
    assert kind == "VARCHAR"
    assert rows == ["2026-01-01", "2026-02-30", "2026-03-01", "soon"]
    assert table.faults == ["column x: 2 values not dates like the rest ('2026-02-30', 'soon'), so it was kept as text"]


def test_an_exception_far_behind_the_sample_is_found(tmp_path: Path) -> None:
    cells = [str(number) for number in range(30_001)]
    cells[29_999] = "ca. 12"
    kind, rows, table = column(tmp_path, *cells)
    assert (kind, len(rows)) == ("VARCHAR", 30_001)
    assert "1 value not whole numbers like the rest ('ca. 12')" in table.faults[0]


def test_dots_between_thousands_in_a_file_with_decimal_commas(tmp_path: Path) -> None:
    sheet = delimited_sheets(b"item;price;units\na;1,50;1.200\nb;2,25;3.450\n", ".csv")[0]
    types, rows, table = loaded(tmp_path, sheet)
    assert types == {"item": "VARCHAR", "price": "DOUBLE", "units": "DOUBLE"}
    assert rows == [("a", 1.5, 1200.0), ("b", 2.25, 3450.0)]
    assert table.facts == ["semicolon-separated, UTF-8", "price: decimal commas", "units: decimal commas"]


def test_quotes_commas_and_lines_inside_of_cells_survive(tmp_path: Path) -> None:
    text = 'name,text\n"O\'Neil, ""Bo""","line one\nline two"\nx,"y ; z"\n'
    _, rows, table = loaded(tmp_path, delimited_sheets(text.encode(), ".csv")[0])
    assert rows == [('O\'Neil, "Bo"', "line one\nline two"), ("x", "y ; z")]
    assert table.faults == []


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_separators_and_line_ends(separator: str, end: str) -> None:
    text = end.join(separator.join(cells) for cells in (("a", "b", "c"), ("1", "x y", "3"), ("4", "5", "6"))) + end
    sheet = delimited_sheets(text.encode(), ".csv")[0]
    assert sheet.names == ["a", "b", "c"]
    assert sheet.rows == [["1", "x y", "3"], ["4", "5", "6"]]
    assert sheet.faults == []


def test_a_quotation_mark_left_open_loses_no_rows() -> None:
    text = 'id,text\n1,fine\n2,"never closed\n' + "".join(f"{number},ok\n" for number in range(3, 103))
    sheet = delimited_sheets(text.encode(), ".csv")[0]
    assert len(sheet.rows) == 102
    assert sheet.faults == [
        "a quotation mark is opened and never closed: quotation marks were read as plain characters"
    ]


def test_rows_swallowed_by_a_pair_of_stray_quotation_marks_are_told() -> None:
    text = 'id,text,n\n1,a,1\n2,"b,2\n3,c,3\n4,d",4\n5,e,5\n'
    sheet = delimited_sheets(text.encode(), ".csv")[0]
    assert any("6 lines gave 4 rows" in fault and "from line 3" in fault for fault in sheet.faults)


def test_headers_that_are_missing_doubled_or_repeated() -> None:
    none = delimited_sheets(b"1,2.5,2026-01-01\n2,3.5,2026-01-02\n", ".csv")[0]
    assert none.names == ["column1", "column2", "column3"]
    assert len(none.rows) == 2
    assert none.faults == ["no header row seen: columns are named column1, column2 ..."]
    years = delimited_sheets(b"region,2024,2025\nNorth,1,2\n", ".csv")[0]
    assert (years.names, years.faults) == (["region", "2024", "2025"], [])
    doubled = delimited_sheets(b"a,A,,b\n1,2,3,4\n", ".csv")[0]
    assert doubled.names == ["a", "A_2", "column3", "b"]
    assert len(doubled.faults) == 2
    again = delimited_sheets(b"a,b\n1,2\na,b\n3,4\n", ".csv")[0]
    assert again.rows == [["1", "2"], ["3", "4"]]
    assert again.faults == ["the header occurs again (line 3): 1 row left out"]


def test_totals_titles_and_header_only_files_are_noticed() -> None:
    text = "Umsatz 2026\n\nmonat;wert\nJan;1\nFeb;2\nSumme;3\n"
    sheet = delimited_sheets(text.encode(), ".csv")[0]
    assert sheet.names == ["monat", "wert"]
    assert "1 line above the header skipped: Umsatz 2026" in sheet.facts
    assert sheet.rows == [["Jan", "1"], ["Feb", "2"]]
    assert (sheet.apart, sheet.faults) == (["1 total row set apart, not counted: line 6 ('Summe')"], [])
    assert delimited_sheets(b"a,b\n", ".csv")[0].faults == ["header only: there are no rows"]


def test_a_separator_at_each_end_of_line_makes_no_column() -> None:
    sheet = delimited_sheets(b"a,b,\n1,2,\n3,4,\n", ".csv")[0]
    assert (sheet.names, sheet.rows, sheet.faults) == (["a", "b"], [["1", "2"], ["3", "4"]], [])


@pytest.mark.parametrize(
    ("encoding", "told"),
    [("utf-8", "UTF-8"), ("utf-8-sig", "UTF-8"), ("cp1252", "Windows-1252"), ("utf-16", "UTF-16")],
)
def test_encodings(encoding: str, told: str) -> None:
    sheet = delimited_sheets("stadt,€\nKöln,1\nZürich,2\n".encode(encoding), ".csv")[0]
    assert sheet.names == ["stadt", "€"]
    assert [row[0] for row in sheet.rows] == ["Köln", "Zürich"]
    assert sheet.facts[0] == f"comma-separated, {told}"
    assert text_of("stadt,€".encode("utf-16-le")).text == "stadt,€"


def test_too_many_columns_are_cut_and_told() -> None:
    text = ",".join(f"c{number}" for number in range(700)) + "\n" + ",".join("1" * 700) + "\n"
    sheet = delimited_sheets(text.encode(), ".csv")[0]
    assert (len(sheet.names), len(sheet.rows[0])) == (500, 500)
    assert sheet.faults == ["700 columns: only the first 500 were read"]


def test_json_rows_of_different_shape() -> None:
    sheet = json_sheets(b'[{"a": 1, "b": {"c": 2}}, {"A": "x", "a": null}, 5]')[0]
    assert sheet.names == ["a", "b.c", "A_2"]
    assert sheet.rows == [["1", "2", ""], ["", "", "x"]]
    assert sheet.faults == ["1 of 3 entries are no objects and were left out"]
    alike = json_sheets(b'[{"a.b": 1, "a": {"b": 2}}, {"a": {"b": 3}, "a.b": 4}]')[0]
    assert (alike.names, alike.rows) == (["a.b", "a.b_2"], [["1", "2"], ["3", "4"]])
    lines = json_sheets(b'{"a": 1}\n{"a": 2}\n{"a": \n{"a": 4}\n')[0]
    assert lines.rows == [["1"], ["2"], ["4"]]
    assert lines.faults == ["1 of 4 lines are no JSON and were left out (line 3)"]
    assert json_sheets(b'[["x", "y"], [1, 2]]')[0].names == ["x", "y"]
    assert json_sheets(b"[1, 2]")[0].rows == [["1"], ["2"]]
    with pytest.raises(TableRefused, match="single JSON value"):
        json_sheets(b'"hello"')
