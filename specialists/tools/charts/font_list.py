"""The process that lists the fonts of this machine for those that draw: it takes seconds, and the list is kept.

It is given nothing of anybody's, so that it may write into the folder that later processes only read.
"""

from __future__ import annotations

# Fonts that have what DejaVu, which comes with matplotlib, has not. Only those installed are used.
_WIDER_FONTS = (
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "Source Han Sans",
    "WenQuanYi Micro Hei",
    "WenQuanYi Zen Hei",
    "Droid Sans Fallback",
    "PingFang SC",
    "Hiragino Sans",
    "Apple SD Gothic Neo",
    "Arial Unicode MS",
    "Noto Sans",
    "Noto Sans Arabic",
    "Noto Sans Devanagari",
    "Noto Sans Thai",
)


def drawing_fonts() -> list[tuple[str, str]]:
    """List the fonts to draw with, in order, as name and file. Raises ModuleNotFoundError without matplotlib."""
    from matplotlib.font_manager import fontManager  # noqa: PLC0415 - after the limits

    files = {entry.name: entry.fname for entry in reversed(fontManager.ttflist)}
    names = ["DejaVu Sans", *(name for name in _WIDER_FONTS if name in files)]
    return [(name, str(files[name])) for name in names]


def main() -> None:
    """Have matplotlib write its list into the folder of `MPLCONFIGDIR`, if it is not there."""
    import matplotlib.font_manager  # noqa: F401, PLC0415 - it writes the list when it is imported
