"""Pictures, and pages that are pictures, go to a model that sees: turned right, small enough, without their EXIF."""

from __future__ import annotations

import io
import re
import time

import pytest
from PIL import Image

from specialists.reading.pdf_pages import READING_SECONDS

from .conftest import FILES, ReadSample


@pytest.mark.parametrize(
    ("name", "kind", "size"),
    [
        ("screen-chromium.png", "PNG", (500, 300)),
        ("photo-turned.jpg", "JPEG", (200, 400)),
        ("photo.webp", "WEBP", (400, 200)),
        ("moving.gif", "GIF", (80, 60)),
    ],
)
async def test_a_picture_is_one(read_sample: ReadSample, name: str, kind: str, size: tuple[int, int]) -> None:
    reading = await read_sample(name)
    (picture,) = reading.pictures
    image = Image.open(io.BytesIO(picture.data))
    assert picture.name == name
    assert image.get_format_mimetype() == picture.media_type
    assert image.size == size
    assert reading.text == f"[picture: {kind}, {size[0]} x {size[1]} pixels]"


async def test_a_large_picture_is_scaled_down(read_sample: ReadSample) -> None:
    (picture,) = (await read_sample("wide.png")).pictures
    assert Image.open(io.BytesIO(picture.data)).size == (1568, 392)


async def test_what_the_file_says_of_the_picture_stays_here(read_sample: ReadSample) -> None:
    held = (FILES / "photo-turned.jpg").read_bytes()
    assert b"SecretCam" in held
    assert b"private comment" in held
    (picture,) = (await read_sample("photo-turned.jpg")).pictures
    assert b"SecretCam" not in picture.data
    assert b"private comment" not in picture.data
    image = Image.open(io.BytesIO(picture.data))
    assert not image.getexif()
    assert "comment" not in image.info


async def test_of_a_picture_that_moves_the_first_is_looked_at(read_sample: ReadSample) -> None:
    assert (await read_sample("moving.gif")).gaps == ("only the first of 3 pictures in it is looked at",)


async def test_what_is_seen_through_is_white(read_sample: ReadSample) -> None:
    through = io.BytesIO()
    Image.new("RGBA", (40, 40), (0, 0, 0, 0)).save(through, "PNG")
    (picture,) = (await read_sample("through.png", through.getvalue())).pictures
    assert Image.open(io.BytesIO(picture.data)).convert("RGB").getpixel((5, 5)) == (255, 255, 255)


async def test_scanned_pages_become_pictures(read_sample: ReadSample) -> None:
    reading = await read_sample("scan.pdf")
    assert [picture.name for picture in reading.pictures] == ["scan.pdf page 1", "scan.pdf page 2"]
    for picture in reading.pictures:
        assert max(Image.open(io.BytesIO(picture.data)).size) == 1568


async def test_more_scanned_pages_than_are_sent_are_named(read_sample: ReadSample) -> None:
    scans = io.BytesIO()
    pages = [Image.new("L", (60, 80), 40 + index) for index in range(23)]
    pages[0].save(scans, "PDF", save_all=True, append_images=pages[1:])
    began = time.monotonic()
    reading = await read_sample("scans.pdf", scans.getvalue())
    took = time.monotonic() - began
    sent = len(reading.pictures)
    ranges = [part for gap in reading.gaps for part in re.findall(r"^pages? (\d+)(?:-(\d+))?", gap)]
    named = sorted(page for first, last in ranges for page in range(int(first), int(last or first) + 1))
    assert named == list(range(sent + 1, 24)), "every page that is not sent, once"
    assert sent == 20 or (took > READING_SECONDS and 1 <= sent < 20)
    if took <= READING_SECONDS:
        (gap,) = reading.gaps
        assert gap.startswith("pages 21-23 are without text (scanned or drawn) and not read")
