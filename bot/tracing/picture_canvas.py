"""Draws the picture of a trace with Pillow: bars told apart by pattern and sign, not by colour alone."""

from __future__ import annotations

import io
from typing import Any

from PIL import Image, ImageDraw

from bot.tracing.picture_fonts import drawable, font_for

INK, MUTED, LINE, GROUND = "#1d1c25", "#5c5b6b", "#dcdce3", "#ffffff"
WORK, LEAD, LOOK, WAIT, BAD = "#3a6fd8", "#6a5acd", "#0f8a7e", "#b36a00", "#c1293c"
WAIT_SOFT, BAD_SOFT, CREW, MANY = "#fbe6c4", "#fdeaec", "#a9c1f0", "#c9cbd6"
BAR, ROW, THIN = 36, 52, 16
SIGNS = {"wait": "?", "pause": "···", "away": "-", "verify": "✓", "refine": "↻", "failed": "\N{MULTIPLICATION SIGN}"}
MOST_HEIGHT = 6_000
_LETTERS_LEFT = 0.7
"""The part of a title that must be drawable for it to stand for the request."""


def png(request: dict[str, Any]) -> bytes:
    """Draw the picture and return it as PNG."""
    rows = sum(64 + sum(map(_height, lane["rows"])) for lane in request["lanes"])
    picture = Image.new("RGB", (request["width"], min(MOST_HEIGHT, rows + 1_200)), GROUND)
    canvas = _Canvas(picture, request["margin"])
    canvas.head(request)
    canvas.lanes(request)
    canvas.foot(request)
    target = io.BytesIO()
    used = picture.crop((0, 0, request["width"], min(picture.height, canvas.y + 30)))
    used.save(target, format="PNG")
    return target.getvalue()


class _Canvas:
    """A picture that grows downwards: `y` is where the next thing goes."""

    def __init__(self, picture: Image.Image, margin: int) -> None:
        self._picture = picture
        self._draw = ImageDraw.Draw(picture)
        self._left, self._right = margin, picture.width - margin
        self.y = 32

    # ---------------------------------------------------------------- words

    def _text(
        self,
        place: tuple[float, float],
        text: str,
        size: int,
        ink: str = INK,
        *,
        bold: bool = False,
        anchor: str = "la",
    ) -> float:
        """Write one line; what does not fit into the width is cut. Returns its width."""
        text = drawable(text, size, bold=bold)
        font = font_for(text, size, bold=bold)
        room = self._right - self._left
        while text and font.getlength(text) > room:
            text = text[: max(0, int(len(text) * room / font.getlength(text)) - 2)] + "…"
        self._draw.text(place, text, fill=ink, font=font, anchor=anchor)
        return float(font.getlength(text))

    def _paragraph(self, text: str, size: int, ink: str = INK, *, bold: bool = False, most: int = 2) -> None:
        """Write a text in as many lines as it takes, `most` at the most."""
        text = drawable(text, size, bold=bold)
        font = font_for(text, size, bold=bold)
        lines, line = [], ""
        for word in text.split():
            wider = f"{line} {word}".strip()
            if line and font.getlength(wider) > self._right - self._left:
                lines.append(line)
                line = word
            else:
                line = wider
        lines.append(line)
        if len(lines) > most:
            lines = [*lines[: most - 1], f"{lines[most - 1]} …"]
        for one in lines:
            self._text((self._left, self.y), one, size, ink, bold=bold)
            self.y += round(size * 1.3)

    # ---------------------------------------------------------------- parts of the picture

    def head(self, request: dict[str, Any]) -> None:
        """Draw the request, its figures, and the time one by one against side by side."""
        title = drawable(request["title"], 40, bold=True)
        readable = len(title) > _LETTERS_LEFT * len(request["title"])  # else no font here has its letters
        self._paragraph(title if readable else request["otherwise"], 40, bold=True, most=3)
        self.y += 6
        self._paragraph(request["facts"], 28, MUTED)
        for note in request["notes"]:
            self._paragraph(note, 28, WAIT)
        if request["gain"]:
            self.y += 10
            self._paragraph(request["gain"], 32, bold=True)
        self.y += 8
        for words, share, style in request["compared"]:
            self._text((self._left, self.y + 4), words, 28)
            begin = self._left + 400
            self._bar((begin, begin + share * (self._right - begin)), self.y + 4, style, height=26)
            self.y += 42
        self.y += 20

    def lanes(self, request: dict[str, Any]) -> None:
        """Draw the axis and the lanes."""
        self._axis(request)
        width = self._right - self._left
        marks = [self._left + place * width for place, _ in request["ticks"]]
        breaks = [self._left + (begin + end) / 2 * width for begin, end, _ in request["breaks"]]
        for lane in request["lanes"]:
            self._lane(lane, marks, breaks)

    def _axis(self, request: dict[str, Any]) -> None:
        width = self._right - self._left
        for place, words in request["ticks"]:
            anchor = "la" if place == 0 else "ra" if place == 1 else "ma"
            self._text((self._left + place * width, self.y), words, 26, MUTED, anchor=anchor)
        self.y += 40
        for begin, end, words in request["breaks"]:
            anchor, x = "ma", self._left + (begin + end) / 2 * width
            half = font_for(words, 26).getlength(words) / 2
            x = min(max(x, self._left + half), self._right - half)
            self._text((x, self.y), words, 26, WAIT, anchor=anchor)
        self.y += 40 if request["breaks"] else 0

    def _break(self, x: float, top: float, bottom: float) -> None:
        """Draw a stretch that is shown shorter than it was: two slanted lines again and again."""
        y = top + 4
        while y + 14 < bottom:
            for shift in (-5, 5):
                self._draw.line((x + shift - 4, y + 14, x + shift + 4, y), fill=WAIT, width=3)
            y += 24

    def _lane(self, lane: dict[str, Any], marks: list[float], breaks: list[float]) -> None:
        self._draw.line((self._left, self.y, self._right, self.y), fill=LINE, width=2)
        self.y += 12
        width = self._text((self._left, self.y), lane["name"], 30, bold=True)
        room = self._right - self._left - width - 20
        facts = lane["facts"]
        font = font_for(facts, 26)
        while facts and font.getlength(facts) > room and " · " in facts:
            facts = facts.rpartition(" · ")[0]
        self._text((self._right, self.y + 4), facts, 26, MUTED, anchor="ra")
        self.y += 44
        bottom = self.y + sum(map(_height, lane["rows"])) - 4
        for x in marks:
            self._draw.line((x, self.y - 2, x, bottom), fill=LINE, width=2)
        for x in breaks:
            self._break(x, self.y - 4, bottom)
        for row in lane["rows"]:
            for bar in row:
                self._bar((self._left + bar["from"], self._left + bar["to"]), self.y, **_styled(bar))
            self.y += _height(row)
        self.y += 8

    def foot(self, request: dict[str, Any]) -> None:
        """Draw the legend, two entries a line."""
        self._draw.line((self._left, self.y, self._right, self.y), fill=LINE, width=2)
        self.y += 20
        half = (self._right - self._left) / 2
        entries = request["legend"]
        wide = [one for one in entries if one[0] == "critical"]
        narrow = [one for one in entries if one[0] != "critical"]
        for place, (style, words) in enumerate(narrow):
            self._entry(self._left + (place % 2) * half, style, words)
            self.y += 46 if place % 2 or place == len(narrow) - 1 else 0
        for style, words in wide:
            self._entry(self._left, style, words)
            self.y += 46

    def _entry(self, x: float, style: str, words: str) -> None:
        critical = style == "critical"
        self._bar((x, x + 60), self.y, "work" if critical else style, height=28, critical=critical)
        self._text((x + 74, self.y - 1), words, 26, MUTED)

    # ---------------------------------------------------------------- bars

    def _bar(
        self,
        ends: tuple[float, float],
        y: float,
        style: str,
        *,
        height: int = BAR,
        critical: bool = False,
        open_end: bool = False,
        faint: bool = False,
    ) -> None:
        x0, x1 = round(ends[0]), max(round(ends[1]), round(ends[0]) + 5)
        box = (x0, round(y), x1, round(y) + (THIN if style == "crew" else height))
        _FILLS[style](self._picture, self._draw, box)
        if faint:
            self._draw.rectangle(box, outline=MUTED, width=2)
        sign = SIGNS.get(style, "")
        if sign and x1 - x0 > 26 and drawable(sign, 28, bold=True) == sign:
            middle = ((x0 + x1) / 2, (box[1] + box[3]) / 2)
            half = 8 + 4 * len(sign)
            self._draw.rectangle((middle[0] - half, box[1] + 5, middle[0] + half, box[3] - 5), fill=GROUND)
            ink = BAD if style == "failed" else INK
            self._text(middle, sign, 26, ink, bold=True, anchor="mm")
        if critical:
            self._draw.rectangle((x0, box[3] + 3, x1, box[3] + 8), fill=INK)
        if open_end:
            for dot in range(box[1], box[3], 8):
                self._draw.rectangle((x1 + 3, dot, x1 + 6, dot + 3), fill=INK)


def _height(row: list[dict[str, Any]]) -> int:
    return THIN + 20 if row and all(bar["style"] == "crew" for bar in row) else ROW


def _styled(bar: dict[str, Any]) -> dict[str, Any]:
    style, state = bar["style"], bar["state"]
    faint = state == "stopped" and style in {"work", "lead"}
    return {"style": style, "critical": bar["critical"], "open_end": state == "open", "faint": faint}


Box = tuple[int, int, int, int]


def _solid(colour: str) -> Any:
    def fill(_: Image.Image, draw: ImageDraw.ImageDraw, box: Box) -> None:
        draw.rounded_rectangle(box, 4, fill=colour)

    return fill


def _outlined(_: Image.Image, draw: ImageDraw.ImageDraw, box: Box) -> None:
    draw.rounded_rectangle(box, 4, fill="#f4f4f6", outline=MUTED, width=2)


def _lines(colour: str, ground: str, *, slant: bool) -> Any:
    """Return what fills a box with lines, slanted or upright, inside a border."""

    def fill(picture: Image.Image, draw: ImageDraw.ImageDraw, box: Box) -> None:
        width, height = max(1, box[2] - box[0]), box[3] - box[1]
        tile = Image.new("RGB", (width, height), ground)
        pen = ImageDraw.Draw(tile)
        for x in range(-height, width + height, 16 if slant else 12):
            pen.line((x, height, x + (height if slant else 0), 0), fill=colour, width=5 if slant else 3)
        picture.paste(tile, box[:2])
        draw.rectangle(box, outline=colour, width=3)

    return fill


def _dashed(colour: str, dash: int) -> Any:
    """Return what draws a box of dashes, or of dots for a short `dash`."""

    def fill(_: Image.Image, draw: ImageDraw.ImageDraw, box: Box) -> None:
        draw.rectangle(box, fill=GROUND)
        x0, y0, x1, y1 = box
        for x in range(x0, x1, 2 * dash):
            for y in (y0, y1 - 3):
                draw.rectangle((x, y, min(x + dash, x1), y + 3), fill=colour)
        for y in range(y0, y1, 2 * dash):
            for x in (x0, max(x0, x1 - 3)):
                draw.rectangle((x, y, min(x + 3, x1), min(y + dash, y1)), fill=colour)

    return fill


def _double(_: Image.Image, draw: ImageDraw.ImageDraw, box: Box) -> None:
    draw.rectangle(box, fill=GROUND, outline=LOOK, width=2)
    if box[2] - box[0] > 14:
        draw.rectangle((box[0] + 6, box[1] + 6, box[2] - 6, box[3] - 6), outline=LOOK, width=2)


_FILLS: dict[str, Any] = {
    "work": _solid(WORK),
    "lead": _solid(LEAD),
    "crew": _solid(CREW),
    "many": _solid(MANY),
    "plain": _outlined,
    "wait": _lines(WAIT, WAIT_SOFT, slant=True),
    "failed": _lines(BAD, BAD_SOFT, slant=False),
    "pause": _dashed(MUTED, 10),
    "away": _dashed(MUTED, 10),
    "verify": _dashed(LOOK, 4),
    "refine": _double,
}
