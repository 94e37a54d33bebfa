"""Reads a diff. Its outline lists the files, and their hunks by the first line in the new file."""

from __future__ import annotations

import re

from specialists.formats.contents import FileContents
from specialists.reading.plain_text import add_with_line_outline, decode_file

_FILE = re.compile(r'(?:diff --git .*? "?b/(?P<git>.+?)"?|Index: (?P<svn>.+)|\+\+\+ (?P<new>[^\t]+)(?:\t.*)?)$')
_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)")
_COMMIT = re.compile(r"(?:From|commit) ([0-9a-f]{7})[0-9a-f]{0,33}\b")
_MAX_PLACES = 600


def read_diff(data: bytes, name: str, contents: FileContents) -> None:
    """Read a unified diff of git, svn or diff. Any other text is read as plain text.

    In a hunk, each line of the new file gets its number in front: findings name lines, and models count badly.
    """
    del name
    text = decode_file(data, contents)
    numbered = _NumberedDiff()
    places: list[tuple[str, int, bool]] = []
    file, old, before = "", "", ""
    for line in text.splitlines(keepends=True):
        start = numbered.size
        if numbered.add_line(line):
            before = line
            continue
        found = _FILE.match(line.rstrip("\n"))
        # An added line may itself begin with "++"; a file name is only read right after the "---" line of the old file.
        if found and (not found["new"] or before.startswith("--- ")):
            path = next(part for part in found.groups() if part).strip()
            path = old if path == "/dev/null" else path.removeprefix("b/") if found["new"] else path
            if path != file:
                places.append((path, start, True))
            file = path
        elif line.startswith("--- "):
            old = line[4:].partition("\t")[0].strip().removeprefix("a/")
        elif hunk := _HUNK.match(line):
            about = f", {hunk[4].strip()[:60]}" if hunk[4].strip() else ""
            places.append((f"{file} line {hunk[2]}{about}", start, False))
            numbered.begin_hunk(int(hunk[1] or 1), int(hunk[2]), int(hunk[3] or 1))
        elif commit := _COMMIT.match(line):
            places.append((f"commit {commit[1]}", start, True))
            file = ""
        before = line
    if not any(place[2] for place in places):
        add_with_line_outline(text, contents)
        return
    if len(places) > _MAX_PLACES:
        contents.add_note(f"the outline names the files of the diff, not its {len(places):,} places")
        places = [place for place in places if place[2]]
    contents.add_text(numbered.text)
    contents.outline = [(name, place) for name, place, _ in places]


class _NumberedDiff:
    """The lines of a diff, with the line numbers of the new file. `size` is the length of the text so far."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._left = (0, 0)
        self._number = 0
        self.size = 0

    @property
    def text(self) -> str:
        return "".join(self._lines)

    def begin_hunk(self, old_count: int, first_line: int, new_count: int) -> None:
        """Begin a hunk.

        `old_count` and `new_count` are its numbers of lines in the old and the new file; `first_line` is its first line
        in the new file.
        """
        self._left, self._number = (old_count, new_count), first_line

    def add_line(self, line: str) -> bool:
        """Add a line. Returns True if it belongs to the hunk that was begun."""
        old, new = self._left
        kind = line[:1]
        inside = bool(old or new) and kind in {"+", "-", " ", "\n", "\\"}
        if not inside:
            self._left = (0, 0)
        elif kind in {"+", " ", "\n"}:
            self._left = (old if kind == "+" else max(0, old - 1), max(0, new - 1))
            line = f"{self._number} {line}"
            self._number += 1
        elif kind == "-":
            self._left = (max(0, old - 1), new)
        self._lines.append(line)
        self.size += len(line)
        return inside
