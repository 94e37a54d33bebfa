"""Notices a reply that says the same over and over, as small models do until their limit of tokens is reached."""

from __future__ import annotations

_LEAST = 2_000
"""Characters that must repeat what stands before them. No table or list has so many by itself."""
_TIMES = 6
_LONGEST_PERIOD = 600
_EVERY = 400
"""Characters after which is looked again."""
_PROBE = 32
"""Characters of the end that are looked for in what stands before it."""
_KEPT = _LONGEST_PERIOD * (_TIMES + 1) + _EVERY


class RepetitionWatch:
    """Watches the text of one reply as it comes. Exact repetitions count alone: a list with new items goes on."""

    def __init__(self) -> None:
        self._end = ""
        self._unread: list[str] = []
        self._size = 0

    def feed(self, piece: str) -> bool:
        """Add a piece of the reply. Return True once its end does nothing but repeat itself."""
        self._unread.append(piece)
        self._size += len(piece)
        if self._size < _EVERY:
            return False
        self._end = (self._end + "".join(self._unread))[-_KEPT:]
        self._unread, self._size = [], 0
        return _ends_in_repetition(self._end)


def _ends_in_repetition(text: str) -> bool:
    """Return True if a text ends in a repetition: of a period of at most `_LONGEST_PERIOD` characters."""
    before = text.rfind(text[-_PROBE:], 0, -1)
    period = len(text) - _PROBE - before
    if before < 0 or period > _LONGEST_PERIOD:
        return False
    size = max(_LEAST, _TIMES * period)
    return len(text) >= size + period and text[-size:] == text[-size - period : -period]
