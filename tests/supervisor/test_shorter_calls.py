"""A role's call that is too long for its model is made once more, with the least important material shortened."""

from __future__ import annotations

import json
from collections.abc import Callable

from bot.supervisor.planner import ask_planner
from bot.supervisor.roles import fitting
from handoff.contracts import Member, Note, Terms, Turn, Usage
from handoff.effects import MakePlan
from handoff.events import PlanProposed, RequestFailed
from handoff.planning.plan_brief import PlanBrief
from specialists.model import ModelCall, ModelError
from tests.specialists.scripted_model import ScriptedModel

WRITER = Member(name="writer", description="Writes texts.")
NOTES = "A note that is longer than the rest. " * 600
TERMS = Terms()


async def plan(model: ScriptedModel) -> PlanProposed | RequestFailed:
    brief = PlanBrief("Write a letter.", notes=(Note(source="memory", text=NOTES),))
    event = await fitting(
        model,
        TERMS,
        lambda model, terms: ask_planner(
            MakePlan("1.0"), brief, members=(WRITER,), default="writer", model=model, now=lambda: 1.0, terms=terms
        ),
    )
    assert isinstance(event, PlanProposed | RequestFailed)
    return event


def server_with_room_for(characters: int) -> Callable[[ModelCall], object]:
    async def think(call: ModelCall) -> Turn:
        size = len(call.messages[0].text) + len(call.system)
        if size > characters:
            share = characters / size
            raise ModelError("too_long", "It is too long. Ask for less at once.", transient=False, share=share)
        return Turn(text=json.dumps({"why": "So it is.", "next": {"who": "writer"}}), stop="end", usage=Usage())

    return think


async def test_a_role_is_asked_once_more_with_less_material() -> None:
    whole = ScriptedModel([server_with_room_for(10**9)])
    assert isinstance(await plan(whole), PlanProposed)
    size = len(whole.calls[0].messages[0].text) + len(whole.calls[0].system)
    model = ScriptedModel([server_with_room_for(size - len(NOTES) // 2)] * 2)
    assert isinstance(await plan(model), PlanProposed)
    first, second = (call.messages[0].text for call in model.calls)
    assert NOTES.strip() in first
    assert NOTES[:150].strip() in second
    assert len(second) < len(first) / 2
    assert "Write a letter." in second


async def test_a_role_whose_call_never_fits_says_what_to_do() -> None:
    model = ScriptedModel([server_with_room_for(10)] * 2)
    event = await plan(model)
    assert isinstance(event, RequestFailed)
    assert "Ask for less at once" in event.reason
    assert len(model.calls) == 2
