"""Files of every kind that people attach, through the child process, as a specialist meets them."""

from __future__ import annotations

import asyncio
import datetime as dt
import io
import json
import random
import re
import zipfile
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest

import specialists
from specialists.tools.tables import table_tools
from specialists.tools.tables.table_tools import (
    ProfileTableArguments,
    QueryFailed,
    QueryTableArguments,
    name_tables,
    run_query,
)
from specialists.tools.tool import ToolOutcome, Workbench

from .conftest import Bench, workbook_bytes

pytestmark = pytest.mark.usefixtures("children_here")

SALES = Path(specialists.__file__).parent / "samples" / "sales.csv"


async def profile(workbench: Workbench, file: str) -> ToolOutcome:
    return await table_tools.profile_table(ProfileTableArguments(file=file), workbench)


async def ask(workbench: Workbench, sql: str) -> ToolOutcome:
    return await table_tools.query_table(QueryTableArguments(sql=sql), workbench)


def parquet(folder: Path, sql: str) -> bytes:
    target = folder / "made.parquet"
    duckdb.sql(f"COPY ({sql}) TO '{target}' (FORMAT parquet)")
    return target.read_bytes()


async def test_the_sample_is_profiled_whole_and_holds_its_story(bench: Bench) -> None:
    workbench = bench({"sales.csv": SALES.read_bytes()})
    told, answer = await asyncio.gather(
        profile(workbench, "sales.csv"),
        run_query(
            "SELECT region, month >= '2026-03-01' AS after, "
            "100.0 * sum(churned_customers) / sum(customers) AS rate FROM sales WHERE plan = 'Pro' GROUP BY ALL",
            workbench,
        ),
    )
    assert not told.failed
    assert told.gaps == ()
    assert told.sources == ("sales.csv",)
    assert "sales.csv is table sales: 288 rows, 10 columns" in told.text
    assert "- month DATE: 2025-07-01 to 2026-06-01, 12 distinct" in told.text
    assert "- support_tickets BIGINT: 2 empty" in told.text
    assert "- region VARCHAR: 4 distinct: East (72), North (72), South (72), West (72)" in told.text
    rates = {(region, after): rate for region, after, rate in answer.rows}
    assert rates["South", True] > 2 * rates["South", False]
    assert all(rates[region, True] < 1.3 * rates[region, False] for region in ("North", "East", "West"))


async def test_every_kind_of_file_gives_the_same_table(bench: Bench, tmp_path: Path) -> None:
    people = [("Ada", 36, 1.5), ("Grace", 45, 2.25)]
    records = [dict(zip(("name", "age", "score"), person, strict=True)) for person in people]
    lines = ["name,age,score", *(f"{name},{age},{score}" for name, age, score in people)]
    files: dict[str, bytes | str] = {
        "a.csv": "\n".join(lines),
        "b.tsv": "\n".join(lines).replace(",", "\t"),
        "c.csv": "\n".join(lines).replace(",", ";").replace(".", ","),
        "d.csv": "\r\n".join(lines).encode("utf-16"),
        "e.json": json.dumps(records),
        "f.ndjson": "\n".join(json.dumps(record) for record in records),
        "g.json": json.dumps({"count": 2, "people": records}),
        "h.xlsx": workbook_bytes({"People": [["name", "age", "score"], *map(list, people)]}),
        "i.parquet": parquet(
            tmp_path, "SELECT * FROM (VALUES ('Ada', 36, 1.5::DOUBLE), ('Grace', 45, 2.25)) t(name, age, score)"
        ),
    }
    workbench = bench(files)
    selects = (f"SELECT '{name}', name, age, score FROM {name}" for name in "abcdefghi")  # noqa: S608 - our names
    everything = " UNION ALL ".join(selects)
    result = await run_query(f"{everything} ORDER BY 1, 2", workbench)
    assert result.rows == tuple((name, *person) for name in "abcdefghi" for person in people)
    assert result.gaps == ()


async def test_values_arrive_as_python_values(bench: Bench) -> None:
    workbench = bench({"a.csv": "x\n1\n"})
    result = await run_query(
        "SELECT 1, 1.50::DECIMAL(9,2), 0.1::DOUBLE + 0.2, 'x', true, NULL, date '2026-03-01', "
        "timestamp '2026-03-01 10:30:00', [1, 2], sum(x), date '10000-01-01' FROM a",
        workbench,
    )
    assert result.rows == (
        (
            *(1, Decimal("1.50"), 0.3, "x", True, None, dt.date(2026, 3, 1)),
            *(dt.datetime(2026, 3, 1, 10, 30), "[1, 2]", 1, "10000-01-01"),  # noqa: DTZ001 - tables have no zone
        ),
    )


async def test_each_sheet_of_a_workbook_is_a_table(bench: Bench) -> None:
    book = workbook_bytes(
        {
            "Q1 2026": [["Quarterly report"], [], ["team", "cost"], ["Sales", 10], ["Ops", 20.5]],
            "Notes": [["text"], ["n"]],
            "Empty": [],
        }
    )
    workbench = bench({"Book.xlsx": book})
    told, answer = await asyncio.gather(
        profile(workbench, "Book.xlsx"), ask(workbench, "SELECT sum(cost) AS cost FROM book_q1_2026")
    )
    assert "table book_q1_2026: 2 rows, 2 columns (1 line above the header skipped: Quarterly report)" in told.text
    assert "table book_notes: 1 row," in told.text
    assert answer.text == "cost\n30.5\n(1 row)"


async def test_results_are_capped_and_the_whole_count_is_told(bench: Bench) -> None:
    workbench = bench({"a.csv": "n\n1\n"})
    many, wide, endless = await asyncio.gather(
        ask(workbench, "SELECT range FROM range(250), a"),
        ask(workbench, "SELECT repeat('x', 5000) AS text FROM range(90), a"),
        ask(workbench, "SELECT range FROM range(200000000), a"),
    )
    assert "(the first 100 of 250 rows" in many.text
    assert len(many.text.splitlines()) == 102
    assert len(wide.text) < 13_000
    assert wide.text.splitlines()[1] == f"{'x' * 499}…"
    assert "of 90 rows" in wide.text
    assert "of more than 100,000 rows" in endless.text


async def test_the_parse_report_goes_into_text_and_gaps(bench: Bench) -> None:
    workbench = bench({"a.csv": "id,amount,amount\n1,2,3\n2,3\n3,4,5,6\n4,abc,7\n5,6,7\n6,7,8\n"})
    told, answer = await asyncio.gather(profile(workbench, "a.csv"), ask(workbench, "SELECT count(*) FROM a"))
    assert told.gaps == answer.gaps
    assert "a.csv: 1 row with fewer cells than the header (line 3): filled up empty" in told.gaps
    assert any("1 row with more cells than the header (line 4)" in gap for gap in told.gaps)
    assert any("renamed to amount_2" in gap for gap in told.gaps)
    assert any("column amount: 1 value not whole numbers like the rest ('abc')" in gap for gap in told.gaps)
    assert all(gap in told.text and gap in answer.text for gap in told.gaps)


def zip_csv() -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr("data.csv", "a,b\n1,2\n")
    return target.getvalue()


NO_TABLES: list[tuple[str, bytes, str]] = [
    ("empty.csv", b"", "empty.csv is empty (0 bytes)"),
    ("blank.csv", b" \n\n", "blank.csv is empty"),
    ("photo.csv", b"\x89PNG\r\n\x1a\n" + bytes(50), "photo.csv is really a picture"),
    ("packed.csv", zip_csv(), "packed.csv is really a zip archive"),
    ("page.xlsx", b"<!DOCTYPE html><html></html>", "page.xlsx is an HTML page without a table"),
    ("note.txt", b"Dear all,\nwe meet, as agreed, on Monday.\nBest,\nAnn\n", "note.txt is a text, not a table"),
    ("torn.xlsx", zip_csv().replace(b"data", b"xl/d"), "torn.xlsx is a broken workbook"),
    (
        "sealed.xlsx",
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600) + "EncryptedPackage".encode("utf-16-le"),
        "sealed.xlsx is protected by a password",
    ),
    ("half.parquet", b"PAR1" + bytes(40), "half.parquet is a broken Parquet file"),
    ("noise.csv", bytes(range(256)) * 40, "noise.csv is a binary file"),
    ("broken.json", b'{"a": 1, ', "broken.json is not valid JSON"),
    ("deep.json", b"[" * 200_000 + b"]" * 200_000, "deep.json is nested too deep"),
    ("nothing.json", b"[]", "nothing.json holds an empty list"),
]


async def test_files_that_are_no_tables_are_refused_in_one_line_each(bench: Bench) -> None:
    told = await ask(bench({name: content for name, content, _ in NO_TABLES}), "SELECT 1 FROM elsewhere")
    assert told.failed
    assert [said for _, _, said in NO_TABLES if said not in told.text] == []
    assert "\n" not in told.text
    assert "Traceback" not in told.text
    one = await profile(bench({"blank.csv": b" \n\n"}), "blank.csv")
    assert one.failed
    assert one.gaps == (f"Not read: {one.text}",)


async def test_huge_files_are_refused_before_they_are_read(bench: Bench) -> None:
    told = await profile(bench({"huge.csv": b"a,b\n" + b"1,2\n" * 9_000_000}), "huge.csv")
    assert told.failed
    assert told.text.startswith("huge.csv has 34 MB; the limit is 32 MB.")


async def test_names_in_sql_are_unique_and_never_reserved(bench: Bench) -> None:
    workbench = bench(
        {"Order.csv": "a\n1\n", "2026 Umsätze.csv": "a\n2\n", "photo.png": b"\x89PNG", "my sales.csv": "a\n3\n"}
    )
    more = bench({"my-sales.tsv": "a\n4\n"})
    names = name_tables(workbench.artifacts + more.artifacts)
    assert list(names) == ["t_order", "t_2026_umsätze", "my_sales", "my_sales_2"]
    result = await run_query("SELECT a FROM t_order UNION ALL SELECT a FROM t_2026_umsätze", workbench)
    assert sorted(result.rows) == [(1,), (2,)]


async def test_a_name_that_is_not_there_brings_the_names_that_are(bench: Bench) -> None:
    workbench = bench({"sales.csv": "a\n1\n", "report.pdf": b"%PDF"})
    missing, other, folded = await asyncio.gather(
        profile(workbench, "sale.csv"), profile(workbench, "report.pdf"), profile(workbench, "Sales.CSV")
    )
    assert missing.failed
    assert missing.text == "No file named 'sale.csv'. Tables attached: sales.csv."
    assert other.failed
    assert other.text.startswith("report.pdf is no table")
    assert not folded.failed
    for files in ({}, {"report.pdf": b"%PDF"}):
        with pytest.raises(QueryFailed, match="No table is attached"):
            await run_query("SELECT 1", bench(files))


async def test_no_message_of_a_reader_says_where_a_file_lies(bench: Bench, tmp_path: Path) -> None:
    """Broken here and there, as the words of libraries differ with what they stumble over."""
    dice = random.Random(3)
    whole = {
        "a.parquet": parquet(tmp_path, "SELECT range AS n FROM range(500)"),
        "a.xlsx": workbook_bytes({"One": [["n"], *[[number] for number in range(50)]]}),
    }
    files: dict[str, bytes | str] = {}
    for name, data in whole.items():
        for number in range(6):
            broken = bytearray(data)
            for place in dice.sample(range(4, len(data) - 4), 20):
                broken[place] ^= 0x55
            files[f"{number}{name}"] = bytes(broken)
    told = await ask(bench(files), "SELECT 1 FROM elsewhere")
    assert sum(name in told.text for name in files) > 6
    assert not re.search(r"\.\./|/in/|leadhand-|/tmp/|/work", told.text), told.text


async def test_one_bad_file_does_not_spoil_the_others(bench: Bench) -> None:
    workbench = bench({"good.csv": "a\n1\n", "bad.csv": b"\x89PNG"})
    good, bad, unknown = await asyncio.gather(
        ask(workbench, "SELECT a FROM good"),
        ask(workbench, "SELECT a FROM bad"),
        ask(workbench, "SELECT a FROM other"),
    )
    assert (good.failed, good.gaps) == (False, ())
    assert bad.failed
    assert "bad.csv is really a picture" in bad.text
    assert unknown.failed
    assert "Tables: good(a BIGINT)" in unknown.text
    assert "bad.csv is really a picture" in unknown.text
