"""Brains for the server: a scripted job of six specialists, and any `Model` of ours behind a real wire format."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable
from typing import Any

from bot.models.rehearsal.rehearsal import RehearsalModel
from handoff.contracts import ToolCall
from specialists.model import Model, ModelCall, ModelError
from specialists.tools.tool import ToolSpec
from tests.providers.faults import Fault
from tests.providers.grown_script import grown
from tests.providers.rendering import Reply
from tests.providers.server import Brain, Latency
from tests.providers.wire import WireRequest

FINISHERS = frozenset({"return_result", "escalate"})
PARTS = ("w1", "w2", "w3", "w4", "w5", "w6")
AFTER = {"w5": ["w1", "w2", "w3", "w4"], "w6": ["w5"]}


def first_text(request: WireRequest) -> str:
    """The first message, which holds the brief."""
    return request.messages[0].text if request.messages else ""


def task_of(request: WireRequest) -> str:
    """The text under `# Task`, or nothing."""
    found = re.search(r"^# Task\n(.*?)(?=^# |\Z)", first_text(request), re.DOTALL | re.MULTILINE)
    return found[1].strip() if found else ""


def purpose_of(request: WireRequest) -> str:
    """Who is calling, by the headings of the first message and the `You are the NAME` of the system prompt."""
    text = first_text(request)
    firsts = {
        "# Brief to rewrite": "refiner",
        "# Plan under way": "replanner",
        "# The bot's last request": "dispatcher",
    }
    first = re.search(r"^# .+$", text, re.MULTILINE)
    if first and (purpose := firsts.get(first[0])):
        return purpose
    for heading, purpose in (("# Evidence", "verifier"), ("# Material", "reducer")):
        if re.search(rf"^{heading}$", text, re.MULTILINE):
            return purpose
    if "# Task" in text:
        named = re.search(r"You are the (\w+)", request.system)
        return f"specialist:{named[1] if named else 'unknown'}"
    if re.search(r"^# Specialists$", f"{request.system}\n{text}", re.MULTILINE):
        return "planner"
    if "Pick the one result" in request.system:
        return "selector"
    if re.search(r"^# Results$", text, re.MULTILINE):
        return "synthesizer"
    return "other"


def make_slow_latency(seconds: float, word: str, factor: float) -> Latency:
    """Every call takes `seconds`, and `factor` times that if its task has the word."""
    pattern = re.compile(rf"\b{re.escape(word)}\b")

    def latency(request: WireRequest) -> float:
        return seconds * factor if pattern.search(task_of(request)) else seconds

    return latency


def six(request: WireRequest) -> Reply:
    """The job of the benchmark: w1 to w4 on their own, w5 needs all four, w6 needs w5; one tool call each.

    The planner gets a plan for the specialists it lists, in their order and round again; a specialist calls
    the first tool it is offered that does not end its work, and then returns what the tool said.
    """
    purpose = purpose_of(request)
    if purpose == "planner":
        return Reply(json.dumps(_plan_of_six(f"{request.system}\n{first_text(request)}")))
    if purpose != "synthesizer":
        return _part_of_six(request)
    return Reply("All six parts are in: " + ", ".join(PARTS) + ". Each of them agrees with the others.")


def _plan_of_six(brief: str) -> dict[str, Any]:
    section = brief.partition("# Specialists\n")[2].partition("\n# ")[0]
    names = re.findall(r"^- ([\w-]+):", section, re.MULTILINE)
    return {
        "goal": "Six parts, put together",
        "subtasks": [
            {
                "id": part,
                "title": f"Work out part {part}",
                "intent": f"Part {part}: look up the figure of {part} and say in one sentence what it means.",
                "specialist": names[index % len(names)],
                "after": AFTER.get(part, []),
                "done_when": f"The figure of {part} is stated.",
                "tier": None,
            }
            for index, part in enumerate(PARTS)
        ],
        "strategy": "merge",
        "instruction": "List the parts in order.",
    }


def _part_of_six(request: WireRequest) -> Reply:
    found = re.search(r"\bw[1-6]\b", task_of(request))
    part = found[0] if found else "w1"
    replies = [reply for message in request.messages for reply in message.replies]
    tool = next((tool for tool in request.tools if tool.name not in FINISHERS), None)
    if not replies and tool is not None:
        call = ToolCall(id=f"call_{part}", name=tool.name, arguments=_arguments(tool, part))
        return Reply(calls=(call,), stop="tool_use")
    said = replies[-1].text if replies else "no tool was offered"
    result = {"summary": f"{part}: {said[:80]}", "content": f"The figure of {part}: {said[:200]}", "confidence": 90}
    if not any(spec.name == "return_result" for spec in request.tools):
        return Reply(f"{part}: {said[:200]}")
    return Reply(calls=(ToolCall(id=f"end_{part}", name="return_result", arguments=result),), stop="tool_use")


def _arguments(tool: ToolSpec, part: str) -> dict[str, Any]:
    """Arguments of the right type: the part's name for every string, 1 for every number."""
    properties = tool.parameters.get("properties", {})
    required = tool.parameters.get("required", [])
    return {name: part if properties[name].get("type") == "string" else 1 for name in required}


def brain_from_model(model: Model) -> Callable[[WireRequest], Awaitable[Reply | Fault]]:
    """A brain that asks a model of ours. What cannot be seen on the wire (purpose, tier) is inferred or left out."""

    async def brain(request: WireRequest) -> Reply | Fault:
        call = ModelCall(
            purpose=purpose_of(request),
            system=request.system,
            messages=request.messages,
            tools=request.tools,
            max_tokens=request.max_tokens,
            answer_schema=request.answer_schema,
        )
        try:
            turn = await model.reply(call)
        except ModelError:
            return Fault("bad_request")
        return Reply(turn.text, turn.calls, turn.stop)

    return brain


SCRIPTS: dict[str, Brain] = {
    "six": six,
    "grown": grown,
    "rehearsal": brain_from_model(RehearsalModel()),
}
"""What `python -m tests.providers.server --script NAME` can serve."""
