"""Where a request names columns and values of a table: each word is taken once, and what nobody takes is left over."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace

from bot.models.rehearsal.rehearsed_profile import Column, Table
from bot.models.rehearsal.rehearsed_words import BY, FILLERS, FOLDS, NOT, OR, WHICH, alike, close
from handoff.text.text_words import stem

_TOKEN = re.compile(r"\d[\d.,]*\d|\d+|[^\W\d_]+(?:['\u2019][^\W\d_]+)*\d*|%")
_FULL, _PART, _LIKE = 3, 2, 1


@dataclass(frozen=True, slots=True)
class Token:
    """A word of a request, as it stands and in lower case, with its place."""

    text: str
    low: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Mention:
    """A column named by the tokens from `at` to before `end`."""

    column: Column
    at: int
    end: int


@dataclass(frozen=True, slots=True)
class Chosen:
    """Values of a column that are named from the token `at` on, or excluded; upper and lower case count as one."""

    column: Column
    values: tuple[str, ...]
    at: int
    excluded: bool = False


@dataclass(slots=True)
class Words:
    """A text as tokens, and which of them have been used."""

    text: str
    tokens: list[Token] = field(default_factory=list)
    used: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.tokens = [Token(one[0], one[0].lower(), *one.span()) for one in _TOKEN.finditer(self.text)]

    def take_span(self, start: int, end: int) -> None:
        """Use every token in a part of the text."""
        self.used |= {at for at, token in enumerate(self.tokens) if token.start < end and start < token.end}

    def take(self, wanted: Collection[str]) -> list[int]:
        """Use all free tokens that are among these words; their places."""
        found = [at for at, token in enumerate(self.tokens) if at not in self.used and token.low in wanted]
        self.used.update(found)
        return found

    def low(self, at: int) -> str:
        """The word at a place, in lower case; empty beyond the ends."""
        return self.tokens[at].low if 0 <= at < len(self.tokens) else ""

    def before(self, at: int, passed: Collection[str] = ("the", "der", "die", "das", "el", "la", "each")) -> int:
        """The place of the word before, articles passed over."""
        at -= 1
        while at > 0 and self.low(at) in passed:
            at -= 1
        return at

    def left_over(self) -> list[str]:
        """The words that nobody used and that say something."""
        return [
            token.text
            for at, token in enumerate(self.tokens)
            if at not in self.used and token.low not in FILLERS and token.text != "%"
        ]


def columns_in(words: Words, table: Table) -> tuple[list[Mention], list[Mention]]:
    """The columns that a text names, each by free tokens; and those that equally well could be meant instead."""
    candidates = []
    for column in table.columns:
        own = column.stems
        for at in range(len(words.tokens)):
            end, grade = _run(words, at, own)
            if end > at:
                full = grade == _FULL and {stem(words.low(i)) for i in range(at, end)} >= set(own)
                candidates.append((-(end - at), -(_FULL + 1 if full else grade), len(own), at, end, column))
    candidates.sort(key=lambda one: one[:4])
    taken: list[Mention] = []
    rivals: list[Mention] = []
    ranks: dict[int, tuple[int, int]] = {}
    for size, grade, _, at, end, column in candidates:
        if any(one.at < end and at < one.end for one in taken):
            same = next((one for one in taken if (one.at, one.end) == (at, end)), None)
            if same is not None and ranks[at] == (size, grade) and column is not same.column:
                rivals.append(Mention(column, at, end))
            continue
        if not words.used & set(range(at, end)):
            taken.append(Mention(column, at, end))
            ranks[at] = (size, grade)
    for mention in taken:
        words.used |= set(range(mention.at, mention.end))
    return sorted(taken, key=lambda one: one.at), rivals


def _run(words: Words, at: int, own: tuple[str, ...]) -> tuple[int, int]:
    """Where the tokens end that name a column from here on, and how well they do."""
    end, grade = at, 0
    left = list(own)
    while end < len(words.tokens) and end not in words.used:
        low = words.low(end)
        if (low in BY or low in WHICH or low in OR or low in FILLERS) and low not in own:
            break
        exact = next((one for one in left if one in {low, stem(low)}), None)
        near = exact or next((one for one in left if len(low) > 3 and close(one, low)), None)
        if near is None:
            if end == at and len(low) > 2 and any(alike(one, low) for one in own) and low not in FOLDS:
                return end + 1, _LIKE
            break
        left.remove(near)
        this = _FULL if exact else _PART
        grade = min(grade, this) if end > at else this
        end += 1
    return end, grade


def values_in(words: Words, columns: Iterable[Column], named: Collection[str]) -> list[Chosen]:
    """The values that a text names by free tokens; one that stands in several columns is nobody's.

    `named` are words that name a column whole, which no value takes from it.
    """
    found: dict[tuple[int, int], list[tuple[Column, str]]] = {}
    for column in columns:
        if column.is_number or column.is_date:
            continue
        for value in column.values:
            for at, end in _places(words, value, named):
                found.setdefault((at, end), []).append((column, value))
    chosen: list[Chosen] = []
    for (at, end), meant in sorted(found.items(), key=lambda one: (one[0][0] - one[0][1], one[0][0])):
        if words.used & set(range(at, end)) or len({column.name for column, _ in meant}) > 1:
            continue
        words.used |= set(range(at, end))
        column = meant[0][0]
        values = tuple(dict.fromkeys(value.casefold() for _, value in meant))
        chosen.append(Chosen(column, values, at, _is_excluded(words, at)))
    chosen.sort(key=lambda one: one.at)
    for before, (index, one) in zip(chosen, list(enumerate(chosen))[1:], strict=False):
        if chosen[index - 1].excluded and before.column is one.column and words.low(one.at - 1) in OR:
            chosen[index] = replace(one, excluded=True)
    return _joined(chosen)


def _places(words: Words, value: str, named: Collection[str]) -> list[tuple[int, int]]:
    """Where a text names a value: word by word, or in its plural."""
    own = [each[0] for each in _TOKEN.finditer(value)]
    if not own or value.endswith("…"):
        return []
    places = []
    for at in range(len(words.tokens) - len(own) + 1):
        said = words.tokens[at : at + len(own)]
        if len(own) == 1:
            low = said[0].low
            common = low in FILLERS or low in FOLDS or low in BY or len(low) < 3
            same = said[0].text == own[0] if common else stem(low) == stem(own[0].lower())
            if low in named or (low != own[0].lower() and stem(low) in {stem(name) for name in named}):
                same = False
        else:
            same = [one.low for one in said] == [one.lower() for one in own]
        if same:
            places.append((at, at + len(own)))
    return places


def _is_excluded(words: Words, at: int) -> bool:
    before = words.before(at)
    if words.low(before) in NOT or (words.low(before) == "than" and words.low(before - 1) == "other"):
        words.used |= {before, before - 1} if words.low(before) == "than" else {before}
        return True
    return False


def _joined(chosen: list[Chosen]) -> list[Chosen]:
    """Values of one column are alternatives; what is excluded stays apart."""
    made: dict[tuple[str, bool], Chosen] = {}
    for one in chosen:
        key = (one.column.name, one.excluded)
        before = made.get(key)
        made[key] = (
            one if before is None else Chosen(one.column, (*before.values, *one.values), before.at, one.excluded)
        )
    return list(made.values())
