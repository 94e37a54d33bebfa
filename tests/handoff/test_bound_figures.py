"""Figures of a result: each has a cell, a text or a person that says it, and belongs to the row beside it."""

from __future__ import annotations

import pytest

from handoff.contracts import Result
from handoff.evidence.binding import Binding, Document, bind_result
from handoff.evidence.typed_constants import typed_constants

ORDERS = """order_id,order_date,country,status,amount_eur
1001,2026-03-02,DE,paid,120.50
1002,2026-03-05,FR,paid,89.90
1003,2026-03-09,ES,open,257.80
1004,2026-03-21,DE,paid,312.85
1005,2026-04-02,DE,paid,198.45
1006,2026-04-03,FR,open,145.30
1007,2026-04-11,DE,open,300.00
1008,2026-04-19,FR,paid,144.20
"""
TABLE = Document("orders.csv", ORDERS, is_table=True)
BRIEF = Document("the brief", "How much was sold by country and month?", is_material=False, is_brief=True)


def replied(sql: str, rows: str, tail: str = "") -> Document:
    """The reply to a query, as the tools for tables write it."""
    count = rows.count("\n")
    text = f"{rows}\n({count} row{'' if count == 1 else 's'}{tail})"
    return Document("orders.csv", text, is_material=False, query=sql, code=sql)


BY_COUNTRY = replied(
    "SELECT country, sum(amount_eur) AS total FROM orders GROUP BY 1",
    "country | total\nDE | 931.8\nFR | 379.4\nES | 257.8",
)
BY_MONTH = replied(
    "SELECT strftime(order_date, '%Y-%m') AS month, sum(amount_eur) AS total FROM orders GROUP BY 1",
    "month | total\n2026-03 | 781.05\n2026-04 | 787.95",
)
TOTAL = replied("SELECT sum(amount_eur) AS total FROM orders", "total\n1569.0")
PAID = replied(
    "SELECT sum(amount_eur) AS total FROM orders WHERE status='paid'",
    "total\n865.9",
    "; only status = paid: 5 of 8 rows",
)
MARCH = replied(
    "SELECT sum(amount_eur) AS t FROM orders WHERE order_date >= '2026-03-01' AND order_date < '2026-04-01'",
    "t\n781.05",
    "; only order_date >= 2026-03-01 AND order_date < 2026-04-01: 4 of 8 rows",
)
PRICES = replied(
    "SELECT product, region, round(avg(price)) AS price_usd FROM p GROUP BY ALL",
    "product | region | price_usd\nDesk | North | 1200\nDesk | South | 1350\nRelay | North | 640\nRelay | South | 777",
)
OPEN = replied("SELECT late, count(*) AS n FROM o GROUP BY ROLLUP (1)", "late | n\nyes | 1203\nno | 997\nTotal | 2200")
RIGHT: list[tuple[Document | None, str]] = [
    (BY_COUNTRY, "DE comes first with 931.80 EUR, then FR with 379.40 EUR and ES with 257.80 EUR."),
    (BY_COUNTRY, "| Country | Total |\n|---|---|\n| DE | 931.80 |\n| FR | 379.40 |\n| ES | 257.80 |"),
    (BY_COUNTRY, "Deutschland (DE) liegt mit 931,80 € vorn, gefolgt von FR mit 379,40 €."),
    (BY_COUNTRY, "Germany leads with €931.80, ahead of France with €379.40."),
    (BY_COUNTRY, "DE and FR together made 1,311.20 EUR."),
    (BY_COUNTRY, "FR made 379.40 EUR, 59 % less than DE."),
    (BY_MONTH, "Sales rose from 781.05 EUR in March to 787.95 EUR in April."),
    (BY_MONTH, "Der Umsatz stieg von 781,05 € im März auf 787,95 € im April 2026."),
    (BY_MONTH, "En avril, le total atteint 787,95 €, contre 781,05 € en mars."),
    (BY_MONTH, "In April sales rose to 787.95 from 781.05."),
    (BY_MONTH, "4月の売上は787.95ユーロで、3月の781.05ユーロを上回りました。"),
    (BY_MONTH, "Von März bis April stieg der Umsatz um 0,9 % auf 787,95 €."),
    (OPEN, "There are 1,203 with no delay."),
    (OPEN, "In total, 1,203 of them were sent."),
    (TOTAL, "Total revenue was 1,569 EUR, with March ahead of April."),
    (TOTAL, "El total de marzo y abril es de 1569 €."),
    (TOTAL, "Across paid and open orders the total is 1,569 EUR."),
    (PAID, "The paid orders come to 865.90 EUR."),
    (MARCH, "March brought in 781.05 EUR."),
    (MARCH, "En marzo se vendieron 781,05 €."),
    (PRICES, "In the North, Desk costs 1,200 USD and Relay 640 USD."),
    (PRICES, "Relay in the South costs $777, Desk $1,350."),
    (None, "The order 1003 over 257.80 EUR from ES is still open."),
    (None, "Die höchste Bestellung ist die 1004 aus DE mit 312,85 €."),
]
WRONG: list[tuple[Document | None, str, str]] = [
    (BY_COUNTRY, "FR comes first with 931.80 EUR.", "931.80 is the figure of DE, not of FR"),
    (BY_COUNTRY, "DE: 379.40 EUR", "379.40 is the figure of FR, not of DE"),
    (BY_COUNTRY, "| DE | 379.40 |\n| FR | 931.80 |\n| ES | 257.80 |", "931.80 is the figure of DE, not of FR"),
    (
        BY_COUNTRY,
        "ES liegt mit 931,80 € vorn, dahinter DE mit 379,40 € und FR mit 257,80 €.",
        "931,80 is the figure of DE",
    ),
    (BY_COUNTRY, "En tête, FR avec 931,80 €.", "931,80 is the figure of DE, not of FR"),
    (BY_COUNTRY, "El mayor es ES con 931,80 €.", "931,80 is the figure of DE, not of ES"),
    (BY_COUNTRY, "DE comes first with $931.80.", "931.80 is in EUR, not in USD"),
    (BY_MONTH, "Sales fell from 787.95 EUR in March to 781.05 EUR in April.", "787.95 is the figure of 2026-04"),
    (BY_MONTH, "Im März waren es 787,95 €.", "787,95 is the figure of 2026-04, not of 2026-03"),
    (BY_MONTH, "En mars, le total était de 787,95 €.", "787,95 is the figure of 2026-04, not of 2026-03"),
    (BY_MONTH, "3月の売上は787.95ユーロでした。", "787.95 is the figure of 2026-04, not of 2026-03"),
    (TOTAL, "In March we sold 1,569 EUR.", "1,569 is of all rows, not of March"),
    (TOTAL, "DE made 1,569 EUR.", "1,569 is of all rows, not of DE"),
    (TOTAL, "Total: $1,569", "1,569 is in EUR, not in USD"),
    (PAID, "The open orders come to 865.90 EUR.", "865.90 is of the rows with status = paid: 5 of 8 rows, not of open"),
    (MARCH, "Im April wurden 781,05 € verkauft.", "not of April"),
    (PRICES, "In the North, Desk costs 1,350 USD.", "1,350 is the figure of Desk, South, not of Desk, North"),
    (None, "The order 1003 from FR over 257.80 EUR is still open.", "not of 2026-03-05, FR, paid"),
]


def bound(content: str, *documents: Document | None, said: tuple[str, ...] = ()) -> Binding:
    read = [one for one in documents if one is not None]
    return bind_result(Result(summary="A summary.", content=content), [TABLE, *read, BRIEF], said)


@pytest.mark.parametrize(("reply", "text"), RIGHT)
def test_a_figure_of_its_own_row_period_and_unit_stands(reply: Document | None, text: str) -> None:
    found = bound(text, reply, said=() if reply else (ORDERS,))
    assert found.faults == ()
    assert (found.result.unbound, found.result.unsupported) == ((), ())


@pytest.mark.parametrize(("reply", "text", "fault"), WRONG)
def test_a_figure_of_another_row_period_or_unit_is_told_with_its_own(
    reply: Document | None, text: str, fault: str
) -> None:
    found = bound(text, reply)
    assert any(fault in each for each in found.faults), found.faults
    assert found.result.unbound


def test_the_rows_that_a_figure_counts_are_kept_for_people() -> None:
    only = ("status = paid: 5 of 8 rows",)
    assert bound("All in all 865.90 EUR.", PAID).result.filters == only
    assert bound("All in all 865.90 EUR.", PAID, TOTAL).result.filters == only
    assert bound("All in all 1,569 EUR.", PAID, TOTAL).result.filters == ()


TOOL = "Region South: 41,207 units, 12.346 % churn, 1,250.50 a month, in 412 days, measured in 2024."


@pytest.mark.parametrize(
    ("content", "evidence", "fault"),
    [
        ("South sold 42,107 units.", TOOL, "“42,107” stands nowhere; what you read has “41,207”."),
        ("From 41,207 to 42,107 units.", TOOL, "“42,107”"),
        ("It is 12.34 %.", TOOL, "“12.34 %”"),
        ("It made 5,318,000.", TOOL, "“5,318,000” is said by no tool, file or person"),
        ("Of 91,920 customers.", TOOL, "“91,920” stands nowhere; what you read has “99,120”."),
        ("It took 421 days.", TOOL, "“412 days”"),
        ("South sold 412,070 units.", TOOL, "“41,207”"),
        ("41,300 units.", "41,200 units", "“41,200”"),
    ],
)
def test_a_figure_that_nobody_said_is_told_with_the_one_that_it_misquotes(
    content: str, evidence: str, fault: str
) -> None:
    documents = [Document("a tool", evidence, is_material=False)]
    found = bind_result(Result(summary="A summary.", content=content), documents, ["Of 99,120 customers"])
    assert any(fault in each for each in found.faults), found.faults
    assert found.result.unsupported


@pytest.mark.parametrize(
    "code",
    [
        "print(1234553)",
        "total = 1_000_000 + 234_553\ntotal",
        "'The total is 1,234,553'",
        "SELECT 1234553 AS total FROM orders",
        "SELECT 1000000 + 234553 FROM orders",
        "SELECT 'in all 1,234,553' AS told",
        "SELECT * FROM (VALUES ('all', 1234553)) AS t(name, total)",
    ],
)
def test_what_a_tool_was_made_to_say_is_no_evidence(code: str) -> None:
    sql = code.startswith("SELECT")
    reply = Document("a tool", "total\n1234553\n(1 row)", is_material=False, code=code, query=code if sql else "")
    assert bound("We sold for 1,234,553 euros.", reply).result.unsupported == ("1,234,553",)
    assert bound("We sold for 1,234,553 euros.", reply, said=["It was 1,234,553; 1,000,000 and 234,553."]).faults == ()


@pytest.mark.parametrize(
    "code",
    [
        "(3 * 4.20 + 11) * 1.19",
        "round(1569 / 12, 2)",
        "for month in range(1, 20): pass",
        "(date(2026, 12, 25) - date(2026, 11, 26)).days",
        "SELECT floor(amount_eur / 25) * 25 AS bin, count(*) FROM orders GROUP BY 1",
        "SELECT sum(amount_eur) * 0.7 FROM orders WHERE amount_eur > 137 LIMIT 50",
        "SELECT count(*), round(avg(amount_eur), 2), max(order_date) - DATE '2026-03-15' FROM orders",
    ],
)
def test_numbers_of_people_files_and_calendars_may_stand_in_code(code: str) -> None:
    assert typed_constants(code, ["3 tins at 4.20 and a bag at 11 with 19 % VAT", "total | 1569.0"]) == ()
