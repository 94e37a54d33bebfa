"""The rehearsed reader finds what a text holds, wherever it stands, and never says that it is not there."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.models.rehearsal.rehearsed_brief import Brief
from bot.models.rehearsal.rehearsed_quotes import from_texts, passages_of

WORD = st.text("abcdefghijklmnopqrstuvwxyz", min_size=3, max_size=9)
SENTENCE = st.lists(WORD, min_size=1, max_size=8).map(lambda words: " ".join(words).capitalize() + ".")
HEADING = st.builds("{} {}".format, st.sampled_from(["#", "##", "### "]), WORD)
NUMBERED = st.builds("{} {}".format, st.sampled_from(["1.", "2.3", "12"]), SENTENCE)
ROW = st.builds("| {} | {} |".format, WORD, WORD)
PAGE = st.integers(1, 99).map("[page {}]".format)
LINE = st.one_of(SENTENCE, HEADING, NUMBERED, ROW, PAGE, WORD.map("- {}".format), st.just(""))


@given(st.lists(LINE, max_size=30))
def test_every_word_of_a_text_stands_in_a_passage(lines: list[str]) -> None:
    held = " ".join(f"{one.text} {one.place}" for one in passages_of("\n".join(lines)))
    words = [word for line in lines if not line.startswith("[page") for word in line.strip("|# -").split(" ") if word]
    assert [word for word in words if word not in held] == []


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("## Decisions\nThe export to PDF moves to May.", "Decisions"),
        ("[slide 2]\n# Decisions\nThe export to PDF moves to May.", "Decisions"),
        ("2. Decisions\nThe export to PDF moves to May.\nNothing else was decided.", "2. Decisions"),
        ("[page 3]\nThe export to PDF moves to May.", "page 3"),
    ],
)
def test_a_paragraph_right_below_its_heading_is_quoted_with_it(text: str, place: str) -> None:
    found = [one for one in passages_of(text) if "export" in one.text]
    assert [one.place for one in found] == [place]
    said = repr(from_texts(Brief("What does it say about the export?", (), (), (), (("minutes.docx", text),))))
    assert "The export to PDF moves to May." in said
    assert f"minutes.docx, {place}" in said


def test_what_is_only_a_heading_is_found() -> None:
    said = repr(from_texts(Brief("does it mention the export?", (), (), (), (("a.md", "# Export\n\n## Costs\nFew."),))))
    assert "> Export" in said


def test_it_says_what_it_did_and_not_what_a_file_lacks() -> None:
    text = "We ship abroad from June on."
    said = repr(from_texts(Brief("does it mention the export?", (), (), (), (("plan.md", text),))))
    assert "I looked for “export” in what I was given of plan.md" in said
    assert "the answer may still be there" in said
