"""Collects what readers find in a file, inside the child process, and limits the inner files that are passed on."""

from __future__ import annotations

import mimetypes
import re
from dataclasses import dataclass, field

MAX_CHARACTERS = 2_000_000
MAX_SECTIONS = 1_000
MAX_PICTURES = 20
MAX_TOTAL_PICTURE_BYTES = 24 * 1024 * 1024
_MAX_NAME_LENGTH = 120
_UNENCODABLE = re.compile("[\x00\ud800-\udfff]")


class UnreadableFile(Exception):
    """Raised if nothing of a file can be read. The text continues a sentence that begins with the file's name."""


@dataclass(frozen=True, slots=True)
class Blob:
    """Bytes with a name and a media type: a picture, or a file inside the file."""

    name: str
    media_type: str
    data: bytes


@dataclass(slots=True)
class FileContents:
    """The text of a file so far, its outline, and the pictures and inner files in it.

    Attributes:
        outline: For each section its name and the index of its first character.
        skipped_per_section: The number of sections left out after each one in the outline; set by `finish_text`.
        gaps: Short phrases for people about what is missing.
        notes: Short phrases for people about how the file was read.
    """

    pieces: list[str] = field(default_factory=list)
    length: int = 0
    outline: list[tuple[str, int]] = field(default_factory=list)
    pictures: list[Blob] = field(default_factory=list)
    inner_files: list[Blob] = field(default_factory=list)
    gaps: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    skipped_per_section: int = 0

    def add_text(self, text: str) -> None:
        """Append text, and add its characters to `length`."""
        self.pieces.append(text)
        self.length += len(text)

    def begin_section(self, name: str) -> None:
        """Begin a section at the end of the text so far."""
        self.outline.append((" ".join(name.split())[:_MAX_NAME_LENGTH], self.length))

    def add_gap(self, text: str) -> None:
        """Add a phrase about what is missing, unless it is there already."""
        if text not in self.gaps:
            self.gaps.append(text)

    def add_note(self, text: str) -> None:
        """Add a phrase about how the file was read, unless it is there already."""
        if text not in self.notes:
            self.notes.append(text)

    def add_picture(self, name: str, media_type: str, data: bytes) -> bool:
        """Add a picture. Return False, and add nothing, if there would be too many pictures or bytes of pictures."""
        picture_bytes = sum(len(picture.data) for picture in self.pictures)
        if len(self.pictures) >= MAX_PICTURES or picture_bytes + len(data) > MAX_TOTAL_PICTURE_BYTES:
            return False
        self.pictures.append(Blob(name, media_type, data))
        return True

    @property
    def is_full(self) -> bool:
        """True if further text would be cut off."""
        return self.length > MAX_CHARACTERS

    def finish_text(self, *, stopped_early: bool = False) -> str:
        """Return the text, at most `MAX_CHARACTERS` of it, and fit the outline to it.

        A longer text keeps its beginning and its end, since the last lines of a log matter most. With `stopped_early`,
        the end of the file was never read, so only the beginning is kept.
        """
        text = replace_unencodable("".join(self.pieces))
        if len(text) > MAX_CHARACTERS:
            text = self._cut_to_beginning(text) if stopped_early else self._cut_out_middle(text)
        if len(self.outline) > MAX_SECTIONS:
            every = -(-len(self.outline) // MAX_SECTIONS)
            self.add_note(f"the outline names one in {every} of its {len(self.outline):,} sections")
            self.outline, self.skipped_per_section = self.outline[::every], every - 1
        self.outline = _number_repeated_names([(replace_unencodable(name), start) for name, start in self.outline])
        self.gaps = [replace_unencodable(gap) for gap in self.gaps]
        self.notes = [replace_unencodable(note) for note in self.notes]
        return text

    def _cut_to_beginning(self, text: str) -> str:
        self.add_gap(f"only the first {MAX_CHARACTERS:,} characters are read")
        self.outline = [(name, start) for name, start in self.outline if start < MAX_CHARACTERS]
        return text[:MAX_CHARACTERS]

    def _cut_out_middle(self, text: str) -> str:
        half = MAX_CHARACTERS // 2
        left_out = len(text) - 2 * half
        mark = f"\n[{left_out:,} characters left out here]\n"
        self.add_gap(f"{left_out:,} of {len(text):,} characters, in the middle, are left out")
        kept_sections = [(name, start) for name, start in self.outline if start < half]
        continued_names = [name for name, start in self.outline if half <= start < half + left_out][-1:]
        # The section in which the kept end begins.
        kept_sections += [(name, half + len(mark)) for name in continued_names]
        kept_sections += [
            (name, start - left_out + len(mark)) for name, start in self.outline if start >= half + left_out
        ]
        self.outline = kept_sections
        return text[:half] + mark + text[half + left_out :]


def replace_unencodable(text: str) -> str:
    """Replace NUL, and single halves of surrogate pairs, by U+FFFD."""
    return _UNENCODABLE.sub("\ufffd", text)


def _number_repeated_names(outline: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Return the outline with repeated names numbered, so that each section can be cited."""
    name_counts: dict[str, int] = {}
    numbered_outline = []
    for name, start in outline:
        name_counts[name] = name_counts.get(name, 0) + 1
        numbered_outline.append((f"{name} ({name_counts[name]})" if name_counts[name] > 1 else name, start))
    return numbered_outline


MAX_INNER_FILES = 100
MAX_INNER_FILE_BYTES = 32 * 1024 * 1024
MAX_TOTAL_FILE_BYTES = 64 * 1024 * 1024
_MAX_LISTED_NAMES = 5
_INVISIBLE = re.compile("[\ud800-\udfff\x00-\x1f\x7f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")


class InnerFileAllowance:
    """Limits the inner files that a file may pass on. Refused ones are counted, and reported by `report_refused`."""

    def __init__(self, contents: FileContents) -> None:
        """Start with the full allowance. Accepted files are added to `contents`."""
        self._contents = contents
        self._bytes_left = MAX_TOTAL_FILE_BYTES
        self._names = {blob.name for blob in contents.inner_files}
        self._refused_names: list[str] = []

    def has_room(self, size: int) -> bool:
        """Return True if a file of that size would be accepted."""
        return len(self._contents.inner_files) < MAX_INNER_FILES and size <= min(MAX_INNER_FILE_BYTES, self._bytes_left)

    def accept_or_refuse(self, blob: Blob) -> None:
        """Accept a file if there is room, under a unique name; otherwise refuse it."""
        if not self.has_room(len(blob.data)):
            self.refuse(blob.name)
            return
        name, number = make_safe_name(blob.name), 1
        while name in self._names:
            number += 1
            stem, dot, ending = make_safe_name(blob.name).rpartition(".")
            name = f"{stem} ({number}).{ending}" if dot else f"{ending} ({number})"
        self._names.add(name)
        self._bytes_left -= len(blob.data)
        self._contents.inner_files.append(Blob(name, blob.media_type, blob.data))

    def refuse(self, name: str) -> None:
        """Record a file that is not passed on, since the files are too many or too large."""
        self._refused_names.append(make_safe_name(name))

    def report_refused(self) -> None:
        """Add a gap about the refused files."""
        if self._refused_names:
            listed_names = ", ".join(self._refused_names[:_MAX_LISTED_NAMES]) + (
                " and others" if len(self._refused_names) > _MAX_LISTED_NAMES else ""
            )
            self._contents.add_gap(
                f"{len(self._refused_names):,} of the files inside are not read, "
                f"too many or too large at once: {listed_names}"
            )


def guess_media_type(name: str) -> str:
    """Return the media type that goes with a file name; "" if none does."""
    return mimetypes.guess_type(name)[0] or ""


def make_safe_name(name: str) -> str:
    """Return a safe name for an inner file: a relative path of at most 200 characters, without invisible ones."""
    parts = [part for part in _INVISIBLE.sub("", name).replace("\\", "/").split("/") if part not in ("", ".", "..")]
    return "/".join(parts)[-200:].strip() or "unnamed"
