"""Follows the steps of a crew's demo: the plan and the tool calls are named there, and what comes of them is real.

What a specialist hands in are the replies of its tools, quoted and labelled. There is nothing else that rules could
say of them, and nothing that was written beforehand.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bot.models.rehearsal.moves import Move, give_up, hand_in
from bot.models.rehearsal.rehearsed_brief import read_brief, sections
from bot.models.rehearsal.rehearsed_planner import HEADINGS
from handoff.contracts import ToolCall, ToolReply
from handoff.materials.passages import search
from specialists.loading.demo_file import Rehearsal
from specialists.tools.tool import ToolSpec
from specialists.turns.finish_tools import NAMES as FINISHING

LABEL = "Rehearsal: this follows the demo's steps. No model read it; below are the tools' own replies."
EARLIER = "{earlier}"
"""Stands in a step's arguments for what earlier parts handed in."""
WHY = "the demo's plan; no model planned it"
NO_MODEL = "Rehearsal, no model"
"""Stands before the goal, on top of the card: its ticks are for steps that were taken, and not for thoughts."""
DENIED = "a person denied it"
"""Stands in the reply to a call that somebody denied, see `denied.md` of the specialists' notes."""
_KNOWN_BY = 120
"""Characters of the request by which a brief is known to be of the demo: as many as every brief has of a long one."""
_LONGEST = 1_500
"""Characters of a tool's reply that are quoted."""
_ARGUMENT, _REASON = 60, 160
_PASSAGES, _OF_EACH = 3, 2


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
        plan = {**self.steps.plan, "goal": f"{NO_MODEL}: {self.steps.plan['goal']}"}
        return {"why": WHY, "next": {"who": "several", **plan}}

    def move(
        self, name: str, message: str, history: Sequence[tuple[ToolCall, ToolReply]], tools: Mapping[str, ToolSpec]
    ) -> Move | None:
        """Return the next move of a specialist on a part of the demo's request; None where the demo has no steps."""
        steps = self.steps.steps.get(name)
        if steps is None or _line(self.ask)[:_KNOWN_BY] not in _line(message):
            return None
        history = [(call, reply) for call, reply in history if call.name not in FINISHING]
        left = len(history)
        earlier = "\n\n".join(f"## {source}\n\n{text}" for source, text in read_brief(message).notes)
        for step in steps:
            calls = [(tool, _filled(given, earlier)) for tool, given in step.calls if tool in tools]
            if left < len(calls):
                return Move(tuple(calls[left:]))
            left -= len(calls)
        lacking = [(tool, given) for step in steps for tool, given in step.calls if tool not in tools]
        return _handed_in(history, lacking, dict(read_brief(message).given))

    def holds(self, message: str) -> bool:
        """Return True if a specialist's call is to take very long, so that people see a job at work."""
        del message
        return False


NO_DEMO = DemoScript()


@dataclass(frozen=True, slots=True)
class SeveralScripts:
    """The steps of several demos, each for its own request. The specialists of the requests `held` take very long."""

    scripts: tuple[DemoScript, ...]
    held: tuple[str, ...] = ()

    def plan(self, message: str) -> dict[str, Any] | None:
        """See `DemoScript.plan`."""
        return next((plan for one in self.scripts if (plan := one.plan(message)) is not None), None)

    def move(
        self, name: str, message: str, history: Sequence[tuple[ToolCall, ToolReply]], tools: Mapping[str, ToolSpec]
    ) -> Move | None:
        """See `DemoScript.move`."""
        moves = (one.move(name, message, history, tools) for one in self.scripts)
        return next((move for move in moves if move is not None), None)

    def holds(self, message: str) -> bool:
        """See `DemoScript.holds`."""
        return any(_line(ask)[:_KNOWN_BY] in _line(message) for ask in self.held)


Script = DemoScript | SeveralScripts


def _handed_in(
    history: Sequence[tuple[ToolCall, ToolReply]],
    lacking: Sequence[tuple[str, Mapping[str, Any]]],
    given: Mapping[str, str],
) -> Move:
    """Hand in what the tools replied, and what is quoted from material that the brief holds whole."""
    blocks = [_quoted(f"{_called(call)} replied", reply.text) for call, reply in history if not reply.failed]
    failed = [(call, reply) for call, reply in history if reply.failed]
    denied = [call for call, reply in failed if DENIED in reply.text]
    blocks += [f"{_called(call)} was shown, and a person denied it: nothing was done." for call in denied]
    gaps = [f"{_called(call)} failed: {_line(reply.text)[:_REASON]}" for call, reply in failed if call not in denied]
    for tool, arguments in lacking:
        found = _in_brief(tool, arguments, given)
        if found:
            blocks.append(found)
        else:
            gaps.append(f"the demo's step {tool} brought nothing: there is no such tool or text here")
    if not blocks:
        return give_up("out_of_scope", " ".join(["Nothing came of the demo's steps:", *gaps]))
    count = f"{len(blocks)} {'reply' if len(blocks) == 1 else 'replies'} of tools, quoted; no model read them"
    return hand_in(count, "\n\n".join([LABEL, *blocks]), gaps=gaps)


def _filled(arguments: Mapping[str, Any], earlier: str) -> dict[str, Any]:
    """Put what earlier parts handed in where a step names it, so that no text of it need be written beforehand."""
    return {
        name: value.replace(EARLIER, earlier) if isinstance(value, str) else value for name, value in arguments.items()
    }


def _in_brief(tool: str, arguments: Mapping[str, Any], given: Mapping[str, str]) -> str:
    """Quote material as its readers would, which are offered only for what is too long to be in the brief whole."""
    name, words = str(arguments.get("name", "")), str(arguments.get("words", ""))
    if tool == "read_material" and name in given:
        return _quoted(f"`{name}` came with the brief, and begins", given[name])
    if tool != "search_material" or not words or not given:
        return ""
    found = [(hit.score, each, text, hit) for each, text in given.items() for hit in search(text, (), words, _OF_EACH)]
    found.sort(key=lambda one: -one[0])
    best = [one for one in found if one[0] >= found[0][0] / 2]
    if not best:
        return f"Nothing in the material holds “{words}”."
    lines = [
        f"[{each}{_page(text, hit.start)}]\n{text[hit.start : hit.end].strip()}"
        for _, each, text, hit in best[:_PASSAGES]
    ]
    return _quoted(f"“{words}” in the material that came with the brief", "\n\n".join(lines))


def _page(text: str, at: int) -> str:
    """Name the page that a place lies on, where a text has marks of its pages."""
    pages = re.findall(r"^\[(page [\d,]+)\]$", text[: text.find("\n", at)], re.MULTILINE)
    return f", {pages[-1]}" if pages else ""


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
