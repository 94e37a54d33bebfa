"""Tables as people really write them: dressed-up numbers, headers in two rows, totals, merged cells, lost formulas."""

# ruff: noqa: RUF001 - signs of other scripts look like Latin ones

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import pytest

from specialists.tools.tables.delimited import delimited_sheets
from specialists.tools.tables.jsonrows import json_sheets
from specialists.tools.tables.refused import TableRefused
from specialists.tools.tables.tables import run_query
from specialists.tools.tables.workbook import workbook_sheets
from tests.toolkits_data.conftest import Bench, workbook_bytes
from tests.toolkits_data.test_table_reading import column, loaded


@pytest.mark.parametrize(
    ("cells", "kind", "values", "fact"),
    [
        (("(1,200)", "3,400", "(50)"), "DOUBLE", [-1200, 3400, -50], "x: (5) or 5- read as -5"),
        (("($12.50)", "$3.00", "$1,000.00"), "DOUBLE", [-12.5, 3, 1000], "x: $ removed"),
        (("5-", "7", "\N{MINUS SIGN}8"), "BIGINT", [-5, 7, -8], "x: (5) or 5- read as -5"),
        (("–5", "3", "\N{FIGURE DASH}4"), "BIGINT", [-5, 3, -4], "x: (5) or 5- read as -5"),
        (("5\u200b", "\u200e6", "\ufeff7"), "BIGINT", [5, 6, 7], "x: invisible characters left out"),
        (("\u200f٥", "\u200f٦"), "BIGINT", [5, 6], "x: invisible characters left out"),
        (("5–7", "8–9"), "VARCHAR", ["5–7", "8–9"], ""),
        (("1 234,50 €", "12 345,60 €"), "DOUBLE", [1234.5, 12345.6], "x: gaps between thousands"),
        (("1\u202f234", "-12\u00a0345\u00a0678"), "BIGINT", [1234, -12345678], "x: gaps between thousands"),
        (("1'234.50", "1\u2019000\u2019000.75"), "DOUBLE", [1234.5, 1000000.75], "x: gaps between thousands"),
        (("+49 30 123", "+49 89 22"), "VARCHAR", ["+49 30 123", "+49 89 22"], ""),
        (("030 123", "12 345"), "VARCHAR", ["030 123", "12 345"], ""),
        (("123456789012345678901234567890", "12"), "VARCHAR", ["123456789012345678901234567890", "12"], ""),
        (("a (1)", "b (2)"), "VARCHAR", ["a (1)", "b (2)"], ""),
    ],
)
def test_what_stands_around_a_number_comes_off(
    tmp_path: Path, cells: tuple[str, ...], kind: str, values: list[object], fact: str
) -> None:
    got, rows, table = column(tmp_path, *cells)
    assert (got, rows) == (kind, values)
    assert fact in table.facts or not fact


@pytest.mark.parametrize(
    ("cells", "what"),
    [
        (("½", "1½"), "numbers"),
        (("1万", "3万"), "numbers"),
        (("三千", "五"), "numbers"),
        (("2 marca 2026", "3 kwietnia 2026"), "dates"),
        (("1 марта 2026 г.", "2 апреля 2026 г."), "dates"),
        (("1er mars 2026", "1er avril 2026"), "dates"),
        (("3 Main Street", "5 Main Street"), ""),
        (("Ana", "Ben"), ""),
    ],
)
def test_numbers_and_dates_that_are_not_read_are_told(tmp_path: Path, cells: tuple[str, ...], what: str) -> None:
    got, rows, table = column(tmp_path, *cells)
    assert (got, rows) == ("VARCHAR", list(cells))
    told = f"column x: looks like {what} ('{cells[0]}') in a form that is not read, so it was kept as text"
    assert table.faults == ([told] if what else [])


def test_whole_numbers_stay_whole_beside_decimal_commas(tmp_path: Path) -> None:
    (sheet,) = delimited_sheets(b"amount;id\n1,50;100000000000000001\n2,25;100000000000000003\n", ".csv")
    types, rows, _ = loaded(tmp_path, sheet)
    assert types == {"amount": "DOUBLE", "id": "BIGINT"}
    assert rows[0] == (1.5, 100000000000000001)


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
    (sheet,) = delimited_sheets(text.encode(), ".csv")
    assert loaded(tmp_path, sheet)[2].faults == faults


@pytest.mark.parametrize(
    ("cells", "first"),
    [
        (("March 1, 2026", "May 2, 2026"), "2026-03-01"),
        (("03 January 2026", "14 May 2026"), "2026-01-03"),
        (("3-Jan-2026", "14-Feb-2026"), "2026-01-03"),
        (("3-Jan-26", "14-Feb-26"), "2026-01-03"),
        (("3/1/2026 2:05 PM", "2/14/2026 12:05 AM"), "2026-03-01 14:05:00"),
        (("01-13-2026", "02-14-2026"), "2026-01-13"),
        (("13/01/26", "14/02/26"), "2026-01-13"),
    ],
)
def test_more_ways_to_write_a_date(tmp_path: Path, cells: tuple[str, ...], first: str) -> None:
    kind, values, table = column(tmp_path, *cells)
    assert kind in {"DATE", "TIMESTAMP"}
    assert str(values[0]) == first
    assert not table.faults


def test_short_dates_that_may_be_read_two_ways_are_told(tmp_path: Path) -> None:
    assert "day and month cannot be told apart" in column(tmp_path, "3/1/26", "4/2/26")[2].faults[0]
    assert "day and month cannot be told apart" in column(tmp_path, "3-1-2026", "4-2-2026")[2].faults[0]


def test_totals_in_the_middle_and_notes_at_the_end_are_set_apart() -> None:
    (sheet,) = delimited_sheets(b"a,b,c\nN,1,2\nSubtotal,1,2\nS,3,4\nTotal:,4,6\nSource: SAP,,\n", ".csv")
    assert sheet.rows == [["N", "1", "2"], ["S", "3", "4"]]
    assert not sheet.faults
    assert sheet.apart == [
        "2 total rows set apart, not counted: line 3 ('Subtotal'), line 5 ('Total:')",
        "1 note below the table not counted: Source: SAP",
    ]


def test_lines_of_key_and_value_above_a_table_are_no_header() -> None:
    text = b"Report,Q1\nExported,2026-01-02\n\nregion,product,amount,pieces\nN,x,10,1\nS,y,20,2\n"
    (sheet,) = delimited_sheets(text, ".csv")
    assert sheet.names == ["region", "product", "amount", "pieces"]
    assert "2 lines above the header skipped: Report Q1 / Exported 2026-01-02" in sheet.facts
    assert not sheet.faults


def test_a_header_of_two_rows_becomes_one() -> None:
    (sheet,) = delimited_sheets(b"Region,Q1,,Q2,\n,Rev,Cost,Rev,Cost\nN,1,2,3,4\nS,5,6,7,8\n", ".csv")
    assert sheet.names == ["Region", "Q1 / Rev", "Q1 / Cost", "Q2 / Rev", "Q2 / Cost"]
    assert len(sheet.rows) == 2
    assert not sheet.faults


def test_years_below_groups_are_names_and_years_in_rows_are_not() -> None:
    (sheet,) = delimited_sheets(b"Region,Sales,,Cost,\n,2025,2026,2025,2026\nN,1,2,3,4\nS,5,6,7,8\n", ".csv")
    assert sheet.names == ["Region", "Sales / 2025", "Sales / 2026", "Cost / 2025", "Cost / 2026"]
    assert (len(sheet.rows), sheet.faults) == (2, [])
    for row in (b"2025,1,2,3,4\n2026,1,2,3,4", b"N,2025,2026,2025,2026\nS,2001,2002,2003,2004"):
        (sheet,) = delimited_sheets(b"Group,A,,B,\n" + row + b"\n", ".csv")
        assert len(sheet.rows) == 2


def test_a_first_row_of_words_below_a_header_with_gaps_is_no_header() -> None:
    (sheet,) = delimited_sheets(b"id,name,,\n1,a,b,c\nx,n/a,b,c\n2,d,e,f\n3,g,h,i\n4,g,h,i\n5,g,h,i\n", ".csv")
    assert sheet.names == ["id", "name", "column3", "column4"]
    assert len(sheet.rows) == 6


def test_a_cell_beyond_all_measure_is_refused_in_words() -> None:
    with pytest.raises(TableRefused, match="more than a million letters"):
        delimited_sheets(b"a,b\n1," + b"x" * 1_100_000 + b"\n", ".csv")


def test_an_object_of_several_lists_is_several_tables() -> None:
    sheets = json_sheets(b'{"customers": [{"id": 1}], "orders": [{"id": 7, "of": 1}, {"id": 8}]}')
    assert [(sheet.title, sheet.names, len(sheet.rows)) for sheet in sheets] == [
        ("customers", ["id"], 1),
        ("orders", ["id", "of"], 2),
    ]


def mended(book: bytes, *changes: tuple[str, str]) -> bytes:
    """The workbook with texts of its first sheet replaced."""
    target = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(book)) as old, zipfile.ZipFile(target, "w") as new:
        for member in old.namelist():
            text = old.read(member).decode()
            for before, after in changes if member.endswith("sheet1.xml") else ():
                assert before in text
                text = text.replace(before, after)
            new.writestr(member, text)
    return target.getvalue()


def test_text_of_merged_cells_stands_in_each_row_and_numbers_do_not() -> None:
    book = workbook_bytes({"S": [["group", "item", "v"], ["A", "x", 1], [None, "y", None], ["B", "z", 3]]})
    ranges = '<mergeCells><mergeCell ref="A2:A3"/><mergeCell ref="C2:C3"/></mergeCells>'
    (sheet,) = workbook_sheets(mended(book, ("</sheetData>", f"</sheetData>{ranges}")))
    assert [row[0] for row in sheet.rows] == ["A", "A", "B"]
    assert [row[2] for row in sheet.rows] == ["1", "", "3"]
    assert "text of merged cells stands in each of their rows" in sheet.facts


def test_formulas_never_worked_out_and_errors_are_told() -> None:
    book = workbook_bytes({"S": [["a", "b"], [1, 2], [3, 4], [5, 6]]})
    lost, wrong, right = "<f>A2*2</f><v></v>", '<c r="B3" t="e"><v>#N/A</v></c>', "<f>A4+1</f><v>6</v>"
    (sheet,) = workbook_sheets(mended(book, ("<v>2</v>", lost), ('<c r="B3"><v>4</v></c>', wrong), ("<v>6</v>", right)))
    assert [row[1] for row in sheet.rows] == ["", "", "6"]
    (fault,) = sheet.faults
    assert fault.startswith("1 formula never worked out and 1 error such as #N/A or #DIV/0!, read as empty cells; open")


async def test_only_the_tables_that_a_query_reads_are_reported_and_cited(bench: Bench) -> None:
    workbench = bench({"good.csv": "a,b\n1,2\n", "bad.csv": "a,b\n1,2\n3\n"})
    good = await run_query("SELECT sum(a) AS bad FROM good", workbench)
    assert (good.gaps, good.sources) == ((), ("good.csv",))
    both = await run_query("SELECT 1 FROM good, bad", workbench)
    assert both.sources == ("good.csv", "bad.csv")
    assert len(both.gaps) == 1


@pytest.mark.parametrize(
    ("text", "names", "rows"),
    [
        (
            {"ana": {"age": 31, "city": "Lisbon"}, "ben": {"age": 40, "city": "Porto"}},
            "key age city",
            ["ana 31 Lisbon", "ben 40 Porto"],
        ),
        ({"2026": {"key": 1, "n": 5}, "2025": {"key": 2, "n": 6}}, "key_2 key n", ["2026 1 5", "2025 2 6"]),
        ({"prices": {"tea": {"eur": 3}, "cake": {"eur": 4}}}, "key eur", ["tea 3", "cake 4"]),
        ({"server": {"port": 80}, "logging": {"level": "info"}}, "server.port logging.level", ["80 info"]),
        ({"only": {"a": 1, "b": 2}}, "a b", ["1 2"]),
        (
            {"columns": ["city", "n"], "index": [0, 1], "data": [["Lisbon", 3], ["Porto", 4]]},
            "city n",
            ["Lisbon 3", "Porto 4"],
        ),
    ],
)
def test_objects_by_name_are_rows_unless_they_are_parts_of_one_thing(text: object, names: str, rows: list[str]) -> None:
    (sheet,) = json_sheets(json.dumps(text).encode())
    assert " ".join(sheet.names) == names
    assert [" ".join(row) for row in sheet.rows] == rows
