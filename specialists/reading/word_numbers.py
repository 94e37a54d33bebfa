"""Works out the numbers that Word shows before paragraphs, such as `4.2` or `(a)`. A file has only their rules."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

from specialists.reading.xml_package import read_attribute, read_local_name

_MAX_LEVELS = 9
_ROMAN_NUMERALS = (
    *((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc")),
    *((50, "l"), (40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i")),
)


class ParagraphNumbering:
    """Counts the numbered paragraphs of a document from its beginning."""

    def __init__(self, numbering: ET.Element | None) -> None:
        """Read the rules. `numbering` is the root of `word/numbering.xml`; None if the document has none."""
        self._rules: dict[str, dict[int, tuple[str, str, int]]] = {}
        self._list_of: dict[str, str] = {}
        self._restarts: dict[str, dict[int, int]] = {}
        self._counts: dict[str, list[int | None]] = {}
        for part in numbering if numbering is not None else ():
            if read_local_name(part) == "abstractNum":
                self._rules[read_attribute(part, "abstractNumId")] = _read_levels(part)
            elif read_local_name(part) == "num":
                key = read_attribute(part, "numId")
                self._list_of[key] = next(
                    (read_attribute(one, "val") for one in part if read_local_name(one) == "abstractNumId"), ""
                )
                self._restarts[key] = _read_restarts(part)

    def make_next_number(self, instance: str, depth: int) -> str:
        """Count the next paragraph of a list, and return its number or bullet; "" if it has none.

        `instance` is the list's `numId`. `depth` counts from 0, the outermost level.
        """
        list_id = self._list_of.get(instance)
        if list_id is None or not 0 <= depth < _MAX_LEVELS:
            return ""
        rules = self._rules.get(list_id, {})
        kind, pattern, start = rules.get(depth, ("bullet", "", 1))
        counts = self._counts.setdefault(list_id, [None] * _MAX_LEVELS)
        for restarted_depth, first in self._restarts.pop(instance, {}).items():  # a separate list with shared rules
            counts[restarted_depth] = first - 1
        previous_count = counts[depth]
        counts[depth] = start if previous_count is None else previous_count + 1
        counts[depth + 1 :] = [None] * (_MAX_LEVELS - depth - 1)
        if kind == "bullet":
            return "  " * depth + "-"
        if kind == "none":
            return ""

        def format_level(match: re.Match[str]) -> str:
            level_depth = int(match[1]) - 1
            level_kind, _, level_start = rules.get(level_depth, ("decimal", "", 1))
            return _format_number(
                counts[level_depth] or level_start,
                level_kind if level_depth == depth else _choose_outer_kind(level_kind),
            )

        return re.sub(r"%([1-9])", format_level, pattern)


def _read_levels(abstract_list: ET.Element) -> dict[int, tuple[str, str, int]]:
    """Return the rules of a list: depth -> (kind, pattern such as `%1.%2`, first number)."""
    rules = {}
    for level in abstract_list:
        depth = read_attribute(level, "ilvl")
        if read_local_name(level) == "lvl" and depth.isdigit():
            values = {read_local_name(part): read_attribute(part, "val") for part in level}
            start = values.get("start", "1")
            rules[int(depth)] = (
                values.get("numFmt", "decimal"),
                values.get("lvlText", ""),
                int(start) if start.isdigit() and len(start) < 6 else 1,
            )
    return rules


def _read_restarts(instance: ET.Element) -> dict[int, int]:
    """Return the numbers at which a list instance starts anew: depth -> first number."""
    restarts = {}
    for part in instance:
        depth = read_attribute(part, "ilvl")
        first = next((read_attribute(one, "val") for one in part if read_local_name(one) == "startOverride"), "")
        if (
            read_local_name(part) == "lvlOverride"
            and depth in tuple("012345678")
            and first.isdigit()
            and len(first) < 6
        ):
            restarts[int(depth)] = int(first)
    return restarts


def _choose_outer_kind(kind: str) -> str:
    return "decimal" if kind == "bullet" else kind


def _format_number(number: int, kind: str) -> str:
    if kind in ("lowerLetter", "upperLetter"):
        letter = chr(ord("a") + (number - 1) % 26) * ((number - 1) // 26 + 1)
        return letter if kind == "lowerLetter" else letter.upper()
    if kind in ("lowerRoman", "upperRoman"):
        roman = _format_roman(number)
        return roman if kind == "lowerRoman" else roman.upper()
    return f"{number:02d}" if kind == "decimalZero" else str(number)


def _format_roman(number: int) -> str:
    roman = ""
    for value, letters in _ROMAN_NUMERALS:
        while number >= value and len(roman) < 30:
            roman += letters
            number -= value
    return roman
