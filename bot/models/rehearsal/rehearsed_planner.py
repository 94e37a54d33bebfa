"""The rehearsal's planner: one specialist for one query, sum, outline or quotation, and a writer for a note on it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bot.models.rehearsal.rehearsed_brief import (
    CAN_ASK,
    DECLINED_BEFORE,
    EARLIER_ANSWER,
    GOES_ON,
    IN_FULL,
    cut_to_words,
    is_greeting,
    read_files,
    say_declined,
    sections,
    sum_in,
)

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
"""The planner's reason for an answer that only says that it cannot."""
_HELP = Path(__file__).with_name("rehearsal_help.md")
_ROSTER = "# Specialists\n"
_ROLES = {
    "analyst": re.compile(r"\b(tables?|data|spreadsheets?|charts?|calculat)", re.IGNORECASE),
    "writer": re.compile(r"\b(writes?|drafts?|documents?|texts?)", re.IGNORECASE),
}
"""How the description of a specialist sounds that can do what rules plan."""
_NOTE = re.compile(
    r"(?:^|[\s,;.?!])\s*(?:and\s+|then\s+|please\s+)*"
    r"(?P<note>(?:draft|write|compose|prepare)\s+(?:(?:me|us)\s+)?(?:(?:a|an|the)\s+)?"
    r"(?:(?:short|brief|one-page)\s+)*(?:note|memo|report|document)"
    r"(?:\s+(?:to|for)\s+(?:the\s+|our\s+|my\s+)?\w+)?(?:\s+(?:on|about)\s+(?:it|this|that))?"
    r"(?:\s+(?:in|as)\s+an?\s+(?:word\s+)?(?:document|docx|canvas|report))?)[\s.!]*$",
    re.IGNORECASE,
)
"""A note on what is worked out, at the end of a request: whatever else is said of it is no part of this form."""
_OWN_WORDS = re.compile(
    r"\b(shorter|shorten|longer|simpler|translat\w+|rephrase\w*|reword\w*|rewrite\w*|review\w*|check\w*|proofread\w*|"
    r"compare\w*|haiku|poem|joke|kürzer|übersetz\w*|prüf\w*|traduc\w+)\b",
    re.IGNORECASE,
)
"""Takes words or a judgement of one's own, which no quotation from a text gives."""
_THANKS = re.compile(
    r"\W*((ok|okay|great|perfect)\W+)?(many )?(thanks|thank you|thx|cheers)"
    r"(,? (a lot|so much|very much|again|that's all|that is all|that\u2019s all))?\W*",
    re.IGNORECASE,
)


def decide(text: str, system: str) -> dict[str, Any]:
    """Reply to the planner's message. `system` is its prompt, which lists the specialists."""
    parts = sections(f"{text}\n\n{system[system.rfind(_ROSTER) :]}" if _ROSTER in system else text, HEADINGS)
    request, earlier = parts.get("Request", "") or text.strip(), parts.get("Earlier in this thread", "")
    crew = dict(re.findall(r"^- ([^:\n]+): (.*)$", parts.get("Specialists", ""), re.MULTILINE))
    readable = re.findall(r"^## (.+?)(?: begins)?$", parts.get("Source material", ""), re.MULTILINE)
    files = read_files(parts.get("Files", ""))
    asks_help = is_greeting(request) and not any(file.is_table for file in files)
    if asks_help or (_THANKS.fullmatch(request) and not files):
        greeting = _HELP.read_text(encoding="utf-8").strip() if asks_help else "You are welcome."
        return _answer("There is nothing to work on.", greeting)
    has_table, texts = any(file.is_table for file in files), [file.name for file in files if not file.is_table]
    strange = [name for name in texts if name not in readable]
    subtasks = _subtasks(request, crew, earlier, has_table=has_table, has_text=len(texts) > len(strange))
    if not subtasks:
        return _answer(
            DECLINED, _decline(request, earlier, strange, texts, lost="Files that could not be read" in parts)
        )
    left = [] if earlier else texts if has_table else strange
    missing = [f"read {name} beside a table without a language model" for name in left]
    plan = {"goal": cut_to_words(request, 30), "subtasks": subtasks, "strategy": "merge", "instruction": ""}
    return {"why": "", "next": {"who": "several", **plan, "missing": missing}}


def _answer(why: str, text: str) -> dict[str, Any]:
    return {"why": why, "next": {"who": "answer", "text": text}}


def _decline(request: str, earlier: str, strange: Sequence[str], texts: Sequence[str], *, lost: bool) -> str:
    """Say why rules cannot do a request, and what they can: without figures, which a planner may not state."""
    own = _OWN_WORDS.search(request)
    reason = "No file is attached, and without one rules can only do sums."
    if strange:
        reason = f"I can't read {' and '.join(strange)} without a language model."
    elif lost:
        reason = "I can't do that without the file, which could not be read."
    elif texts:
        reason = (
            f"“{own[0]}” takes words of my own, and I can only quote or outline."
            if own
            else "I can only quote or outline a text."
        )
    again = _follows_refusal(earlier)
    if texts and not strange:
        return say_declined(reason, [f"outline {texts[0]}"], again=again)
    return f"{say_declined(reason, [], again=again)} {CAN_ASK} for a sum, or about a table or a text that you attach."


def _follows_refusal(earlier: str) -> bool:
    """Return True if the last request before was declined, and questions were named that would not be."""
    return CAN_ASK in earlier.rpartition("## Asked: ")[2]


def _subtasks(
    request: str, crew: dict[str, str], earlier: str, *, has_table: bool, has_text: bool
) -> list[dict[str, Any]]:
    """Plan what rules can do; nothing if they can do none of it."""
    note = _NOTE.search(request)
    rest = request[: note.start()].strip(" ,;.") if note else request
    analyst, writer = (_specialist(crew, role) for role in _ROLES)
    if not any(name in _ROLES or pattern.search(about) for name, about in crew.items() for pattern in _ROLES.values()):
        return [_subtask("task", next(iter(crew), "specialist"), request)]
    if has_table and rest:
        analysis = _subtask("analysis", analyst, rest)
        asked = [one.partition("\n") for one in re.split(r"^#+ Asked: ", earlier, flags=re.MULTILINE)[1:]]
        before = [_NOTE.sub("", one) for one, _, end in asked if not end.startswith("(no answer")]
        analysis["intent"] += f"\n{DECLINED_BEFORE}" if _follows_refusal(earlier) else ""
        analysis["intent"] += "".join(f"\n{GOES_ON} {one}" for one in before if one.strip())
        return [analysis, *([_subtask("text", writer, note["note"], "analysis")] if note else [])]
    if sum_in(request):
        return [_subtask("analysis", analyst, request)]
    if note and not rest and earlier:
        subtask = _subtask("text", writer, note["note"])
        answer = earlier.rpartition("## Asked: ")[2].partition("\n")[2].strip()
        return [{**subtask, "intent": f"{subtask['intent']}\n\n{EARLIER_ANSWER}\n{answer}"}]
    if not has_text or has_table or note or _OWN_WORDS.search(request):
        return []
    quoting = _subtask("text", writer, request)
    return [{**quoting, "intent": f"{quoting['intent']}\n{DECLINED_BEFORE}"} if _follows_refusal(earlier) else quoting]


def _specialist(crew: dict[str, str], role: str) -> str:
    """Return the specialist of that name, else the first whose description sounds like it, else the first."""
    fit = (name for name, about in crew.items() if _ROLES[role].search(about.partition(".")[0]))
    return role if role in crew else next(fit, next(iter(crew), "specialist"))


def _subtask(name: str, specialist: str, words: str, *after: str) -> dict[str, Any]:
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
