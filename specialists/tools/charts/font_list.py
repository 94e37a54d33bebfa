"""The child process that makes matplotlib's list of fonts. That takes seconds, so drawing processes reuse the list.

This child gets no data of users, so it may write into the folder that drawing processes can only read.
"""

from __future__ import annotations

# Fonts with letters that DejaVu, which comes with matplotlib, lacks. Only installed ones are used.
_FALLBACK_FONTS = (
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


def list_drawing_fonts() -> list[tuple[str, str]]:
    """List the fonts to draw with as (name, file), preferred first. Raises ModuleNotFoundError without matplotlib."""
    from matplotlib.font_manager import fontManager  # noqa: PLC0415 - after the limits

    files = {entry.name: entry.fname for entry in reversed(fontManager.ttflist)}
    names = ["DejaVu Sans", *(name for name in _FALLBACK_FONTS if name in files)]
    return [(name, str(files[name])) for name in names]


def main() -> None:
    """Make matplotlib write its list of fonts into the folder `MPLCONFIGDIR`, unless the list is there already."""
    import matplotlib.font_manager  # noqa: F401, PLC0415 - it writes the list when it is imported
