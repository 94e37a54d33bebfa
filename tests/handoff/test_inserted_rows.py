"""Rows that code puts into a text: whose they are, what they meet, and what is wrong with a place that has none."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from handoff.evidence.grids import Grid, grid_of_reply
from handoff.evidence.inserted_rows import with_rows

REPLY = "country | total\nDE | 931.8\nFR | 379.4\n(2 rows; only status = paid: 5 of 8 rows)"


def grid(text: str = REPLY) -> Grid:
    found = grid_of_reply("orders.csv", text, "SELECT 1")
    assert found is not None
    return found


def test_the_last_rows_are_put_in_with_their_condition() -> None:
    other = grid("n\n8\n(1 row)")
    shown = with_rows("By country:\n[[rows]]\nIn all [[rows 1]]", [other, grid()])
    assert shown.fault == ""
    assert "| country | total |\n| --- | --- |\n| DE | 931.8 |\n| FR | 379.4 |" in shown.text
    assert "_(status = paid: 5 of 8 rows)_" in shown.text
    assert "In all \n| n |\n| --- |\n| 8 |" in shown.text


def test_a_place_without_rows_is_sent_back_in_words() -> None:
    assert with_rows("[[rows]]", []).fault == "[[rows]] stands for no rows: no query brought rows."
    assert "there are 1 queries" in with_rows("[[rows 2]]", [grid()]).fault


def test_of_many_rows_the_first_are_shown_and_all_are_counted() -> None:
    text = "n\n" + "".join(f"{one}\n" for one in range(100, 180)) + "(80 rows)"
    shown = with_rows("[[rows]]", [grid(text)]).text
    assert shown.count("\n| 1") == 30
    assert "_(80 rows in all)_" in shown


@given(st.text(max_size=200))
def test_a_text_without_a_place_stays_as_it_is(text: str) -> None:
    if "rows" not in text.lower():
        assert with_rows(text, [grid()]).text == text
