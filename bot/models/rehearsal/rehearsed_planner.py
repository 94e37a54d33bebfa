"""The rehearsal's planner: one specialist for one query, sum, outline or quotation, and a writer for a note on it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bot.models.rehearsal.rehearsed_brief import (
    EARLIER_ANSWER,
    GOES_ON,
    IN_FULL,
    File,
    read_files,
    sections,
    shortened,
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
_ROSTER = "# Specialists\n"
_TITLE_WORDS = 8
_WORK = {
    "analyst": re.compile(r"\b(tables?|data|spreadsheets?|charts?|calculat)", re.IGNORECASE),
    "writer": re.compile(r"\b(writes?|drafts?|documents?|texts?)", re.IGNORECASE),
}
"""How the description of a specialist sounds that can do what rules plan."""
_DONE = {
    "analyst": "States the figure asked for, taken from the file, with rows and period.",
    "writer": "A text that can be sent as it is; every number in it comes from the earlier results.",
}
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
_HELP = re.compile(
    r"\W*(hi|hello|hey|hallo|help|good (morning|afternoon|evening)|what (can|do) you do|who are you|"
    r"how does this work)\b[^?]{0,30}\W*",
    re.IGNORECASE,
)
_THANKS = re.compile(
    r"\W*((ok|okay|great|perfect)\W+)?(many )?(thanks|thank you|thx|cheers)"
    r"(,? (a lot|so much|very much|again|that's all|that is all|that\u2019s all))?\W*",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _Asked:
    """A planner's message, read. `lost`: a file could not be fetched. `readable`: names of files given as text."""

    request: str
    crew: dict[str, str]
    files: tuple[File, ...]
    lost: bool
    earlier: str
    readable: tuple[str, ...]

    @property
    def has_table(self) -> bool:
        """True if a file may be a table."""
        return any(file.is_table for file in self.files)

    def specialist(self, role: str) -> str:
        """The specialist of that name, else the first whose description sounds like it, else the first of the crew."""
        fit = (name for name, about in self.crew.items() if _WORK[role].search(about.partition(".")[0]))
        return role if role in self.crew else next(fit, next(iter(self.crew), "specialist"))


def decide(text: str, system: str) -> dict[str, Any]:
    """Reply to the planner's message. `system` is its prompt, which lists the specialists."""
    asked = _read(f"{text}\n\n{system[system.rfind(_ROSTER) :]}" if _ROSTER in system else text)
    if _HELP.fullmatch(asked.request) and not asked.files:
        return _answer("There is nothing to work on.", _page("rehearsal_help.md"))
    if _THANKS.fullmatch(asked.request) and not asked.files:
        return _answer("There is nothing to work on.", "You are welcome.")
    subtasks = _subtasks(asked)
    if not subtasks:
        return _answer(DECLINED, _page("rehearsal_decline.md").format(what=_declined(asked)))
    plan = {
        "goal": shortened(asked.request, 30),
        "subtasks": subtasks,
        "strategy": "merge",
        "instruction": "",
        "missing": _unread(asked),
    }
    return {"why": "", "next": {"who": "several", **plan}}


def _answer(why: str, text: str) -> dict[str, Any]:
    return {"why": why, "next": {"who": "answer", "text": text}}


def _page(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8").strip()


def _read(text: str) -> _Asked:
    parts = sections(text, HEADINGS)
    return _Asked(
        request=parts.get("Request", "") or text.strip(),
        crew=dict(re.findall(r"^- ([^:\n]+): (.*)$", parts.get("Specialists", ""), re.MULTILINE)),
        files=read_files(parts.get("Files", "")),
        lost="Files that could not be read" in parts,
        earlier=parts.get("Earlier in this thread", ""),
        readable=tuple(re.findall(r"^## (.+?)(?: begins)?$", parts.get("Source material", ""), re.MULTILINE)),
    )


def _subtasks(asked: _Asked) -> list[dict[str, Any]]:
    """Plan what rules can do; nothing if they can do none of it."""
    note = _NOTE.search(asked.request)
    rest = asked.request[: note.start()] if note else asked.request
    if not _is_known(asked.crew):
        return [_subtask("task", next(iter(asked.crew), "specialist"), asked.request)]
    if asked.has_table and rest.strip(" ,;."):
        analysis = _subtask("analysis", asked.specialist("analyst"), rest, "analyst")
        text = [_subtask("text", asked.specialist("writer"), note["note"], "writer", ["analysis"])] if note else []
        analysis["intent"] += "".join(f"\n{GOES_ON} {one}" for one in _asked_before(asked.earlier))
        return [analysis, *text]
    if sum_in(asked.request):
        return [_subtask("analysis", asked.specialist("analyst"), asked.request, "analyst")]
    if note and not rest.strip(" ,;.") and asked.earlier:
        earlier = asked.earlier.rpartition("## Asked: ")[2].partition("\n")[2].strip()
        subtask = _subtask("text", asked.specialist("writer"), note["note"], "writer")
        return [{**subtask, "intent": f"{subtask['intent']}\n\n{EARLIER_ANSWER}\n{earlier}"}]
    if (
        any(file.name in asked.readable for file in asked.files)
        and not asked.has_table
        and not note
        and not _OWN_WORDS.search(asked.request)
    ):
        return [_subtask("text", asked.specialist("writer"), asked.request)]
    return []


def _asked_before(earlier: str) -> list[str]:
    """Return the requests of a thread, as the planner is shown them, without the notes that they asked for too."""
    asked = re.findall(r"^#+ Asked: (.+)$", earlier, re.MULTILINE)
    return [_NOTE.sub("", one) for one in asked if _NOTE.sub("", one).strip()]


def _is_known(crew: dict[str, str]) -> bool:
    """Return True if somebody in a crew does work that there are rules for."""
    return any(name in _WORK or pattern.search(about) for name, about in crew.items() for pattern in _WORK.values())


def _declined(asked: _Asked) -> str:
    strange = [file.name for file in asked.files if not file.is_table and file.name not in asked.readable]
    return f"read {' and '.join(strange)}" if strange else "do that without the file" if asked.lost else "do that"


def _unread(asked: _Asked) -> list[str]:
    """Name the attachments that nobody reads, to go on after "nobody in the crew can"."""
    known = () if asked.has_table else asked.readable
    strange = [file.name for file in asked.files if not file.is_table and file.name not in known]
    return [] if asked.earlier else [f"read {name} beside a table without a language model" for name in strange]


def _subtask(name: str, specialist: str, words: str, role: str = "", after: list[str] | None = None) -> dict[str, Any]:
    objective = " ".join(words.split()).strip(" .,;?!") or "Answer the request"
    objective = objective[:1].upper() + objective[1:]
    return {
        "id": name,
        "title": shortened(objective, _TITLE_WORDS),
        "intent": objective if len(objective.split()) > 3 else f"{IN_FULL} {objective}",
        "specialist": specialist,
        "after": after or [],
        "done_when": _DONE.get(role, "The request is answered."),
        "tier": None,
    }
