"""The conditions of a query are told as the query words them, with the rows that they leave."""

from __future__ import annotations

import json

import duckdb
import pytest

from specialists.tools.tables.row_filters import describe_filters

ROWS = "SELECT * FROM (VALUES ('N', 1, 'paid'), ('S', NULL, 'open'), ('N', 3, 'paid')) AS t(region, amount, status)"


CONDITIONS = [
    ("amount IS NOT NULL", ["amount IS NOT NULL: 2 of 3 rows"]),
    ("\"amount\" IS NULL AND status = 'open'", ["amount IS NULL AND status = open: 1 of 3 rows"]),
    ("region IN ('N', 'S')", []),  # leaves out no row
    ("status='paid' AND amount BETWEEN 2 AND 5", ["status = paid AND amount BETWEEN 2 AND 5: 1 of 3 rows"]),
    ("NOT (region = 'S')", ["NOT (region = S): 2 of 3 rows"]),
    ("region LIKE 'N%'", ["region LIKE N%: 2 of 3 rows"]),
]
CASES = [
    ("sum(CASE WHEN status = 'paid' THEN amount END)", ["status = paid: 2 of 3 rows"]),
    ("sum(CASE WHEN status = 'paid' THEN 1 ELSE 0 END)", ["status = paid: 2 of 3 rows"]),
    ("sum(CASE status WHEN 'paid' THEN amount END)", ["status = paid: 2 of 3 rows"]),
    ("CASE WHEN amount < 2 THEN 'low' ELSE 'high' END", []),  # every row is in one group or the other
    ("sum(CASE region WHEN 'N' THEN amount / 12 ELSE amount END)", []),
]
"""A case leaves rows out only where it gives them nothing."""


@pytest.mark.parametrize(
    ("query", "filter_texts"),
    [
        *((f"SELECT sum(amount) FROM sales WHERE {condition}", told) for condition, told in CONDITIONS),  # noqa: S608
        *((f"SELECT {column} FROM sales GROUP BY ALL", told) for column, told in CASES),  # noqa: S608
    ],
)
def test_what_leaves_rows_out_is_told_whole(query: str, filter_texts: list[str]) -> None:
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE sales AS {ROWS}")
        found = connection.execute("SELECT json_serialize_sql(?)", [query]).fetchone()
        assert describe_filters(connection, query, json.loads(found[0])) == filter_texts
