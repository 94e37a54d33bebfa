"""Workings: how a figure was worked out, as its writer says it and code works it out again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handoff.checking.figures import find_unsupported_figures, workings_of
from handoff.checking.numerals import numerals
from handoff.checking.workings import comes_to, find_workings, values_of, without_workings
from handoff.contracts import Result
from handoff.evidence.binding import Document, bind_result

SALES = "Q1 has 1,145 and Q2 has 1,569; returns were 12.5 %. In March 310 of 4,310 left."
RIGHT = {
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
WRONG = {
    "another value": ("39 % [[= (1,569 - 1,145) / 1,145]]", "comes to 0.370306:"),
    "a number of nobody": ("37 % [[= (1,600 - 1,168) / 1,168]]", "1,600, which stands nowhere"),
    "no expression": ("37 % [[= as the table says]]", "is no sum that can be done"),
    "a call": ("37 % [[= __import__('os').getpid()]]", "is no sum that can be done"),
    "nothing to divide by": ("37 % [[= 1,569 / (1,145 - 1,145)]]", "is no sum that can be done"),
    "a power too many": ("37 % [[= 1,569 ^ 1,145 ^ 1,145]]", "is no sum that can be done"),
    "another sign": ("+27 % [[= (1,145 - 1,569) / 1,569]]", "comes to -0.270236:"),
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_working_bears_a_figure_out(name: str) -> None:
    text = f"Revenue: {RIGHT[name]} more."
    assert find_unsupported_figures(text, [SALES]) == ()
    assert len(workings_of(text, ())) == 1
    assert "[[" not in without_workings(text)


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_working_leaves_its_figure_without_a_source(name: str) -> None:
    text, fault = WRONG[name]
    (found,) = find_unsupported_figures(f"It is {text}.", [SALES])
    assert fault in found.fault
    assert workings_of(f"It is {text}.", [found.text]) == ()


def test_a_working_may_build_on_a_figure_that_was_worked_out_before() -> None:
    text = "It rose by 424 [[= 1,569 - 1,145]], and by 848.0 [[= 2 * 424]] in two quarters."
    assert find_unsupported_figures(text, [SALES]) == ()
    assert [
        one.text for one in find_unsupported_figures(text.replace("424 [[= 1,569 - 1,145]]", "little"), [SALES])
    ] == ["848.0"]


def test_a_result_loses_its_workings_and_keeps_them_beside_it() -> None:
    given = Result(summary="37 % more", content="Up 37 % [[= (1,569 - 1,145) / 1,145]], or 430 [[= 1,569 - 1,145]].")
    binding = bind_result(given, [Document("sales.csv", SALES)])
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
        assert value is None or any(abs(one - value) <= 1e-9 * max(1.0, abs(value)) for one in values_of(working))
        assert value is not None or list(values_of(working)) == []


@given(st.text(alphabet="0123456789.,+-*/()^%: n[]=", max_size=60))
def test_any_text_is_read_as_an_expression_or_as_none(text: str) -> None:
    for working in find_workings(f"7 [[= {text}]]"):
        list(values_of(working))
        assert comes_to(working, numerals("7")[0]) in {True, False}
