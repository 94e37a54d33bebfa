"""Places in long texts are cited right, though the outline names only some of the sections."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from handoff.contracts import Material, Section
from handoff.materials.outline import describe_place, find_part, summarize_outline
from handoff.materials.passages import search
from specialists.formats.contents import MOST_SECTIONS, Contents
from specialists.reading.reading import Reading

from .conftest import Given


def cited(reading: Reading, words: str) -> str:
    (hit, *_) = search(reading.text, reading.outline, words, 1)
    assert words in reading.text[hit.start : hit.end]
    return describe_place(reading.text, reading.outline, hit.start)


def markdown(number: int) -> str:
    code = "```\n# no heading\n```\n" if number % 7 == 0 else ""
    return f"## Section {number}\n\n{code}Clause of {word(number)}.\n\n"


def underlined(number: int) -> str:
    return f"Section {number}\n{'-' * len(f'Section {number}')}\n\nClause of {word(number)}.\n\n"


def word(number: int) -> str:
    return "q" + "".join("abcdefghij"[int(digit)] for digit in str(number)) + "x"


@pytest.mark.parametrize("write", [markdown, underlined])
async def test_a_section_among_thousands_is_cited_by_its_own_heading(given: Given, write: Callable[[int], str]) -> None:
    text = "".join(write(number) for number in range(1, 2501))
    reading = await given("long.md", text.encode())
    assert reading.gaps == ()
    assert reading.notes == ("the outline names one in 3 of its 2,500 sections",)
    assert len(reading.outline) <= MOST_SECTIONS
    lines = text.split("\n")
    for number in (1, 2, 3, 499, 500, 501, 1400, 2301, 2302, 2303, 2499, 2500):
        line = next(at for at, one in enumerate(lines, start=1) if one.endswith(f"Section {number}"))
        assert cited(reading, f"Clause of {word(number)}.") == f"line {line}: Section {number}"
        part = find_part(reading.text, reading.outline, f"Section {number}", 10_000)
        assert part is not None
        assert f"Clause of {word(number)}." in reading.text[part.start : part.end]
        assert "Clause of" not in reading.text[part.start : part.end].replace(f"Clause of {word(number)}.", "")


async def test_a_function_that_the_outline_leaves_out_is_cited_by_its_line(given: Given) -> None:
    text = "".join(f"def f{number}():\n    return '{word(number)}'\n\n" for number in range(2200))
    reading = await given("long.py", text.encode())
    assert reading.gaps == ()
    for number in (0, 1, 2, 1700, 1701, 1702):
        at = reading.text.index(word(number))
        named = {f"line {3 * number + 2}", f"line {3 * number + 1}: def f{number}"}
        assert describe_place(reading.text, reading.outline, at) in named


def test_a_page_that_the_outline_leaves_out_is_cited_by_its_number() -> None:
    contents = Contents()
    for number in range(1, 2001):
        contents.section(f"page {number}: Title {number}")
        contents.say(f"[page {number}]\n# {number}\nClause of {word(number)}.\n\n")
    text = contents.finish()
    outline = [Section(name=name, start=start, unnamed=contents.unnamed) for name, start in contents.outline]
    for number in (1, 2, 777, 1000, 1999, 2000):
        where = describe_place(text, outline, text.index(word(number)))
        assert where.partition(":")[0] == f"page {number}"
    plain = [one.model_copy(update={"name": one.name.partition(":")[0]}) for one in outline]
    assert summarize_outline(Material(name="a.pdf", outline=tuple(plain)), 100) == "2,000 pages"


def test_what_follows_a_part_that_is_left_out_stands_in_the_section_that_it_stands_in() -> None:
    contents = Contents()
    for number in range(4):
        contents.section(f"Chapter {number}")
        contents.say(f"words of {number}\n" * 100_000)
    text = contents.finish()
    outline = [Section(name=name, start=start) for name, start in contents.outline]
    assert "left out here" in text
    after = text.index("left out here]") + len("left out here]\n")
    assert describe_place(text, outline, after + 20) == f"Chapter {text[after:].partition('words of ')[2][0]}"
