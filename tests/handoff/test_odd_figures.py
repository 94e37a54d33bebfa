"""Figures that no tool would give: a model may write them, and nothing may break or take long."""

from __future__ import annotations

import pytest

from handoff.answering.material import render_with_unsure_note
from handoff.checking.checks import Seen, look
from handoff.contracts import Finding, Result, Terms
from handoff.evidence.statements import statements_of

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
    look(Seen(result, odd, odd, (odd.replace("1", "2"), odd), (odd,)))
    render_with_unsure_note(result, Terms(confidence=80), text)
    statements_of(text)
