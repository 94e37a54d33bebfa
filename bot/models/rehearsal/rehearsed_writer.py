"""The rehearsed writer: a note made of what earlier steps brought, and the document if one is asked for."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from bot.models.rehearsal.moves import Move, choice, fitted, give_up, hand_in, what_failed
from bot.models.rehearsal.rehearsed_brief import (
    EARLIER_ANSWER,
    UNAVAILABLE,
    WORKED_OUT,
    Brief,
    sentences,
    shortened,
    urls,
)
from handoff.contracts import ToolCall, ToolReply
from specialists.tools.tool import ToolSpec

NOTHING = "There is nothing to write from: a rehearsal adds no words of its own, and no earlier step brought any."
_METHOD = re.compile(rf"^{WORKED_OUT}.*", re.MULTILINE | re.DOTALL)
"""How the analyst's figures came about, which stands in the answer and in no note."""

_DOCUMENT = re.compile(r"\b(document|docx|word|canvas|report|publish\w*|paper)\b", re.IGNORECASE)
_VERB = re.compile(
    r"^(write|draft|compose|prepare|make|create|publish)\s+((me|us)\s+)?"
    r"((that|this|it|them|all of it)\s+)?((up\s+)?(as|into)\s+)?((a|an|the)\s+)?",
    re.IGNORECASE,
)
_BOLD_LINE = re.compile(r"\*\*[^*]+\*\*")
_SUMMARY = re.compile(
    r"\W*(please )?summari[sz]e( this| that| it| the)?( file| data| table| thread)?\W*", re.IGNORECASE
)
_FORM = re.compile(
    r"\s+(as|in|into)\s+((a|an|the)\s+)?((slack|word)\s+)?(document|docx|canvas|word|report)\W*$", re.IGNORECASE
)


def next_move(brief: Brief, history: Sequence[tuple[ToolCall, ToolReply]], tools: Mapping[str, ToolSpec]) -> Move:
    """Return the writer's next move, from its task and the tool calls so far."""
    if not _material(brief):
        return give_up("out_of_scope", NOTHING)
    title = _title(brief)
    note = _compose(brief, title)
    published = [reply for call, reply in history if call.name == "publish_document"]
    tool = tools.get("publish_document")
    if tool is not None and not published and _DOCUMENT.search(brief.objective):
        wish = "canvas" if re.search(r"\bcanvas\b", brief.objective, re.IGNORECASE) else "docx"
        wishes = {"title": title, "name": title}
        wishes |= dict.fromkeys(("markdown", "content", "text", "body"), note)
        kinds = {
            name: choice(tool, name, wish, "document", "docx")
            for name in ("kind", "format", "publish_as", "type", "form")
        }
        arguments = fitted(tool, {**wishes, **kinds})
        if arguments is not None:
            return Move((("publish_document", arguments),))
    failed = what_failed(published)
    material = _material(brief)
    lead = _lead(material)
    summary = f"“{title}”, {len(note.split())} words. {' '.join(lead[:1])}".strip()
    return hand_in(summary, note, gaps=[f"not published: {failed}"] if failed else [])


def _title(brief: Brief) -> str:
    """Return the task's name for the text: the words after the verb, up to the end of the first clause."""
    first = re.split(r"[.;\n,]", brief.objective.strip(), maxsplit=1)[0]
    if _SUMMARY.fullmatch(first):
        return "Summary"
    found = re.search(r"\b(write|draft|compose|prepare|make|create|publish)\b.*", first, re.IGNORECASE)
    bare = _FORM.sub("", _VERB.sub("", found[0] if found else first)).strip(" ?!:") or "Note"
    return bare[:1].upper() + shortened(bare, 10)[1:]


def _material(brief: Brief) -> list[tuple[str, str]]:
    there = [(source, text) for source, text in brief.notes if text and not text.startswith(UNAVAILABLE)]
    notes = [(source, _METHOD.sub("", text).strip()) for source, text in there]
    if not notes and EARLIER_ANSWER in brief.task:
        earlier = brief.task.partition(EARLIER_ANSWER)[2].strip()
        return [("From the thread", earlier)] if earlier else []
    return notes


def _lead(material: Sequence[tuple[str, str]]) -> list[str]:
    """The first sentences of each part, those that the part itself begins with."""
    most = 2 if len(material) > 1 else 3
    return [sentence for _, text in material for sentence in _prose(text)[:most]]


def _prose(text: str) -> list[str]:
    """The sentences that say something: quotations count, addresses and headings do not, nor titles in bold."""
    lines = (line.lstrip("> ") for line in text.splitlines())
    plain = "\n".join(line for line in lines if not _BOLD_LINE.fullmatch(line.strip()))
    return [each for each in sentences(plain) if not each.startswith(("http", WORKED_OUT)) and len(each.split()) > 3]


def _compose(brief: Brief, title: str) -> str:
    material = _material(brief)
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
    sources = list(dict.fromkeys(url for _, text in material for url in urls(text)))
    if sources:
        blocks += ["## Sources", "\n".join(f"- {url}" for url in sources)]
    return "\n\n".join(blocks)


def _lowered(text: str) -> str:
    """Headings inside a part, below the part's own, however deep they were."""
    return re.sub(r"^#{1,6}(?= )", "###", text, flags=re.MULTILINE)
