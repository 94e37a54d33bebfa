"""What the judge's reply settles: a doubt about a figure only with a reason, any other with the verdict."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bot.supervisor.judge import SCHEMA, read, unsettled
from handoff.checking.checks import Seen, look
from handoff.contracts import Result

FIGURES = look(Seen(Result(summary="s", content="It is 4,200, or 17 %.", confidence=50), evidence=("2,400",))).doubts


def reply(*doubts: Any) -> str:
    return json.dumps({"doubts": doubts, "faults": [], "verdict": "accept"})


def settled(number: Any, reason: str = "2,400 less 600.", *, harmless: Any = True) -> dict[str, Any]:
    return {"number": number, "reason": reason, "harmless": harmless}


def test_doubts_that_are_settled_with_a_reason_are_over() -> None:
    assert len(FIGURES) == 3
    assert unsettled(reply(settled(1), settled("2")), FIGURES) == ()
    assert unsettled(reply(settled(2)), FIGURES) == FIGURES[:1]


@pytest.mark.parametrize(
    "said",
    [
        reply(),
        reply(settled(1, ""), settled(2, "  ")),
        reply(settled(1, harmless=False), settled(2, harmless="true")),
        reply(settled(None), "1", {"number": 2}, settled(3), settled(-1)),
        '{"verdict": "accept"}',
        '{"doubts": "none", "verdict": "accept"}',
    ],
)
def test_no_verdict_overrules_a_figure_that_nobody_said(said: str) -> None:
    assert unsettled(said, FIGURES) == FIGURES[:2], "its confidence is a matter of the verdict"
    assert read(said, "")[0] == "accept"


def test_each_reason_comes_before_what_follows_from_it() -> None:
    assert list(SCHEMA["properties"]) == ["doubts", "faults", "verdict"]
    one = SCHEMA["properties"]["doubts"]["items"]["properties"]
    assert list(one) == ["number", "reason", "harmless"]
