"""Removes or spells out invisible characters, which can hide or reverse other words. Pure.

They are removed from ordinary texts. In texts that people approve they are spelled out, and `undo_spell_out` restores
them exactly.
"""

from __future__ import annotations

import itertools
import re
import unicodedata

_FILLER_CHARACTERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
_ASCII_CONTROL = re.compile(r"[^\n\t -~]")
_INVISIBLE_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})


def remove_invisible(text: str) -> str:
    """Remove control, zero-width, tag, bidi and filler characters; keep newlines and tabs."""
    if text.isascii():
        return _ASCII_CONTROL.sub("", text)  # faster than character by character
    return "".join(_filter_character(character) for character in text)


def _filter_character(character: str) -> str:
    if character in "\n\t" or (character.isascii() and character.isprintable()):
        return character
    if character in "\u2028\u2029":
        return " "
    code = ord(character)
    if character in _FILLER_CHARACTERS or 0xFE00 <= code <= 0xFE0F or 0xE0100 <= code <= 0xE01EF:
        return ""
    return "" if unicodedata.category(character) in _INVISIBLE_CATEGORIES else character


# ---------------------------------------------------------------- spelling out

_WHITE_SPACE = re.compile(r"\s+")
_MAX_PLAIN_RUN = 16
"""The most white space in a row, within a line, that is not spelled out."""
_MAX_PLAIN_NEWLINES = 4
"""The most newlines in a row that are not spelled out."""
_CHARACTER_NAMES = {" ": "space", "\t": "tab", "\n": "line break"}
_CHARACTER_MARK = re.compile(
    r"\[(?:U\+[0-9A-F]{4,6}|[\d,]+ (?:blank lines|U\+[0-9A-F]{4,6}|(?:space|tab|line break)s?))\]"
)
"""The marks that `spell_out` writes in place of characters."""


def spell_out(text: str) -> str:
    """Replace invisible characters, and long runs of white space, by marks such as `[U+200B]` or `[40 spaces]`.

    `undo_spell_out` reverses it exactly.
    """
    text = _CHARACTER_MARK.sub(lambda mark: f"[U+005B]{mark.group()[1:]}", text)
    text = _WHITE_SPACE.sub(lambda run: _render_white_space(run.group(), run.start(), run.end(), len(text)), text)
    if remove_invisible(text) == text and not _OVERLAID_MARKS.search(text):
        return text
    text = _OVERLAID_MARKS.sub(lambda match: "".join(map(_make_code_mark, match.group())), text)
    return "".join(_spell_out_character(one, len(list(same))) for one, same in itertools.groupby(text))


_COMBINING_MARKS = "\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"
_OVERLAID_MARKS = re.compile(
    f"[\u0334-\u0338\u0488\u0489\u20d2-\u20d4\u20d8-\u20e0\u20e2-\u20ef]|[{_COMBINING_MARKS}]{{4,}}"
)
"""Combining marks that strike through or enclose a letter, and stacks of marks, which cover other lines."""


def _make_code_mark(character: str) -> str:
    return f"[U+{ord(character):04X}]"


def _spell_out_character(character: str, count: int) -> str:
    if remove_invisible(character) == character:
        return character * count
    return f"[{count:,} U+{ord(character):04X}]" if count > 1 else _make_code_mark(character)


def undo_spell_out(text: str) -> str:
    """Return the original of a text that `spell_out` returned."""
    lines = re.sub(r"\n\[([\d,]+) blank lines\]\n", lambda mark: "\n" * (_parse_number(mark.group(1)) + 1), text)
    return _CHARACTER_MARK.sub(lambda mark: _restore_characters(mark.group()[1:-1]), lines)


def _restore_characters(mark: str) -> str:
    count, _, what = mark.rpartition(" ") if mark.startswith("U+") else mark.partition(" ")
    if what.startswith("U+"):
        return chr(int(what.removeprefix("U+"), base=16)) * (_parse_number(count) if count else 1)
    one = next(each for each, word in _CHARACTER_NAMES.items() if what.removesuffix("s") == word)
    return one * _parse_number(count)


def _parse_number(text: str) -> int:
    return int(text.replace(",", ""))


def _render_white_space(run: str, start: int, end: int, length: int) -> str:
    """Return a run of white space unchanged, or as marks if it is long or at the start or end of the text.

    `start` and `end` are the span of the run, and `length` is the length of the text.
    """
    breaks = run.count("\n")
    if run == "\n" * breaks and breaks > _MAX_PLAIN_NEWLINES:
        return f"\n[{breaks - 1:,} blank lines]\n"
    spells_out_all = breaks > _MAX_PLAIN_NEWLINES or start == 0 or end == length
    groups = ("".join(group) for _, group in itertools.groupby(run))
    return "".join(_spell_out_repeats(one) if spells_out_all or len(one) > _MAX_PLAIN_RUN else one for one in groups)


def _spell_out_repeats(run: str) -> str:
    name = _CHARACTER_NAMES.get(run[0])
    if name is None:
        return f"[{len(run):,} U+{ord(run[0]):04X}]"
    return f"[{len(run):,} {name}{'s' if len(run) > 1 else ''}]"
