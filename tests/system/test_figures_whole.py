"""Figures in the whole bot: one that nobody said does not pass as done, however often it is said again."""

from __future__ import annotations

import json

from handoff import events as ev
from tests.providers.rendering import Reply
from tests.system.brains import in_turn, plan, played, purposes, result, subtask, tool_call
from tests.system.scene import SAMPLE, Scene

REVENUE = "1284500 + 53"
WRONG = result("Total revenue was 1,234,553 euros.", 90)
RIGHT = result("Total revenue was 1,284,553 euros.", 90)
DOUBT = "A tool said “1284553”, and the result says “1,234,553”."


def one_part(intent: str = "Say what the revenue in sales.csv was.", specialist: str = "analyst") -> Reply:
    return plan(subtask("total", specialist, intent=intent))


def judged(verdict: str, *faults: str, reason: str = "", harmless: bool = True) -> Reply:
    settled = [{"number": 1, "reason": reason, "harmless": harmless}] if reason else []
    found = [{"problem": fault, "quote": ""} for fault in faults]
    return Reply(json.dumps({"doubts": settled, "faults": found, "verdict": verdict}))


async def test_a_wrong_figure_is_doubted_on_each_attempt_and_marked_in_the_answer(scene: Scene) -> None:
    calls = in_turn(tool_call("calculate", code=REVENUE), WRONG)
    other = judged("revise", "It names no month.")
    async with played(scene, planner=lambda _: one_part(), analyst=calls, judge=lambda _: other) as server:
        talk = await scene.ask("what was the revenue", files=[SAMPLE])
        job = await talk.over()
    returned = await talk.of(ev.ResultReturned)
    assert len(returned) == 3
    assert all(one.faults == () for one in returned)
    assert returned[0].doubts == (DOUBT,)
    assert all(len(one.doubts) == 1 and "“1,234,553”" in one.doubts[0] for one in returned), (
        "known is what it was first"
    )
    first = (await talk.of(ev.ResultJudged))[0]
    assert first.faults == ("It names no month.", DOUBT), "the judge's own faults erase no doubt"
    assert purposes(server).count("judge") == 3
    assert job.latest.state == "completed"
    assert f"not mended: {DOUBT}" in talk.said()


async def test_a_verdict_without_a_reason_settles_no_figure(scene: Scene) -> None:
    calls = in_turn(tool_call("calculate", code=REVENUE), WRONG, RIGHT)
    async with played(scene, planner=lambda _: one_part(), analyst=calls, judge=lambda _: judged("accept")) as server:
        talk = await scene.ask("what was the revenue", files=[SAMPLE])
        await talk.over()
    (first,) = await talk.of(ev.ResultJudged)
    assert (first.verdict, first.faults) == ("revise", (DOUBT,))
    assert purposes(server).count("judge") == 1, "the second attempt copies what the first one's tool said"
    assert "1,284,553" in talk.said()


async def test_a_judge_who_says_why_a_figure_is_harmless_settles_it(scene: Scene) -> None:
    calls = in_turn(tool_call("calculate", code=REVENUE), WRONG)
    fine = judged("accept", reason="1,284,553 less the fees of 20,000, 20,000 and 10,000.")
    async with played(scene, planner=lambda _: one_part(), analyst=calls, judge=lambda _: fine):
        talk = await scene.ask("what was the revenue", files=[SAMPLE])
        job = await talk.over()
    (only,) = await talk.of(ev.ResultJudged)
    assert (only.verdict, only.faults) == ("accepted", ())
    assert job.latest.work["total"].attempt == 1


async def test_figures_of_the_request_need_no_tool(scene: Scene) -> None:
    note = result("From 1 March a seat costs $59 instead of $49, $10 more.", 90)
    async with played(
        scene, planner=lambda _: one_part("Write the note on the new price.", "writer"), writer=lambda _: note
    ) as server:
        talk = await scene.ask("write a note: the price per seat goes from 49 to 59 dollars on 1 March")
        await talk.over()
    assert purposes(server).count("judge") == 0
    assert "$59 instead of $49" in talk.said()
