"""Quotations and places: found whatever the typography, and not found if a word, number or sign differs."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from handoff.contracts import Evidence, Finding, Result, Section
from handoff.evidence.binding import Document, bind_result
from handoff.evidence.place_words import places_named
from handoff.evidence.quotations import find_quotation, quotations_in

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
    Document("contract.txt", CONTRACT),
    Document("vertrag.md", VERTRAG),
    Document("契約書.txt", KEIYAKU),
    Document("contrato.txt", CONTRATO),
)

RIGHT = [
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
WRONG = [
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
    return bind_result(Result(summary="s", content=content, **more), FILES).faults


@pytest.mark.parametrize("content", RIGHT)
def test_what_is_right_is_left_alone(content: str) -> None:
    assert faults(content) == ()


@pytest.mark.parametrize("content", WRONG)
def test_what_stands_nowhere_or_elsewhere_is_sent_back(content: str) -> None:
    binding = bind_result(Result(summary="s", content=content), FILES)
    assert len(binding.faults) == 1
    assert len(binding.result.unbound) == 1


def test_without_material_nothing_can_be_quoted_wrongly() -> None:
    assert (
        bind_result(Result(summary="s", content=WRONG[0]), [Document("the brief", "x", is_material=False)]).faults == ()
    )


def test_the_place_is_found_by_code_and_not_taken_from_the_model() -> None:
    outline = (Section(name="page 1", start=0), Section(name="page 2", start=CONTRACT.index("4. Price")))
    told = Evidence(source="contract.txt", quotation="the fee is 1,850 euros", place="page 9")
    made_up = Evidence(source="contract.txt", quotation="the fee is 1,950 euros", place="page 1")
    findings = (Finding(message="Price", evidence=(told,)), Finding(message="Other", evidence=(made_up,)))
    binding = bind_result(
        Result(summary="s", content="c", findings=findings), [Document("contract.txt", CONTRACT, outline)]
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
    at = find_quotation(text, f"“{damaged}.”".strip("“”"))
    assert at is not None
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
    assert [one.words for one in quotations_in(text)] == ["one two three", "ten\neleven", "十二十三"]


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
    assert sorted(places_named(sentence)) == sorted(places)
