"""What the models say to the errands of a run.

They keep nothing: a call that is made again gets the same reply, whoever makes it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from handoff.contracts import ToolCall
from tests.chaos.errands import (
    CITIES,
    FILE_NAME,
    INSIDE,
    REPLACEMENTS,
    STREAMED_KINDS,
    Part,
    figure,
    file_of,
    filler,
    parts_of,
    sentence,
    together,
)
from tests.providers.rendering import Reply
from tests.providers.scripts import first_text, purpose_of, task_of
from tests.providers.wire import WireRequest

COSTLY_TOKENS = 150_000
"""What the first turn of a costly errand takes: more than a job may."""
LOW, HIGH = "Churn in May 2026 was 4.2 %.", "In May 2026, churn came to 6.1 percent."
CLAIMS: Mapping[tuple[str, str], str] = MappingProxyType(
    {("disputed", "a"): LOW, ("disputed", "b"): HIGH, ("nested", "x"): LOW, ("nested", "y"): HIGH}
)
"""What contradicts itself, by the kind of errand and the part that says so."""

_ERRAND_NAME = re.compile(r"Errand (\w+)\.(\d) \((\w+)\)")
_PART = re.compile(r"part (\w) of it")
_SENTENCE = re.compile(r"Part \w of errand [\w.]+ is [^.]*\.")
_ANSWER_START = "Answered by a person: "
_MADE_WORKER = {
    "name": "odd_clerk",
    "why": "nobody there weighs figures of odd errands",
    "description": "Weighs one figure of an odd errand.",
    "brief": "Weigh the figure that the task names with the tool weigh, then return it in one sentence.",
    "tools": ["weigh"],
    "tier": "fast",
}


@dataclass(frozen=True)
class CallSubject:
    """Who asks a model for what. `part` is the one that the call is about, empty for the whole errand."""

    name: str
    kind: str
    purpose: str
    part: str

    @property
    def turn(self) -> int:
        """Which request of its thread it is, from 1."""
        return int(self.name.partition(".")[2])


def find_call_subject(request: WireRequest) -> CallSubject | None:
    """What a call is about, or None for one that belongs to no errand."""
    purpose = purpose_of(request)
    text = task_of(request) if purpose.startswith("specialist") else first_text(request)
    found = _ERRAND_NAME.search(text)
    if found is None:
        return None
    part = _PART.search(text)
    return CallSubject(f"{found[1]}.{found[2]}", found[3], purpose, part[1] if part else "")


def say(request: WireRequest) -> Reply:
    """What the models say."""
    about = find_call_subject(request)
    if about is None:
        return Reply("ready")
    return _ROLES.get(about.purpose, _work)(about, request)


# ------------------------------------------------------------------------------ the supervisor


def _planner(about: CallSubject, _: WireRequest) -> Reply:
    parts = INSIDE[about.part] if about.part else parts_of(about.kind, about.turn)
    plan: dict[str, Any] = {
        "goal": f"Errand {about.name}",
        "subtasks": [_subtask(about, part) for part in parts],
        "strategy": "merge",
        "instruction": "",
    }
    return Reply(json.dumps({**plan, "made": [_MADE_WORKER]} if about.kind == "made" else plan))


def _subtask(about: CallSubject, part: Part) -> dict[str, Any]:
    name, specialist, after = part
    return {
        "id": name,
        "title": f"Part {name}",
        "intent": _intent(about, name),
        "specialist": specialist,
        "after": after,
        "done_when": "The figure is said.",
        "tier": None,
        "critical": (about.kind, name) == ("ladder", "a"),
    }


def _intent(about: CallSubject, part: str) -> str:
    return f"Errand {about.name} ({about.kind}): work out part {part} of it and say its figure."


def _replanner(about: CallSubject, request: WireRequest) -> Reply:
    """What is found by `a` makes `b` pointless; `e` fails."""
    upset = "b" if "# News\na found: " in first_text(request) else "e"
    name, specialist = REPLACEMENTS[upset]
    added = {
        **_subtask(about, (name, specialist, ["a"] if upset == "b" else [])),
        "instead_of": upset,
        "needed_by": [],
        "why": f"Part {name} will do.",
    }
    return Reply(json.dumps({"why": "", "add": [added], "drop": [], "reassign": [], "rebrief": []}))


def _refiner(about: CallSubject, _: WireRequest) -> Reply:
    return Reply(json.dumps({"intent": f"{_intent(about, about.part)} It is one whole number."}))


def _verifier(about: CallSubject, _: WireRequest) -> Reply:
    pairs = [{"one": LOW, "other": HIGH}] if about.kind in {"disputed", "nested"} else []
    return Reply(json.dumps({"sentences": [], "unanswered": [], "contradictions": pairs}))


def _synthesizer(about: CallSubject, request: WireRequest) -> Reply:
    text = first_text(request)
    if about.part:  # inside
        return Reply(sentence(about.name, about.part, together(_figures(about, text, "xyk"))))
    said = dict.fromkeys(_SENTENCE.findall(text))
    whole = " ".join([f"Errand {about.name} is done.", *said, *filler(about.kind)])
    return Reply(whole, pause=0.06) if about.kind in STREAMED_KINDS else Reply(whole)


def _figures(about: CallSubject, text: str, parts: str) -> list[str]:
    """What is said of the figures of these parts in a text, whichever of them are in it."""
    found = (re.findall(rf"Part {part} of errand {about.name} is (\d+)\.", text) for part in parts)
    return [each[0] for each in found if each]


# ------------------------------------------------------------------------------ the specialists


def _work(about: CallSubject, request: WireRequest) -> Reply:
    special = _SPECIAL.get(about.kind)
    reply = special(about, request) if special is not None else None
    return reply or _result(about, str(figure(about.name, about.part)))


def _question(about: CallSubject, request: WireRequest) -> Reply:
    brief = first_text(request)
    if _ANSWER_START in brief:
        return _result(about, brief.rpartition(_ANSWER_START)[2].split("\n")[0].strip())
    return _escalation(about, "ambiguous_input", "Which city is it?", options=list(CITIES))


def _files(about: CallSubject, request: WireRequest) -> Reply | None:
    content = file_of(about.name, about.part).decode()
    return _first(f"make_file_{about.part}", about, request, {"name": FILE_NAME, "text": content})


def _write(about: CallSubject, request: WireRequest) -> Reply | None:
    return _first("enter_record", about, request, {"record": f"{about.name}/{about.part}"})


def _trio(about: CallSubject, request: WireRequest) -> Reply | None:
    if about.part != "c":
        return None
    earlier = [*_figures(about, first_text(request), "ab"), "nothing", "nothing"][:2]
    return _result(about, f"{figure(about.name, 'c')} beside {' and '.join(earlier)}")


def _ladder(about: CallSubject, request: WireRequest) -> Reply | None:
    if about.part == "a" and "mend exactly this" not in first_text(request):
        return _result(about, "TODO")
    if about.part == "b" and request.model != "deep":
        return _escalation(about, "confidence_too_low", "I am not sure of that figure.")
    if about.purpose == "specialist:refuser":
        return _escalation(about, "out_of_scope", "I work out no figures.")
    return None


def _answer_revised(about: CallSubject, _: WireRequest) -> Reply | None:
    if about.part == "e":
        return _escalation(about, "out_of_scope", "I work out no such figure.")
    if about.part != "a":
        return None
    news = {"message": f"Errand {about.name} has another figure than was thought.", "where": "plan", "confidence": 90}
    return _result(about, str(figure(about.name, "a")), findings=[news])


def _answer_disputed(about: CallSubject, _: WireRequest) -> Reply | None:
    claim = CLAIMS.get((about.kind, about.part))
    if claim is None:
        return None
    source = f"errand-{about.name.replace('.', '-')}-{about.kind}.csv"
    found = {"message": claim, "source": source, "confidence": 90}
    return _result(about, str(figure(about.name, about.part)), claim, findings=[found])


def _answer_made(about: CallSubject, request: WireRequest) -> Reply | None:
    figures = {"figure": figure(about.name, about.part)}
    return _first("weigh", about, request, figures) if about.part == "a" else None


def _costly(about: CallSubject, request: WireRequest) -> Reply | None:
    return _first("weigh", about, request, {"figure": figure(about.name, "a")}, tokens_out=COSTLY_TOKENS)


_ROLES: Mapping[str, Callable[[CallSubject, WireRequest], Reply]] = {
    "planner": _planner,
    "replanner": _replanner,
    "refiner": _refiner,
    "synthesizer": _synthesizer,
    "verifier": _verifier,
}
_SPECIAL: Mapping[str, Callable[[CallSubject, WireRequest], Reply | None]] = {
    "question": _question,
    "files": _files,
    "write": _write,
    "trio": _trio,
    "ladder": _ladder,
    "revised": _answer_revised,
    "nested": _answer_disputed,
    "disputed": _answer_disputed,
    "made": _answer_made,
    "costly": _costly,
}
"""What is said in a kind of errand; None, and any other kind: the figure."""


def _first(tool: str, about: CallSubject, request: WireRequest, arguments: dict[str, Any], **more: Any) -> Reply | None:
    """A call of a tool, where it was not called yet and may be."""
    replies = [reply for message in request.messages for reply in message.replies]
    offered = any(each.name == tool for each in request.tools)
    return _call(tool, about, arguments, **more) if offered and not replies else None


def _result(about: CallSubject, value: str, also: str = "", **more: Any) -> Reply:
    text = sentence(about.name, about.part, value)
    content = f"{text} {also}" if also else text
    return _call("return_result", about, {"summary": text, "content": content, "confidence": 90, **more})


def _escalation(about: CallSubject, reason: str, message: str, **more: Any) -> Reply:
    return _call("escalate", about, {"reason": reason, "message": message, **more})


def _call(tool: str, about: CallSubject, arguments: dict[str, Any], **more: Any) -> Reply:
    call = ToolCall(id=f"{tool}_{about.name}_{about.part}", name=tool, arguments=arguments)
    return Reply(calls=(call,), stop="tool_use", **more)
