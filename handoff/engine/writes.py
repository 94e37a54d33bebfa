"""Calls of tools that write, where nobody knows whether they were carried out: what is asked, and what an answer says.

An intent (`ToolStarted`) is kept before the call and its outcome
(`ToolReturned`) after it. An intent without an outcome is in doubt, and is
never simply run again: it is settled by what a person says, or by the tool
itself where that can look it up or is safe to repeat.
"""

from __future__ import annotations

from handoff.state import DoubtVerdict

HAPPENED = "It happened"
NOT_HAPPENED = "It did not happen"
STOP = "Stop this part"
OPTIONS = (HAPPENED, NOT_HAPPENED, STOP)
"""The answers that mean something, in the order of their buttons."""

_VERDICTS: dict[str, DoubtVerdict] = {
    HAPPENED.casefold(): "happened",
    NOT_HAPPENED.casefold(): "not_happened",
    STOP.casefold(): "stop",
}


def verdict_of(text: str) -> DoubtVerdict:
    """What an answer says: only the words of a button count, everything else is `words`."""
    return _VERDICTS.get(text.strip(" \t\n.!“”\"'").casefold(), "words")
