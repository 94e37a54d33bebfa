"""Which columns of a profile the rehearsed analyst takes for the words of a task."""

from __future__ import annotations

import pytest

from bot.models.rehearsal.rehearsed_profile import best_fitting, category, measures, read_profile, time_column
from bot.models.rehearsal.rehearsed_sql import Question, questions, read_rows, statements

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
        ("revenue per month", []),
        ("which month had the most revenue", []),
        ("revenue of Basic per month", []),
        ("revenue in the north by plan", ["Plan name"]),
        ("compare Basic and Pro", ["Plan name"]),
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
        "South: total units 10.",
        "North has the largest total units by region: 30, 66.7 % of all shown.",
        "South has the smallest: 10.",
    ]
    assert read_rows("a | b\n1 | 2 | 3") is None
    assert read_rows("") is None


def asked(text: str) -> list[Question]:
    """The queries for a task about the table."""
    return questions(TABLE, best_fitting(measures(TABLE), text), category(TABLE, text), time_column(TABLE, text), text)


@pytest.mark.parametrize(
    ("task", "titles"),
    [
        ("revenue by region", ["total revenue in EUR by region"]),
        ("revenue per month", ["total revenue in EUR by month"]),
        ("revenue", ["total revenue in EUR", "total revenue in EUR by Plan name", "total revenue in EUR by month"]),
        ("how many rows by region", ["number of rows by region"]),
        (
            "revenue by region in March 2026",
            [
                "total revenue in EUR, in March 2026",
                "total revenue in EUR by region, in March 2026",
            ],
        ),
        (
            "revenue of Basic by region in Q3 2025",
            [
                "total revenue in EUR, in Q3 2025, where Plan name is Basic",
                "total revenue in EUR by region, in Q3 2025, where Plan name is Basic",
            ],
        ),
        ("revenue by region since March 2026", ["total revenue in EUR by region"]),
    ],
)
def test_what_is_asked_for_is_shown_and_nothing_else(task: str, titles: list[str]) -> None:
    assert [question.title for question in asked(task)] == titles


@pytest.mark.parametrize(
    ("task", "condition"),
    [
        (
            "revenue by region in March 2026",
            "month >= DATE '2026-03-01' AND month < DATE '2026-03-01' + INTERVAL 1 MONTH",
        ),
        ("revenue by region in Q3 2025", "month >= DATE '2025-07-01' AND month < DATE '2025-07-01' + INTERVAL 3 MONTH"),
        ("revenue by region in 2025", "month >= DATE '2025-01-01' AND month < DATE '2025-01-01' + INTERVAL 12 MONTH"),
        ("revenue of the basic plan per month", "\"Plan name\" = 'Basic'"),
    ],
)
def test_a_period_or_a_value_that_is_named_narrows_the_rows(task: str, condition: str) -> None:
    assert all(condition in question.sql for question in asked(task))


def test_the_first_and_the_last_few_are_as_many_as_asked_for() -> None:
    (top,), (bottom,) = asked("top 2 regions by revenue"), asked("bottom 2 regions by revenue")
    assert top.sql.endswith("ORDER BY 2 DESC, 1 LIMIT 2")
    assert bottom.sql.endswith("ORDER BY 2 ASC, 1 LIMIT 2")
    rows = read_rows("region | total_revenue_eur | row_count\nNorth | 10 | 3\nSouth | 30 | 2\n(2 rows)")
    assert rows is not None
    assert statements(top, rows, "") == [
        "South has the largest total revenue in EUR by region: 30, 75.0 % of all shown."
    ]
    assert statements(bottom, rows, "") == ["North has the smallest total revenue in EUR by region: 10."]


def test_counts_and_ties_are_told_by_group() -> None:
    (question,) = asked("how many rows by region")
    rows = read_rows("region | number_of_rows\nNorth | 3\nEast | 2\nSouth | 2\n(3 rows)")
    assert rows is not None
    assert statements(question, rows, "") == [
        "North has the largest number of rows by region: 3, 42.9 % of all shown.",
        "East and South have the smallest: 2.",
    ]
