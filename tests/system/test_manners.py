"""Many jobs begun at once under Slack's limits, and charts that Slack draws or refuses: through the whole bot."""

from __future__ import annotations

from pathlib import Path

import pytest

import bot.workspace.blocks as workspace_blocks
from tests.patience import slow_cores
from tests.system.brains import bot_with_provider, connect, in_turn, plan, provider, result, subtask, tool_call
from tests.system.scene import SAMPLE, Scene, block_of

ONE = plan(subtask("only", "writer"))
SHORT = result("Done.")
JOBS = 8
SQL = "SELECT region, sum(revenue_eur) AS revenue FROM sales GROUP BY region ORDER BY region"
CHART_CALL = tool_call("draw_chart", title="Sales", kind="bar", sql=SQL, x="region", y=["revenue"])


async def test_answers_of_two_instances_go_before_the_cards_of_both_and_keep_to_the_limits(scene: Scene) -> None:
    async with (
        provider(planner=ONE, writer=SHORT) as server,
        scene.bot(connect("chat", server)),
        scene.bot(connect("chat", server)),
    ):
        talks = [await scene.ask(f"Do thing {n}") for n in range(JOBS)]
        for talk in talks:
            await talk.over()
            await talk.wait_until_seen(lambda talk=talk: talk.status() in {"active", ""})
    posts = [call for call in scene.workspace.calls("chat.postMessage") if call.ok]
    kinds = [str(call.args["metadata"]).partition(":card")[1] or "answer" for call in posts]
    assert kinds.count("answer") == JOBS
    first = kinds.index("answer")
    # A card a second is let through while the first answers are worked on, by each of the two.
    assert first <= 3 + 2 * (posts[first].at - posts[0].at), "the cards of jobs that wait do not come first"
    # On a slow machine a call may come so late that the next one is close behind it.
    assert sum(call.error == "ratelimited" for call in scene.workspace.calls()) <= int(slow_cores())
    assert all(len(talk.words()) == 1 and len(talk.cards()) <= 1 for talk in talks)


async def test_a_chart_is_a_picture_where_slack_refuses_it(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    older = {k: v for k, v in workspace_blocks.MESSAGE_BLOCKS.items() if k != "data_visualization"}
    monkeypatch.setattr(workspace_blocks, "MESSAGE_BLOCKS", older)
    drawing = plan(subtask("only", "analyst"))
    async with bot_with_provider(scene, planner=drawing, analyst=in_turn(CHART_CALL, result("Here it is."))):
        talk = await scene.ask("Draw the sales by region", files=[Path(SAMPLE)])
        await talk.over()
    (answer,) = talk.words()
    assert block_of(answer, "data_visualization") is None
    assert talk.files() == ["sales.png"]
    assert "Here it is." in talk.join_bot_texts()
