"""Calls of tools that write, where nobody knows whether they were carried out: what is asked, and what an answer says.

An intent (`ToolStarted`) is kept before the call and its outcome
(`ToolReturned`) after it. An intent without an outcome is in doubt, and is
never simply run again: it is settled by what a person says, or by the tool
itself where that can look it up or is safe to repeat.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from handoff.contracts import Usage
from handoff.events import ToolReturned, ToolStarted, TurnTaken

HAPPENED = "It happened"
NOT_HAPPENED = "It did not happen"
STOP = "Stop this part"
OPTIONS = (HAPPENED, NOT_HAPPENED, STOP)
"""The answers that mean something, in the order of their buttons."""

PLEASE_CHECK = "unknown, please check"
"""How people are told of a call that may or may not have been carried out."""

Verdict = Literal["happened", "not_happened", "stop", "words"]
"""What a person's answer says. `words`: something else, which settles nothing."""
_VERDICTS: dict[str, Verdict] = {
    HAPPENED.casefold(): "happened",
    NOT_HAPPENED.casefold(): "not_happened",
    STOP.casefold(): "stop",
}


@dataclass(frozen=True, slots=True)
class Doubt:
    """The call that an open question is about. `usage` is what its attempt had spent by then."""

    call: str
    what: str
    reason: str
    usage: Usage = Usage()


@dataclass(frozen=True, slots=True)
class Checked:
    """A person's word on a call that was in doubt; a checkpoint, in the place of the call's outcome."""

    at: float
    call: str
    verdict: Verdict
    user: str
    words: str


@dataclass(frozen=True, slots=True)
class Written:
    """A call of an attempt that is over, which must not be made again.

    `known`: it was carried out for certain, else it may have been. `came_of_it` is its reply, or people's words.
    """

    what: str
    digest: str
    known: bool
    came_of_it: str


Checkpoint = TurnTaken | ToolReturned | ToolStarted | Checked
"""What an attempt goes on from when it changes hands."""


def verdict_of(text: str) -> Verdict:
    """What an answer says: only the words of a button count, everything else is `words`."""
    return _VERDICTS.get(text.strip(" \t\n.!“”\"'").casefold(), "words")


def open_intents(checkpoints: Sequence[Checkpoint]) -> tuple[ToolStarted, ...]:
    """The intents without an outcome, oldest first."""
    return tuple(intent for intent, end in _writes(checkpoints) if end is None)


def written(checkpoints: Sequence[Checkpoint]) -> tuple[Written, ...]:
    """What an attempt wrote, or may have written, in order."""
    kept = (_written(intent, end) for intent, end in _writes(checkpoints))
    return tuple(one for one in kept if one is not None)


def _writes(checkpoints: Iterable[Checkpoint]) -> list[tuple[ToolStarted, ToolReturned | Checked | None]]:
    """Each intent with its end. Ids may come again in a later turn: the first open intent of that id is meant."""
    found: list[tuple[ToolStarted, ToolReturned | Checked | None]] = []
    for point in checkpoints:
        if isinstance(point, ToolStarted):
            found.append((point, None))
        elif isinstance(point, ToolReturned | Checked):
            call = point.call if isinstance(point, Checked) else point.reply.get("call_id")
            for index, (intent, end) in enumerate(found):
                if end is None and intent.call == call:
                    found[index] = (intent, point)
                    break
    return found


def _written(intent: ToolStarted, end: ToolReturned | Checked | None) -> Written | None:
    """None where it certainly was not carried out."""
    if isinstance(end, ToolReturned):
        failed = bool(end.reply.get("failed"))
        return None if failed else Written(intent.what, intent.digest, True, str(end.reply.get("text", "")))
    if isinstance(end, Checked) and end.verdict == "not_happened":
        return None
    known = isinstance(end, Checked) and end.verdict == "happened"
    return Written(intent.what, intent.digest, known, end.words if isinstance(end, Checked) else "")
