"""Outlines texts, and quotes those sentences of texts that hold a request's words. It sums up nothing.

What holds no such word is not said to be missing: rules compare words, and do not know what a text means.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from bot.models.rehearsal.moves import Move, give_up, hand_in
from bot.models.rehearsal.rehearsed_brief import Brief
from bot.models.rehearsal.rehearsed_words import FILLERS, close, word_set
from handoff.text.text_words import stem

_OUTLINE = word_set(
    "outline structure headings sections contents summary summarise summarize overview gliedere gliederung inhalt "
    "esquema índice"
)
_SUMMARY = re.compile(r"\b(summar\w+|overview|explain|describe)\b", re.IGNORECASE)
_ASKING = word_set(
    "draft write compose quote say says said state states mention mentions written find search show cite according "
    "about read document text pdf page pages agreement contract log notes note zitiere steht sagt cita dice"
)
_HEADING = re.compile(r"^\s*(?:#{1,6}\s+(?P<marked>.+)|(?P<numbered>\d+(?:\.\d+)*\.?\s+\S.{1,79}[^\s.!?;,:]))$")
_PLACE = re.compile(r"^\[(?P<place>[^\]\n]{1,120})\]$")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[^\Wa-z_])")
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
    asked = dict.fromkeys(word.lower() for word in re.findall(r"[^\W_]+", brief.objective) if len(word) > 2)
    silent = FILLERS | _ASKING | _OUTLINE
    about = [word for word in asked if word not in silent and stem(word) not in names]
    return _quoted(texts, about) if about else _outlined(texts, brief.objective)


def _outlined(texts: list[tuple[str, str]], asked: str) -> Move:
    blocks = []
    for name, text in texts:
        passages = passages_of(text)
        headings = [one.text for one in passages if one.is_heading]
        shown = headings[:_MOST_LINES] or [one.text[:120] for one in passages[:_MOST_QUOTES]]
        does = "has these headings" if headings else "begins"
        more = [f"… and {len(headings) - _MOST_LINES} more"] if len(headings) > _MOST_LINES else []
        blocks.append("\n- ".join([f"{name} {does} ({len(text.split()):,} words were given to me):", *shown, *more]))
    gaps = ["a summary takes a language model; what is shown is an outline"] if _SUMMARY.search(asked) else []
    findings = [{"message": f"{name} has", "source": name} for name, _ in texts]
    return hand_in(
        f"An outline of {', '.join(name for name, _ in texts)}.", "\n\n".join(blocks), findings=findings, gaps=gaps
    )


def _quoted(texts: list[tuple[str, str]], about: list[str]) -> Move:
    """The passages that hold most of the words, each with its place."""
    scored = []
    for name, text in texts:
        for number, one in enumerate(passages_of(text)):
            own = set(re.findall(r"[^\W_]+", f"{one.text} {one.place}".lower()))
            held = {word for word in about if any(close(word, other) for other in own)}
            scored += [(-len(held), one.is_heading, number, name, one, held)] if held else []
    scored.sort(key=lambda each: each[:3])
    best = [each for each in scored if each[0] == scored[0][0]][:_MOST_QUOTES]
    if not best:
        told, names = ", ".join(f"“{word}”" for word in about), ", ".join(name for name, _ in texts)
        return give_up(
            "out_of_scope",
            f"I looked for {told} in what I was given of {names}, and found nothing to quote. "
            "The rehearsal compares words and does not know what a text means, so the answer may still be there.",
        )
    left = [f"“{word}”" for word in about if not any(word in each[5] for each in best)]
    gaps = [f"no quotation holds {', '.join(left)}"] if left else []
    quotes = [(one.text[:_LONGEST], name, ", ".join(filter(None, (name, one.place)))) for *_, name, one, _ in best]
    blocks = [f"> {text}\n>\n> {place}" for text, _, place in quotes]
    findings = [{"message": text, "source": source} for text, source, _ in quotes]
    return hand_in(quotes[0][0], "\n\n".join(blocks), findings=findings, gaps=gaps)


def passages_of(text: str) -> list[Passage]:
    """List all sentences and headings of a text, each with the nearest heading or page above it."""
    place = ""
    found: list[Passage] = []
    for block in re.split(r"\n\s*\n|\n(?=\s*#)|(?<=\])\n", text):
        lines = block.strip().splitlines()
        if lines and (page := _PLACE.match(lines[0])):
            place = page["place"]
            del lines[0]
        elif lines and (heading := _HEADING.match(lines[0])) and (heading["marked"] or not _is_of_lines(lines)):
            place = heading["marked"] or heading["numbered"]
            found.append(Passage(place, "", is_heading=True))
            del lines[0]
        parts = lines if _is_of_lines(lines) else _SENTENCE.split(" ".join(line.strip() for line in lines))
        found += [Passage(part.strip(), place) for part in parts if part.strip()]
    return found


def _is_of_lines(block: list[str]) -> bool:
    """True for logs, lists and code, whose lines stand for themselves."""
    lines = [line for line in block if line.strip()]
    return len(lines) > 1 and sum(bool(re.match(r"\s*([-*•|\d{\[<]|\S+:)", line)) for line in lines) > len(lines) / 2
