"""Reads plain text of any encoding. Its outline is the functions of code, the times of a log, or line numbers."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from specialists.formats.contents import FileContents, UnreadableFile
from specialists.formats.encodings import DecodedText, NotText, decode_text
from specialists.reading.code_outline import list_definitions

_TIME = re.compile(
    r"\d{4}[-/.]\d\d[-/.]\d\d[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?"  # 2026-01-02 03:04:05,678
    r"|\d\d/(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)/\d{4}:\d\d:\d\d:\d\d"  # a web server's
    r"|(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) )?(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) +\d{1,2} \d\d:\d\d:\d\d"
    r"|\d\d[-/.]\d\d[-/.]\d{2,4} \d\d:\d\d:\d\d"
    r"|\d\d:\d\d:\d\d[.,]\d+|\[\s*\d+\.\d{3,6}\]"  # seconds since the start, as kernels write
)
_TIME_WITHIN = 80
_SAMPLE_LINES = 400


def find_time(line: str) -> str:
    """Return the time near the beginning of a line, as written; "" if there is none."""
    found = _TIME.search(line[:_TIME_WITHIN])
    return found[0] if found else ""


def looks_like_log(lines: list[str]) -> bool:
    """Return True if lines are a log: a third of them begin with a time, not counting indented and empty lines."""
    sample = [line for line in lines[:_SAMPLE_LINES] if line.strip() and not line[0].isspace()]
    return len(sample) >= 3 and sum(bool(find_time(line)) for line in sample) * 3 >= len(sample)


_MAX_STEPS = 40
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
        read = decode_text(data)
    except NotText:
        raise UnreadableFile(
            "is a binary file of a kind that cannot be read here; attach its content as PDF, Word or plain text"
        ) from None
    if not read.text.strip():
        raise UnreadableFile("holds nothing but blanks; attach it again")
    report_decoding(read, contents)
    return read.text


def report_decoding(decoded: DecodedText, contents: FileContents) -> None:
    """Add what is doubtful about a decoding as a gap, and a guessed encoding as a note."""
    if decoded.doubt:
        contents.add_gap(decoded.doubt)
    if decoded.note:
        contents.add_note(decoded.note)


def add_with_line_outline(text: str, contents: FileContents) -> None:
    """Add a text, with a line number at regular steps as its outline; in a log with its time."""
    lines = text.split("\n")
    step = choose_step(len(lines))
    log = looks_like_log(lines)
    last = 0
    places = []
    for number in range(1, len(lines) + 1, step):
        time = next(filter(None, map(find_time, lines[number - 1 : number + step - 1])), "") if log else ""
        if number == 1 or number < len(lines):
            places.append((number, time))
    if log and (last := next((n for n in range(len(lines), 0, -1) if find_time(lines[n - 1])), 0)) > places[-1][0]:
        places.append((last, find_time(lines[last - 1])))
    add_with_outline(text, places, contents)


def add_with_outline(text: str, places: list[tuple[int, str]], contents: FileContents) -> None:
    """Add a text, with an outline of some of its lines: pairs of (line from 1, its words or "")."""
    starts, start = [0], 0
    while (start := text.find("\n", start) + 1) > 0:
        starts.append(start)
    before = contents.length
    contents.add_text(text)
    contents.outline += [
        (f"line {number}{': ' + ' '.join(words.split()) if words else ''}"[:120], before + starts[number - 1])
        for number, words in places
    ]


def choose_step(lines: int) -> int:
    """Return how many lines apart the entries of an outline are, so that it has at most `_MAX_STEPS`."""
    power = 1
    while True:
        for step in _STEP_SIZES:
            if lines <= step * power * _MAX_STEPS:
                return step * power
        power *= 10
