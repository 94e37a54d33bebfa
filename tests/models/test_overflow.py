"""A call that is too long for its model is known as such in any words, and no other refusal is taken for one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.models.context_overflow import estimate_fitting_share, find_large_numbers, is_context_overflow
from bot.models.model_faults import extract_code_and_message
from tests.models.conftest import catch_failures
from tests.providers.faults import Fault
from tests.providers.rendering import Reply
from tests.providers.wire import Api

WORDS = Path(__file__).parent / "overflow_words.jsonl"
"""What servers say: on each line whether it is about a call that is too long, the status and the body."""
DEEP = [[[[[[[[{"error": {"message": "x"}}]]]]]]]]


def test_a_call_that_is_too_long_is_known_and_nothing_else_is_taken_for_one() -> None:
    lines = WORDS.read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    wrong = [row for row in rows if is_context_overflow(row[1], *extract_code_and_message(row[2])) is not row[0]]
    assert (wrong, len({row[0] for row in rows})) == ([], 2)


@given(limit=st.integers(1_000, 2_000_000), over=st.floats(1.01, 50), separator=st.sampled_from(["", ",", ".", " "]))
def test_numbers_say_what_fits_however_they_are_written(limit: int, over: float, separator: str) -> None:
    asked = int(limit * over) + 1
    shown = [f"{number:,}".replace(",", separator) for number in (limit, asked)]
    said = f"the maximum context length is {shown[0]} tokens, but the prompt has {shown[1]}"
    assert find_large_numbers(said) == [limit, asked]
    assert is_context_overflow(400, "", said)
    assert estimate_fitting_share(said) == pytest.approx(min(max(limit / asked, 0.1), 0.9))


BODIES: list[tuple[Any, str]] = [
    ([{"error": {"code": 400, "message": "Gemini's words.", "status": "INVALID_ARGUMENT"}}], "Gemini's words"),
    ({"error": "a plain text"}, "a plain text"),
    ({"detail": [{"loc": ["body", "model"], "msg": "FastAPI's words"}]}, "FastAPI's words"),
    ({"errors": [{"message": "one"}, {"message": "two"}]}, "one; two"),
    ({"error": {"message": '{"error": {"message": "quoted words"}}'}}, "quoted words"),
    (
        {"error": {"message": "Provider returned error", "metadata": {"raw": '{"message": "theirs"}'}}},
        "error: theirs",
    ),
    (
        "<html><head><style>b {}</style><title>400 Bad</title></head><body>No &amp; no</body></html>",
        "400 Bad No & no",
    ),
]


async def test_the_words_of_an_error_are_told_wherever_they_are(api: Api) -> None:
    failures = await catch_failures(api, [Fault("in_own_words", body=body) for body, _ in BODIES])
    assert {(failure.kind, failure.usage.calls) for failure in failures} == {("bad_request", 1)}
    assert [words for (_, words), failure in zip(BODIES, failures, strict=True) if words not in str(failure)] == []


def test_a_body_that_is_nested_without_end_says_nothing() -> None:
    assert extract_code_and_message(DEEP) == ("", "")


async def test_an_error_in_a_list_inside_a_success_is_told() -> None:
    words = "The input token count (2000000) exceeds the maximum of 1048576 tokens."
    error = {"error": {"code": 400, "message": words}}
    for failure in await catch_failures("chat", [Reply(raw=(error,)), Reply(raw=error)]):
        assert failure.kind == "too_long"
        assert failure.share == pytest.approx(0.524, abs=0.001)
        assert "LEADHAND_CONTEXT" in str(failure)


LIMITS = [
    ("Request too large for m on tokens per min (TPM): Limit 30000, Requested 41000.", "too_long", 1),
    ("The input or output tokens must be reduced in order to run.", "too_long", 1),
    ("Limit reached on tokens per min (TPM): Limit 30000, Used 29000, Requested 5000.", "rate_limited", 3),
    ("You exceeded your current quota, check your plan and billing details.", "quota", 1),
    ("You exceeded your current quota, see plan and billing. Please retry in 0.01s.", "rate_limited", 3),
    ("Too many tokens per day, please wait before trying again.", "rate_limited", 1),
    ("Slow down.", "rate_limited", 3),
]


async def test_a_limit_that_waiting_cannot_cure_is_not_tried_again(api: Api) -> None:
    bodies = [{"error": {"message": said, "type": "rate_limit_error"}} for said, _, _ in LIMITS]
    failures = await catch_failures(api, [Fault("in_own_words", status=429, body=body) for body in bodies])
    assert [(failure.kind, failure.usage.calls) for failure in failures] == [row[1:] for row in LIMITS]
