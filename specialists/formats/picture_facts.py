"""Reads a picture's type and its size in pixels from its header, and estimates its tokens.

Nothing is decoded, as a decoder could be attacked.
"""

from __future__ import annotations

import struct
from math import ceil
from typing import Literal

PictureType = Literal["image/png", "image/jpeg", "image/webp", "image/gif"]
Pixels = tuple[int, int]
"""Width and height in pixels."""

MAX_PICTURE_TOKENS = 3_300
"""The most tokens of a picture, since providers scale the longer edge down to about 1,568 pixels."""
_MAX_EDGE_PIXELS = 1_568
_PIXELS_PER_TOKEN = 750
_MIN_TOKENS = 85
_FRAME_MARKERS = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})
"""JPEG markers of a frame, which hold the picture's size."""
_LENGTHLESS_MARKERS = frozenset({0x01, *range(0xD0, 0xD9)})
"""JPEG markers without a length."""


def detect_picture_type(data: bytes) -> PictureType | None:
    """Return the media type of a picture by its first bytes; None if it is no supported picture."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return "image/gif" if data.startswith((b"GIF87a", b"GIF89a")) else None


def read_pixel_size(data: bytes) -> Pixels | None:
    """Return a picture's (width, height); None if its header is broken or it is no supported picture."""
    readers = {
        "image/png": _read_png_size,
        "image/jpeg": _read_jpeg_size,
        "image/webp": _read_webp_size,
        "image/gif": _read_gif_size,
    }
    kind = detect_picture_type(data)
    try:
        size = readers[kind](data) if kind else None
    except (struct.error, IndexError):
        return None
    return size if size and min(size) > 0 else None


def estimate_picture_tokens(data: bytes) -> int:
    """Estimate the most tokens that a picture takes with any provider; `MAX_PICTURE_TOKENS` if its size is unknown."""
    size = read_pixel_size(data)
    if size is None:
        return MAX_PICTURE_TOKENS
    shrunk = min(1.0, _MAX_EDGE_PIXELS / max(size))
    return min(MAX_PICTURE_TOKENS, _MIN_TOKENS + ceil(size[0] * shrunk * size[1] * shrunk / _PIXELS_PER_TOKEN))


def _read_png_size(data: bytes) -> Pixels | None:
    width, height = struct.unpack(">II", data[16:24])
    return (width, height) if data[12:16] == b"IHDR" else None


def _read_gif_size(data: bytes) -> Pixels:
    width, height = struct.unpack("<HH", data[6:10])
    return width, height


def _read_jpeg_size(data: bytes) -> Pixels | None:
    at = 2
    while data[at] == 0xFF:
        marker = data[at + 1]
        if marker == 0xFF:  # padding
            at += 1
        elif marker in _LENGTHLESS_MARKERS:
            at += 2
        elif marker in _FRAME_MARKERS:
            height, width = struct.unpack(">HH", data[at + 5 : at + 9])
            return width, height
        else:
            at += 2 + int(struct.unpack(">H", data[at + 2 : at + 4])[0])
    return None


def _read_webp_size(data: bytes) -> Pixels | None:
    kind = data[12:16]
    if kind == b"VP8X":
        return 1 + int.from_bytes(data[24:27], "little"), 1 + int.from_bytes(data[27:30], "little")
    if kind == b"VP8L":
        bits = int.from_bytes(data[21:25], "little")
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    if kind == b"VP8 ":
        width, height = struct.unpack("<HH", data[26:30])
        return width & 0x3FFF, height & 0x3FFF
    return None
