"""Names places in a text by its outline, and finds the part of a text that a model asks for. Pure."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from handoff.contracts import Material, Section

_LINE_NUMBER = re.compile(r"line ([\d,]+)(?:: |$)", re.IGNORECASE)
_PAGE_NAME = re.compile(r"page \d+", re.IGNORECASE)
_LINE_PREFIX = re.compile(r"\Aline [\d,]+(?:: |$)", re.IGNORECASE)
_HUNK_NAME = re.compile(r".+ line \d+(?:, .*)?")
"""The name of a section in the outline of a diff that is a place inside a file, not the file itself."""
_NUMBERED_PART = re.compile(r"(line|at) (\d+)", re.IGNORECASE)
_SECTION_MARK = re.compile(r"\[((?:page|slide|entry|cell) \d+)[^\]]*\]")
"""The first line of a page, slide, entry or cell in a text."""
_MARKED_NAME = re.compile(r"(?:page|slide|entry|cell) \d+", re.IGNORECASE)
_HEADING = re.compile(r" {0,3}#{1,6}[ \t]+(\S.*?)[ \t]*#*")
_UNDERLINE = re.compile(r"([=\-~^*\"#])\1{2,}\s*")
_FENCE = re.compile(r" {0,3}(```|~~~)")


@dataclass(frozen=True, slots=True)
class TextSpan:
    """A part of a text, with its span `start` to `end`."""

    start: int
    end: int


def name_place(text: str, outline: Sequence[Section], index: int) -> str:
    """Return the name by which the index `index` of a text is cited: its page, heading or other section, or its line.

    If the outline leaves sections out, they are found in the text itself.
    """
    section_number = bisect_right(outline, index, key=lambda one: one.start)
    # An outline of columns.
    if not section_number or (
        section_number > 1 and outline[section_number - 2].start == outline[section_number - 1].start
    ):
        return f"line {text.count(chr(10), 0, index) + 1:,}"
    hidden_sections = [one for one in _list_hidden_sections(text, outline, section_number - 1) if one.start <= index]
    section = hidden_sections[-1] if hidden_sections else outline[section_number - 1]
    # If the section is not certain, the line is.
    return (
        section.name
        if not section.unnamed or index == section.start
        else f"line {_find_line_number(text, section, index)}"
    )


def name_exact_place(text: str, outline: Sequence[Section], index: int) -> str:
    """Return the place of the index `index` like `name_place`, but with its own line, not the section's first line."""
    name = name_place(text, outline, index)
    section_number = bisect_right(outline, index, key=lambda one: one.start)
    return (
        f"line {_find_line_number(text, outline[section_number - 1], index):,}"
        if section_number and _LINE_PREFIX.match(name)
        else name
    )


def complete_outline(text: str, outline: Sequence[Section]) -> list[Section]:
    """Return an outline completed by the sections that it leaves out, if the text shows where they begin."""
    return [one for index in range(len(outline)) for one in _list_hidden_sections(text, outline, index)]


def _list_hidden_sections(text: str, outline: Sequence[Section], index: int) -> list[Section]:
    """Return the section `index` of an outline, followed by the sections that the outline leaves out after it."""
    section = outline[index]
    if not section.unnamed:
        return [section]
    end = outline[index + 1].start if index + 1 < len(outline) else len(text)
    there = list(_yield_sections(text[section.start : end], by_marks=bool(_MARKED_NAME.match(section.name))))
    if not there or there[0][0] > 0:
        return [section]
    by_line = _LINE_NUMBER.match(section.name) is not None
    sections = [section.model_copy(update={"unnamed": 0})]
    for start, name in there[1:]:
        at = section.start + start
        sections.append(
            Section(name=f"line {_find_line_number(text, section, at)}: {name}" if by_line else name, start=at)
        )
    return sections


def _find_line_number(text: str, section: Section, index: int) -> int:
    """Return the line number of the index `index`, counted from the line in the section's name if it has one.

    The name has the true line number even if the middle of the text was cut out.
    """
    number = _LINE_NUMBER.match(section.name)
    first = int(number[1].replace(",", "")) if number else text.count("\n", 0, section.start) + 1
    return first + text.count("\n", section.start, index)


def _yield_sections(text: str, *, by_marks: bool) -> Iterator[tuple[int, str]]:
    """Yield the sections of a text as pairs (index of the first character, name).

    They are its headings or, with `by_marks`, its pages, slides, entries and cells.
    """
    fence, before, before_start, start = "", "", 0, 0
    for line in text.split("\n"):
        if by_marks:
            if match := _SECTION_MARK.fullmatch(line):
                yield start, match[1]
        elif mark := _FENCE.match(line):
            fence = "" if fence == mark[1] else fence or mark[1]
        elif match := None if fence else _HEADING.fullmatch(line):
            yield start, match[1]
        elif not fence and before.strip() and "|" not in before and _UNDERLINE.fullmatch(line):
            yield before_start, before.strip()
        before, before_start = line, start
        start += len(line) + 1


def summarize_outline(material: Material, max_length: int) -> str:
    """Return the section names of an outline on one line of at most `max_length` characters; empty if there are none.

    Line numbers are left out. For a long diff only the names of files are listed, without places in them.
    """
    names = [one.name for one in material.outline]
    whole = sum(1 + one.unnamed for one in material.outline)
    if names and all(_PAGE_NAME.fullmatch(name) for name in names):
        return f"{whole:,} pages" if whole > 1 else "1 page"
    kept_headings: list[str] = []
    length = 0
    headings = [heading for name in names if (heading := _strip_line_number(name))]
    files = [heading for heading in headings if not _HUNK_NAME.fullmatch(heading)]
    if files and sum(len(heading) + 2 for heading in headings) > max_length:
        headings = files
    for heading in headings:
        length += len(heading) + 2
        if length > max_length:
            return (
                f"{', '.join(kept_headings)}, … ({len(headings):,} in all)"
                if kept_headings
                else f"{len(headings):,} sections"
            )
        kept_headings.append(heading)
    return ", ".join(kept_headings)


def describe_columns(material: Material, max_length: int) -> str:
    """Return the columns of a table, or its sheets with their columns, on one line; empty if they are unknown."""
    short = summarize_outline(material, max_length)
    return short if not short or short.startswith("sheet") else f"columns: {short}"


def _strip_line_number(name: str) -> str:
    """Return a section's name without its line number; empty if the name is nothing else."""
    return _LINE_PREFIX.sub("", name)


def find_part(text: str, outline: Sequence[Section], part_name: str, max_length: int) -> TextSpan | None:
    """Return the part of a text that `part_name` names, cut to `max_length` characters; None if there is no such part.

    `part_name` is the name of a section, a line such as `line 120`, an index such as `at 12000`, or empty for the
    beginning.
    """
    name = " ".join(part_name.split()).casefold()
    if not name:
        return TextSpan(0, min(len(text), max_length)) if text else None
    outline = complete_outline(text, outline)
    names = [" ".join(one.name.split()).casefold() for one in outline]
    section_index = next((index for index, one in enumerate(names) if name in {one, _strip_line_number(one)}), None)
    number = _NUMBERED_PART.fullmatch(name)
    if section_index is None and number:
        start = _find_offset(text, number[1].casefold(), int(number[2]))
        return TextSpan(start, min(len(text), start + max_length)) if 0 <= start < len(text) else None
    if section_index is None:
        section_index = next((index for index, one in enumerate(names) if len(name) > 2 and name in one), None)
    if section_index is None:
        return None
    start = outline[section_index].start
    end = outline[section_index + 1].start if section_index + 1 < len(outline) else len(text)
    return TextSpan(start, min(end, start + max_length))


def _find_offset(text: str, kind: str, number: int) -> int:
    """Return the index that a number means: itself for `at`, else the start of that line; -1 if there is none."""
    if kind == "at":
        return number
    start = 0
    for _ in range(number - 1):
        start = text.find("\n", start) + 1
        if not start:
            return -1
    return start
