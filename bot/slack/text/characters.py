"""Which characters may go out, and text for places that show it as it is."""

from __future__ import annotations

import re
import unicodedata

BROADCAST = re.compile(r"@(?:channel|here|everyone)(?![^\W_])", re.IGNORECASE)
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


def plain(text: str, limit: int = 150) -> str:
    """One line for places that show text as it is: titles, buttons, rows. At most `limit` characters."""
    flat = " ".join(visible(text).split()).replace("<", "\u2039").replace(">", "\u203a")
    flat = BROADCAST.sub(lambda found: "\uff20" + found.group()[1:], flat)
    return flat if len(flat) <= limit else flat[: limit - 1].rstrip() + "…"
