"""An attempt that changes hands goes on from its last checkpoint and does nothing twice."""

from __future__ import annotations

import pytest

from handoff.contracts import Artifact, Turn
from specialists.tools.tool import ToolOutcome
from tests.specialists.scripted_model import (
    KeptLog,
    LookArguments,
    Looker,
    calling,
    finish,
    make_text_turn,
    play,
    returning,
)

MAP_FILE = Artifact(id="0", name="map.png")


async def look(arguments: LookArguments) -> ToolOutcome:
    files = (MAP_FILE,) if arguments.at == "b" else ()
    return ToolOutcome(f"saw {arguments.at}", files, (f"{arguments.at} is foggy",), (f"{arguments.at}.txt",))


def script() -> list[Turn]:
    """Everything a conversation can hold: calls side by side, a mixed turn, a cut, words, a fault, repeats, an end."""
    return [
        calling(("look", {"at": "a"}), ("look", {"at": "b"})),
        calling(("look", {"at": "c"}), ("return_result", {"summary": "s", "content": "early", "confidence": 1})),
        make_text_turn("half a", "max_tokens"),
        make_text_turn("I will look again."),
        make_text_turn('<tool_call>{"name": "look", "arguments": {"at": "d"}}</tool_call>'),
        calling(("nonsense", {}), ("look", {"at": "a"})),
        calling(("look", {"at": "e"}), ("look", {"at": "e"}), ("look", {"at": "b"})),
        calling(("return_result", {"summary": "s"})),
        returning("whole", findings=[{"message": "m"}]),
    ]


SAME, FOGGY = calling(("look", {"at": "a"})), calling(("look", {"at": "b"}), text="Foggy.")
TWINS = calling(("look", {"at": "a"}), ("look", {"at": "b"}), ids=("x", "x"))
SCRIPTS: dict[str, tuple[list[Turn], int]] = {
    "everything": (script(), 10),
    "repeats": ([SAME, SAME, SAME, returning()], 10),
    "a last call after repeats": ([SAME, SAME, SAME, FOGGY], 10),
    "a last call": ([SAME, FOGGY], 1),
    "two calls of one id": ([TWINS, returning()], 10),
    "a refusal": ([make_text_turn("No.", "refused")], 10),
    "an escalation": ([calling(("escalate", {"reason": "out_of_scope", "message": "No."}))], 10),
}


@pytest.mark.parametrize(("turns", "max_turns"), SCRIPTS.values(), ids=SCRIPTS)
async def test_from_every_checkpoint_the_same_end_is_reached_without_doing_anything_twice(
    turns: list[Turn], max_turns: int
) -> None:
    looker = Looker(look)
    outcome, model, log = await play(turns, looker.tool(), max_turns=max_turns)
    for kept in range(len(log.history) + 1):
        resumed, again = KeptLog(log.history[:kept]), Looker(look)
        done = {reply.text for reply in resumed.replies}
        rest = turns[len(resumed.turns) :]
        later, played, _ = await play(rest, again.tool(), log=resumed, max_turns=max_turns)
        assert later == outcome, kept
        assert not played.moves, kept
        assert not done & {f"saw {at}" for at in again.seen_places}, kept
        assert [item.calls for item in resumed.turns] == [item.calls for item in log.turns], kept
        assert sorted(reply.text for reply in resumed.replies) == sorted(reply.text for reply in log.replies), kept
        if played.calls:
            assert played.calls[-1].messages == model.calls[-1].messages, kept
            assert played.calls[-1].tools == model.calls[-1].tools, kept


async def test_an_attempt_keeps_what_all_its_owners_made_found_and_spent() -> None:
    outcome, _, log = await finish(script(), Looker(look).tool(), max_turns=10)
    assert outcome.artifacts == (MAP_FILE,)
    assert outcome.gaps == ("a is foggy", "b is foggy", "c is foggy", "d is foggy", "e is foggy")
    assert outcome.usage.calls == 9
    assert len(log.history) == 20
