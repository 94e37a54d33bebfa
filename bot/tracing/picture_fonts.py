"""The fonts of the picture: what is installed, and for each text one that has its letters."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from PIL import ImageFont

Font = ImageFont.FreeTypeFont | ImageFont.ImageFont

_FOLDERS = ("/usr/share/fonts", "/usr/local/share/fonts", "/System/Library/Fonts", "/Library/Fonts")
_WIDER = ("NotoSansCJK*", "NotoSans-Regular*", "DroidSansFallback*", "wqy*", "PingFang*", "Arial Unicode*")
_NO_LETTER = "\uffff"


@cache
def _files(*, bold: bool) -> tuple[str, ...]:
    """List font files, the usual one first. DejaVu comes with matplotlib, where charts are installed."""
    name = "DejaVuSans-Bold.ttf" if bold else "DejaVuSans.ttf"
    found = [path for path in _plain(name) if path.is_file()]
    wider = (path for folder in _FOLDERS for pattern in _WIDER for path in sorted(Path(folder).rglob(pattern)))
    return tuple(str(path) for path in (*found[:1], *wider))


def _plain(name: str) -> Iterator[Path]:
    spec = find_spec("matplotlib")
    if spec is not None and spec.origin is not None:
        yield Path(spec.origin).parent / "mpl-data" / "fonts" / "ttf" / name
    yield Path("/usr/share/fonts/truetype/dejavu") / name


@cache
def _fonts(size: int, *, bold: bool) -> tuple[Font, ...]:
    found: list[Font] = []
    for path in _files(bold=bold):
        try:
            found.append(ImageFont.truetype(path, size))
        except OSError:  # no font that it can read
            continue
    return (*found, ImageFont.load_default(size))


def font_for(text: str, size: int, *, bold: bool = False) -> Font:
    """Return the first font that has all letters of a text; the usual one if none has."""
    fonts = _fonts(size, bold=bold)
    return next((font for font in fonts if all(_has(font, letter) for letter in text)), fonts[0])


def drawable(text: str, size: int, *, bold: bool = False) -> str:
    """Return a text without letters that its font does not have."""
    font = font_for(text, size, bold=bold)
    return " ".join("".join(letter for letter in text if _has(font, letter)).split())


def _has(font: Font, letter: str) -> bool:
    return letter == " " or (letter.isprintable() and _shape(font, letter) != _shape(font, _NO_LETTER))


@cache
def _shape(font: Font, letter: str) -> tuple[tuple[int, int], bytes]:
    mask = font.getmask(letter)
    return mask.size, bytes(mask)
