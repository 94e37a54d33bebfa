"""SQL that wants out, or wants everything: each is refused or ended, and the bot goes on."""

from __future__ import annotations

import asyncio
import os
import re
from pathlib import Path

import psutil
import pytest

from specialists.sandbox.child_process import ChildReply, Given, Limits, run_child
from specialists.tools.tables import tables
from specialists.tools.tables.database import open_duckdb, shut
from specialists.tools.tables.query import query
from specialists.tools.tables.refused import TableRefused
from specialists.tools.tables.tables import QueryFailed, QueryTable, run_query
from tests.patience import patience

from .conftest import Bench

TESTS = Path(__file__).parents[1]
_CHANGES = "Only one SELECT at a time"
_OUTSIDE = "SQL reads the attached tables only, no files and no network."


@pytest.mark.parametrize(
    ("sql", "said"),
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
def test_hostile_and_wrong_sql_is_refused(tmp_path: Path, sql: str, said: str) -> None:
    with open_duckdb() as connection:
        connection.execute("CREATE TABLE a AS SELECT 1::BIGINT AS n")
        shut(connection)
        with pytest.raises(TableRefused, match=re.escape(said)) as refused:
            query(connection, sql.replace("{folder}", str(tmp_path)), 10)
    assert "root:" not in str(refused.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "sql",
    [
        "COPY a TO '{folder}/out.csv'",
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT 1; SET enable_external_access = true; SELECT * FROM read_text('/etc/passwd')",
    ],
)
async def test_the_same_holds_in_the_child(bench: Bench, tmp_path: Path, sql: str) -> None:
    told = await tables.query_table(QueryTable(sql=sql.replace("{folder}", str(tmp_path))), bench({"a.csv": "n\n1\n"}))
    assert told.failed
    assert "root:" not in told.text
    assert not os.path.exists(tmp_path / "out.csv")  # noqa: ASYNC240, PTH110 - one look


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM range(1000000000) a, range(1000000000) b WHERE hash(a.range + b.range) = 1",
        "WITH RECURSIVE t(x) AS (SELECT 1::HUGEINT UNION ALL SELECT x + 1 FROM t) SELECT count(*) FROM t",
        "SELECT length(repeat('x', 1500000000))",
        "SELECT list(range) FROM range(2000000000)",
        "SELECT * FROM range(2000000000) ORDER BY hash(range)",
        "SELECT string_agg(repeat('x', 100000), '') FROM range(100000)",
    ],
)
async def test_heavy_sql_is_ended_at_its_limit(bench: Bench, sql: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "_LIMITS", Limits(memory_mb=1500, cpu_seconds=4, file_mb=256))
    told = await tables.query_table(QueryTable(sql=sql), bench({"a.csv": "n\n1\n"}))
    assert told.failed
    assert any(words in told.text for words in ("processor time", "memory", "longer than 20 s"))


async def test_giant_cells_come_back_cut(bench: Bench) -> None:
    told = await run_query("SELECT repeat('x', 10000000) AS x FROM a", bench({"a.csv": "n\n1\n"}))
    assert len(told.rows[0][0]) == 500


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


async def sleeper(request: dict[str, object], *, deadline: float, largest_reply: int) -> ChildReply:
    return await run_child(
        f"{__package__}.sleeper",
        request,
        limits=Limits(memory_mb=500, cpu_seconds=10),
        deadline=deadline,
        largest_reply=largest_reply,
        given=Given(reads=[TESTS]),
    )


async def test_the_deadline_ends_the_child_and_its_session() -> None:
    reply = await sleeper({}, deadline=1.0, largest_reply=10)
    assert (reply.failure, reply.output) == ("time", b"")


async def test_a_child_that_says_too_much_is_ended() -> None:
    reply = await sleeper({"say": 100_000}, deadline=20, largest_reply=1000)
    assert reply.failure == "too_much"


async def test_a_child_sees_neither_our_environment_nor_our_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLACK_BOT_TOKEN", "xoxb-not-for-children")
    reply = await sleeper({"look": True}, deadline=20, largest_reply=10_000)
    told = reply.output.decode()
    assert reply.failure == ""
    assert "SLACK_BOT_TOKEN" not in told
    assert str(Path.cwd()) not in told.splitlines()[0]
    assert "leadhand-" in told.splitlines()[0]


async def test_a_child_that_dies_is_a_failure_not_an_exception(caplog: pytest.LogCaptureFixture) -> None:
    reply = await sleeper({"die": "secret cell"}, deadline=20, largest_reply=10)
    assert reply.failure == "crash"
    assert "ValueError" in caplog.text
    assert "secret cell" not in caplog.text


async def test_a_query_without_any_table_named_still_needs_one(bench: Bench) -> None:
    with pytest.raises(QueryFailed, match="No table is attached"):
        await run_query("SELECT 1", bench({}))
