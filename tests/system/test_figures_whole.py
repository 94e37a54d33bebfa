"""Figures in the whole bot: one that nobody said does not pass as done, however often it is said again."""

from __future__ import annotations

import re
from collections.abc import Callable

from handoff import events as ev
from tests.providers.rendering import Reply
from tests.providers.scripts import purpose_of
from tests.providers.wire import WireRequest
from tests.system.brains import in_turn, plan, played, purposes, result, subtask, tool_call
from tests.system.scene import SAMPLE, Scene

REVENUE = "SELECT 2 * sum(revenue_eur) AS revenue FROM sales"
WRONG = result("Total revenue was 1,234,553 euros.", 90)


def replies(request: WireRequest) -> str:
    """All that tools have replied by then."""
    return "\n".join(reply.text for message in request.messages for reply in message.replies)


def moves(*steps: Reply | Callable[[WireRequest], Reply]) -> Callable[[WireRequest], Reply]:
    """One step after the other; some follow from the request."""
    left = list(steps)

    def move(request: WireRequest) -> Reply:
        step = left.pop(0)
        return step if isinstance(step, Reply) else step(request)

    return move


def true_revenue(request: WireRequest) -> Reply:
    found = re.search(r"^revenue\n([\d.]+)$", replies(request), re.MULTILINE)
    assert found is not None
    return result(f"Total revenue was {float(found[1]):,.2f} euros.", 90)


def one_part(intent: str = "Say what the revenue in sales.csv was.", specialist: str = "analyst") -> Reply:
    return plan(subtask("total", specialist, intent=intent))


async def test_a_wrong_figure_goes_back_once_and_is_then_told_as_not_from_the_files(scene: Scene) -> None:
    calls = in_turn(tool_call("query_table", sql=REVENUE), WRONG, WRONG)
    async with played(scene, planner=lambda _: one_part(), analyst=calls) as server:
        talk = await scene.ask("what was the revenue", files=[SAMPLE])
        job = await talk.over()
    (only,) = await talk.of(ev.ResultReturned)
    assert (only.faults, only.doubts, only.result.unsupported) == ((), (), ("1,234,553",))
    last = next(one for one in reversed(server.requests) if purpose_of(one) == "specialist:analyst")
    assert replies(last).count("“1,234,553” is said by no tool, file or person") == 1, "its specialist was told once"
    assert job.latest.state == "completed"
    assert "Not from your files: 1,234,553" in talk.said()


async def test_a_specialist_mends_a_figure_that_it_is_told_of(scene: Scene) -> None:
    calls = moves(tool_call("query_table", sql=REVENUE), WRONG, true_revenue)
    async with played(scene, planner=lambda _: one_part(), analyst=calls) as server:
        talk = await scene.ask("what was the revenue", files=[SAMPLE])
        job = await talk.over()
    assert purposes(server).count("specialist:analyst") == 3
    assert (job.latest.work["total"].attempt, job.latest.state) == (1, "completed")
    assert "Not from your files" not in talk.said()


async def test_the_rows_that_a_figure_counts_stand_below_the_answer(scene: Scene) -> None:
    sql = "SELECT sum(revenue_eur) AS revenue FROM sales WHERE plan = 'Basic'"
    async with played(
        scene, planner=lambda _: one_part(), analyst=moves(tool_call("query_table", sql=sql), true_revenue)
    ):
        talk = await scene.ask("what was the revenue", files=[SAMPLE])
        await talk.over()
    assert re.search(r"Rows counted: plan = Basic \(\d+/\d+\)", talk.said())


async def test_rows_that_code_puts_in_are_those_of_the_query(scene: Scene) -> None:
    sql = "SELECT region, sum(churned_customers) AS churned FROM sales GROUP BY 1 ORDER BY 2 DESC"
    said = result("Churned customers by region:\n\n[[rows]]", 90)
    analyst = in_turn(tool_call("query_table", sql=sql), said)
    async with played(scene, planner=lambda _: one_part(), analyst=analyst) as server:
        talk = await scene.ask("churned customers by region please", files=[SAMPLE])
        job = await talk.over()
    last = next(one for one in reversed(server.requests) if purpose_of(one) == "specialist:analyst")
    (reply,) = [line for line in replies(last).splitlines() if line.startswith("North | ")]
    result_of = job.latest.work["total"].result
    assert result_of is not None
    assert f"| {reply} |" in result_of.content
    assert reply.partition(" | ")[2] in talk.said()
    assert "[[rows" not in talk.said()
