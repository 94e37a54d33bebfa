"""Drops the characters of a text that nobody sees, and that can hide or turn round what others say. Pure."""

from __future__ import annotations

import re
import unicodedata

_FILLERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
_ASCII_CONTROL = re.compile(r"[^\n\t -~]")
_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})


def visible(text: str) -> str:
    """Drop control, zero-width, tag, bidi and filler characters; keep newlines and tabs."""
    if text.isascii():
        return _ASCII_CONTROL.sub("", text)  # one by one takes long for a long text
    return "".join(_visible(character) for character in text)


def _visible(character: str) -> str:
    if character in "\n\t" or (character.isascii() and character.isprintable()):
        return character
    if character in "\u2028\u2029":
        return " "
    code = ord(character)
    if character in _FILLERS or 0xFE00 <= code <= 0xFE0F or 0xE0100 <= code <= 0xE01EF:
        return ""
    return "" if unicodedata.category(character) in _INVISIBLE else character
