"""Words of a question as SQLite's FTS5 looks for them: each quoted, in all its spellings of ß and umlauts. Pure.

The index drops accents (`Müller` is kept as `muller`) and knows nothing of `ue` and `ss`, so a question brings the
spellings along: `Müller` finds Mueller, `Strasse` finds Straße, and the other way round.
"""

from __future__ import annotations

import re

MOST_WORDS = 12
"""Words of a question that are looked for, the longest first: short ones stand everywhere."""
_BEGINS = 5
"""Letters from which on a word also finds longer ones that begin with it: plurals, compounds."""
_WORD = re.compile(r"[^\W_]+")
_UMLAUTS = (("ä", "ae"), ("ö", "oe"), ("ü", "ue"))


def words_of(question: str) -> list[str]:
    """List the words of a question, in small letters, each once, at most `MOST_WORDS`."""
    found = list(dict.fromkeys(word.lower() for word in _WORD.findall(question)))
    return sorted(found, key=lambda word: -len(word))[:MOST_WORDS]


def expression(words: list[str], *, every: bool) -> str:
    """Word what FTS5 is to find: passages with each of the words, or with any of them; empty if there are no words."""
    groups = [" OR ".join(_quote_word(one) for one in sorted(spellings(word))) for word in words]
    return (" AND " if every else " OR ").join(f"({group})" for group in groups)


def spellings(word: str) -> set[str]:
    """Give a word as it may stand in the index, accents aside: with `ss` for ß, `ue` for ü, and the other way round."""
    apart, together = word, word
    for umlaut, pair in _UMLAUTS:
        apart, together = apart.replace(umlaut, pair), together.replace(pair, umlaut)
    return {spelt for one in (word, apart, together) for spelt in (one, one.replace("ß", "ss"), one.replace("ss", "ß"))}


def _quote_word(word: str) -> str:
    return f'"{word}"{" *" if len(word) >= _BEGINS else ""}'
