"""What our own code puts into answers, and takes out of them: phrases, marks, and what was copied of a brief."""

from __future__ import annotations

import string
from typing import Any, get_args

import pytest

from handoff.answering.copied import tag, without_form
from handoff.answering.figure_names import name_figures
from handoff.answering.fixed_words import PHRASES, Language, Phrase, language_of, phrase
from handoff.answering.material import NAMED, render_with_unsure_note
from handoff.checking.figures import find_unsupported_figures
from handoff.contracts import Finding, Result, Terms
from handoff.text.text_words import sentences, words


@pytest.mark.parametrize("name", get_args(Phrase))
def test_each_phrase_is_there_in_each_language_with_the_same_parts(name: Phrase) -> None:
    assert set(PHRASES[name]) == set(get_args(Language))
    parts = {
        frozenset(part for _, part, _, _ in string.Formatter().parse(text) if part) for text in PHRASES[name].values()
    }
    assert len(parts) == 1


REQUESTS: list[tuple[str, Language]] = [
    ("Do two things", "en"),
    ("What was churn in May?", "en"),
    ("analyse sales.csv", "en"),
    ("draft a note on El Niño y la Niña for the board", "en"),
    ("Wie hoch war der Umsatz im Mai?", "de"),
    ("Werte die Zahlen aus und prüfe den Text", "de"),
    ("Quel est le prix de l'offre Pro ?", "fr"),
    ("Combien de commandes en mars ?", "fr"),
    ("Résume ce contrat", "fr"),
    ("Total de ventas por país", "es"),
    ("Hoeveel orders in maart?", "nl"),
    ("sales per region", "en"),
    ("¿Quién dirige el equipo?", "es"),
    ("Quanto costa il piano annuale?", "it"),
    ("Quantos clientes há em Lisboa?", "pt"),
    ("ventas por ciudad", "es"),
    ("Umsatz nach Region", "de"),
    ("Größte Kunden", "en"),
    ("largest customers in Köln", "en"),
    ("El Paso revenue", "en"),
    ("São Paulo revenue", "en"),
    ("Wat kost het abonnement per maand?", "nl"),
    ("Ile kosztuje to w Polsce?", "pl"),
    ("5月の売上は?", "ja"),
    ("总销售额是多少?", "zh"),
    ("", "en"),
    ("42", "en"),
]


@pytest.mark.parametrize(("request_text", "language"), REQUESTS)
def test_the_language_of_a_request_is_told(request_text: str, language: Language) -> None:
    assert language_of(request_text) == language


def test_a_phrase_is_filled_in() -> None:
    assert phrase("below", "Prüfe bitte den Text", n=4) == "4 weitere, die weniger sicher sind"


# ---------------------------------------------------------------- marks


def test_figures_are_named_with_their_signs() -> None:
    text = "They sold 47,231 at $21, i.e. 17.3 %."
    assert name_figures(text, find_unsupported_figures(text, ["41,237 at $12"])) == ("47,231", "$21", "17.3 %")


# ---------------------------------------------------------------- less sure


def test_findings_that_are_less_sure_are_named_and_many_are_counted() -> None:
    findings = tuple(Finding(message=f"Thing {n} is so.", confidence=70) for n in range(NAMED + 2))
    result = Result(summary="s", content="\n".join(one.message for one in findings), findings=findings)
    shown = render_with_unsure_note(result, Terms(confidence=80), "What is so?")
    assert shown.startswith(result.content)
    assert shown.endswith("“Thing 4 is so”, and 2 more_")
    assert render_with_unsure_note(result, Terms(confidence=70), "x") == result.content
    long = result.model_copy(update={"findings": (Finding(message="word " * 100, confidence=1),)})
    assert "…”_" in render_with_unsure_note(long, Terms(confidence=80), "x")


def test_a_crew_may_keep_them_apart_and_count_them() -> None:
    sure, unsure = Finding(message="The lock is missing.", confidence=90), Finding(message="A typo?", confidence=60)
    result = Result(summary="s", content="Reviewed.", findings=(sure, *[unsure] * 4))
    terms = Terms(confidence=80, unsure="apart")
    assert (
        render_with_unsure_note(result, terms, "Review it please")
        == "Reviewed.\n\n- The lock is missing.\n\n_4 more that are less certain_"
    )


# ---------------------------------------------------------------- what a model copies


LISTS = {"Gaps": ["Flats: no source has figures", "Rent: not asked"], "Contradictions": []}
SECTIONS = {"Request": "What was churn?", "Plan": "Churn in May", "Instruction": "Begin with the total."}


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (f"## Churn\n{tag('churn', 70)}\nIt was 4 %.", "## Churn\nIt was 4 %."),
        (f"It was 4 % {tag('churn', 70)}.", "It was 4 % ."),
        ("## Churn (analyst, confidence 70)\nIt was 4 %.", "## Churn\nIt was 4 %."),
        ("## Churn (confidence 70)\nIt was 4 %.", "## Churn\nIt was 4 %."),
        ("# Results\n\n## Churn\nIt was 4 %.", "## Churn\nIt was 4 %."),
        ("# Instruction\nBegin with the total.\n\nIt was 4 %.", "It was 4 %."),
        ("# Request\nWhat was churn?\n\n# Plan\nChurn in May (strategy: merge)\n\nIt was 4 %.", "It was 4 %."),
        ("# Results\nThe trial went well (confidence 95 %).", "# Results\nThe trial went well (confidence 95 %)."),
        ("# Plan\n1. Begin.\n\n# Instruction\nWash hands.", "# Plan\n1. Begin.\n\n# Instruction\nWash hands."),
        ("I am sure (analyst, confidence 70) of it.", "I am sure (analyst, confidence 70) of it."),
        ("It was 4 %.\n\n# Gaps\n- Rent: not asked", "It was 4 %.\n\n- Rent: not asked"),
        ("# Gaps\n\n* Flats: no source has figures\n* Rent", "* Flats: no source has figures\n* Rent"),
        ("## Gaps\n- Between our fingers", "## Gaps\n- Between our fingers"),
        ("# Contradictions\n- None", "# Contradictions\n- None"),
    ],
)
def test_our_own_form_is_taken_out_and_nothing_else(text: str, kept: str) -> None:
    assert without_form(text, titles=["Churn"], sections=SECTIONS, lists=LISTS) == kept


# ---------------------------------------------------------------- words


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The customers left.", {"customer", "left"}),
        ("L'offre Pro", {"l'offr", "pro"}),
        ("売上高", {"売上", "上高"}),
        ("", set()),
    ],
)
def test_words_say_what_a_text_is_about(text: str, found: set[str]) -> None:
    assert words(text) == found


def test_sentences_are_told_apart_in_any_script() -> None:
    text: Any = "# Head\nIt rose, e.g. in May. It fell.\n\n| a | b |\n- 売上は増えた。利益は減った。\n```\ncode\n```"
    assert sentences(text) == ["It rose, e.g. in May.", "It fell.", "売上は増えた。", "利益は減った。"]
