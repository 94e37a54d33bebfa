"""Follows the steps of a crew's demo: the plan and the tool calls are named there, and what comes of them is real.

What a specialist hands in are the replies of its tools, quoted and labelled. There is nothing else that rules could
say of them, and nothing that was written beforehand.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bot.models.rehearsal.moves import Move, give_up, hand_in
from bot.models.rehearsal.rehearsed_brief import read_brief, sections
from bot.models.rehearsal.rehearsed_planner import HEADINGS
from bot.models.rehearsal.rehearsed_reader import passages_of
from handoff.contracts import ToolCall, ToolReply
from specialists.loading.demo_file import Rehearsal
from specialists.toolkits.tool import ToolSpec

LABEL = "Rehearsal: this follows the demo's steps. No model read it; below are the tools' own replies."
WHY = "the demo's plan; no model planned it"
_KNOWN_BY = 120
"""Characters of the request by which a brief is known to be of the demo: as many as every brief has of a long one."""
_LONGEST = 1_500
"""Characters of a tool's reply that are quoted."""
_ARGUMENT = 60
_MOST_PASSAGES = 5


@dataclass(frozen=True, slots=True)
class DemoScript:
    """A demo's request and the steps that the rehearsal takes for it."""

    ask: str = ""
    steps: Rehearsal = field(default_factory=Rehearsal)

    def plan(self, message: str) -> dict[str, Any] | None:
        """Return the planner's reply to the demo's own request; None for any other, and where the demo names none."""
        request = sections(message, HEADINGS).get("Request", "")
        if self.steps.plan is None or _line(request) != _line(self.ask):
            return None
        return {"why": WHY, "next": {"who": "several", **self.steps.plan}}

    def move(
        self, name: str, message: str, history: Sequence[tuple[ToolCall, ToolReply]], tools: Mapping[str, ToolSpec]
    ) -> Move | None:
        """Return the next move of a specialist on a part of the demo's request; None where the demo has no steps."""
        steps = self.steps.steps.get(name)
        if steps is None or _line(self.ask)[:_KNOWN_BY] not in _line(message):
            return None
        left = len(history)
        for step in steps:
            calls = [(tool, dict(given)) for tool, given in step.calls if tool in tools]
            if left < len(calls):
                return Move(tuple(calls[left:]))
            left -= len(calls)
        lacking = [(tool, given) for step in steps for tool, given in step.calls if tool not in tools]
        return _handed_in(history, lacking, dict(read_brief(message).given))


NO_DEMO = DemoScript()


def _handed_in(
    history: Sequence[tuple[ToolCall, ToolReply]],
    lacking: Sequence[tuple[str, Mapping[str, Any]]],
    given: Mapping[str, str],
) -> Move:
    """Hand in what the tools replied, and what is quoted from material that the brief holds whole."""
    blocks = [_quoted(f"{_called(call)} replied", reply.text) for call, reply in history if not reply.failed]
    gaps = [f"{_called(call)} failed: {_line(reply.text)[:300]}" for call, reply in history if reply.failed]
    for tool, arguments in lacking:
        found = _in_brief(tool, arguments, given)
        if found:
            blocks.append(found)
        else:
            gaps.append(f"the demo's step {tool} brought nothing: there is no such tool or text here")
    if not blocks:
        return give_up("out_of_scope", " ".join([LABEL, "Nothing came of them.", *gaps]))
    count = f"{len(blocks)} {'reply' if len(blocks) == 1 else 'replies'} of tools, quoted; no model read them"
    return hand_in(count, "\n\n".join([LABEL, *blocks]), gaps=gaps)


def _in_brief(tool: str, arguments: Mapping[str, Any], given: Mapping[str, str]) -> str:
    """Quote material as its readers would, which are offered only for what is too long to be in the brief whole."""
    name, words = str(arguments.get("name", "")), str(arguments.get("words", "")).casefold()
    if tool == "read_material" and name in given:
        return _quoted(f"`{name}` came with the brief, and begins", given[name])
    if tool != "search_material":
        return ""
    found = [(each, one) for each, text in given.items() for one in passages_of(text) if words in one.text.casefold()]
    lines = [f"{one.text} ({each}{f', {one.place}' if one.place else ''})" for each, one in found[:_MOST_PASSAGES]]
    return _quoted(f"“{words}” stands in the material here", "\n".join(lines)) if lines else ""


def _quoted(said: str, text: str) -> str:
    text = text.strip()
    more = f"\n… {len(text) - _LONGEST:,} characters more" if len(text) > _LONGEST else ""
    quoted = "\n".join(f"> {line}".rstrip() for line in f"{text[:_LONGEST]}{more}".splitlines())
    return f"{said}:\n{quoted}"


def _called(call: ToolCall) -> str:
    words = (f"{name}={_short(value)}" for name, value in call.arguments.items())
    return f"`{call.name}({', '.join(words)})`"


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = _line(text).replace("`", "'")
    return text if len(text) <= _ARGUMENT else f"{text[: _ARGUMENT - 1]}…"


def _line(text: str) -> str:
    return " ".join(text.split())
