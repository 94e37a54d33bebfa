"""The child process that draws charts, so that the bot itself never loads matplotlib (two seconds, much memory).

Input: the fields of `ChartData`, the title, the axis labels and the unit, as JSON. Output: one line of JSON
(`unseen`: True if letters lack a font, or `error`: a text for people), then the PNG.
"""

from __future__ import annotations

import datetime as dt
import json
import sys
import warnings
from typing import Any

from specialists.sandbox.confine import claim_stdout
from specialists.tools.charts.chart_data import ChartData, Series
from specialists.tools.charts.chart_labels import drop_unprintable
from specialists.tools.charts.font_list import list_drawing_fonts
from specialists.tools.extras import explain_install


def main() -> None:
    """Read a request from stdin, draw its chart and write the reply to stdout."""
    reply = claim_stdout()
    request = json.load(sys.stdin)
    warnings.simplefilter("ignore")  # matplotlib warns of missing glyphs; the reply reports them as `unseen`
    head, picture = _draw_chart(request)
    with reply:
        reply.write(json.dumps(head).encode() + b"\n" + picture)


def _draw_chart(request: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    try:
        from specialists.tools.charts.figure import render_png  # noqa: PLC0415 - after the limits
    except ModuleNotFoundError as error:
        return {"error": f"Charts cannot be drawn here: {error.name} is missing. {explain_install('charts')}"}, b""
    fonts = list_drawing_fonts()
    data, texts, lacks_glyphs = _drop_undrawable_text(request, fonts)
    return {"unseen": lacks_glyphs}, render_png(data, fonts=[name for name, _ in fonts], **texts)


def _drop_undrawable_text(
    request: dict[str, Any], fonts: list[tuple[str, str]]
) -> tuple[ChartData, dict[str, str], bool]:
    """Remove symbols that no font has. Returns (chart data, the other texts by name, True if a letter lacks a font)."""
    from matplotlib.ft2font import FT2Font  # noqa: PLC0415

    faces = [FT2Font(file) for _, file in fonts]
    has_missing_letters = False

    def clean_text(text: str) -> str:
        nonlocal has_missing_letters
        plain, lacks = drop_unprintable(text, lambda letter: any(face.get_char_index(ord(letter)) for face in faces))
        has_missing_letters = has_missing_letters or lacks
        return plain

    x_kind = request["x_kind"]
    xs = tuple(request["x"])
    if x_kind == "date":
        xs = tuple(dt.datetime.fromisoformat(x) for x in xs)
    elif x_kind == "text":
        xs = tuple(clean_text(x) or "(no name)" for x in xs)
    data = ChartData(
        kind=request["kind"],
        x_kind=x_kind,
        x=xs,
        series=tuple(Series(clean_text(name) or "(no name)", tuple(values)) for name, values in request["series"]),
        notes=tuple(clean_text(note) for note in request["notes"]),
    )
    texts = {name: clean_text(request[name]) for name in ("title", "x_label", "y_label", "unit")}
    return data, texts, has_missing_letters
