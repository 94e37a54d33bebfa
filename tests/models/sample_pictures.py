"""Pictures for tests: the smallest whole ones, and heads that claim any size."""

from __future__ import annotations

import struct
import zlib

from specialists.model import Picture


def png(width: int = 2, height: int = 2, *, padding: int = 0) -> bytes:
    """A grey PNG of that size, and so many bytes more in a chunk that every reader skips."""
    rows = b"".join(b"\x00" + b"\x80" * width for _ in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    extra = _chunk(b"tEXt", b"x\x00" + b" " * padding) if padding else b""
    return (
        b"\x89PNG\r\n\x1a\n"
        + _chunk(b"IHDR", head)
        + extra
        + _chunk(b"IDAT", zlib.compress(rows))
        + _chunk(b"IEND", b"")
    )


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def picture(name: str = "plan.png", data: bytes = b"") -> Picture:
    return Picture(name=name, media_type="image/png", data=data or png())
