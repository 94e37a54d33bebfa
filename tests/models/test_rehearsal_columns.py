"""Which columns of a profile the rehearsed analyst takes for the words of a task."""

from __future__ import annotations

import pytest

from bot.models.rehearsal_profile import best_fitting, category, measures, read_profile, time_column
from bot.models.rehearsal_sql import Question, questions, read_rows, statements

PROFILE = """sales.csv is table sales: 1,216 rows, 9 columns (comma-separated, UTF-8)
- month DATE: 2025-07-01 to 2026-06-01, 12 distinct
- region VARCHAR: 4 distinct: North (54), South (54), East (54), West (54)
- "Plan name" VARCHAR: 2 distinct: Basic (108), Pro (108)
- order_id BIGINT: 1 to 1216, mean 600, sum 9, 1,216 distinct
- customers BIGINT: 100 to 400, mean 200, sum 43200, 180 distinct
- new_customers BIGINT: 1 to 20, mean 9, sum 1944, 20 distinct
- churned_customers BIGINT: 2 empty; 1 to 20, mean 9, sum 1944, 20 distinct
- revenue_eur DECIMAL(18,2): 1.50 to 2.50, mean 2, sum 400.00, 200 distinct
- comment VARCHAR: 1,216 distinct, such as a, b: c, d
First rows (month | region):
2025-07-01 | North

Parse report:
- sales.csv: 2 rows with fewer cells"""
(TABLE,) = read_profile(PROFILE)


def test_a_profile_is_read_whole() -> None:
    assert (TABLE.file, TABLE.name, TABLE.rows, len(TABLE.columns)) == ("sales.csv", "sales", 1216, 9)
    plan = TABLE.columns[2]
    assert (plan.name, plan.sql, plan.distinct, plan.values) == ("Plan name", '"Plan name"', 2, ("Basic", "Pro"))
    assert TABLE.columns[0].span == 335


@pytest.mark.parametrize(
    ("task", "names"),
    [
        ("why did churn rise", ["churned_customers"]),
        ("how many churned customers", ["churned_customers"]),
        ("number of customers", ["customers"]),
        ("churned customers and revenue", ["churned_customers", "revenue_eur"]),
        ("what were our sales", ["revenue_eur"]),
        ("how is it going", []),
    ],
)
def test_measures_are_chosen_by_the_words(task: str, names: list[str]) -> None:
    assert [column.name for column in best_fitting(measures(TABLE), task)] == names


@pytest.mark.parametrize(
    ("task", "names"),
    [
        ("revenue by region", ["region"]),
        ("revenue by region and plan", ["region", "Plan name"]),
        ("which plan is best", ["Plan name"]),
        ("revenue in the north", ["region"]),
        ("revenue", ["Plan name"]),
    ],
)
def test_categories_are_chosen_by_the_words(task: str, names: list[str]) -> None:
    assert [column.name for column in category(TABLE, task)] == names


def test_queries_name_columns_safely_and_group_by_the_period_asked_for() -> None:
    when = time_column(TABLE, "by quarter")
    asked = questions(TABLE, best_fitting(measures(TABLE), "revenue"), category(TABLE, "by plan"), when, "by quarter")
    assert [question.title for question in asked] == [
        "total revenue in EUR by Plan name",
        "total revenue in EUR by quarter",
    ]
    assert '"Plan name", sum(revenue_eur) AS total_revenue_eur' in asked[0].sql
    assert "date_trunc('quarter', month)" in asked[1].sql


def test_rows_are_read_and_told_exactly() -> None:
    question = Question("t", "s", "region", "total_units")
    rows = read_rows("region | total_units | row_count\nNorth | 30 | 3\nSouth | 10 | 2\nNULL | 5 | 1\n(3 rows)")
    assert rows is not None
    assert rows.as_markdown().splitlines()[2] == "| North | 30 | 3 |"
    assert statements(question, rows, "in the south?") == [
        "North has the largest total units by region: 30, 66.7 % of all shown.",
        "South has the smallest: 10.",
        "South: total units 10.",
    ]
    assert read_rows("a | b\n1 | 2 | 3") is None
    assert read_rows("") is None
