"""How documents are laid out: tables whose words stay whole, bare addresses, and titles that stand once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.specialists.test_publish_document import Bench, opened, publish


def widths(document: Any) -> list[float]:
    """Those of the columns of its only table, in inches."""
    (table,) = document.tables
    across = [[round(cell.width.inches, 2) for cell in row.cells] for row in table.rows]
    assert all(row == across[0] for row in across)
    return across[0]


async def test_columns_have_width_by_what_is_written_in_them(tmp_path: Path) -> None:
    comment = "A long comment that needs room because it explains a lot about the region"
    markdown = f"| Region | Revenue | Why |\n|---|---|---|\n| North | 1,234,567.89 | {comment} |\n"
    region, revenue, why = widths(await opened(tmp_path, markdown=markdown))
    assert region < revenue < why
    assert revenue > 0.9
    assert region + revenue + why == pytest.approx(6.5, abs=0.05)


async def test_a_crowded_table_is_written_smaller_so_that_no_number_breaks(tmp_path: Path) -> None:
    names, numbers = " | ".join("abcdefghijkl"), " | ".join(["12345678"] * 11 + ["[12345678](https://a.example)"])
    document = await opened(tmp_path, markdown=f"| {names} |\n{'|---' * 12}|\n| {numbers} |\n")
    (table,) = document.tables
    *_, plain, last = table.rows[1].cells
    assert plain.paragraphs[0].runs[0].font.size.pt == 7
    assert last.paragraphs[0].hyperlinks[0].runs[0].font.size.pt == 7
    assert min(widths(document)) > 0.5


async def test_bare_addresses_are_links_without_the_marks_of_the_sentence(tmp_path: Path) -> None:
    text = "See https://a.example/x?b=1&c=2, (https://b.example/y), **https://c.example/A_(b)**. `https://d.example`"
    document = await opened(tmp_path, markdown=text)
    paragraph = document.paragraphs[-1]
    addresses = ["https://a.example/x?b=1&c=2", "https://b.example/y", "https://c.example/A_(b)"]
    assert [link.address for link in paragraph.hyperlinks] == addresses
    assert paragraph.text == text.replace("**", "").replace("`", "")


async def test_the_title_of_a_canvas_stands_once(tmp_path: Path) -> None:
    async def kept(markdown: str) -> str:
        bench = Bench(tmp_path)
        (artifact,) = (await publish(bench, "A plan", markdown=markdown, format="canvas")).artifacts
        return bench.store[artifact.id].decode()

    assert await kept("# A plan\n\nFirst.") == "First.\n"
    assert await kept("# Another\n\nFirst.") == "# Another\n\nFirst.\n"
    assert await kept("# A plan") == "# A plan\n"
