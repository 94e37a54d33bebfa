"""Figures that nobody said: the gold set, ways of working out, workings, odd ones, and the words around a figure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from handoff.answering.result_text import render_with_unsure_note
from handoff.checking.figures import (
    MAX_SOURCE_LINES,
    find_misquoted_figure,
    find_source_lines,
    find_unsupported_figures,
    render_workings,
)
from handoff.checking.numerals import parse_numerals
from handoff.checking.result_checks import CheckSubject, run_checks
from handoff.checking.workings import equals_figure, find_workings, remove_workings, yield_values
from handoff.contracts import Finding, Result, Terms
from handoff.evidence.evidence_check import SourceDocument, check_result
from handoff.evidence.statements import MAX_STATEMENTS, find_figure_context, split_statements

CASES: list[dict[str, Any]] = yaml.safe_load(
    (Path(__file__).parents[2] / "bot" / "evaluation" / "sets" / "figures.yml").read_text(encoding="utf-8")
)


def list_doubted_texts(text: str, *known_texts: str) -> tuple[str, ...]:
    return tuple(one.text for one in find_unsupported_figures(text, known_texts))


def finds(case: dict[str, Any]) -> bool:
    """Whether at least one of the wrong figures of a case is found, at its place."""
    text = case["result"]
    places = [(text.index(wrong), text.index(wrong) + len(wrong)) for wrong in case["wrong"]]
    found = find_unsupported_figures(text, case["known"])
    return any(one.start < end and start < one.end for one in found for start, end in places)


@pytest.mark.parametrize("half", [0, 1], ids=["held out", "tuned on"])
def test_most_wrong_figures_are_found(half: int) -> None:
    wrong = [case for case in CASES if case["wrong"] and int(case["id"]) % 2 == half]
    assert len(wrong) >= 50
    assert sum(map(finds, wrong)) / len(wrong) >= 0.8


def test_hardly_any_right_result_is_doubted() -> None:
    right = [case for case in CASES if not case["wrong"]]
    assert len(right) >= 100
    assert sum(bool(find_unsupported_figures(case["result"], case["known"])) for case in right) / len(right) <= 0.03


FOLLOWS = {
    "a sum": ("7,331", "3,021 and 4,310"),
    "a difference": ("1,289", "3,021 and 4,310"),
    "a product": ("13,020.51", "3,021 at 4.31"),
    "a ratio": ("1.43", "3,021 and 4,310"),
    "a share": ("70.1 %", "3,021 of 4,310"),
    "a change": ("+42.7 %", "from 3,021 to 4,310"),
    "a part in per cent": ("1,293", "30 % of 4,310"),
    "a rise": ("5,603", "4,310 and 30 % more"),
    "a year of months": ("51,720", "4,310 a month"),
    "minutes": ("204 minutes", "3.4 h"),
    "kilograms": ("2.23 t", "2,230 kg"),
    "basis points": ("25 basis points", "from 2.25 % to 2.00 %"),
    "points": ("2.5 points", "1.7 % and 4.2 %"),
    "thousands of a head": ("3.02 million", "revenue (thousands): 3,021"),
    "millions": ("4.31 Mio.", "4.310.221"),
    "lakh": ("43.1 lakh", "43,10,221"),
    "a share as it is in a file": ("12.3 %", '{"churn": 0.1234}'),
    "a column's sum": ("7,331", "a;3021\nb;4000\nc;310"),
    "a column's mean": ("2,443.67", "name | n\na | 3021\nb | 4000\nc | 310"),
    "a column's median": ("3,021", "a,3021\nb,4000\nc,310"),
    "sums up to a row": ("7,021 of them", "a,3021\nb,4000\nc,310"),
    "a share of a column": ("41.2 %", "name,n\na,3021\nb,4000\nc,310"),
    "rows of JSON": ("7,331", '[{"k": "a", "n": 3021}, {"k": "b", "n": 4000}, {"k": "c", "n": 310}]'),
    "a list of JSON": ("7,331", '{"n": [3021, 4000, 310]}'),
    "a whole less two": ("2.6 million", "17.1 million: China 11.3 million, Europe 3.2 million"),
    "a round bound": ("more than 80", "81.9"),
    "digits of Arabia": ("1.25 million", "\u0661\u066c\u0662\u0665\u0660\u066c\u0660\u0660\u0660"),
    "digits of China": ("3,600,000", "三百六十万"),
    "wide digits": ("320", "\uff13\uff12\uff10"),
    "two scales": ("8.14 trillion", "8兆1395億"),
    "a reference": ("Order 50286 was late.", "order 50286"),
    "a long number": ("20413", "INV-20413"),
}
"""What follows, and from what."""


@pytest.mark.parametrize("name", FOLLOWS)
def test_what_follows_stands(name: str) -> None:
    text, known = FOLLOWS[name]
    assert list_doubted_texts(text, known) == ()


NONE = (
    "On 12 June 2031 at 18:30, 6 pm, 2031-06-12, 12.06.2031, 6/12/2031, 12. Juni, le 14 juillet, 2031年6月15日.",
    "In Q3 2025 and FY2026, 2024/25; since 1949.",
    "See section 4.13, § 7.25, page 48, figure 17, invoice number 20026, [14], Step 15.",
    "SKU-4410, B42, LH400, v3.11.2, Python 3.13, 3.11.14, PEP 703, the 21st, p95.",
    "Call +49 (0)89 3090 4412 or write to box417@mail.test, https://x.test/4711/88?n=93.",
    "17. First\n18) Second\n## 2.31 Third\n- **19.** Fourth",
    "Run `sleep 45` or\n```python\nx = 1234.5\n```\nnow.",
    "Three of the 5, in 2 parts, 100 % sure, 0 left.",
)


@pytest.mark.parametrize("text", NONE)
def test_what_only_looks_like_a_figure_is_none(text: str) -> None:
    assert list_doubted_texts(text, "nothing") == ()


WRONG = {
    "another sign": ("-8,300", "8,300", '{"a": -12400, "b": 8300}'),
    "a unit": ("2.44 cm", "2.44 cm", "2.44 m wide"),
    "a scale": ("$1.62 million", "1.62 million", "$1.62 billion"),
    "one nought": ("45,000", "45,000", "4,500 euros"),
    "another person's": ("It is 31,337.", "31,337", "It is 12,000."),
    "a figure of a data block": ("```csv\na,7717\n```", "7717", "a 12"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_does_not_follow_is_found(name: str) -> None:
    text, figure, known = WRONG[name]
    (found,) = find_unsupported_figures(text, [known])
    assert figure in found.text
    assert text[found.start : found.end].strip() == found.text


def test_a_short_figure_of_a_long_table_needs_more_than_some_pair() -> None:
    table = "\n".join(f"{place * 7919 % 9000 + 1000};{place * 31 % 97 + 3.5}" for place in range(400))
    assert list_doubted_texts("The margin is 47.3 %.", table) == ("47.3 %",)
    assert list_doubted_texts("It is 88,123.4.", table) == ("88,123.4",)


def test_the_figure_that_was_meant_is_named() -> None:
    assert find_misquoted_figure("42,107", ["41,207 and 55"]) == "41,207"
    assert find_misquoted_figure("412,070", ["41,207 and 412"]) == "41,207"
    assert find_misquoted_figure("$1.62 million", ["$1.62 billion"]) == "1.62 billion"
    assert find_misquoted_figure("71", ["17 of 88"]) == "17"
    assert find_misquoted_figure("72", ["17 of 88"]) == ""
    assert find_misquoted_figure("5", ["5"]) == ""
    assert find_misquoted_figure("41,208", ["41,207 and 41,209"]) == "", "it may be either"


def test_each_figure_of_a_result_keeps_its_line() -> None:
    table = "region | total\nNorth | 41207\nSouth | 55120\n" + "\n".join(f"r{n} | {n}" for n in range(90_000, 90_400))
    finding = Finding(message="Together 96,327; East 90,001.")
    result = Result(summary="s", content="South made 55.1 thousand, North 42,107.", findings=(finding,))
    assert find_source_lines(result, [table, "x " * 300 + "41207 units" + " y" * 300])[:1] == ("South | 55120",)
    assert "North | 41207" in find_source_lines(result, [table]), "the figure that may have been misquoted"
    assert "r90001 | 90001" in find_source_lines(result, [table])
    many = Result(summary="s", content=" ".join(str(n) for n in range(90_000, 90_400)))
    assert len(find_source_lines(many, [table])) == MAX_SOURCE_LINES
    (long,) = find_source_lines(Result(summary="s", content="41207"), ["x " * 300 + "41207 units" + " y" * 300])
    assert "41207 units" in long
    assert len(long) <= 160


@given(text=st.text(max_size=200), known_texts=st.lists(st.text(max_size=200), max_size=3))
@settings(max_examples=90, deadline=None)
def test_whatever_is_written_is_read(text: str, known_texts: list[str]) -> None:
    for one in find_unsupported_figures(text, known_texts):
        assert text[one.start : one.end].strip() == one.text


@given(st.lists(st.floats(min_value=0.01, max_value=10**9, allow_nan=False), min_size=1, max_size=12))
@example([17_100_301.0])  # written without commas, it has the digits of a date
@example([20_240_131.0])
@settings(max_examples=60, deadline=None)
def test_what_is_said_stands(figures: list[float]) -> None:
    told = "; ".join(f"{figure:,.2f}" for figure in figures)
    assert list_doubted_texts(told, told) == ()
    assert list_doubted_texts(told, json.dumps({"rows": [round(figure, 2) for figure in figures]})) == ()


# ---------------------------------------------------------------- workings

SALES = "Q1 has 1,145 and Q2 has 1,569; returns were 12.5 %. In March 310 of 4,310 left."
RIGHT_WORKINGS = {
    "a change": "37 % [[= (1,569 - 1,145) / 1,145]]",
    "of three": "1,259 [[= 1,569 - 310]]",
    "in signs of print": "424 [[= 1,569 − 1,145]]",  # noqa: RUF001 - as people write it
    "bold": "**424** [[= 1,569 - 1,145]]",
    "with a unit between": "424 orders [[= 1,569 - 1,145]]",
    "a year": "18,828 a year [[= 12 * 1,569]]",
    "a part in per cent": "196 [[= 12.5 % * 1,569]]",
    "a rest": "87.5 % [[= 100 % - 12.5 %]]",
    "a growth": "11.1 % [[= (1,569 / 1,145) ^ (1/3) - 1]]",
    "German": "1.259,0 [[= 1.569 - 310]]",
    "times and over": "2.74 [[= 2 × 1,569 ÷ 1,145]]",  # noqa: RUF001 - as people write it
    "money": "€424 [[= €1,569 - €1,145]]",
    "a fall": "-27 % [[= (1,145 - 1,569) / 1,569]]",
}
"""Figures with workings that come to them, of known figures alone."""
WRONG_WORKINGS = {
    "another value": ("39 % [[= (1,569 - 1,145) / 1,145]]", "comes to 0.370306:"),
    "a number of nobody": ("37 % [[= (1,600 - 1,168) / 1,168]]", "1,600, which stands nowhere"),
    "no expression": ("37 % [[= as the table says]]", "is no sum that can be done"),
    "a call": ("37 % [[= __import__('os').getpid()]]", "is no sum that can be done"),
    "nothing to divide by": ("37 % [[= 1,569 / (1,145 - 1,145)]]", "is no sum that can be done"),
    "a power too many": ("37 % [[= 1,569 ^ 1,145 ^ 1,145]]", "is no sum that can be done"),
    "another sign": ("+27 % [[= (1,145 - 1,569) / 1,569]]", "comes to -0.270236:"),
}


@pytest.mark.parametrize("name", RIGHT_WORKINGS)
def test_a_right_working_bears_a_figure_out(name: str) -> None:
    text = f"Revenue: {RIGHT_WORKINGS[name]} more."
    assert find_unsupported_figures(text, [SALES]) == ()
    assert len(render_workings(text, ())) == 1
    assert "[[" not in remove_workings(text)


@pytest.mark.parametrize("name", WRONG_WORKINGS)
def test_a_wrong_working_leaves_its_figure_without_a_source(name: str) -> None:
    text, fault = WRONG_WORKINGS[name]
    (found,) = find_unsupported_figures(f"It is {text}.", [SALES])
    assert fault in found.fault
    assert render_workings(f"It is {text}.", [found.text]) == ()


def test_a_working_may_build_on_a_figure_that_was_worked_out_before() -> None:
    text = "It rose by 424 [[= 1,569 - 1,145]], and by 848.0 [[= 2 * 424]] in two quarters."
    assert find_unsupported_figures(text, [SALES]) == ()
    assert [
        one.text for one in find_unsupported_figures(text.replace("424 [[= 1,569 - 1,145]]", "little"), [SALES])
    ] == ["848.0"]


def test_a_result_loses_its_workings_and_keeps_them_beside_it() -> None:
    given = Result(summary="37 % more", content="Up 37 % [[= (1,569 - 1,145) / 1,145]], or 430 [[= 1,569 - 1,145]].")
    binding = check_result(given, [SourceDocument("sales.csv", SALES)])
    assert binding.result.content == "Up 37 %, or 430."
    assert binding.result.workings == ("37 % = (1,569 - 1,145) / 1,145",)
    assert binding.result.unsupported == ("430",)
    assert binding.faults == ("The working of “430” comes to 424: 1,569 - 1,145.",)


@given(
    st.recursive(
        st.integers(1, 9999).map(str),
        lambda inner: st.builds("({} {} {})".format, inner, st.sampled_from("+-*/"), inner),
        max_leaves=8,
    )
)
def test_any_sum_comes_to_what_python_says(expression: str) -> None:
    try:
        value = eval(expression)  # noqa: S307 - made of numbers and signs
    except ZeroDivisionError:
        value = None
    (working,) = find_workings(f"1 [[= {expression}]]") or (None,)
    if working is not None:  # a long one is none
        assert value is None or any(abs(one - value) <= 1e-9 * max(1.0, abs(value)) for one in yield_values(working))
        assert value is not None or list(yield_values(working)) == []


@given(st.text(alphabet="0123456789.,+-*/()^%: n[]=", max_size=60))
def test_any_text_is_read_as_an_expression_or_as_none(text: str) -> None:
    for working in find_workings(f"7 [[= {text}]]"):
        list(yield_values(working))
        assert equals_figure(working, parse_numerals("7")[0]) in {True, False}


# ---------------------------------------------------------------- odd ones

ODD = {
    "long": "1" * 30_000,
    "noughts": "1" + "0" * 400,
    "thousands": "1" + ",000" * 9_000,
    "decimals": "0." + "1" * 9_000,
    "point": "1" + "0" * 400 + ".5",
    "commas": "1," * 20_000,
    "dots": "." * 40_000,
    "spaces": "a" + " " * 40_000 + "b",
    "open brackets": "[" * 40_000,
    "dashes": "a-" * 20_000,
    "brackets": "[insert " * 6_000,
    "many": " ".join(str(10_000_019 + 7_919 * number) for number in range(5_000)),
}


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_no_figure_breaks_a_check_or_hangs_it(odd: str) -> None:
    text = f"South sold {odd} units. It was a good year."
    finding = Finding(message="It was a good year", confidence=10)
    result = Result(summary="s", content=text, findings=(finding,), confidence=90)
    run_checks(CheckSubject(result, odd, odd, (odd.replace("1", "2"), odd), (odd,)))
    render_with_unsure_note(result, Terms(confidence=80), text)
    split_statements(text)


# ---------------------------------------------------------------- sentences, and the words around a figure

ANSWER = """# What the lease says

- **The rent is due on the first.** It rises by 2 % a year.
> 2. Either side may leave with three months' notice.

| Month | Rent |
| --- | --- |
| May | 1,240 |

```sql
SELECT sum(rent) FROM lease
```
Yes.
租金每年上涨百分之二。
"""


def test_sentences_are_what_a_verifier_can_check_and_nothing_else() -> None:
    assert split_statements(ANSWER) == [
        "The rent is due on the first.",
        "It rises by 2 % a year.",
        "Either side may leave with three months' notice.",
        "租金每年上涨百分之二",
    ]


def test_a_sentence_is_checked_once_and_of_a_book_the_beginning() -> None:
    assert split_statements("All of it is here. All of it is here.") == ["All of it is here."]
    assert (
        len(split_statements("\n".join(f"Line {number} of this book." for number in range(MAX_STATEMENTS + 40))))
        == MAX_STATEMENTS
    )


@pytest.mark.parametrize(
    ("figure", "words"),
    [
        ("2 %", "It rises by 2 % a year"),
        ("1,240", "May · 1,240"),
        ("240", ""),
        ("9", ""),
    ],
)
def test_a_figure_is_shown_with_the_words_of_its_sentence_or_row(figure: str, words: str) -> None:
    assert find_figure_context(figure, ANSWER) == words


def test_a_figure_that_is_the_whole_answer_needs_no_words() -> None:
    assert find_figure_context("42", "**42**") == ""


def test_long_words_around_a_figure_are_cut_between_words_on_both_sides() -> None:
    before, after = "of all that was ever written down here ", " and of what nobody has looked at in a long time"
    shown = find_figure_context("4,711", f"{before}some 4,711{after}. That is all.")
    assert shown.startswith("… ")
    assert shown.endswith(" …")
    assert " 4,711 " in shown
    assert set(shown.strip("… ").split()) <= set(f"{before}some 4,711{after}".split())
