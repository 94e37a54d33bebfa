"""Which words after `/leadhand` are a mistyped subcommand, and which a request. Pure."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.features.catalogue import SUBCOMMANDS
from bot.slack.receive.mistyped import edit_distance, guess_subcommand

NAMES = [one.name for one in SUBCOMMANDS]


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("staus", "status"),
        ("Status?!", "status"),
        ("satus J123", "status"),
        ("cancle it", "cancel"),
        ("job", "jobs"),
        ("hlep", "help"),
        ("shedul new", "schedule"),
        ("setings", "settings"),
        ("memroy add this", "memory"),
    ],
)
def test_a_near_word_with_little_behind_it_is_a_subcommand(typed: str, meant: str) -> None:
    assert guess_subcommand(typed, NAMES) == meant


@pytest.mark.parametrize(
    "typed",
    [
        "",
        "why did churn rise in March?",
        "dance",
        "hello",
        "quote prices",
        "place the order",
        "trade prices of last year, please",
        "crews of our ships and what they cost",
        "summarise #sales",
        "?",
    ],
)
def test_everything_else_is_a_request(typed: str) -> None:
    assert guess_subcommand(typed, NAMES) == ""


def test_a_job_behind_the_word_says_that_a_subcommand_was_meant() -> None:
    assert guess_subcommand("rety J0123456789 from prices and all", NAMES, names_job=True) == "retry"
    assert guess_subcommand("why J0123456789 did not end", NAMES, names_job=True) == ""


@given(st.text("abc", max_size=6), st.text("abc", max_size=6))
def test_a_distance_is_one(one: str, other: str) -> None:
    found = edit_distance(one, other)
    assert found == edit_distance(other, one)
    assert (found == 0) == (one == other)
    assert abs(len(one) - len(other)) <= found <= max(len(one), len(other))
