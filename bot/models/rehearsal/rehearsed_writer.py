"""The rehearsed writer: a note made of what earlier steps brought, and the document if one is asked for."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from bot.models.rehearsal.moves import Move, give_up, hand_in, what_failed
from bot.models.rehearsal.rehearsed_brief import UNAVAILABLE, WORKED_OUT, Brief, sentences, shortened
from handoff.contracts import ToolCall, ToolReply
from specialists.tools.tool import ToolSpec

NOTHING = "There is nothing to write from: a rehearsal adds no words of its own, and no earlier step brought any."
_METHOD = re.compile(rf"^{WORKED_OUT}.*", re.MULTILINE | re.DOTALL)
"""How the analyst's figures came about, which stands in the answer and in no note."""

_DOCUMENT = re.compile(r"\b(document|docx|word|canvas|report)\b", re.IGNORECASE)
_VERB = re.compile(r"^(write|draft|compose|prepare)\s+((me|us)\s+)?((a|an|the)\s+)?", re.IGNORECASE)
_FORM = re.compile(r"\s+(as|in)\s+((a|an|the)\s+)?(word\s+)?(document|docx|canvas|report)\W*$", re.IGNORECASE)
_BOLD_LINE = re.compile(r"\*\*[^*]+\*\*")


def next_move(brief: Brief, history: Sequence[tuple[ToolCall, ToolReply]], tools: Mapping[str, ToolSpec]) -> Move:
    """Return the writer's next move, from its task and the tool calls so far."""
    material = _material(brief)
    if not material:
        return give_up("out_of_scope", NOTHING)
    title = _title(brief)
    note = _compose(brief, material, title)
    published = [reply for call, reply in history if call.name == "publish_document"]
    if "publish_document" in tools and not published and _DOCUMENT.search(brief.objective):
        form = "canvas" if re.search(r"\bcanvas\b", brief.objective, re.IGNORECASE) else "docx"
        return Move((("publish_document", {"title": title, "markdown": note, "format": form}),))
    failed = what_failed(published)
    summary = f"“{title}”, {len(note.split())} words. {' '.join(_lead(material)[:1])}".strip()
    return hand_in(summary, note, gaps=[f"not published: {failed}"] if failed else [])


def _title(brief: Brief) -> str:
    """Return the task's name for the text: the words after the verb."""
    bare = _FORM.sub("", _VERB.sub("", brief.objective.strip())).strip(" ?!:.") or "Note"
    return bare[:1].upper() + shortened(bare, 10)[1:]


def _material(brief: Brief) -> list[tuple[str, str]]:
    there = [(source, text) for source, text in brief.notes if text and not text.startswith(UNAVAILABLE)]
    notes = [(source, _METHOD.sub("", text).strip()) for source, text in there]
    if not notes and brief.earlier_answer:
        return [("From the thread", brief.earlier_answer)]
    return notes


def _lead(material: Sequence[tuple[str, str]]) -> list[str]:
    """The first sentences of each part, those that the part itself begins with."""
    most = 2 if len(material) > 1 else 3
    return [sentence for _, text in material for sentence in _prose(text)[:most]]


def _prose(text: str) -> list[str]:
    """The sentences that say something: quotations count, headings and titles in bold do not."""
    lines = (line.lstrip("> ") for line in text.splitlines())
    plain = "\n".join(line for line in lines if not _BOLD_LINE.fullmatch(line.strip()))
    return [each for each in sentences(plain) if not each.startswith(WORKED_OUT) and len(each.split()) > 3]


def _compose(brief: Brief, material: Sequence[tuple[str, str]], title: str) -> str:
    missing = [source for source, text in brief.notes if text.startswith(UNAVAILABLE)]
    blocks = [f"# {title}"]
    lead = _lead(material)
    if lead:
        blocks.append("**In short.** " + " ".join(lead))
    for source, text in material:
        blocks += [f"## {source}", _lowered(text)]
    pictures = [file for file in brief.files if file.is_image]
    blocks += [f"![{file.name.rpartition('.')[0].replace('_', ' ')}]({file.name})" for file in pictures]
    if missing:
        blocks.append("**Missing.** " + "; ".join(missing))
    return "\n\n".join(blocks)


def _lowered(text: str) -> str:
    """Headings inside a part, below the part's own, however deep they were."""
    return re.sub(r"^#{1,6}(?= )", "###", text, flags=re.MULTILINE)
