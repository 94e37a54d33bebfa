"""Plays the scripted replies of a crew's demo: the model's words are scripted, and its tool calls are real.

A script replies only to the demo's own request. If a tool fails or a call is not approved, the result reports that
in place of the scripted words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bot.models.rehearsal.brief_parsing import read_brief, read_sections
from bot.models.rehearsal.moves import ESCALATE_TOOL, RETURN_TOOL, Move, make_escalation_move, make_result_move
from bot.models.rehearsal.rehearsed_planner import PLANNER_HEADINGS
from handoff.contracts import ToolCall, ToolReply
from specialists.loading.demo_file import DemoReplies
from specialists.tools.tool import ToolSpec
from specialists.turns.finish_tools import FINISH_TOOLS as FINISHING

PLAN_REASON = "the demo's plan is scripted"
GOAL_PREFIX = "Scripted demo"
"""The words before the plan's goal, at the top of its card."""
DENIED_TEXT = "a person denied it"
"""Words in the reply to a call that a person denied, from `specialists/turns/notes/denied.md`."""
UNDECIDED_TEXT = "nobody decided in time"
"""Words in the reply to a call on which nobody decided, from `specialists/turns/notes/not_decided.md`."""
DEVIATION_MESSAGE = "This part of the demo did not go as it is written."
_MATCH_CHARS = 120
"""Characters at the start of the demo's request by which a brief is recognised as the demo's."""
_MAX_REASON_CHARS = 160


@dataclass(frozen=True, slots=True)
class DemoScript:
    """A demo's request and its scripted replies. If it `is_held`, its specialists work for `HELD_CALL_SECONDS`."""

    request: str = ""
    replies: DemoReplies | None = None
    is_held: bool = False

    def matches_message(self, message: str) -> bool:
        """Return True if a call's message belongs to the demo's own request."""
        return bool(self.request) and _collapse_whitespace(self.request)[:_MATCH_CHARS] in _collapse_whitespace(message)

    def find_plan(self, message: str) -> dict[str, Any] | None:
        """Return the planner's reply to the demo's own request; None for any other, or if the demo scripts no plan."""
        request = read_sections(message, PLANNER_HEADINGS).get("Request", "")
        if (
            self.replies is None
            or self.replies.plan is None
            or _collapse_whitespace(request) != _collapse_whitespace(self.request)
        ):
            return None
        plan = {**self.replies.plan, "goal": f"{GOAL_PREFIX}: {self.replies.plan['goal']}"}
        return {"why": PLAN_REASON, "next": {"who": "several", **plan}}

    def find_answer(self, message: str) -> str:
        """Return the synthesizer's reply; "" for another request, or if a part did not go as it is scripted."""
        has_deviated = any(words in message for words in (DEVIATION_MESSAGE, DENIED_TEXT, UNDECIDED_TEXT))
        return self.replies.answer if self.replies and self.matches_message(message) and not has_deviated else ""

    def find_move(
        self, name: str, message: str, history: Sequence[tuple[ToolCall, ToolReply]], tools: Mapping[str, ToolSpec]
    ) -> Move | None:
        """Return a specialist's next move on a part of the demo's request; None if the demo scripts none for it."""
        steps = self.replies.turns.get(name) if self.replies else None
        if steps is None or not self.matches_message(message):
            return None
        history = [(call, reply) for call, reply in history if call.name not in FINISHING]
        failed_calls = [(call, reply) for call, reply in history if reply.failed]
        has_answers, calls_to_skip = bool(read_brief(message).answers), len(history)
        for step in steps:
            calls = [(tool, dict(arguments)) for tool, arguments in step.calls if tool in tools]
            finish_calls = [(tool, arguments) for tool, arguments in calls if tool in FINISHING]
            if finish_calls and not (has_answers and finish_calls[0][0] == ESCALATE_TOOL):
                return (
                    _make_failure_move(failed_calls)
                    if failed_calls and finish_calls[0][0] == RETURN_TOOL
                    else Move(tuple(finish_calls))
                )
            calls = [] if finish_calls else calls
            if calls_to_skip < len(calls):
                return Move(tuple(calls[calls_to_skip:]))
            calls_to_skip -= len(calls)
        return make_escalation_move("out_of_scope", "The demo's steps end without a result.")


NO_DEMO = DemoScript()


def find_script(scripts: Sequence[DemoScript], message: str) -> DemoScript:
    """Return the script of the demo that a call's message belongs to, otherwise `NO_DEMO`."""
    return next((one for one in scripts if one.matches_message(message)), NO_DEMO)


def _make_failure_move(failed_calls: Sequence[tuple[ToolCall, ToolReply]]) -> Move:
    """Return the move that reports calls that failed or were not approved, in place of the scripted result."""
    unapproved_lines, gaps = [], []
    for call, reply in failed_calls:
        why = next((words for words in (DENIED_TEXT, UNDECIDED_TEXT) if words in reply.text), "")
        if why:
            unapproved_lines.append(f"`{call.name}` was shown, and {why}: nothing was done.")
        else:
            gaps.append(f"`{call.name}` failed: {_collapse_whitespace(reply.text)[:_MAX_REASON_CHARS]}")
    if not unapproved_lines:
        return make_escalation_move("out_of_scope", " ".join([DEVIATION_MESSAGE, *gaps]))
    return make_result_move("It was not approved.", "\n\n".join(unapproved_lines), gaps=gaps)


def _collapse_whitespace(text: str) -> str:
    return " ".join(text.split())
