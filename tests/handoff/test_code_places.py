"""Places in code are read however they are written, and what several found at one is told once."""

from __future__ import annotations

import pytest

from handoff.answering.code_places import CodePlace, place_in
from handoff.answering.findings import merge_graded_findings
from handoff.answering.line_links import line_link
from handoff.contracts import Finding, Material, Result, Section, Severity


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
    assert place_in(text) == place


def found(where: str, message: str, confidence: int = 90, severity: Severity = "medium") -> Finding:
    return Finding(where=where, message=message, confidence=confidence, severity=severity, suggestion=f"Mend {message}")


def told(**findings: tuple[Finding, ...]) -> list[tuple[str, tuple[str, ...]]]:
    results = {name: Result(summary="s", content="c", findings=each) for name, each in findings.items()}
    return [(one.finding.message, one.by) for one in merge_graded_findings(results, {})]


def test_what_two_found_at_the_same_lines_is_one_item_with_all_that_was_said() -> None:
    bug = found("shop/basket.py:12", "Cents are lost.", severity="high")
    comment = found("basket.py, lines 11-13", "The comment promises a share, the code takes per cent.", 85)
    (one,) = told(bugs=(bug,), comments=(comment,))
    assert one == (f"{bug.message} / {comment.message}", ("bugs", "comments"))


def test_what_one_finds_twice_and_what_lies_elsewhere_stays_apart() -> None:
    first, second = found("a.py:3", "It divides by zero."), found("a.py:3", "The name shadows a builtin.")
    assert len(told(bugs=(first, second))) == 2
    assert len(told(bugs=(first,), rules=(found("b.py:3", "It divides by zero here."),))) == 2
    assert len(told(bugs=(first,), rules=(found("a.py:9", "It divides by zero."),))) == 2


def test_next_lines_are_one_thing_only_if_the_words_say_so() -> None:
    bug = found("a.py:3", "The discount is subtracted twice from the total price.")
    like = found("a.py:5", "Total price: the discount counts twice here.")
    other = found("a.py:5", "Tabs are not used in this house.")
    assert len(told(bugs=(bug,), comments=(like,))) == 1
    assert len(told(bugs=(bug,), rules=(other,))) == 2


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
    assert line_link(found(where, "It fails."), [Material(name="notes"), CHANGE]) == link
