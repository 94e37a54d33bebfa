"""What may be asked of a database, and what must not: `statements.yml`, played against real servers of three kinds."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from sqlalchemy import create_engine

from specialists.tools.databases import database_child, named_databases
from specialists.tools.databases.named_databases import Kind
from specialists.tools.databases.read_only_sql import NotReadOnly, make_read_only_statement, read_allowed_functions

SERVERS: Mapping[str, Kind] = {"shop": "postgresql", "logs": "mysql", "notes": "sqlite"}
STATEMENTS = yaml.safe_load((Path(__file__).parent / "statements.yml").read_text(encoding="utf-8"))
MORE = {
    "postgresql": ("alter table orders add column placed date, add column details jsonb",),
    "mysql": ("alter table orders add column placed date, add column details text",),
    "sqlite": (
        "alter table orders add column placed date",
        "alter table orders add column details text",
        "create view big_orders as select upper(region), amount from orders where amount > 6",
        "create virtual table found using fts5(words)",
        "insert into found values ('hello world')",
    ),
}
ROWS = (
    """update orders set placed = '2026-01-31', details = '{"a":{"b":"c"}}' where id < 3""",
    "update orders set placed = '2026-02-01' where id = 3",
)
STOLEN = Path("/tmp/stolen")  # noqa: S108 - where the statements try to write


def those(word: str) -> list[Any]:
    """Every kind of database with each statement that is for all, or for it."""
    return [
        pytest.param(server, one, id=f"{kind}-{number}")
        for server, kind in SERVERS.items()
        for number, one in enumerate((*STATEMENTS["all"][word], *STATEMENTS[kind][word]))
    ]


@pytest.fixture(scope="session")
def prepared_servers() -> set[str]:
    """The servers that have got the further columns."""
    return set()


def database(request: pytest.FixtureRequest, server: str, prepared: set[str]) -> named_databases.Database:
    url = request.getfixturevalue(server)
    found = named_databases.read_databases(f"it={url}", "it")[0]["it"]
    if server not in prepared:
        prepared.add(server)
        engine = create_engine(url if found.kind == "sqlite" else found.url)
        with engine.begin() as connection:
            for one in (*MORE[found.kind], *ROWS):
                connection.exec_driver_sql(one)
        engine.dispose()
    return found


def ask(one: named_databases.Database, sql: str) -> dict[str, Any]:
    request = {"task": "query", "sql": sql, "url": one.url, "kind": one.kind, "any_user": True}
    return database_child._answer_request({**request, "tag": "leadhand test", "seconds": 20, "most": 50})


@pytest.mark.parametrize(("server", "statement"), those("runs"))
def test_what_only_reads_is_run(
    request: pytest.FixtureRequest, prepared_servers: set[str], server: str, statement: dict[str, Any]
) -> None:
    answer = ask(database(request, server, prepared_servers), statement["sql"])
    assert "rows" in answer, f"{statement['sql']}: {answer}"
    given = [str(cell) for cell in answer["rows"][0][: len(statement.get("gives", ()))]] if answer["rows"] else []
    assert given == statement.get("gives", [])


@pytest.mark.parametrize(("server", "statement"), those("refused"))
def test_all_else_is_refused_even_to_a_user_who_may_do_all(
    request: pytest.FixtureRequest, prepared_servers: set[str], server: str, statement: str
) -> None:
    """The answer is ours: no server was sent the statement. SQLite alone knows its tables, and is asked."""
    one = database(request, server, prepared_servers)
    answer = ask(one, statement)
    assert set(answer) == {"error"}
    if not re.search(r"is SQLite's own, and is not read or called here\.$|^no such table: ", answer["error"]):
        with pytest.raises(NotReadOnly) as fault:
            make_read_only_statement(statement, one.kind)
        assert answer["error"] == str(fault.value)
    assert not STOLEN.exists()


@pytest.mark.parametrize("server", SERVERS)
def test_after_all_of_it_the_tables_are_as_they_were(
    request: pytest.FixtureRequest, prepared_servers: set[str], server: str
) -> None:
    rows = ask(database(request, server, prepared_servers), "select count(*), min(id), max(id) from orders")["rows"]
    assert rows == [[3, 1, 3]]


@pytest.mark.parametrize("kind", SERVERS.values())
@pytest.mark.parametrize(
    ("sql", "word"),
    [
        ("(" * 3000 + "select 1" + ")" * 3000, "nested"),
        ("select " + "- " * 4000 + "1", "nested"),
        (f"select {'1, ' * 8000}1", "longer than 20,000"),
    ],
    ids=["brackets", "signs", "length"],
)
def test_what_is_nested_too_deeply_or_too_long_is_refused_in_words(kind: Kind, sql: str, word: str) -> None:
    with pytest.raises(NotReadOnly, match=word):
        make_read_only_statement(sql, kind)


def test_a_refusal_says_which_function_and_what_to_do() -> None:
    with pytest.raises(NotReadOnly) as fault:
        make_read_only_statement("select x.a, discount(x.a) from x", "postgresql")
    assert str(fault.value) == (
        "The function discount is not on the list of those that are run here on PostgreSQL. Use another one; a "
        "function of this database's own can be put into a view by whoever looks after it."
    )


def test_functions_on_the_list_of_postgresql_change_nothing(shop: str) -> None:
    """Its own word for that is the volatility. Those that are volatile and on the list are known by name."""
    harmless = """array_sample array_shuffle clock_timestamp current_query gen_random_uuid pg_database_size
    pg_indexes_size pg_is_in_recovery pg_partition_ancestors pg_partition_tree pg_relation_size pg_table_size
    pg_total_relation_size random random_normal timeofday uuidv4 uuidv7"""
    engine = create_engine(shop.replace("postgresql:", "postgresql+psycopg:"))
    with engine.connect() as connection:
        query = "SELECT proname FROM pg_proc WHERE provolatile = 'v' AND proname = ANY(%s)"
        names = connection.exec_driver_sql(query, (list(read_allowed_functions("postgresql")),)).scalars()
        assert set(names) == set(harmless.split())
    engine.dispose()


@pytest.mark.parametrize("kind", SERVERS.values())
def test_each_function_on_the_lists_can_be_called(kind: Kind) -> None:
    wordy = {"extract", "position", "overlay", "group_concat", "overlaps", "match"}
    if kind == "postgresql":
        wordy -= {"match"}
    for name in read_allowed_functions(kind) - wordy:
        arguments = "1, 2, 3" if name == "if" else "1"
        written = make_read_only_statement(f"select {name}({arguments}) as x", kind)
        assert written.lower().startswith((f"select {name}(", "select iif(")), written
