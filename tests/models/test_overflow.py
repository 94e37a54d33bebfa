"""A call that is too long for its model is known as such in any words, and no other refusal is taken for one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.models.model_faults import code_and_message
from bot.models.overflow import is_overflow, numbers_in, share_that_fits
from specialists.model import ModelError
from tests.models.conftest import ask, paired
from tests.models.overflow_words import SOMETHING_ELSE, TOO_LONG
from tests.providers.faults import Fault
from tests.providers.rendering import Reply
from tests.providers.wire import Api

DEEP = [[[[[[[[{"error": {"message": "x"}}]]]]]]]]


@pytest.mark.parametrize(("status", "body"), TOO_LONG)
def test_a_call_that_is_too_long_is_known(status: int, body: Any) -> None:
    assert is_overflow(status, *code_and_message(body))


@pytest.mark.parametrize(("status", "body"), SOMETHING_ELSE)
def test_nothing_else_is_taken_for_one(status: int, body: Any) -> None:
    assert not is_overflow(status, *code_and_message(body))


@given(limit=st.integers(1_000, 2_000_000), over=st.floats(1.01, 50), separator=st.sampled_from(["", ",", ".", " "]))
def test_numbers_say_what_fits_however_they_are_written(limit: int, over: float, separator: str) -> None:
    asked = int(limit * over) + 1
    shown = [f"{number:,}".replace(",", separator) for number in (limit, asked)]
    said = f"the maximum context length is {shown[0]} tokens, but the prompt has {shown[1]}"
    assert numbers_in(said) == [limit, asked]
    assert is_overflow(400, "", said)
    assert share_that_fits(said) == pytest.approx(min(max(limit / asked, 0.1), 0.9))


@pytest.mark.parametrize(
    ("body", "words"),
    [
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
    ],
)
async def test_the_words_of_an_error_are_told_wherever_they_are(api: Api, body: Any, words: str) -> None:
    async with paired(api, lambda _: Fault("in_own_words", body=body)) as pair:
        with pytest.raises(ModelError) as caught:
            await pair.model.reply(ask())
    assert (caught.value.kind, words in str(caught.value)) == ("bad_request", True), str(caught.value)
    assert pair.server.stats.calls == 1


def test_a_body_that_is_nested_without_end_says_nothing() -> None:
    assert code_and_message(DEEP) == ("", "")


async def test_an_error_in_a_list_inside_a_success_is_told() -> None:
    error = {
        "error": {"code": 400, "message": "The input token count (2000000) exceeds the maximum of 1048576 tokens."}
    }
    for raw in ((error,), error):
        async with paired("chat", lambda _, raw=raw: Reply(raw=raw)) as pair:  # type: ignore[misc]
            with pytest.raises(ModelError) as caught:
                await pair.model.reply(ask())
        assert caught.value.kind == "too_long"
        assert caught.value.share == pytest.approx(0.524, abs=0.001)
        assert "LEADHAND_CONTEXT" in str(caught.value)


LIMITS = [
    ("Request too large for m on tokens per min (TPM): Limit 30000, Requested 41000.", "too_long", 1),
    ("The input or output tokens must be reduced in order to run.", "too_long", 1),
    ("Limit reached on tokens per min (TPM): Limit 30000, Used 29000, Requested 5000.", "rate_limited", 3),
    ("You exceeded your current quota, check your plan and billing details.", "quota", 1),
    ("You exceeded your current quota, see plan and billing. Please retry in 0.01s.", "rate_limited", 3),
    ("Too many tokens per day, please wait before trying again.", "rate_limited", 1),
    ("Slow down.", "rate_limited", 3),
]


@pytest.mark.parametrize(("said", "kind", "calls"), LIMITS)
async def test_a_limit_that_waiting_cannot_cure_is_not_tried_again(api: Api, said: str, kind: str, calls: int) -> None:
    body = {"error": {"message": said, "type": "rate_limit_error"}}
    async with paired(api, lambda _: Fault("in_own_words", status=429, body=body)) as pair:
        with pytest.raises(ModelError) as caught:
            await pair.model.reply(ask())
    assert (caught.value.kind, pair.server.stats.calls) == (kind, calls)
