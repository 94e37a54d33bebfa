"""A tool that writes is called at most once, unless it says itself that more is safe."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from handoff.contracts import Escalation, Result, ToolReply, Turn
from handoff.events import ToolReturned, ToolStarted
from handoff.state.state_values import UnknownWrite, WriteVerdict
from specialists.model import ModelCall
from specialists.runner import AttemptEnd, run_specialist
from specialists.tools.tool import KeyUse, Tool, ToolOutcome, Workbench, WorkbenchLost
from specialists.turns import tool_calls, write_calls
from tests.patience import patience
from tests.specialists.far_side import FarSide, NoteArguments, far_side
from tests.specialists.scripted_model import (
    OF,
    EmptyBench,
    KeptLog,
    Looker,
    ScriptedModel,
    calling,
    handoff,
    make_turn_event,
    play,
    returning,
    specialist,
)

TEA = ("post_note", {"text": "tea"})
CAKE = ("post_note", {"text": "cake"})


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who is told to stop stops at once."""
    monkeypatch.setattr(tool_calls, "GRACE_SECONDS", 0.01)


async def attempt(log: KeptLog, moves: Sequence[Turn], *tools: Tool, **more: Any) -> tuple[AttemptEnd, ScriptedModel]:
    end, model, _ = await play(moves, *tools, log=log, max_turns=8, **more)
    return end, model


async def finish_attempt(
    log: KeptLog, moves: Sequence[Turn], *tools: Tool, **more: Any
) -> tuple[Result, ScriptedModel]:
    end, model = await attempt(log, moves, *tools, **more)
    assert isinstance(end, Result), end
    return end, model


async def expect_unknown_write(
    log: KeptLog, moves: Sequence[Turn], *tools: Tool, **more: Any
) -> tuple[UnknownWrite, ScriptedModel]:
    end, model = await attempt(log, moves, *tools, **more)
    assert isinstance(end, UnknownWrite), end
    return end, model


def make_tool_started(call: str, tool: str, what: str, key: str, digest: str) -> ToolStarted:
    return ToolStarted(call=call, tool=tool, what=what, key=key, digest=digest, **OF)


async def kill_attempt(log: KeptLog, side: FarSide, tool: Tool, *calls: tuple[str, dict[str, str]]) -> None:
    """An attempt whose instance dies while its call is under way."""
    task = asyncio.create_task(attempt(log, [calling(*(calls or (TEA,)))], tool))
    await asyncio.wait_for(side.came.wait(), patience())
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert isinstance(log.history[-1], ToolStarted)


@dataclass
class OrderLog(KeptLog):
    """Says at each step how often the far side was called by then."""

    side: FarSide | None = None

    def __post_init__(self) -> None:
        self.order: list[tuple[str, int]] = []

    async def keep_intent(self, intent: ToolStarted) -> None:
        await asyncio.sleep(0)
        self.order.append(("started", self.side.calls if self.side else -1))
        await super().keep_intent(intent)

    async def keep_reply(self, reply: ToolReply, outcome: ToolOutcome) -> None:
        self.order.append(("returned", self.side.calls if self.side else -1))
        await super().keep_reply(reply, outcome)


async def test_the_intent_is_kept_before_the_call_and_the_outcome_before_the_next() -> None:
    async with far_side() as side:
        log = OrderLog(side=side)
        _, model = await finish_attempt(log, [calling(TEA, CAKE), returning()], side.tool())
    assert side.notes == ["tea", "cake"]
    assert log.order == [("started", 0), ("returned", 1), ("started", 1), ("returned", 2)]
    intent = next(item for item in log.history if isinstance(item, ToolStarted))
    assert (intent.tool, intent.what, intent.key) == ("post_note", "post_note(text='tea')", "")
    assert [reply.text for reply in model.calls[1].messages[2].replies] == ["posted as number 1", "posted as number 2"]


async def test_a_read_that_stands_before_a_write_is_done_first_and_reads_keep_running_side_by_side() -> None:
    both = asyncio.Barrier(2)
    seen: list[int] = []

    async with far_side() as side:

        async def look(_arguments: object) -> ToolOutcome:
            if side.calls == 0:
                await both.wait()
            seen.append(side.calls)
            return ToolOutcome("seen")

        looks = [("look", {"at": at}) for at in "abc"]
        turn = calling(looks[0], looks[1], TEA, looks[2], ids=("1", "2", "3", "4"))
        _, model = await finish_attempt(KeptLog(), [turn, returning()], side.tool(), Looker(look).tool())
    assert seen == [0, 0, 1]
    assert [reply.call_id for reply in model.calls[1].messages[2].replies] == ["1", "2", "3", "4"]


async def test_a_failed_outcome_is_certain_and_the_model_may_mend_its_call() -> None:
    async with far_side() as side:
        moves = [calling(("post_note", {"text": "refused"})), calling(TEA), returning()]
        _, model = await finish_attempt(KeptLog(), moves, side.tool())
    assert model.calls[1].messages[2].replies[0].failed
    assert side.notes == ["tea"]


@pytest.mark.parametrize("closed_gate", ["before", "after"])
async def test_a_call_cut_off_by_a_crash_is_never_repeated_by_itself(closed_gate: str) -> None:
    async with far_side(closed_gate=closed_gate) as side:
        log = KeptLog()
        await kill_attempt(log, side, side.tool())
        for _ in range(2):
            outcome, model = await expect_unknown_write(KeptLog(list(log.history)), [], side.tool())
            assert outcome.what == "post_note(text='tea')"
            assert "interrupted" in outcome.reason
            assert model.calls == []
    assert side.calls == 1


async def give_verdict(log: KeptLog, verdict: str, words: str, moves: Sequence[Turn], *tools: Tool) -> ScriptedModel:
    history = [*log.history, WriteVerdict(2.0, "c0", verdict, "U1", words)]
    _, model = await finish_attempt(KeptLog(history), moves, *tools)
    return model


async def test_what_a_person_says_stands_for_the_outcome() -> None:
    async with far_side() as side:
        log = KeptLog()
        side.before.clear()
        await kill_attempt(log, side, side.tool())
        side.before.set()
        tool = side.tool()

        model = await give_verdict(log, "happened", "", [calling(TEA), returning()], tool)
        (reply,) = model.calls[0].messages[2].replies
        assert "A person checked: post_note was carried out" in reply.text
        assert model.calls[1].messages[4].replies[0].failed, "the same call is not made again"
        assert side.calls == 1

        model = await give_verdict(log, "words", "Half of it, {oddly}", [calling(TEA), returning()], tool)
        assert "Half of it, {oddly}" in model.calls[0].messages[2].replies[0].text
        assert side.calls == 1

        model = await give_verdict(log, "not_happened", "", [calling(TEA), returning()], tool)
        assert "was not carried out. You may call it again." in model.calls[0].messages[2].replies[0].text
        assert side.calls == 2


async def test_two_intents_of_one_turn_are_in_doubt_one_after_the_other() -> None:
    turn = make_turn_event(calling(TEA, CAKE))
    intents = [
        make_tool_started("c0", "post_note", "tea", "", "d0"),
        make_tool_started("c1", "post_note", "cake", "", "d1"),
    ]
    async with far_side() as side:
        first, _ = await expect_unknown_write(KeptLog([turn, *intents]), [], side.tool())
        assert first.call == intents[0].call
        history = [turn, *intents, WriteVerdict(2.0, "c0", "happened", "U1", "")]
        second, _ = await expect_unknown_write(KeptLog(history), [], side.tool())
        assert second.call == intents[1].call
        _, model = await finish_attempt(
            KeptLog([*history, WriteVerdict(2.0, "c1", "not_happened", "U1", "")]), [returning()], side.tool()
        )
    assert [reply.failed for reply in model.calls[0].messages[2].replies] == [False, True]
    assert side.calls == 0


@pytest.mark.parametrize("seconds", [0.4, 0.01])
async def test_a_call_cut_off_by_its_time_is_in_doubt(seconds: float) -> None:
    """The shorter time is over before the call could be cut off by itself."""
    async with far_side(closed_gate="after") as side:
        log = KeptLog()
        outcome, _ = await expect_unknown_write(log, [calling(TEA)], side.tool(), seconds=max(seconds, 0.4))
        assert "too long" in outcome.reason
        assert isinstance(log.history[-1], ToolStarted), "nothing pretends to be its outcome"
        await expect_unknown_write(KeptLog(log.history), [], side.tool(), seconds=0.4, elapsed_seconds=1 / seconds)
    assert side.calls == 1


@pytest.mark.parametrize("is_done", [False, True])
async def test_a_lost_workbench_interrupts_a_write_and_the_next_owner_finds_out_what_became_of_it(
    *, is_done: bool
) -> None:
    away = [True]
    sent: list[str] = []

    async def post(arguments: NoteArguments, _bench: Workbench) -> ToolOutcome:
        """Post a note with a file."""
        if is_done or not away[0]:
            sent.append(arguments.text)
        if away[0]:
            raise WorkbenchLost(OSError("the store is away"))
        return ToolOutcome("posted")

    async def find(_arguments: NoteArguments, _bench: Workbench) -> ToolOutcome | None:
        return ToolOutcome("posted") if sent else None

    tool = Tool("post_note", "write", NoteArguments, post, look_up=find)
    log = KeptLog()
    with pytest.raises(WorkbenchLost, match="the store is away"):
        await attempt(log, [calling(TEA)], tool)
    assert isinstance(log.history[-1], ToolStarted), "nothing pretends to be its outcome"
    away[0] = False
    _, model = await finish_attempt(KeptLog(log.history), [returning()], tool)
    assert [reply.text for reply in model.calls[0].messages[2].replies] == ["posted"]
    assert sent == ["tea"]


async def test_a_tool_that_does_not_let_go_is_in_doubt_when_the_attempt_ends() -> None:
    async def hold(_arguments: NoteArguments, _bench: Workbench) -> ToolOutcome:
        """Hold on."""
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.2)
        raise AssertionError

    outcome, _ = await expect_unknown_write(
        KeptLog(), [calling(TEA)], Tool("post_note", "write", NoteArguments, hold), seconds=0.2
    )
    assert "ran out" in outcome.reason


async def test_a_tool_that_breaks_is_in_doubt() -> None:
    async def break_off(_arguments: NoteArguments, _bench: Workbench) -> ToolOutcome:
        """Break."""
        raise ConnectionResetError("with a secret in it")

    outcome, _ = await expect_unknown_write(
        KeptLog(), [calling(TEA)], Tool("post_note", "write", NoteArguments, break_off)
    )
    assert outcome.reason == "it broke off with an error, ConnectionResetError"


@pytest.mark.parametrize("closed_gate", ["before", "after"])
async def test_a_call_with_a_key_is_repeated_with_the_same_key(closed_gate: str) -> None:
    async with far_side(closed_gate=closed_gate) as side:
        tool = side.tool(key="drops_repeats")
        log = KeptLog()
        await kill_attempt(log, side, tool)
        side.before.set()
        side.after.set()
        _, model = await finish_attempt(KeptLog(log.history), [calling(TEA), returning()], tool)
    assert model.calls[0].messages[2].replies[0].text.startswith("posted as number")
    keys = set(side.keys)
    assert len(keys) == 2, "one for each call that the model wished for"
    assert side.notes == ["tea", "tea"]
    assert side.calls - (closed_gate == "before") in {2, 3}


async def test_a_call_with_a_key_that_is_cut_off_is_repeated_once() -> None:
    async with far_side(closed_gate="after") as side:
        task = asyncio.create_task(
            attempt(KeptLog(), [calling(TEA), returning()], side.tool(key="drops_repeats"), seconds=2.0)
        )
        await side.taken_event.wait()
        side.came.clear()
        await side.came.wait()
        side.after.set()
        outcome, _ = await task
    assert isinstance(outcome, Result | Escalation)
    assert side.notes == ["tea"]
    assert len(side.keys) == 1


@pytest.mark.parametrize("key", ["none", "marks"])
@pytest.mark.parametrize("closed_gate", ["before", "after"])
async def test_a_call_that_can_be_looked_up_is_adopted_or_made_now(closed_gate: str, key: KeyUse) -> None:
    async with far_side(closed_gate=closed_gate) as side:
        tool = side.tool(looks=True, key=key)
        log = KeptLog()
        await kill_attempt(log, side, tool)
        lost = closed_gate == "before"
        side.before, side.after = asyncio.Event(), asyncio.Event()  # the first call waits at the old gates for good
        side.before.set()
        side.after.set()
        _, model = await finish_attempt(KeptLog(log.history), [returning()], tool)
    assert side.notes == ["tea"]
    assert side.calls == (2 if lost else 1)
    text = model.calls[0].messages[2].replies[0].text
    assert text == ("posted as number 1" if lost else "it is on the board")


async def test_a_look_up_that_cannot_tell_leaves_the_doubt() -> None:
    async with far_side(closed_gate="after") as side:
        log = KeptLog()
        await kill_attempt(log, side, side.tool(looks=True))
        side.tells = False
        await expect_unknown_write(KeptLog(log.history), [], side.tool(looks=True))
        assert side.looks == 1
    assert side.calls == 1


_made_calls: list[object] = []


async def _fail(*arguments: object) -> ToolOutcome:
    _made_calls.append(arguments)
    return ToolOutcome("nobody listens", failed=True)


async def _never_answer(*_: object) -> ToolOutcome | None:
    await asyncio.Event().wait()
    return None


INTERRUPTED = "I was interrupted while it was under way"
UNSETTLED: dict[str, tuple[tuple[Tool, ...], int, str]] = {
    "a repeat fails": ((Tool("post_note", "write", NoteArguments, _fail, key="drops_repeats"),), 1, INTERRUPTED),
    "no answer": ((Tool("post_note", "write", NoteArguments, _fail, look_up=_never_answer),), 0, INTERRUPTED),
    "no tool": ((), 0, f"{INTERRUPTED}, and the tool is no longer there"),
}


@pytest.mark.parametrize(("tools", "call_count", "reason"), UNSETTLED.values(), ids=UNSETTLED)
async def test_an_intent_that_nothing_settles_is_in_doubt(
    tools: tuple[Tool, ...], call_count: int, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(write_calls, "SETTLE_SECONDS", 0.05)
    _made_calls.clear()
    history = [make_turn_event(calling(TEA)), make_tool_started("c0", "post_note", "tea", "k", "d")]
    outcome, _ = await expect_unknown_write(KeptLog(history), [], *tools)
    assert outcome.reason == reason
    assert len(_made_calls) == call_count


async def test_a_call_cut_off_by_its_time_is_looked_up_at_once() -> None:
    async with far_side(closed_gate="after") as side:
        _, model = await finish_attempt(KeptLog(), [calling(TEA), returning()], side.tool(looks=True), seconds=1.0)
        assert model.calls[1].messages[2].replies[0].text == "it is on the board"
        assert side.calls == 1
    async with far_side(closed_gate="before") as side:
        _, model = await finish_attempt(KeptLog(), [calling(TEA), returning()], side.tool(looks=True), seconds=1.0)
        reply = model.calls[1].messages[2].replies[0]
        assert reply.failed
        assert "nothing was done" in reply.text
        assert side.calls == 1


async def test_what_an_earlier_attempt_wrote_is_not_written_again() -> None:
    async with far_side() as side:
        log = KeptLog()
        await attempt(log, [calling(TEA), returning()], side.tool())
        intent = next(item for item in log.history if isinstance(item, ToolStarted))
        again = KeptLog(earlier_writes={intent.digest: "It is done already."})
        _, model = await attempt(again, [calling(TEA), calling(CAKE), returning()], side.tool())
    assert model.calls[1].messages[2].replies[0].text == "It is done already."
    assert side.notes == ["tea", "cake"]
    assert [item.what for item in again.history if isinstance(item, ToolStarted)] == ["post_note(text='cake')"]


async def test_a_call_that_ends_soon_after_its_attempt_is_told_to_stop_has_an_outcome(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tool_calls, "GRACE_SECONDS", 5.0)
    async with far_side(closed_gate="after") as side:
        log = KeptLog()
        task = asyncio.create_task(attempt(log, [calling(TEA)], side.tool()))
        await asyncio.wait_for(side.taken_event.wait(), patience())
        for _ in range(2):
            task.cancel()
            await asyncio.sleep(0)
        side.after.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        await finish_attempt(KeptLog(log.history), [returning()], side.tool())
    assert [reply.text for reply in log.replies] == ["posted as number 1"]
    assert side.calls == 1


async def test_a_finished_write_is_not_made_again_by_who_takes_over() -> None:
    async with far_side() as side:
        log = KeptLog()
        await attempt(log, [calling(TEA), returning()], side.tool())
        done = next(index for index, item in enumerate(log.history) if isinstance(item, ToolReturned))
        _, model = await finish_attempt(KeptLog(log.history[: done + 1]), [returning()], side.tool())
    assert side.calls == 1
    assert model.calls[0].messages[2].replies[0].text == "posted as number 1"


async def test_a_write_that_is_too_late_is_not_begun() -> None:
    async def dawdle(_: ModelCall) -> Turn:
        await asyncio.sleep(0.36)
        return calling(TEA)

    async with far_side() as side:
        log = KeptLog()
        model = ScriptedModel([dawdle, returning()])
        who = specialist(side.tool())
        outcome = await run_specialist(who, handoff(0.4), model=model, workbench=EmptyBench(), log=log)
    assert isinstance(outcome, Result | Escalation)
    assert side.calls == 0
    assert not any(isinstance(item, ToolStarted) for item in log.history)
