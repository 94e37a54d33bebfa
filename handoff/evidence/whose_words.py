"""Tells whether a text gives a quotation to another file, or to another speaker of a conversation, than has it. Pure.

Only what is certain counts: the name stands right before the words that it is said to have, or in brackets behind them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from handoff.evidence.place_words import SENTENCE_END, find_named_places
from handoff.evidence.quotations import Quotation, find_quotation

_WORD = re.compile(r"[^\W\d_]+")
_CLAUSE_END = re.compile(r"[,;\u2013\u2014](?=\s)")
_IN_BRACKETS = re.compile(r"\s*\(([^()\n]{1,80})\)")
_SPEAKER = re.compile(r"^[ \t>*\-\u2022]*(?P<name>[^\W\d_][^\W_]{2,}(?:[ .'\-]{1,2}[^\W_]+){0,3})\s?\**[:\uff1a](?=\s)")
"""The name before a line of a conversation, as in `Ana: I agree.`"""
_VERB, _WITH_PLACE = 1, 3
"""Words that may stand between a name and the words that it has: "says", or "says in section 2"."""


def file_named_for(quotation: Quotation, names: Iterable[str]) -> str:
    """Return the one of some files that a text says has the words that it quotes; empty if it says none, or several."""
    names = list(names)
    if bracket := _IN_BRACKETS.match(quotation.after):
        return _only_name(name for name in names if _find_name_places(bracket[1], name))
    sentence = SENTENCE_END.split(quotation.before)[-1]
    if not (found := _only_name(name for name in names if _find_name_places(sentence, name))):
        return ""
    rest = sentence[_find_name_places(sentence, found)[-1] :]
    return found if len(_WORD.findall(rest)) <= (_WITH_PLACE if find_named_places(rest) else _VERB) else ""


def speaker_fault(quotation: Quotation, text: str) -> str:
    """Say whose words a quotation has, if a text has it in lines of others than the one that it is said to be of."""
    lines = [(found["name"], line) for line in text.splitlines() if (found := _SPEAKER.match(line))]
    names = dict.fromkeys(name for name, _ in lines)
    if len(names) <= 1 or not (given := _find_named_speaker(quotation, names)):
        return ""
    own = [name for name, line in lines if find_quotation(line, quotation.words) is not None]
    if not own or given in own or any(_find_name_places(f"{quotation.before} {quotation.after}", name) for name in own):
        return ""
    return f"is said by {own[0]}, not by {given}"


def _find_named_speaker(quotation: Quotation, names: Iterable[str]) -> str:
    clause = _CLAUSE_END.split(SENTENCE_END.split(quotation.before)[-1])[-1]
    bracket = _IN_BRACKETS.match(quotation.after)
    for name in names:
        if re.fullmatch(rf"\W*{re.escape(name)}\W+(?:[^\W\d_]+\W*)?", clause) or (bracket and bracket[1] == name):
            return name
    return ""


def _find_name_places(text: str, name: str) -> list[int]:
    """Return where a text has said a name that is no part of another one, such as a.md of data.md."""
    found = re.finditer(rf"(?<![\w.-]){re.escape(name)}(?![A-Za-z0-9_-]|\.\w)", text, re.IGNORECASE)
    return [one.end() for one in found]


def _only_name(names: Iterator[str]) -> str:
    found = list(names)
    return found[0] if len(found) == 1 else ""
