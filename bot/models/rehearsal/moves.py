"""The next move of a rehearsed specialist: call tools, or end its work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from handoff.contracts import ToolReply

RETURN_TOOL = "return_result"
ESCALATE_TOOL = "escalate"


@dataclass(frozen=True, slots=True)
class Move:
    """Tool calls to make side by side, as pairs of (name, arguments), and the text of the turn."""

    calls: tuple[tuple[str, dict[str, Any]], ...]
    text: str = ""


def make_result_move(
    summary: str, content: str, *, findings: Sequence[Mapping[str, Any]] = (), gaps: Sequence[str] = ()
) -> Move:
    """Return the move that ends the work with a result.

    `findings` are the fields of `handoff.contracts.Finding`; `gaps` are sentences on what the result lacks. The
    confidence is always 100, since rules return only computed results.
    """
    full_findings = [{"confidence": 100, **finding} for finding in findings]
    arguments = {
        "summary": summary,
        "content": content,
        "confidence": 100,
        "findings": full_findings,
        "gaps": list(gaps),
    }
    return Move(((RETURN_TOOL, arguments),))


def make_escalation_move(reason: str, message: str, options: Sequence[str] = ()) -> Move:
    """Return the move that ends the work with an escalation."""
    return Move(
        ((ESCALATE_TOOL, {"reason": reason, "message": message, **({"options": [*options]} if options else {})}),)
    )


def join_failures(replies: Sequence[ToolReply]) -> str:
    """Join the replies of failed tool calls on one line, each cut to 300 characters."""
    return " ".join(dict.fromkeys(" ".join(reply.text.split())[:300] for reply in replies if reply.failed))
