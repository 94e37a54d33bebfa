"""The rehearsed writer: a note made of what earlier steps brought, and the document if one is asked for."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from bot.models.rehearsal.moves import Move, give_up, hand_in, what_failed
from bot.models.rehearsal.rehearsed_brief import UNAVAILABLE, WORKED_OUT, Brief, cut_to_words, sentences
from handoff.contracts import ToolCall, ToolReply
from specialists.tools.tool import ToolSpec

NOTHING = "There is nothing to write from: a rehearsal adds no words of its own, and no earlier step brought any."
_METHOD = re.compile(rf"^{WORKED_OUT}.*", re.MULTILINE | re.DOTALL)
"""How the analyst's figures came about, which stands in the answer and in no note."""
_DOCUMENT = re.compile(r"\b(document|docx|word|canvas|report)\b", re.IGNORECASE)
_VERB = re.compile(r"^(write|draft|compose|prepare)\s+((me|us)\s+)?((a|an|the)\s+)?", re.IGNORECASE)
_FORM = re.compile(r"\s+(as|in)\s+((a|an|the)\s+)?(word\s+)?(document|docx|canvas|report)\W*$", re.IGNORECASE)
_BOLD_LINE = re.compile(r"^\s*\*\*[^*]+\*\*\s*$", re.MULTILINE)


def next_move(brief: Brief, history: Sequence[tuple[ToolCall, ToolReply]], tools: Mapping[str, ToolSpec]) -> Move:
    """Return the writer's next move, from its task and the tool calls so far."""
    there = [(source, text) for source, text in brief.notes if text and not text.startswith(UNAVAILABLE)]
    material = [(source, _METHOD.sub("", text).strip()) for source, text in there]
    if not material and brief.earlier_answer:
        material = [("From the thread", brief.earlier_answer)]
    if not material:
        return give_up("out_of_scope", NOTHING)
    bare = _FORM.sub("", _VERB.sub("", brief.objective.strip())).strip(" ?!:.") or "Note"
    title = bare[:1].upper() + cut_to_words(bare, 10)[1:]
    lead = [sentence for _, text in material for sentence in _prose(text)[: 2 if len(material) > 1 else 3]]
    note = _compose(brief, material, title, lead)
    published = [reply for call, reply in history if call.name == "publish_document"]
    if "publish_document" in tools and not published and _DOCUMENT.search(brief.objective):
        form = "canvas" if re.search(r"\bcanvas\b", brief.objective, re.IGNORECASE) else "docx"
        return Move((("publish_document", {"title": title, "markdown": note, "format": form}),))
    failed = what_failed(published)
    summary = f"“{title}”, {len(note.split())} words. {' '.join(lead[:1])}".strip()
    return hand_in(summary, note, gaps=[f"not published: {failed}"] if failed else [])


def _prose(text: str) -> list[str]:
    """The sentences that say something: quotations count, headings and titles in bold do not."""
    plain = _BOLD_LINE.sub("", re.sub(r"^[> ]+", "", text, flags=re.MULTILINE))
    return [each for each in sentences(plain) if not each.startswith(WORKED_OUT) and len(each.split()) > 3]


def _compose(brief: Brief, material: Sequence[tuple[str, str]], title: str, lead: Sequence[str]) -> str:
    missing = [source for source, text in brief.notes if text.startswith(UNAVAILABLE)]
    pictures = [file.name for file in brief.files if file.media_type.startswith("image/")]
    # Headings inside a part stand below the part's own, however deep they were.
    parts = [f"## {source}\n\n{re.sub(r'^#{1,6}(?= )', '###', text, flags=re.MULTILINE)}" for source, text in material]
    blocks = [
        f"# {title}",
        f"**In short.** {' '.join(lead)}" if lead else "",
        *parts,
        *(f"![{name.rpartition('.')[0].replace('_', ' ')}]({name})" for name in pictures),
        f"**Missing.** {'; '.join(missing)}" if missing else "",
    ]
    return "\n\n".join(filter(None, blocks))
