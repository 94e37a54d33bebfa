"""Reads plain text of any encoding. Its outline is the functions of code, the times of a log, or line numbers."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from specialists.formats.contents import Contents, Unreadable
from specialists.formats.encodings import Decoded, NoText, decode_text
from specialists.reading.code_outline import code_places

_TIME = re.compile(
    r"\d{4}[-/.]\d\d[-/.]\d\d[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?"  # 2026-01-02 03:04:05,678
    r"|\d\d/(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)/\d{4}:\d\d:\d\d:\d\d"  # a web server's
    r"|(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) )?(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) +\d{1,2} \d\d:\d\d:\d\d"
    r"|\d\d[-/.]\d\d[-/.]\d{2,4} \d\d:\d\d:\d\d"
    r"|\d\d:\d\d:\d\d[.,]\d+|\[\s*\d+\.\d{3,6}\]"  # seconds since the start, as kernels write
)
_BEGIN = 80
_SAMPLE = 400


def time_of(line: str) -> str:
    """Return the time near the beginning of a line, as written; "" if there is none."""
    found = _TIME.search(line[:_BEGIN])
    return found[0] if found else ""


def is_log(lines: list[str]) -> bool:
    """Return True if lines are a log: a third of them begin with a time, not counting indented and empty lines."""
    sample = [line for line in lines[:_SAMPLE] if line.strip() and not line[0].isspace()]
    return len(sample) >= 3 and sum(bool(time_of(line)) for line in sample) * 3 >= len(sample)


_MOST_STEPS = 40
_STEPS = (50, 100, 200, 500)


def read_text(data: bytes, name: str, contents: Contents) -> None:
    """Read a text without markup: code, a log, or any other text."""
    text = text_of(data, contents)
    places = code_places(text, PurePosixPath(name.lower()).suffix)
    if places:
        outline_places(text, places, contents)
    else:
        outline_lines(text, contents)


def text_of(data: bytes, contents: Contents) -> str:
    """Decode a text file. Doubts about the decoding become a gap, a guessed encoding becomes a note.

    Raises:
        Unreadable: it is binary or blank.
    """
    try:
        read = decode_text(data)
    except NoText:
        raise Unreadable(
            "is a binary file of a kind that cannot be read here; attach its content as PDF, Word or plain text"
        ) from None
    if not read.text.strip():
        raise Unreadable("holds nothing but blanks; attach it again")
    note_decoding(read, contents)
    return read.text


def note_decoding(read: Decoded, contents: Contents) -> None:
    """Add what is doubtful about a decoding as a gap, and a guessed encoding as a note."""
    if read.doubt:
        contents.add_gap(read.doubt)
    if read.note:
        contents.add_note(read.note)


def outline_lines(text: str, contents: Contents) -> None:
    """Add a text, with a line number at regular steps as its outline; in a log with its time."""
    lines = text.split("\n")
    step = step_for(len(lines))
    log = is_log(lines)
    last = 0
    places = []
    for number in range(1, len(lines) + 1, step):
        time = next(filter(None, map(time_of, lines[number - 1 : number + step - 1])), "") if log else ""
        if number == 1 or number < len(lines):
            places.append((number, time))
    if log and (last := next((n for n in range(len(lines), 0, -1) if time_of(lines[n - 1])), 0)) > places[-1][0]:
        places.append((last, time_of(lines[last - 1])))
    outline_places(text, places, contents)


def outline_places(text: str, places: list[tuple[int, str]], contents: Contents) -> None:
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


def step_for(lines: int) -> int:
    """Return how many lines apart the entries of an outline are, so that it has at most `_MOST_STEPS`."""
    power = 1
    while True:
        for step in _STEPS:
            if lines <= step * power * _MOST_STEPS:
                return step * power
        power *= 10
