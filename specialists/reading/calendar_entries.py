"""Reads a calendar file: each entry with its dates, folded lines joined, attached files left out."""

from __future__ import annotations

import re

from specialists.formats.contents import FileContents
from specialists.reading.plain_text import decode_file

_ENTRY_KINDS = ("VEVENT", "VTODO", "VJOURNAL", "VFREEBUSY")
_LINE_FOLD = re.compile(r"\n[ \t]")
_DATE = re.compile(r"(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)\d\d(Z?))?")
_LONGEST_INLINE_VALUE = 200


def read_calendar(data: bytes, name: str, contents: FileContents) -> None:
    """Read the entries of an .ics file in order. Their recurrence rules are shown, not expanded."""
    del name
    text = _LINE_FOLD.sub("", decode_file(data, contents))
    entry: list[str] = []
    number = 0
    entry_kind = ""
    for line in text.split("\n"):
        head, _, value = line.partition(":")
        if not entry_kind and head.upper() == "BEGIN" and value.strip().upper() in _ENTRY_KINDS:
            entry_kind, entry = value.strip().upper(), []
        elif entry_kind and head.upper() == "END" and value.strip().upper() == entry_kind:
            number += 1
            _add_entry(number, entry_kind, entry, contents)
            entry_kind = ""
        elif entry_kind:
            entry.append(line)
        elif line.strip() and head.upper() not in ("BEGIN", "END", "PRODID", "VERSION"):
            contents.add_text(line + "\n")
    if entry_kind:
        contents.add_gap(f"its end is missing: entry {number + 1} is cut off")
        _add_entry(number + 1, entry_kind, entry, contents)
    if not contents.outline:
        contents.add_gap("no entry stands in it")


def _add_entry(number: int, kind: str, lines: list[str], contents: FileContents) -> None:
    values = {line.partition(":")[0].partition(";")[0].upper(): line.partition(":")[2] for line in reversed(lines)}
    start = values.get("DTSTART") or values.get("DUE") or ""
    title = _unescape_value(values.get("SUMMARY", "")) or kind
    contents.begin_section(f"entry {number}: {title[:70]}{', ' + _format_date(start) if start else ''}")
    contents.add_text(f"[entry {number}]\n")
    for line in lines:
        head, _, value = line.partition(":")
        if "ENCODING=BASE64" in head.upper() and len(value) > _LONGEST_INLINE_VALUE:
            contents.add_gap("files attached to its entries are not read")
            value = "(a file)"
        shown_value = (
            _format_date(value) if head.upper().startswith(("DT", "DUE", "RECURRENCE-ID")) else _unescape_value(value)
        )
        contents.add_text(f"{head}: {shown_value}\n")
    contents.add_text("\n")


def _format_date(value: str) -> str:
    """Return `20260102T030405Z` as `2026-01-02 03:04 UTC`; other text unchanged."""
    match = _DATE.fullmatch(value.strip())
    if not match:
        return value.strip()
    time = f" {match[4]}:{match[5]}" if match[4] else ""
    return f"{match[1]}-{match[2]}-{match[3]}{time}{' UTC' if match[6] else ''}"


def _unescape_value(value: str) -> str:
    return re.sub(r"\\([,;\\nN])", lambda match: "\n" if match[1] in "nN" else match[1], value).strip()
