"""Reads a calendar file: each entry with its dates, folded lines joined, attached files left out."""

from __future__ import annotations

import re

from specialists.formats.contents import FileContents
from specialists.reading.plain_text import decode_file

_ENTRY_KINDS = ("VEVENT", "VTODO", "VJOURNAL", "VFREEBUSY")
_FOLDED = re.compile(r"\n[ \t]")
_DATE = re.compile(r"(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)\d\d(Z?))?")
_LONGEST_INLINE = 200


def read_calendar(data: bytes, name: str, contents: FileContents) -> None:
    """Read the entries of an .ics file in order. Their recurrence rules are shown, not expanded."""
    del name
    text = _FOLDED.sub("", decode_file(data, contents))
    entry: list[str] = []
    number = 0
    inside = ""
    for line in text.split("\n"):
        head, _, value = line.partition(":")
        if not inside and head.upper() == "BEGIN" and value.strip().upper() in _ENTRY_KINDS:
            inside, entry = value.strip().upper(), []
        elif inside and head.upper() == "END" and value.strip().upper() == inside:
            number += 1
            _add_entry(number, inside, entry, contents)
            inside = ""
        elif inside:
            entry.append(line)
        elif line.strip() and head.upper() not in ("BEGIN", "END", "PRODID", "VERSION"):
            contents.add_text(line + "\n")
    if inside:
        contents.add_gap(f"its end is missing: entry {number + 1} is cut off")
        _add_entry(number + 1, inside, entry, contents)
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
        if "ENCODING=BASE64" in head.upper() and len(value) > _LONGEST_INLINE:
            contents.add_gap("files attached to its entries are not read")
            value = "(a file)"
        shown = (
            _format_date(value) if head.upper().startswith(("DT", "DUE", "RECURRENCE-ID")) else _unescape_value(value)
        )
        contents.add_text(f"{head}: {shown}\n")
    contents.add_text("\n")


def _format_date(value: str) -> str:
    """Return `20260102T030405Z` as `2026-01-02 03:04 UTC`; other text unchanged."""
    found = _DATE.fullmatch(value.strip())
    if not found:
        return value.strip()
    time = f" {found[4]}:{found[5]}" if found[4] else ""
    return f"{found[1]}-{found[2]}-{found[3]}{time}{' UTC' if found[6] else ''}"


def _unescape_value(value: str) -> str:
    return re.sub(r"\\([,;\\nN])", lambda found: "\n" if found[1] in "nN" else found[1], value).strip()
