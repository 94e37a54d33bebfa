"""A brief that says nothing is refused with the reason, and one that says something never is."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handoff.planning.vagueness import fault_of

BRIEFS = Path(__file__).parent / "briefs"
GOOD = (BRIEFS / "good.txt").read_text(encoding="utf-8").splitlines()
VAGUE = (BRIEFS / "vague.txt").read_text(encoding="utf-8").splitlines()


def test_there_are_many_good_briefs_and_none_is_refused() -> None:
    assert len(GOOD) >= 80
    assert {brief: fault for brief in GOOD if (fault := fault_of(brief))} == {}


@pytest.mark.parametrize("brief", VAGUE)
def test_a_vague_brief_is_refused(brief: str) -> None:
    assert fault_of(brief)


@pytest.mark.parametrize(
    ("brief", "reason"),
    [
        ("Analyze", "say what, of what, how"),
        ("分析", "say what, of what, how"),
        ("analyze the data", "'data' could be any; name which"),
        ("Analyze the data thoroughly and provide insights", "'data' could be any; name which"),
        ("Handle it as you see fit", "it names no object and no deliverable"),
        ("Explore the customer database", "not what to hand back"),
    ],
)
def test_the_reason_says_what_to_add(brief: str, reason: str) -> None:
    assert reason in fault_of(brief)


def test_the_deliverable_may_stand_in_the_criterion() -> None:
    assert fault_of("Explore the customer database", "Names the three largest customers.") == ""
    assert fault_of("Explore the customer database", "The task is completed.")


def test_the_earlier_results_are_an_object_for_whoever_waits_for_them() -> None:
    assert fault_of("Check all of the results", builds_on=True) == ""
    assert fault_of("Check all of the results", builds_on=False)


@given(st.text(max_size=200))
def test_whatever_a_model_writes_is_judged(brief: str) -> None:
    assert isinstance(fault_of(brief, brief), str)


@given(st.sampled_from(VAGUE), st.sampled_from(["in churn.csv", "for 2024", "of Ørsted", "called “north”", "的销售额"]))
def test_what_is_named_makes_a_brief_of_it(brief: str, named: str) -> None:
    """Anything particular is enough: the check errs on the side of letting a brief pass."""
    assert "could be any" not in fault_of(f"{brief} {named}")
