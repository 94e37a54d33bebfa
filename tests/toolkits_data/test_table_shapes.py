"""Tables as people really write them: separators, quotes, headers, JSON of any shape, merged cells, lost formulas."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from specialists.tools.tables.delimited import read_delimited_sheets
from specialists.tools.tables.json_tables import read_json_sheets
from specialists.tools.tables.table_errors import TableRefused
from specialists.tools.tables.table_tools import run_query
from specialists.tools.tables.workbook import read_workbook_sheets
from tests.toolkits_data.conftest import Bench, patch_book, workbook_bytes
from tests.toolkits_data.test_column_kinds import load_table

pytestmark = pytest.mark.usefixtures("children_here")


def test_lines_of_key_and_value_above_a_table_are_no_header() -> None:
    text = b"Report,Q1\nExported,2026-01-02\n\nregion,product,amount,pieces\nN,x,10,1\nS,y,20,2\n"
    (sheet,) = read_delimited_sheets(text, ".csv")
    assert sheet.names == ["region", "product", "amount", "pieces"]
    assert "2 lines above the header skipped: Report Q1 / Exported 2026-01-02" in sheet.facts
    assert not sheet.faults


def test_a_cell_beyond_all_measure_is_refused_in_words() -> None:
    with pytest.raises(TableRefused, match="more than a million letters"):
        read_delimited_sheets(b"a,b\n1," + b"x" * 1_100_000 + b"\n", ".csv")


def test_an_object_of_several_lists_is_several_tables() -> None:
    sheets = read_json_sheets(b'{"customers": [{"id": 1}], "orders": [{"id": 7, "of": 1}, {"id": 8}]}')
    assert [(sheet.title, sheet.names, len(sheet.rows)) for sheet in sheets] == [
        ("customers", ["id"], 1),
        ("orders", ["id", "of"], 2),
    ]


def test_text_of_merged_cells_stands_in_each_row_and_numbers_do_not() -> None:
    book = workbook_bytes({"S": [["group", "item", "v"], ["A", "x", 1], [None, "y", None], ["B", "z", 3]]})
    ranges = '<mergeCells><mergeCell ref="A2:A3"/><mergeCell ref="C2:C3"/></mergeCells>'
    (sheet,) = read_workbook_sheets(patch_book(book, ("</sheetData>", f"</sheetData>{ranges}")))
    assert [row[0] for row in sheet.rows] == ["A", "A", "B"]
    assert [row[2] for row in sheet.rows] == ["1", "", "3"]
    assert "text of merged cells stands in each of their rows" in sheet.facts


def test_formulas_never_worked_out_and_errors_are_told() -> None:
    book = workbook_bytes({"S": [["a", "b"], [1, 2], [3, 4], [5, 6]]})
    lost, wrong, right = "<f>A2*2</f><v></v>", '<c r="B3" t="e"><v>#N/A</v></c>', "<f>A4+1</f><v>6</v>"
    (sheet,) = read_workbook_sheets(
        patch_book(book, ("<v>2</v>", lost), ('<c r="B3"><v>4</v></c>', wrong), ("<v>6</v>", right))
    )
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
    (sheet,) = read_json_sheets(json.dumps(text).encode())
    assert " ".join(sheet.names) == names
    assert [" ".join(row) for row in sheet.rows] == rows


def test_quotes_commas_and_lines_inside_of_cells_survive(tmp_path: Path) -> None:
    text = 'name,text\n"O\'Neil, ""Bo""","line one\nline two"\nx,"y ; z"\n'
    _, rows, table = load_table(tmp_path, read_delimited_sheets(text.encode(), ".csv")[0])
    assert rows == [('O\'Neil, "Bo"', "line one\nline two"), ("x", "y ; z")]
    assert table.faults == []


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_separators_and_line_ends(separator: str, end: str) -> None:
    text = end.join(separator.join(cells) for cells in (("a", "b", "c"), ("1", "x y", "3"), ("4", "5", "6"))) + end
    sheet = read_delimited_sheets(text.encode(), ".csv")[0]
    assert sheet.names == ["a", "b", "c"]
    assert sheet.rows == [["1", "x y", "3"], ["4", "5", "6"]]
    assert sheet.faults == []


def test_a_quotation_mark_left_open_loses_no_rows() -> None:
    text = 'id,text\n1,fine\n2,"never closed\n' + "".join(f"{number},ok\n" for number in range(3, 103))
    sheet = read_delimited_sheets(text.encode(), ".csv")[0]
    assert len(sheet.rows) == 102
    assert sheet.faults == [
        "a quotation mark is opened and never closed: quotation marks were read as plain characters"
    ]


def test_rows_swallowed_by_a_pair_of_stray_quotation_marks_are_told() -> None:
    text = 'id,text,n\n1,a,1\n2,"b,2\n3,c,3\n4,d",4\n5,e,5\n'
    sheet = read_delimited_sheets(text.encode(), ".csv")[0]
    assert any("6 lines gave 4 rows" in fault and "from line 3" in fault for fault in sheet.faults)


def test_headers_that_are_missing_doubled_or_repeated() -> None:
    none = read_delimited_sheets(b"1,2.5,2026-01-01\n2,3.5,2026-01-02\n", ".csv")[0]
    assert none.names == ["column1", "column2", "column3"]
    assert len(none.rows) == 2
    assert none.faults == ["no header row seen: columns are named column1, column2 ..."]
    years = read_delimited_sheets(b"region,2024,2025\nNorth,1,2\n", ".csv")[0]
    assert (years.names, years.faults) == (["region", "2024", "2025"], [])
    doubled = read_delimited_sheets(b"a,A,,b\n1,2,3,4\n", ".csv")[0]
    assert doubled.names == ["a", "A_2", "column3", "b"]
    assert len(doubled.faults) == 2
    again = read_delimited_sheets(b"a,b\n1,2\na,b\n3,4\n", ".csv")[0]
    assert again.rows == [["1", "2"], ["3", "4"]]
    assert again.faults == ["the header occurs again (line 3): 1 row left out"]
    assert read_delimited_sheets(b"a,b\n", ".csv")[0].faults == ["header only: there are no rows"]


def test_a_separator_at_each_end_of_line_makes_no_column() -> None:
    sheet = read_delimited_sheets(b"a,b,\n1,2,\n3,4,\n", ".csv")[0]
    assert (sheet.names, sheet.rows, sheet.faults) == (["a", "b"], [["1", "2"], ["3", "4"]], [])


def test_too_many_columns_are_cut_and_told() -> None:
    text = ",".join(f"c{number}" for number in range(700)) + "\n" + ",".join("1" * 700) + "\n"
    sheet = read_delimited_sheets(text.encode(), ".csv")[0]
    assert (len(sheet.names), len(sheet.rows[0])) == (500, 500)
    assert sheet.faults == ["700 columns: only the first 500 were read"]


def test_json_rows_of_different_shape() -> None:
    sheet = read_json_sheets(b'[{"a": 1, "b": {"c": 2}}, {"A": "x", "a": null}, 5]')[0]
    assert sheet.names == ["a", "b.c", "A_2"]
    assert sheet.rows == [["1", "2", ""], ["", "", "x"]]
    assert sheet.faults == ["1 of 3 entries are no objects and were left out"]
    alike = read_json_sheets(b'[{"a.b": 1, "a": {"b": 2}}, {"a": {"b": 3}, "a.b": 4}]')[0]
    assert (alike.names, alike.rows) == (["a.b", "a.b_2"], [["1", "2"], ["3", "4"]])
    lines = read_json_sheets(b'{"a": 1}\n{"a": 2}\n{"a": \n{"a": 4}\n')[0]
    assert lines.rows == [["1"], ["2"], ["4"]]
    assert lines.faults == ["1 of 4 lines are no JSON and were left out (line 3)"]
    assert read_json_sheets(b'[["x", "y"], [1, 2]]')[0].names == ["x", "y"]
    assert read_json_sheets(b"[1, 2]")[0].rows == [["1"], ["2"]]
    with pytest.raises(TableRefused, match="single JSON value"):
        read_json_sheets(b'"hello"')
