"""Strips a model's thinking from its reply, if the server left it there between tags such as `<think>`."""

from __future__ import annotations

import re

_TAGS = ("think", "thinking", "thought", "reasoning")
_OPENINGS = tuple(f"<{tag}>" for tag in _TAGS)
_LONGEST = max(len(opening) for opening in _OPENINGS)
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
    """Strips thinking from a text that comes in pieces. A piece that may begin a tag is held back until it is clear."""

    def __init__(self) -> None:
        self._held: str | None = ""

    def feed(self, piece: str) -> str:
        """Take the next piece, and return the text that can be passed on now."""
        if self._held is None:
            return piece
        self._held += piece
        start = self._held.lstrip()
        if any(opening.startswith(start[:_LONGEST]) for opening in _OPENINGS):
            return ""  # it may become an opening tag
        if start.startswith(_OPENINGS):
            found = _THOUGHT.match(self._held)
            if found is None or found.end() == len(self._held):
                return ""  # it goes on, or more thinking may follow
            self._held = self._held[found.end() :]
            return self.feed("")
        passed, self._held = self._held, None
        return passed

    def end(self) -> str:
        """Return the text that was held back and turned out to be part of the reply."""
        passed, self._held = strip_thinking(self._held or ""), None
        return passed
