"""Cleans replies: strips thinking that the server left in the text, and detects text that only repeats itself."""

from __future__ import annotations

import re

_TAGS = ("think", "thinking", "thought", "reasoning")
_OPENINGS = tuple(f"<{tag}>" for tag in _TAGS)
_LONGEST_OPENING = max(len(opening) for opening in _OPENINGS)
_THOUGHT = re.compile(rf"\s*<({'|'.join(_TAGS)})>.*?(?:</\1>\s*|\Z)", re.DOTALL)
# If the server's template opened the tag itself, the reply shows only its end, on a line of its own.
_REST_OF_THOUGHT = re.compile(
    rf"\A(?:(?!<(?:{'|'.join(_TAGS)})>).)*?^[ \t]*</(?:{'|'.join(_TAGS)})>[ \t]*(?:\n\s*|\Z)", re.DOTALL | re.MULTILINE
)


def strip_thinking(text: str) -> str:
    """Remove the thinking at the start of a reply. Tags that come later are the reply's own words."""
    while found := _THOUGHT.match(text):
        text = text[found.end() :]
    found = _REST_OF_THOUGHT.match(text)
    return text[found.end() :] if found else text


class ThinkTagStripper:
    """Strips thinking from streamed text. A piece that may be the start of a tag is held back until that is clear."""

    def __init__(self) -> None:
        self._held: str | None = ""
        self._closing_tag = ""
        """The tag that ends the current thought; "" outside thoughts. Of a thought, only its possible start is held."""
        self._had_thought = False

    def feed(self, piece: str) -> str:
        """Add the next piece and return the text that can be passed on now."""
        if self._held is None:
            return piece
        self._held += piece
        if self._closing_tag and not self._drop_thought():
            return ""
        if self._had_thought:  # blanks after a thought belong to it
            self._held = self._held.lstrip()
        start = self._held.lstrip()
        if any(opening.startswith(start[:_LONGEST_OPENING]) for opening in _OPENINGS):
            return ""  # it may become an opening tag
        if start.startswith(_OPENINGS):
            self._closing_tag, self._had_thought = f"</{start[1:].partition('>')[0]}>", True
            return self.feed("")
        passed, self._held = self._held, None
        return passed

    def flush(self) -> str:
        """Return the text that was held back and turned out to be part of the reply."""
        passed, self._held = "" if self._closing_tag else strip_thinking(self._held or ""), None
        return passed

    def _drop_thought(self) -> bool:
        """Drop the part of the current thought that has arrived. Returns True if the thought has ended."""
        _, closing, rest = (self._held or "").partition(self._closing_tag)
        if not closing:
            self._held = (self._held or "")[1 - len(self._closing_tag) :]
            return False
        self._held, self._closing_tag = rest, ""
        return True


_MIN_REPEATED = 2_000
"""Fewest repeated characters that count as endless repetition. No ordinary table or list repeats so many."""
_MIN_REPETITIONS = 6
_LONGEST_PERIOD = 600
_CHECK_INTERVAL = 400
"""Characters of a reply between two checks."""
_PROBE_LENGTH = 32
"""The length of the end of a text that is searched for earlier in the text."""
_WINDOW_LENGTH = _LONGEST_PERIOD * (_MIN_REPETITIONS + 1) + _CHECK_INTERVAL


class RepetitionWatch:
    """Detects a streamed reply that only repeats itself. Only exact repetitions count, not a list with new items."""

    def __init__(self) -> None:
        self._end = ""
        self._unread: list[str] = []
        self._size = 0

    def feed(self, piece: str) -> bool:
        """Add a piece of the reply. Returns True once the reply only repeats itself."""
        self._unread.append(piece)
        self._size += len(piece)
        if self._size < _CHECK_INTERVAL:
            return False
        self._end = (self._end + "".join(self._unread))[-_WINDOW_LENGTH:]
        self._unread, self._size = [], 0
        return _ends_in_repetition(self._end)


def _ends_in_repetition(text: str) -> bool:
    """Return True if a text ends in repetitions of a passage of at most `_LONGEST_PERIOD` characters."""
    before = text.rfind(text[-_PROBE_LENGTH:], 0, -1)
    period = len(text) - _PROBE_LENGTH - before
    if before < 0 or period > _LONGEST_PERIOD:
        return False
    size = max(_MIN_REPEATED, _MIN_REPETITIONS * period)
    return len(text) >= size + period and text[-size:] == text[-size - period : -period]
