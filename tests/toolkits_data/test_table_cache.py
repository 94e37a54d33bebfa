"""A file is read once: later queries find its tables, and nothing that happens to what was kept changes an answer."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import pytest

from handoff.contracts import Artifact
from specialists.tools.charts.charts import DrawChartArguments, draw_chart
from specialists.tools.tables.table_cache import TableCache, make_entry_key
from specialists.tools.tables.table_tools import ProfileTableArguments, QueryFailed, profile_table, run_query
from specialists.tools.tool import FolderWorkbench

from .conftest import Bench, Blobs, workbook_bytes

pytestmark = pytest.mark.usefixtures("children_here")

TEXT = "region;amount\nNorth;1.200,50 €\nSouth;10,00 €\nSumme;1.210,50 €\n"
SQL = "SELECT region, sum(amount) FROM sales GROUP BY 1 ORDER BY 1"
RIGHT = (("North", 1200.5), ("South", 10.0))


def entries(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.exists() else []


def mode(folder: Path) -> int:
    return folder.stat().st_mode & 0o777


def write(file: Path, text: str) -> None:
    file.write_text(text)


class Unread(Exception):
    """A file was fetched that need not be."""


def no_fetch(bench: FolderWorkbench, folder: Path) -> FolderWorkbench:
    """Another subtask's workbench with the same files, which must not be fetched."""

    async def fetch(_: str) -> bytes:
        raise Unread

    async def store(_: bytes) -> str:
        raise Unread

    return FolderWorkbench(bench.artifacts, fetch, store, folder)


async def test_later_queries_do_not_touch_the_file_and_say_the_same(
    bench: Bench, own_cache: Path, tmp_path: Path
) -> None:
    workbench = bench({"sales.csv": TEXT})
    first = await run_query(SQL, workbench)
    later = await run_query(SQL, no_fetch(workbench, tmp_path / "later"))
    told = await profile_table(ProfileTableArguments(file="sales.csv"), no_fetch(workbench, tmp_path / "later"))
    assert first.rows == RIGHT
    assert later == first
    assert later.notes == ("sales.csv: 1 total row set apart, not counted: line 4 ('Summe')",)
    assert "1 total row set apart, not counted: line 4 ('Summe')" in told.text
    assert "semicolon-separated" in told.text
    assert len(entries(own_cache)) == 1
    assert mode(own_cache) == 0o700


async def test_all_sheets_come_back_under_the_names_of_this_job(bench: Bench, tmp_path: Path) -> None:
    book = workbook_bytes({"Q1": [["a"], [1]], "Q2": [["a"], [2]]})
    first = bench({"book.xlsx": book})
    assert (await run_query("SELECT (SELECT a FROM book_q1), (SELECT a FROM book_q2)", first)).rows == ((1, 2),)
    (artifact,) = first.artifacts
    renamed = (artifact.model_copy(update={"name": "other.xlsx"}),)
    again = no_fetch(FolderWorkbench(renamed, Blobs().fetch, Blobs().store, tmp_path), tmp_path / "later")
    assert (await run_query("SELECT (SELECT a FROM other_q1), (SELECT a FROM other_q2)", again)).rows == ((1, 2),)


async def test_an_entry_that_is_broken_is_read_anew(bench: Bench, own_cache: Path) -> None:
    workbench = bench({"sales.csv": TEXT})
    await run_query(SQL, workbench)
    for name, content in (("0.parquet", b"PAR1 no more"), ("tables.json", b"[["), ("tables.json", b"[1]")):
        (entry,) = entries(own_cache)
        (entry / name).write_bytes(content)
        assert (await run_query(SQL, workbench)).rows == RIGHT
    (entry,) = entries(own_cache)
    (entry / "0.parquet").unlink()
    assert (await run_query(SQL, workbench)).rows == RIGHT


async def test_many_at_once_leave_one_entry(bench: Bench, own_cache: Path) -> None:
    workbench = bench({"sales.csv": TEXT})
    answers = await asyncio.gather(*(run_query(SQL, workbench) for _ in range(4)))
    assert all(answer.rows == RIGHT for answer in answers)
    assert len(entries(own_cache)) == 1


async def test_a_file_that_cannot_be_read_leaves_nothing(bench: Bench, own_cache: Path) -> None:
    with pytest.raises(QueryFailed, match="is really a picture"):
        await run_query("SELECT 1 FROM photo", bench({"photo.csv": b"\x89PNG\r\n\x1a\n" + bytes(50)}))
    assert entries(own_cache) == []


async def test_without_a_folder_of_its_own_nothing_is_kept_and_all_goes_on(bench: Bench, own_cache: Path) -> None:
    os.symlink("/nowhere", own_cache)  # noqa: PTH211 - pathlib blocks
    assert (await run_query(SQL, bench({"sales.csv": TEXT}))).rows == RIGHT


def test_an_id_that_is_no_digest_has_no_entry() -> None:
    assert make_entry_key("../../etc/passwd", "a.csv") == ""
    assert make_entry_key("a" * 64, "a.csv") != make_entry_key("a" * 64, "a.xlsx")
    assert "/" not in make_entry_key("a" * 64, "a.c/../sv")


async def test_who_holds_another_id_gets_another_file(bench: Bench, tmp_path: Path) -> None:
    await run_query(SQL, bench({"sales.csv": TEXT}))
    other = FolderWorkbench((Artifact(id="b" * 64, name="sales.csv"),), Blobs().fetch, Blobs().store, tmp_path / "x")
    with pytest.raises(KeyError):
        await run_query(SQL, other)


def make_entry(cache: TableCache, size: int) -> Path:
    room = cache.make_entry_folder("k")
    assert room is not None
    (room / "0.parquet").write_bytes(bytes(size))
    return room


def test_what_was_not_used_for_longest_goes_first(tmp_path: Path) -> None:
    cache = TableCache(tmp_path / "tables", max_bytes=250)
    for at, key in enumerate(("a", "b")):
        cache.add_entry(key, make_entry(cache, 100))
        os.utime(tmp_path / "tables" / key, (time.time() - 100 + at, time.time() - 100 + at))
    assert cache.find_entry("a") is not None
    cache.add_entry("c", make_entry(cache, 100))
    assert [entry.name for entry in entries(tmp_path / "tables")] == ["a", "c"]
    cache.add_entry("d", make_entry(cache, 300))
    assert cache.find_entry("d") is None
    cache.add_entry("a", make_entry(cache, 50))
    assert (tmp_path / "tables" / "a" / "0.parquet").stat().st_size == 100


def test_what_nobody_used_for_a_day_goes(tmp_path: Path) -> None:
    cache = TableCache(tmp_path / "tables")
    cache.add_entry("a", make_entry(cache, 10))
    abandoned = make_entry(cache, 10)
    for path in (tmp_path / "tables" / "a", abandoned):
        os.utime(path, (1, 1))
    assert cache.find_entry("a") is None
    cache.add_entry("b", make_entry(cache, 10))
    assert [entry.name for entry in entries(tmp_path / "tables")] == ["b"]


def test_a_folder_of_somebody_else_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert TableCache(tmp_path / "link").make_entry_folder("k") is None
    (tmp_path / "open").mkdir(mode=0o755)
    assert TableCache(tmp_path / "open").make_entry_folder("k") is not None
    assert (tmp_path / "open").stat().st_mode & 0o777 == 0o700


async def test_a_cut_is_said_with_the_number_of_all_rows(bench: Bench) -> None:
    text = "n,v\n" + "".join(f"{number},{number * 7 % 61}\n" for number in range(60))
    workbench = bench({"t.csv": text})
    cut = await run_query("SELECT n, v FROM t WHERE v >= 0 ORDER BY v DESC LIMIT 25", workbench)
    assert (cut.row_count, cut.rows_before_limit) == (25, 60)
    for whole in ("SELECT n FROM t LIMIT 60", "SELECT count(*) FROM (SELECT n FROM t LIMIT 5)"):
        assert (await run_query(whole, workbench)).rows_before_limit is None
    endless = "WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r) SELECT x FROM r, t LIMIT 3"
    assert len((await run_query(endless, workbench)).rows) == 3


async def test_a_chart_of_some_rows_says_of_how_many(bench: Bench) -> None:
    text = "n,v\n" + "".join(f"name{number},{number}\n" for number in range(1, 41))
    sql = "SELECT n, v FROM t ORDER BY v DESC LIMIT 5"
    told = await draw_chart(
        DrawChartArguments(title="Top", kind="bar", sql=sql, x="n", y=["v"]), bench({"t.csv": text})
    )
    assert "Note in the picture: 5 of 40 rows of the query" in told.text


async def test_sql_on_a_kept_table_reaches_no_other_file(bench: Bench, own_cache: Path, tmp_path: Path) -> None:
    workbench = bench({"sales.csv": TEXT})
    await run_query(SQL, workbench)
    other = tmp_path / "other.csv"
    write(other, "a,b\n1,2\n")
    (entry,) = entries(own_cache)
    later = no_fetch(workbench, tmp_path / "later")
    sources = (("read_csv", other), ("read_text", entry / "tables.json"), ("glob", own_cache / "*"))
    for reader, source in sources:
        with pytest.raises(QueryFailed, match="no files and no network"):
            await run_query(f"SELECT *, (SELECT 1 FROM sales LIMIT 1) FROM {reader}('{source}')", later)  # noqa: S608 - the point
    assert (await run_query(SQL, later)).rows == RIGHT
