"""The process that reads: shut in, honest where a library is missing, and no slower than a hundred pages allow."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PIL import Image

from specialists.reading.file_reader import CPU_SECONDS, parse_child_reply
from specialists.sandbox.child_process import ChildInputs as Places
from specialists.sandbox.child_process import ChildLimits, run_child

from .conftest import FILES, ReadSample
from .hostile_files import pdf, replace_member, stream, zip_members

TESTS = Path(__file__).parents[1]


async def test_the_process_reaches_no_network_no_program_and_no_file(tmp_path: Path) -> None:
    request = {"port": 9, "folder": str(tmp_path)}
    limits = ChildLimits(memory_mb=1500, cpu_seconds=15)
    reply = await run_child(
        "tests.reading.locked_child",
        request,
        limits=limits,
        timeout_seconds=30,
        max_reply_bytes=10_000,
        inputs=Places(readable_paths=[TESTS]),
    )
    ends = json.loads(reply.output)
    assert ends.pop("write") in {"PermissionError", "OSError"}  # of the kernel's wall, or of the limit on files
    assert ends == {
        "connect": "PermissionError",
        "resolve": "PermissionError",
        "run": "PermissionError",
        "fork": "PermissionError",
    }


@pytest.mark.parametrize(
    ("name", "library", "extra"),
    [
        ("manual-groff.pdf", "pypdfium2", "files"),
        ("deck-pandoc.pptx", "pptx", "files"),
        ("photo.webp", "PIL", "files"),
        ("sales.xlsx", "python_calamine", "tables"),
        *((name, "", "") for name in ("contract-pandoc.docx", "report.odt", "mail-mutt.eml", "japanese-shift_jis.txt")),
    ],
)
async def test_without_extras_much_is_read_and_a_missing_library_is_named(name: str, library: str, extra: str) -> None:
    reply = await run_child(
        "tests.reading.bare_child",
        {"file": "file", "name": name, "media_type": "", "columns": False},
        limits=ChildLimits(memory_mb=1500, cpu_seconds=CPU_SECONDS),
        timeout_seconds=30,
        max_reply_bytes=1_000_000,
        inputs=Places(files={"file": FILES / name}, readable_paths=[TESTS]),
    )
    reading = parse_child_reply(reply.output, name)
    assert bool(reading.text) != bool(library)
    assert not library or reading.fault == (
        f"{name} cannot be read here: {library} is missing. "
        f"Whoever runs the bot can add it with: pip install 'leadhand[{extra}]'."
    )


async def test_a_hundred_pages_are_read_whole(read_sample: ReadSample) -> None:
    line = b"(" + b"Revenue of the northern region grew again, and so did the margin. " + b") Tj 0 -14 Td\n"
    text = stream(b"BT /A 11 Tf 40 780 Td\n" + line * 40 + b"ET")
    kids = b" ".join(b"%d 0 R" % number for number in range(5, 105))
    page = (
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R /Resources << /Font << /A 3 0 R >> >> >>"
    )
    font = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
    pages = b"<< /Type /Pages /Kids [%s] /Count 100 >>" % kids
    data = pdf(b"<< /Type /Catalog /Pages 2 0 R >>", pages, font, text, *[page] * 100)
    reading = await read_sample("hundred.pdf", data)
    assert [section.name for section in reading.outline] == [f"page {number}" for number in range(1, 101)]
    assert len(reading.text) > 250_000


async def test_a_long_text_keeps_both_ends_and_says_what_is_left_out(read_sample: ReadSample) -> None:
    lines = [f"2026-01-{1 + number // 20_000:02d} 00:00:00 line {number}" for number in range(1, 200_001)]
    reading = await read_sample("service.log", "\n".join(lines).encode())
    assert reading.text.startswith(lines[0])
    assert reading.text.endswith(lines[-1])
    (gap,) = reading.gaps
    assert gap.endswith("characters, in the middle, are left out")
    end = reading.text.index("left out here]\n") + len("left out here]\n")
    line = int(reading.text[reading.text.index("line ", end) :].partition("\n")[0].removeprefix("line "))
    goes_on = f"line {line - (line - 1) % 5_000}"
    for section in reading.outline:
        name = section.name.partition(":")[0]
        if section.start == end:
            assert name == goes_on, "the end begins in a section whose first line is left out"
        else:
            assert reading.text[section.start :].startswith(lines[int(name.removeprefix("line ")) - 1])
    assert end in [section.start for section in reading.outline]


async def test_broken_pages_cost_no_more_than_themselves(read_sample: ReadSample) -> None:
    good = replace_member("deck-pandoc.pptx", "ppt/slides/slide3.xml", b"<broken")
    reading = await read_sample("deck.pptx", good)
    assert reading.fault == "deck.pptx is a damaged PowerPoint file; open it, save it again or as PDF and attach that."
    styles = await read_sample("contract.docx", replace_member("contract-pandoc.docx", "word/styles.xml", b"<broken"))
    assert "The supplier delivers 40 units." in styles.text
    assert "its styles are damaged: headings and numbers may be missing" in styles.gaps


async def test_a_picture_that_is_cut_off_is_shown_as_far_as_it_goes(read_sample: ReadSample) -> None:
    data = (FILES / "screen-chromium.png").read_bytes()
    reading = await read_sample("cut.png", data[: len(data) * 3 // 4])
    assert len(reading.pictures) == 1
    assert reading.gaps == ("it is damaged or cut off: a part of the picture may be missing",)


async def test_a_word_document_of_scans_is_pictures(read_sample: ReadSample, tmp_path: Path) -> None:
    Image.new("L", (30, 40), 128).save(tmp_path / "scan.png")
    relation = '<Relationship Id="r1" Type="http://x/image" Target="media/scan.png"/>'
    data = zip_members(
        {
            "word/document.xml": b"<w:document xmlns:w='w'><w:body><w:p/></w:body></w:document>",
            "word/_rels/document.xml.rels": f"<Relationships>{relation}</Relationships>".encode(),
            "word/media/scan.png": (tmp_path / "scan.png").read_bytes(),
        }
    )
    reading = await read_sample("scans.docx", data)
    assert [picture.name for picture in reading.pictures] == ["scans.docx picture 1"]


async def test_a_log_with_zeros_where_its_machine_went_down(read_sample: ReadSample) -> None:
    data = b"2026-01-02 03:04:05 up\n" * 20 + b"\0" * 100 + b"\n2026-01-02 04:04:05 up again\n"
    reading = await read_sample("kern.log", data)
    assert "up again" in reading.text
    assert reading.gaps == ("100 zero bytes in it are left out",)
