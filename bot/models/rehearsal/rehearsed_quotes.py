"""Outlines texts, and quotes the passages that contain a request's words. It does not summarise or count.

A text may treat a subject in other words: rules compare words, not meanings.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

from bot.models.rehearsal import rehearsed_words as lexicon
from bot.models.rehearsal.moves import Move, give_up, hand_in
from bot.models.rehearsal.rehearsed_brief import Brief, say_declined
from handoff.text.text_words import stem

_SILENT = lexicon.FILLERS | lexicon.ASKING | lexicon.OUTLINE | lexicon.WHY | lexicon.WHICH
"""Words of a request that a quotation need not contain."""
_NEGATIONS, _SUMMARY = lexicon.read_words("negations"), lexicon.read_words("summary")
_NEGATED = re.compile(r"n['\u2019]t\b", re.IGNORECASE)
_HEADING = re.compile(r"^\s*(?:#{1,6}\s+(?P<marked>.+)|(?P<numbered>\d+(?:\.\d+)*\.?\s+\S.{1,79}[^\s.!?;,:]))$")
_DAY = rf"(?i:\d{{1,2}}(?:\.(?! may\b))?(?: de)? (?:{'|'.join(sorted(lexicon.MONTHS, key=len, reverse=True))})\b)"
"""A date at the beginning of a line, whose number is not that of an item or a heading."""
_BLOCK = re.compile(
    r"\n\s*\n|\n(?=\s*#)|(?<=\])\n|"
    rf"\n(?=(?!{_DAY})\d+(?:\.\d+)*\.\s+[^\n]{{1,79}}[^\s.!?;,:]\n(?!\s*(?!{_DAY})\d))"
)
"""The separator of two blocks: an empty line, or the line end before a heading or after a page mark."""
_PLACE = re.compile(r"^\[(?P<place>[^\]\n]{1,120})\]$")
_SENTENCE = re.compile(r"(?<=[.!?])(?<!\b\d\.)(?<!\b\d\d\.)\s+(?=[^\Wa-z_])")
"""The space between two sentences; the space in a date such as `1. September` does not match."""
_OWN_LINE = re.compile(rf"\s*(?!{_DAY})([-*•|\d{{\[<]|\S+:)|.* \| ")
_PROSE = lexicon.read_words("prose")
"""Endings of files in which a sentence may span several lines. In code and logs each line stands alone."""
_NO_REASON = "whether this is the reason takes a language model, or a person: it is quoted with what comes after it"
_MOST_LINES, _MOST_QUOTES, _LONGEST = 30, 3, 500


@dataclass(frozen=True, slots=True)
class QuotedPassage:
    """A sentence, line or heading of a text.

    Attributes:
        text: The passage.
        place: The nearest heading, page mark or line mark above it.
        is_heading: True for a heading.
        following: The next passage in the same block of prose; "" if there is none.
    """

    text: str
    place: str
    is_heading: bool = False
    following: str = ""


def answer_from_texts(brief: Brief) -> Move:
    """Return a result that outlines or quotes the brief's texts, or an escalation that declines the task."""
    texts = [(name, text) for name, text in brief.given if text.strip()]
    if not texts:
        return give_up("out_of_scope", "There is no text that could be read.")
    names = {stem(word.lower()) for name, _ in texts for word in re.findall(r"[^\W_]+", name)}
    asked = list(dict.fromkeys(word.lower() for word in re.findall(r"[^\W_]+", brief.objective)))
    said = [word for word in asked if len(word) > 2 or any(sign.isdigit() for sign in word)]
    about = [word for word in said if word not in _SILENT and stem(word) not in names]
    negated = [word for word in asked if word in _NEGATIONS] or _NEGATED.findall(brief.objective)
    if negated:
        return _decline(brief, f"I can only quote what a text says, and “{negated[0]}” asks for more.")
    if not about:
        return _outline_texts(texts, sums_up=bool(_SUMMARY & {*asked}))
    moved = _quote_passages(texts, about, asked)
    return moved if isinstance(moved, Move) else _decline(brief, moved)


def _decline(brief: Brief, reason: str) -> Move:
    """Return an escalation that declines a task, and suggests an outline and a question with a quotation as answer."""
    name, text = next((name, text) for name, text in brief.given if text.strip())
    titles = (word for one in passages_of(text, name) if one.is_heading for word in one.text.lower().split())
    words = (one for one in titles if one.isalpha() and len(one) > 4 and one not in _NEGATIONS | _SILENT)
    tries = [f"what does it say about {word}?" for word in words if word not in brief.objective.lower()]
    return give_up("out_of_scope", say_declined(reason, [f"outline {name}", *tries[:1]]))


def _outline_texts(texts: list[tuple[str, str]], *, sums_up: bool) -> Move:
    blocks = []
    for name, text in texts:
        passages = passages_of(text, name)
        headings = [one.text for one in passages if one.is_heading]
        shown = headings[:_MOST_LINES] or [one.text[:120] for one in passages[:_MOST_QUOTES]]
        does = "has these headings" if headings else "begins"
        more = [f"… and {len(headings) - _MOST_LINES} more"] if len(headings) > _MOST_LINES else []
        blocks.append("\n- ".join([f"{name} {does} (I was given {len(text.split()):,} words of it):", *shown, *more]))
    gaps = ["a summary takes a language model; what is shown is an outline"] if sums_up else []
    findings = [{"message": f"{name} has", "source": name} for name, _ in texts]
    summary = f"An outline of {', '.join(name for name, _ in texts)}."
    return hand_in(summary, "\n\n".join(blocks), findings=findings, gaps=gaps)


def _quote_passages(texts: list[tuple[str, str]], about: list[str], asked: Sequence[str]) -> Move | str:
    """Return a result that quotes the passages with most of the words (`about`), or the reason why it quotes none."""
    found = [
        (held, one, name)
        for name, text in texts
        for one in passages_of(text, name)
        if (held := _find_shared_words(one, about))
    ]
    found.sort(key=lambda each: (-len(each[0]), each[1].is_heading))
    best = [each for each in found if each[0] == found[0][0]]
    told, names = ", ".join(f"“{word}”" for word in about), ", ".join(name for name, _ in texts)
    if not best or 2 * len(best[0][0]) <= len(about):
        none = "no passage that holds most of them" if len(about) > 1 else "nothing to quote"
        return f"I looked for {told} in what I was given of {names} and found {none}, though the answer may be there."
    held, first, _ = best[0]
    counts = any(f" {' '.join(phrase)} " in f" {' '.join(asked)} " for phrase in lexicon.PHRASES["count"])
    if counts and (len(best) > 1 or first.is_heading):
        return f"I can't count in a text: {len(best)} passages of {names} hold {told}."
    is_why, left = bool(lexicon.WHY & {*asked}), len(best) - _MOST_QUOTES
    gaps = [f"the quoted text does not have the word “{word}”" for word in about if word not in held]
    gaps += ["these words stand in a heading alone"] if first.is_heading else []
    gaps += [f"{left} more passage{'s hold' if left > 1 else ' holds'} these words"] if left > 0 else []
    gaps += [_NO_REASON] if is_why else []
    blocks, findings = [], []
    for _, one, name in best[:_MOST_QUOTES]:
        text = f"{one.text} {one.following}".strip() if is_why else one.text
        blocks.append(f"> {text[:_LONGEST]}\n>\n> {', '.join(filter(None, (name, one.place)))}")
        findings.append({"message": text[:_LONGEST], "source": name})
    return hand_in(first.text[:_LONGEST], "\n\n".join(blocks), findings=findings, gaps=gaps)


def _find_shared_words(passage: QuotedPassage, about: Sequence[str]) -> frozenset[str]:
    """Return the words that occur in a passage or its heading."""
    own = set(re.findall(r"[^\W_]+", f"{passage.text} {passage.place}".lower()))
    return frozenset(word for word in about if any(lexicon.is_close(word, other) for other in own))


def passages_of(text: str, name: str = "") -> list[QuotedPassage]:
    """List the sentences and headings of a text, each with the heading or page mark above it; for code, its lines."""
    place = ""
    found: list[QuotedPassage] = []
    ending = PurePath(name).suffix.lower()
    if ending and ending not in _PROSE:
        return [QuotedPassage(line.strip(), "") for line in text.splitlines() if line.strip()]
    for block in _BLOCK.split(text):
        lines = block.strip().splitlines()
        if lines and (page := _PLACE.match(lines[0])):
            place = page["place"]
            del lines[0]
        elif lines and (heading := _HEADING.match(lines[0])) and (heading["marked"] or not _is_line_based(lines)):
            place = heading["marked"] or heading["numbered"]
            found.append(QuotedPassage(place, "", is_heading=True))
            del lines[0]
        parts = [part.strip() for part in _split_block(lines) if part.strip()]
        after = ["" for _ in parts] if _is_line_based(lines) else [*parts[1:], ""]
        found += [QuotedPassage(one, place, following=other) for one, other in zip(parts, after, strict=False)]
    return found


def _split_block(lines: list[str]) -> list[str]:
    """Split a block into sentences, or a list into items. A line that does not begin an item continues the last one."""
    if not _is_line_based(lines):
        return _SENTENCE.split(" ".join(line.strip() for line in lines))
    items: list[str] = []
    for line in lines:
        if items and not _OWN_LINE.match(line):
            items[-1] += f" {line.strip()}"
        else:
            items.append(line)
    return items


def _is_line_based(block: list[str]) -> bool:
    """Return True for logs, lists and tables, whose lines stand alone."""
    lines = [line for line in block if line.strip()]
    return len(lines) > 1 and sum(bool(_OWN_LINE.match(line)) for line in lines) > len(lines) / 2
