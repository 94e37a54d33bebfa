"""Scenes of a supervisor with crews inside its crew, for `record`: all that schema 3 is about."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from specialists.crew import Crew
from specialists.registry import load_crew
from tests.own_tools import all_tools
from tests.providers.rendering import Reply
from tests.providers.scripts import first_text, task_of
from tests.providers.wire import WireRequest
from tests.system.brains import Words, escalation, plan, result, subtask, tool_call

ONLY_READS = "description: Reads and judges legal texts.\n"
MAKES = "make: {tools: [calculate], at_most: 1, fallback: writer}\n"
LOW, HIGH = "Churn in May 2026 was 4.2 %.", "In May 2026, churn came to 6.1 percent."
OUTER = json.loads(plan(subtask("terms", "legal"), subtask("units", "unitsmith"), subtask("old", "writer")).text)
WISH = {
    "name": "unitsmith",
    "why": "nobody there knows old units",
    "description": "Converts into old Nordic units.",
    "brief": "Give quantities in old Nordic units, one a line, with the factor used.",
    "tools": ["calculate"],
    "tier": "fast",
}
INNER = plan(subtask("read", "legal/reader"), subtask("check", "legal/checker"))
INSTEAD = {**subtask("new", "analyst"), "instead_of": "old", "needed_by": [], "why": "The writer cannot."}


def crew_in(folder: Path) -> Crew:
    """`writer`, `analyst`, and the crew `legal`, which has a `reader` and a `checker`."""
    _crew(folder, {"writer": "", "analyst": "calculate"}, MAKES)
    _crew(folder / "legal", {"reader": "", "checker": ""}, ONLY_READS)
    return load_crew(folder, all_tools())


def _crew(folder: Path, people: dict[str, str], crew_file: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, tools in people.items():
        front = f"name: {name}\ndescription: Does what a {name} does.\ntools: [{tools}]\nmodel: fast"
        (folder / f"{name}.md").write_text(f"---\n{front}\n---\nYou are the {name}.\n")
    (folder / "crew.yml").write_text(crew_file)


def planner(request: WireRequest) -> Reply:
    """A plan that asks for a made specialist, and inside it another."""
    inside = "- legal/reader:" in request.system
    return INNER if inside else Reply(json.dumps({**OUTER, "made": [WISH]}))


def _reader(request: WireRequest) -> Reply:
    return result(LOW, 90) if "mend exactly this" in first_text(request) else result("There is much churn.", 90)


def _checker(request: WireRequest) -> Reply:
    if "in percent" in task_of(request):
        return result(HIGH, 90)
    return escalation("confidence_too_low", "I am not sure of the unit.")


def _unitsmith(request: WireRequest) -> Reply:
    told = any(message.replies for message in request.messages)
    return result("12 km are 1.2 mil.", 90) if told else tool_call("calculate", code="12 / 10")


def _synthesizer(request: WireRequest) -> Reply:
    text = first_text(request)
    if "Write one sentence about part terms." not in text.partition("# Plan")[0]:
        return Reply("Churn was 4.2 %, and 12 km are 1.2 mil.")
    return Reply("Churn was 4.2 %.")


def _verifier(_: WireRequest) -> Reply:
    return _make_reply(sentences=[], unanswered=[], contradictions=[{"one": LOW, "other": HIGH}])


def _make_reply(**fields: Any) -> Reply:
    return Reply(json.dumps(fields))


WORDS: dict[str, Words] = {
    "planner": planner,
    "reader": _reader,
    "checker": _checker,
    "refiner": lambda _: _make_reply(intent="Write one sentence about part check, in percent."),
    "unitsmith": _unitsmith,
    "writer": lambda _: escalation("out_of_scope", "I write nothing of that."),
    "replanner": lambda _: _make_reply(why="", add=[INSTEAD], drop=[], reassign=[], rebrief=[]),
    "analyst": lambda _: result("Said.", 90),
    "synthesizer": _synthesizer,
    "verifier": _verifier,
}
"""What everybody says: all is looked at twice, and it ends well."""
