"""Reading and searching what did not fit: bounded, with places, offered only where there is something to read."""

from __future__ import annotations

from pathlib import Path

import pytest

from handoff.contracts import Material, Section
from handoff.materials.at_hand import digest_of
from specialists.runner import add_readers
from specialists.specialist import Specialist
from specialists.tools.tables import tables
from specialists.tools.tool import FolderWorkbench, Tool, ToolOutcome
from specialists.turns.material_reading import PART

PAGES = "".join(f"Page {n}. " + "The pump is old. " * 500 + "\n" for n in range(1, 13))
STARTS = [PAGES.index(f"Page {n}. ") for n in range(1, 13)]
MANUAL = PAGES.replace("Page 9. ", "Page 9. Die Kündigungsfrist beträgt drei Monate. ", 1)
SHIFT = len(MANUAL) - len(PAGES)
OUTLINE = tuple(Section(name=f"page {n}", start=start + (SHIFT if n > 9 else 0)) for n, start in enumerate(STARTS, 1))
TEXTS = {digest_of(text): text for text in (MANUAL, "month,churn\n1,2\n", "Ein kurzer Brief.")}


def material(name: str, text: str, **more: object) -> Material:
    return Material.model_validate({"name": name, "size": len(text), "text": digest_of(text), **more})


READABLE = (material("manual.pdf", MANUAL, outline=OUTLINE), material("brief.txt", "Ein kurzer Brief."))
TABLE = material("a.csv", "month,churn\n1,2\n", is_table=True)


def reader(*tools: Tool) -> Specialist:
    return Specialist("reader", "Reads.", tools, "fast", None, 3, "You are the reader.", Path("reader.md"))


async def fetch(digest: str) -> bytes:
    return TEXTS[digest].encode()


async def store(_: bytes) -> str:
    raise AssertionError("nothing is kept")


@pytest.fixture
def bench(tmp_path: Path) -> FolderWorkbench:
    return FolderWorkbench((), fetch, store, tmp_path)


async def call(bench: FolderWorkbench, tool_name: str, /, **arguments: str) -> ToolOutcome:
    tool = add_readers(reader(), READABLE).toolbox[tool_name]
    outcome = await tool.run(tool.arguments(**arguments), bench)
    assert isinstance(outcome, ToolOutcome)
    return outcome


def test_the_tools_are_offered_where_there_is_something_to_read() -> None:
    plain = reader()
    assert add_readers(plain, (Material(name="photo.png"),)) is plain, "it has no text"
    assert set(add_readers(plain, (TABLE,)).toolbox) == {"read_material", "search_material"}
    assert add_readers(reader(*tables.tools()), (TABLE,)).toolbox.keys() == {"profile_table", "query_table"}
    more = add_readers(plain, READABLE)
    assert [spec.name for spec in more.specs[:2]] == ["read_material", "search_material"]
    assert more.overhead - plain.overhead < 200, "they cost few tokens"


async def test_a_part_is_read_by_its_page_and_goes_on_where_it_ended(bench: FolderWorkbench) -> None:
    first = await call(bench, "read_material", name="manual.pdf", part="page 9")
    assert first.text.startswith("[manual.pdf, page 9]\nPage 9. Die Kündigungsfrist")
    assert len(first.text) < PART + 200
    assert first.sources == ("manual.pdf",)
    place = first.text.rsplit("from: ", 1)[1].rstrip("]")
    again = await call(bench, "read_material", name="MANUAL.pdf", part=place)
    assert again.text.startswith("[manual.pdf, page 9]\n")
    whole = await call(bench, "read_material", name="brief")
    assert whole.text == "[brief.txt, line 1]\nEin kurzer Brief."


async def test_what_is_not_there_is_said_with_what_there_is(bench: FolderWorkbench) -> None:
    page = await call(bench, "read_material", name="manual.pdf", part="page 99")
    assert page.failed
    assert page.text.startswith("No part called 'page 99' was found in manual.pdf, which has: 12 pages.")
    name = await call(bench, "read_material", name="offer.pdf")
    assert name.failed
    assert name.text.endswith("There is: manual.pdf (12 pages); brief.txt (17 characters).")
    words = await call(bench, "search_material", words="zebra")
    assert words.text.startswith("Nothing holds these words.")


async def test_a_search_gives_passages_with_their_pages(bench: FolderWorkbench) -> None:
    found = await call(bench, "search_material", words="Fristen für Kündigungen")
    first = found.text.split("\n\n")[0]
    assert first.startswith("[manual.pdf, page 9]\n")
    assert "Kündigungsfrist beträgt drei Monate" in first
    many = await call(bench, "search_material", words="pump")
    assert len(many.text) < 8_000
