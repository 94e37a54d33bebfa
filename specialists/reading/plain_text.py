"""Reads plain text of any encoding. Its outline is the functions of code, the times of a log, or line numbers."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from specialists.formats.contents import FileContents, UnreadableFile
from specialists.formats.encodings import DecodedText, NotText, decode_text
from specialists.reading.code_outline import list_definitions

_TIMESTAMP = re.compile(
    r"\d{4}[-/.]\d\d[-/.]\d\d[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?"  # 2026-01-02 03:04:05,678
    r"|\d\d/(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)/\d{4}:\d\d:\d\d:\d\d"  # a web server's
    r"|(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) )?(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) +\d{1,2} \d\d:\d\d:\d\d"
    r"|\d\d[-/.]\d\d[-/.]\d{2,4} \d\d:\d\d:\d\d"
    r"|\d\d:\d\d:\d\d[.,]\d+|\[\s*\d+\.\d{3,6}\]"  # seconds since the start, as kernels write
)
_MAX_TIMESTAMP_COLUMN = 80
_SAMPLE_LINES = 400


def find_timestamp(line: str) -> str:
    """Return the time near the beginning of a line, as written; "" if there is none."""
    match = _TIMESTAMP.search(line[:_MAX_TIMESTAMP_COLUMN])
    return match[0] if match else ""


def looks_like_log(lines: list[str]) -> bool:
    """Return True if a third of the lines or more has a time near its beginning; indented lines do not count."""
    sample = [line for line in lines[:_SAMPLE_LINES] if line.strip() and not line[0].isspace()]
    return len(sample) >= 3 and sum(bool(find_timestamp(line)) for line in sample) * 3 >= len(sample)


_MAX_OUTLINE_ENTRIES = 40
_STEP_SIZES = (50, 100, 200, 500)


def read_text(data: bytes, name: str, contents: FileContents) -> None:
    """Read a text without markup: code, a log, or any other text."""
    text = decode_file(data, contents)
    places = list_definitions(text, PurePosixPath(name.lower()).suffix)
    if places:
        add_with_outline(text, places, contents)
    else:
        add_with_line_outline(text, contents)


def decode_file(data: bytes, contents: FileContents) -> str:
    """Decode a text file. Doubts about the decoding become a gap, a guessed encoding becomes a note.

    Raises:
        UnreadableFile: it is binary or blank.
    """
    try:
        decoded_text = decode_text(data)
    except NotText:
        raise UnreadableFile(
            "is a binary file of a kind that cannot be read here; attach its content as PDF, Word or plain text"
        ) from None
    if not decoded_text.text.strip():
        raise UnreadableFile("holds nothing but blanks; attach it again")
    report_decoding(decoded_text, contents)
    return decoded_text.text


def report_decoding(decoded_text: DecodedText, contents: FileContents) -> None:
    """Add a doubt about a decoding as a gap, and a guessed encoding as a note."""
    if decoded_text.doubt:
        contents.add_gap(decoded_text.doubt)
    if decoded_text.note:
        contents.add_note(decoded_text.note)


def add_with_line_outline(text: str, contents: FileContents) -> None:
    """Add a text, with every n-th line number as its outline; in a log, each with a time."""
    lines = text.split("\n")
    step = choose_outline_step(len(lines))
    is_log = looks_like_log(lines)
    last_line = 0
    entries = []
    for number in range(1, len(lines) + 1, step):
        time = next(filter(None, map(find_timestamp, lines[number - 1 : number + step - 1])), "") if is_log else ""
        if number == 1 or number < len(lines):
            entries.append((number, time))
    if (
        is_log
        and (last_line := next((n for n in range(len(lines), 0, -1) if find_timestamp(lines[n - 1])), 0))
        > entries[-1][0]
    ):
        entries.append((last_line, find_timestamp(lines[last_line - 1])))
    add_with_outline(text, entries, contents)


def add_with_outline(text: str, entries: list[tuple[int, str]], contents: FileContents) -> None:
    """Add a text, with an outline of some of its lines: pairs of (line from 1, its words or "")."""
    starts, start = [0], 0
    while (start := text.find("\n", start) + 1) > 0:
        starts.append(start)
    offset = contents.length
    contents.add_text(text)
    contents.outline += [
        (f"line {number}{': ' + ' '.join(words.split()) if words else ''}"[:120], offset + starts[number - 1])
        for number, words in entries
    ]


def choose_outline_step(line_count: int) -> int:
    """Return the number of lines from one outline entry to the next, for at most `_MAX_OUTLINE_ENTRIES` entries."""
    power = 1
    while True:
        for step in _STEP_SIZES:
            if line_count <= step * power * _MAX_OUTLINE_ENTRIES:
                return step * power
        power *= 10
