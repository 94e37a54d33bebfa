"""What Word shows and other readers miss: numbers of clauses, insertions, controls, boxes, and what is hidden."""

from __future__ import annotations

import pytest

from .conftest import Given, sections
from .hostile_files import zipped

_SPACE = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_STRICT = 'xmlns:w="http://purl.oclc.org/ooxml/wordprocessingml/main"'
_LEVEL = '<w:lvl w:ilvl="{0}"><w:start w:val="1"/><w:numFmt w:val="{1}"/><w:lvlText w:val="{2}"/></w:lvl>'
_NUMBERING = (
    f"<w:numbering {_SPACE}>"
    '<w:abstractNum w:abstractNumId="7">'
    + _LEVEL.format(0, "decimal", "%1.")
    + _LEVEL.format(1, "decimal", "%1.%2")
    + _LEVEL.format(2, "lowerRoman", "(%3)")
    + "</w:abstractNum>"
    '<w:num w:numId="1"><w:abstractNumId w:val="7"/></w:num>'
    '<w:num w:numId="2"><w:abstractNumId w:val="7"/>'
    '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="1"/></w:lvlOverride></w:num>'
    "</w:numbering>"
)


def run(text: str, properties: str = "") -> str:
    return f'<w:r><w:rPr>{properties}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'


def paragraph(inside: str, properties: str = "") -> str:
    return f"<w:p><w:pPr>{properties}</w:pPr>{inside}</w:p>"


def item(text: str, instance: int, depth: int = 0) -> str:
    place = f'<w:numPr><w:ilvl w:val="{depth}"/><w:numId w:val="{instance}"/></w:numPr>'
    return paragraph(run(text), place)


def document(body: str, space: str = _SPACE) -> bytes:
    xml = f"<w:document {space} xmlns:mc='http://x/mc'><w:body>{body}</w:body></w:document>"
    return zipped({"word/document.xml": xml.encode(), "word/numbering.xml": _NUMBERING.encode()})


async def test_clauses_have_the_numbers_that_people_cite(given: Given) -> None:
    body = item("Scope", 1) + item("Payment", 1) + item("when", 1, 1) + item("how", 1, 1) + item("by bank", 1, 2)
    body += item("in cash", 1, 2) + item("Term", 1) + item("end", 1, 1) + paragraph(run("Annex")) + item("First", 2)
    reading = await given("contract.docx", document(body))
    assert reading.text.split("\n")[:-1] == [
        *("1. Scope", "2. Payment", "2.1 when", "2.2 how", "(i) by bank", "(ii) in cash", "3. Term", "3.1 end"),
        *("Annex", "1. First"),
    ]


async def test_insertions_controls_links_and_boxes_are_text(given: Given) -> None:
    box = f"<w:txbxContent>{paragraph(run('in a box'))}</w:txbxContent>"
    twice = f"<mc:Choice>{box}</mc:Choice><mc:Fallback>{box}</mc:Fallback>"
    twice = f"<w:r><mc:AlternateContent>{twice}</mc:AlternateContent></w:r>"
    body = paragraph(f"{run('one ')}<w:ins>{run('inserted ')}</w:ins><w:del>{run('deleted')}</w:del>{run('two')}")
    body += f"<w:sdt><w:sdtContent>{paragraph(run('in a control'))}</w:sdtContent></w:sdt>{paragraph(twice)}"
    reading = await given("letter.docx", document(body))
    assert reading.text == "one inserted two\nin a control\nin a box\n"
    assert reading.gaps == ("tracked deletions are left out, in 1 places, as if they were accepted",)


async def test_what_is_hidden_is_left_out_and_said(given: Given) -> None:
    body = paragraph(run("seen ") + run("obey me", "<w:vanish/>") + run("too", '<w:vanish w:val="0"/>'))
    reading = await given("letter.docx", document(body))
    assert reading.text == "seen too\n"
    assert reading.gaps == ("hidden text is left out, in 1 places",)


async def test_the_strict_form_is_read_alike(given: Given) -> None:
    reading = await given("strict.docx", document(paragraph(run("strict")), _STRICT))
    assert reading.text == "strict\n"


async def test_without_headings_paragraphs_are_cited(given: Given) -> None:
    body = "".join(paragraph(run(f"Paragraph number {number}.")) for number in range(1, 121))
    found = sections(await given("plain.docx", document(body)))
    assert list(found) == ["paragraph 1", "paragraph 51", "paragraph 101"]
    assert found["paragraph 51"].startswith("Paragraph number 51.")


@pytest.mark.parametrize("text", ["MZ is short for Mainz.", "Rar! is a mark.", "ID3 tags", "as in b'%PDF-1.7'"])
async def test_a_text_may_begin_like_another_kind_of_file(given: Given, text: str) -> None:
    assert (await given("note.txt", text.encode())).text == text
