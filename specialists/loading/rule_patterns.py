r"""Compiles patterns of routing rules: regular expressions limited to forms that match any text in bounded time.

Allowed are letters and digits, classes (`[abc]`, `\w \d \s \b`, `.`), groups, `|`, `^`, `$`, `?`, and repeats of
one character or class (`*`, `+`, `{2,5}`). A repeat reaches at most `MAX_REPEATS` characters. Not allowed are repeated
groups, look-around and back references: each could take endless time on some text.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass

LONGEST_PATTERN = 200
"""Most characters of a pattern."""
MAX_REPEATS = 40
"""Most characters that one repeat may match."""
MAX_WAYS = 5_000
"""Most ways in which a pattern may match from one place in a text."""

_ATOM = re.compile(r"\\[wWdDsSbB]|\\[^\w\s]|\[\^?\]?(?:\\.|[^\]\\])*\]|[^\\\[\](){}*+?|^$]")
_REPEAT = re.compile(r"(?:(?P<sign>[*+?])|\{(?P<low>\d{1,3})(?P<comma>,)?(?P<high>\d{1,3})?\})(?P<lazy>[?+])?")
_NO_WIDTH = frozenset({r"\b", r"\B", "^", "$"})


class BadPattern(ValueError):
    """A pattern is not allowed. The text says why, and what to do."""


def compile_pattern(text: str) -> re.Pattern[str]:
    """Compile a pattern with its repeats bounded, ignoring case. Raises BadPattern."""
    if not text.strip():
        raise BadPattern("a pattern is empty")
    if len(text) > LONGEST_PATTERN:
        raise BadPattern(f"a pattern has {len(text)} characters; at most {LONGEST_PATTERN} are allowed")
    parser = _PatternParser(text)
    bounded_pattern, ways = parser.parse_alternatives(depth=0)
    if ways > MAX_WAYS:
        raise BadPattern(f"it can match in {ways:,} ways at each place; use fewer repeats, or plain words")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", FutureWarning)  # syntax that later Python versions will read differently
            pattern = re.compile(bounded_pattern, re.IGNORECASE)
    except (re.error, FutureWarning) as error:
        raise BadPattern(f"it is no pattern: {error}") from None
    if pattern.search(""):
        raise BadPattern("it fits every text, even an empty one; name a word")
    return pattern


def count_match_ways(text: str) -> int:
    """Return the number of ways in which a pattern can match from one place in a text. Raises BadPattern."""
    return _PatternParser(text).parse_alternatives(depth=0)[1]


@dataclass(slots=True)
class _PatternParser:
    """Parses a pattern from left to right.

    Most methods return a pair of (the part with its repeats bounded, the number of ways in which it can match).
    """

    text: str
    position: int = 0

    def parse_alternatives(self, depth: int) -> tuple[str, int]:
        safe, ways = self._parse_alternative(depth)
        while self._peek_character() == "|":
            self.position += 1
            other, more = self._parse_alternative(depth)
            safe, ways = f"{safe}|{other}", ways + more
        if depth == 0 and self.position < len(self.text):
            raise BadPattern(
                f"{self.text[self.position]!r} at character {self.position + 1} closes nothing. Put a \\ before a sign"
            )
        return safe, ways

    def _parse_alternative(self, depth: int) -> tuple[str, int]:
        safe, ways = "", 1
        while self.position < len(self.text) and self._peek_character() not in "|)":
            if self._peek_character() == "(":
                atom, more = self._parse_group(depth)
                repeat = self._parse_repetition()
                if repeat not in {None, (0, 1)}:
                    raise BadPattern("a group may not be repeated; write it out, or repeat one character or class")
            else:
                atom, more = self._parse_atom(), 1
                repeat = self._parse_repetition()
            safe, ways = safe + atom, ways * more
            if repeat is not None:
                if atom in _NO_WIDTH:
                    raise BadPattern(f"{atom} has no width, so it cannot be repeated")
                low, high = repeat
                safe, ways = safe + f"{{{low},{high}}}", ways * (high - low + 1)
        return safe, ways

    def _parse_group(self, depth: int) -> tuple[str, int]:
        self.position += 1
        if self.text.startswith("?:", self.position):
            self.position += 2
        elif self._peek_character() == "?":
            raise BadPattern("look-around, names and flags are not allowed; use (?:...) or (...)")
        if depth >= 5:
            raise BadPattern("groups lie more than 5 deep")
        safe, ways = self.parse_alternatives(depth + 1)
        if self._peek_character() != ")":
            raise BadPattern("a group is not closed")
        self.position += 1
        return f"(?:{safe})", ways

    def _parse_atom(self) -> str:
        if self._peek_character() in {"^", "$"}:
            self.position += 1
            return self.text[self.position - 1]
        match = _ATOM.match(self.text, self.position)
        if match is None:
            raise BadPattern(
                f"{self.text[self.position : self.position + 2]!r} at character {self.position + 1} is not allowed here"
            )
        self.position = match.end()
        return match[0]

    def _parse_repetition(self) -> tuple[int, int] | None:
        match = _REPEAT.match(self.text, self.position)
        if match is None:
            return None
        self.position = match.end()
        if match["lazy"]:
            raise BadPattern("one sign of repetition at a time")
        if sign := match["sign"]:
            return {"?": (0, 1), "*": (0, MAX_REPEATS), "+": (1, MAX_REPEATS)}[sign]
        low = int(match["low"])
        high = int(match["high"]) if match["high"] else MAX_REPEATS if match["comma"] else low
        if not low <= high <= MAX_REPEATS:
            raise BadPattern(f"a repeat goes from few to many, at most {MAX_REPEATS}")
        return low, high

    def _peek_character(self) -> str:
        return self.text[self.position] if self.position < len(self.text) else ""
