"""A brain for the benchmark's growing jobs: one question, or so many parts in three crews.

What is played follows from the request: `Work out 57 parts ...` is spread over the crews there are, and anything else
is one specialist's.
"""

from __future__ import annotations

import json
import re
from typing import Any

from handoff.contracts import ToolCall
from tests.providers.rendering import Reply
from tests.providers.wire import WireRequest

FURTHER = "The road of way {way} climbs over the fell, and it is closed when there is snow. " * 4


def grown(request: WireRequest) -> Reply:
    """Reply to any call of such a job."""
    texts = "\n".join(message.text for message in request.messages)
    if re.search(r"^# Specialists$", f"{request.system}\n{texts}", re.MULTILINE):
        return Reply(json.dumps(_plan(request.system + "\n" + texts, _request(texts))))
    if any(tool.name == "return_result" for tool in request.tools):
        return _specialist(texts)
    return Reply("All the parts are in, and each of them agrees with the others.")


def _request(texts: str) -> str:
    return texts.partition("# Request\n")[2].partition("\n# ")[0]


def _plan(brief: str, request_text: str) -> dict[str, Any]:
    found = re.search(r"Work out (\d+) parts", request_text)
    if found is None:
        return {"who": "quick"}
    section = brief.partition("# Specialists\n")[2].partition("\n# ")[0]
    names = re.findall(r"^- ([\w/-]+):", section, re.MULTILINE)
    crews = [name for name in names if name in {"north", "south", "west"}]
    count = int(found[1])
    if crews:
        tasks = [(name, f"Work out {count // len(crews)} parts of the {name}, each for itself.") for name in crews]
    else:
        tasks = [
            (names[0], f"Work out the figure of part {n + 1}, and state it in one sentence.") for n in range(count)
        ]
    subtasks = [
        {
            "id": f"p{number + 1}",
            "title": f"Part {number + 1}",
            "intent": intent,
            "specialist": name,
            "after": [],
            "done_when": "The figure is stated.",
            "tier": None,
        }
        for number, (name, intent) in enumerate(tasks)
    ]
    return {"goal": "Parts, put together", "subtasks": subtasks, "strategy": "merge", "instruction": "List the parts."}


def _specialist(texts: str) -> Reply:
    task = texts.partition("# Task\n")[2]
    said = "What was asked is worked out, and it is as it should be."
    if way := re.search(r"by way (\d+)", task):
        said = f"By way {way[1]} it is {400 + int(way[1])} km from Oslo to Bergen. " + FURTHER.format(way=way[1])
    result = {"summary": said, "content": said, "confidence": 90}
    return Reply(calls=(ToolCall(id="end", name="return_result", arguments=result),), stop="tool_use")
