"""The result of reading a file: its text with an outline, its pictures, inner files, and what could not be read."""

from __future__ import annotations

from dataclasses import dataclass

from handoff.contracts import Section
from specialists.model import Picture


@dataclass(frozen=True, slots=True)
class InnerFile:
    """A file inside a file: a member of an archive, or an attachment of a mail. `data` are its bytes."""

    name: str
    media_type: str
    data: bytes


@dataclass(frozen=True, slots=True)
class FileReading:
    """The contents of a file.

    Attributes:
        text: Its text.
        outline: Its sections in the order of the text, each with the index of its first character. A section such as
            `page 3: Risks`, `slide 4: Revenue` or `line 120: def total` is cited by the part before the colon.
        pictures: The picture itself, under the file's name, or pages and slides that are only pictures (`scan.pdf page
            3`). The text says in their place that they are pictures.
        inner_files: The files inside it, one level deep, not read yet.
        gaps: What is missing. Those in `pictures` are not listed, as a model may be able to see them.
        notes: Remarks on how it was read that are no gaps: a guessed encoding, a shortened outline.
        fault: One sentence for people if nothing could be read; otherwise "".
    """

    text: str = ""
    outline: tuple[Section, ...] = ()
    pictures: tuple[Picture, ...] = ()
    inner_files: tuple[InnerFile, ...] = ()
    gaps: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    fault: str = ""
