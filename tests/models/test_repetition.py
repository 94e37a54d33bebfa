"""A reply that only repeats itself is given up long before its limit of tokens."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from bot.models.reply_cleaning import RepetitionDetector
from tests.models.chat_replies import chunks, part
from tests.models.conftest import TOOLS, ask, take_turn

LONG = 60_000
"""Characters that a model would write in circles."""


def noticed_after(text: str, piece: int = 4) -> int | None:
    """The characters of a text that were read when it was noticed; None if it was not."""
    watch = RepetitionDetector()
    for start in range(0, len(text), piece):
        if watch.feed(text[start : start + piece]):
            return start + piece
    return None


PARAGRAPH = " ".join(f"Step {number} follows from step {number - 1}." for number in range(1, 21))


@pytest.mark.parametrize("period", ["a", " ", "\n", '"churn.csv",', "I will now query the table. ", PARAGRAPH])
@pytest.mark.parametrize("before", ["", '{"needs":[', "A report of some length. " * 3])
def test_what_repeats_itself_is_noticed_within_seven_periods_or_three_thousand_characters(
    period: str, before: str
) -> None:
    found = noticed_after(before + period * (LONG // len(period)))
    assert found is not None
    assert found <= len(before) + max(3_000, 7 * len(period) + 400)


def _table(rows: int) -> str:
    return "| region | sales |\n" + "|---|---|\n" + "".join(f"| region {row} | {row * 7} |\n" for row in range(rows))


@pytest.mark.parametrize(
    "text",
    [
        _table(2_000),
        "-" * 1_900 + "\nThe end of a line.\n",
        "0,0\n" * 400 + "1,1\n",
        ("The same paragraph, which stands here five times. " * 20 + "\n\n") * 2,
        json.dumps([{"id": number, "after": [], "tier": None} for number in range(900)]),
        "".join(random.Random(7).choices("ab ", k=LONG)),
    ],
    ids=["a table", "a rule", "equal rows", "a refrain", "a list of objects", "few letters"],
)
def test_what_goes_on_is_let_go_on(text: str) -> None:
    assert noticed_after(text) is None


LOOPS: dict[str, Any] = {
    "words": {"content": "and so on, "},
    "thoughts": {"reasoning_content": "Wait, let me think again. "},
    "thoughts by another name": {"reasoning": "Wait, let me think again. "},
    "arguments": part(0, "very "),
}


@pytest.mark.parametrize("loop", LOOPS)
async def test_such_a_reply_ends_as_if_at_its_limit_and_the_server_is_left(loop: str) -> None:
    opening = part(0, '{"city": "', id="c1") if loop == "arguments" else {"content": ""}
    endless = chunks(opening, *[LOOPS[loop]] * 4_000, finish="tool_calls")
    turn = await take_turn("chat", endless, ask(tools=TOOLS))
    assert (turn.stop, turn.calls) == ("max_tokens", ())
    assert len(turn.text) < 4_000
    assert 0 < turn.usage.tokens_out < 2_000  # one for each event that came
