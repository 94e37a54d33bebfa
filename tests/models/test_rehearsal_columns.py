"""What the rehearsed analyst makes of the words of a task: each becomes a part of a query, or is left over."""

from __future__ import annotations

import re

import pytest

from bot.models.rehearsal.rehearsed_analyst import next_move
from bot.models.rehearsal.rehearsed_brief import CAN_ASK, DECLINED_BEFORE, NO_MODEL, Brief, File
from bot.models.rehearsal.rehearsed_profile import read_profile
from bot.models.rehearsal.rehearsed_query import Query
from bot.models.rehearsal.rehearsed_request import read_request
from bot.models.rehearsal.rehearsed_sql import Question, question_of
from bot.models.rehearsal.rehearsed_telling import format_figure, read_rows, statements
from handoff.contracts import ToolCall, ToolReply

PROFILE = """sales.csv is table sales: 1,216 rows, 10 columns (comma-separated, UTF-8)
- month DATE: 2025-07-01 to 2026-06-01, 12 distinct
- region VARCHAR: 4 distinct: North (54), South (54), East (54), West (54)
- "Plan name" VARCHAR: 2 distinct: Basic (108), Pro (108)
- order_id BIGINT: 1 to 1216, mean 600, sum 9, 1,216 distinct
- customers BIGINT: 100 to 400, mean 200, sum 43200, 180 distinct
- new_customers BIGINT: 1 to 20, mean 9, sum 1944, 20 distinct
- churned_customers BIGINT: 2 empty; 1 to 20, mean 9, sum 1944, 20 distinct
- revenue_eur DECIMAL(18,2): 1.50 to 2.50, mean 2, sum 400.00, 200 distinct
- margin_pct DOUBLE: 1 to 20, mean 9, sum 1944, 20 distinct
- comment VARCHAR: 1,216 distinct, such as a, b: c, d
First rows (month | region):
2025-07-01 | North

Parse report:
- sales.csv: 2 rows with fewer cells"""
(TABLE,) = read_profile(PROFILE)


def read(text: str, *before: str) -> Query:
    return read_request(TABLE, text, ["sales.csv"], before)


def test_a_profile_is_read_whole() -> None:
    assert (TABLE.file, TABLE.name, TABLE.rows, len(TABLE.columns)) == ("sales.csv", "sales", 1216, 10)
    plan = TABLE.columns[2]
    assert (plan.name, plan.sql, plan.distinct, plan.values) == ("Plan name", '"Plan name"', 2, ("Basic", "Pro"))
    assert str(TABLE.columns[0].last) == "2026-06-01"


@pytest.mark.parametrize(
    ("task", "name"),
    [
        ("why did churn rise", "churned_customers"),
        ("how many churned customers", "churned_customers"),
        ("number of customers", "customers"),
        ("what were our sales", "revenue_eur"),
        ("how is it going", ""),
    ],
)
def test_measures_are_chosen_by_the_words(task: str, name: str) -> None:
    measure = read(task).measure
    assert (measure.name if measure else "") == name


@pytest.mark.parametrize(
    ("task", "title"),
    [
        ("revenue by region", "total revenue in EUR by region"),
        ("revenue per month", "total revenue in EUR by month"),
        ("which month had the most revenue", "total revenue in EUR by month"),
        ("which region has the highest revenue", "total revenue in EUR by region"),
        ("largest revenue by region", "largest revenue in EUR by region"),
        ("revenue", "total revenue in EUR"),
        ("revenue in the north", "total revenue in EUR, where region is North"),
        ("revenue of Basic per month", "total revenue in EUR by month, where Plan name is Basic"),
        ("revenue with North and South", "total revenue in EUR, where region is North or South"),
        ("revenue without North and South", "total revenue in EUR, where region is not North or South"),
        ("how many rows by region", "number of rows by region"),
        ("revenue by region in March 2026", "total revenue in EUR by region, in March 2026"),
        ("why did churn rise", "total churned customers by month"),
        ("find out why churn rose in this CSV, chart it", "total churned customers by month"),
        ("revenue by region in March", "total revenue in EUR by region, in March 2026"),
        ("revenue by region in Q3 2025", "total revenue in EUR by region, in Q3 2025"),
        ("revenue by region since March 2026", "total revenue in EUR by region, from March 2026"),
        ("customers by region", "total customers by region, at the end (2026-06-01)"),
        ("customers in Q1 2026", "total customers, in Q1 2026, at its end"),
        ("new customers by region", "total new customers by region"),
        ("average customers by region", "average customers by region"),
        ("share of revenue by region", "share of revenue eur in % by region"),
        ("share of rows with Basic", "share of rows in %, where Plan name is Basic"),
        ("total revenue for each region", "total revenue in EUR by region"),
        ("revenue by each region", "total revenue in EUR by region"),
        ("how many rows does each region have", "number of rows by region"),
        ("what is the most common plan", "number of rows by Plan name"),
        ("which region has the most orders", "number of rows by region"),
        ("which 2 regions have the highest revenue", "total revenue in EUR by region"),
        ("hello, revenue by region", "total revenue in EUR by region"),
    ],
)
def test_what_is_asked_for_is_shown_and_nothing_else(task: str, title: str) -> None:
    found = read(task)
    assert (found.trouble, found.unused) == ("", ())
    assert question_of(found).title == title


@pytest.mark.parametrize(
    ("task", "left"),
    [
        ("revenue of green lamps by region", ("green", "lamps")),
        ("revenue by region without tax", ("without", "tax")),
        ("revenue by region in Q7", ("Q7",)),
        ("revenue of Basic in March 1999 by shop", ("shop",)),
        ("revenue not yet by region", ("not", "yet")),
        ("revenue last month", ("last", "month")),
        ("revenue never North", ("never",)),
        ("revenue higher than in May 2026", ("higher", "than")),
        ("net revenue by region", ("net",)),
        ("only revenue by region", ("only",)),
        ("revenue by region still", ("still",)),
        ("revenue now", ("now",)),
        ("revenue over 2 by region", ("over", "2")),
        ("what will revenue be by region", ("will",)),
        ("compare revenue of North and South", ("compare",)),
        ("revenue from March 2026 to May 2026", ("March", "2026", "May")),
        ("revenue by region in March and in May", ("March", "May")),
        ("revenue by region > 5", (">", "5")),
        ("revenue of paused shops in North", ("paused", "shops")),
    ],
)
def test_words_that_no_query_uses_decline_the_request(task: str, left: tuple[str, ...]) -> None:
    assert read(task).unused == left
    assert any(word in read(task).trouble for word in left)


@pytest.mark.parametrize(
    "task",
    [
        "churn rate by region",
        "revenue per customer",
        "forecast the revenue",
        "total margin_pct",
        "margin_pct by region",
        "why is it so bad",
        "how long does it take",
        "correlation of revenue and customers",
        "fix it",
        "average and median revenue",
        "average number of customers by region",
        "revenue of new customers",
        "customers without North but North",
        "why did revenue drop in March",
        "share of revenue in North and Basic",
        "does North have the highest revenue by region",
        "revenue by region and plan",
        "churned customers and revenue",
        "why did churn rise by region",
        "revenue by region per month",
        "the most revenue",
        "which order has the most orders",
        "revenue of 2 regions",
        "which region has most Basic",
        "average number of orders by region",
    ],
)
def test_what_is_not_certain_is_declined(task: str) -> None:
    assert read(task).trouble


@pytest.mark.parametrize(
    ("before", "task", "title"),
    [
        (["revenue by region"], "and by plan?", "total revenue in EUR by Plan name"),
        (["revenue by region"], "only North", "total revenue in EUR by region, where region is North"),
        (
            ["average revenue by region in March 2026"],
            "and in May 2026?",
            "average revenue in EUR by region, in May 2026",
        ),
        (
            ["revenue by region", "and by plan?"],
            "only North",
            "total revenue in EUR by Plan name, where region is North",
        ),
        (["revenue by region"], "how many churned customers?", "total churned customers"),
        (["revenue by region"], "and the median?", "median revenue in EUR by region"),
    ],
)
def test_a_follow_up_goes_on_from_what_was_asked(before: list[str], task: str, title: str) -> None:
    assert question_of(read(task, *before)).title == title


def test_the_first_and_the_last_few_are_as_many_as_asked_for_and_ties_are_kept() -> None:
    top, bottom = (question_of(read(f"{end} 2 regions by revenue")) for end in ("top", "bottom"))
    assert "QUALIFY rank() OVER (ORDER BY total_revenue_eur DESC) <= 2" in top.sql
    assert "QUALIFY rank() OVER (ORDER BY total_revenue_eur ASC) <= 2" in bottom.sql
    rows = read_rows("region | total_revenue_eur\nNorth | 10\nSouth | 30\n(2 rows)")
    assert rows is not None
    assert statements(top, rows) == ["South has the largest total revenue in EUR: 30."]
    assert statements(bottom, rows) == ["North has the smallest total revenue in EUR: 10."]


def test_rows_are_read_and_told_with_numbers_as_people_write_them() -> None:
    question = Question("t", "s", "region", "total_units", "groups")
    rows = read_rows("region | total_units\nNorth | 30123.5\nSouth | 10\nNULL | 5\n(3 rows)")
    assert rows is not None
    assert rows.as_markdown().splitlines()[2::2] == ["| North | 30,123.50 |", "| (empty) | 5 |"]
    assert statements(question, rows) == [
        "North has the largest total units: 30,123.50.",
        "(empty) has the smallest: 5.",
    ]
    assert read_rows("a | b\n1 | 2 | 3") is None
    assert read_rows("") is None


@pytest.mark.parametrize(
    ("cell", "shown"), [("8668735.0099999", "8,668,735.01"), ("7", "7"), ("x", "x"), ("NULL", "none")]
)
def test_numbers_are_rounded(cell: str, shown: str) -> None:
    assert format_figure(cell) == shown


def said_of(task: str) -> str:
    """What the analyst hands in of a task about the table, before any query."""
    brief = Brief(task, (), (), (File("sales.csv", "text/csv"),))
    call = ToolCall(id="1", name="profile_table", arguments={"file": "sales.csv"})
    move = next_move(brief, [(call, ToolReply(call_id="1", text=PROFILE))], {})
    ((_, told),) = move.calls
    return str(told.get("message", told.get("content")))


@pytest.mark.parametrize("task", ["revenue of eligible shops", "average revenue per region", "the most revenue"])
def test_a_refusal_says_why_and_names_two_questions_that_are_answered(task: str) -> None:
    first, second = said_of(task), said_of(f"{task}\n{DECLINED_BEFORE}")
    assert first.startswith("In sales.csv I can't tell ")
    assert NO_MODEL in first
    assert second == first.replace(f" {NO_MODEL}", ""), "the second in a row is shorter"
    assert len(second.split()) < 40
    tries = re.findall("“([^”]+)”", first.partition(CAN_ASK)[2])
    assert len(tries) == 2
    assert all(not read(one).trouble and not read(one).choices for one in tries)


@pytest.mark.parametrize(
    "word", ["Hello", "Hallo!", "hi there", "Guten Tag", "help me", "hi, can you help?", "Hello, good morning!"]
)
def test_a_greeting_is_greeted_with_what_can_be_asked_of_the_file(word: str) -> None:
    assert said_of(word).startswith("Hello! I can work out figures from sales.csv: ask “total ")
