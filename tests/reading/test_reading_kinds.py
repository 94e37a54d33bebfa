"""Each kind of file, made by programs that are not ours, comes out as text with the places that one cites."""

from __future__ import annotations

import pytest

from .conftest import FILES, Given, sections
from .hostile_files import zipped

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


@pytest.mark.parametrize(("name", "place", "words"), EACH, ids=lambda value: str(value)[:40])
async def test_a_file_is_read_with_its_places(given: Given, name: str, place: str, words: str) -> None:
    reading = await given(name)
    assert reading.fault == ""
    assert words in sections(reading)[place]


def test_there_are_twenty_kinds_and_more() -> None:
    assert len({name.rpartition(".")[2] for name, _, _ in EACH}) >= 20


@pytest.mark.parametrize(
    ("name", "said"),
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
async def test_what_is_not_read_says_what_to_do(given: Given, name: str, said: str) -> None:
    assert (await given(name)).fault == f"{name} {said}"


async def test_what_counts_are_the_bytes_not_the_name(given: Given) -> None:
    assert "Replace the seal" in (await given("notes.txt", (FILES / "manual-groff.pdf").read_bytes())).text
    assert "[sheet t" in (await given("table.pdf", (FILES / "sales.xlsx").read_bytes(), "application/pdf")).text
    assert "North grew" in (await given("noname", (FILES / "deck-pandoc.pptx").read_bytes())).text
    assert "DTSTART" in (await given("invite", (FILES / "calendar-calcurse.ics").read_bytes())).text
    mail = await given("saved.txt", (FILES / "mail-snail.eml").read_bytes())
    assert [inside.name for inside in mail.inside] == ["zahlen.csv"]


async def test_an_archive_with_a_folder_called_word_is_an_archive(given: Given) -> None:
    assert [inside.name for inside in (await given("a.zip", zipped({"word/list.txt": b"a"}))).inside] == [
        "word/list.txt"
    ]


async def test_where_the_bytes_are_silent_the_media_type_speaks(given: Given) -> None:
    page = await given("page", b"<p>One</p><h2>Two</h2>three", "text/html; charset=utf-8")
    assert [section.name for section in page.outline] == ["Two"]


async def test_files_inside_come_with_name_kind_and_bytes_one_level_deep(given: Given) -> None:
    mail = await given("mail-mutt.eml")
    assert [(inside.name, inside.media_type) for inside in mail.inside] == [
        ("zahlen.csv", "text/csv"),
        ("Übersicht März.pdf", "application/pdf"),
    ]
    assert mail.inside[0].data == b"a,b\n1,2\n"
    table = await given(mail.inside[0].name, mail.inside[0].data, mail.inside[0].media_type)
    assert [section.name for section in table.outline] == ["columns a, b"]
    (attached,) = (await given("attached-qpdf.pdf")).inside
    assert (attached.name, attached.media_type) == ("Anhang.csv", "text/csv")
    assert attached.data == (FILES / "sales-sqlite.csv").read_bytes()
    nested = await given("nested.zip")
    assert [inside.name for inside in nested.inside] == ["info.zip", "body.txt"]
    assert nested.inside[0].data[:2] == b"PK"


async def test_what_is_left_out_of_a_word_document_is_said(given: Given) -> None:
    reading = await given("contract-pandoc.docx")
    assert "30" not in reading.text
    assert reading.gaps == ("tracked deletions are left out, in 1 places, as if they were accepted",)


async def test_pictures_on_slides_are_named(given: Given) -> None:
    assert (await given("deck-pandoc.pptx")).gaps == ("pictures not looked at on slide 4",)
