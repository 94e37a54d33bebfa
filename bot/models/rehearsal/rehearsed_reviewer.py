"""The rehearsed reviewer: the checks that need no understanding."""

from __future__ import annotations

import re
from typing import Any

from bot.models.rehearsal.moves import Move, give_up, hand_in
from bot.models.rehearsal.rehearsed_brief import EARLIER_ANSWER, UNAVAILABLE, Brief

_NUMBER = re.compile(r"(?<![\w.])[-+]?\d[\d,]*(?:\.\d+)?(?![\w])")
_LEFTOVER = re.compile(r"\b(TODO|TBD|XXX|FIXME|lorem ipsum)\b", re.IGNORECASE)
_TWICE = re.compile(r"\b([^\W\d_]+)\s+\1\b", re.IGNORECASE)
_MOST = 12


def next_move(brief: Brief) -> Move:
    """The review: the last text of earlier steps against those before it, or the text in the task itself."""
    texts = [(source, text) for source, text in brief.notes if not text.startswith(UNAVAILABLE)]
    if brief.notes and not texts:
        return give_up("out_of_scope", "There is nothing to review: no earlier step brought a text.")
    if not texts:
        _, marker, earlier = brief.task.partition(EARLIER_ANSWER)
        text = earlier if marker else brief.task.partition("\n")[2] or brief.task.partition(":")[2]
        texts = [("the text in the task", text.strip())] if text.strip() else list(brief.given)
    if not texts:
        return give_up("out_of_scope", "There is no text to check.")
    name, text = texts[-1]
    others = [body for _, body in texts[:-1]]
    findings = [*_numbers(text, others), *_empty_sections(text), *_slips(text)][:_MOST]
    checked = "leftovers, doubled words and empty sections"
    if others:
        checked = f"numbers against {len(others)} earlier {'step' if len(others) == 1 else 'steps'}, " + checked
    lines = [f"- {finding['message']} ({finding['where']})" for finding in findings]
    found = f"{len(findings)} {'finding' if len(findings) == 1 else 'findings'}" if findings else "nothing found"
    first = f"“{name}”, checked by rules for {checked}: {found}. Whether what it says is right, rules cannot tell."
    return hand_in(first, "\n".join([first, "", *lines]).strip(), findings=findings)


def _numbers(text: str, others: list[str]) -> list[dict[str, Any]]:
    """Numbers of the text that occur nowhere in the material; nothing if there is no material."""
    if not others:
        return []
    known = {_plain(number) for other in others for number in _NUMBER.findall(other)}
    found = dict.fromkeys(number for number in _NUMBER.findall(text) if _plain(number) not in known)
    return [
        _finding("high", f"The number {number} is in no earlier step.", number, "Name its source, or take it out.")
        for number in found
    ]


def _plain(number: str) -> str:
    return number.replace(",", "").lstrip("+-")


def _empty_sections(text: str) -> list[dict[str, Any]]:
    found = re.findall(r"^(#+) (.+)\n+(?=(#+) |\Z)", text + "\n", re.MULTILINE)
    return [
        _finding("medium", f"The section “{title}” is empty.", title, "Fill it, or take it out.")
        for level, title, following in found
        if not following or len(following) <= len(level)
    ]


def _slips(text: str) -> list[dict[str, Any]]:
    leftovers = [
        _finding("high", f"A leftover: {word}.", word, "Finish the passage.")
        for word in dict.fromkeys(_LEFTOVER.findall(text))
    ]
    twice = [
        _finding("low", f"The word “{word}” stands twice.", f"{word} {word}", "Take one out.")
        for word in dict.fromkeys(_TWICE.findall(re.sub(r"[|#>\n]", " . ", text)))
    ]
    return leftovers + twice


def _finding(severity: str, message: str, where: str, suggestion: str) -> dict[str, Any]:
    return {"severity": severity, "message": message, "where": where, "suggestion": suggestion, "confidence": 100}
