"""Figures, quotations and places of a result: each has a cell, a text or a person that says it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from handoff.checking.figures import find_unsupported_figures
from handoff.contracts import Evidence, Finding, Result, Section
from handoff.evidence.evidence_check import CheckedResult, SourceDocument, check_result
from handoff.evidence.grids import Grid, insert_rows, parse_reply_grid
from handoff.evidence.hardcoded_numbers import find_hardcoded_numbers
from handoff.evidence.period_words import find_periods
from handoff.evidence.place_words import find_named_places
from handoff.evidence.quotations import extract_quotations, find_quotation
from tests.handoff.kit import require

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
TABLE = SourceDocument("orders.csv", ORDERS, is_table=True)
BRIEF = SourceDocument("the brief", "How much was sold by country and month?", is_material=False, is_brief=True)


def make_query_reply(sql: str, rows: str, tail: str = "") -> SourceDocument:
    """The reply to a query, as the tools for tables write it."""
    count = rows.count("\n")
    text = f"{rows}\n({count} row{'' if count == 1 else 's'}{tail})"
    return SourceDocument("orders.csv", text, is_material=False, query=sql, code=sql)


BY_COUNTRY = make_query_reply(
    "SELECT country, sum(amount_eur) AS total FROM orders GROUP BY 1",
    "country | total\nDE | 931.8\nFR | 379.4\nES | 257.8",
)
BY_MONTH = make_query_reply(
    "SELECT strftime(order_date, '%Y-%m') AS month, sum(amount_eur) AS total FROM orders GROUP BY 1",
    "month | total\n2026-03 | 781.05\n2026-04 | 787.95",
)
TOTAL = make_query_reply("SELECT sum(amount_eur) AS total FROM orders", "total\n1569.0")
PAID_TOTAL = make_query_reply(
    "SELECT sum(amount_eur) AS total FROM orders WHERE status='paid'",
    "total\n865.9",
    "; only status = paid: 5 of 8 rows",
)
MARCH = make_query_reply(
    "SELECT sum(amount_eur) AS t FROM orders WHERE order_date >= '2026-03-01' AND order_date < '2026-04-01'",
    "t\n781.05",
    "; only order_date >= 2026-03-01 AND order_date < 2026-04-01: 4 of 8 rows",
)
PRICES = make_query_reply(
    "SELECT product, region, round(avg(price)) AS price_usd FROM p GROUP BY ALL",
    "product | region | price_usd\nDesk | North | 1200\nDesk | South | 1350\nRelay | North | 640\nRelay | South | 777",
)
OPEN = make_query_reply(
    "SELECT late, count(*) AS n FROM o GROUP BY ROLLUP (1)", "late | n\nyes | 1203\nno | 997\nTotal | 2200"
)
RIGHT: list[tuple[SourceDocument | None, str]] = [
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
    (PAID_TOTAL, "The paid orders come to 865.90 EUR."),
    (MARCH, "March brought in 781.05 EUR."),
    (MARCH, "En marzo se vendieron 781,05 €."),
    (PRICES, "In the North, Desk costs 1,200 USD and Relay 640 USD."),
    (PRICES, "Relay in the South costs $777, Desk $1,350."),
    (None, "The order 1003 over 257.80 EUR from ES is still open."),
    (None, "Die höchste Bestellung ist die 1004 aus DE mit 312,85 €."),
]
WRONG: list[tuple[SourceDocument | None, str, str]] = [
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
    (
        PAID_TOTAL,
        "The open orders come to 865.90 EUR.",
        "865.90 is of the rows with status = paid: 5 of 8 rows, not of open",
    ),
    (MARCH, "Im April wurden 781,05 € verkauft.", "not of April"),
    (PRICES, "In the North, Desk costs 1,350 USD.", "1,350 is the figure of Desk, South, not of Desk, North"),
    (None, "The order 1003 from FR over 257.80 EUR is still open.", "not of 2026-03-05, FR, paid"),
]


def bind_figures(content: str, *documents: SourceDocument | None, statements: tuple[str, ...] = ()) -> CheckedResult:
    read = [one for one in documents if one is not None]
    return check_result(Result(summary="A summary.", content=content), [TABLE, *read, BRIEF], statements)


@pytest.mark.parametrize(("reply", "text"), RIGHT)
def test_a_figure_of_its_own_row_period_and_unit_stands(reply: SourceDocument | None, text: str) -> None:
    found = bind_figures(text, reply, statements=() if reply else (ORDERS,))
    assert found.faults == ()
    assert (found.result.unbound, found.result.unsupported) == ((), ())


@pytest.mark.parametrize(("reply", "text", "fault"), WRONG)
def test_a_figure_of_another_row_period_or_unit_is_told_with_its_own(
    reply: SourceDocument | None, text: str, fault: str
) -> None:
    found = bind_figures(text, reply)
    assert any(fault in each for each in found.faults), found.faults
    assert found.result.unbound


def test_the_rows_that_a_figure_counts_are_kept_for_people() -> None:
    only = ("status = paid: 5 of 8 rows",)
    assert bind_figures("All in all 865.90 EUR.", PAID_TOTAL).result.filters == only
    assert bind_figures("All in all 865.90 EUR.", PAID_TOTAL, TOTAL).result.filters == only
    assert bind_figures("All in all 1,569 EUR.", PAID_TOTAL, TOTAL).result.filters == ()


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
    documents = [SourceDocument("a tool", evidence, is_material=False)]
    found = check_result(Result(summary="A summary.", content=content), documents, ["Of 99,120 customers"])
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
    reply = SourceDocument("a tool", "total\n1234553\n(1 row)", is_material=False, code=code, query=code if sql else "")
    assert bind_figures("We sold for 1,234,553 euros.", reply).result.unsupported == ("1,234,553",)
    assert (
        bind_figures(
            "We sold for 1,234,553 euros.", reply, statements=["It was 1,234,553; 1,000,000 and 234,553."]
        ).faults
        == ()
    )


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
    assert find_hardcoded_numbers(code, ["3 tins at 4.20 and a bag at 11 with 19 % VAT", "total | 1569.0"]) == ()


# ---------------------------------------------------------------- of another file, speaker, column, year or currency

NEW = "Travel 2026\n\nA night may cost up to 145 pounds in London.\n"
OLD = "Travel 2019\n\nA night may cost up to 120 pounds anywhere.\n"
MINUTES = "Lucía: The supplier raises the price by 6 % from April.\nIván: The move ends on 27 March if all goes well.\n"
RULES = "第1条 月額料金は3,800円とする。\n第2条 解約は60日前までに通知する。\n"
TEXTS = (
    SourceDocument("rules.md", NEW),
    SourceDocument("old_rules.md", OLD),
    SourceDocument("minutes.txt", MINUTES),
    SourceDocument("rules.txt", RULES),
)
VISITS = SourceDocument(
    "visits.csv",
    "month,clinic,visits,revenue_usd\n2026-01,North,412,18540\n2026-01,South,286,14872\n"
    "2026-02,North,438,20148\n2026-02,South,301,15351\n",
    is_table=True,
)


def visits_reply(rows: str) -> SourceDocument:
    text = f"{rows}\n({rows.count(chr(10))} rows)"
    return SourceDocument(
        "visits.csv", text, is_material=False, query="SELECT 1 FROM visits", code="SELECT 1 FROM visits"
    )


EACH = visits_reply(
    "month | clinic | visits | revenue_usd\n2026-02 | North | 438 | 20148\n2026-02 | South | 301 | 15351"
)
TOTAL_VISITS = SourceDocument(
    "visits.csv", "visits\n1437\n(1 row)", is_material=False, query="SELECT sum(visits) AS visits FROM visits"
)


def faults_of(content: str, *documents: SourceDocument) -> tuple[str, ...]:
    return check_result(Result(summary="s", content=content), documents).faults


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ("old_rules.md says “A night may cost up to 145 pounds in London”.", "stands in rules.md, not in old_rules.md"),
        ("It is “A night may cost up to 120 pounds anywhere” (rules.md).", "stands in old_rules.md, not in rules.md"),
        ("Iván dijo: «The supplier raises the price by 6 % from April».", "is said by Lucía, not by Iván"),
        ("月額料金は3,800円です(第2条)。", "3,800 does not stand in section 2"),
        ("A night may cost up to 145 euros in London.", "145 is in GBP, not in EUR"),
        ("Das sind 3.800 Schweizer Franken.", "3.800 is in JPY, not in CHF"),
    ],
)
def test_words_and_amounts_of_somebody_else_are_told(content: str, fault: str) -> None:
    assert any(fault in one for one in faults_of(content, *TEXTS)), faults_of(content, *TEXTS)


@pytest.mark.parametrize(
    "content",
    [
        "rules.md says “A night may cost up to 145 pounds”, old_rules.md “A night may cost up to 120 pounds”.",
        "Unlike in old_rules.md, it now says “A night may cost up to 145 pounds in London”.",
        "Lucía dijo: «The supplier raises the price by 6 % from April».",
        "Iván heard from Lucía: “The supplier raises the price by 6 % from April”.",
        "月額料金は3,800円です(第1条)。",
        "A night may cost £145 in London.",
    ],
)
def test_words_and_amounts_in_their_place_stand(content: str) -> None:
    assert faults_of(content, *TEXTS) == ()


@pytest.mark.parametrize(
    ("reply", "content", "wrong"),
    [
        (EACH, "In February, North had 301 visits and South had 438.", True),
        (EACH, "In February, North had 438 visits and South had 301.", False),
        (EACH, "There were 20,148 visits at North.", True),
        (EACH, "North took in 20,148 dollars with 438 visits.", False),
        (TOTAL_VISITS, "In 2025 there were 1,437 visits.", True),
        (TOTAL_VISITS, "In 2026 there were 1,437 visits.", False),
    ],
)
def test_a_figure_belongs_to_its_two_names_column_and_year(reply: SourceDocument, content: str, *, wrong: bool) -> None:
    assert bool(faults_of(content, VISITS, reply)) is wrong


def test_a_number_typed_into_a_query_beside_a_column_is_nobodys() -> None:
    assert find_hardcoded_numbers("SELECT sum(revenue_usd) + 15169 AS r FROM v", []) == ("15169",)
    assert find_hardcoded_numbers("SELECT x.total FROM (SELECT 48390 AS total) x", []) == ("48390",)
    assert find_hardcoded_numbers("SELECT sum(a) - sum(b), floor(a / 25) * 25 + 1 FROM v", []) == ()


def test_a_working_may_hold_what_a_share_makes_of_a_whole() -> None:
    said = ["The budget is 8,250 euros; the price rises by 6 %."]
    assert find_unsupported_figures("It is 8,745 euros [[= 8,250 * 1.06]].", said) == ()
    assert find_unsupported_figures("It is 8,827.5 euros [[= 8,250 * 1.07]].", said)


@pytest.mark.parametrize(
    ("text", "months"),
    [("في يناير وفبراير", [1, 2]), ("в марте", [3]), ("1월", [1]), ("ju\u0131n", [6]), ("AVR\u0130L", [4])],
)
def test_months_are_read_in_more_scripts(text: str, months: list[int]) -> None:
    assert [one.period.month for one in find_periods(text)] == months


# ---------------------------------------------------------------- quotations and places

CONTRACT = """\
Service agreement

1. Parties
Acme Ltd and Globex GmbH, as of 1 March 2025, in 3 copies.

2. Subject
Cleaning of the offices, five days a week.

3. Notice
Either side may end this agreement with a notice of 90 days.

4. Price
The fee is 1,850 euros per month. It is due on the first day of each month.

5. Changes
The fee may rise once a year by at most 4 %, with 60 days' notice.
"""
VERTRAG = """\
§ 1 Vertragspartner
Die Nord AG und die Süd GmbH.

§ 2 Kündigung
Die Kündigungsfrist beträgt neun Monate zum Jahresende.

§ 3 Preis
Die Vergütung beträgt 1.850 Euro im Monat.
"""
KEIYAKU = """\
第1条 当事者
甲および乙。

第2条 解約
解約するには、90日前までに書面で通知する必要があります。

第3条 料金
月額は1,850ユーロです。
"""
CONTRATO = "Cláusula 1. Partes\nLas dos empresas.\n\nCláusula 2. Plazo\nEl plazo de preaviso es de noventa días.\n"
FILES = (
    SourceDocument("contract.txt", CONTRACT),
    SourceDocument("vertrag.md", VERTRAG),
    SourceDocument("契約書.txt", KEIYAKU),
    SourceDocument("contrato.txt", CONTRATO),
)

RIGHT_QUOTED = [
    'Section 3 says: "Either side may end this agreement with a notice of 90 days."',
    "Per contract.txt, “either side may end this agreement with a\nnotice of 90 days” (section 3).",
    "contract.txt, section 5:\n> The fee may rise once a year by at most 4 %, with 60 days\u2019 notice.",
    'The contract says "The fee is 1,850 euros per month ... due on the first day of each month".',
    'contract.txt: "Either side [that is, Acme or Globex] may end this agreement"',
    "In § 2 von vertrag.md steht: „Die Kündigungsfrist beträgt neun Monate zum Jahresende“.",
    "»Die Vergütung beträgt 1.850 Euro im Monat« (Ziffer 3, vertrag.md)",
    "契約書の第2条には「解約するには、90日前までに書面で通知する必要があります」とあります。",
    "La cláusula 2 de contrato.txt dice: «El plazo de preaviso es de noventa días».",
    "Notice is 90 days (section 3); the fee may rise by 4 % (section 5).",
    "The fee is 1,850 euros per month (section 4), which makes 22,200 a year.",
    "Cleaning is on 5 days a week, with 3 duties (section 2 of contract.txt).",
    "As of 2025, the notice is 90 days (section 3).",
    'A slogan for the ad: "Clean rooms and happy people every single day"',
    "Subject: “Your new contract”. Dear team, we move on 4 May.",
    'The so-called "hot path" of contract.txt is short.',
    'Write `contract.txt: "no such words stand here at all"` as code.',
]
WRONG_QUOTED = [
    'Section 7 of contract.txt says: "The supplier bears all costs of repair and maintenance."',
    'contract.txt: "Either side may end this agreement with a notice of 60 days."',
    'Section 5 says: "Either side may end this agreement with a notice of 90 days."',
    "contract.txt says:\n> Neither side may end this agreement before its term.",
    "Notice is at least 60 days (section 3).",
    "In § 3 von vertrag.md steht: „Die Kündigungsfrist beträgt neun Monate zum Jahresende“.",
    "vertrag.md: „Die Kündigungsfrist beträgt sechs Monate zum Jahresende“",
    "Die Vergütung beträgt 1.850 Euro (§ 2).",
    "契約書.txtには「解約するには、30日前までに書面で通知する必要があります」とあります。",
    "第3条には「解約するには、90日前までに書面で通知する必要があります」とあります。",
    "La cláusula 1 de contrato.txt dice: «El plazo de preaviso es de noventa días».",
    "contrato.txt dice: «El plazo de preaviso es de treinta días».",
]


def faults(content: str, **more: Any) -> tuple[str, ...]:
    return check_result(Result(summary="s", content=content, **more), FILES).faults


@pytest.mark.parametrize("content", RIGHT_QUOTED)
def test_what_is_right_is_left_alone(content: str) -> None:
    assert faults(content) == ()


@pytest.mark.parametrize("content", WRONG_QUOTED)
def test_what_stands_nowhere_or_elsewhere_is_sent_back(content: str) -> None:
    binding = check_result(Result(summary="s", content=content), FILES)
    assert len(binding.faults) == 1
    assert len(binding.result.unbound) == 1


def test_without_material_nothing_can_be_quoted_wrongly() -> None:
    assert (
        check_result(
            Result(summary="s", content=WRONG_QUOTED[0]), [SourceDocument("the brief", "x", is_material=False)]
        ).faults
        == ()
    )


def test_the_place_is_found_by_code_and_not_taken_from_the_model() -> None:
    outline = (Section(name="page 1", start=0), Section(name="page 2", start=CONTRACT.index("4. Price")))
    told = Evidence(source="contract.txt", quotation="the fee is 1,850 euros", place="page 9")
    made_up = Evidence(source="contract.txt", quotation="the fee is 1,950 euros", place="page 1")
    findings = (Finding(message="Price", evidence=(told,)), Finding(message="Other", evidence=(made_up,)))
    binding = check_result(
        Result(summary="s", content="c", findings=findings), [SourceDocument("contract.txt", CONTRACT, outline)]
    )
    first, second = (one.evidence[0] for one in binding.result.findings)
    assert (first.place, first.is_found) == ("page 2", True)
    assert (second.place, second.is_found) == ("", False)
    assert binding.result.unbound == ("the fee is 1,950 euros",)


WORDS = st.lists(st.text("abcdefgäöüßéñ0123456789一二三四", min_size=1, max_size=8), min_size=4, max_size=30)
DAMAGE = st.sampled_from(["", "\n", "  ", "\u00a0", "\u200b ", " \t", "\r\n"])


@given(words=WORDS, data=st.data())
def test_a_quotation_is_found_whatever_its_white_space_and_dressing(words: list[str], data: st.DataObject) -> None:
    text = "Before it.\n" + " ".join(words) + "\nAfter it."
    start = data.draw(st.integers(0, len(words) - 3))
    quoted = words[start : data.draw(st.integers(start + 2, len(words)))]
    damaged = "".join(data.draw(st.sampled_from(["", "**"])) + one + data.draw(DAMAGE) + " " for one in quoted).strip()
    assume(any(sign.isalnum() for sign in damaged))
    at = require(find_quotation(text, f"“{damaged}.”".strip("“”")))
    plain = "".join(quoted)
    assert "".join(text[at:].split()).startswith(plain[0])


@given(words=WORDS, data=st.data())
def test_one_other_sign_is_another_text(words: list[str], data: st.DataObject) -> None:
    text = " ".join(words)
    at = data.draw(st.integers(0, len(text) - 1).filter(lambda place: text[place].isalnum()))
    other = data.draw(st.sampled_from("xyzXYZ").filter(lambda sign: sign.casefold() != text[at].casefold()))
    assert find_quotation(text, text[:at] + other + text[at + 1 :]) is None


def test_a_word_broken_at_the_end_of_a_line_is_whole() -> None:
    text = "The supp-\nlier bears the well-\nknown costs, the “\ufb01ne print” \u2013 all of it."
    for quoted in ("the supplier bears", "well-known costs", 'the "fine print" - all of it'):
        assert find_quotation(text, quoted) is not None, quoted
    assert find_quotation(text, "the supplier bears no") is None


def test_quotations_of_a_text_are_told_from_its_code() -> None:
    text = (
        'He said "one two three" and `"four five six"`.\n```\n"seven eight nine"\n```\n> ten\n> eleven\n\n「十二十三」'
    )
    assert [one.words for one in extract_quotations(text)] == ["one two three", "ten\neleven", "十二十三"]


@pytest.mark.parametrize(
    ("sentence", "places"),
    [
        ("see section 7 and page 4", [("section", 7), ("page", 4)]),
        ("§ 5 und Seite 12", [("page", 12), ("section", 5)]),
        ("第7条、3ページ", [("section", 7), ("page", 3)]),
        ("a rise of 5 % within 30 days", []),
        ("section 4.5 is not asked, nor is page 3%", []),
    ],
)
def test_places_are_read_in_any_of_the_languages(sentence: str, places: list[tuple[str, int]]) -> None:
    assert sorted(find_named_places(sentence)) == sorted(places)


# ---------------------------------------------------------------- rows that code puts into a text

REPLY = "country | total\nDE | 931.8\nFR | 379.4\n(2 rows; only status = paid: 5 of 8 rows)"


def grid(text: str = REPLY) -> Grid:
    return require(parse_reply_grid("orders.csv", text, "SELECT 1"))


def test_the_last_rows_are_put_in_with_their_condition() -> None:
    other = grid("n\n8\n(1 row)")
    shown = insert_rows("By country:\n[[rows]]\nIn all [[rows 1]]", [other, grid()])
    assert shown.fault == ""
    assert "| country | total |\n| --- | --- |\n| DE | 931.8 |\n| FR | 379.4 |" in shown.text
    assert "_(status = paid: 5 of 8 rows)_" in shown.text
    assert "In all \n| n |\n| --- |\n| 8 |" in shown.text


def test_a_place_without_rows_is_sent_back_in_words() -> None:
    assert insert_rows("[[rows]]", []).fault == "[[rows]] stands for no rows: no query brought rows."
    assert insert_rows("[[rows 2]]", [grid()]).fault == "[[rows 2]] stands for no rows: only 1 query brought rows."
    assert "only 2 queries brought rows" in insert_rows("[[rows 3]]", [grid(), grid()]).fault


def test_of_many_rows_the_first_are_shown_and_all_are_counted() -> None:
    text = "n\n" + "".join(f"{one}\n" for one in range(100, 180)) + "(80 rows)"
    shown = insert_rows("[[rows]]", [grid(text)]).text
    assert shown.count("\n| 1") == 30
    assert "_(80 rows in all)_" in shown


@given(st.text(max_size=200))
def test_a_text_without_a_place_stays_as_it_is(text: str) -> None:
    if "rows" not in text.lower():
        assert insert_rows(text, [grid()]).text == text
