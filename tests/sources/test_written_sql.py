"""SQL that is written from a tree says that tree and no more, whatever stands in its texts and names."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import create_engine
from sqlalchemy.engine import Connection
from sqlglot import exp

from specialists.tools.databases import named_databases, read_only_sql
from specialists.tools.databases.database_session import make_read_only
from specialists.tools.databases.named_databases import Kind
from specialists.tools.databases.read_only_sql import NotReadOnly, make_read_only_statement

KINDS: tuple[Kind, ...] = ("postgresql", "mysql", "sqlite")
AWKWARD = "'\"`\\[]$;-#/*!@:?%{}()&\u00a0\u3000\u200b\n\r\tEeUuNnXxBb_09 "
texts = st.text(
    st.sampled_from(AWKWARD) | st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12
)
names = texts.filter(bool)
BINARY = (exp.Add, exp.Sub, exp.Mul, exp.EQ, exp.LT, exp.GTE, exp.And, exp.Or, exp.Like, exp.Is)
TYPES = ("INT", "TEXT", "DATE")
CALLS = ("LOWER", "COALESCE", "ROUND", "COUNT", "MAX", "REPLACE", "LENGTH")


def column(name: str) -> exp.Column:
    return exp.Column(this=exp.Identifier(this=name, quoted=True))


leaves = st.one_of(
    texts.map(exp.Literal.string),
    st.integers(0, 10**20).map(exp.Literal.number),
    st.decimals(0, 10**6, places=3).map(lambda number: exp.Literal.number(str(number))),
    names.map(column),
    st.tuples(names, names).map(
        lambda pair: exp.Column(
            this=exp.Identifier(this=pair[0], quoted=True), table=exp.Identifier(this="t" + pair[1], quoted=True)
        )
    ),
    st.just(exp.Null()),
)


def branches(inner: st.SearchStrategy[exp.Expr]) -> st.SearchStrategy[exp.Expr]:
    one = inner.map(lambda node: exp.Paren(this=node))
    return st.one_of(
        st.tuples(st.sampled_from(BINARY), one, one).map(lambda got: got[0](this=got[1], expression=got[2])),
        one.map(lambda node: exp.Not(this=node)),
        one.map(lambda node: exp.Neg(this=node)),
        st.tuples(st.sampled_from(CALLS), st.lists(inner, min_size=1, max_size=3)).map(
            lambda got: exp.Anonymous(this=got[0], expressions=got[1])
        ),
        st.tuples(inner, st.sampled_from(TYPES)).map(lambda got: exp.cast(got[0], got[1])),
        st.tuples(one, st.lists(inner, min_size=1, max_size=3)).map(
            lambda got: exp.In(this=got[0], expressions=got[1])
        ),
        st.tuples(one, inner, inner).map(lambda got: exp.Case(ifs=[exp.If(this=got[0], true=got[1])], default=got[2])),
        st.tuples(inner, names).map(lambda got: exp.Subquery(this=select([got[0]], got[1]))),
    )


def select(values: list[exp.Expr], table: str) -> exp.Select:
    made = exp.Select(expressions=[exp.alias_(one, "a", quoted=True) for one in values])
    return made.from_(exp.Table(this=exp.Identifier(this="t" + table, quoted=True)))


trees = st.tuples(st.lists(st.recursive(leaves, branches, max_leaves=12), min_size=1, max_size=3), names).map(
    lambda got: select(*got)
)


def words(tree: exp.Expr) -> list[str]:
    """Every text and name in a tree, in order."""
    return sorted(node.name for node in tree.walk() if isinstance(node, exp.Literal | exp.Identifier))


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(tree=trees)
def test_what_is_written_is_read_back_as_the_same_tree(kind: Kind, tree: exp.Select) -> None:
    for node in tree.find_all(exp.Column):  # to PostgreSQL a name behind a dot may be a call
        if node.args.get("table"):
            node.args["table"].set("this", tree.args["from_"].this.name)
    written = read_only_sql._write_statement(tree, kind)
    back = read_only_sql._parse_statement(written, kind)
    assert words(back) == words(tree)
    again = read_only_sql._write_statement(back, kind)  # sqlglot reads (NULL) IS (NULL) for SQLite as (NULL) IS NULL
    assert words(read_only_sql._parse_statement(again, kind)) == words(tree)
    assert read_only_sql._parse_statement(again, kind) == back
    assert read_only_sql._write_statement(read_only_sql._parse_statement(again, kind), kind) == again
    read_only_sql._check_tree(back, kind)
    assert read_only_sql._is_unambiguous(written, kind)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=150, deadline=None)
@given(sql=st.text(st.sampled_from(AWKWARD + "selct1,=") | st.characters(exclude_categories=["Cs"]), max_size=60))
def test_whatever_is_sent_is_refused_or_written_plainly(kind: Kind, sql: str) -> None:
    for text in (sql, f"select {sql}", f"select 1 from t where {sql}"):  # noqa: S608 - which it is to hold
        try:
            written = make_read_only_statement(text, kind)
        except NotReadOnly:
            continue
        assert make_read_only_statement(written, kind) == written


# ---------------------------------------------------------------- what real servers read in it


@pytest.fixture(params=["shop", "logs", "notes"])
def session(request: pytest.FixtureRequest) -> Iterator[tuple[Kind, Connection]]:
    """A session that only reads, of a server whose usual modes change what quotes and backslashes mean."""
    one = named_databases.read_databases(f"it={request.getfixturevalue(request.param)}")[0]["it"]
    odd = {
        "postgresql": "SET standard_conforming_strings = off",
        "mysql": "SET SESSION sql_mode = 'ANSI,NO_BACKSLASH_ESCAPES,HIGH_NOT_PRECEDENCE'",
    }
    engine = create_engine(one.url)
    with engine.connect() as connection:
        if one.kind in odd:
            connection.exec_driver_sql(odd[one.kind])
            connection.commit()
        make_read_only(connection, one.kind, 20)
        yield one.kind, connection.execution_options(no_parameters=True)
    engine.dispose()


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(values=st.lists(texts, min_size=1, max_size=4))
def test_a_server_reads_the_texts_that_were_written(session: tuple[Kind, Connection], values: list[str]) -> None:
    kind, connection = session
    tree = exp.Select(expressions=[exp.alias_(exp.Literal.string(one), f"a{n}") for n, one in enumerate(values)])
    statement = make_read_only_statement(read_only_sql._write_statement(tree, kind), kind)
    assert list(connection.exec_driver_sql(statement).one()) == values
