"""publish_document: what is written is read back from the file, and how it is laid out."""

from __future__ import annotations

import asyncio
import struct
import sys
import zipfile
import zlib
from io import BytesIO
from pathlib import Path
from typing import Any

import docx
import pytest
from docx.oxml.ns import qn

from specialists.tools.documents import document_tools
from specialists.tools.tool import FolderWorkbench, ToolOutcome
from tests.child_in_process import run_children_here


@pytest.fixture(autouse=True)
def _documents_are_made_here(monkeypatch: pytest.MonkeyPatch) -> None:
    run_children_here(monkeypatch, document_tools)


TEXT = """# Tides of the harbour

Rose by **4872 mm** in *six* hours, `not` ~~five~~ ***both***, see [the office](https://a.example/t?x=1&y=2).
Same paragraph.

## Numbers

| hour | height | note |
|:-----|-------:|:----:|
| 12   | 310    | **low** |
| 18   | 5182   | a [b](https://b.example) |

- one
- two
  - two a
    1. deep
    2. deeper

  still two
- three

1. first
2. second

Between.

3. third again
4. fourth

> Quoted *words*.
>
> - in a list

```python
def f():
    return "<b>"
```

![The tide](charts/tide%20chart.png)

---

<b>no html</b> & [bad](javascript:alert(1)) ![far](https://far.example/p.png)
"""


def make_bench(folder: Path, **pictures: bytes) -> FolderWorkbench:
    """A workbench with these pictures: `a_png` is called a.png."""
    files = [(name.replace("_png", ".png"), "image/png", data) for name, data in pictures.items()]
    return FolderWorkbench.make_in_memory(files, folder)


async def read_document(bench: FolderWorkbench, outcome: ToolOutcome) -> bytes:
    (artifact,) = outcome.artifacts
    return (await bench.path(artifact)).read_bytes()


def png(width: int, height: int) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + b"\x60\x90\xc0" * width for _ in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


async def publish(bench: FolderWorkbench, title: str = "Tides of the harbour", **arguments: Any) -> ToolOutcome:
    (tool,) = document_tools.tools()
    given = tool.arguments.model_validate({"title": title, "markdown": TEXT, **arguments})
    return await tool.run(given, bench)


async def open_document(tmp_path: Path, title: str = "Tides of the harbour", **arguments: Any) -> Any:
    bench = make_bench(tmp_path, **{"tide chart_png": png(2000, 900)})
    outcome = await publish(bench, title, **arguments)
    assert not outcome.failed, outcome.text
    return docx.Document(BytesIO(await read_document(bench, outcome)))


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The document of the text above, made once."""
    with pytest.MonkeyPatch.context() as patch:
        run_children_here(patch, document_tools)
        return asyncio.run(open_document(tmp_path_factory.mktemp("document")))


def numbering(paragraph: Any) -> tuple[int, int] | None:
    """The list a paragraph is in, and its level."""
    found = paragraph._p.find(qn("w:pPr") + "/" + qn("w:numPr"))
    return None if found is None else (int(found.numId.val), int(found.ilvl.val))


def kind_of(document: Any, list_id: int, level: int) -> str:
    root = document.part.numbering_part.element
    number = next(num for num in root.findall(qn("w:num")) if num.numId == list_id)
    wanted = str(number.abstractNumId.val)
    abstract = next(one for one in root.findall(qn("w:abstractNum")) if one.get(qn("w:abstractNumId")) == wanted)
    return str(abstract.findall(qn("w:lvl"))[level].find(qn("w:numFmt")).get(qn("w:val")))


async def test_the_file_is_kept_as_a_word_document_to_be_posted(tmp_path: Path) -> None:
    bench = make_bench(tmp_path, **{"tide chart_png": png(20, 9)})
    outcome = await publish(bench)
    (artifact,) = outcome.artifacts
    assert artifact.name == "Tides-of-the-harbour.docx"
    assert artifact.media_type == "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
    assert (artifact.publish_as, artifact.about) == ("file", "Tides of the harbour")
    assert artifact.size == len(await read_document(bench, outcome))
    assert "Tides-of-the-harbour.docx" in outcome.text


async def test_headings_and_the_title_stand_once(document: Any, tmp_path: Path) -> None:
    titled = [(p.style.name, p.text) for p in document.paragraphs if p.style.name.startswith(("Title", "Heading"))]
    assert titled == [("Title", "Tides of the harbour"), ("Heading 2", "Numbers")]
    assert document.core_properties.title == "Tides of the harbour"
    other = await open_document(tmp_path, "Another title")
    assert [p.text for p in other.paragraphs[:2]] == ["Another title", "Tides of the harbour"]


def test_marks_become_runs_and_links_lead_where_they_say(document: Any) -> None:
    paragraph = document.paragraphs[1]
    assert (
        paragraph.text
        == "Rose by 4872 mm in six hours, not five both, see the office (https://a.example/t?x=1&y=2). Same paragraph."
    )
    runs = {run.text: run for run in paragraph.runs}
    assert runs["4872 mm"].bold
    assert runs["six"].italic
    assert runs["not"].style.name == "Code"
    assert runs["five"].font.strike
    assert (runs["both"].bold, runs["both"].italic) == (True, True)
    assert runs["Rose by "].bold is None
    (link,) = paragraph.hyperlinks
    assert link.text == link.address == "https://a.example/t?x=1&y=2", "in Word nobody sees where a label goes"
    assert link.runs[0].style.name == "Hyperlink"


def test_a_table_has_a_header_row_and_its_alignment(document: Any) -> None:
    (table,) = document.tables
    cells = [[cell.text for cell in row.cells] for row in table.rows]
    assert cells == [["hour", "height", "note"], ["12", "310", "low"], ["18", "5182", "a b (https://b.example)"]]
    assert table.rows[0]._tr.trPr.find(qn("w:tblHeader")) is not None
    assert all(cell.paragraphs[0].runs[0].bold for cell in table.rows[0].cells)
    assert [str(cell.paragraphs[0].alignment) for cell in table.rows[1].cells] == ["None", "RIGHT (2)", "CENTER (1)"]
    assert table.rows[2].cells[2].paragraphs[0].hyperlinks[0].address == "https://b.example"


def test_lists_nest_and_each_counts_for_itself(document: Any) -> None:
    items = {p.text: numbering(p) for p in document.paragraphs}
    lists = {text: found for text, found in items.items() if found}
    levels = {text: found[1] for text, found in lists.items()}
    assert levels == {
        "one": 0, "two": 0, "two a": 1, "deep": 2, "deeper": 2, "three": 0, "first": 0, "second": 0,
        "third again": 0, "fourth": 0, "in a list": 0,
    }  # fmt: skip
    assert lists["one"] == lists["three"]
    assert lists["first"][0] != lists["third again"][0]
    assert kind_of(document, *lists["one"]) == "bullet"
    assert kind_of(document, lists["first"][0], 0) == "decimal"
    root = document.part.numbering_part.element
    third = next(num for num in root.findall(qn("w:num")) if num.numId == lists["third again"][0])
    assert third.findall(qn("w:lvlOverride"))[0].startOverride.val == 3
    still = next(p for p in document.paragraphs if p.text == "still two")
    assert numbering(still) is None
    assert still.paragraph_format.left_indent.inches == pytest.approx(0.3)


def test_code_and_quotes_keep_their_looks(document: Any) -> None:
    code = next(p for p in document.paragraphs if p.style.name == "Code Block")
    assert code.text == 'def f():\n    return "<b>"'
    quote = next(p for p in document.paragraphs if p.style.name == "Block Quote")
    assert quote.text == "Quoted words."
    assert quote.paragraph_format.left_indent.inches == pytest.approx(0.3)


def test_a_picture_is_embedded_fits_the_page_and_is_described(document: Any) -> None:
    (shape,) = document.inline_shapes
    assert shape.width.inches == pytest.approx(6.5, abs=0.01)
    assert shape.height.inches == pytest.approx(6.5 * 900 / 2000, abs=0.01)
    assert shape._inline.docPr.get("descr") == "The tide"
    captions = [p.text for p in document.paragraphs if p.style.name == "Caption"]
    assert captions == ["The tide"]


async def test_no_link_hides_where_it_goes(tmp_path: Path) -> None:
    document = await open_document(
        tmp_path,
        markdown="[Report](https://evil.com/?d=SECRET) [good.com](https://evil.com/) "
        "[https://c.example](https://c.example) [Write](mailto:a@evil.com?body=SECRET) a\u202eb\u200bc",
    )
    paragraph = document.paragraphs[-1]
    assert paragraph.text == (
        "Report (https://evil.com/?d=SECRET) good.com (https://evil.com/) https://c.example "
        "Write (mailto:a@evil.com?body=SECRET) abc"
    )
    assert all(link.text == link.address for link in paragraph.hyperlinks)


def test_html_bad_links_and_far_pictures_stay_text_or_links(document: Any) -> None:
    last = document.paragraphs[-1]
    assert last.text == "<b>no html</b> & [bad](javascript:alert(1)) far (https://far.example/p.png)"
    assert [link.address for link in last.hyperlinks] == ["https://far.example/p.png"]


def test_the_parts_of_the_file_are_in_an_order_that_word_accepts(document: Any) -> None:
    order = [qn(f"w:{name}") for name in ("pStyle", "keepNext", "numPr", "pBdr", "shd", "spacing", "ind", "jc")]
    bodies = [document.element, document.styles.element]
    for properties in (found for body in bodies for found in body.iter(qn("w:pPr"))):
        places = [order.index(child.tag) for child in properties if child.tag in order]
        assert places == sorted(places)
    tags = [child.tag for child in document.part.numbering_part.element]
    assert tags == sorted(tags)  # every definition before every list


async def test_a_file_that_is_not_there_is_named_with_those_that_are(tmp_path: Path) -> None:
    bench = make_bench(tmp_path, chart_png=png(2, 2))
    outcome = await publish(bench)
    assert outcome.failed
    assert outcome.text == "There is no file tide chart.png to embed. The files are: chart.png."
    assert not outcome.artifacts


async def test_a_file_that_is_no_picture_is_refused(tmp_path: Path) -> None:
    outcome = await publish(make_bench(tmp_path, **{"tide chart_png": b"not a picture"}))
    assert outcome.failed
    assert "tide chart.png is no picture" in outcome.text
    outcome = await publish(make_bench(tmp_path / "b", **{"tide chart_png": png(5, 5)[:20]}))
    assert outcome.failed


async def test_a_canvas_keeps_the_markdown_without_pictures_that_load_themselves(tmp_path: Path) -> None:
    bench = make_bench(tmp_path)
    markdown = "# A\n\n![far](https://far.example/?q=secret) and \\![x]\n"
    outcome = await publish(bench, "A plan", markdown=markdown, format="canvas")
    (artifact,) = outcome.artifacts
    assert (artifact.name, artifact.media_type, artifact.publish_as) == ("A-plan.md", "text/markdown", "canvas")
    kept = (await read_document(bench, outcome)).decode()
    assert kept == "# A\n\n[far](https://far.example/?q=secret) and \\![x]\n"


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("../../etc/passwd", "etc-passwd.docx"),
        ("Übersicht: Käse & Brot (2026)", "Übersicht-Käse-Brot-2026.docx"),
        ("///", "document.docx"),
        ("a\x00b\nc", "ab-c.docx"),
        ("word " * 39, "word-word-word-word-word-word-word-word-word-word-word-word.docx"),
        ("x" * 200, "x" * 60 + ".docx"),
    ],
)
async def test_file_names_are_safe_and_short(tmp_path: Path, title: str, name: str) -> None:
    outcome = await publish(make_bench(tmp_path), title, markdown="text")
    assert not outcome.failed, outcome.text
    assert outcome.artifacts[0].name == name


@pytest.mark.parametrize(
    "markdown",
    [
        "\x00\x08 odd \ufffe characters",
        "> " * 80 + "deep",
        "".join("  " * depth + f"- {depth}\n" for depth in range(30)),
        "| a |\n|---|\n" + "| 1 | 2 | 3 |\n" * 3 + "|\n",
        "- \n-\n\n1.\n",
        "[](https://x.example) ![](<>) [a]()",
        "# \n\n####### seven",
        "```\nnever closed",
        "*" * 5_000,
    ],
    ids=str.split("control quotes lists ragged empty links headings fence stars"),
)
async def test_odd_texts_still_make_a_document_that_opens(tmp_path: Path, markdown: str) -> None:
    bench = make_bench(tmp_path)
    outcome = await publish(bench, "odd", markdown=markdown)
    assert not outcome.failed, outcome.text
    data = await read_document(bench, outcome)
    assert docx.Document(BytesIO(data)).paragraphs[0].text == "odd"
    assert zipfile.ZipFile(BytesIO(data)).testzip() is None


async def test_an_empty_text_is_refused(tmp_path: Path) -> None:
    assert (await publish(make_bench(tmp_path), markdown="  \n ")).failed


async def test_without_its_extra_a_document_says_what_to_install_and_a_canvas_still_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "markdown_it", None)
    outcome = await publish(make_bench(tmp_path))
    assert outcome.failed
    assert "pip install 'leadhand[documents]'" in outcome.text
    assert not (await publish(make_bench(tmp_path), format="canvas")).failed


def widths(document: Any) -> list[float]:
    """Those of the columns of its only table, in inches."""
    (table,) = document.tables
    across = [[round(cell.width.inches, 2) for cell in row.cells] for row in table.rows]
    assert all(row == across[0] for row in across)
    return across[0]


async def test_columns_have_width_by_what_is_written_in_them(tmp_path: Path) -> None:
    comment = "A long comment that needs room because it explains a lot about the region"
    markdown = f"| Region | Revenue | Why |\n|---|---|---|\n| North | 1,234,567.89 | {comment} |\n"
    region, revenue, why = widths(await open_document(tmp_path, markdown=markdown))
    assert region < revenue < why
    assert revenue > 0.9
    assert region + revenue + why == pytest.approx(6.5, abs=0.05)


async def test_a_crowded_table_is_written_smaller_so_that_no_number_breaks(tmp_path: Path) -> None:
    names, numbers = " | ".join("abcdefghijkl"), " | ".join(["12345678"] * 11 + ["[12345678](https://a.example)"])
    document = await open_document(tmp_path, markdown=f"| {names} |\n{'|---' * 12}|\n| {numbers} |\n")
    (table,) = document.tables
    *_, plain, last = table.rows[1].cells
    assert plain.paragraphs[0].runs[0].font.size.pt == 7
    assert last.paragraphs[0].hyperlinks[0].runs[0].font.size.pt == 7
    assert min(widths(document)) > 0.5


async def test_bare_addresses_are_links_without_the_marks_of_the_sentence(tmp_path: Path) -> None:
    text = "See https://a.example/x?b=1&c=2, (https://b.example/y), **https://c.example/A_(b)**. `https://d.example`"
    document = await open_document(tmp_path, markdown=text)
    paragraph = document.paragraphs[-1]
    addresses = ["https://a.example/x?b=1&c=2", "https://b.example/y", "https://c.example/A_(b)"]
    assert [link.address for link in paragraph.hyperlinks] == addresses
    assert paragraph.text == text.replace("**", "").replace("`", "")


async def test_the_title_of_a_canvas_stands_once(tmp_path: Path) -> None:
    async def publish_canvas(markdown: str) -> str:
        bench = make_bench(tmp_path)
        return (await read_document(bench, await publish(bench, "A plan", markdown=markdown, format="canvas"))).decode()

    assert await publish_canvas("# A plan\n\nFirst.") == "First.\n"
    assert await publish_canvas("# Another\n\nFirst.") == "# Another\n\nFirst.\n"
    assert await publish_canvas("# A plan") == "# A plan\n"
