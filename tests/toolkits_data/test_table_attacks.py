"""SQL that wants out, or wants everything: each is refused or ended, and the bot goes on."""

from __future__ import annotations

import asyncio
import io
import re
import zipfile
from pathlib import Path

import psutil
import pytest

from specialists.sandbox.child_process import ChildLimits
from specialists.tools.tables import table_tools
from specialists.tools.tables.duckdb_database import disable_external_access, open_duckdb
from specialists.tools.tables.query_execution import execute_query
from specialists.tools.tables.table_errors import TableRefused
from specialists.tools.tables.table_tools import ProfileTableArguments, QueryTableArguments, run_query
from tests.patience import patience

from .conftest import Bench, workbook_bytes

_CHANGES = "Only one SELECT at a time"
_OUTSIDE = "SQL reads the attached tables only, no files and no network."


@pytest.mark.parametrize(
    ("sql", "expected_words"),
    [
        ("COPY a TO '{folder}/out.csv'", _CHANGES),
        ("COPY (SELECT 1) TO '{folder}/out.parquet' (FORMAT parquet)", _CHANGES),
        ("EXPORT DATABASE '{folder}/out'", _CHANGES),
        ("ATTACH '{folder}/out.db' AS x", _CHANGES),
        ("INSTALL httpfs", _CHANGES),
        ("LOAD httpfs", _CHANGES),
        ("PRAGMA database_list", _CHANGES),
        ("SET enable_external_access = true", _CHANGES),
        ("RESET lock_configuration", _CHANGES),
        ("CREATE TABLE b AS SELECT 1", _CHANGES),
        ("DROP TABLE a", _CHANGES),
        ("SELECT 1; SET enable_external_access = true; SELECT 2", _CHANGES),
        ("", _CHANGES),
        ("SELECT * FROM read_csv('/etc/passwd')", _OUTSIDE),
        ("SELECT * FROM read_text('/proc/self/environ')", _OUTSIDE),
        ("SELECT * FROM read_blob('{folder}/*')", _OUTSIDE),
        ("SELECT * FROM glob('/etc/*')", _OUTSIDE),
        ("SELECT * FROM sniff_csv('/etc/passwd')", _OUTSIDE),
        ("SELECT * FROM parquet_metadata('/etc/passwd')", _OUTSIDE),
        ("SELECT * FROM query('SELECT * FROM read_csv(''/etc/passwd'')')", _OUTSIDE),
        ("SELECT * FROM read_csv('http://127.0.0.1:9/x.csv')", _OUTSIDE),
        ("SELECT * FROM 'https://127.0.0.1:9/x.parquet'", _OUTSIDE),
        ("SELECT * FROM '/etc/passwd'", "does not exist"),
        ("SELECT getenv('HOME')", "getenv does not exist"),
        ("SELECT * FROM request", "request does not exist"),
        ("SELEC 1", "syntax error"),
        ("SELECT nosuch FROM a", "Tables: a(n BIGINT)"),
    ],
)
def test_hostile_and_wrong_sql_is_refused(tmp_path: Path, sql: str, expected_words: str) -> None:
    with open_duckdb() as connection:
        connection.execute("CREATE TABLE a AS SELECT 1::BIGINT AS n")
        disable_external_access(connection)
        with pytest.raises(TableRefused, match=re.escape(expected_words)) as refused:
            execute_query(connection, sql.replace("{folder}", str(tmp_path)), 10)
    assert "root:" not in str(refused.value)
    assert list(tmp_path.iterdir()) == []


async def test_the_same_holds_in_the_child(bench: Bench) -> None:
    sql = "SELECT 1; SET enable_external_access = true; SELECT * FROM read_text('/etc/passwd')"
    told = await table_tools.query_table(QueryTableArguments(sql=sql), bench({"a.csv": "n\n1\n"}))
    assert told.failed
    assert "root:" not in told.text


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM range(1000000000) a, range(1000000000) b WHERE hash(a.range + b.range) = 1",
        "WITH RECURSIVE t(x) AS (SELECT 1::HUGEINT UNION ALL SELECT x + 1 FROM t) SELECT count(*) FROM t",
        "SELECT length(repeat('x', 1500000000))",
        "SELECT * FROM range(2000000000) ORDER BY hash(range)",
    ],
)
async def test_heavy_sql_is_ended_at_its_limit(bench: Bench, sql: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_tools, "_LIMITS", ChildLimits(memory_mb=1500, cpu_seconds=2, file_mb=256))
    told = await table_tools.query_table(QueryTableArguments(sql=sql), bench({"a.csv": "n\n1\n"}))
    assert told.failed
    assert any(words in told.text for words in ("processor time", "memory", "longer than 20 s"))


async def test_a_workbook_that_unpacks_to_far_more_than_memory_is_bounded(bench: Bench) -> None:
    files: dict[str, bytes | str] = {"bomb.xlsx": _bomb(workbook_bytes({"S": [["a"]]}))}
    told = await table_tools.profile_table(ProfileTableArguments(file="bomb.xlsx"), bench(files))
    assert told.failed
    assert any(words in told.text for words in ("memory", "processor time", "longer than 20 s", "broken workbook"))


def _bomb(source: bytes) -> bytes:
    """A workbook of a few MB whose one sheet holds 20 million cells."""
    target = io.BytesIO()
    row = "<row>{}</row>".format('<c t="inlineStr"><is><t>x</t></is></c>' * 200)
    with (
        zipfile.ZipFile(io.BytesIO(source)) as old,
        zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as new,
    ):
        for item in old.namelist():
            if not item.endswith("sheet1.xml"):
                new.writestr(item, old.read(item))
        with new.open("xl/worksheets/sheet1.xml", "w") as sheet:
            sheet.write(b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>')
            for _ in range(1000):
                sheet.write(row.encode() * 100)
            sheet.write(b"</sheetData></worksheet>")
    return target.getvalue()


async def test_giant_cells_come_back_cut(bench: Bench) -> None:
    reply = await run_query("SELECT repeat('x', 10000000) AS x FROM a", bench({"a.csv": "n\n1\n"}))
    assert len(reply.rows[0][0]) == 500


async def test_a_cancelled_query_leaves_no_process_behind(bench: Bench) -> None:
    me = psutil.Process()
    before = {child.pid for child in me.children()}
    task = asyncio.create_task(
        run_query("SELECT count(*) FROM range(1000000000) a, range(1000000000) b", bench({"a.csv": "n\n1\n"}))
    )
    async with asyncio.timeout(patience()):
        while not (started := {child.pid for child in me.children()} - before):  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not any(psutil.pid_exists(pid) for pid in started)
