"""The next move of a rehearsed specialist: call tools, or end its work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from handoff.contracts import ToolReply

RETURN = "return_result"
ESCALATE = "escalate"


@dataclass(frozen=True, slots=True)
class Move:
    """Tools to call side by side, by name and arguments, and a line said with it."""

    calls: tuple[tuple[str, dict[str, Any]], ...]
    text: str = ""


def hand_in(
    summary: str, content: str, *, findings: Sequence[Mapping[str, Any]] = (), gaps: Sequence[str] = ()
) -> Move:
    """End with a result. `findings` are fields of `handoff.contracts.Finding`, `gaps` what the result lacks.

    The confidence is always 100: rules hand in only what they worked out.
    """
    found = [{"confidence": 100, **finding} for finding in findings]
    said = {"summary": summary, "content": content, "confidence": 100, "findings": found, "gaps": list(gaps)}
    return Move(((RETURN, said),))


def give_up(reason: str, message: str, options: Sequence[str] = ()) -> Move:
    """End with an escalation."""
    return Move(((ESCALATE, {"reason": reason, "message": message, **({"options": [*options]} if options else {})}),))


def name_failures(replies: Sequence[ToolReply]) -> str:
    """Return the replies of the tools that failed, on one line."""
    return " ".join(dict.fromkeys(" ".join(reply.text.split())[:300] for reply in replies if reply.failed))
