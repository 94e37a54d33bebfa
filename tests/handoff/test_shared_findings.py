"""Findings in what the synthesizer reads: whole, each once with all who found it, the gravest first."""

from __future__ import annotations

import pytest

from bot.supervisor.synthesizer import FINDINGS, describe
from handoff import events as ev
from handoff.answering.findings import is_same, merge_graded_findings
from handoff.answering.material import whole
from handoff.contracts import Finding, Result
from handoff.engine.engine import fold
from handoff.state.job_state import replace
from tests.handoff.test_answering import after_results

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
SEEN = Finding(message="Norway has 3 offices.", source="https://no.test")


def told(*results: tuple[str, tuple[Finding, ...]], strategy: str = "merge", **terms: object) -> str:
    """The synthesizer's brief for results with these contents and findings."""
    log = after_results([content for content, _ in results], verifier=False, strategy=strategy)
    for place, (_, findings) in enumerate(results):
        event = log[4 + 2 * place]
        assert isinstance(event, ev.ResultReturned)
        log[4 + 2 * place] = event.model_copy(update={"result": event.result.model_copy(update={"findings": findings})})
    job = fold(log)
    assert job is not None
    ask = job.asks[0]
    run = replace(ask.run, terms=ask.run.terms.model_copy(update=terms))
    return describe(ask, run).text


def test_a_finding_of_two_results_is_one_with_both_and_all_that_is_known_of_it() -> None:
    text = told(("All else is fine.", (LATE, OFF)), ("See below.", (OFF_TOO, SEEN)))
    assert text.split(FINDINGS)[1].strip().splitlines() == [
        (
            "- high, Invoice.pdf p.3: The invoice's total is 40 euros off. "
            "(suggestion: Use 1,240.; source: ledger.csv; sure: 85; by: s0, s1)"
        ),
        "- low, invoice.pdf, p. 3: It was paid late. (sure: 80; by: s0)",
    ]
    assert text.count("euros off") == 1
    assert "- Norway has 3 offices. (https://no.test)" in text.split(FINDINGS)[0]


def test_a_finding_that_its_content_tells_keeps_severity_place_and_suggestion() -> None:
    text = told((f"# Review\n{OFF_TOO.message} Else all is well.", (OFF_TOO,)), ("Fine.", ()))
    assert "- high, Invoice.pdf p.3: " in text
    assert "suggestion: Use 1,240." in text


def test_results_without_such_findings_cost_nothing() -> None:
    plain = told(("Norway has 3 offices.", ()), ("Fine.", ()))
    known = Finding(message="Norway has 3 offices.", where="plan")
    assert told(("Norway has 3 offices.", (known,)), ("Fine.", ())) == plain


def test_less_sure_findings_are_not_listed_where_the_crew_keeps_them_apart() -> None:
    doubtful = OFF.model_copy(update={"confidence": 30})
    assert FINDINGS in told(("Fine.", (doubtful,)), ("Good.", ()))
    apart = told(("Fine.", (doubtful,)), ("Good.", ()), unsure="apart", confidence=60)
    assert FINDINGS not in apart
    assert "off by 40" not in apart


def test_a_result_that_is_selected_keeps_its_findings() -> None:
    text = told(("Fine.", (OFF,)), ("Good.", (LATE,)), strategy="select")
    assert FINDINGS not in text
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
    assert is_same(OFF, OFF.model_copy(update={"message": message, "where": where})) is same


def test_what_is_worded_otherwise_is_not_lost_where_two_findings_are_one() -> None:
    other = OFF.model_copy(update={"message": "The total is not off by 40 euros.", "confidence": 60})
    both = {name: Result(summary="s", content="c", findings=(one,)) for name, one in (("a", OFF), ("b", other))}
    (found,) = merge_graded_findings(both, {"a": "Audit", "b": "Check"})
    assert found.finding.message == "The total is off by 40 euros. / The total is not off by 40 euros."
    assert found.by == ("Audit", "Check")


def test_a_single_result_tells_place_and_suggestion_that_its_content_lacks() -> None:
    result = Result(summary="s", content="The invoice's total is 40 euros off.", findings=(OFF_TOO,))
    assert whole(result).endswith(
        "- The invoice's total is 40 euros off. (high, Invoice.pdf p.3, ledger.csv) → Use 1,240."
    )
    told_there = result.model_copy(update={"content": f"{OFF_TOO.where}: {OFF_TOO.message} {OFF_TOO.suggestion}"})
    assert whole(told_there) == told_there.content


def test_a_file_that_is_both_place_and_source_is_named_once() -> None:
    found = Finding(message="It names no owner.", severity="medium", where="contract.txt", source="contract.txt")
    text = whole(Result(summary="s", content="No owner is named there.", findings=(found,)))
    assert "- It names no owner. (medium, contract.txt)" in text
