"""A diff is read with the numbers of the new file's lines, and its outline leads to its hunks."""

from __future__ import annotations

from pathlib import Path

from handoff.contracts import Material, Section
from handoff.materials.outline import summarize_outline
from specialists.formats.contents import FileContents
from specialists.reading.diff_hunks import read_diff
from specialists.tools.code.diff_text import find_commentable_lines, split_by_file, summarize_diff
from tests.bench.made_change import FILES, LINES, made_change

DIFF = """\
diff --git a/a.py b/a.py
--- a/a.py
+++ b/a.py
@@ -9,4 +9,4 @@ def one():
 kept
-gone
--- gone too
+new
+++ new with two pluses
 kept
@@ -40 +40,2 @@
-x
+y
+z
\\ No newline at end of file
diff --git a/old.py b/old.py
deleted file mode 100644
--- a/old.py
+++ /dev/null
@@ -1,2 +0,0 @@
-a
-b
"""


def read(text: str) -> tuple[str, list[tuple[str, int]]]:
    contents = FileContents()
    read_diff(text.encode(), "change.diff", contents)
    return contents.finish_text(), contents.outline


def test_each_line_of_the_new_file_has_its_number() -> None:
    text, outline = read(DIFF)
    assert text.splitlines()[4:11] == [
        "9  kept",
        "-gone",
        "--- gone too",
        "10 +new",
        "11 +++ new with two pluses",
        "12  kept",
        "@@ -40 +40,2 @@",
    ]
    assert "40 +y\n41 +z\n\\ No newline" in text
    assert [name for name, _ in outline] == [
        "a.py",
        "a.py line 9, def one():",
        "a.py line 40",
        "old.py",
        "old.py line 0",
    ]
    assert all(text[start:].startswith(("diff ", "@@ ", "--- ")) for _, start in outline)


def test_what_is_no_diff_is_plain_text() -> None:
    assert read("1 + 1\n- a list\n")[0] == "1 + 1\n- a list\n"


def test_lines_that_can_be_commented_on_are_those_that_the_diff_shows() -> None:
    lines = find_commentable_lines(DIFF.replace("--- gone too\n", "").replace("-9,4 ", "-9,3 "))
    assert not isinstance(lines, str)
    assert lines["a.py"] == {9: 9, 10: 0, 11: 0, 12: 11, 40: 0, 41: 0}
    assert isinstance(find_commentable_lines("--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n x\n"), str)


def test_the_planner_sees_the_files_of_a_large_change(tmp_path: Path) -> None:
    _, diff = made_change(tmp_path / "r")
    assert diff.count("\n") >= LINES
    assert len(split_by_file(diff)) == len(summarize_diff(diff)) == FILES
    text, outline = read(diff)
    sections = tuple(Section(name=name, start=start) for name, start in outline)
    material = Material(name="change.diff", size=len(text), outline=sections)
    assert all(name in summarize_outline(material, 2_400) for name in split_by_file(diff))
    assert len(text) / len(diff) < 1.2
