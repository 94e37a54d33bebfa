"""Plays the scripted replies of a crew's demo: a model's words are written beforehand, what its tools do is real.

A script is for its own request alone. Where a tool fails, or a call is not approved, no words were written for that:
what happened is handed in instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bot.models.rehearsal.moves import ESCALATE, RETURN, Move, give_up, hand_in
from bot.models.rehearsal.rehearsed_brief import read_brief, read_sections
from bot.models.rehearsal.rehearsed_planner import HEADINGS
from handoff.contracts import ToolCall, ToolReply
from specialists.loading.demo_file import DemoReplies
from specialists.tools.tool import ToolSpec
from specialists.turns.finish_tools import NAMES as FINISHING

WHY = "the demo's plan is scripted"
SCRIPTED = "Scripted demo"
"""Stands before the goal, on top of the card."""
DENIED = "a person denied it"
"""Stands in the reply to a call that somebody denied, see `denied.md` of the specialists' notes."""
UNDECIDED = "nobody decided in time"
"""Stands in the reply to a call on which nobody decided, see `not_decided.md` there."""
OTHERWISE = "This part of the demo did not go as it is written."
_KNOWN_BY = 120
"""Characters of the demo's request that mark a brief as the demo's: every brief has so many of a long request."""
_REASON = 160


@dataclass(frozen=True, slots=True)
class DemoScript:
    """A demo's request and the replies to it. If it `is_held`, its specialists stay at work for people to see."""

    ask: str = ""
    replies: DemoReplies | None = None
    is_held: bool = False

    def is_about(self, message: str) -> bool:
        """Return True if a call is for the demo's own request."""
        return bool(self.ask) and _join_lines(self.ask)[:_KNOWN_BY] in _join_lines(message)

    def plan(self, message: str) -> dict[str, Any] | None:
        """Return the planner's reply to the demo's own request; None for any other, and where the demo names none."""
        request = read_sections(message, HEADINGS).get("Request", "")
        if self.replies is None or self.replies.plan is None or _join_lines(request) != _join_lines(self.ask):
            return None
        plan = {**self.replies.plan, "goal": f"{SCRIPTED}: {self.replies.plan['goal']}"}
        return {"why": WHY, "next": {"who": "several", **plan}}

    def answer(self, message: str) -> str:
        """Return the synthesizer's reply; empty for another request, and where a part did not go as it was written."""
        went_otherwise = any(words in message for words in (OTHERWISE, DENIED, UNDECIDED))
        return self.replies.answer if self.replies and self.is_about(message) and not went_otherwise else ""

    def move(
        self, name: str, message: str, history: Sequence[tuple[ToolCall, ToolReply]], tools: Mapping[str, ToolSpec]
    ) -> Move | None:
        """Return the next move of a specialist on a part of the demo's request; None where the demo has no steps."""
        steps = self.replies.steps.get(name) if self.replies else None
        if steps is None or not self.is_about(message):
            return None
        history = [(call, reply) for call, reply in history if call.name not in FINISHING]
        failed = [(call, reply) for call, reply in history if reply.failed]
        answered, left = bool(read_brief(message).answers), len(history)
        for step in steps:
            calls = [(tool, dict(given)) for tool, given in step.calls if tool in tools]
            ends = [(tool, given) for tool, given in calls if tool in FINISHING]
            if ends and not (answered and ends[0][0] == ESCALATE):
                return _hand_in_failures(failed) if failed and ends[0][0] == RETURN else Move(tuple(ends))
            calls = [] if ends else calls
            if left < len(calls):
                return Move(tuple(calls[left:]))
            left -= len(calls)
        return give_up("out_of_scope", "The demo's steps end without a result.")


NO_DEMO = DemoScript()


def find_script(scripts: Sequence[DemoScript], message: str) -> DemoScript:
    """Return the script of the demo that a call is for; an empty one where it is for none."""
    return next((one for one in scripts if one.is_about(message)), NO_DEMO)


def _hand_in_failures(failed: Sequence[tuple[ToolCall, ToolReply]]) -> Move:
    """Hand in what failed or was not approved, in place of the scripted words, which assume success."""
    said, gaps = [], []
    for call, reply in failed:
        why = next((words for words in (DENIED, UNDECIDED) if words in reply.text), "")
        if why:
            said.append(f"`{call.name}` was shown, and {why}: nothing was done.")
        else:
            gaps.append(f"`{call.name}` failed: {_join_lines(reply.text)[:_REASON]}")
    if not said:
        return give_up("out_of_scope", " ".join([OTHERWISE, *gaps]))
    return hand_in("It was not approved.", "\n\n".join(said), gaps=gaps)


def _join_lines(text: str) -> str:
    return " ".join(text.split())
