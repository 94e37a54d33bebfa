"""What the rehearsed analyst makes of the words of a task: each becomes a part of a query, or is left over."""

from __future__ import annotations

import re

import pytest

from bot.models.rehearsal.brief_parsing import NO_MODEL_MESSAGE, SUGGESTION_PREFIX, Brief, ListedFile
from bot.models.rehearsal.query_sql import SqlQuery, make_sql_query
from bot.models.rehearsal.rehearsed_analyst import choose_move
from bot.models.rehearsal.request_reading import read_request
from bot.models.rehearsal.result_sentences import format_figure, make_sentences, read_rows
from bot.models.rehearsal.table_profile import read_profile
from bot.models.rehearsal.table_query import Query
from handoff.contracts import ToolCall, ToolReply

PROFILE = """sales.csv is table sales: 1,216 rows, 11 columns (comma-separated, UTF-8)
- month DATE: 2025-07-01 to 2026-06-01, 12 distinct
- region VARCHAR: 4 distinct: North (54), South (54), East (54), West (54)
- "Plan name" VARCHAR: 2 distinct: Basic (108), Pro (108)
- order_id BIGINT: 1 to 1216, mean 600, sum 9, 1,216 distinct
- customers BIGINT: 100 to 400, mean 200, sum 43200, 180 distinct
- new_customers BIGINT: 1 to 20, mean 9, sum 1944, 20 distinct
- churned_customers BIGINT: 2 empty; 1 to 20, mean 9, sum 1944, 20 distinct
- revenue_eur DECIMAL(18,2): 1.50 to 2.50, mean 2, sum 400.00, 200 distinct
- margin_pct DOUBLE: 1 to 20, mean 9, sum 1944, 20 distinct
- "Visits per week" DOUBLE: 1 to 20, mean 9, sum 1944, 20 distinct
- comment VARCHAR: 1,216 distinct, such as a, b: c, d
First rows (month | region):
2025-07-01 | North

Parse report:
- sales.csv: 2 rows with fewer cells"""
(TABLE,) = read_profile(PROFILE)


def read(text: str, *before: str) -> Query:
    return read_request(TABLE, text, ["sales.csv"], before)


def test_a_profile_is_read_whole() -> None:
    assert (TABLE.file, TABLE.name, TABLE.row_count, len(TABLE.columns)) == ("sales.csv", "sales", 1216, 11)
    plan = TABLE.columns[2]
    assert (plan.name, plan.quoted_name, plan.distinct_count, plan.frequent_values) == (
        "Plan name",
        '"Plan name"',
        2,
        ("Basic", "Pro"),
    )
    assert (str(TABLE.columns[0].last_date), TABLE.columns[6].empty_count) == ("2026-06-01", 2)


@pytest.mark.parametrize(
    ("tasks", "title"),
    [
        ("revenue", "total revenue in EUR"),
        ("revenue by region", "total revenue in EUR by region"),
        ("what were our sales by region", "total revenue in EUR by region"),
        ("revenue per month", "total revenue in EUR by month"),
        ("which month had the most revenue", "total revenue in EUR by month"),
        ("which region has the highest revenue", "total revenue in EUR by region"),
        ("which 2 regions have the highest revenue", "total revenue in EUR by region"),
        ("largest revenue by region", "largest revenue in EUR by region"),
        ("revenue by each region, highest first", "total revenue in EUR by region"),
        ("revenue in the north", "total revenue in EUR, where region is North"),
        ("revenue with North and South", "total revenue in EUR, where region is North or South"),
        ("revenue without North and South", "total revenue in EUR, where region is not North or South"),
        ("how many rows does each region have", "number of rows by region"),
        ("what is the most common plan", "number of rows by Plan name"),
        ("which region has the most orders", "number of rows by region"),
        ("number of customers", "total customers, at the end (2026-06-01)"),
        ("customers in Q1 2026", "total customers, in Q1 2026, at its end"),
        ("how many churned customers", "total churned customers"),
        ("find out why churn rose in this CSV, chart it", "total churned customers by month"),
        ("revenue by region in March", "total revenue in EUR by region, in March 2026"),
        ("revenue by region in Q3 2025", "total revenue in EUR by region, in Q3 2025"),
        ("share of revenue by region", "share of revenue eur in % by region"),
        ("share of rows with Basic", "share of rows in %, where Plan name is Basic"),
        ("average visits per week by region", "average visits per week by region"),
        ("largest visits per week", "largest visits per week"),
        # follow-ups, each after what it goes on from
        ("revenue by region / and by plan?", "total revenue in EUR by Plan name"),
        ("revenue by region / and by plan? / only North", "total revenue in EUR by Plan name, where region is North"),
        ("average revenue by region in March 2026 / and in May 2026?", "average revenue in EUR by region, in May 2026"),
        ("revenue by region / how many churned customers?", "total churned customers"),
        ("revenue by region / and the median?", "median revenue in EUR by region"),
    ],
)
def test_what_is_asked_for_is_shown_and_nothing_else(tasks: str, title: str) -> None:
    *before, task = tasks.split(" / ")
    found = read(task, *before)
    assert (found.decline_reason, found.unused_words, make_sql_query(found).title) == ("", (), title)


@pytest.mark.parametrize(
    ("task", "unused_words"),
    [
        ("revenue of green lamps by region", "green lamps"),
        ("revenue by region without tax", "without tax"),
        ("revenue by region in Q7", "Q7"),
        ("revenue not yet by region", "not yet"),
        ("revenue last month", "last month"),
        ("revenue never North", "never"),
        ("revenue higher than in May 2026", "higher than"),
        ("only revenue by region", "only"),
        ("revenue by region still", "still"),
        ("revenue now", "now"),
        ("what will revenue be by region", "will"),
        ("compare revenue of North and South", "compare"),
        ("revenue from March 2026 to May 2026", "March 2026 May"),
        ("revenue by region > 5", "> 5"),
        ("revenue of paused shops in North", "paused shops"),
        ("how is it going", "going"),
        ("revenue of the top 40 regions", "top 40 regions"),
    ],
)
def test_words_that_no_query_uses_decline_the_request(task: str, unused_words: str) -> None:
    assert {*unused_words.split()} <= {*read(task).unused_words}
    assert any(word in read(task).decline_reason for word in unused_words.split())


@pytest.mark.parametrize(
    "task",
    """churn rate by region / revenue per customer / total margin_pct / margin_pct by region / visits per week by region
    share of visits per week by region / average and median revenue / average number of customers by region
    revenue of new customers / customers without North but North / why did revenue drop in March
    share of revenue in North and Basic / does North have the highest revenue by region / revenue by region and plan
    churned customers and revenue / why did churn rise by region / revenue by region per month / the most revenue
    which order has the most orders / revenue of 2 regions / which region has most Basic / revenue highest first
    average number of orders by region / average revenue per region / which region was ordered most
    revenue since March 2026 / revenue from March 2026
    revenue by region highest first and lowest first""".replace("\n    ", " / ").split(" / "),
)
def test_what_is_not_certain_is_declined(task: str) -> None:
    assert read(task).decline_reason


def test_a_total_of_what_the_file_is_named_after_may_be_its_rows_or_its_figure() -> None:
    (table,) = read_profile("""signups.csv is table signups: 40 rows, 2 columns (comma-separated, UTF-8)
- region VARCHAR: 2 distinct: North (20), South (20)
- revenue_eur DOUBLE: 1 to 20, mean 9, sum 360, 20 distinct""")
    for task in ("total signups", "total signups by region", "sum of signups"):
        trouble = read_request(table, task, ["signups.csv"]).decline_reason
        assert trouble == "whether that counts rows or adds up “revenue_eur”", task
    for task in ("how many signups", "signups by region", "how many signups by region"):
        query = read_request(table, task, ["signups.csv"])
        assert (query.is_count, query.decline_reason) == (True, ""), task


def test_a_person_chooses_the_figure_that_a_request_leaves_open() -> None:
    assert "Which figure in sales.csv do you mean: customers, new_customers" in say("which plan is best")


@pytest.mark.parametrize(
    ("task", "order", "sentence_starts"),
    [
        ("top 2 regions by revenue", "total_revenue_eur DESC) <= 2 ORDER BY 2 DESC", ["South has the largest"]),
        ("bottom 2 regions by revenue", "total_revenue_eur ASC) <= 2 ORDER BY 2 ASC", ["North has the smallest"]),
        ("revenue by region, lowest first", "GROUP BY 1 ORDER BY 2 ASC", ["North has the smallest", "South has the"]),
        ("revenue by month, highest first", "GROUP BY 1 ORDER BY 2 DESC", ["South has the largest", "North has the"]),
    ],
)
def test_rows_come_in_the_order_that_is_asked_for(task: str, order: str, sentence_starts: list[str]) -> None:
    question = make_sql_query(read(task))
    rows = read_rows("region | total_revenue_eur\nNorth | 10\nSouth | 30\n(2 rows)")
    assert order in question.sql
    assert rows is not None
    told = make_sentences(question, rows)
    assert len(told) == len(sentence_starts)
    assert all(one.startswith(begins) for one, begins in zip(told, sentence_starts, strict=True))


def test_rows_are_read_and_told_with_numbers_as_people_write_them() -> None:
    question = SqlQuery("t", "s", "region", "total_units", "groups")
    rows = read_rows("region | total_units\nNorth | 30123.5\nSouth | 10\nNULL | 5\n(3 rows)")
    assert rows is not None
    assert rows.as_markdown().splitlines()[2::2] == ["| North | 30,123.50 |", "| (empty) | 5 |"]
    assert make_sentences(question, rows) == [
        "North has the largest total units: 30,123.50.",
        "(empty) has the smallest total units: 5.",
    ]
    assert read_rows("a | b\n1 | 2 | 3") is None
    assert [format_figure(cell) for cell in ("8668735.0099999", "7", "x", "NULL")] == ["8,668,735.01", "7", "x", "none"]


def test_of_more_days_than_are_shown_no_end_is_told() -> None:
    rows = read_rows("day | total_units\n2026-01-01 | 3\n2026-01-02 | 4\n(2 rows)")
    assert rows is not None
    cut = SqlQuery("t", "s", "day", "total_units", "time", max_rows=2)
    assert make_sentences(cut, rows) == ["Only the first 2 are shown; ask about a shorter period, or by month."]


def say(task: str, rows: str = "") -> str:
    """What the analyst hands in of a task about the table, after the rows of its query if there are any."""
    profile = ToolCall(id="1", name="profile_table", arguments={"file": "sales.csv"})
    history = [(profile, ToolReply(call_id="1", text=PROFILE))]
    if rows:
        query = ToolCall(id="2", name="query_table", arguments={"sql": make_sql_query(read(task)).sql})
        history.append((query, ToolReply(call_id="2", text=rows)))
    ((_, told),) = choose_move(Brief(task, files=(ListedFile("sales.csv", "text/csv"),)), history, {}).calls
    return str(told.get("message", told.get("content")))


@pytest.mark.parametrize("task", ["revenue of eligible shops", "average revenue per region", "the most revenue"])
def test_a_refusal_says_why_and_names_two_questions_that_are_answered(task: str) -> None:
    said = say(task)
    assert said.startswith("In sales.csv I can't tell ")
    assert NO_MODEL_MESSAGE in said
    tries = re.findall("“([^”]+)”", said.partition(SUGGESTION_PREFIX)[2])
    assert len(tries) == 2
    assert not any(read(one).decline_reason for one in tries)


def test_rows_without_a_value_are_named_in_a_total_and_in_an_outline() -> None:
    total = say("total churned customers", "total_churned_customers\n1944\n(1 rows)")
    assert "In sales.csv, 2 rows have no value in churned_customers." in total
    assert "no value" not in say("total revenue", "total_revenue_eur\n400\n(1 rows)")
    assert "churned_customers: 20 different values, 2 rows have no value" in say("describe sales.csv")
