"""The rehearsed reader finds what a text holds, wherever it stands, and never says that it is not there."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.models.rehearsal.rehearsed_brief import DECLINED_BEFORE, NO_MODEL, Brief
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


def test_a_heading_stands_above_a_line_that_begins_with_a_day_and_no_item_of_a_list_is_one() -> None:
    text = "1. Bikes\nTwo are missing.\n\n2. Next meeting\n13 July 2026 at 10:00, in the workshop.\n3. Rest\n14. Juli"
    found = [(one.text, one.place) for one in passages_of(text) if not one.is_heading]
    assert ("13 July 2026 at 10:00, in the workshop.", "2. Next meeting") in found
    assert ("14. Juli", "3. Rest") in found
    assert "> 13 July 2026 at 10:00, in the workshop." in answer_on("When is the next meeting?", text)
    assert [one.is_heading for one in passages_of("1. May we go\n2. Or not")] == [False, False]


def answer_on(question: str, text: str, name: str = "minutes.docx") -> str:
    return repr(from_texts(Brief(question, (), (), (), ((name, text),))))


def test_a_day_and_its_month_are_quoted_together_and_a_row_of_a_table_alone() -> None:
    text = (
        "# Beschlüsse\nDer Umzug wird auf den 1. September verschoben. Es gibt Kuchen.\n# Aufgaben\nWer | Was | Bis\n"
    )
    text += (
        "Emre | Angebote einholen | 25. Juni\nSofia | Messestand buchen | 18. Juni\nPiotr | Serverraum planen | 2. Juli"
    )
    assert "> Der Umzug wird auf den 1. September verschoben.\\n" in answer_on("Was wurde zum Umzug beschlossen?", text)
    assert "> Sofia | Messestand buchen | 18. Juni\\n" in answer_on("Welche Aufgaben hat Sofia und bis wann?", text)


def test_an_item_of_a_list_is_quoted_with_the_lines_that_it_runs_over() -> None:
    text = "1. Line 2 stopped as the gearbox ran hot. Klaus reset it\nat 03:15.\n2. Two pallets are missing."
    assert "Klaus reset it at 03:15.\\n" in answer_on("When did line 2 stop?", text)


def test_headings_between_the_lines_of_a_page_are_places() -> None:
    text = "[page 2]\n5. Term and notice\nThe notice is three months.\n6. Pets\nDogs are not allowed. Cats are."
    assert "> Dogs are not allowed.\\n>\\n> lease.pdf, 6. Pets" in answer_on("are dogs allowed?", text, "lease.pdf")


CODE = "def read():\n    return 1\n\ndef push():\n    return accepted"


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        ("Who was not there?", "“not” asks for more"),
        ("Who isn't there?", "“n't” asks for more"),
        ("How many errors were there?", "I can't count in a text: 2 passages of nas.log hold “errors”"),
        ("When did the backup fail?", "found no passage that holds most of them"),
        ("What does push return?", "found no passage that holds most of them"),
    ],
)
def test_what_no_quotation_answers_is_declined(question: str, reason: str) -> None:
    log = "06:13 ERROR disk: write failed\n06:22 INFO backup: copied\n06:26 ERROR login refused"
    said = answer_on(question, CODE, "sync.py") if "push" in question else answer_on(question, log, "nas.log")
    assert "'reason': 'out_of_scope'" in said
    assert reason in said.replace("\\\\", "")


def test_a_word_that_the_quotation_lacks_and_passages_beyond_the_first_are_named() -> None:
    assert "the quoted text does not have the word “keep”" in answer_on(
        "Am I allowed to keep big dogs?", "Big dogs are allowed."
    )
    text = "\n".join(f"- Dogs, rule {number}" for number in range(5))
    assert "2 more passages hold these words" in answer_on("what does it say about dogs?", text)


def test_what_is_only_a_heading_is_found() -> None:
    said = repr(from_texts(Brief("does it mention the export?", (), (), (), (("a.md", "# Export\n\n## Costs\nFew."),))))
    assert "> Export" in said
    assert "these words stand in a heading alone" in said


def test_the_comments_of_code_are_no_headings() -> None:
    said = answer_on("which token does it need?", "# Needs SHOP_TOKEN.\nset -e\ndocker push shop", "deploy.sh")
    assert "> # Needs SHOP_TOKEN." in said
    assert "set -e" not in said


def test_it_says_what_it_did_and_not_what_a_file_lacks() -> None:
    text = "We ship abroad from June on."
    said = repr(from_texts(Brief("does it mention the export?", (), (), (), (("plan.md", text),))))
    assert "I looked for “export” in what I was given of plan.md" in said
    assert "though the answer may be there" in said


def test_a_question_word_is_none_that_a_quotation_has_to_hold() -> None:
    text = "Line 2 stopped as the gearbox ran hot. Klaus reset it.\nTwo pallets are missing."
    for question in ("Why did line 2 stop?", "which line stopped?", "How did line 2 stop?"):
        said = answer_on(question, text)
        assert "> Line 2 stopped as the gearbox ran hot." in said
        assert "'gaps': []" in said


def test_a_refusal_names_questions_that_a_quotation_answers_and_is_shorter_the_second_time() -> None:
    text = "# Holidays\nThe office is shut in August.\n# Salaries\nPaid on the 25th."
    first, second = (
        answer_on(f"what does it say about pensions?{before}", text) for before in ("", f"\n{DECLINED_BEFORE}")
    )
    for said in (first, second):
        assert "You can ask “outline minutes.docx” or “what does it say about holidays?”." in said
    assert NO_MODEL in first
    assert NO_MODEL not in second
    assert "The office is shut" in answer_on("what does it say about holidays?", text)
