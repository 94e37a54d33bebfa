"""The rehearsed reader finds what a text holds, wherever it stands, and never says that it is not there."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.models.rehearsal.brief_parsing import Brief
from bot.models.rehearsal.source_passages import list_passages, make_text_answer

WORD = st.text("abcdefghijklmnopqrstuvwxyz", min_size=3, max_size=9)
SENTENCE = st.lists(WORD, min_size=1, max_size=8).map(lambda words: " ".join(words).capitalize() + ".")
HEADING = st.builds("{} {}".format, st.sampled_from(["#", "##", "### "]), WORD)
NUMBERED_LINE = st.builds("{} {}".format, st.sampled_from(["1.", "2.3", "12"]), SENTENCE)
ROW = st.builds("| {} | {} |".format, WORD, WORD)
LINE = st.one_of(SENTENCE, HEADING, NUMBERED_LINE, ROW, st.just("[page 3]"), WORD.map("- {}".format), st.just(""))
GEARBOX = "Line 2 stopped at dawn. The gearbox ran hot. Two pallets are missing."
DAYS = "# Beschlüsse\nDer Umzug wird auf den 1. September verschoben. Es gibt Kuchen.\n# Aufgaben\nWer | Was | Bis\n"
DAYS += "Emre | Angebote einholen | 25. Juni\nSofia | Messestand buchen | 18. Juni\nPiotr | Serverraum | 2. Juli"
LOG = "06:13 ERROR disk: write failed\n06:22 INFO backup: copied\n06:26 ERROR login refused"
LEASE = "[page 2]\n5. Term and notice\nThe notice is three months.\n6. Pets\nDogs are not allowed. Cats are."
RULES = "\n".join(f"- Dogs, rule {number}" for number in range(5))
NEXT = "1. Bikes\nTwo are missing.\n\n2. Next meeting\n13 July 2026 at 10:00, in the workshop.\n3. Rest\n14. Juli"
HOLIDAYS = "# Holidays\nThe office is shut in August.\n# Salaries\nPaid on the 25th."


@given(st.lists(LINE, max_size=30))
def test_every_word_of_a_text_stands_in_a_passage(lines: list[str]) -> None:
    held = " ".join(f"{one.text} {one.place}" for one in list_passages("\n".join(lines)))
    words = [word for line in lines if not line.startswith("[page") for word in line.strip("|# -").split(" ") if word]
    assert [word for word in words if word not in held] == []


@pytest.mark.parametrize(
    ("question", "name", "text", "expected_text"),
    [
        (
            "about the export?",
            "m.docx",
            "[slide 2]\n# Decisions\nThe export moves.",
            "> The export moves.|m.docx, Decisions",
        ),
        ("about the export?", "m.docx", "2. Decisions\nThe export moves.\nElse nothing.", "m.docx, 2. Decisions"),
        ("about the export?", "m.docx", "[page 3]\nThe export moves.", "m.docx, page 3"),
        ("When is the next meeting?", "m.docx", NEXT, "> 13 July 2026 at 10:00, in the workshop."),
        ("Was wurde zum Umzug beschlossen?", "m.docx", DAYS, "> Der Umzug wird auf den 1. September verschoben.\\n"),
        ("Welche Aufgaben hat Sofia und bis wann?", "m.docx", DAYS, "> Sofia | Messestand buchen | 18. Juni\\n"),
        (
            "When did line 2 stop?",
            "m.txt",
            "1. Line 2 stopped. Klaus came\nat 03:15.\n2. No pallets.",
            "Klaus came at 03:15.",
        ),
        ("are dogs allowed?", "lease.pdf", LEASE, "> Dogs are not allowed.\\n>\\n> lease.pdf, 6. Pets"),
        ("does it mention the export?", "a.md", "# Export\n\n## Costs\nFew.", "> Export|stand in a heading alone"),
        ("which token?", "deploy.sh", "# Needs SHOP_TOKEN.\nset -e", "> # Needs SHOP_TOKEN."),
        ("Am I allowed to keep big dogs?", "a.md", "Big dogs are allowed.", "does not have the word “keep”"),
        ("what does it say about dogs?", "a.md", RULES, "2 more passages hold these words"),
        ("which line stopped?", "a.md", GEARBOX, "> Line 2 stopped at dawn.\\n|'gaps': []"),
        ("Why did line 2 stop?", "a.md", GEARBOX, "at dawn. The gearbox ran hot.|whether this is the reason takes a"),
        ("does it mention the export?", "a.md", "We ship abroad.", "I looked for “export” in what I was given of a.md"),
        ("what about pensions?", "a.md", HOLIDAYS, "“outline a.md” or “what does it say about holidays?”."),
        ("Who was not there?", "nas.log", LOG, "“not” asks for more"),
        ("Who isn't there?", "nas.log", LOG, "asks for more|'reason': 'out_of_scope'"),
        ("How many errors were there?", "nas.log", LOG, "I can't count in a text: 2 passages of nas.log hold “errors”"),
        ("When did the backup fail?", "nas.log", LOG, "found no passage that holds most|the answer may be there"),
    ],
)
def test_a_question_is_answered_with_a_quotation_or_declined(
    question: str, name: str, text: str, expected_text: str
) -> None:
    told = repr(make_text_answer(Brief(question, source_texts=((name, text),)))).replace('\\"', '"')
    assert [one for one in expected_text.split("|") if one.strip() and one.strip("> ") not in told] == []
