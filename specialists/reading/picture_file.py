"""Reads a picture: turns it upright, shrinks it to the size that models use, and removes all metadata."""

from __future__ import annotations

import io
import warnings
from typing import Any

from specialists.formats.contents import FileContents, UnreadableFile

LONGEST_SIDE = 1568
"""Longest side in pixels. Models scale down larger pictures."""
_FORMATS = ("PNG", "JPEG", "WEBP", "GIF")
_MAX_PIXELS = 80_000_000
_LARGEST_PNG_BYTES = 1_500_000
_DAMAGED_FAULT = "is a damaged picture; open it, save it again as PNG or JPEG and attach that"
_DECODING_ERRORS = (OSError, SyntaxError, ValueError, IndexError, EOFError, KeyError, TypeError)
_ORIENTATION, _FIRST_QUARTER_TURN = 0x0112, 5
"""The EXIF tag of the orientation, and the first of its values for a quarter turn."""


def read_picture(data: bytes, name: str, contents: FileContents) -> None:
    """Read a picture. A truncated picture is added as far as it can be decoded.

    Raises:
        UnreadableFile: it is damaged, or has too many pixels.
    """
    from PIL import ImageFile  # noqa: PLC0415

    try:
        image, words, frames = _open_picture(data)
    except OSError:
        ImageFile.LOAD_TRUNCATED_IMAGES = True
        try:
            image, words, frames = _open_picture(data)
        except _DECODING_ERRORS:
            raise UnreadableFile(_DAMAGED_FAULT) from None
        contents.add_gap("it is damaged or cut off: a part of the picture may be missing")
    except _DECODING_ERRORS:
        raise UnreadableFile(_DAMAGED_FAULT) from None
    media_type, small = compress_picture(image)
    contents.add_picture(name, media_type, small)
    contents.add_text(f"[picture: {words}]")
    if frames > 1:
        contents.add_gap(f"only the first of {frames:,} pictures in it is looked at")


def shrink_picture(data: bytes) -> tuple[str, bytes] | None:
    """Return (media type, bytes) of a shrunk picture out of a document; None if it cannot be read."""
    try:
        return compress_picture(_open_picture(data)[0])
    except (UnreadableFile, *_DECODING_ERRORS):
        return None


def _open_picture(data: bytes) -> tuple[Any, str, int]:
    """Open a picture. Returns (the image upright and shrunk, its description, number of frames in the file)."""
    from PIL import Image, ImageOps  # noqa: PLC0415

    warnings.simplefilter("error", Image.DecompressionBombWarning)
    try:
        image: Image.Image = Image.open(io.BytesIO(data), formats=_FORMATS)
        width, height = image.size
        if width * height > _MAX_PIXELS:
            raise UnreadableFile(_describe_excess_size(width, height))
        kind, frames = image.format, getattr(image, "n_frames", 1)
        is_quarter_turned = image.getexif().get(_ORIENTATION, 1) >= _FIRST_QUARTER_TURN
        width, height = (height, width) if is_quarter_turned else (width, height)
        image.draft("RGB", (LONGEST_SIDE, LONGEST_SIDE))
        image = ImageOps.exif_transpose(image)
        image.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise UnreadableFile("has far too many pixels; scale it down and attach that") from None
    return image, f"{kind}, {width} x {height} pixels", frames


def compress_picture(image: Any) -> tuple[str, bytes]:
    """Return (media type, bytes) of an image: PNG if that is small, as for drawings and screenshots, otherwise JPEG."""
    from PIL import Image  # noqa: PLC0415

    # A new image has only the pixels: no comment, no location, no camera name.
    if image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info:
        flat_image = Image.new("RGB", image.size, "white")
        flat_image.paste(image.convert("RGBA"), mask=image.convert("RGBA").getchannel("A"))
    else:
        flat_image = Image.new("L" if image.mode in ("1", "L") else "RGB", image.size)
        flat_image.paste(image.convert(flat_image.mode))
    jpeg = io.BytesIO()
    flat_image.save(jpeg, "JPEG", quality=85)
    png = io.BytesIO()
    flat_image.save(png, "PNG")
    if png.tell() <= max(jpeg.tell(), _LARGEST_PNG_BYTES // 8) and png.tell() <= _LARGEST_PNG_BYTES:
        return "image/png", png.getvalue()
    return "image/jpeg", jpeg.getvalue()


def _describe_excess_size(width: int, height: int) -> str:
    most = f"{_MAX_PIXELS // 1_000_000} million pixels"
    return f"has {width:,} x {height:,} pixels; scale it down to {most} or less and attach that"
