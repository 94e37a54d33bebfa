"""The rehearsal of a demo: it takes the steps, quotes what came of them, and says nothing of its own."""

from __future__ import annotations

import json

from bot.models.rehearsal.rehearsal import RehearsalModel
from bot.models.rehearsal.rehearsed_demo import LABEL, DemoScript
from handoff.contracts import ToolCall, ToolReply, Turn
from specialists.loading.demo_file import Rehearsal, Step
from specialists.model import ModelCall, ModelMessage
from specialists.tools.tool import ToolSpec
from specialists.turns.finish_tools import SPECS

ASK = "What does Acme charge, and is it in the contract?"
PLAN = {"goal": ASK, "subtasks": [{"id": "read", "specialist": "scout"}], "strategy": "merge"}
STEPS = (
    Step((("look", {"word": "acme"}), ("dig", {"depth": 2})), 5),
    Step((("publish", {"markdown": "{earlier}"}), ("search_material", {"words": "fee"})), 7),
)
MODEL = RehearsalModel().following(DemoScript(ASK, Rehearsal(PLAN, {"scout": STEPS})))
TOOLS = tuple(ToolSpec(name, "", {"type": "object", "properties": {}}) for name in ("look", "dig", "publish"))
BRIEF = f"It is part of: {ASK}\n\n# Task\nRead.\n\n# From earlier steps\n## Other\nNine lines.\n\n# Source material\n## a.txt\nThe fee is 12."  # noqa: E501


async def turn(*messages: ModelMessage, brief: str = BRIEF, purpose: str = "specialist:scout") -> Turn:
    first = ModelMessage(role="user", text=brief)
    return await MODEL.reply(ModelCall(purpose, "system", (first, *messages), tools=(*TOOLS, *SPECS)))


def replied(*calls: tuple[ToolCall, str, bool]) -> tuple[ModelMessage, ...]:
    return (
        ModelMessage(role="assistant", calls=tuple(call for call, _, _ in calls)),
        ModelMessage(role="tool", replies=tuple(ToolReply(call_id=c.id, text=t, failed=f) for c, t, f in calls)),
    )


async def test_the_plan_is_for_the_demos_own_request_alone() -> None:
    planned = json.loads((await turn(brief=f"# Request\n{ASK}\n\n# Files\n", purpose="planner")).text)
    assert planned["next"]["subtasks"] == PLAN["subtasks"]
    assert "no model" in planned["why"]
    assert planned["next"]["goal"] == f"Rehearsal, no model: {ASK}"
    other = json.loads((await turn(brief="# Request\nHello!", purpose="planner")).text)
    assert other["next"]["who"] == "answer"


async def test_steps_are_taken_in_order_and_their_replies_are_all_that_is_handed_in() -> None:
    first = await turn()
    assert [(call.name, call.arguments) for call in first.calls] == [("look", {"word": "acme"}), ("dig", {"depth": 2})]
    look, dig = first.calls
    done = replied((look, "Acme: 12 dollars.", False), (dig, "There is no shovel.", True))
    (publish,) = (await turn(*done)).calls
    assert publish.arguments == {"markdown": "## Other\n\nNine lines."}, "what earlier parts handed in stands there"
    (end,) = (await turn(*done, *replied((publish, "Kept as a.docx.", False)))).calls
    said = end.arguments
    assert end.name == "return_result"
    lines = said["content"].splitlines()
    assert lines[0] == LABEL
    ours = [line for line in lines[1:] if line and not line.startswith(">")]
    assert [line.partition("`(")[0] for line in ours] == [
        "`look(word=acme)` replied:",
        "`publish(markdown=## Other Nine lines.)` replied:",
        "“fee” in the material that came with the brief:",
    ]
    assert "> The fee is 12." in lines
    assert said["gaps"] == ["`dig(depth=2)` failed: There is no shovel."]


async def test_a_part_of_another_request_is_not_played_by_the_demos_steps() -> None:
    (end,) = (await turn(brief="It is part of: Delete everything\n\n# Task\nRead.")).calls
    assert end.name == "escalate"
    assert "no rules for the work of scout" in end.arguments["message"], "its tools are none that rules know"


def test_a_demo_has_no_place_for_a_result() -> None:
    fields = {name for kind in (Rehearsal, Step) for name in kind.__dataclass_fields__}
    assert fields == {"plan", "steps", "calls", "line"}
