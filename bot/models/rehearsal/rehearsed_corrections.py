"""What the requester said while a rehearsed specialist was at work: rules cannot apply it, so the result says so."""

from __future__ import annotations

import re
from typing import Any

from bot.models.rehearsal.moves import ESCALATE, RETURN, Move
from handoff.engine.correcting import SAID
from specialists.model import ModelCall, ModelMessage

NOT_APPLIED = "“{words}” was not applied: this is a rehearsal, and no model reads what is said meanwhile"
_MEANWHILE = re.compile("has said meanwhile: \u201c(?P<words>.*?)\u201d (?:Work by|Take that)", re.DOTALL)
_SINCE = re.compile(rf"^## {re.escape(SAID)}\n(?P<words>.*?)(?=\n#|\Z)", re.DOTALL | re.MULTILINE)
"""What was said before the specialist began, and after its part was planned."""
_LONGEST = 160


def confess(move: Move, call: ModelCall) -> Move:
    """Add to the end of a specialist's work what was said meanwhile; any other move stays as it is."""
    texts = [text for message in call.messages for text in _texts(message)]
    said = [words for text in texts for pattern in (_SINCE, _MEANWHILE) for words in pattern.findall(text)]
    if not said:
        return move
    gaps = [NOT_APPLIED.format(words=" ".join(words.split())[:_LONGEST]) for words in dict.fromkeys(said)]
    return Move(tuple((name, _with(name, arguments, gaps)) for name, arguments in move.calls), move.text)


def _texts(message: ModelMessage) -> list[str]:
    return [message.text, *(reply.text for reply in message.replies)] if message.role == "user" else []


def _with(name: str, arguments: dict[str, Any], gaps: list[str]) -> dict[str, Any]:
    if name == RETURN:
        return {**arguments, "gaps": [*arguments.get("gaps", ()), *gaps]}
    if name == ESCALATE:
        return {**arguments, "message": ". ".join([str(arguments.get("message", "")).rstrip("."), *gaps])}
    return arguments
