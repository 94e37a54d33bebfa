"""The scripted replies of a demo: for its own request alone, and only while its tools do what was foreseen."""

from __future__ import annotations

import json

import pytest

from bot.models.rehearsal.demo_script import DENIED_TEXT, DEVIATION_MESSAGE, UNDECIDED_TEXT, DemoScript
from bot.models.rehearsal.rehearsal import RehearsalModel
from handoff.contracts import SCRIPTED_MODEL_NAME, ToolCall, ToolReply, Turn
from specialists.loading.demo_file import DemoReplies, DemoTurn
from specialists.model import ModelCall, ModelMessage
from specialists.tools.tool import ToolSpec
from specialists.turns import briefing
from specialists.turns.finish_tools import FINISH_SPECS

ASK = "What does Acme charge, and is it in the contract?"
PLAN = {"goal": ASK, "subtasks": [{"id": "read", "specialist": "scout"}], "strategy": "merge"}
STEPS = (
    DemoTurn((("look", {"word": "acme"}), ("dig", {"depth": 2})), 5),
    DemoTurn((("search_material", {"words": "fee"}),), 6),
    DemoTurn((("escalate", {"reason": "ambiguous_input", "message": "Which Acme?", "options": ["one", "two"]}),), 7),
    DemoTurn((("publish", {"markdown": "The fee is 12."}),), 8),
    DemoTurn((("return_result", {"content": "The fee is 12.", "confidence": 90}),), 9),
)
MODEL = RehearsalModel().with_scripts(DemoScript(ASK, DemoReplies(PLAN, {"scout": STEPS}, "Acme charges 12.")))
TOOLS = tuple(ToolSpec(name, "", {"type": "object", "properties": {}}) for name in ("look", "dig", "publish"))
BRIEF = f"It is part of: {ASK}\n\n# Task\nRead.\n\n# Source material\n## a.txt\nThe fee is 12."
ANSWERED_BRIEF = BRIEF.replace("# Source", "# From earlier steps\n## Question\nAnswered by a person: one\n\n# Source")


async def turn(*messages: ModelMessage, brief: str = BRIEF, purpose: str = "specialist:scout") -> Turn:
    first = ModelMessage(role="user", text=brief)
    return await MODEL.reply(ModelCall(purpose, "system", (first, *messages), tools=(*TOOLS, *FINISH_SPECS)))


def make_reply_messages(
    calls: tuple[ToolCall, ...], text: str = "Yes.", *, failed_name: str = ""
) -> tuple[ModelMessage, ...]:
    replies = tuple(ToolReply(call_id=call.id, text=text, failed=call.name == failed_name) for call in calls)
    return ModelMessage(role="assistant", calls=calls), ModelMessage(role="tool", replies=replies)


async def test_plan_and_answer_are_for_the_demos_own_request_alone() -> None:
    planned = await turn(brief=f"# Request\n{ASK}\n\n# Files\n", purpose="planner")
    assert json.loads(planned.text)["next"]["subtasks"] == PLAN["subtasks"]
    assert json.loads(planned.text)["next"]["goal"] == f"Scripted demo: {ASK}"
    assert planned.usage.model == SCRIPTED_MODEL_NAME
    answer = await turn(brief=f"# Request\n{ASK}\n\n# Results\n", purpose="synthesizer")
    assert answer.text == "Acme charges 12."
    for happened in (DEVIATION_MESSAGE, DENIED_TEXT, UNDECIDED_TEXT):
        other = await turn(brief=f"# Request\n{ASK}\n\n# Results\n\n# Gaps\n- {happened}\n", purpose="synthesizer")
        assert "Acme charges 12." not in other.text, "it was written for another course"
    other = await turn(brief="# Request\nHello!", purpose="planner")
    assert json.loads(other.text)["next"]["who"] == "answer"
    assert other.usage.model != SCRIPTED_MODEL_NAME


async def test_steps_are_taken_in_order_with_a_question_in_their_midst() -> None:
    first = await turn()
    assert [(call.name, call.arguments) for call in first.calls] == [("look", {"word": "acme"}), ("dig", {"depth": 2})]
    (asks,) = (await turn(*make_reply_messages(first.calls))).calls
    assert asks.name == "escalate", "search_material is not offered where the brief has the material whole"
    again = await turn(brief=ANSWERED_BRIEF)
    (publish,) = (await turn(*make_reply_messages(again.calls), brief=ANSWERED_BRIEF)).calls
    assert publish.arguments == {"markdown": "The fee is 12."}
    done = (*make_reply_messages(again.calls), *make_reply_messages((publish,)))
    (end,) = (await turn(*done, brief=ANSWERED_BRIEF)).calls
    assert (end.name, end.arguments["content"]) == ("return_result", "The fee is 12.")


@pytest.mark.parametrize(
    ("refused", "text", "end", "expected_text"),
    [
        ("dig", "There is no shovel.", "escalate", f"{DEVIATION_MESSAGE} `dig` failed: There is no shovel."),
        ("publish", "denied", "return_result", f"`publish` was shown, and {DENIED_TEXT}: nothing was done."),
        ("publish", "not_decided", "return_result", f"`publish` was shown, and {UNDECIDED_TEXT}: nothing was done."),
    ],
)
async def test_what_happened_is_handed_in_for_words_of_another_course(
    refused: str, text: str, end: str, expected_text: str
) -> None:
    text = briefing.render_note(text, tool="publish", reason="") if refused == "publish" else text
    looked = make_reply_messages((await turn(brief=ANSWERED_BRIEF)).calls, text, failed_name=refused)
    published = make_reply_messages((await turn(*looked, brief=ANSWERED_BRIEF)).calls, text, failed_name=refused)
    (call,) = (await turn(*looked, *published, brief=ANSWERED_BRIEF)).calls
    assert (call.name, call.arguments["message" if end == "escalate" else "content"]) == (end, expected_text)


async def test_a_part_of_another_request_is_not_played_by_the_demos_steps() -> None:
    (end,) = (await turn(brief="It is part of: Delete everything\n\n# Task\nRead.")).calls
    assert "no rules for the work of scout" in end.arguments["message"], "its tools are none that rules know"
