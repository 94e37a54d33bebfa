"""A text holds a finding, and notes keep a figure, in whatever format and language the numbers are written."""

from __future__ import annotations

import pytest

from handoff.answering.material import holds
from handoff.answering.reducing import Part, build_notes_from_reply
from handoff.checking.numerals import is_unit
from handoff.contracts import Note
from handoff.text.dollars import short


@pytest.mark.parametrize(
    ("text", "message", "is_held"),
    [
        ("In all, revenue for May rose to $3.2 million.", "Revenue for May rose to $3,200,000", True),
        ("In all, revenue for May rose to $3.9 million.", "Revenue for May rose to $3,200,000", False),
        ("Der Umsatz im Mai stieg damit auf 3,2 Mio. Euro.", "Der Umsatz stieg auf 3.200.000 Euro", True),
        ("Der Umsatz im Mai stieg damit auf 3,9 Mio. Euro.", "Der Umsatz stieg auf 3.200.000 Euro", False),
        ("Le délai de livraison est de 48 heures.", "Le délai de livraison est de 2 jours", True),
        ("Three of the four tables lack a key: 3 of 4.", "3 of 4 tables lack a key", True),
        ("Three of the four tables lack a key: 3 of 9.", "3 of 4 tables lack a key", False),
    ],
)
def test_a_message_is_held_by_its_words_and_all_of_its_figures(text: str, message: str, *, is_held: bool) -> None:
    assert holds(text, message) is is_held


@pytest.mark.parametrize(
    ("request_", "sentence", "reply"),
    [
        ("Wie hoch war die Quote in Norwegen?", "Die Quote in Norwegen war 7,3 %.", "- Die Quote war 3,7 %."),
        ("ノルウェー 4,872 人", "そのうち 4,872 人が移りました。", "- 何もありません。"),
    ],
)
def test_a_figure_that_notes_lost_is_put_back_in_any_language(request_: str, sentence: str, reply: str) -> None:
    part = Part(1, 1, (Note(source="Bericht", text=f"Sonst war an jenem Tag nichts. {sentence}"),), 200)
    notes, _ = build_notes_from_reply(request_, part, reply)
    assert sentence in notes[-1].text
    notes, _ = build_notes_from_reply(request_, part, f"{reply} {sentence}")
    assert len(notes) == 1, "what survived is not put back"


@pytest.mark.parametrize(
    ("word", "is_one"),
    [("month", True), ("Years", True), ("kg", True), ("euros", True), ("%", True), ("fixed", False), ("", False)],
)
def test_units_are_told_from_other_words(word: str, *, is_one: bool) -> None:
    assert is_unit(word) is is_one


@pytest.mark.parametrize(
    ("number", "text"), [(950, "950"), (1_200, "1.2k"), (999_960, "1M"), (3_400_000, "3.4M"), (0, "0")]
)
def test_large_numbers_are_short(number: int, text: str) -> None:
    assert short(number) == text
