"""What a planner decides is dated when it has decided: people are told how long it took."""

from __future__ import annotations

import json

import pytest

from bot.supervisor.planner import ask_planner
from handoff.contracts import Member, Terms, Turn, Usage
from handoff.effects import MakePlan
from handoff.planning.plan_brief import PlanBrief
from specialists.model import ModelCall, ModelError
from tests.specialists.scripted_model import ScriptedModel

WRITER = Member(name="writer", description="Writes texts.")


@pytest.mark.parametrize(
    "next_step",
    [
        {"who": "answer", "text": "You are welcome!"},
        {"who": "writer"},
        {"who": "ask", "text": "Which?"},
        {"who": "?"},
        None,
    ],
)
async def test_each_decision_has_the_time_at_which_it_was_there(next_step: dict[str, str] | None) -> None:
    clock = [100.0]

    async def think(_: ModelCall) -> Turn:
        clock[0] += 7
        if next_step is None:
            raise ModelError("unavailable", "It is away.", transient=True)
        return Turn(text=json.dumps({"why": "So it is.", "next": next_step}), stop="end", usage=Usage())

    event = await ask_planner(
        MakePlan("1.0"),
        PlanBrief("Thanks!", may_answer=True, may_ask=True),
        members=(WRITER,),
        default="writer",
        model=ScriptedModel([think]),
        now=lambda: clock[0],
        terms=Terms(),
    )
    assert event.at == 107.0
