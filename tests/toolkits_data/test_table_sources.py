"""Tables in files that are called something else, with hidden rows, headers of several rows, and in nested JSON."""

from __future__ import annotations

import io
import json
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specialists.formats.table_detection import is_table_text
from specialists.tools.tables.delimited import read_delimited_sheets
from specialists.tools.tables.json_tables import read_json_sheets
from specialists.tools.tables.spreadsheet_xml import read_spreadsheet_xml_sheets
from specialists.tools.tables.table_errors import TableRefused
from specialists.tools.tables.table_tools import run_query
from specialists.tools.tables.workbook import read_workbook_sheets

from .conftest import Bench, Cell, patch_book, workbook_bytes
from .test_table_files import ask, profile

pytestmark = pytest.mark.usefixtures("children_here")

PAGE = (
    b"<html xmlns:x='urn:schemas-microsoft-com:office:excel'><head><meta charset=utf-8></head><body><table>"
    b"<tr><th rowspan=2>Region<th colspan=2>2025<th rowspan=2>Total<tr><th>Q1<th>Q2"
    b"<tr><td>North<td>1,200<td>5<td>1,205<tr style='display: none'><td>South<td>7<td>8<td>15</table>"
)
SPREADSHEET = """<?xml version="1.0"?><?mso-application progid="Excel.Sheet"?>
<Workbook xmlns="urn:schemas-microsoft-com:office:spreadsheet"
 xmlns:ss="urn:schemas-microsoft-com:office:spreadsheet"><Worksheet ss:Name="Cities"><Table>
<Row><Cell><Data ss:Type="String">city</Data></Cell><Cell><Data ss:Type="String">day</Data></Cell>
<Cell><Data ss:Type="String">n</Data></Cell></Row>
<Row ss:Hidden="1"><Cell><Data ss:Type="String">Köln</Data></Cell>
<Cell><Data ss:Type="DateTime">2026-03-01T00:00:00.000</Data></Cell><Cell><Data ss:Type="Number">4</Data></Cell></Row>
<Row ss:Index="7"><Cell><Data ss:Type="String">Bonn</Data></Cell>
<Cell ss:Index="3"><Data ss:Type="Number">5.5</Data></Cell></Row></Table></Worksheet></Workbook>""".encode()
ARCHIVE = (
    b'MIME-Version: 1.0\nContent-Type: multipart/related; boundary="x"\n\n--x\nContent-Type: text/html\n\n'
    b"<p>frames</p>\n"
    b"--x\nContent-Type: text/html; charset=utf-8\n\n<table><tr><td>city<td>n<tr><td>Bonn<td>4</table>\n--x--\n"
)


async def test_a_table_is_read_for_what_it_is_whatever_it_is_called(bench: Bench) -> None:
    book = workbook_bytes({"S": [["city", "n"], ["Bonn", 4]]})
    files: dict[str, tuple[bytes, int]] = {
        "erp.xls": (PAGE, 2),
        "wide.xls": (PAGE.decode().replace("utf-8", "utf-16").encode("utf-16"), 2),
        "old.xls": (SPREADSHEET, 2),
        "tabs.xls": (b"city\tn\nBonn\t4\nUlm\t5\n", 2),
        "semicolons.xlsx": (b"city;n\nBonn;4\nUlm;5\n", 2),
        "book.csv": (book, 1),
        "paper.txt": (book, 1),
        "records.csv": (b'[{"city": "Bonn", "n": 4}]', 1),
        "web.xls": (ARCHIVE, 1),
        "bars.txt": (b"| city | n |\n|------|---|\n| Bonn | 4 |\n| Ulm | 5 |\n", 2),
        "stops.txt": (b"city\tn\nBonn\t4\nUlm\t5\n", 2),
        "commas.txt": (b"city,n\nBonn,4\nUlm,5\n", 2),
    }
    tables = {name.partition(".")[0]: rows for name, (_, rows) in files.items()}
    counts = " UNION ALL ".join(f"SELECT '{name}', count(*) FROM {name}" for name in tables)  # noqa: S608 - our names
    found = await run_query(counts, bench({name: data for name, (data, _) in files.items()}))
    assert dict(found.rows) == tables
    assert found.gaps == ()


async def test_a_page_and_xml_that_are_called_a_workbook_keep_their_numbers(bench: Bench) -> None:
    workbench = bench({"erp.xls": PAGE, "old.xls": SPREADSHEET})
    found = await ask(workbench, 'SELECT sum("2025 / Q1"), sum("Total") FROM erp')
    assert "1207 | 1220" in found.text
    assert "1 of 2 rows is hidden" in found.text
    found = await ask(workbench, "SELECT city, day, n FROM old WHERE NOT hidden_row")
    assert "Bonn | NULL | 5.5" in found.text
    found = await ask(workbench, "SELECT day FROM old WHERE n = 4")
    assert "2026-03-01" in found.text


@pytest.mark.parametrize(
    "text",
    [
        "Dear all,\nthe meeting, as we said, is on Monday.\nPlease bring notes, pens, and paper.\nBest,\nAnn\n",
        "Roses are red, violets are blue\nSugar is sweet, and so are you\nThe sky is high, the sea is deep\n",
        "\n".join(f"2026-01-01 12:00:0{n},123 INFO started part {n}" for n in range(8)),
        "\n".join(f"Nov 22 23:31:0{n} host app[1]: done; next" for n in range(8)),
        "One line alone, with a comma",
        "First; second.\nThird; fourth.\nFifth; sixth.\n",
        "# Notes\n\n- milk, eggs\n- bread, salt\n- tea, jam\n",
    ],
)
def test_prose_and_logs_are_no_tables(text: str) -> None:
    with pytest.raises(TableRefused, match="is a text, not a table"):
        read_delimited_sheets(text.encode(), ".txt")


WORD = st.text("abcdefghij", min_size=1, max_size=8)


@given(
    st.sampled_from([",", ";", "\t", "|"]),
    st.integers(2, 5).flatmap(
        lambda width: st.lists(st.lists(WORD, min_size=width - 1, max_size=width - 1), min_size=3)
    ),
)
def test_a_table_in_a_text_is_one(separator: str, rows: list[list[str]]) -> None:
    lines = [separator.join([*row, str(number)]) for number, row in enumerate(rows)]
    head = separator.join([*(f"name{at}" for at in range(len(rows[0]))), "n"])
    assert is_table_text("\n".join([head, *lines]))


async def test_hidden_rows_columns_and_sheets_of_a_workbook_are_counted_and_said(bench: Bench) -> None:
    rows: list[list[Cell]] = [["name", "n", "cost"], *([f"p{number}", 1, 2] for number in range(30))]
    book = workbook_bytes({"Shown": rows, "Away": [["a", "b"], [1, 2]]})
    book = patch_book(book, *((f'<row r="{line}">', f'<row r="{line}" hidden="1">') for line in range(3, 23)))
    book = patch_book(book, ("<sheetData>", '<cols><col min="3" max="3" hidden="1"/></cols><sheetData>'))
    book = patch_book(book, ('name="Away"', 'name="Away" state="hidden"'), member="xl/workbook.xml")
    workbench = bench({"plan.xlsx": book})
    told = await profile(workbench, "plan.xlsx")
    assert "20 of 30 rows are hidden in the workbook; they are counted" in told.text
    assert "1 column is hidden in the workbook, and read all the same: cost" in told.text
    assert "the sheet is hidden in the workbook; its rows are counted" in told.text
    assert told.gaps == ()
    found = await ask(workbench, "SELECT sum(n), sum(n) FILTER (NOT hidden_row) FROM plan_shown")
    assert "30 | 10" in found.text
    assert any("20 of 30 rows are hidden" in note for note in found.notes)
    assert "20 of 30 rows are hidden" in found.text


def test_rows_that_a_filter_hides_and_all_that_are_hidden_unless_said() -> None:
    rows: list[list[Cell]] = [["name", "n"], ["a", 1], ["b", 2], ["c", 3]]
    book = patch_book(workbook_bytes({"S": rows}), ('<row r="3">', '<row hidden="true" r="3">'))
    end = "</sheetData>"
    book = patch_book(book, (end, f'{end}<autoFilter ref="A1:B4"><filterColumn colId="0"/></autoFilter>'))
    (sheet,) = read_workbook_sheets(book)
    assert sheet.notes[0].startswith("1 of 3 rows is hidden by a filter in the workbook; it is counted")
    assert [row[2] for row in sheet.rows] == ["false", "true", "false"]
    book = patch_book(workbook_bytes({"S": rows}), ("<sheetData>", '<sheetFormatPr zeroHeight="1"/><sheetData>'))
    assert read_workbook_sheets(book)[0].notes[0].startswith("3 of 3 rows are hidden")


def test_columns_that_spreadsheet_xml_hides_are_named() -> None:
    for said, names in (
        ('<Column ss:Index="2" ss:Hidden="1" ss:Span="1"/>', "day, n"),
        ('<Column/><Column ss:Width="0"/>', "day"),
        ('<Column ss:Width="50.25"/>', ""),
    ):
        (sheet,) = read_spreadsheet_xml_sheets(SPREADSHEET.replace(b"<Table>", f"<Table>{said}".encode()))
        told = [one for one in sheet.notes if "column" in one.partition(" hidden ")[0]]
        assert [one.rpartition(": ")[2] for one in told] == ([names] if names else [])


def test_numbers_of_spreadsheet_xml_that_are_none_are_ignored() -> None:
    (sheet,) = read_spreadsheet_xml_sheets(SPREADSHEET)
    for said in ('MergeAcross="x"', 'MergeAcross="1.5"', 'MergeAcross="-1"', 'Index="x"', f'Index="{"9" * 5_000}"'):
        told = SPREADSHEET.replace(b"<Row><Cell>", f"<Row><Cell ss:{said}>".encode())
        assert read_spreadsheet_xml_sheets(told) == [sheet]


def test_rows_and_columns_without_a_height_or_width_are_hidden() -> None:
    rows: list[list[str | float | bool | None]] = [["city", "n"], ["Bern", 1], ["Rome", 1000]]
    columns = '<cols><col min="2" max="2" width="0" customWidth="1"/></cols><sheetData>'
    flat = ('<row r="3">', '<row r="3" ht="0" customHeight="1">')
    (sheet,) = read_workbook_sheets(patch_book(workbook_bytes({"S": rows}), flat, ("<sheetData>", columns)))
    assert sheet.notes[0] == "1 column is hidden in the workbook, and read all the same: n"
    assert sheet.notes[1].startswith("1 of 2 rows is hidden in the workbook")
    tall = ('<row r="3">', '<row r="3" ht="10.5">')
    assert read_workbook_sheets(patch_book(workbook_bytes({"S": rows}), tall))[0].notes == []


def test_hidden_rows_of_an_open_document_sheet() -> None:
    office = "urn:oasis:names:tc:opendocument:xmlns"
    cell = '<table:table-cell office:value-type="string"><text:p>{}</text:p></table:table-cell>'
    row = f"<table:table-row {{}}>{cell}{cell}</table:table-row>"
    rows = row.format("", "name", "n") + row.format('table:visibility="filter"', "a", "1")
    rows += row.format('table:number-rows-repeated="2" table:visibility="collapse"', "b", "2") + row.format(
        "", "c", "3"
    )
    content = (
        f'<office:document-content xmlns:office="{office}:office:1.0" xmlns:table="{office}:table:1.0" '
        f'xmlns:text="{office}:text:1.0"><office:body><office:spreadsheet><table:table table:name="S">'
        f'<table:table-column/><table:table-column table:visibility="collapse"/>{rows}</table:table>'
        "</office:spreadsheet></office:body></office:document-content>"
    )
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("META-INF/manifest.xml", "<manifest/>")
        archive.writestr("content.xml", content)
    (sheet,) = read_workbook_sheets(target.getvalue())
    assert [row[2] for row in sheet.rows] == ["true", "true", "true", "false"]
    assert sheet.notes[0] == "1 column is hidden in the workbook, and read all the same: n"
    assert sheet.notes[1].startswith("3 of 4 rows are hidden by a filter in the workbook")


def merged_book() -> bytes:
    rows: list[list[Cell]] = [
        ["Travel 2026"],
        ["Who", None, "Travel", None, "Other"],
        ["Person", "Team", "Flights", "Hotel", "Meals"],
        ["Ann", "Ops", 10, 20, 5],
        ["Bob", "IT", 11, 21, 6],
        ["Total", None, 21, 41, 11],
    ]
    merges = "".join(f'<mergeCell ref="{ref}"/>' for ref in ("A1:E1", "A2:B2", "C2:D2"))
    end = "</sheetData>"
    # Q2 is not merged: its groups only leave cells empty.
    book = workbook_bytes({"Q1": rows, "Q2": rows})
    return patch_book(book, (end, f"{end}<mergeCells>{merges}</mergeCells>"))


def test_a_merged_header_below_a_title_is_group_and_column_in_every_sheet() -> None:
    sheets = read_workbook_sheets(merged_book())
    assert [sheet.title for sheet in sheets] == ["Q1", "Q2"]
    for sheet in sheets:
        assert sheet.names == ["Who / Person", "Who / Team", "Travel / Flights", "Travel / Hotel", "Other / Meals"]
        assert [row[0] for row in sheet.rows] == ["Ann", "Bob"]
        assert sheet.faults == []


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (
            "Region,2024,,2025,\n,Q1,Q2,Q1,Q2\nN,1,2,3,4\nS,5,6,7,8\n",
            ["Region", "2024 / Q1", "2024 / Q2", "2025 / Q1", "2025 / Q2"],
        ),
        (
            "Region,Sales,,Cost,\n,2025,2026,2025,2026\nN,1,2,3,4\nS,5,6,7,8\n",
            ["Region", "Sales / 2025", "Sales / 2026", "Cost / 2025", "Cost / 2026"],
        ),
        ("Group,A,,B,\n2025,1,2,3,4\n2026,1,2,3,4\n", None),
        ("Group,A,,B,\nN,2025,2026,2025,2026\nS,2001,2002,2003,2004\n", None),
        (
            "id,name,,\n1,a,b,c\nx,n/a,b,c\n2,d,e,f\n3,g,h,i\n4,g,h,i\n5,g,h,i\n",
            ["id", "name", "column3", "column4"],
        ),
        (
            "Region,2024,,,\n,Q1,,Q2,\n,Rev,Cost,Rev,Cost\nN,1,2,3,4\nS,5,6,7,8\n",
            ["Region", "2024 / Q1 / Rev", "2024 / Q1 / Cost", "2024 / Q2 / Rev", "2024 / Q2 / Cost"],
        ),
        ("Report,Sales\nName,Amount,City\nAnn,5,Ulm\nBob,6,Bonn\n", ["Name", "Amount", "City"]),
        ("Company,ACME\nName,Amount\nAnn,5\nBob,6\n", None),
        ("name,city,amount\nUlm,Ulm,n/a\nBonn,Bonn,5\nKiel,Kiel,6\n", ["name", "city", "amount"]),
        (",city,amount\nx,Ulm,n/a\ny,Bonn,5\nz,Kiel,6\n", None),
    ],
)
def test_headers_of_several_rows_in_text(text: str, names: list[str] | None) -> None:
    (sheet,) = read_delimited_sheets(text.encode(), ".csv")
    assert sheet.names == names or (names is None and not any(" / " in name for name in sheet.names))


async def test_nested_json_has_dotted_columns_and_lists_are_tables_of_their_own(bench: Bench) -> None:
    incidents = [
        {
            "id": 1,
            "service": {"name": "checkout", "tier": 1},
            "tags": ["a", "b"],
            "steps": [{"by": {"n": "x"}}, {"by": {"n": "y"}}],
        },
        {"id": 2, "service": {"name": "login", "tier": 2}, "tags": [], "steps": []},
        {"id": 3, "service": {"name": "login", "tier": 2}, "tags": ["c"], "steps": [{"by": {"n": "x"}}]},
    ]
    for value in (incidents, {"data": {"incidents": incidents}}, {"count": 3, "incidents": incidents}):
        rows, steps = read_json_sheets(json.dumps(value).encode())
        assert rows.names == ["id", "service.name", "service.tier", "tags", "steps"]
        assert [row[3] for row in rows.rows] == ["a; b", "", "c"]
        assert "objects in objects became columns such as service.name" in rows.facts
        assert (steps.title, steps.names) == ("steps", ["parent_row", "parent_row.id", "by.n"])
        assert steps.rows == [["1", "1", "x"], ["1", "1", "y"], ["3", "3", "x"]]
    lines = "\n".join(map(json.dumps, incidents)).encode()
    workbench = bench({"incidents.jsonl": lines})
    found = await ask(workbench, 'SELECT "service.name", count(*) FROM incidents GROUP BY 1 ORDER BY 2 DESC')
    assert "login | 2\ncheckout | 1" in found.text
    found = await ask(workbench, 'SELECT "by.n", count(*) FROM incidents_steps GROUP BY 1 ORDER BY 2 DESC')
    assert "x | 2\ny | 1" in found.text
