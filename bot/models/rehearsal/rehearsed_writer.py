"""Joins the results of earlier steps to a note or to the synthesizer's answer, without new sentences."""

from __future__ import annotations

import re

from bot.models.rehearsal.brief_parsing import METHOD_PREFIX, UNAVAILABLE_PREFIX, Brief, raise_headings, read_sections
from bot.models.rehearsal.moves import Move, make_escalation_move, make_result_move
from handoff.text.capitalization import capitalize_first
from handoff.text.text_words import split_sentences

NOTHING_TO_WRITE = (
    "There is nothing to write from: a rehearsal adds no words of its own, and no earlier step brought any."
)
_METHOD_LINES = re.compile(rf"^{METHOD_PREFIX}.*", re.MULTILINE | re.DOTALL)
"""The analyst's lines about its method, which the answer keeps and a note omits."""
_WRITING_VERB = re.compile(r"^(write|draft|compose|prepare)\s+((me|us)\s+)?((a|an|the)\s+)?", re.IGNORECASE)
_BOLD_LINE = re.compile(r"^\s*\*\*[^*]+\*\*\s*$", re.MULTILINE)
_RESULT = re.compile(r'^## (?P<title>.*)\n<result id="(?P<name>[^"]*)" sure="\d+"/>[ \t]*$', re.MULTILINE)
_PICTURE = re.compile(r"!\[[^\]]*\]\([^)]*\)")
"""A Markdown picture: it is in the thread as a file, and a message cannot show it."""
_SOURCE_LINES = re.compile(r"\n\s*\n(?:Sources|Files)[:,] [^\n]*(?=\s*\Z|\s*\n\n(?:Sources|Files)[:,] [^\n]*\s*\Z)")
"""The lines for sources and files below a result, which the answer shows in its own way."""
_SYNTHESIZER_HEADINGS = (
    "Request",
    "Plan",
    "Results",
    "Gaps",
    "Findings, gravest first: keep the severity, place and suggestion of each",
    "Left out for length",
    "Instruction",
    "First",
    "Your last answer",
)


def make_note_move(brief: Brief) -> Move:
    """Return the move with a note: the first sentences of earlier results, the results, and the missing steps."""
    available_notes = [
        (source, text) for source, text in brief.notes if text and not text.startswith(UNAVAILABLE_PREFIX)
    ]
    material = [(source, _METHOD_LINES.sub("", text).strip()) for source, text in available_notes]
    if not material:
        return make_escalation_move("out_of_scope", NOTHING_TO_WRITE)
    title_words = _WRITING_VERB.sub("", brief.objective.strip()).strip(" ?!:.") or "Note"
    title = capitalize_first(title_words)
    lead_sentences = [
        split_sentences(_BOLD_LINE.sub("", text))[: 2 if len(material) > 1 else 3] for _, text in material
    ]
    lead_text = " ".join(one for part in lead_sentences for one in part if len(one.split()) > 3)
    missing_sources = "; ".join(source for source, text in brief.notes if text.startswith(UNAVAILABLE_PREFIX))
    blocks = [
        f"# {title}",
        f"**In short.** {lead_text}" if lead_text else "",
        # All headings inside a part become one level lower than the part's own.
        *(f"## {source}\n\n{re.sub(r'^#{1,6}(?= )', '###', text, flags=re.MULTILINE)}" for source, text in material),
        f"**Missing.** {missing_sources}" if missing_sources else "",
    ]
    note = "\n\n".join(filter(None, blocks))
    return make_result_move(f"“{title}”, {len(note.split())} words.", note)


def write_answer(text: str) -> str:
    """Return the synthesizer's answer: all results in order, the subtask `text` first, without repeated blocks."""
    sections = read_sections(text, _SYNTHESIZER_HEADINGS)
    _, *parts = _RESULT.split(sections.get("Results", ""))
    results = sorted(zip(parts[::3], parts[1::3], parts[2::3], strict=True), key=lambda one: one[1] != "text")
    blocks: list[str] = []
    seen_blocks: set[str] = set()
    for title, _, content in results:
        new_blocks = _collect_new_blocks(raise_headings(_SOURCE_LINES.sub("", content)), seen_blocks)
        if len(results) > 1 and new_blocks and not new_blocks[0].startswith(("#", METHOD_PREFIX)):
            new_blocks.insert(0, f"## {title}")
        blocks += new_blocks
    gaps = sections.get("Gaps", "").strip()
    gap_blocks = ["## What is missing", gaps] if gaps else []
    return "\n\n".join([*(blocks or ["None of the steps brought a result."]), *gap_blocks])


def _collect_new_blocks(content: str, seen_blocks: set[str]) -> list[str]:
    """Return the paragraphs of a text that are not in `seen_blocks`, without pictures, and add them to it."""
    fresh: list[str] = []
    for block in (one.strip() for one in re.split(r"\n\s*\n", content)):
        plain = re.sub(r"\W+", " ", block).casefold().strip()
        if plain and not _PICTURE.fullmatch(block) and (plain not in seen_blocks or block.startswith("#")):
            seen_blocks.add(plain)
            fresh.append(block)
    return fresh
