"""Reads a diff: a summary of its files and hunks, the part of each file, and the lines of new files that it shows."""

from __future__ import annotations

import re
from collections.abc import Mapping

from specialists.tools.extras import describe_unavailable_tool

_FILE_START = re.compile(r"^(?=diff --git )", re.MULTILINE)
_NEW_PATH = re.compile(r'^\+\+\+ "?(?:b/)?(.+?)"?\t?$', re.MULTILINE)
_GIT_HEADER = re.compile(r'diff --git "?a/.*? "?b/(.+?)"?$', re.MULTILINE)
_HUNK_HEADER = re.compile(r"^@@ -\d+(?:,\d+)? \+(\d+)(?:,(\d+))? @@ ?(.*)$", re.MULTILINE)


def summarize_diff(text: str) -> list[str]:
    """Return one line for each file of a diff: the numbers of added and removed lines, and its first 12 hunks."""
    lines = []
    for path, part in split_by_file(text).items():
        body = part.partition("\n@@ ")[2]
        added_count = sum(line.startswith("+") for line in body.splitlines())
        removed_count = sum(line.startswith("-") for line in body.splitlines())
        hunks = [f"{match[1]} {match[3].strip()[:40]}".strip() for match in _HUNK_HEADER.finditer(part)]
        lines.append(
            f"{path} (+{added_count} -{removed_count}) at {', '.join(hunks[:12])}{', …' if len(hunks) > 12 else ''}"
        )
    return lines


def split_by_file(text: str) -> dict[str, str]:
    """Return the diff of each file, by its path in the new version; for a deleted file, in the old version."""
    diff_by_path: dict[str, str] = {}
    for part in _FILE_START.split(text):
        new_path, git_header = _NEW_PATH.search(part), _GIT_HEADER.match(part)
        path = new_path[1] if new_path and new_path[1] != "/dev/null" else git_header[1] if git_header else ""
        if path:
            diff_by_path[path] = diff_by_path.get(path, "") + part
    return diff_by_path


def find_commentable_lines(text: str) -> Mapping[str, Mapping[int, int]] | str:
    """Return the lines that a diff shows, by path: new line number -> old line number, 0 for an added line.

    If unidiff is missing, or the diff is damaged, returns a sentence that says so.
    """
    if absent := describe_unavailable_tool("code", "unidiff"):
        return absent
    from unidiff import PatchSet, UnidiffParseError  # noqa: PLC0415  # only before a review is posted

    try:
        files = PatchSet(text)
    except UnidiffParseError as error:
        return f"The diff cannot be read: {str(error)[:200]}"
    return {
        file.path: {
            line.target_line_no: 0 if line.is_added else line.source_line_no or 0
            for hunk in file
            for line in hunk
            if line.target_line_no is not None
        }
        for file in files
    }
