"""An attempt that changes hands goes on from its last checkpoint and does nothing twice."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from handoff.contracts import Artifact, Escalation, Result, Turn
from specialists.runner import End, run
from specialists.tools.tool import ToolOutcome
from tests.specialists.scripted_model import (
    SPENT,
    EmptyBench,
    KeptLog,
    LookArguments,
    Looker,
    ScriptedModel,
    calling,
    handoff,
    returning,
    saying,
    specialist,
    taken,
)

MADE = Artifact(id="0", name="map.png")


async def look(arguments: LookArguments) -> ToolOutcome:
    files = (MADE,) if arguments.at == "b" else ()
    return ToolOutcome(f"saw {arguments.at}", files, (f"{arguments.at} is foggy",), (f"{arguments.at}.txt",))


def script() -> list[Turn]:
    """Everything a conversation can hold: calls side by side, a mixed turn, a cut, words, a fault, repeats, an end."""
    return [
        calling(("look", {"at": "a"}), ("look", {"at": "b"})),
        calling(("look", {"at": "c"}), ("return_result", {"summary": "s", "content": "early", "confidence": 1})),
        saying("half a", "max_tokens"),
        saying("I will look again."),
        saying('<tool_call>{"name": "look", "arguments": {"at": "d"}}</tool_call>'),
        calling(("nonsense", {}), ("look", {"at": "a"})),
        calling(("look", {"at": "e"}), ("look", {"at": "e"}), ("look", {"at": "b"})),
        calling(("return_result", {"summary": "s"})),
        returning("whole", findings=[{"message": "m"}]),
    ]


async def attempt(log: KeptLog, moves: Sequence[Turn], looker: Looker) -> tuple[End, ScriptedModel]:
    model = ScriptedModel(list(moves))
    who = specialist(looker.tool(), max_turns=10)
    return await run(who, handoff(), model=model, workbench=EmptyBench(), log=log), model


async def whole() -> tuple[End, ScriptedModel, KeptLog, Looker]:
    log, looker = KeptLog(), Looker(look)
    outcome, model = await attempt(log, script(), looker)
    return outcome, model, log, looker


async def test_from_every_checkpoint_the_same_end_is_reached_without_doing_anything_twice() -> None:
    outcome, model, log, looker = await whole()
    assert isinstance(outcome, Result)
    assert outcome.artifacts == (MADE,)
    assert outcome.gaps == ("a is foggy", "b is foggy", "c is foggy", "d is foggy", "e is foggy")
    assert looker.seen == ["a", "b", "c", "d", "e"]
    assert len(log.history) == 20
    for kept in range(len(log.history) + 1):
        resumed, again = KeptLog(log.history[:kept]), Looker(look)
        later, played = await attempt(resumed, script()[len(KeptLog(log.history[:kept]).turns) :], again)
        assert later == outcome, kept
        assert later.usage.calls == 9, kept
        assert not played.moves, kept
        assert [item.calls for item in resumed.turns] == [item.calls for item in log.turns], kept
        assert sorted(reply.text for reply in resumed.replies) == sorted(reply.text for reply in log.replies), kept
        if played.calls:
            assert played.calls[-1].messages == model.calls[-1].messages, kept


async def test_only_the_open_calls_of_the_last_turn_are_run() -> None:
    _, _, log, _ = await whole()
    again = Looker(look)
    await attempt(KeptLog(log.history[:2]), script()[1:], again)
    assert again.seen == ["b", "c", "d", "e"]


async def test_calls_that_share_an_id_are_told_apart_by_their_order() -> None:
    turn = calling(("look", {"at": "a"}), ("look", {"at": "b"}), ids=("x", "x"))
    log = KeptLog()
    first = Looker(look)
    await attempt(log, [turn, returning()], first)
    again = Looker(look)
    outcome, model = await attempt(KeptLog(log.history[:2]), [returning()], again)
    assert again.seen == ["b"]
    assert [reply.text for reply in model.calls[0].messages[2].replies] == ["saw a", "saw b"]
    assert isinstance(outcome, Result)


async def test_repeats_before_the_change_of_hands_count() -> None:
    log = KeptLog()
    await attempt(log, [*[calling(("look", {"at": "a"}))] * 3, returning()], Looker(look))
    again = Looker(look)
    resumed = KeptLog(log.history[:4])
    outcome, model = await attempt(resumed, [calling(("look", {"at": "a"})), returning()], again)
    assert again.seen == []
    assert "made this very call before" in resumed.replies[2].text
    assert [tool.name for tool in model.calls[-1].tools] == ["return_result", "escalate"]
    assert isinstance(outcome, Result)
    assert "the limit of three turns with the same calls" in outcome.gaps[-1]


async def test_a_last_call_after_repeats_is_still_the_last() -> None:
    log = KeptLog()
    same = calling(("look", {"at": "a"}))
    first, _ = await attempt(log, [*[same] * 3, calling(("look", {"at": "b"}), text="Foggy.")], Looker(look))
    again, model = await attempt(KeptLog(log.history), [], Looker(look))
    assert again == first
    assert model.calls == []


async def test_a_last_call_in_the_log_is_still_the_last() -> None:
    log = KeptLog()
    looker = Looker(look)
    who = specialist(looker.tool(), max_turns=1)
    moves = [calling(("look", {"at": "a"})), calling(("look", {"at": "b"}), text="Foggy.")]
    model = ScriptedModel(list(moves))
    first = await run(who, handoff(), model=model, workbench=EmptyBench(), log=log)
    again = await run(who, handoff(), model=ScriptedModel([]), workbench=EmptyBench(), log=KeptLog(log.history))
    assert isinstance(again, Result)
    assert again == first
    assert looker.seen == ["a"]


@pytest.mark.parametrize(
    "last", [saying("No.", "refused"), calling(("escalate", {"reason": "out_of_scope", "message": "No."}))]
)
async def test_an_escalation_in_the_log_needs_no_model(last: Turn) -> None:
    outcome, model = await attempt(KeptLog([taken(last)]), [], Looker())
    assert isinstance(outcome, Escalation)
    assert outcome.reason == "out_of_scope"
    assert model.calls == []
    assert SPENT.calls == 1
