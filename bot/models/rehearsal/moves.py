"""The next move of a rehearsed specialist: call tools, or end its work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from handoff.contracts import ToolReply
from specialists.tools.tool import ToolSpec

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

    Rules are sure of what they did, and of nothing else, so no doubt of their own is stated.
    """
    arguments = {
        "summary": summary,
        "content": content,
        "confidence": 100,
        "findings": [dict(finding) for finding in findings],
        "gaps": list(gaps),
    }
    return Move(((RETURN, arguments),))


def give_up(reason: str, message: str, options: Sequence[str] = (), partial_result: str = "") -> Move:
    """End with an escalation."""
    arguments: dict[str, Any] = {"reason": reason, "message": message}
    if options:
        arguments["options"] = list(options)
    if partial_result:
        arguments["partial_result"] = partial_result
    return Move(((ESCALATE, arguments),))


def fitted(tool: ToolSpec, wishes: Mapping[str, Any]) -> dict[str, Any] | None:
    """Keep the arguments that the tool has parameters for; None if it needs one that is not among them."""
    properties = tool.parameters.get("properties", {})
    arguments = {name: value for name, value in wishes.items() if name in properties and value is not None}
    return None if any(name not in arguments for name in tool.parameters.get("required", ())) else arguments


def choice(tool: ToolSpec, name: str, *wishes: str) -> str | None:
    """The first wish that a parameter with fixed values allows; None if there is none or no such parameter."""
    parameter = tool.parameters.get("properties", {}).get(name, {})
    allowed = parameter.get("enum") or [value for part in parameter.get("anyOf", ()) for value in part.get("enum", ())]
    return next((wish for wish in wishes if wish in allowed), None)


def what_failed(replies: Sequence[ToolReply]) -> str:
    """The words of tools that failed, on one line."""
    return " ".join(dict.fromkeys(" ".join(reply.text.split())[:300] for reply in replies if reply.failed))
