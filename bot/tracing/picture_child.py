"""The process that draws the picture of a trace with matplotlib: bars differ by hatch and sign, not by colour alone.

It reads the layout from `picture_layout` as JSON on stdin, and writes the PNG to stdout.
"""

from __future__ import annotations

import io
import json
import sys
import textwrap
import warnings
from typing import Any

from specialists.sandbox.confine import claim_stdout

INK_COLOUR, MUTED_COLOUR, LINE_COLOUR, GROUND_COLOUR = "#1d1c25", "#5c5b6b", "#dcdce3", "#ffffff"
_WAIT_COLOUR, _FAILED_COLOUR, _CHECK_COLOUR = "#b36a00", "#c1293c", "#0f8a7e"
_PIXELS_PER_INCH = 100
"""Converts the layout's pixels to the inches in which matplotlib measures a figure."""
_BAR_HEIGHT, _ROW_HEIGHT, _THIN_HEIGHT = 36, 52, 16
_MAX_HEIGHT_PIXELS = 6_000
_MIN_DRAWABLE_SHARE = 0.7
"""The share of a title's letters that the fonts must have; with fewer, the job's id is drawn in its place."""
_MIN_SIGN_WIDTH = 26
"""A bar must be wider than this many pixels to have its sign drawn."""

# By style of a bar: fill colour, edge colour, hatch, line style of the edge, and the sign in its middle.
_STYLES: dict[str, tuple[str, str, str, str, str]] = {
    "work": ("#3a6fd8", "#3a6fd8", "", "-", ""),
    "lead": ("#6a5acd", "#6a5acd", "", "-", ""),
    "crew": ("#a9c1f0", "#a9c1f0", "", "-", ""),
    "many": ("#c9cbd6", "#c9cbd6", "", "-", ""),
    "plain": ("#f4f4f6", MUTED_COLOUR, "", "-", ""),
    "wait": ("#fbe6c4", _WAIT_COLOUR, "//", "-", "?"),
    "failed": ("#fdeaec", _FAILED_COLOUR, "||", "-", "\N{MULTIPLICATION SIGN}"),
    "pause": (GROUND_COLOUR, MUTED_COLOUR, "", "--", "..."),
    "away": (GROUND_COLOUR, MUTED_COLOUR, "", "--", "-"),
    "verify": (GROUND_COLOUR, _CHECK_COLOUR, "", ":", "✓"),
    "refine": (GROUND_COLOUR, _CHECK_COLOUR, "..", "-", "↻"),
}


def main() -> None:
    """Read a layout from stdin, draw it, and write the PNG to stdout."""
    reply = claim_stdout()
    layout = json.load(sys.stdin)
    warnings.simplefilter("ignore")  # matplotlib warns about letters that no font has
    with reply:
        reply.write(draw_png(layout))


def draw_png(layout: dict[str, Any]) -> bytes:
    """Draw the picture of the layout `layout`, and return it as PNG."""
    from matplotlib import rc_context  # noqa: PLC0415 - after the limits
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415 - the same
    from matplotlib.figure import Figure  # noqa: PLC0415 - the same

    from specialists.tools.charts.font_list import list_drawing_fonts  # noqa: PLC0415 - the same

    fonts = list_drawing_fonts()
    drawable_letters = [
        letter for letter in layout["title"] if any(_font_has_letter(file, letter) for _, file in fonts)
    ]
    if len(drawable_letters) < _MIN_DRAWABLE_SHARE * len(layout["title"]):
        layout = {**layout, "title": layout["otherwise"]}
    style = {
        "text.parse_math": False,
        "font.family": [name for name, _ in fonts],
        "hatch.linewidth": 3.0,
        "text.color": INK_COLOUR,
    }
    with rc_context(style):  # type: ignore[arg-type]  # the names of settings are literals in its types
        height = min(
            _MAX_HEIGHT_PIXELS, 700 + sum(64 + sum(map(_compute_row_height, lane["rows"])) for lane in layout["lanes"])
        )
        figure = Figure(
            figsize=(layout["width"] / _PIXELS_PER_INCH, height / _PIXELS_PER_INCH),
            dpi=_PIXELS_PER_INCH,
            facecolor=GROUND_COLOUR,
        )
        FigureCanvasAgg(figure)
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set(xlim=(0, layout["width"]), ylim=(height, 0))
        axes.set_axis_off()
        drawing = _Drawing(axes, layout["margin"], layout["width"])
        drawing.draw_head(layout)
        drawing.draw_lanes(layout)
        drawing.draw_legend(layout["legend"])
        target = io.BytesIO()
        used_height = min(height, drawing.y + 30)
        box = figure.bbox_inches.from_extents(
            0, (height - used_height) / _PIXELS_PER_INCH, layout["width"] / _PIXELS_PER_INCH, height / _PIXELS_PER_INCH
        )
        figure.savefig(target, format="png", bbox_inches=box)
    return target.getvalue()


class _Drawing:
    """A picture that is drawn from top to bottom. `y` is the position of the next item, in pixels."""

    def __init__(self, axes: Any, margin: int, width: int) -> None:
        self._axes = axes
        self._left, self._right = margin, width - margin
        self.y = 40.0

    def draw_head(self, layout: dict[str, Any]) -> None:
        """Draw the title, the figures of the request, and the bars that compare its times."""
        self._draw_paragraph(layout["title"] or layout["otherwise"], 40, bold=True, max_lines=3)
        self._draw_paragraph(layout["facts"], 28, MUTED_COLOUR)
        for note in layout["notes"]:
            self._draw_paragraph(note, 28, _WAIT_COLOUR)
        if layout["gain"]:
            self._draw_paragraph(layout["gain"], 32, bold=True)
        for words, share, style in layout["compared"]:
            begin = self._left + 400
            self._draw_text(self._left, self.y + 12, words, 28)
            self._draw_bar(begin, begin + share * (self._right - begin), self.y, style, height=26)
            self.y += 42
        self.y += 30

    def draw_lanes(self, layout: dict[str, Any]) -> None:
        """Draw the axis, and each lane with its bars."""
        width = self._right - self._left
        for place, words in layout["ticks"]:
            side = "left" if place == 0 else "right" if place == 1 else "center"
            self._draw_text(self._left + place * width, self.y, words, 26, MUTED_COLOUR, alignment=side)
        self.y += 30
        breaks = [(self._left + (begin + end) / 2 * width, words) for begin, end, words in layout["breaks"]]
        for x, words in breaks:
            side = "left" if x < self._left + 90 else "right" if x > self._right - 90 else "center"
            self._draw_text(x, self.y + 6, words, 26, _WAIT_COLOUR, alignment=side)
        self.y += 36 if breaks else 0
        marks = [self._left + place * width for place, _ in layout["ticks"]]
        for lane in layout["lanes"]:
            self._draw_lane(lane, marks, [x for x, _ in breaks])

    def _draw_lane(self, lane: dict[str, Any], marks: list[float], breaks: list[float]) -> None:
        self._axes.hlines(self.y, self._left, self._right, color=LINE_COLOUR)
        self._draw_text(self._left, self.y + 28, lane["name"], 30, bold=True)
        self._draw_text(self._right, self.y + 28, lane["facts"], 26, MUTED_COLOUR, alignment="right")
        self.y += 56
        bottom = self.y + sum(map(_compute_row_height, lane["rows"])) - 4
        self._axes.vlines(marks, self.y - 2, bottom, color=LINE_COLOUR, zorder=0)
        self._axes.vlines(breaks, self.y - 4, bottom, color=_WAIT_COLOUR, linestyle=(0, (1, 2)), linewidth=4)
        for row in lane["rows"]:
            for bar in row:
                ends = self._left + bar["from"], self._left + bar["to"]
                self._draw_bar(*ends, self.y, bar["style"], is_critical=bar["critical"], state=bar["state"])
            self.y += _compute_row_height(row)
        self.y += 8

    def draw_legend(self, entries: list[list[str]]) -> None:
        """Draw the meanings of the styles, two per line."""
        self._axes.hlines(self.y, self._left, self._right, color=LINE_COLOUR)
        self.y += 24
        half = (self._right - self._left) / 2
        for place, (style, words) in enumerate(entries):
            x = self._left + (place % 2) * half
            critical = style == "critical"
            self._draw_bar(x, x + 60, self.y, "work" if critical else style, height=28, is_critical=critical)
            self._draw_text(x + 74, self.y + 14, words, 26, MUTED_COLOUR)
            self.y += 46 if place % 2 or place == len(entries) - 1 else 0

    # ---------------------------------------------------------------- parts

    def _draw_text(
        self,
        x: float,
        y: float,
        words: str,
        size: int,
        colour: str = INK_COLOUR,
        *,
        bold: bool = False,
        alignment: str = "left",
    ) -> None:
        weight = "bold" if bold else "normal"
        points = size * 0.72  # 72 points per inch, 100 pixels per inch
        self._axes.text(x, y, words, size=points, color=colour, weight=weight, ha=alignment, va="center", clip_on=True)

    def _draw_paragraph(
        self, words: str, size: int, colour: str = INK_COLOUR, *, bold: bool = False, max_lines: int = 2
    ) -> None:
        """Draw a text in as many lines as it needs, at most `max_lines`; a longer text is cut."""
        letters = int((self._right - self._left) / (size * (0.58 if bold else 0.53)))
        for line in textwrap.wrap(words, letters, max_lines=max_lines, placeholder=" …"):
            self._draw_text(self._left, self.y + size / 2, line, size, colour, bold=bold)
            self.y += size * 1.35
        self.y += 8

    def _draw_bar(
        self,
        x0: float,
        x1: float,
        y: float,
        style: str,
        *,
        height: int = _BAR_HEIGHT,
        is_critical: bool = False,
        state: str = "",
    ) -> None:
        ground, edge, hatch, dashes, sign = _STYLES[style]
        height = _THIN_HEIGHT if style == "crew" else height
        x1 = max(x1, x0 + 5)
        is_faint = state == "stopped" and style in {"work", "lead"}
        self._axes.bar(
            x0,
            height,
            x1 - x0,
            y,
            align="edge",
            color=ground,
            edgecolor=MUTED_COLOUR if is_faint else edge,
            hatch=hatch,
            linestyle=dashes,
            linewidth=2,
            alpha=0.6 if is_faint else 1,
        )
        if sign and x1 - x0 > _MIN_SIGN_WIDTH:
            words = self._axes.text(
                (x0 + x1) / 2, y + height / 2, sign, size=18, weight="bold", ha="center", va="center"
            )
            words.set_bbox({"facecolor": GROUND_COLOUR, "edgecolor": "none", "pad": 2})
        if is_critical:
            self._axes.hlines(y + height + 6, x0, x1, color=INK_COLOUR, linewidth=4)
        if state == "open":
            self._axes.vlines(x1 + 5, y, y + height, color=INK_COLOUR, linestyle=":", linewidth=3)


def _font_has_letter(file: str, letter: str) -> bool:
    from matplotlib.font_manager import get_font  # noqa: PLC0415 - after the limits

    return bool(get_font(file).get_char_index(ord(letter)))


def _compute_row_height(row: list[dict[str, Any]]) -> int:
    return _THIN_HEIGHT + 20 if row and all(bar["style"] == "crew" for bar in row) else _ROW_HEIGHT
