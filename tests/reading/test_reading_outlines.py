"""Outlines of what has no pages, and places in long texts, whose outline names only some of the sections."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from handoff.contracts import Material, Section
from handoff.materials.outline import find_part, name_place, summarize_outline
from handoff.materials.passages import find_best_passages
from specialists.formats.contents import MAX_SECTIONS, FileContents
from specialists.reading.file_reading import FileReading

from .conftest import FILES, ReadSample


@pytest.mark.parametrize(
    ("name", "text", "outline"),
    [
        ("a.py", "class A:\n    async def f(self):\n        def inner(): ...\nif 1:\n    def g(): ...\n",
         ["line 1: class A", "line 2: def A.f", "line 5: def g"]),
        ("broken.py", "def f(:\n    pass\nclass B\n", ["line 1: def f", "line 3: class B"]),
        ("a.go", "package main\n\nfunc (s *Server) Run(a int) error {\n}\ntype X struct {\n}\n",
         ["line 1: package main", "line 3: func (s *Server) Run", "line 5: type X"]),
        ("a.ts", "export default class Foo {\n}\nexport const f = async (x) => {\n}\ninterface I {}\n",
         ["line 1: class Foo", "line 3: f", "line 5: interface I"]),
        ("A.java", "public class A {\n    public static void main(String[] args) {\n        foo(1);\n    }\n}\n",
         ["line 1: class A", "line 2: main"]),
        ("a.c", "static int foo(int a,\n  int b)\n{\n  return bar(a);\n}\nvoid bar(void);\nstruct x { int a; };\n",
         ["line 1: foo", "line 7: struct x"]),
        ("a.rs", "pub(crate) fn foo<T>(x: T) {}\nimpl<T> Foo for Bar {}\npub enum E {}\n",
         ["line 1: fn foo<T>", "line 2: impl<T> Foo", "line 3: enum E"]),
        ("a.sql", "CREATE TABLE IF NOT EXISTS users (id int);\nselect 1;\n", ["line 1: table users"]),
        ("a.sh", "#!/bin/sh\nfoo() {\n echo\n}\n", ["line 2: foo"]),
        ("app.log", "Nov 22 23:31:00 h app[1]: a\nNov 22 23:32:00 h app[1]: b\n  trace\nNov 23 00:33:00 h app[1]: c\n",
         ["line 1: Nov 22 23:31:00", "line 4: Nov 23 00:33:00"]),
        ("access.txt", '1.2.3.4 - - [22/Nov/2026:23:31:00 +0000] "GET / HTTP/1.1" 200\n' * 3,
         ["line 1: 22/Nov/2026:23:31:00", "line 3: 22/Nov/2026:23:31:00"]),
        ("notes.txt", "a\n" * 120, ["line 1", "line 51", "line 101"]),
        ("a.md", "---\ntitle: x\n---\n# One\n```\n# no heading\n```\n\nTwo\n---\n\n| a |\n|---|\n",
         ["line 4: One", "line 9: Two"]),
        ("a.yaml", "# c\nversion: 3\nservices:\n  web:\n    image: x\n", ["line 2: version", "line 3: services"]),
        ("twice.html", "<h1>Same</h1>a<h1>Same</h1>b", ["Same", "Same (2)"]),
        ("gone.diff", "--- a/old.py\n+++ /dev/null\n@@ -1 +0,0 @@\n--- x\n", ["old.py", "old.py line 0"]),
    ],
    ids=lambda value: value if isinstance(value, str) and "\n" not in value and len(value) < 12 else "",
)  # fmt: skip
async def test_an_outline_names_the_places(read_sample: ReadSample, name: str, text: str, outline: list[str]) -> None:
    assert [section.name for section in (await read_sample(name, text.encode())).outline] == outline


@pytest.mark.parametrize("path", sorted(FILES.iterdir()), ids=lambda path: path.name)
async def test_places_are_in_order_within_the_text_and_of_different_names(
    read_sample: ReadSample, path: object
) -> None:
    reading = await read_sample(str(path).rpartition("/")[2])
    starts = [section.start for section in reading.outline]
    assert starts == sorted(starts)
    assert all(0 <= start <= len(reading.text) for start in starts)
    assert len({section.name for section in reading.outline}) == len(starts)
    assert bool(reading.text) != bool(reading.fault)


def cite_passage(reading: FileReading, words: str) -> str:
    (hit, *_) = find_best_passages(reading.text, reading.outline, words, 1)
    assert words in reading.text[hit.start : hit.end]
    return name_place(reading.text, reading.outline, hit.start)


def markdown(number: int) -> str:
    code = "```\n# no heading\n```\n" if number % 7 == 0 else ""
    return f"## Section {number}\n\n{code}Clause of {word(number)}.\n\n"


def write_underlined(number: int) -> str:
    return f"Section {number}\n{'-' * len(f'Section {number}')}\n\nClause of {word(number)}.\n\n"


def word(number: int) -> str:
    return "q" + "".join("abcdefghij"[int(digit)] for digit in str(number)) + "x"


@pytest.mark.parametrize("write", [markdown, write_underlined])
async def test_a_section_among_thousands_is_cited_by_its_own_heading(
    read_sample: ReadSample, write: Callable[[int], str]
) -> None:
    text = "".join(write(number) for number in range(1, 2501))
    reading = await read_sample("long.md", text.encode())
    assert reading.gaps == ()
    assert reading.notes == ("the outline names one in 3 of its 2,500 sections",)
    assert len(reading.outline) <= MAX_SECTIONS
    lines = text.split("\n")
    for number in (1, 500, 501, 2302, 2303, 2500):
        line = next(at for at, one in enumerate(lines, start=1) if one.endswith(f"Section {number}"))
        assert cite_passage(reading, f"Clause of {word(number)}.") == f"line {line}: Section {number}"
        part = find_part(reading.text, reading.outline, f"Section {number}", 10_000)
        assert part is not None
        assert f"Clause of {word(number)}." in reading.text[part.start : part.end]
        assert "Clause of" not in reading.text[part.start : part.end].replace(f"Clause of {word(number)}.", "")


async def test_a_function_that_the_outline_leaves_out_is_cited_by_its_line(read_sample: ReadSample) -> None:
    text = "".join(f"def f{number}():\n    return '{word(number)}'\n\n" for number in range(2200))
    reading = await read_sample("long.py", text.encode())
    assert reading.gaps == ()
    for number in (0, 1, 2, 1700, 1701, 1702):
        at = reading.text.index(word(number))
        named = {f"line {3 * number + 2}", f"line {3 * number + 1}: def f{number}"}
        assert name_place(reading.text, reading.outline, at) in named


def test_a_page_that_the_outline_leaves_out_is_cited_by_its_number() -> None:
    contents = FileContents()
    for number in range(1, 2001):
        contents.begin_section(f"page {number}: Title {number}")
        contents.add_text(f"[page {number}]\n# {number}\nClause of {word(number)}.\n\n")
    text = contents.finish_text()
    outline = [
        Section(name=name, start=start, unnamed=contents.skipped_per_section) for name, start in contents.outline
    ]
    for number in (1, 2, 777, 1000, 1999, 2000):
        where = name_place(text, outline, text.index(word(number)))
        assert where.partition(":")[0] == f"page {number}"
    plain = [one.model_copy(update={"name": one.name.partition(":")[0]}) for one in outline]
    assert summarize_outline(Material(name="a.pdf", outline=tuple(plain)), 100) == "2,000 pages"


def test_what_follows_a_part_that_is_left_out_stands_in_the_section_that_it_stands_in() -> None:
    contents = FileContents()
    for number in range(4):
        contents.begin_section(f"Chapter {number}")
        contents.add_text(f"words of {number}\n" * 100_000)
    text = contents.finish_text()
    outline = [Section(name=name, start=start) for name, start in contents.outline]
    assert "left out here" in text
    after = text.index("left out here]") + len("left out here]\n")
    assert name_place(text, outline, after + 20) == f"Chapter {text[after:].partition('words of ')[2][0]}"
