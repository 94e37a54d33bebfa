"""Reads a diff as it is: its outline are the files, and the hunks of each by the line they begin at in the new file."""

from __future__ import annotations

import re

from specialists.reading.contents import Contents
from specialists.reading.plain_text import lines_outlined, text_of

_FILE = re.compile(r'(?:diff --git .*? "?b/(?P<git>.+?)"?|Index: (?P<svn>.+)|\+\+\+ (?P<new>[^\t]+)(?:\t.*)?)$')
_HUNK = re.compile(r"@@ -\d+(?:,\d+)? \+(\d+)(?:,\d+)? @@ ?(.*)")
_COMMIT = re.compile(r"(?:From|commit) ([0-9a-f]{7})[0-9a-f]{0,33}\b")
_MOST = 600


def read_diff(data: bytes, name: str, contents: Contents) -> None:
    """Read a unified diff, of git, svn or diff. What is none is read as plain text."""
    del name
    text = text_of(data, contents)
    places: list[tuple[str, int, bool]] = []
    start, file, old, before = 0, "", "", ""
    for line in text.splitlines(keepends=True):
        found = _FILE.match(line.rstrip("\n"))
        # A line that was added may begin with two pluses of its own; the name of a file follows that of the old one.
        if found and (not found["new"] or before.startswith("--- ")):
            path = next(part for part in found.groups() if part).strip()
            path = old if path == "/dev/null" else path.removeprefix("b/") if found["new"] else path
            if path != file:
                places.append((path, start, True))
            file = path
        elif line.startswith("--- "):
            old = line[4:].partition("\t")[0].strip().removeprefix("a/")
        elif hunk := _HUNK.match(line):
            about = f", {hunk[2].strip()[:60]}" if hunk[2].strip() else ""
            places.append((f"{file} line {hunk[1]}{about}", start, False))
        elif commit := _COMMIT.match(line):
            places.append((f"commit {commit[1]}", start, True))
            file = ""
        start, before = start + len(line), line
    if not any(place[2] for place in places):
        lines_outlined(text, contents)
        return
    if len(places) > _MOST:
        contents.gap(f"the outline names the files of the diff, not its {len(places):,} places")
        places = [place for place in places if place[2]]
    contents.say(text)
    contents.outline = [(name, place) for name, place, _ in places]
