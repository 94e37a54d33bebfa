"""Reads what a text claims, sentence by sentence, in a form that can be compared: subject, figures, polarity.

It reads English, and modestly: a sentence that it cannot place (a question, a condition, advice, a guess) claims
nothing, as an invented claim would put words into a specialist's mouth.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from handoff.checking.dates import Date, dates
from handoff.checking.quantities import Quantity, quantities, without_numbers
from handoff.checking.sections import FENCED, lines_under_headings
from handoff.checking.vocabulary import DIRECTIONS, GENERIC, PREPOSITIONS, STOP, subject_word

LONGEST = 400
"""Characters of a sentence that are read."""
MOST = 80
"""The most claims that are taken from one text."""

_NEGATION = re.compile(
    r"\b(?:not|no|never|none|neither|nor|without|cannot|\w+n['\u2019]t|nobody|nothing)\b", re.IGNORECASE
)
_NO_NEGATION = re.compile(
    r"\bnot (?:only|just|merely|necessarily)\b|\bno (?:doubt|later|more|less|fewer|wonder)(?: than)?\b", re.IGNORECASE
)
_NO_CLAIM = re.compile(
    r"\?\s*$|\b(?:if|unless|whether|could|might|may|should|would|suppose|assuming|perhaps|possibly|probably|maybe|"
    r"recommend\w*|suggest\w*|consider|please|let us|let's|must not|example|e\.g\.)\b",
    re.IGNORECASE,
)
_VALUED_DATE = re.compile(
    r"\b(?:released|launched|founded|established|due|deadline|expires?|expired|ends?|ended|starts?|started|begins?|began|"
    r"signed|published|born|died|opened|opens|happened|scheduled|effective|created|incorporated|announced|date|since|"
    r"until|joined|acquired|built|introduced)\b",
    re.IGNORECASE,
)
_BEFORE_A_NUMBER = re.compile(r"\b(?:after|before|under|over|within|between|per)\s{2,}", re.IGNORECASE)
"""Prepositions before a number, which is blanked out by then."""
_COPULA = re.compile(r"^.+?\b(?:is|was|are|were)\b|^[^:]{2,60}:", re.IGNORECASE)
_BEST = re.compile(
    r"^(?P<value>.+?) (?:is|was|are|were) the (?:\w+est|best|worst|most \w+|least \w+|only|main|leading)\b.+",
    re.IGNORECASE,
)
"""A superlative, as in "Norway is the largest market": the name is what is said of the largest market."""
_WENT = re.compile(r"\b(?:is|are|was|were|be|been|went|goes|go)\s+(?P<way>up|down)\b(?! to\b)", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z0-9\"“(*_$€£])|\n+")
_CLAUSE = re.compile(
    r"\s*;\s+|\s+[—–]\s+|,?\s+(?=(?:while|whereas|but|although|though)\s)|"  # noqa: RUF001 - dashes between clauses
    r",\s+(?=(?:which|because|driven|due|since|compared|mainly|mostly|largely|thanks|up|down|and|so|with|versus)\s)|"
    r"\s+(?=(?:because|thanks to|due to|compared (?:with|to))\s)"
)
_JOINED = re.compile(r"\s+and\s+(?=(?:[\w$'\u2019-]+\s+){1,4}(?:is|was|are|were|rose|fell|grew|had|has|reached)\s)")
_LEADING = re.compile(r"^(?:while|whereas|but|although|though|and|so)\s+", re.IGNORECASE)
_NO_SUBJECT = re.compile(
    r"^(?:which|because|driven|due|since|compared|mainly|mostly|largely|thanks|up|down|with|versus)\b", re.IGNORECASE
)
_MARKS = re.compile(r"^\s*(?:[-*+•]\s+|\d+[.)]\s+|>\s*)|[*_`]{1,3}|\[\d+\]")
_LINK = re.compile(r"!?\[([^\[\]\n]{0,300})\]\([^)]*\)")
_WORD = re.compile(r"[A-Za-zÀ-ÿ0-9][A-Za-zÀ-ÿ0-9.&'\u2019/_-]*[A-Za-zÀ-ÿ0-9]|[A-Za-zÀ-ÿ0-9]")
_SHORTENED = re.compile(r"\b(e\.g|i\.e|approx|vs|Inc|Ltd|Co|Corp|No|Mr|Mrs|Dr|St|U\.S)\.", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Claim:
    """One clause as a claim.

    `subject` holds the words that matter, and `scope` those of them that narrow it ("in May"). `heading` is the
    heading and label above it, and `under` their words; the dates in them are the claim's own if it has none. `value`
    are the names that it says something is ("the owner is Ana"). `directions` are what it says rises, holds or is
    allowed, each with its sign. `negated` is True if it denies the whole.
    """

    text: str
    heading: str
    under: frozenset[str]
    subject: frozenset[str]
    scope: frozenset[str]
    quantities: tuple[Quantity, ...]
    dates: tuple[Date, ...]
    dated: bool
    value: frozenset[str]
    directions: tuple[tuple[str, int], ...]
    negated: bool


def claims(text: str) -> tuple[Claim, ...]:
    """Return the claims of a Markdown text, each once, in order; at most `MOST`. Each cell of a table is one claim."""
    found: dict[str, Claim] = {}
    for under, part in lines_under_headings(text):
        for sentence in sentences(part):
            for clause in clauses(sentence):
                key = f"{under}\n{clause}"
                if key not in found and (claim := _claim(clause, under)) is not None:
                    found[key] = claim
                    if len(found) == MOST:
                        return tuple(found.values())
    return tuple(found.values())


def sentences(text: str) -> list[str]:
    """Return the sentences of a Markdown text, without its marks."""
    lines = []
    for line in _LINK.sub(r"\1", FENCED.sub("\n", text)).splitlines():
        if line.lstrip().startswith(("#", "|")):
            continue
        lines.append(_MARKS.sub("", line).strip())
    whole = _SHORTENED.sub(lambda found: found[0][:-1] + "\u2024", "\n".join(lines))
    parts = (part.replace("\u2024", ".").strip() for part in _SENTENCE.split(whole))
    return [part for part in parts if part]


def names(text: str) -> frozenset[str]:
    """Return the words in a line that look like names: capitalised, or with a digit in them, except the first word."""
    found = _WORD.findall(text)[1:]
    return frozenset(word for raw in found if raw != raw.lower() and (word := subject_word(raw)) is not None)


def clauses(sentence: str) -> list[str]:
    """Return the parts of a sentence that have a subject of their own."""
    if len(sentence) > LONGEST:
        return []
    parts = [part for each in _CLAUSE.split(sentence) for part in _JOINED.split(each)]
    return [_LEADING.sub("", part).strip(" ,.") for part in parts if part.strip() and not _NO_SUBJECT.match(part)]


def words(text: str) -> frozenset[str]:
    """Return the words of a text that matter, stemmed, with one word for all synonyms."""
    return frozenset(_ordered(text))


def _claim(clause: str, under: str = "") -> Claim | None:
    if _NO_CLAIM.search(without_numbers(clause)):  # "in May" is no guess
        return None
    plain = _NO_NEGATION.sub(" ", clause)
    bare = _BEFORE_A_NUMBER.sub(" ", _NEGATION.sub(" ", without_numbers(plain)))
    numbers, days = quantities(clause), dates(clause)
    directions = tuple(DIRECTIONS[word] for word in _lower(bare) if word in DIRECTIONS)
    directions += tuple(("level", 1 if found["way"].lower() == "up" else -1) for found in _WENT.finditer(bare))
    lacks = len(_NEGATION.findall(plain))
    subject, scope = _subject(bare)
    if not subject:
        return None
    value = _value(clause) if not numbers and not days else frozenset()
    return Claim(
        text=clause,
        heading=under,
        under=words(without_numbers(under)) - GENERIC,
        subject=subject - value,
        scope=scope - value,
        quantities=numbers,
        dates=days or dates(under),
        dated=bool(days) and not numbers and bool(_VALUED_DATE.search(clause)),
        value=value,
        directions=directions,
        negated=lacks % 2 == 1,
    )


def _subject(text: str) -> tuple[frozenset[str], frozenset[str]]:
    found, scope, scoped = [], [], False
    for place, raw in enumerate(_WORD.findall(text)):
        lower = raw.lower()
        if lower in PREPOSITIONS:
            scoped = True
        elif lower in {"is", "was", "are", "were", "has", "had", "have"} or lower in DIRECTIONS:
            scoped = False
        letter = place > 0 and len(raw) == 1 and raw.isupper() and raw != "I"  # as in "plan A"
        if (word := raw if letter else subject_word(raw)) is not None:
            found.append(word)
            if scoped:
                scope.append(word)
    return frozenset(found), frozenset(scope)


def _ordered(text: str) -> list[str]:
    return [word for raw in _WORD.findall(text) if (word := subject_word(raw)) is not None]


def _lower(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text)]


def _value(clause: str) -> frozenset[str]:
    """Return the names that something is said to be: the words after "is" or a colon, if all of them are names."""
    found = _BEST.match(clause) or _COPULA.match(clause)
    if found is None:
        return frozenset()
    rest = (found["value"] if found.re is _BEST else clause[found.end() :]).strip(" .\"\u201c\u201d'")
    parts = [part for part in _WORD.findall(rest) if part.lower() not in STOP | {"mr", "mrs", "ms", "dr"}]
    if not parts or len(parts) > 4 or not all(part[0].isupper() or part[0].isdigit() for part in parts):
        return frozenset()
    kept = [part for part in parts if part.lower().rstrip(".") not in {"inc", "ltd", "gmbh", "corp", "llc", "co"}]
    return frozenset(word for part in kept if (word := subject_word(part)) is not None)
