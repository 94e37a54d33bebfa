"""Outlines texts, and quotes the passages that contain a request's words. It does not summarise or count.

Rules compare words, not meanings: they miss a passage that says it in other words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

from bot.models.rehearsal import word_lists as lexicon
from bot.models.rehearsal.brief_parsing import Brief, render_decline
from bot.models.rehearsal.moves import Move, make_escalation_move, make_result_move
from handoff.text.text_words import stem_word

_IGNORED_WORDS = lexicon.FILLERS | lexicon.ASKING | lexicon.OUTLINE | lexicon.WHY | lexicon.WHICH
"""Words of a request that a quotation need not contain."""
_NEGATIONS, _SUMMARY_WORDS = lexicon.read_word_list("negations"), lexicon.read_word_list("summary")
_NEGATION_PATTERN = re.compile(r"n['\u2019]t\b", re.IGNORECASE)
_HEADING = re.compile(r"^\s*(?:#{1,6}\s+(?P<marked>.+)|(?P<numbered>\d+(?:\.\d+)*\.?\s+\S.{1,79}[^\s.!?;,:]))$")
_LEADING_DATE = (
    rf"(?i:\d{{1,2}}(?:\.(?! may\b))?(?: de)? (?:{'|'.join(sorted(lexicon.MONTHS, key=len, reverse=True))})\b)"
)
"""A date at the beginning of a line. Its number is not the number of a list item or heading."""
_BLOCK_BREAK = re.compile(
    r"\n\s*\n|\n(?=\s*#)|(?<=\])\n|"
    rf"\n(?=(?!{_LEADING_DATE})\d+(?:\.\d+)*\.\s+[^\n]{{1,79}}[^\s.!?;,:]\n(?!\s*(?!{_LEADING_DATE})\d))"
)
"""The separator of two blocks: an empty line, or the line end before a heading or after a page mark."""
_PLACE_MARK = re.compile(r"^\[(?P<place>[^\]\n]{1,120})\]$")
_SENTENCE_BREAK = re.compile(r"(?<=[.!?])(?<!\b\d\.)(?<!\b\d\d\.)\s+(?=[^\Wa-z_])")
"""The space between two sentences; the space in a date such as `1. September` does not match."""
_ITEM_START = re.compile(rf"\s*(?!{_LEADING_DATE})([-*•|\d{{\[<]|\S+:)|.* \| ")
_PROSE_ENDINGS = lexicon.read_word_list("prose")
"""Endings of files in which a sentence may span several lines. In code and logs each line stands alone."""
_NO_REASON_GAP = "whether this is the reason takes a language model, or a person: it is quoted with what comes after it"
_MAX_OUTLINE_LINES, _MAX_QUOTES, _MAX_QUOTE_CHARS = 30, 3, 500


@dataclass(frozen=True, slots=True)
class SourcePassage:
    """A sentence, line or heading of a text.

    Attributes:
        text: The passage.
        place: The nearest heading, page mark or line mark above it.
        is_heading: True for a heading.
        next_passage: The next passage in the same block of prose; "" if there is none.
    """

    text: str
    place: str
    is_heading: bool = False
    next_passage: str = ""


def make_text_answer(brief: Brief) -> Move:
    """Return a result that outlines or quotes the brief's texts, or an escalation that declines the task."""
    texts = [(name, text) for name, text in brief.source_texts if text.strip()]
    if not texts:
        return make_escalation_move("out_of_scope", "There is no text that could be read.")
    names = {stem_word(word.lower()) for name, _ in texts for word in re.findall(r"[^\W_]+", name)}
    request_words = list(dict.fromkeys(word.lower() for word in re.findall(r"[^\W_]+", brief.objective)))
    long_words = [word for word in request_words if len(word) > 2 or any(sign.isdigit() for sign in word)]
    subject_words = [word for word in long_words if word not in _IGNORED_WORDS and stem_word(word) not in names]
    negations = [word for word in request_words if word in _NEGATIONS] or _NEGATION_PATTERN.findall(brief.objective)
    if negations:
        return _make_decline_move(brief, f"I can only quote what a text says, and “{negations[0]}” asks for more.")
    if not subject_words:
        return _outline_texts(texts, asks_for_summary=bool(_SUMMARY_WORDS & {*request_words}))
    move_or_reason = _quote_passages(texts, subject_words, request_words)
    return move_or_reason if isinstance(move_or_reason, Move) else _make_decline_move(brief, move_or_reason)


def _make_decline_move(brief: Brief, reason: str) -> Move:
    """Return an escalation that declines a task, and suggests an outline and a question that a quotation answers."""
    name, text = next((name, text) for name, text in brief.source_texts if text.strip())
    titles = (word for one in list_passages(text, name) if one.is_heading for word in one.text.lower().split())
    words = (one for one in titles if one.isalpha() and len(one) > 4 and one not in _NEGATIONS | _IGNORED_WORDS)
    suggestions = [f"what does it say about {word}?" for word in words if word not in brief.objective.lower()]
    return make_escalation_move("out_of_scope", render_decline(reason, [f"outline {name}", *suggestions[:1]]))


def _outline_texts(texts: list[tuple[str, str]], *, asks_for_summary: bool) -> Move:
    blocks = []
    for name, text in texts:
        passages = list_passages(text, name)
        headings = [one.text for one in passages if one.is_heading]
        shown_lines = headings[:_MAX_OUTLINE_LINES] or [one.text[:120] for one in passages[:_MAX_QUOTES]]
        predicate = "has these headings" if headings else "begins"
        more = [f"… and {len(headings) - _MAX_OUTLINE_LINES} more"] if len(headings) > _MAX_OUTLINE_LINES else []
        blocks.append(
            "\n- ".join([f"{name} {predicate} (I was given {len(text.split()):,} words of it):", *shown_lines, *more])
        )
    gaps = ["a summary takes a language model; what is shown is an outline"] if asks_for_summary else []
    findings = [{"message": f"{name} has", "source": name} for name, _ in texts]
    summary = f"An outline of {', '.join(name for name, _ in texts)}."
    return make_result_move(summary, "\n\n".join(blocks), findings=findings, gaps=gaps)


def _quote_passages(texts: list[tuple[str, str]], words: list[str], request_words: Sequence[str]) -> Move | str:
    """Return a result that quotes the passages with most of `words`, or the reason why none is quoted."""
    scored_passages = [
        (shared_words, one, name)
        for name, text in texts
        for one in list_passages(text, name)
        if (shared_words := _find_shared_words(one, words))
    ]
    scored_passages.sort(key=lambda each: (-len(each[0]), each[1].is_heading))
    best = [each for each in scored_passages if each[0] == scored_passages[0][0]]
    word_list, names = ", ".join(f"“{word}”" for word in words), ", ".join(name for name, _ in texts)
    if not best or 2 * len(best[0][0]) <= len(words):
        none = "no passage that holds most of them" if len(words) > 1 else "nothing to quote"
        return (
            f"I looked for {word_list} in what I was given of {names} and found {none}, though the answer may be there."
        )
    shared_words, first, _ = best[0]
    asks_for_count = any(
        f" {' '.join(phrase)} " in f" {' '.join(request_words)} " for phrase in lexicon.PHRASES["count"]
    )
    if asks_for_count and (len(best) > 1 or first.is_heading):
        return f"I can't count in a text: {len(best)} passages of {names} hold {word_list}."
    is_why, more_count = bool(lexicon.WHY & {*request_words}), len(best) - _MAX_QUOTES
    gaps = [f"the quoted text does not have the word “{word}”" for word in words if word not in shared_words]
    gaps += ["these words stand in a heading alone"] if first.is_heading else []
    gaps += (
        [f"{more_count} more passage{'s hold' if more_count > 1 else ' holds'} these words"] if more_count > 0 else []
    )
    gaps += [_NO_REASON_GAP] if is_why else []
    blocks, findings = [], []
    for _, one, name in best[:_MAX_QUOTES]:
        text = f"{one.text} {one.next_passage}".strip() if is_why else one.text
        blocks.append(f"> {text[:_MAX_QUOTE_CHARS]}\n>\n> {', '.join(filter(None, (name, one.place)))}")
        findings.append({"message": text[:_MAX_QUOTE_CHARS], "source": name})
    return make_result_move(first.text[:_MAX_QUOTE_CHARS], "\n\n".join(blocks), findings=findings, gaps=gaps)


def _find_shared_words(passage: SourcePassage, words: Sequence[str]) -> frozenset[str]:
    """Return the words that occur in a passage or its heading."""
    own = set(re.findall(r"[^\W_]+", f"{passage.text} {passage.place}".lower()))
    return frozenset(word for word in words if any(lexicon.is_similar(word, other) for other in own))


def list_passages(text: str, name: str = "") -> list[SourcePassage]:
    """List the sentences and headings of a text, each with the heading or page mark above it; for code, the lines."""
    place = ""
    passages: list[SourcePassage] = []
    ending = PurePath(name).suffix.lower()
    if ending and ending not in _PROSE_ENDINGS:
        return [SourcePassage(line.strip(), "") for line in text.splitlines() if line.strip()]
    for block in _BLOCK_BREAK.split(text):
        lines = block.strip().splitlines()
        if lines and (page := _PLACE_MARK.match(lines[0])):
            place = page["place"]
            del lines[0]
        elif lines and (heading := _HEADING.match(lines[0])) and (heading["marked"] or not _is_line_based(lines)):
            place = heading["marked"] or heading["numbered"]
            passages.append(SourcePassage(place, "", is_heading=True))
            del lines[0]
        parts = [part.strip() for part in _split_block(lines) if part.strip()]
        next_passages = ["" for _ in parts] if _is_line_based(lines) else [*parts[1:], ""]
        passages += [
            SourcePassage(one, place, next_passage=other) for one, other in zip(parts, next_passages, strict=False)
        ]
    return passages


def _split_block(lines: list[str]) -> list[str]:
    """Split a block into sentences, or a list into items. A line that does not begin an item continues the last one."""
    if not _is_line_based(lines):
        return _SENTENCE_BREAK.split(" ".join(line.strip() for line in lines))
    items: list[str] = []
    for line in lines:
        if items and not _ITEM_START.match(line):
            items[-1] += f" {line.strip()}"
        else:
            items.append(line)
    return items


def _is_line_based(block: list[str]) -> bool:
    """Return True for lists, logs and tables: more than half of their lines begin like an item or a row."""
    lines = [line for line in block if line.strip()]
    return len(lines) > 1 and sum(bool(_ITEM_START.match(line)) for line in lines) > len(lines) / 2
