"""Reads text without markup, whatever its encoding, and says in its outline where one is: logs, code, and the rest."""

from __future__ import annotations

from specialists.reading.contents import Contents, Unreadable
from specialists.reading.encodings import NoText, decoded

_MOST_STEPS = 40
_STEPS = (50, 100, 200, 500)


def read_text(data: bytes, name: str, contents: Contents) -> None:
    """Read a text whose lines are all there is to cite."""
    del name
    lines_outlined(text_of(data, contents), contents)


def text_of(data: bytes, contents: Contents) -> str:
    """Decode a file that is text. What is doubtful becomes a gap.

    Raises:
        Unreadable: it is binary.
    """
    try:
        text, doubt = decoded(data)
    except NoText:
        raise Unreadable(
            "is a binary file of a kind that cannot be read here; attach its content as PDF, Word or plain text"
        ) from None
    if not text.strip():
        raise Unreadable("holds nothing but blanks; attach it again")
    if doubt:
        contents.gap(doubt)
    return text


def lines_outlined(text: str, contents: Contents) -> None:
    """Take the text as it is, with the number of a line every so often as its outline."""
    lines = text.split("\n")
    step = step_for(len(lines))
    for number, line in enumerate(lines, start=1):
        if number % step == 1 and (number == 1 or line or number < len(lines)):
            contents.section(f"line {number}")
        contents.say(line + "\n" if number < len(lines) else line)


def step_for(lines: int) -> int:
    """Say after how many lines an outline names the next one, so that it stays short."""
    power = 1
    while True:
        for step in _STEPS:
            if lines <= step * power * _MOST_STEPS:
                return step * power
        power *= 10
