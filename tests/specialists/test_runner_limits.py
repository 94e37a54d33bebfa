"""What becomes of the work of an attempt whose next call is not made, or brings nothing."""

from __future__ import annotations

import asyncio

import pytest

from handoff.contracts import Result, ToolCall
from specialists.model import ModelError, Withheld
from specialists.runner import run
from specialists.tools.tool import ToolOutcome
from specialists.turns import finish_tools
from specialists.turns.one_call import Ready, check, perform
from tests.specialists.scripted_model import (
    EmptyBench,
    KeptLog,
    LookArguments,
    Looker,
    Move,
    ScriptedModel,
    calling,
    handoff,
    returning,
    specialist,
)

LOOK = calling(("look", {"at": "sea"}))
FULL = Withheld("rate", "The rate is taken.", transient=True, pause=0.01)
LONG = Withheld("rate", "The rate is taken for long.", transient=True, pause=60.0)
RESTS = Withheld("breaker", "The specialist scout is left alone.", transient=False, limit="the rest of scout")


async def play(*moves: Move) -> tuple[Result, ScriptedModel]:
    model = ScriptedModel(list(moves))
    who = specialist(Looker().tool())
    outcome = await run(who, handoff(30.0), model=model, workbench=EmptyBench(), log=KeptLog())
    assert isinstance(outcome, Result)
    return outcome, model


async def test_what_is_a_matter_of_seconds_is_waited_for_with_the_tools_at_hand() -> None:
    result, model = await play(LOOK, FULL, FULL, returning())
    assert result.gaps == ()
    assert [len(call.tools) for call in model.calls] == [3, 3, 3, 3]


async def test_a_limit_that_no_wait_helps_gives_one_last_call_without_tools() -> None:
    result, model = await play(LOOK, RESTS, returning())
    assert result.content == "All of it."
    assert result.gaps == ("Stopped at the rest of scout; the work may be incomplete.",)
    assert {tool.name for tool in model.calls[-1].tools} == {spec.name for spec in finish_tools.SPECS}
    assert model.calls[-1].last
    assert "reached the rest of scout" in model.calls[-1].messages[-1].text


async def test_the_last_call_waits_too() -> None:
    result, model = await play(LOOK, RESTS, FULL, returning())
    assert result.gaps == ("Stopped at the rest of scout; the work may be incomplete.",)
    said = [message.text for message in model.calls[-1].messages if "reached the rest" in message.text]
    assert len(said) == 1, "it is told once"


@pytest.mark.parametrize("moves", [[LOOK, LONG], [LOOK, RESTS, RESTS], [LOOK, RESTS, LONG]])
async def test_what_neither_helps_leaves_what_there_is(moves: list[Move]) -> None:
    with pytest.raises(ModelError) as caught:
        await play(*moves)
    assert caught.value.partial is not None
    assert "saw sea" in caught.value.partial.content
    assert caught.value.partial.usage.calls == 1


@pytest.mark.parametrize("error", [FULL, RESTS, LONG])
async def test_before_there_is_anything_the_ladder_goes_on(error: Withheld) -> None:
    with pytest.raises(Withheld) as caught:
        await play(error)
    assert caught.value.partial is None


async def test_a_silent_tool_is_cut_at_its_own_deadline_and_the_time_is_left_to_others() -> None:
    async def stuck(_: LookArguments) -> ToolOutcome:
        await asyncio.Event().wait()
        raise AssertionError

    look = check(ToolCall(id="1", name="look", arguments={"at": "sea"}), {"look": Looker(stuck).tool()}, times=1)
    assert isinstance(look, Ready)
    now = asyncio.get_running_loop().time()
    outcome = await perform(look, EmptyBench(), until=now + 300.0, longest=0.05)
    assert (outcome.text, outcome.failed) == ("look took too long and was stopped.", True)
    outcome = await perform(look, EmptyBench(), until=now + 0.1, longest=300.0)
    assert outcome.text == "look was stopped: the time for this task is nearly up."
