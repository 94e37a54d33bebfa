"""Outlines texts, and quotes those passages of texts that hold a request's words. It sums up and counts nothing.

What holds no such word is not said to be missing: rules compare words, and do not know what a text means.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice
from pathlib import PurePath

from bot.models.rehearsal.moves import Move, give_up, hand_in
from bot.models.rehearsal.rehearsed_brief import Brief, say_declined
from bot.models.rehearsal.rehearsed_request import HOW_MANY
from bot.models.rehearsal.rehearsed_words import ASKING, FILLERS, MONTHS, OUTLINE, WHICH, WHY, close, word_set
from handoff.text.text_words import stem

_SILENT = FILLERS | ASKING | OUTLINE | WHY | WHICH
"""Words of a request that a quotation need not hold."""
_SUMMARY = re.compile(r"\b(summar\w+|overview|explain|describe|zusammen\w*|r[eé]sum\w+|riassum\w+)\b", re.IGNORECASE)
_NEGATION = re.compile(
    r"\b(not|no|never|without|nobody|nothing|none|except|nicht|keine?[nmrs]?|nie|niemand|ohne|nunca|sin|pas|jamais|sans|"
    r"non|mai|senza)\b|n['\u2019]t\b",
    re.IGNORECASE,
)
_HEADING = re.compile(r"^\s*(?:#{1,6}\s+(?P<marked>.+)|(?P<numbered>\d+(?:\.\d+)*\.?\s+\S.{1,79}[^\s.!?;,:]))$")
_DAY = rf"(?i:\d{{1,2}}(?:\.(?! may\b))?(?: de)? (?:{'|'.join(sorted(MONTHS, key=len, reverse=True))})\b)"
"""A day at the beginning of a line, which is no number of an item or a heading."""
_BLOCK = re.compile(
    r"\n\s*\n|\n(?=\s*#)|(?<=\])\n|"
    rf"\n(?=(?!{_DAY})\d+(?:\.\d+)*\.\s+[^\n]{{1,79}}[^\s.!?;,:]\n(?!\s*(?!{_DAY})\d))"
)
"""Between two blocks: an empty line, or what comes before a heading or after a page's mark."""
_PLACE = re.compile(r"^\[(?P<place>[^\]\n]{1,120})\]$")
_SENTENCE = re.compile(r"(?<=[.!?])(?<!\b\d\.)(?<!\b\d\d\.)\s+(?=[^\Wa-z_])")
"""Between two sentences. `1. September` and `25. Juni` are one."""
_OWN_LINE = re.compile(rf"\s*(?!{_DAY})([-*•|\d{{\[<]|\S+:)|.* \| ")
_PROSE = word_set(".md .txt .pdf .docx .odt .rtf .pptx .odp .html .htm .eml .rst .adoc")
"""How names of texts end whose lines may be parts of sentences; those of code and logs stand for themselves."""
_MOST_LINES, _MOST_QUOTES, _LONGEST = 30, 3, 500


@dataclass(frozen=True, slots=True)
class Passage:
    """A sentence, line or heading of a text, and the heading, page or line number that it stands under."""

    text: str
    place: str
    is_heading: bool = False


def from_texts(brief: Brief) -> Move:
    """Outline or quote the texts of the brief, and name the words that no quotation holds."""
    texts = [(name, text) for name, text in brief.given if text.strip()]
    if not texts:
        return give_up("out_of_scope", "There is no text that could be read.")
    names = {stem(word.lower()) for name, _ in texts for word in re.findall(r"[^\W_]+", name)}
    asked = dict.fromkeys(word.lower() for word in re.findall(r"[^\W_]+", brief.objective))
    said = [word for word in asked if len(word) > 2 or any(sign.isdigit() for sign in word)]
    about = [word for word in said if word not in _SILENT and stem(word) not in names]
    if not about:
        return _outline_texts(texts, brief.objective)
    if found := _NEGATION.search(brief.objective):
        return _decline(brief, f"I can only quote what a text says, and “{found[0]}” asks for more.")
    moved = _quote_passages(texts, about, counting=bool(HOW_MANY.search(brief.objective)))
    return moved if isinstance(moved, Move) else _decline(brief, moved)


def _decline(brief: Brief, reason: str) -> Move:
    """Decline a task, and name an outline and a quotation that can be had."""
    name, text = next((name, text) for name, text in brief.given if text.strip())
    titles = (word for one in passages_of(text, name) if one.is_heading for word in one.text.lower().split())
    words = (word for word in titles if word.isalpha() and len(word) > 4 and not _NEGATION.search(word))
    named = (word for word in words if word not in brief.objective.lower() and word not in _SILENT)
    held = (word for word in named if isinstance(_quote_passages([(name, text)], [word], counting=False), Move))
    tries = [f"outline {name}", *(f"what does it say about {word}?" for word in islice(held, 1))]
    return give_up("out_of_scope", say_declined(reason, tries, again=brief.follows_refusal))


def _outline_texts(texts: list[tuple[str, str]], asked: str) -> Move:
    blocks = []
    for name, text in texts:
        passages = passages_of(text, name)
        headings = [one.text for one in passages if one.is_heading]
        shown = headings[:_MOST_LINES] or [one.text[:120] for one in passages[:_MOST_QUOTES]]
        does = "has these headings" if headings else "begins"
        more = [f"… and {len(headings) - _MOST_LINES} more"] if len(headings) > _MOST_LINES else []
        blocks.append("\n- ".join([f"{name} {does} (I was given {len(text.split()):,} words of it):", *shown, *more]))
    gaps = ["a summary takes a language model; what is shown is an outline"] if _SUMMARY.search(asked) else []
    findings = [{"message": f"{name} has", "source": name} for name, _ in texts]
    return hand_in(
        f"An outline of {', '.join(name for name, _ in texts)}.", "\n\n".join(blocks), findings=findings, gaps=gaps
    )


def _quote_passages(texts: list[tuple[str, str]], about: list[str], *, counting: bool) -> Move | str:
    """Quote the passages that hold most of the words, each with its place; or say why none is quoted."""
    scored = []
    for name, text in texts:
        for number, one in enumerate(passages_of(text, name)):
            own = set(re.findall(r"[^\W_]+", f"{one.text} {one.place}".lower()))
            held = {word for word in about if any(close(word, other) for other in own)}
            scored += [(-len(held), one.is_heading, number, name, one, held)] if held else []
    scored.sort(key=lambda each: each[:3])
    best = [each for each in scored if each[5] == scored[0][5]]
    told, names = ", ".join(f"“{word}”" for word in about), ", ".join(name for name, _ in texts)
    if not best or 2 * len(best[0][5]) <= len(about):
        found = "no passage that holds most of them" if len(about) > 1 else "nothing to quote"
        return f"I looked for {told} in what I was given of {names} and found {found}, though the answer may be there."
    if counting and (len(best) > 1 or best[0][1]):
        return f"I can't count in a text: {len(best)} passages of {names} hold {told}."
    gaps = [f"the quoted text does not have the word “{word}”" for word in about if word not in best[0][5]]
    gaps += ["these words stand in a heading alone"] if best[0][1] else []
    left = len(best) - _MOST_QUOTES
    gaps += [f"{left} more passage{'s hold' if left > 1 else ' holds'} these words"] if left > 0 else []
    quotes = [
        (one.text[:_LONGEST], name, ", ".join(filter(None, (name, one.place))))
        for *_, name, one, _ in best[:_MOST_QUOTES]
    ]
    blocks = [f"> {text}\n>\n> {place}" for text, _, place in quotes]
    findings = [{"message": text, "source": source} for text, source, _ in quotes]
    return hand_in(quotes[0][0], "\n\n".join(blocks), findings=findings, gaps=gaps)


def passages_of(text: str, name: str = "") -> list[Passage]:
    """List all sentences and headings of a text, each with the nearest heading or page above it; of code its lines."""
    place = ""
    found: list[Passage] = []
    ending = PurePath(name).suffix.lower()
    if ending and ending not in _PROSE:
        return [Passage(line.strip(), "") for line in text.splitlines() if line.strip()]
    for block in _BLOCK.split(text):
        lines = block.strip().splitlines()
        if lines and (page := _PLACE.match(lines[0])):
            place = page["place"]
            del lines[0]
        elif lines and (heading := _HEADING.match(lines[0])) and (heading["marked"] or not _is_of_lines(lines)):
            place = heading["marked"] or heading["numbered"]
            found.append(Passage(place, "", is_heading=True))
            del lines[0]
        found += [Passage(part.strip(), place) for part in _parts(lines) if part.strip()]
    return found


def _parts(lines: list[str]) -> list[str]:
    """Split a block of prose into its sentences, or its items: a line that begins none goes on with the one before."""
    if not _is_of_lines(lines):
        return _SENTENCE.split(" ".join(line.strip() for line in lines))
    items: list[str] = []
    for line in lines:
        if items and not _OWN_LINE.match(line):
            items[-1] += f" {line.strip()}"
        else:
            items.append(line)
    return items


def _is_of_lines(block: list[str]) -> bool:
    """True for logs, lists and tables, whose lines stand for themselves."""
    lines = [line for line in block if line.strip()]
    return len(lines) > 1 and sum(bool(_OWN_LINE.match(line)) for line in lines) > len(lines) / 2
