"""What stands in another file, or is of another speaker, column, year or currency, than an answer says."""

from __future__ import annotations

import pytest

from handoff.checking.figures import find_unsupported_figures
from handoff.contracts import Result
from handoff.evidence.binding import Document, bind_result
from handoff.evidence.period_words import periods_in
from handoff.evidence.typed_constants import typed_constants

NEW = "Travel 2026\n\nA night may cost up to 145 pounds in London.\n"
OLD = "Travel 2019\n\nA night may cost up to 120 pounds anywhere.\n"
MINUTES = "Lucía: The supplier raises the price by 6 % from April.\nIván: The move ends on 27 March if all goes well.\n"
RULES = "第1条 月額料金は3,800円とする。\n第2条 解約は60日前までに通知する。\n"
TEXTS = (
    Document("rules.md", NEW),
    Document("old_rules.md", OLD),
    Document("minutes.txt", MINUTES),
    Document("rules.txt", RULES),
)
VISITS = Document(
    "visits.csv",
    "month,clinic,visits,revenue_usd\n2026-01,North,412,18540\n2026-01,South,286,14872\n"
    "2026-02,North,438,20148\n2026-02,South,301,15351\n",
    is_table=True,
)


def replied(rows: str) -> Document:
    text = f"{rows}\n({rows.count(chr(10))} rows)"
    return Document("visits.csv", text, is_material=False, query="SELECT 1 FROM visits", code="SELECT 1 FROM visits")


EACH = replied("month | clinic | visits | revenue_usd\n2026-02 | North | 438 | 20148\n2026-02 | South | 301 | 15351")
TOTAL = Document(
    "visits.csv", "visits\n1437\n(1 row)", is_material=False, query="SELECT sum(visits) AS visits FROM visits"
)


def faults(content: str, *documents: Document) -> tuple[str, ...]:
    return bind_result(Result(summary="s", content=content), documents).faults


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
    assert any(fault in one for one in faults(content, *TEXTS)), faults(content, *TEXTS)


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
    assert faults(content, *TEXTS) == ()


@pytest.mark.parametrize(
    ("reply", "content", "wrong"),
    [
        (EACH, "In February, North had 301 visits and South had 438.", True),
        (EACH, "In February, North had 438 visits and South had 301.", False),
        (EACH, "There were 20,148 visits at North.", True),
        (EACH, "North took in 20,148 dollars with 438 visits.", False),
        (TOTAL, "In 2025 there were 1,437 visits.", True),
        (TOTAL, "In 2026 there were 1,437 visits.", False),
    ],
)
def test_a_figure_belongs_to_its_two_names_column_and_year(reply: Document, content: str, *, wrong: bool) -> None:
    assert bool(faults(content, VISITS, reply)) is wrong


def test_a_number_typed_into_a_query_beside_a_column_is_nobodys() -> None:
    assert typed_constants("SELECT sum(revenue_usd) + 15169 AS r FROM v", []) == ("15169",)
    assert typed_constants("SELECT x.total FROM (SELECT 48390 AS total) x", []) == ("48390",)
    assert typed_constants("SELECT sum(a) - sum(b), floor(a / 25) * 25 + 1 FROM v", []) == ()


def test_a_working_may_hold_what_a_share_makes_of_a_whole() -> None:
    said = ["The budget is 8,250 euros; the price rises by 6 %."]
    assert find_unsupported_figures("It is 8,745 euros [[= 8,250 * 1.06]].", said) == ()
    assert find_unsupported_figures("It is 8,827.5 euros [[= 8,250 * 1.07]].", said)


@pytest.mark.parametrize(
    ("text", "months"),
    [("في يناير وفبراير", [1, 2]), ("в марте", [3]), ("1월", [1]), ("ju\u0131n", [6]), ("AVR\u0130L", [4])],
)
def test_months_are_read_in_more_scripts(text: str, months: list[int]) -> None:
    assert [one.period.month for one in periods_in(text)] == months
