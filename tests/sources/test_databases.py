"""Databases: what is asked for is read, and nothing is changed, whatever a model sends; real servers of three kinds."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.exc import DBAPIError

from bot.settings import read_settings
from specialists.tools.databases import database_child, database_session, database_tools, named_databases
from specialists.tools.databases.database_tools import ListTablesArguments, QueryDatabaseArguments
from specialists.tools.databases.named_databases import ANY_USER_SETTING
from specialists.tools.toolkit import Toolkit, ToolSettings
from tests.patience import patience

from .places import bench

SLOW = """with recursive n(i) as (select 1 union all select i + 1 from n where i < 900)
select count(*) from n a, n b, n c, n d"""

TOTALS = "select region, sum(amount) as total from orders where note like '%' group by region order by 1;"


def test_the_setting_names_databases_and_each_entry_that_is_none() -> None:
    found, faults = named_databases.read_databases(
        "shop=postgresql://ada:p%40ss@db.example.com/shop, old = sqlite:////srv/old.db\nlogs=mysql://u@h:3307/logs,"
        "odd=oracle://x, shop=sqlite:///again.db"
    )
    assert [(one.name, one.kind, one.display_address) for one in found.values()] == [
        ("shop", "postgresql", "db.example.com/shop"),
        ("old", "sqlite", "/srv/old.db"),
        ("logs", "mysql", "h:3307/logs"),
    ]
    assert faults == (
        (
            "LEADHAND_DATABASES: the address of its entry 4 does not begin with postgresql://, mysql:// or "
            "sqlite:///path; write a comma in a password as %2C"
        ),
        "LEADHAND_DATABASES names shop twice; rename one",
    )
    found, faults = named_databases.read_databases("shop=sqlite:///a.db, old=sqlite:///b.db", "old, odd")
    assert [one.name for one in found.values() if one.allows_any_user] == ["old"]
    assert faults == ("LEADHAND_DATABASES_ANY_USER names 'odd', which LEADHAND_DATABASES does not",)


def test_a_password_is_in_no_line_and_is_known_as_a_secret() -> None:
    found, _ = named_databases.read_databases("shop=postgresql://ada:p%40ss@db.example.com/shop")
    assert found["shop"].redact_secrets('no "p@ss" nor p%40ss') == 'no "***" nor ***'
    assert "p@ss" in read_settings({"LEADHAND_DATABASES": "shop=postgresql://ada:p%40ss@db/shop"}).secrets


# ---------------------------------------------------------------- real databases


@pytest.fixture(params=["shop", "logs", "notes"])
def database(request: pytest.FixtureRequest) -> named_databases.Database:
    """Each of the three."""
    return named_databases.read_databases(f"it={request.getfixturevalue(request.param)}")[0]["it"]


def ask(database: named_databases.Database, **question: Any) -> dict[str, Any]:
    """What the child answers, asked in this process."""
    where = {"url": database.url, "kind": database.kind, "any_user": True, "tag": "leadhand test"}
    return database_child._answer_request({**where, "seconds": 5, "most": 2, **question})


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
    with database_child._make_engine(database.url, database.kind).connect() as connection:
        database_session.make_read_only(connection, database.kind, 5)
        with pytest.raises(DBAPIError, match=r"(?i)read.?only"):
            connection.exec_driver_sql("delete from orders")


def test_a_statement_that_takes_too_long_is_ended_by_its_server(shop: str, logs: str) -> None:
    slow = {shop: "select count(*) from generate_series(1, 10000000000)", logs: SLOW}
    for url, sql in slow.items():
        database = named_databases.read_databases(f"it={url}")[0]["it"]
        said = ask(database, task="query", sql=sql, seconds=1)["error"]
        assert "timeout" in said or "max_statement_time" in said


async def test_a_mysql_is_told_to_end_what_was_cut_off(logs: str) -> None:
    """It does not notice that whoever asked is gone, as a PostgreSQL does; a SQLite ends with its process."""
    database = named_databases.read_databases(f"it={logs}")[0]["it"]
    slow = asyncio.create_task(asyncio.to_thread(ask, database, task="query", sql=SLOW, seconds=50))
    async with asyncio.timeout(patience()):
        while not ask(database, task="stop")["stopped"]:  # noqa: ASYNC110 - the server tells nobody
            await asyncio.sleep(0.05)
        assert "interrupted" in (await slow)["error"]


# ---------------------------------------------------------------- users who may do too much

USERS = {
    "shop": (
        ("reader", "", ""),
        ("filer", "grant pg_read_server_files to filer", "the role pg_read_server_files"),
        ("runner", "grant pg_execute_server_program to runner", "the role pg_execute_server_program"),
        ("heir", "grant boss to heir", "superuser"),
        ("copier", "alter role copier replication", "the attribute REPLICATION"),
        ("caller", "grant execute on function pg_read_file(text) to caller", "the function pg_read_file"),
    ),
    "logs": (
        ("reader", "", ""),
        ("filer", "grant file on *.* to filer@localhost", "FILE"),
        ("boss", "grant super, shutdown on *.* to boss@localhost", "SHUTDOWN, SUPER"),
        ("ruler", "grant all on *.* to ruler@localhost", "ALL PRIVILEGES"),
        (
            "actor",
            "create role f; grant file on *.* to f; grant f to actor@localhost; set default role f for actor@localhost",
            "FILE",
        ),
    ),
}
"""Users of each server: the name, what they are granted beside reading, and the rights that are too many."""


@pytest.fixture(scope="module")
def users(shop: str, logs: str) -> dict[str, str]:
    """Addresses of the databases, with `{user}` in them, once the users of `USERS` are made."""
    addresses = {"shop": shop.replace("boss@", "{user}@"), "logs": logs.replace("root@", "{user}@")}
    makes = {
        "shop": "create role {0} login; grant pg_read_all_data to {0}",
        "logs": "create user {0}@localhost; grant select on logs.* to {0}@localhost",
    }
    for name, url in (("shop", shop), ("logs", logs)):
        driver = url.replace("postgresql:", "postgresql+psycopg:").replace("mysql:", "mysql+pymysql:")
        engine = create_engine(driver)
        with engine.begin() as connection:
            for user, grants, _ in USERS[name]:
                for statement in filter(None, f"{makes[name].format(user)}; {grants}".split("; ")):
                    connection.exec_driver_sql(statement)
        engine.dispose()
    return addresses


@pytest.mark.parametrize(
    ("server", "user", "rights"),
    [(server, user, rights) for server, those in USERS.items() for user, _, rights in those],
)
def test_a_user_who_may_do_more_than_read_tables_is_refused(
    users: dict[str, str], server: str, user: str, rights: str
) -> None:
    database = named_databases.read_databases(f"it={users[server].format(user=user)}")[0]["it"]
    refused = {"refused": rights.split(", ")}
    for task in ("query", "tables", "rights"):
        answer = ask(database, task=task, sql=TOTALS, any_user=False)
        assert answer == refused if rights else "refused" not in answer
    assert ask(database, task="query", sql=TOTALS)["columns"] == ["region", "total"]


async def test_a_refused_database_is_left_out_by_name_and_the_start_logs_it(
    users: dict[str, str], notes: str, caplog: pytest.LogCaptureFixture
) -> None:
    setting = f"shop={users['shop'].format(user='heir')}, notes={notes}, away=postgresql://x@127.0.0.1:1/x"
    toolkit = database_tools.make_database_toolkit(ToolSettings({"LEADHAND_DATABASES": setting}))
    outcome = await toolkit.tools[0].run(ListTablesArguments(), bench())
    assert not outcome.failed
    assert "The database shop is not queried: its user has superuser" in outcome.text
    assert "# notes (sqlite): 2 tables and views" in outcome.text
    assert (await query(toolkit, "select 1 as n", "notes")).text == "n\n1\n(1 row)"
    assert toolkit.prove is not None
    line = (
        "The database shop is not queried: its user has superuser, more than reading tables needs. Whoever runs the "
        "bot can give it a user that may only read (docs/documents.md), or allow this one with "
        "LEADHAND_DATABASES_ANY_USER=shop."
    )
    refused, away = await toolkit.prove()
    assert refused == line
    assert away.startswith("The database away cannot be reached")
    assert toolkit.background_task is not None
    with caplog.at_level(logging.WARNING):
        await toolkit.background_task()
    assert [record.getMessage() for record in caplog.records] == [line]


# ---------------------------------------------------------------- the tools


def kit(url: str) -> Toolkit:
    return database_tools.make_database_toolkit(
        ToolSettings({"LEADHAND_DATABASES": f"shop={url}", ANY_USER_SETTING: "shop"})
    )


async def query(toolkit: Toolkit, sql: str, database: str = "") -> Any:
    return await toolkit.tools[1].run(QueryDatabaseArguments(sql=sql, database=database), bench())


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
    (database,) = named_databases.read_databases("shop=postgresql://ada:s3cret@127.0.0.1:1/s3cret")[0].values()
    line = database_tools.unwrap_answer(database, ask(database, task="tables"))
    assert isinstance(line, str)
    assert line.startswith("The database shop cannot be reached (")
    assert "127.0.0.1" in line
    assert "s3cret" not in line
    assert "\n" not in line


async def test_what_is_not_set_up_or_not_named_is_said(notes: str) -> None:
    unset = database_tools.make_database_toolkit(ToolSettings())
    assert "LEADHAND_DATABASES" in (await query(unset, "select 1")).text
    two = database_tools.make_database_toolkit(ToolSettings({"LEADHAND_DATABASES": f"a={notes}, b={notes}"}))
    assert (await query(two, "select 1")).text == "Say which database; there are: a, b."
    assert (await query(two, "select 1", "c")).text == "There is no database 'c'; there are: a, b."
    outcome = await two.tools[0].run(ListTablesArguments(database="c"), bench())
    assert outcome.failed
