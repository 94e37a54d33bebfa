"""Bombs and broken files: each ends in time and memory, in one sentence on what to do or with what can be read."""

from __future__ import annotations

import math
import random
import resource
from collections.abc import Callable

import pytest

from specialists.reading.file_reader import LARGEST_FILE_BYTES
from tests.patience import slow_cores

from . import hostile_files as hostile
from .conftest import FILES, ReadSample

_NOISE = random.Random(7).randbytes(200_000)
_CPU_SECONDS = 2  # of a quick core; fewer than people get
_OTHERS = {"operators.pdf": 1, "blanks.pdf": 6}  # what only that limit ends, and what is refused by itself later
_KILOBYTES = 1_600 * 1024
_HTML_DEPTH = 100_000


def _half(name: str) -> Callable[[], bytes]:
    data = (FILES / name).read_bytes()
    return lambda: data[: len(data) // 2]


def _break_file(name: str) -> Callable[[], bytes]:
    """Every hundredth byte of the file is another one."""
    data = bytearray((FILES / name).read_bytes())
    for place in range(200, len(data), 100):
        data[place] ^= 0x55
    return lambda: bytes(data)


def _processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


# name, how it is made, and what is said: in the fault, or else ("" for none) in the text or the gaps.
REFUSED_FILES: list[tuple[str, Callable[[], bytes], str]] = [
    ("empty.txt", lambda: b"", "is empty (0 bytes). Attach it again."),
    ("blank.txt", lambda: b" \n" * 50_000, "holds nothing but blanks"),
    ("large.log", lambda: b"x" * (LARGEST_FILE_BYTES + 1), "at most 32 MB are read"),
    ("noise.txt", lambda: _NOISE, "is a binary file"),
    ("noise.pdf", lambda: b"%PDF-1.7\n" + _NOISE, "is a damaged PDF"),
    ("half.pdf", _half("report-chromium.pdf"), "is a damaged PDF"),
    ("forms.pdf", hostile.nested_forms, "read"),
    ("operators.pdf", hostile.many_operators, "takes too long to read"),
    ("blanks.pdf", hostile.blanks, "cannot be read: it is damaged, or far larger inside than it looks"),
    ("huge-page.pdf", hostile.huge_page, ""),
    ("huge-scan.pdf", hostile.huge_scan, ""),
    ("pages.pdf", hostile.many_pages, "is a PDF that has only blank pages"),
    ("circle.pdf", hostile.circle_of_pages, "PDF"),
    ("arrays.pdf", hostile.nested_arrays, "PDF"),
    ("big.docx", hostile.big_word, "is far larger inside than it looks"),
    ("dense.docx", hostile.dense_word, "is far larger inside than it looks"),
    ("laughs.docx", hostile.laughs, "is a damaged Word document"),
    ("entity.docx", hostile.outside_entity, "is a damaged Word document"),
    ("deep.docx", lambda: hostile.docx_of(hostile.word(b"<w:sdt>" * 100_000 + b"</w:sdt>" * 100_000)), ""),
    ("half.docx", _half("contract-pandoc.docx"), "is a damaged Word document"),
    ("broken.docx", _break_file("contract-libreoffice.docx"), ""),
    ("members.docx", lambda: hostile.zip_members({f"word/{n}": b"" for n in [*range(6_000), "document.xml"]}), ""),
    ("half.pptx", _half("deck-pandoc.pptx"), "is a damaged PowerPoint file"),
    ("slide.pptx", lambda: hostile.replace_member("deck-pandoc.pptx", "ppt/slides/slide2.xml", b"<p:sld"), ""),
    ("bomb.odt", lambda: hostile.with_bomb(
        {"mimetype": b"application/vnd.oasis.opendocument.text"}, "content.xml", b"<x>", b"<p/>" * 250_000, 300
    ), "is far larger inside than it looks"),
    ("half.xlsx", _half("sales.xlsx"), "is a damaged"),
    ("rows.xlsx", lambda: hostile.workbook(20_000), ""),
    ("far.xlsx", hostile.far_cell, ""),
    ("sealed.docx", lambda: b"\xd0\xcf\x11\xe0" + "EncryptedPackage".encode("utf-16-le"), "is protected by a password"),
    ("bomb.zip", lambda: hostile.with_bomb({}, "zeros", b"", b"\0" * hostile.MEGABYTE, 300), ""),
    ("mimetype.zip", lambda: hostile.with_bomb({}, "mimetype", b"", b"\0" * hostile.MEGABYTE, 300), ""),
    ("lying.zip", hostile.lying_archive, ""),
    ("half.zip", _half("pack-infozip.zip"), "is a damaged ZIP archive, cut off perhaps"),
    ("nothing.zip", lambda: hostile.zip_members({}), "is an empty archive"),
    ("many.zip", lambda: hostile.archive_of_everything(30_000), ""),
    ("paths.zip", lambda: hostile.zip_members({"../../etc/x": b"1", "/abs": b"2", "C:\\w\\..\\y": b"3"}), ""),
    ("pixels.png", lambda: hostile.png(31_623, 31_623, b""), "pixels"),
    ("zeros.png", lambda: hostile.png(11_000, 11_000, hostile.deflate_repeats(b"\0" * 11_001, 11_000)), "pixels"),
    ("text.png", lambda: hostile.png(
        1, 1, hostile.deflate_repeats(b"\0\0", 1), b"k\0\0" + hostile.deflate_repeats(b"x" * hostile.MEGABYTE, 500)
    ), ""),
    ("wide.gif", lambda: hostile.gif(65_535, 65_535), "pixels"),
    ("half.jpg", _half("photo-turned.jpg"), ""),
    ("noise.webp", lambda: b"RIFF\x00\x10\x00\x00WEBPVP8 " + _NOISE, "is a damaged picture"),
    ("nested.eml", hostile.nested_mail, ""),
    ("many.eml", hostile.mail_of_many, ""),
    ("brackets.eml", lambda: b"From: a@b.c\nTo: " + b"(" * 50_000 + b"\nSubject: x\n\nhello\n", ""),
    ("header.eml", lambda: b"From: a@b.c\nSubject: " + b"=?utf-8?q?=41?= " * 300_000 + b"\n\nhello\n", ""),
    ("charset.eml", lambda: b"From: a@b.c\nContent-Type: text/plain; charset=x-nosuch\n\nhello\n", ""),
    ("deep.json", lambda: b"[" * 1_000_000 + b"]" * 1_000_000, ""),
    ("broken.json", lambda: b'{"a": 1, "b": ', ""),
    ("laughs.yaml", lambda: b"a: &a [x]\n" + b"".join(
        b"%c: &%c [%s]\n" % (n + 1, n + 1, b",".join([b"*%c" % n] * 9)) for n in range(97, 122)
    ), ""),
    ("deep.html", lambda: b"<html>" + b"<div><b>" * _HTML_DEPTH + b"end", ""),
    ("angles.html", lambda: b"<html>hello" + b"<" * 60_000 + b"<a href='" * 5_000, ""),
    ("line.txt", lambda: b"x" * 30_000_000, ""),
    ("deep.py", lambda: b"x = " + b"(" * 200_000 + b"\ndef f():\n    pass\n", ""),
    ("slow.c", lambda: (b"a * & " * 5_000 + b"!\n") * 200, ""),
    ("wide.csv", lambda: b"a," * 2_000_000 + b"\n1\n", ""),
    ("endless.ics", lambda: b"BEGIN:VCALENDAR\n" + b"BEGIN:VEVENT\nSUMMARY:x\n" * 200_000, ""),
    ("many.diff", lambda: b"--- a/x\n+++ b/x\n" + b"@@ -1 +1 @@\n-a\n+b\n" * 200_000, ""),
    ("many.md", lambda: b"# h\n\ntext\n" * 200_000, ""),
]  # fmt: skip


@pytest.mark.parametrize(("name", "make_data", "expected_text"), REFUSED_FILES, ids=[case[0] for case in REFUSED_FILES])
async def test_a_bomb_or_a_broken_file_is_bounded(
    read_sample: ReadSample, name: str, make_data: Callable[[], bytes], expected_text: str
) -> None:
    data, limit = make_data(), math.ceil(_OTHERS.get(name, _CPU_SECONDS) * slow_cores())
    before = _processor_seconds()
    reading = await read_sample(name, data, cpu_seconds=limit)
    assert _processor_seconds() - before < limit + 5 * slow_cores(), "it is ended soon after its limit"
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < _KILOBYTES
    assert len(reading.text) < 2_100_000
    assert sum(len(inside.data) for inside in reading.inner_files) <= 64 * hostile.MEGABYTE
    assert len(reading.outline) <= 1_000
    if expected_text:
        assert expected_text in reading.fault
    if reading.fault:
        assert reading.fault.startswith(f"{name} ")
        assert reading.fault.endswith(".")
        assert "Error" not in reading.fault
        assert "\n" not in reading.fault
    else:
        assert reading.text or reading.pictures
