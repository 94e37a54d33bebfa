"""What becomes of an attempt whose next call is not made, brings nothing, or has no room for all that was read."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import pytest

from handoff.contracts import Constraints, Handoff, Result, ToolCall, Turn, Usage
from handoff.text.context_budget import estimate_token_count
from specialists.model import CallWithheld, ModelCall, ModelError
from specialists.tools.tool import ToolOutcome
from specialists.turns import finish_tools
from specialists.turns.context_window import READ_REPLY
from specialists.turns.one_call import ReadyCall, check_call, run_read_call
from tests.specialists.scripted_model import (
    EmptyBench,
    KeptLog,
    LookArguments,
    Looker,
    Move,
    ScriptedModel,
    calling,
    finish,
    play,
    returning,
)

LOOK = calling(("look", {"at": "sea"}))
FULL = CallWithheld("rate", "The rate is taken.", transient=True, pause=0.01)
LONG = CallWithheld("rate", "The rate is taken for long.", transient=True, pause=60.0)
RESTS = CallWithheld("breaker", "The specialist scout is left alone.", transient=False, limit="the rest of scout")


async def test_what_is_a_matter_of_seconds_is_waited_for_with_the_tools_at_hand() -> None:
    result, model, _ = await finish([LOOK, FULL, FULL, returning()], Looker().tool())
    assert result.gaps == ()
    assert [len(call.tools) for call in model.calls] == [3, 3, 3, 3]


async def test_a_limit_that_no_wait_helps_gives_one_last_call_without_tools() -> None:
    result, model, _ = await finish([LOOK, RESTS, returning()], Looker().tool())
    assert result.content == "All of it."
    assert result.gaps == ("Stopped at the rest of scout; the work may be incomplete.",)
    assert {tool.name for tool in model.calls[-1].tools} == {spec.name for spec in finish_tools.FINISH_SPECS}
    assert model.calls[-1].is_last
    assert "reached the rest of scout" in model.calls[-1].messages[-1].text


async def test_the_last_call_waits_too() -> None:
    result, model, _ = await finish([LOOK, RESTS, FULL, returning()], Looker().tool())
    assert result.gaps == ("Stopped at the rest of scout; the work may be incomplete.",)
    said = [message.text for message in model.calls[-1].messages if "reached the rest" in message.text]
    assert len(said) == 1, "it is told once"


@pytest.mark.parametrize("moves", [[LOOK, LONG], [LOOK, RESTS, RESTS], [LOOK, RESTS, LONG]])
async def test_what_neither_helps_leaves_what_there_is(moves: list[Move]) -> None:
    with pytest.raises(ModelError) as caught:
        await play(moves, Looker().tool())
    assert "saw sea" in caught.value.partial.content
    assert caught.value.partial.usage.calls == 1


@pytest.mark.parametrize("error", [FULL, RESTS, LONG])
async def test_before_there_is_anything_the_ladder_goes_on(error: CallWithheld) -> None:
    with pytest.raises(CallWithheld) as caught:
        await play([error], Looker().tool())
    assert caught.value.partial is None


async def test_a_silent_tool_is_cut_at_its_own_deadline_and_the_time_is_left_to_others() -> None:
    async def stuck(_: LookArguments) -> ToolOutcome:
        await asyncio.Event().wait()
        raise AssertionError

    look = check_call(
        ToolCall(id="1", name="look", arguments={"at": "sea"}), {"look": Looker(stuck).tool()}, request_count=1
    )
    assert isinstance(look, ReadyCall)
    now = asyncio.get_running_loop().time()
    outcome = await run_read_call(look, EmptyBench(), deadline=now + 300.0, max_seconds=0.05)
    assert (outcome.text, outcome.failed) == ("look took too long and was stopped.", True)
    outcome = await run_read_call(look, EmptyBench(), deadline=now + 0.1, max_seconds=300.0)
    assert outcome.text == "look was stopped: the time for this task is nearly up."


def seen_from(place: str) -> str:
    return "".join(f"{place}{number:04d} seen\n" for number in range(800))


async def long(arguments: LookArguments) -> ToolOutcome:
    return ToolOutcome(seen_from(arguments.at))


REPLY = estimate_token_count(seen_from("a"))
ROOM = int(2.6 * REPLY)
"""Tokens: two replies fit, and three do not."""


def look_at(place: str, tokens_in: int = 0) -> Turn:
    turn = calling(("look", {"at": place}))
    return turn.model_copy(update={"usage": Usage(calls=1, tokens_in=tokens_in, tokens_out=5)})


def make_read_turn(number: int, start: int = 0) -> Turn:
    turn = calling((READ_REPLY, {"number": number, "start": start}))
    return turn.model_copy(update={"usage": Usage(calls=1, tokens_out=5)})


async def attempt(log: KeptLog, moves: Sequence[Move], room: int = ROOM) -> tuple[Result, ScriptedModel]:
    task = Handoff(to_agent="scout", intent="Look at the sea.", constraints=Constraints(context=room))
    end, model, _ = await finish(moves, Looker(long).tool(), log=log, task=task, max_turns=20)
    return end, model


def reply_beginnings(model: ScriptedModel, call: int) -> list[str]:
    """The replies that a call sent, each cut to its beginning."""
    return [reply.text[:70] for message in model.calls[call].messages for reply in message.replies]


async def test_the_oldest_replies_give_way_and_nothing_is_offered_before() -> None:
    _, model = await attempt(KeptLog(), [*(look_at(place) for place in "abcd"), returning()])
    names = [[tool.name for tool in call.tools] for call in model.calls]
    assert names[:3] == [["look", "return_result", "escalate"]] * 3
    assert names[3:] == [["look", "return_result", "escalate", READ_REPLY]] * 2
    assert [text[:5] for text in reply_beginnings(model, 2)] == ["a0000", "b0000"]
    a, b, c = reply_beginnings(model, 3)
    assert a.startswith("[reply 1 of look, 8,800 characters, left out for room; read_reply(1) ")
    assert b.startswith("[reply 2 of look, ")
    assert c.startswith("c0000")
    sizes = [sum(len(reply.text) for message in call.messages for reply in message.replies) for call in model.calls]
    assert max(sizes) < 3 * len(seen_from("a"))


async def test_what_the_server_counts_corrects_the_estimate() -> None:
    """The same replies, where the server counts three tokens for each that we estimated."""
    moves = [look_at("a"), look_at("b", 3 * REPLY), returning()]
    _, model = await attempt(KeptLog(), moves, 5 * REPLY)
    assert reply_beginnings(model, 1)[0].startswith("a0000")
    assert reply_beginnings(model, 2)[0].startswith("[reply 1 of look")
    _, model = await attempt(KeptLog(), [look_at("a"), look_at("b", REPLY), returning()], 5 * REPLY)
    assert reply_beginnings(model, 2)[0].startswith("a0000")


async def test_a_reply_that_was_left_out_is_read_again_in_parts() -> None:
    moves = [
        *(look_at(place) for place in "abc"),
        make_read_turn(1),
        make_read_turn(1, 6_000),
        make_read_turn(9),
        make_read_turn(1, 90_000),
    ]
    _, model = await attempt(KeptLog(), [*moves, returning()])
    first, rest = (model.calls[number].messages[-1].replies[0].text for number in (4, 5))
    assert first.startswith("a0000")
    assert first.endswith("[2,800 characters follow, from 6000 on]")
    assert f"{first.rpartition(chr(10))[0]}{rest}" == seen_from("a")
    assert model.calls[6].messages[-1].replies[0].text == "There are replies 1 to 5."
    assert model.calls[7].messages[-1].replies[0].text == "Reply 1 has 8,800 characters."


async def test_a_single_reply_larger_than_the_room_is_read_in_small_parts() -> None:
    _, model = await attempt(KeptLog(), [look_at("a"), make_read_turn(1), returning()], 1_500)
    assert reply_beginnings(model, 1)[0].startswith("[reply 1 of look")
    assert model.calls[2].messages[-1].replies[0].text.startswith("a0000")
    assert len(model.calls[2].messages[-1].replies[0].text) < 1_600


async def test_a_takeover_sends_the_very_same_messages() -> None:
    moves = [
        *(look_at(place, REPLY) for place in "ab"),
        look_at("c"),
        make_read_turn(1),
        look_at("d"),
        make_read_turn(2),
        look_at("e"),
        returning(),
    ]
    log = KeptLog()
    outcome, model = await attempt(log, moves)
    assert any(text.startswith("[reply 1 of look") for text in reply_beginnings(model, -1))
    for kept in range(len(log.history)):
        taken = KeptLog(log.history[:kept])
        later, again = await attempt(taken, moves[len(taken.turns) :])
        assert later == outcome
        assert again.calls[-1].messages == model.calls[-1].messages, kept
        assert again.calls[-1].tools == model.calls[-1].tools, kept


def too_long(share: float) -> Callable[[ModelCall], Awaitable[Turn]]:
    async def refuse(_: ModelCall) -> Turn:
        raise ModelError("too_long", "The request is too long for the model.", transient=False, share=share)

    return refuse


async def test_a_call_that_is_too_long_for_its_model_is_made_once_more_with_less() -> None:
    moves = [*(look_at(place) for place in "abc"), too_long(0.6), look_at("d"), returning()]
    _, model = await attempt(KeptLog(), moves, 20 * REPLY)
    assert [text[:5] for text in reply_beginnings(model, 3)] == ["a0000", "b0000", "c0000"]
    assert [text.startswith("[reply") for text in reply_beginnings(model, 4)] == [True, True, False]
    assert READ_REPLY in [tool.name for tool in model.calls[4].tools]
    assert [text.startswith("[reply") for text in reply_beginnings(model, 5)] == [True, True, True, False]


async def test_a_call_that_is_too_long_twice_or_has_nothing_to_leave_out_is_an_error() -> None:
    for moves, calls in (([too_long(0.5)], 1), ([look_at("a"), too_long(0.5), too_long(0.5)], 3)):
        with pytest.raises(ModelError) as caught:
            await attempt(KeptLog(), moves, 20 * REPLY)
        assert caught.value.kind == "too_long"
        assert calls == (1 if caught.value.partial is None else 3)
