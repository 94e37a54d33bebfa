"""The conditions of a query are told as the query words them, with the rows that they leave."""

from __future__ import annotations

import json

import duckdb
import pytest

from specialists.tools.tables.row_filters import row_filters

ROWS = "SELECT * FROM (VALUES ('N', 1, 'paid'), ('S', NULL, 'open'), ('N', 3, 'paid')) AS t(region, amount, status)"


@pytest.mark.parametrize(
    ("condition", "told"),
    [
        ("amount IS NOT NULL", ["amount IS NOT NULL: 2 of 3 rows"]),
        ("\"amount\" IS NULL AND status = 'open'", ["amount IS NULL AND status = open: 1 of 3 rows"]),
        ("region IN ('N', 'S')", []),  # leaves out no row
        ("status='paid' AND amount BETWEEN 2 AND 5", ["status = paid AND amount BETWEEN 2 AND 5: 1 of 3 rows"]),
        ("NOT (region = 'S')", ["NOT (region = S): 2 of 3 rows"]),
        ("region LIKE 'N%'", ["region LIKE N%: 2 of 3 rows"]),
    ],
)
def test_a_condition_stands_whole(condition: str, told: list[str]) -> None:
    query = f"SELECT sum(amount) FROM sales WHERE {condition}"  # noqa: S608 - of this test
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE sales AS {ROWS}")
        found = connection.execute("SELECT json_serialize_sql(?)", [query]).fetchone()
        assert found is not None
        assert row_filters(connection, query, json.loads(found[0])) == told


@pytest.mark.parametrize(
    ("column", "told"),
    [
        ("sum(CASE WHEN status = 'paid' THEN amount END)", ["status = paid: 2 of 3 rows"]),
        ("sum(CASE WHEN status = 'paid' THEN 1 ELSE 0 END)", ["status = paid: 2 of 3 rows"]),
        ("sum(CASE status WHEN 'paid' THEN amount END)", ["status = paid: 2 of 3 rows"]),
        ("CASE WHEN amount < 2 THEN 'low' ELSE 'high' END", []),  # every row is in one group or the other
        ("sum(CASE region WHEN 'N' THEN amount / 12 ELSE amount END)", []),
    ],
)
def test_a_case_leaves_rows_out_only_where_it_gives_them_nothing(column: str, told: list[str]) -> None:
    query = f"SELECT {column} FROM sales GROUP BY ALL"  # noqa: S608 - of this test
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE sales AS {ROWS}")
        found = connection.execute("SELECT json_serialize_sql(?)", [query]).fetchone()
        assert found is not None
        assert row_filters(connection, query, json.loads(found[0])) == told
