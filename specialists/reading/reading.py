"""What reading a file brings: its text with an outline, its pictures, the files in it, and what could not be read."""

from __future__ import annotations

from dataclasses import dataclass

from handoff.contracts import Section
from specialists.model import Picture


@dataclass(frozen=True, slots=True)
class FileInside:
    """A file inside a file: a member of an archive, or an attachment of a mail. `data` are its bytes."""

    name: str
    media_type: str
    data: bytes


@dataclass(frozen=True, slots=True)
class FileReading:
    """What a file holds. `fault` is one sentence for people where nothing could be read; `gaps` say what is missing.

    `outline` is in the order of the text, each section with the place of its first character. Of a section such as
    `page 3: Risks`, `slide 4: Revenue` or `line 120: def total`, what stands before the colon is what it is cited by.
    `pictures` are the picture itself (by the file's own name), or pages and slides that are nothing else
    (`scan.pdf page 3`); the text says in their place that they are pictures. `gaps` do not name them, as a model may be
    able to see them. `inside` are the files in it, one level deep, not read yet.
    `notes` say how it was read, where nothing is missing: an encoding that was guessed, an outline that is shortened.
    """

    text: str = ""
    outline: tuple[Section, ...] = ()
    pictures: tuple[Picture, ...] = ()
    inside: tuple[FileInside, ...] = ()
    gaps: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    fault: str = ""
