"""What reading a file brings: its text with an outline, its pictures, the files in it, and what could not be read."""

from __future__ import annotations

from dataclasses import dataclass

from handoff.contracts import Section
from specialists.turns.model import Picture


@dataclass(frozen=True, slots=True)
class FileInside:
    """A file inside a file: a member of an archive, or an attachment of a mail. `data` are its bytes."""

    name: str
    media_type: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Reading:
    """What a file holds. `fault` is one sentence for people where nothing could be read; `gaps` say what is missing.

    `outline` is in the order of the text, each section with the place of its first character. `pictures` are the
    picture itself, or pages that have no text. `inside` are the files in it, one level deep, which are not read yet.
    """

    text: str = ""
    outline: tuple[Section, ...] = ()
    pictures: tuple[Picture, ...] = ()
    inside: tuple[FileInside, ...] = ()
    gaps: tuple[str, ...] = ()
    fault: str = ""
