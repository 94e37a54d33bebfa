"""Contradictions: what a report may say, how they are worded, and when an answer needs a line on them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from handoff.answering.disputes import MOST, figures, line, reported, with_contradictions
from handoff.contracts import Conflict, Finding, Result, Side

GOLD = Path(__file__).parents[2] / "bot" / "evaluation" / "sets" / "contradictions.yml"
PAIRS: list[dict[str, Any]] = yaml.safe_load(GOLD.read_text(encoding="utf-8"))
LOW, HIGH = "Churn was 4.2 %.", "Churn was 6.1 %."


def result(content: str, **more: Any) -> Result:
    return Result(summary="s", content=content, **more)


THERE = {"a": result(LOW), "b": result(HIGH)}


BROKEN = (
    '{"contradictions":[{"claim":"Churn","sides":['
    '{"result":"a","statement":"4.2 %"},{result":"b","statement":"6.1 %"}]}]}'
)
"""As a small model wrote it: a quotation mark is missing."""


def report(*pairs: tuple[str, str], names: tuple[str, str] = ("a", "b")) -> str:
    made = [
        {
            "claim": "churn",
            "sides": [{"result": name, "statement": said} for name, said in zip(names, pair, strict=True)],
        }
        for pair in pairs
    ]
    return json.dumps({"contradictions": made}, ensure_ascii=False)


def conflict(one: str, other: str, **more: Any) -> Conflict:
    sides = (Side(subtask="a", statement=one), Side(subtask="b", statement=other))
    return Conflict.model_validate({"claim": "churn", "sides": sides, "verdict": "contradict", **more})


def test_the_gold_set_is_whole() -> None:
    assert len(PAIRS) >= 120
    assert len({pair["id"] for pair in PAIRS}) == len(PAIRS)
    assert 2 * sum(pair["contradict"] for pair in PAIRS) == len(PAIRS)
    assert len({tag for pair in PAIRS for tag in pair["tags"] if len(tag) == 2}) >= 5


@pytest.mark.parametrize("pair", PAIRS, ids=[pair["id"] for pair in PAIRS])
def test_what_is_reported_of_the_gold_set_is_read_whole(pair: dict[str, Any]) -> None:
    there = {"a": result(pair["a"]), "b": result(pair["b"])}
    rest, found = reported(report((pair["a"], pair["b"])), there)
    assert rest == ""
    assert found is not None
    assert [[side.statement for side in one.sides] for one in found] == [[pair["a"], pair["b"]]]
    shown = f"{pair['a']} {pair['b']}"
    assert with_contradictions(shown, found, pair["question"]) == shown, "it tells both sides"


def test_a_side_has_its_source_its_evidence_and_how_sure_it_is() -> None:
    tools = ("May: 42 of 1,000 left, 4.2 %", "Rows read: 1,000", "Latency 200 ms")
    finding = Finding(message=LOW, source="churn.csv", confidence=95)
    there = {"a": result("See below.", findings=(finding,), evidence=tools), "b": result(HIGH, confidence=70)}
    _, found = reported(report((LOW, HIGH)), there)
    assert found is not None
    ours, theirs = found[0].sides
    assert (ours.source, ours.confidence, ours.evidence) == ("churn.csv", 95, tools[:1])
    assert (theirs.source, theirs.confidence, theirs.evidence) == ("", 70, ())
    assert (found[0].claim, found[0].verdict) == ("churn", "open")


@pytest.mark.parametrize(
    "sides",
    [
        "none",
        [{"result": "a", "statement": LOW}],
        [{"result": "a", "statement": LOW}, {"result": "c", "statement": HIGH}],
        [{"result": "a", "statement": LOW}, {"result": "a", "statement": LOW}],
        [{"result": "a", "statement": LOW}, {"result": "b", "statement": ""}],
        [{"result": "a", "statement": LOW}, {"result": "b", "statement": "Churn was 17 %."}],
        [{"result": "a", "statement": LOW}, "b"],
    ],
)
def test_what_no_two_results_say_is_no_contradiction(sides: Any) -> None:
    assert reported(json.dumps({"contradictions": [{"claim": "x", "sides": sides}]}), THERE) == ("", ())
    assert reported(json.dumps({"contradictions": [sides]}), THERE) == ("", ())


def test_results_may_be_named_by_their_titles() -> None:
    _, found = reported(report((LOW, HIGH), names=("Read the file", "b")), THERE, {"a": "Read the file", "b": "b"})
    assert found is not None
    assert [side.subtask for side in found[0].sides] == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "rest", "count"),
    [
        ("The answer.", "The answer.", None),
        ('{"contradictions": []}\n\nThe answer.', "The answer.", 0),
        ('```json\n{"contradictions": []}\n```\nThe answer.', "The answer.", 0),
        ('{"contradictions": "no"}', "", 0),
        ('{"contradictions": [', "", 0),
        ('{"contradictions": [{"claim": "x"\n\nThe answer.', "", 0),
        (BROKEN, "", 1),
        (f"```json\n{BROKEN}\n```\nThe answer.", "The answer.", 1),
        (f"Here it is:\n{report((LOW, HIGH))}", "Here it is:", 1),
        (report(*[(LOW, HIGH)] * 20), "", MOST),
        ('{"total": 4}', '{"total": 4}', None),
    ],
)
def test_a_reply_is_parted_into_its_report_and_the_rest(text: str, rest: str, count: int | None) -> None:
    left, found = reported(text, THERE)
    assert left == rest
    assert (None if found is None else len(found)) == count


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ("By the file it was 4.2 %, by the page 6.1 %.", True),
        ("Laut Datei 4,2 %, laut Seite 6,1 %.", True),
        ("| source | churn |\n| --- | --- |\n| file | 4.2 |\n| page | 6.1 |", True),
        ("Churn was 4.2 %.", False),
        ("Churn is disputed.", False),
    ],
)
def test_a_line_is_added_only_where_a_side_is_missing(answer: str, *, told: bool) -> None:
    shown = with_contradictions(answer, [conflict(LOW, HIGH)], "What was churn?")
    assert (shown == answer) is told
    assert shown.startswith(answer)
    assert told or shown.count("4.2 %.” ↔ “Churn was 6.1 %.”") == 1


def test_names_count_where_there_are_no_figures() -> None:
    names = conflict("Anna Keller is the product owner.", "The product owner is Tom Brandt.")
    both = "One names Anna Keller, the other Tom Brandt."
    assert with_contradictions(both, [names], "Who owns it?") == both
    assert with_contradictions("It is Anna Keller.", [names], "Who owns it?") != "It is Anna Keller."


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"favours": "a", "confidence": 90}, "The evidence supports the first."),
        ({"favours": "b", "reason": "It has rows."}, "The evidence supports the second: It has rows."),
        ({}, "The evidence supports neither."),
        ({"verdict": "open", "reason": "no time"}, "Not settled: no time."),
    ],
)
def test_a_line_says_what_the_evidence_supports(more: dict[str, Any], words: str) -> None:
    assert line(conflict(LOW, HIGH, **more)).endswith(words)


def test_a_line_is_in_the_language_of_the_request() -> None:
    shown = with_contradictions("Nichts.", [conflict(LOW, HIGH)], "Wie hoch war die Abwanderung im Mai?")
    assert "**Die Ergebnisse widersprechen sich**" in shown
    assert "Die Belege stützen keines von beiden" in shown


def test_figures_are_compared_by_their_digits() -> None:
    assert figures("1.58 Mio., 1,58 million, word17, Q3") == {"158"}
    assert figures("5月の売上は1,200万円") == {"5", "1200"}
