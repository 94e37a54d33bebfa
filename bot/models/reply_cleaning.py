"""Strips thinking that the server left in a reply's text, and detects replies that only repeat themselves."""

from __future__ import annotations

import re

_THINK_TAGS = ("think", "thinking", "thought", "reasoning")
_OPENING_TAGS = tuple(f"<{tag}>" for tag in _THINK_TAGS)
_MAX_OPENING_CHARS = max(len(opening) for opening in _OPENING_TAGS)
_THOUGHT_PATTERN = re.compile(rf"\s*<({'|'.join(_THINK_TAGS)})>.*?(?:</\1>\s*|\Z)", re.DOTALL)
# If the server's template opened the tag itself, the reply shows only its end, on a line of its own.
_THOUGHT_END_PATTERN = re.compile(
    rf"\A(?:(?!<(?:{'|'.join(_THINK_TAGS)})>).)*?^[ \t]*</(?:{'|'.join(_THINK_TAGS)})>[ \t]*(?:\n\s*|\Z)",
    re.DOTALL | re.MULTILINE,
)


def strip_thinking(text: str) -> str:
    """Remove the thinking at the start of a reply. Tags that come later are the reply's own words."""
    while match := _THOUGHT_PATTERN.match(text):
        text = text[match.end() :]
    match = _THOUGHT_END_PATTERN.match(text)
    return text[match.end() :] if match else text


class ThinkTagStripper:
    """Strips thinking from streamed text. Text that may become a tag is held back until it is clear."""

    def __init__(self) -> None:
        self._held_text: str | None = ""
        self._closing_tag = ""
        """The tag that ends the current thought; "" outside thoughts. Inside, only its possible start is held."""
        self._had_thought = False

    def feed(self, piece: str) -> str:
        """Add the next piece and return the text that can be passed on now."""
        if self._held_text is None:
            return piece
        self._held_text += piece
        if self._closing_tag and not self._drop_thought():
            return ""
        if self._had_thought:  # blanks after a thought belong to it
            self._held_text = self._held_text.lstrip()
        start = self._held_text.lstrip()
        if any(opening.startswith(start[:_MAX_OPENING_CHARS]) for opening in _OPENING_TAGS):
            return ""  # it may become an opening tag
        if start.startswith(_OPENING_TAGS):
            self._closing_tag, self._had_thought = f"</{start[1:].partition('>')[0]}>", True
            return self.feed("")
        released_text, self._held_text = self._held_text, None
        return released_text

    def flush(self) -> str:
        """Return the text that was held back and turned out to be part of the reply."""
        released_text, self._held_text = "" if self._closing_tag else strip_thinking(self._held_text or ""), None
        return released_text

    def _drop_thought(self) -> bool:
        """Drop the part of the current thought that has arrived. Returns True if the thought has ended."""
        _, closing, rest = (self._held_text or "").partition(self._closing_tag)
        if not closing:
            self._held_text = (self._held_text or "")[1 - len(self._closing_tag) :]
            return False
        self._held_text, self._closing_tag = rest, ""
        return True


_MIN_REPEATED_CHARS = 2_000
"""Minimum repeated characters that count as endless repetition. No ordinary table or list repeats so many."""
_MIN_REPETITIONS = 6
_MAX_PERIOD_CHARS = 600
_CHECK_INTERVAL_CHARS = 400
"""Characters of a reply between two checks."""
_PROBE_CHARS = 32
"""The length of the end of a text that is searched for earlier in the text."""
_WINDOW_CHARS = _MAX_PERIOD_CHARS * (_MIN_REPETITIONS + 1) + _CHECK_INTERVAL_CHARS


class RepetitionDetector:
    """Detects a streamed reply that only repeats itself. Only exact repetitions count, not a list with new items."""

    def __init__(self) -> None:
        self._recent_text = ""
        self._unchecked_pieces: list[str] = []
        self._size = 0

    def feed(self, piece: str) -> bool:
        """Add a piece of the reply. Returns True once the reply only repeats itself."""
        self._unchecked_pieces.append(piece)
        self._size += len(piece)
        if self._size < _CHECK_INTERVAL_CHARS:
            return False
        self._recent_text = (self._recent_text + "".join(self._unchecked_pieces))[-_WINDOW_CHARS:]
        self._unchecked_pieces, self._size = [], 0
        return _ends_in_repetition(self._recent_text)


def _ends_in_repetition(text: str) -> bool:
    """Return True if a text ends in repetitions of a passage of at most `_MAX_PERIOD_CHARS` characters."""
    before = text.rfind(text[-_PROBE_CHARS:], 0, -1)
    period = len(text) - _PROBE_CHARS - before
    if before < 0 or period > _MAX_PERIOD_CHARS:
        return False
    size = max(_MIN_REPEATED_CHARS, _MIN_REPETITIONS * period)
    return len(text) >= size + period and text[-size:] == text[-size - period : -period]
