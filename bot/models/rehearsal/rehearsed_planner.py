"""The rehearsal's planner: one specialist for one query, sum, outline or quotation, and a writer for a note on it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from bot.models.rehearsal.rehearsed_brief import (
    CAN_ASK,
    GOES_ON,
    IN_FULL,
    cut_to_words,
    find_sum,
    is_greeting,
    read_files,
    read_sections,
    say_declined,
)
from bot.models.rehearsal.rehearsed_words import read_words, split_words
from handoff.conversation.message_kinds import is_thanks

HEADINGS = (
    "Request",
    "Why one specialist alone did not do it",
    "Specialists",
    "Files",
    "Files that could not be read",
    "Earlier in this thread",
    "Source material",
    "Your last plan was not accepted",
)
DECLINED = "declined by the rehearsal"
"""The planner's reason for an answer that declines the request."""
_HELP = Path(__file__).with_name("rehearsal_help.md")
_ROSTER = "# Specialists\n"
_ROLES = {
    "analyst": re.compile(r"\b(tables?|data|spreadsheets?|charts?|calculat)", re.IGNORECASE),
    "writer": re.compile(r"\b(writes?|drafts?|documents?|texts?)", re.IGNORECASE),
}
"""By role that rules plan for: a pattern for the description of a specialist that can take it."""
_NOTE = re.compile(
    r"(?:^|[\s,;.?!])\s*(?:and\s+|then\s+|please\s+)*"
    r"(?P<note>(?:draft|write|compose|prepare)\s+(?:(?:me|us|a|an|the|short|brief|one-page)\s+)*"
    r"(?:note|memo|report)(?:\s+(?:to|for)\s+(?:(?:the|our|my)\s+)?\w+)?(?:\s+(?:on|about)\s+(?:it|this|that))?)[\s.!]*$",
    re.IGNORECASE,
)
"""The end of a request that asks for a note on the result. A more detailed wish does not match."""
_OWN_WORDS = read_words("own_words")
"""Words of requests that ask for new text or a judgement, which quotations cannot answer."""


def decide(text: str, system: str) -> dict[str, Any]:
    """Return the planner's decision on its message. `system` is its prompt, which lists the specialists."""
    roster = f"\n\n{system[system.rfind(_ROSTER) :]}" if _ROSTER in system else ""
    parts = read_sections(text + roster, HEADINGS)
    request, files = parts.get("Request", "") or text.strip(), read_files(parts.get("Files", ""))
    has_table = any(file.is_table for file in files)
    if is_greeting(request):
        return _answer("It is a greeting.", _HELP.read_text(encoding="utf-8").strip())
    if is_thanks(request) and not files:
        return _answer("There is nothing to work on.", "You are welcome.")
    given = re.findall(r"^## (.+?)(?: begins)?$", parts.get("Source material", ""), re.MULTILINE)
    texts = [file.name for file in files if not file.is_table]
    unread = [name for name in texts if name not in given]
    crew = dict(re.findall(r"^- ([^:\n]+): (.*)$", parts.get("Specialists", ""), re.MULTILINE))
    earlier = parts.get("Earlier in this thread", "")
    subtasks = _plan_subtasks(request, crew, earlier, has_table=has_table, has_text=len(texts) > len(unread))
    if not subtasks:
        return _answer(DECLINED, _decline(request, unread, texts, lost="Files that could not be read" in parts))
    left = [] if earlier else texts if has_table else unread
    missing = [f"read {name} beside a table without a language model" for name in left]
    plan = {"goal": cut_to_words(request, 30), "subtasks": subtasks, "strategy": "merge", "instruction": ""}
    return {"why": "", "next": {"who": "several", **plan, "missing": missing}}


def _answer(why: str, text: str) -> dict[str, Any]:
    return {"why": why, "next": {"who": "answer", "text": text}}


def _decline(request: str, unread: list[str], texts: list[str], *, lost: bool) -> str:
    """Return why rules cannot do a request, and what they can do. It has no figures, which a planner may not state."""
    if texts and not unread:
        own = next((word for word in split_words(request) if word in _OWN_WORDS), "")
        why = f"“{own}” takes words of my own, and I" if own else "I"
        return say_declined(f"{why} can only quote or outline a text.", [f"outline {texts[0]}"])
    reason = "No file is attached, and without one rules can only do sums."
    if unread:
        reason = f"I can't read {' and '.join(unread)} without a language model."
    elif lost:
        reason = "I can't do that without the file, which could not be read."
    return f"{say_declined(reason, [])} {CAN_ASK} for a sum, or about a table or a text that you attach."


def _plan_subtasks(
    request: str, crew: dict[str, str], earlier: str, *, has_table: bool, has_text: bool
) -> list[dict[str, Any]]:
    """Return the subtasks for a request; [] if rules cannot do it."""
    note = _NOTE.search(request)
    rest = request[: note.start()].strip(" ,;.") if note else request
    analyst, writer = (_find_specialist(crew, role) for role in _ROLES)
    if not analyst and not writer:
        return [_make_subtask("task", next(iter(crew), "specialist"), request)]
    if has_table and rest:
        asked = (one.partition("\n") for one in re.split(r"^#+ Asked: ", earlier, flags=re.MULTILINE)[1:])
        before = [_NOTE.sub("", text) for text, _, answer in asked if not answer.startswith("(no answer")]
        analysis = _make_subtask("analysis", analyst, rest)
        analysis["intent"] += "".join(f"\n{GOES_ON} {text}" for text in before if text.strip())
        return [analysis, *([_make_subtask("text", writer, note["note"], "analysis")] if note else [])]
    if find_sum(request):
        return [_make_subtask("analysis", analyst, request)]
    if not has_text or has_table or note or _OWN_WORDS & {*split_words(request)}:
        return []
    return [_make_subtask("text", writer, request)]


def _find_specialist(crew: dict[str, str], role: str) -> str:
    """Return the specialist with a role's name, otherwise the first whose description fits it, otherwise the first.

    Returns "" if no specialist of the crew fits any role.
    """
    fit = {one: [name for name, about in crew.items() if _ROLES[one].search(about.partition(".")[0])] for one in _ROLES}
    if not any(fit.values()) and not crew.keys() & _ROLES.keys():
        return ""
    return role if role in crew else next(iter([*fit[role], *crew]))


def _make_subtask(name: str, specialist: str, words: str, *after: str) -> dict[str, Any]:
    objective = " ".join(words.split()).strip(" .,;?!") or "Answer the request"
    objective = objective[:1].upper() + objective[1:]
    return {
        "id": name,
        "title": cut_to_words(objective, 8),
        "intent": objective if len(objective.split()) > 3 else f"{IN_FULL} {objective}",
        "specialist": specialist,
        "after": list(after),
        "done_when": "Each word of it is answered, and each figure comes from the file or the results.",
        "tier": None,
    }
