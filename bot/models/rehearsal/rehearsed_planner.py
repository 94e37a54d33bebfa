"""The rehearsal's planner: gives a query, sum, outline or quotation to one specialist, and a note on it to a writer."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from bot.models.rehearsal.brief_parsing import (
    FOLLOW_UP_PREFIX,
    FULL_ANSWER_PREFIX,
    SUGGESTION_PREFIX,
    find_arithmetic,
    is_greeting,
    limit_words,
    read_files,
    read_sections,
    render_decline,
)
from bot.models.rehearsal.word_lists import read_word_list, split_words
from handoff.conversation.message_kinds import is_thanks
from handoff.text.capitalization import capitalize_first

PLANNER_HEADINGS = (
    "Request",
    "Why one specialist alone did not do it",
    "Specialists",
    "Files",
    "Files that could not be read",
    "Earlier in this thread",
    "Source material",
    "Your last plan was not accepted",
)
DECLINE_REASON = "declined by the rehearsal"
"""The planner's reason for an answer that declines the request."""
_HELP = Path(__file__).with_name("rehearsal_help.md")
_ROSTER_HEADING = "# Specialists\n"
_DESCRIPTION_PATTERNS = {
    "analyst": re.compile(r"\b(tables?|data|spreadsheets?|charts?|calculat)", re.IGNORECASE),
    "writer": re.compile(r"\b(writes?|drafts?|documents?|texts?)", re.IGNORECASE),
}
"""By role: a pattern for the description of a specialist that can take the role."""
_NOTE_REQUEST = re.compile(
    r"(?:^|[\s,;.?!])\s*(?:and\s+|then\s+|please\s+)*"
    r"(?P<note>(?:draft|write|compose|prepare)\s+(?:(?:me|us|a|an|the|short|brief|one-page)\s+)*"
    r"(?:note|memo|report)(?:\s+(?:to|for)\s+(?:(?:the|our|my)\s+)?\w+)?(?:\s+(?:on|about)\s+(?:it|this|that))?)[\s.!]*$",
    re.IGNORECASE,
)
"""The end of a request that asks for a note on the result. A request with more details does not match."""
_WRITING_WORDS = read_word_list("own_words")
"""Words of requests that ask for new text or a judgement, which quotations cannot answer."""


def plan_request(text: str, system: str) -> dict[str, Any]:
    """Return the planner's decision as its reply's JSON object. `system` lists the specialists."""
    roster = f"\n\n{system[system.rfind(_ROSTER_HEADING) :]}" if _ROSTER_HEADING in system else ""
    parts = read_sections(text + roster, PLANNER_HEADINGS)
    request, files = parts.get("Request", "") or text.strip(), read_files(parts.get("Files", ""))
    has_table = any(file.is_table for file in files)
    if is_greeting(request):
        return _make_answer("It is a greeting.", _HELP.read_text(encoding="utf-8").strip())
    if is_thanks(request) and not files:
        return _make_answer("There is nothing to work on.", "You are welcome.")
    source_names = re.findall(r"^## (.+?)(?: begins)?$", parts.get("Source material", ""), re.MULTILINE)
    texts = [file.name for file in files if not file.is_table]
    unread = [name for name in texts if name not in source_names]
    descriptions = dict(re.findall(r"^- ([^:\n]+): (.*)$", parts.get("Specialists", ""), re.MULTILINE))
    earlier = parts.get("Earlier in this thread", "")
    subtasks = _plan_subtasks(request, descriptions, earlier, has_table=has_table, has_text=len(texts) > len(unread))
    if not subtasks:
        return _make_answer(
            DECLINE_REASON,
            _render_decline(request, unread, texts, has_lost_file="Files that could not be read" in parts),
        )
    unread_texts = [] if earlier else texts if has_table else unread
    missing_steps = [f"read {name} beside a table without a language model" for name in unread_texts]
    plan = {"goal": limit_words(request, 30), "subtasks": subtasks, "strategy": "merge", "instruction": ""}
    return {"why": "", "next": {"who": "several", **plan, "missing": missing_steps}}


def _make_answer(why: str, text: str) -> dict[str, Any]:
    return {"why": why, "next": {"who": "answer", "text": text}}


def _render_decline(request: str, unread_files: list[str], texts: list[str], *, has_lost_file: bool) -> str:
    """Return a text on why rules cannot do a request, and what they can do. It states no figures."""
    if texts and not unread_files:
        writing_word = next((word for word in split_words(request) if word in _WRITING_WORDS), "")
        why = f"“{writing_word}” takes words of my own, and I" if writing_word else "I"
        return render_decline(f"{why} can only quote or outline a text.", [f"outline {texts[0]}"])
    reason = "No file is attached, and without one rules can only do sums."
    if unread_files:
        reason = f"I can't read {' and '.join(unread_files)} without a language model."
    elif has_lost_file:
        reason = "I can't do that without the file, which could not be read."
    return f"{render_decline(reason, [])} {SUGGESTION_PREFIX} for a sum, or about a table or a text that you attach."


def _plan_subtasks(
    request: str, descriptions: dict[str, str], earlier_requests: str, *, has_table: bool, has_text: bool
) -> list[dict[str, Any]]:
    """Return the subtasks for a request; [] if rules cannot do it."""
    note = _NOTE_REQUEST.search(request)
    rest = request[: note.start()].strip(" ,;.") if note else request
    analyst, writer = (_find_specialist(descriptions, role) for role in _DESCRIPTION_PATTERNS)
    if not analyst and not writer:
        return [_make_subtask("task", next(iter(descriptions), "specialist"), request)]
    if has_table and rest:
        request_parts = (
            one.partition("\n") for one in re.split(r"^#+ Asked: ", earlier_requests, flags=re.MULTILINE)[1:]
        )
        earlier_texts = [
            _NOTE_REQUEST.sub("", text) for text, _, answer in request_parts if not answer.startswith("(no answer")
        ]
        analysis = _make_subtask("analysis", analyst, rest)
        analysis["intent"] += "".join(f"\n{FOLLOW_UP_PREFIX} {text}" for text in earlier_texts if text.strip())
        return [analysis, *([_make_subtask("text", writer, note["note"], "analysis")] if note else [])]
    if find_arithmetic(request):
        return [_make_subtask("analysis", analyst, request)]
    if not has_text or has_table or note or _WRITING_WORDS & {*split_words(request)}:
        return []
    return [_make_subtask("text", writer, request)]


def _find_specialist(descriptions: dict[str, str], role: str) -> str:
    """Return the specialist with a role's name, otherwise the first whose description fits it, otherwise the first.

    Returns "" if no specialist of the crew fits any role.
    """
    fitting_names = {
        one: [
            name for name, about in descriptions.items() if _DESCRIPTION_PATTERNS[one].search(about.partition(".")[0])
        ]
        for one in _DESCRIPTION_PATTERNS
    }
    if not any(fitting_names.values()) and not descriptions.keys() & _DESCRIPTION_PATTERNS.keys():
        return ""
    return role if role in descriptions else next(iter([*fitting_names[role], *descriptions]))


def _make_subtask(name: str, specialist: str, words: str, *dependencies: str) -> dict[str, Any]:
    objective = " ".join(words.split()).strip(" .,;?!") or "Answer the request"
    objective = capitalize_first(objective)
    return {
        "id": name,
        "title": limit_words(objective, 8),
        "intent": objective if len(objective.split()) > 3 else f"{FULL_ANSWER_PREFIX} {objective}",
        "specialist": specialist,
        "after": list(dependencies),
        "done_when": "Each word of it is answered, and each figure comes from the file or the results.",
        "tier": None,
    }
