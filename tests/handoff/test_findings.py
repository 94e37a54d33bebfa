"""Findings and notes: what two say at one place is told once, and condensing loses nothing without saying so."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.supervisor.synthesizer import FINDINGS_HEADING, build_brief
from handoff.answering.code_places import CodePlace, find_code_place, find_line_link
from handoff.answering.findings import are_same_finding, merge_graded_findings
from handoff.answering.reduction import (
    MAX_PARTS,
    MAX_RESTORED_SENTENCES,
    MAX_ROUNDS,
    MAX_SENTENCE_LENGTH,
    SHRINK_FACTOR,
    ReductionCall,
    estimate_notes_tokens,
    make_notes_from_reply,
    plan_reduction,
    truncate_notes,
)
from handoff.answering.result_text import render_result, states_message
from handoff.contracts import Finding, Material, Note, Result, Section, Severity
from handoff.engine.engine import fold_log
from handoff.text.context_budget import estimate_token_count, fits_budget
from tests.handoff.kit import require
from tests.handoff.test_answering import make_results_log

OFF = Finding(message="The total is off by 40 euros.", severity="medium", where="invoice.pdf, p. 3", confidence=70)
OFF_TOO = Finding(
    message="The invoice's total is 40 euros off.",
    severity="high",
    where="Invoice.pdf p.3",
    suggestion="Use 1,240.",
    confidence=85,
    source="ledger.csv",
)
LATE = Finding(message="It was paid late.", severity="low", where="invoice.pdf, p. 3")
OFFICE_FINDING = Finding(message="Norway has 3 offices.", source="https://no.test")


def render_brief_material(*results: tuple[str, tuple[Finding, ...]], strategy: str = "merge", **terms: object) -> str:
    """The synthesizer's brief for results with these contents and findings."""
    made = [Result(summary="s", content=content, findings=findings) for content, findings in results]
    request = require(fold_log(make_results_log(made, verifier=False, strategy=strategy, **terms))).requests[0]
    return build_brief(request, request.run).text


def test_a_finding_of_two_results_is_one_with_both_and_all_that_is_known_of_it() -> None:
    text = render_brief_material(("All else is fine.", (LATE, OFF)), ("See below.", (OFF_TOO, OFFICE_FINDING)))
    assert text.split(FINDINGS_HEADING)[1].strip().splitlines() == [
        (
            "- high, Invoice.pdf p.3: The invoice's total is 40 euros off. "
            "(suggestion: Use 1,240.; source: ledger.csv; sure: 85; by: s0, s1)"
        ),
        "- low, invoice.pdf, p. 3: It was paid late. (sure: 80; by: s0)",
    ]
    assert text.count("euros off") == 1
    assert "- Norway has 3 offices. (https://no.test)" in text.split(FINDINGS_HEADING)[0]


def test_a_finding_that_its_content_tells_keeps_severity_place_and_suggestion() -> None:
    text = render_brief_material((f"# Review\n{OFF_TOO.message} Else all is well.", (OFF_TOO,)), ("Fine.", ()))
    assert "- high, Invoice.pdf p.3: " in text
    assert "suggestion: Use 1,240." in text


def test_results_without_such_findings_cost_nothing() -> None:
    plain = render_brief_material(("Norway has 3 offices.", ()), ("Fine.", ()))
    known = Finding(message="Norway has 3 offices.", where="plan")
    assert render_brief_material(("Norway has 3 offices.", (known,)), ("Fine.", ())) == plain


def test_less_sure_findings_are_not_listed_where_the_crew_keeps_them_apart() -> None:
    doubtful = OFF.model_copy(update={"confidence": 30})
    assert FINDINGS_HEADING in render_brief_material(("Fine.", (doubtful,)), ("Good.", ()))
    apart = render_brief_material(("Fine.", (doubtful,)), ("Good.", ()), unsure="apart", confidence=60)
    assert FINDINGS_HEADING not in apart
    assert "off by 40" not in apart


def test_a_result_that_is_selected_keeps_its_findings() -> None:
    text = render_brief_material(("Fine.", (OFF,)), ("Good.", (LATE,)), strategy="select")
    assert FINDINGS_HEADING not in text
    assert "- The total is off by 40 euros. (medium, invoice.pdf, p. 3)" in text


@pytest.mark.parametrize(
    ("message", "where", "same"),
    [
        ("The total is off by 40 euros.", "invoice.pdf, p. 3", True),
        ("Total off by 40 euros", "Invoice.PDF p. 3", True),
        ("The total is off by 41 euros.", "invoice.pdf, p. 3", False),
        ("The total is off by 40 euros.", "invoice.pdf, p. 4", False),
        ("The total is off by 40 euros.", "", False),
        ("40 pages have no number.", "invoice.pdf, p. 3", False),
    ],
)
def test_the_same_is_what_agrees_in_place_figures_and_words(message: str, where: str, same: bool) -> None:  # noqa: FBT001
    assert are_same_finding(OFF, OFF.model_copy(update={"message": message, "where": where})) is same


def test_what_is_worded_otherwise_is_not_lost_where_two_findings_are_one() -> None:
    other = OFF.model_copy(update={"message": "The total is not off by 40 euros.", "confidence": 60})
    both = {name: Result(summary="s", content="c", findings=(one,)) for name, one in (("a", OFF), ("b", other))}
    (found,) = merge_graded_findings(both, {"a": "Audit", "b": "Check"})
    assert found.finding.message == "The total is off by 40 euros. / The total is not off by 40 euros."
    assert found.result_titles == ("Audit", "Check")


def test_a_single_result_tells_place_and_suggestion_that_its_content_lacks() -> None:
    result = Result(summary="s", content="The invoice's total is 40 euros off.", findings=(OFF_TOO,))
    assert render_result(result).endswith(
        "- The invoice's total is 40 euros off. (high, Invoice.pdf p.3, ledger.csv) → Use 1,240."
    )
    told_there = result.model_copy(update={"content": f"{OFF_TOO.where}: {OFF_TOO.message} {OFF_TOO.suggestion}"})
    assert render_result(told_there) == told_there.content


def test_a_file_that_is_both_place_and_source_is_named_once() -> None:
    found = Finding(message="It names no owner.", severity="medium", where="contract.txt", source="contract.txt")
    text = render_result(Result(summary="s", content="No owner is named there.", findings=(found,)))
    assert "- It names no owner. (medium, contract.txt)" in text


# ---------------------------------------------------------------- places in code


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("shop/basket.py:12", CodePlace("shop/basket.py", 12, 12)),
        ("`src/Main.java:7-9`", CodePlace("src/Main.java", 7, 9)),
        ("./a.go, lines 3 to 5", CodePlace("a.go", 3, 5)),
        ("web/app.ts#L44-L46", CodePlace("web/app.ts", 44, 46)),
        ("in shop/tax.py line 3, the rate", CodePlace("shop/tax.py", 3, 3)),
        ("Makefile:8", CodePlace("Makefile", 8, 8)),
        ("at 10:30 on Monday", None),
        ("version 1.2.3", None),
        ("page 3", None),
        ("shop/basket.py", None),
    ],
)
def test_a_place_is_read_however_it_is_written(text: str, place: CodePlace | None) -> None:
    assert find_code_place(text) == place


def finding_at(where: str, message: str, confidence: int = 90, severity: Severity = "medium") -> Finding:
    return Finding(where=where, message=message, confidence=confidence, severity=severity, suggestion=f"Mend {message}")


def merge_findings(**findings: tuple[Finding, ...]) -> list[tuple[str, tuple[str, ...]]]:
    results = {name: Result(summary="s", content="c", findings=each) for name, each in findings.items()}
    return [(one.finding.message, one.result_titles) for one in merge_graded_findings(results, {})]


def test_what_two_found_at_the_same_lines_is_one_item_with_all_that_was_said() -> None:
    bug = finding_at("shop/basket.py:12", "Cents are lost.", severity="high")
    comment = finding_at("basket.py, lines 11-13", "The comment promises a share, the code takes per cent.", 85)
    (one,) = merge_findings(bugs=(bug,), comments=(comment,))
    assert one == (f"{bug.message} / {comment.message}", ("bugs", "comments"))


def test_what_one_finds_twice_and_what_lies_elsewhere_stays_apart() -> None:
    first, second = finding_at("a.py:3", "It divides by zero."), finding_at("a.py:3", "The name shadows a builtin.")
    assert len(merge_findings(bugs=(first, second))) == 2
    assert len(merge_findings(bugs=(first,), rules=(finding_at("b.py:3", "It divides by zero here."),))) == 2
    assert len(merge_findings(bugs=(first,), rules=(finding_at("a.py:9", "It divides by zero."),))) == 2


def test_next_lines_are_one_thing_only_if_the_words_say_so() -> None:
    bug = finding_at("a.py:3", "The discount is subtracted twice from the total price.")
    like = finding_at("a.py:5", "Total price: the discount counts twice here.")
    other = finding_at("a.py:5", "Tabs are not used in this house.")
    assert len(merge_findings(bugs=(bug,), comments=(like,))) == 1
    assert len(merge_findings(bugs=(bug,), rules=(other,))) == 2


LINES = "https://forge.example/acme/shop/blob/abc/{path}#L{line}"
CHANGE = Material(
    name="shop-7.diff", lines=LINES, outline=(Section(name="shop/basket.py"), Section(name="a b.py line 3"))
)


@pytest.mark.parametrize(
    ("where", "link"),
    [
        ("shop/basket.py:12", "https://forge.example/acme/shop/blob/abc/shop/basket.py#L12"),
        ("basket.py, lines 3-5", "https://forge.example/acme/shop/blob/abc/shop/basket.py#L3"),
        ("https://evil.example/x.py:3", ""),
        ("other/basket.py:12", ""),
        ("shop/basket.py", ""),
    ],
)
def test_a_link_to_a_line_is_made_of_a_path_that_the_change_has(where: str, link: str) -> None:
    assert find_line_link(finding_at(where, "It fails."), [Material(name="notes"), CHANGE]) == link


# ---------------------------------------------------------------- condensing

BUDGET = 400
WORDS = st.lists(
    st.sampled_from(["churn", "Norway", "rose.", "7.3 %", "fine", "\n\n", "漢字漢字", "- and"]), max_size=400
)
REPLIES = st.one_of(st.just(""), WORDS.map(" ".join), st.just("x" * 9_000))


@given(
    texts=st.lists(WORDS.map(" ".join), min_size=1, max_size=8),
    replies=st.lists(REPLIES, min_size=1, max_size=4),
    fails=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_every_run_ends_within_its_caps_with_its_losses_named(
    texts: list[str], replies: list[str], *, fails: bool
) -> None:
    material = [Note(source=f"Part {n}", text=text) for n, text in enumerate(texts)]
    done: dict[tuple[int, int], tuple[Note, ...]] = {}
    calls = 0
    while parts := plan_reduction(material, done, BUDGET).parts:
        assert parts[0].round <= MAX_ROUNDS
        assert len(parts) <= MAX_PARTS
        part = parts[-1]  # in any order: each stands on its own
        reply = replies[calls % len(replies)]
        made, left_out = truncate_notes("churn?", part) if fails else make_notes_from_reply("churn?", part, reply)
        most = (
            part.max_note_tokens
            + MAX_RESTORED_SENTENCES * (MAX_SENTENCE_LENGTH + 3)
            + sum(estimate_token_count(note.source) for note in (*part.notes, *made))
            + 20
        )
        assert estimate_notes_tokens(made) <= most
        if estimate_token_count(reply.strip()) > part.max_note_tokens or fails:
            assert left_out, "what was cut is named"
        done[part.round, part.part] = made
        calls += 1
        assert calls <= MAX_ROUNDS * MAX_PARTS
    end = plan_reduction(material, done, BUDGET)
    assert fits_budget(estimate_notes_tokens(end.notes), BUDGET) or end.rounds == MAX_ROUNDS
    if fits_budget(estimate_notes_tokens(material), BUDGET):
        assert not done
        assert end.notes == tuple(material)


@given(st.lists(WORDS.map(" ".join), min_size=1, max_size=8))
@settings(max_examples=60, deadline=None)
def test_all_of_the_material_is_read_or_named(texts: list[str]) -> None:
    material = [Note(source=f"Part {n}", text=text) for n, text in enumerate(texts)]
    first = plan_reduction(material, {}, BUDGET)
    if first.parts:
        read = "".join(note.text for part in first.parts for note in part.notes)
        render_result = "".join(note.text for note in material if note.text.strip())
        assert "".join(read.split()) == "".join(render_result.split()) or first.left_out


def test_a_round_that_was_cut_short_goes_on_with_the_parts_it_lacks() -> None:
    material = [Note(source=f"Part {n}", text="word " * 200) for n in range(4)]
    first = plan_reduction(material, {}, BUDGET)
    assert [part.part for part in first.parts] == list(range(1, len(first.parts) + 1))
    assert len(first.parts) > 1
    rest = plan_reduction(material, {(1, 1): (Note(source="Part 0", text="short"),)}, BUDGET)
    assert [part.part for part in rest.parts] == [part.part for part in first.parts[1:]]


def part_of_text(text: str) -> ReductionCall:
    return ReductionCall(
        1, 1, (Note(source="Refunds", text=text),), max(1, estimate_token_count(text) // SHRINK_FACTOR)
    )


@pytest.mark.parametrize(
    ("request_", "sentence"),
    [
        ("What was the refund rate in Norway?", "The refund rate in Norway was 7.3 %."),
        ("Why did 4,872 people leave?", "Of those, 4,872 went to Globex."),
        ("Wie hoch war die Quote in Norwegen?", "Die Quote in Norwegen war 7,3 %."),
        ("ノルウェー 4,872 人", "そのうち 4,872 人が移りました。"),
    ],
)
def test_a_figure_that_the_request_names_survives_word_for_word(request_: str, sentence: str) -> None:
    filler = "It all went well that day and nothing came up. " * 20
    notes, left_out = make_notes_from_reply(request_, part_of_text(filler + sentence), "- All well.")
    assert any(sentence in note.text for note in notes)
    assert not left_out
    notes, _ = make_notes_from_reply(request_, part_of_text(filler + sentence), f"- All well. {sentence}")
    assert len(notes) == 1, "what survived is not put back"


def test_figures_beyond_what_is_put_back_are_named_as_left_out() -> None:
    many = " ".join(f"Refund case {n} took {n} days." for n in range(2, 2 + MAX_RESTORED_SENTENCES + 3))
    notes, left_out = make_notes_from_reply(
        "List the refund cases", part_of_text(many + " padding" * 400), "- Several cases."
    )
    assert len(notes[-1].text.splitlines()) == MAX_RESTORED_SENTENCES
    assert len(left_out) == 3
    assert all(line.startswith("Refunds: Refund case") for line in left_out)


def test_notes_keep_the_headings_of_their_sources() -> None:
    both = ReductionCall(1, 1, (Note(source="Refunds", text="a " * 400), Note(source="Churn", text="b " * 400)), 200)
    notes, _ = make_notes_from_reply("?", both, "Preface.\n## Churn\n- down\n## Refunds\n- up")
    assert [(note.source, note.text) for note in notes] == [
        ("Refunds, Churn", "Preface."),
        ("Churn", "- down"),
        ("Refunds", "- up"),
    ]


# ---------------------------------------------------------------- figures in any format


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
    assert states_message(text, message) is is_held
