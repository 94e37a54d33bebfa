"""Reads a diff. Its outline lists the files, and their hunks by the first line in the new file."""

from __future__ import annotations

import re

from specialists.formats.contents import FileContents
from specialists.reading.plain_text import add_with_line_outline, decode_file

_FILE_LINE = re.compile(r'(?:diff --git .*? "?b/(?P<git>.+?)"?|Index: (?P<svn>.+)|\+\+\+ (?P<new>[^\t]+)(?:\t.*)?)$')
_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)")
_COMMIT = re.compile(r"(?:From|commit) ([0-9a-f]{7})[0-9a-f]{0,33}\b")
_MAX_OUTLINE_ENTRIES = 600


def read_diff(data: bytes, name: str, contents: FileContents) -> None:
    """Read a unified diff of git, svn or diff. Any other text is read as plain text.

    In a hunk, each line of the new file gets its number in front, since findings name lines and models count badly.
    """
    del name
    text = decode_file(data, contents)
    numbered_diff = _NumberedDiff()
    outline_entries: list[tuple[str, int, bool]] = []
    file, old_path, previous_line = "", "", ""
    for line in text.splitlines(keepends=True):
        start = numbered_diff.size
        if numbered_diff.add_line(line):
            previous_line = line
            continue
        match = _FILE_LINE.match(line.rstrip("\n"))
        # An added line may itself begin with "++"; a file name is only read right after the "---" line of the old file.
        if match and (not match["new"] or previous_line.startswith("--- ")):
            path = next(part for part in match.groups() if part).strip()
            path = old_path if path == "/dev/null" else path.removeprefix("b/") if match["new"] else path
            if path != file:
                outline_entries.append((path, start, True))
            file = path
        elif line.startswith("--- "):
            old_path = line[4:].partition("\t")[0].strip().removeprefix("a/")
        elif hunk := _HUNK.match(line):
            heading = f", {hunk[4].strip()[:60]}" if hunk[4].strip() else ""
            outline_entries.append((f"{file} line {hunk[2]}{heading}", start, False))
            numbered_diff.begin_hunk(int(hunk[1] or 1), int(hunk[2]), int(hunk[3] or 1))
        elif commit := _COMMIT.match(line):
            outline_entries.append((f"commit {commit[1]}", start, True))
            file = ""
        previous_line = line
    if not any(place[2] for place in outline_entries):
        add_with_line_outline(text, contents)
        return
    if len(outline_entries) > _MAX_OUTLINE_ENTRIES:
        contents.add_note(f"the outline names the files of the diff, not its {len(outline_entries):,} places")
        outline_entries = [place for place in outline_entries if place[2]]
    contents.add_text(numbered_diff.text)
    contents.outline = [(name, place) for name, place, _ in outline_entries]


class _NumberedDiff:
    """The lines of a diff, with the line numbers of the new file. `size` is the length of the text so far."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._lines_left = (0, 0)
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
        self._lines_left, self._number = (old_count, new_count), first_line

    def add_line(self, line: str) -> bool:
        """Add a line. Returns True if it belongs to the hunk that was begun."""
        old, new = self._lines_left
        kind = line[:1]
        is_in_hunk = bool(old or new) and kind in {"+", "-", " ", "\n", "\\"}
        if not is_in_hunk:
            self._lines_left = (0, 0)
        elif kind in {"+", " ", "\n"}:
            self._lines_left = (old if kind == "+" else max(0, old - 1), max(0, new - 1))
            line = f"{self._number} {line}"
            self._number += 1
        elif kind == "-":
            self._lines_left = (max(0, old - 1), new)
        self._lines.append(line)
        self.size += len(line)
        return is_in_hunk
