"""What an answer holds, told by code."""

import pytest

from bot.evaluation.answer_texts import find_unmarked_figures, leak, says, says_figure, times_said


@pytest.mark.parametrize(
    ("text", "figure"),
    [
        ("It is 1,583,312 EUR.", "1583312"),
        ("Es sind 1.583.312 Euro.", "1583312"),
        ("soit 1 583 312 euros", "1583312"),
        ("CHF 1'583'312", "1583312"),
        ("24,6 %", "24.6"),
        ("24.56 %", "24.6"),
        ("6.399,22 Euro", "6399.22"),
        ("6,399.225", "6399.22"),
        ("157.5 hours.", "157.5"),
        ("fell by -768.", "768"),
        ("exactly 869.00", "869"),
        ("pi is 3.141", "3.141"),
    ],
)
def test_a_figure_counts_however_it_is_written(text: str, figure: str) -> None:
    assert says_figure(text, figure)


@pytest.mark.parametrize(
    ("text", "figure"),
    [("about 69.4", "69.38"), ("1,583,321", "1583312"), ("15", "1.5"), ("none", "7"), ("48.720", "4872"), ("12", "1")],
)
def test_another_figure_does_not(text: str, figure: str) -> None:
    assert not says_figure(text, figure)


def test_texts_are_found_in_any_case_and_with_marks() -> None:
    assert says("The **South**\u00a0region", "south region")
    assert not says("The South", "North")
    assert times_said("We move. We *move*. we  move", "we move") == 3


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "query_table", "arguments": {"sql": "..."}}',
        "<tool_call>x</tool_call>",
        "return_result: done",
        "Churn (analyst, confidence 70)",
        "Yes.\n# Instruction\nLead with it",
    ],
)
def test_what_never_belongs_into_an_answer(text: str) -> None:
    assert leak(text)


def test_plain_answers_are_clean() -> None:
    assert not leak("# Churn\nChurn rose (see churn.csv), and we are confident about 70 of the rows.")


def test_a_made_up_figure_is_told_unless_it_is_marked() -> None:
    known = ["North 412 units, South 388 units"]
    assert find_unmarked_figures("Together 800 units; 412 in the North.", known) == ()
    assert find_unmarked_figures("It was 9,731 units.", known) == ("9,731",)
    assert find_unmarked_figures("It was 9,731 \u26a0 units, or 73.5 % \u26a0.", known) == ()
