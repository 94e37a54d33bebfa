"""The rehearsed dispatcher: a few words that follow up on an answer or correct what is under way, and silence else."""

from __future__ import annotations

import re
from typing import Any

from handoff.conversation.spoken import is_question, is_thanks, may_call, words_of

FOLLOWS_UP = frozenset(
    re.findall(
        r"\w+",
        """
        shorter longer simpler again instead also add remove only without as by in now please make put translate explain
        kürzer länger einfacher nochmal bitte nur ohne als pro auch court long seulement sans comme par más menos sin
        como por solo più meno senza come per
        """,
    )
)
"""Words with which people begin to ask for more of an answer, or for another one."""
UNDER_WAY, QUESTION = "# It is under way", "# Open question of the bot"


def sort(text: str) -> dict[str, Any]:
    """Say what the message at the end of a dispatcher's brief is for."""
    situation, _, message = text.rpartition("# Message")
    heading, _, said = message.partition("\n")
    named = "names the bot" in heading
    if is_thanks(said):
        return _is("thanks", "it thanks")
    if QUESTION in situation:
        if is_question(said):
            return _is("explain", "it asks back")
        return _is("answer", "a question is open")
    words = words_of(said)
    follows = bool(words) and words[0] in FOLLOWS_UP and not may_call(said)
    if UNDER_WAY in situation and follows:
        return _is("correction", "it changes what is under way")
    if named or follows:
        return _is("request", "it asks for something")
    return _is("nothing", "the rehearsal hears plain follow-ups only")


def _is(aim: str, why: str) -> dict[str, Any]:
    return {"why": why, "aim": aim}
