"""The verifier's words count only as far as they can be looked up, and an answer is read sentence by sentence."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bot.supervisor.verifier import parse_verdicts
from handoff.contracts import Section
from handoff.evidence.evidence_check import SourceDocument

CONTRACT = SourceDocument(
    "contract.txt",
    "# 3. Notice\nEither party may end it with 90 days' notice.\n"
    "# 5. Fees\nThe fee rises once a year, by 4 % at most.\n",
    (Section(name="3. Notice", start=0), Section(name="5. Fees", start=58)),
)
BOARD = SourceDocument("board.md", "The board was told of a notice of 30 days.")
SENTENCES = ("The notice is 60 days.", "The fee rises by 4 % a year at most.", "The weather was fine.")
REQUEST = "What is the notice, and who signs?"


def make_verdicts(*sentences: tuple[int, str, str], **more: Any) -> dict[str, Any]:
    given = [{"number": number, "quotation": quotation, "verdict": verdict} for number, quotation, verdict in sentences]
    return parse_verdicts(json.dumps({"sentences": given, **more}), REQUEST, SENTENCES, (CONTRACT, BOARD))


def test_what_refutes_a_sentence_stands_in_the_evidence_and_code_finds_the_place() -> None:
    found = make_verdicts(
        (1, "Either party may end it with 90 days\u2019 notice", "contradicted"), (3, "", "not_found")
    )
    (refuted,) = found["refuted"]
    assert (refuted.sentence, refuted.evidence.source) == (SENTENCES[0], "contract.txt")
    assert "3. Notice" in refuted.evidence.place
    assert (found["unfound"], found["doubt"]) == ((SENTENCES[2],), "")


@pytest.mark.parametrize("quotation", ["", "The notice is 120 days", "60 days", "The fee rises by 4 % a year at most."])
def test_a_refutation_that_nothing_bears_out_is_not_taken(quotation: str) -> None:
    found = make_verdicts((1, quotation, "contradicted"), (2, quotation, "contradicted"))
    assert found["refuted"] == ()
    assert SENTENCES[0] in found["doubt"]


def test_what_stands_word_for_word_is_not_missing_whatever_the_verifier_says() -> None:
    text = parse_verdicts(
        json.dumps({"sentences": [{"number": 1, "quotation": "", "verdict": "not_found"}]}),
        REQUEST,
        ("Either party may end it with 90 days' notice.",),
        (CONTRACT,),
    )
    assert text["unfound"] == ()


@pytest.mark.parametrize(
    ("sentence", "quotation", "borne_out"),
    [
        ("Orders grew by 15 %.", "Orders rose from 1,200 in April to 1,380 in May", ("15 %",)),
        ("Orders grew by 16 %.", "Orders rose from 1,200 in April to 1,380 in May", ()),
        ("May had 1,380 orders.", "1,380 in May", ("1,380",)),
        ("May had 1,380 orders.", "in April", ()),
        ("May had 1,380 orders.", "May brought 1,380 orders", ()),  # no words of the material
        ("May had 1,380 orders.", "A colleague has 1,380", ()),  # a specialist's own
    ],
)
def test_a_doubt_is_cleared_by_words_of_the_material_that_the_figure_follows_from(
    sentence: str, quotation: str, borne_out: tuple[str, ...]
) -> None:
    orders = SourceDocument("orders.md", "Orders rose from 1,200 in April to 1,380 in May. Returns stayed at 60.")
    result = SourceDocument("the result", "A colleague has 1,380.", is_material=False, is_brief=True)
    reply = json.dumps({"sentences": [{"number": 1, "quotation": quotation, "verdict": "supported"}]})
    found = parse_verdicts(reply, "How many?", (sentence,), (orders, result), ("15 %", "16 %", "1,380"))
    assert found["borne_out"] == borne_out


def test_only_words_of_the_request_are_unanswered() -> None:
    assert make_verdicts(unanswered=["who signs", "what it costs", 7])["unanswered"] == ("who signs",)


def test_both_sides_of_a_contradiction_are_quoted() -> None:
    pair = {"one": "with 90 days' notice", "other": "a notice of 30 days"}
    (found,) = make_verdicts(contradictions=[pair, {"one": "with 90 days' notice", "other": "60 days"}, "x"])[
        "contradictions"
    ]
    assert (found.one.source, found.other.source) == ("contract.txt", "board.md")


@pytest.mark.parametrize("reply", ["", "Bananas!", "[]", '{"sentences": 3}', '{"verdict": "fine"}'])
def test_a_reply_without_verdicts_is_told_as_none(reply: str) -> None:
    assert parse_verdicts(reply, REQUEST, SENTENCES, (CONTRACT,)) == {"doubt": "the verifier gave no verdict"}
