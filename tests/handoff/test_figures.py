"""Figures that nobody said: the gold set, formats and ways of working out one by one, and long texts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from handoff.checking.figures import MOST_LINES, behind, find_misquoted_figure, find_unsupported_figures
from handoff.contracts import Finding, Result

CASES: list[dict[str, Any]] = yaml.safe_load(
    (Path(__file__).parents[2] / "bot" / "evaluation" / "sets" / "figures.yml").read_text(encoding="utf-8")
)


def doubted(text: str, *known: str) -> tuple[str, ...]:
    return tuple(one.text for one in find_unsupported_figures(text, known))


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
    assert doubted(text, known) == ()


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
    assert doubted(text, "nothing") == ()


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


def test_nothing_known_supports_nothing() -> None:
    assert doubted("It is 4,200 in all, 17 %.") == ("4,200", "17 %")


def test_a_short_figure_of_a_long_table_needs_more_than_some_pair() -> None:
    table = "\n".join(f"{place * 7919 % 9000 + 1000};{place * 31 % 97 + 3.5}" for place in range(400))
    assert doubted("The margin is 47.3 %.", table) == ("47.3 %",)
    assert doubted("It is 88,123.4.", table) == ("88,123.4",)


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
    assert behind(result, [table, "x " * 300 + "41207 units" + " y" * 300])[:1] == ("South | 55120",)
    assert "North | 41207" in behind(result, [table]), "the figure that may have been misquoted"
    assert "r90001 | 90001" in behind(result, [table])
    many = Result(summary="s", content=" ".join(str(n) for n in range(90_000, 90_400)))
    assert len(behind(many, [table])) == MOST_LINES
    (long,) = behind(Result(summary="s", content="41207"), ["x " * 300 + "41207 units" + " y" * 300])
    assert "41207 units" in long
    assert len(long) <= 160


@given(text=st.text(max_size=200), known=st.lists(st.text(max_size=200), max_size=3))
@settings(max_examples=90, deadline=None)
def test_whatever_is_written_is_read(text: str, known: list[str]) -> None:
    for one in find_unsupported_figures(text, known):
        assert text[one.start : one.end].strip() == one.text


@given(st.lists(st.floats(min_value=0.01, max_value=10**9, allow_nan=False), min_size=1, max_size=12))
@example([17_100_301.0])  # written without commas, it has the digits of a date
@example([20_240_131.0])
@settings(max_examples=60, deadline=None)
def test_what_is_said_stands(figures: list[float]) -> None:
    told = "; ".join(f"{figure:,.2f}" for figure in figures)
    assert doubted(told, told) == ()
    assert doubted(told, json.dumps({"rows": [round(figure, 2) for figure in figures]})) == ()
