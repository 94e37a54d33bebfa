"""Plays the scripted replies of a crew's demo: the model's words are scripted, and its tool calls are real.

A script replies to its own request alone. If a tool fails or a call is not approved, the script has no words for that,
and the result says what happened instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bot.models.rehearsal.moves import ESCALATE_TOOL, RETURN_TOOL, Move, make_escalation_move, make_result_move
from bot.models.rehearsal.rehearsed_brief import read_brief, read_sections
from bot.models.rehearsal.rehearsed_planner import PLANNER_HEADINGS
from handoff.contracts import ToolCall, ToolReply
from specialists.loading.demo_file import DemoReplies
from specialists.tools.tool import ToolSpec
from specialists.turns.finish_tools import FINISH_TOOLS as FINISHING

PLAN_REASON = "the demo's plan is scripted"
GOAL_PREFIX = "Scripted demo"
"""The words before the plan's goal, at the top of its card."""
DENIED_WORDS = "a person denied it"
"""Words in the reply to a call that somebody denied, see `denied.md` in `specialists/turns/notes`."""
UNDECIDED_WORDS = "nobody decided in time"
"""Words in the reply to a call on which nobody decided, see `not_decided.md` in `specialists/turns/notes`."""
DEVIATION_MESSAGE = "This part of the demo did not go as it is written."
_MATCH_LENGTH = 120
"""Characters at the start of the demo's request that mark a brief as the demo's. Every brief quotes at least these."""
_LONGEST_REASON = 160


@dataclass(frozen=True, slots=True)
class DemoScript:
    """A demo's request and the replies to it. If it `is_held`, its specialists stay at work, for people to see."""

    request: str = ""
    replies: DemoReplies | None = None
    is_held: bool = False

    def is_about(self, message: str) -> bool:
        """Return True if a call's message belongs to the demo's own request."""
        return bool(self.request) and _join_lines(self.request)[:_MATCH_LENGTH] in _join_lines(message)

    def find_plan(self, message: str) -> dict[str, Any] | None:
        """Return the planner's reply to the demo's own request; None for any other, or if the demo scripts no plan."""
        request = read_sections(message, PLANNER_HEADINGS).get("Request", "")
        if self.replies is None or self.replies.plan is None or _join_lines(request) != _join_lines(self.request):
            return None
        plan = {**self.replies.plan, "goal": f"{GOAL_PREFIX}: {self.replies.plan['goal']}"}
        return {"why": PLAN_REASON, "next": {"who": "several", **plan}}

    def find_answer(self, message: str) -> str:
        """Return the synthesizer's reply; "" for another request, or if a part did not go as it is scripted."""
        went_otherwise = any(words in message for words in (DEVIATION_MESSAGE, DENIED_WORDS, UNDECIDED_WORDS))
        return self.replies.answer if self.replies and self.is_about(message) and not went_otherwise else ""

    def find_move(
        self, name: str, message: str, history: Sequence[tuple[ToolCall, ToolReply]], tools: Mapping[str, ToolSpec]
    ) -> Move | None:
        """Return a specialist's next move on a part of the demo's request; None if the demo scripts none for it."""
        steps = self.replies.steps.get(name) if self.replies else None
        if steps is None or not self.is_about(message):
            return None
        history = [(call, reply) for call, reply in history if call.name not in FINISHING]
        failed = [(call, reply) for call, reply in history if reply.failed]
        answered, left = bool(read_brief(message).answers), len(history)
        for step in steps:
            calls = [(tool, dict(given)) for tool, given in step.calls if tool in tools]
            ends = [(tool, given) for tool, given in calls if tool in FINISHING]
            if ends and not (answered and ends[0][0] == ESCALATE_TOOL):
                return _report_failures(failed) if failed and ends[0][0] == RETURN_TOOL else Move(tuple(ends))
            calls = [] if ends else calls
            if left < len(calls):
                return Move(tuple(calls[left:]))
            left -= len(calls)
        return make_escalation_move("out_of_scope", "The demo's steps end without a result.")


NO_DEMO = DemoScript()


def find_script(scripts: Sequence[DemoScript], message: str) -> DemoScript:
    """Return the script of the demo that a call's message belongs to, otherwise `NO_DEMO`."""
    return next((one for one in scripts if one.is_about(message)), NO_DEMO)


def _report_failures(failed_calls: Sequence[tuple[ToolCall, ToolReply]]) -> Move:
    """Return the move that reports calls that failed or were not approved, as the scripted words assume success."""
    said, gaps = [], []
    for call, reply in failed_calls:
        why = next((words for words in (DENIED_WORDS, UNDECIDED_WORDS) if words in reply.text), "")
        if why:
            said.append(f"`{call.name}` was shown, and {why}: nothing was done.")
        else:
            gaps.append(f"`{call.name}` failed: {_join_lines(reply.text)[:_LONGEST_REASON]}")
    if not said:
        return make_escalation_move("out_of_scope", " ".join([DEVIATION_MESSAGE, *gaps]))
    return make_result_move("It was not approved.", "\n\n".join(said), gaps=gaps)


def _join_lines(text: str) -> str:
    return " ".join(text.split())
