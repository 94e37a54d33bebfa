"""Each kind of file, made by other programs, is text with places to cite; and what Word shows is all there."""

from __future__ import annotations

import pytest

from specialists.reading.file_reader import read_file

from .conftest import FILES, ReadSample, sections
from .hostile_files import zip_members

EACH = [
    # file, the place that is cited, what stands there
    ("report-chromium.pdf", "page 2", "Der größte Kunde kündigt zum 31.12.2026."),
    ("report-chromium.pdf", "page 1", "Nord West | 120.000 | 40 %"),
    ("contract-libreoffice.pdf", "page 1: Scope; Liability", "Delay | 10,000 €"),
    ("sales-libreoffice.pdf", "page 1: t", "Region | Umsatz | Datum"),
    ("manual-groff.pdf", "page 2", "Replace the seal every 2,000 hours."),
    ("manual-ghostscript.pdf", "page 2", "Replace the seal every 2,000 hours."),
    ("owner-locked.pdf", "page 2", "Replace the seal every 2,000 hours."),
    ("form.pdf", "page 2", "[field] fullname: Ada Lovelace\n[field] agree: yes\n[field] news: no\n[field] city: Köln"),
    ("scan.pdf", "page 2", "[this page is a picture]"),
    (
        "contract-pandoc.docx",
        "Scope",
        "2. Payment:\na. half at once,\nb. half after 60 days.",
    ),
    ("contract-pandoc.docx", "Liability", "Loss | 250,000 €"),
    ("contract-pandoc.docx", "note 1", "A unit is a crate of twelve."),
    ("contract-pandoc.docx", "comment 1 by Cleo", "Is this agreed?"),
    ("contract-libreoffice.docx", "Scope", "2. Payment:\na. half at once,"),
    ("contract-libreoffice.docx", "note 1", "A unit is a crate of twelve."),
    ("report-libreoffice.docx", "Nächste Schritte", "Plan (https://example.org/plan)"),
    ("report.odt", "Risiken", "- erstens\n- zweitens"),
    ("report.odt", "Quartalsbericht 2026", "Süd Ost | 180.000 | 60 %"),
    ("deck-pandoc.pptx", "slide 2: Revenue", "North grew 12 %\nSouth fell 3 %\n[notes] Say this slowly."),
    ("deck-pandoc.pptx", "slide 3: Table", "Region | Sum\nNorth | 120"),
    ("deck.odp", "slide 2: Revenue", "[notes] Say this slowly."),
    ("deck.odp", "slide 3: Table", "South | 80"),
    ("sales.xlsx", "sheet t: Region, Umsatz, Datum", "2: Nord | 1200,5 | 01.02.2026"),
    ("sales.xls", "sheet t: Region, Umsatz, Datum", "3: Süd | 3000 | 03.02.2026"),
    ("sales.ods", "sheet t: Region, Umsatz, Datum", "3: Süd | 3000 | 03.02.2026"),
    ("sales-sqlite.csv", "columns region, amount, day", "North,1200.5,2026-02-01"),
    ("page-chromium.html", "Quartalsbericht 2026", "Nord West | 120.000 | 40 %"),
    ("contract-pandoc.html", "Scope", "1. Delivery within 14 days."),
    ("contract-libreoffice.html", "Liability", "Delay | 10,000 €"),
    ("mail-mutt.eml", "headers", "From: Jürgen Groß <juergen@example.org>"),
    ("mail-mutt.eml", "headers", "Subject: Zahlen für März – bitte prüfen"),  # noqa: RUF001
    ("mail-mutt.eml", "message", "Umsatz 1.200 €. Viele Grüße, Jürgen"),
    ("mail-snail.eml", "message", "Die Größe der Kisten: 40 x 60. Grüße, Cleo"),
    ("mail-mutt.eml", "attachment Übersicht März.pdf", "[attachment: Übersicht März.pdf, 11,263 bytes]"),
    ("calendar-calcurse.ics", "entry 2: Board meeting, 2026-02-01 10:00", "DTSTART: 2026-02-01 10:00"),
    ("change-git.diff", "stats.py line 3, def total(rows):", "+    if not rows:"),
    ("change-git.diff", "read me.md", "new file mode"),
    ("guard-git.patch", "stats.py line 3, def total(rows):", "+        return 0.0"),
    ("change-diffutils.txt", "stats.py line 3", "+        return 0.0"),
    ("stats.py", "line 5: def mean", "return total(rows) / len(rows)"),
    ("contract-pandoc.md", "line 19: Liability", "| Delay | 10,000 €  |"),
    ("contract-pandoc.rst", "line 14: Liability", "Delay 10,000 €"),
    ("orders-jq.json", "line 244: total", '"total": 60'),
    ("service-yq.yaml", "line 5: orders", "note: Grüße 4"),
    ("notebook-pandoc.ipynb", "cell 2", "print(1 + 1)"),
    ("dpkg.log", "line 101: 2026-11-22 23:37:08", "2026-11-22 23:37:08"),
    ("pack-infozip.zip", "src/stats.py", "src/stats.py (127 bytes)"),
    ("pack-7zip.zip", "Grüße.txt", "Grüße.txt (64 bytes)"),
]


@pytest.mark.parametrize("name", {name: None for name, _, _ in EACH})
async def test_a_file_is_read_with_its_places_by_the_process_for_it(name: str) -> None:
    reading = await read_file(FILES / name, name, "")
    assert reading.fault == ""
    found = sections(reading)
    assert [(place, words) for file, place, words in EACH if file == name and words not in found[place]] == []


@pytest.mark.parametrize(
    ("name", "fault_text"),
    [
        ("locked.pdf", "is protected by a password; save it without one and attach it again."),
        ("locked.zip", "is protected by a password; pack it without one and attach it again."),
        ("pack.7z", "is a 7-Zip archive; pack its files as ZIP, or attach them one by one."),
        ("old.doc", "is an old Word document; save it as .docx or PDF and attach that."),
        ("rich.rtf", "is an RTF document; save it as .docx or PDF and attach that."),
        ("photo.tif", "is a TIFF picture; save it as PNG or JPEG and attach that."),
        ("sales.sqlite", "is an SQLite database; export the tables that matter as CSV and attach those."),
    ],
)
async def test_what_is_not_read_says_what_to_do(read_sample: ReadSample, name: str, fault_text: str) -> None:
    assert (await read_sample(name)).fault == f"{name} {fault_text}"


async def test_what_counts_are_the_bytes_not_the_name(read_sample: ReadSample) -> None:
    assert "Replace the seal" in (await read_sample("notes.txt", (FILES / "manual-groff.pdf").read_bytes())).text
    assert "[sheet t" in (await read_sample("table.pdf", (FILES / "sales.xlsx").read_bytes(), "application/pdf")).text
    assert "North grew" in (await read_sample("noname", (FILES / "deck-pandoc.pptx").read_bytes())).text
    assert "DTSTART" in (await read_sample("invite", (FILES / "calendar-calcurse.ics").read_bytes())).text
    mail = await read_sample("saved.txt", (FILES / "mail-snail.eml").read_bytes())
    assert [inside.name for inside in mail.inner_files] == ["zahlen.csv"]


async def test_an_archive_with_a_folder_called_word_is_an_archive(read_sample: ReadSample) -> None:
    assert [
        inside.name for inside in (await read_sample("a.zip", zip_members({"word/list.txt": b"a"}))).inner_files
    ] == ["word/list.txt"]


async def test_where_the_bytes_are_silent_the_media_type_speaks(read_sample: ReadSample) -> None:
    page = await read_sample("page", b"<p>One</p><h2>Two</h2>three", "text/html; charset=utf-8")
    assert [section.name for section in page.outline] == ["Two"]


async def test_files_inside_come_with_name_kind_and_bytes_one_level_deep(read_sample: ReadSample) -> None:
    mail = await read_sample("mail-mutt.eml")
    assert [(inside.name, inside.media_type) for inside in mail.inner_files] == [
        ("zahlen.csv", "text/csv"),
        ("Übersicht März.pdf", "application/pdf"),
    ]
    assert mail.inner_files[0].data == b"a,b\n1,2\n"
    table = await read_sample(mail.inner_files[0].name, mail.inner_files[0].data, mail.inner_files[0].media_type)
    assert [section.name for section in table.outline] == ["columns a, b"]
    (attached,) = (await read_sample("attached-qpdf.pdf")).inner_files
    assert (attached.name, attached.media_type) == ("Anhang.csv", "text/csv")
    assert attached.data == (FILES / "sales-sqlite.csv").read_bytes()
    nested = await read_sample("nested.zip")
    assert [inside.name for inside in nested.inner_files] == ["info.zip", "body.txt"]
    assert nested.inner_files[0].data[:2] == b"PK"


async def test_what_is_left_out_of_a_word_document_is_said(read_sample: ReadSample) -> None:
    reading = await read_sample("contract-pandoc.docx")
    assert "30" not in reading.text
    assert reading.gaps == ("tracked deletions are left out, in 1 places, as if they were accepted",)


async def test_pictures_on_slides_are_named(read_sample: ReadSample) -> None:
    assert (await read_sample("deck-pandoc.pptx")).gaps == ("pictures not looked at on slide 4",)


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
    return zip_members({"word/document.xml": xml.encode(), "word/numbering.xml": _NUMBERING.encode()})


async def test_clauses_have_the_numbers_that_people_cite(read_sample: ReadSample) -> None:
    body = item("Scope", 1) + item("Payment", 1) + item("when", 1, 1) + item("how", 1, 1) + item("by bank", 1, 2)
    body += item("in cash", 1, 2) + item("Term", 1) + item("end", 1, 1) + paragraph(run("Annex")) + item("First", 2)
    reading = await read_sample("contract.docx", document(body))
    assert reading.text.split("\n")[:-1] == [
        *("1. Scope", "2. Payment", "2.1 when", "2.2 how", "(i) by bank", "(ii) in cash", "3. Term", "3.1 end"),
        *("Annex", "1. First"),
    ]


async def test_insertions_controls_links_and_boxes_are_text(read_sample: ReadSample) -> None:
    box = f"<w:txbxContent>{paragraph(run('in a box'))}</w:txbxContent>"
    twice = f"<mc:Choice>{box}</mc:Choice><mc:Fallback>{box}</mc:Fallback>"
    twice = f"<w:r><mc:AlternateContent>{twice}</mc:AlternateContent></w:r>"
    body = paragraph(f"{run('one ')}<w:ins>{run('inserted ')}</w:ins><w:del>{run('deleted')}</w:del>{run('two')}")
    body += f"<w:sdt><w:sdtContent>{paragraph(run('in a control'))}</w:sdtContent></w:sdt>{paragraph(twice)}"
    reading = await read_sample("letter.docx", document(body))
    assert reading.text == "one inserted two\nin a control\nin a box\n"
    assert reading.gaps == ("tracked deletions are left out, in 1 places, as if they were accepted",)


async def test_what_is_hidden_is_left_out_and_said(read_sample: ReadSample) -> None:
    body = paragraph(run("seen ") + run("obey me", "<w:vanish/>") + run("too", '<w:vanish w:val="0"/>'))
    reading = await read_sample("letter.docx", document(body))
    assert reading.text == "seen too\n"
    assert reading.gaps == ("hidden text is left out, in 1 places",)


async def test_the_strict_form_is_read_alike(read_sample: ReadSample) -> None:
    reading = await read_sample("strict.docx", document(paragraph(run("strict")), _STRICT))
    assert reading.text == "strict\n"


async def test_without_headings_paragraphs_are_cited(read_sample: ReadSample) -> None:
    body = "".join(paragraph(run(f"Paragraph number {number}.")) for number in range(1, 121))
    found = sections(await read_sample("plain.docx", document(body)))
    assert list(found) == ["paragraph 1", "paragraph 51", "paragraph 101"]
    assert found["paragraph 51"].startswith("Paragraph number 51.")


@pytest.mark.parametrize("text", ["MZ is short for Mainz.", "Rar! is a mark.", "ID3 tags", "as in b'%PDF-1.7'"])
async def test_a_text_may_begin_like_another_kind_of_file(read_sample: ReadSample, text: str) -> None:
    assert (await read_sample("note.txt", text.encode())).text == text
