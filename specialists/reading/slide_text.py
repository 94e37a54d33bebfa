"""Reads PowerPoint slides: titles, texts, tables, the figures of charts, and the speaker's notes."""

from __future__ import annotations

import io
from typing import Any

from specialists.formats.contents import FileContents, UnreadableFile
from specialists.formats.file_kind import BROKEN_ZIP_ERRORS
from specialists.reading.picture_file import shrink_picture
from specialists.reading.xml_package import XmlPackage

_MAX_SLIDES = 1_000
_MAX_LEVELS = 10
_MAX_CHART_POINTS = 200
_PARSING_ERRORS = (
    *BROKEN_ZIP_ERRORS,
    KeyError,
    ValueError,
    AttributeError,
    TypeError,
    OSError,
    SyntaxError,
    LookupError,
)


def read_pptx(data: bytes, name: str, contents: FileContents) -> None:
    """Read a .pptx. Each slide starts with a line such as `[slide 4]`, by which it is cited.

    Raises:
        UnreadableFile: it is damaged, or has no slide.
    """
    XmlPackage(data, "PowerPoint file")  # checks the unpacked size first
    from pptx import Presentation  # noqa: PLC0415

    try:
        slides = list(Presentation(io.BytesIO(data)).slides)
    except _PARSING_ERRORS:
        raise UnreadableFile("is a damaged PowerPoint file; open it, save it again or as PDF and attach that") from None
    if not slides:
        raise UnreadableFile("is a PowerPoint file without a slide; save it again and attach that")
    picture_slides: list[int] = []
    broken_slides: list[int] = []
    for number, slide in enumerate(slides[:_MAX_SLIDES], start=1):
        if contents.is_full:
            contents.add_gap(f"slides {number}-{len(slides)} are not read: there is too much before them")
            break
        try:
            length_before = contents.length
            picture_shapes = _add_slide(slide, number, contents)
            has_no_text = contents.length - length_before <= len(f"[slide {number}]\n\n")
            if picture_shapes and not (
                has_no_text and _add_slide_picture(picture_shapes, f"{name} slide {number}", contents)
            ):
                picture_slides.append(number)
        except _PARSING_ERRORS:
            broken_slides.append(number)
    if len(slides) > _MAX_SLIDES:
        contents.add_gap(f"only the first {_MAX_SLIDES:,} of {len(slides):,} slides are read")
    for numbers, words in (
        (picture_slides, "pictures not looked at on slide"),
        (broken_slides, "damaged and not all read: slide"),
    ):
        if numbers:
            contents.add_gap(f"{words} {', '.join(map(str, dict.fromkeys(numbers[:30])))}")


def _add_slide_picture(shapes: list[Any], name: str, contents: FileContents) -> bool:
    """Add the largest picture shape of a slide as a picture. Returns False if it cannot be added."""
    largest = max(shapes, key=lambda shape: (shape.width or 0) * (shape.height or 0))
    picture = shrink_picture(largest.image.blob) if hasattr(largest, "image") else None
    if picture is None or not contents.add_picture(name, *picture):
        return False
    contents.add_text("[this slide is a picture]\n\n")
    return True


def _add_slide(slide: Any, number: int, contents: FileContents) -> list[Any]:
    """Add a slide's text. Returns its picture shapes."""
    pictures: list[Any] = []
    title = slide.shapes.title
    title_text = " ".join(title.text_frame.text.split()) if title is not None and title.has_text_frame else ""
    contents.begin_section(f"slide {number}{': ' + title_text if title_text else ''}")
    hidden_note = ", hidden" if slide._element.get("show") == "0" else ""  # noqa: SLF001  # the library has no word for it
    contents.add_text(
        f"[slide {number}{hidden_note}]\n{f'# {title_text}' if title_text else ''}\n".replace("\n\n", "\n")
    )
    shapes = [shape for shape in slide.shapes if title is None or shape.shape_id != title.shape_id]
    for shape in sorted(shapes, key=lambda one: ((one.top or 0) // 200_000, one.left or 0)):
        _add_shape(shape, contents, pictures, 0)
    if slide.has_notes_slide:
        notes = slide.notes_slide.notes_text_frame
        if notes is not None and notes.text.strip():
            contents.add_text(f"[notes] {_clean_text(notes.text)}\n")
    contents.add_text("\n")
    return pictures


def _add_shape(shape: Any, contents: FileContents, pictures: list[Any], depth: int) -> None:
    if hasattr(shape, "shapes") and depth < _MAX_LEVELS:
        for one in shape.shapes:
            _add_shape(one, contents, pictures, depth + 1)
    elif getattr(shape, "has_table", False) and shape.has_table:
        for row in shape.table.rows:
            contents.add_text(" | ".join(" ".join(cell.text.split()) for cell in row.cells) + "\n")
    elif getattr(shape, "has_chart", False) and shape.has_chart:
        _add_chart(shape.chart, contents)
    elif shape.has_text_frame:
        for paragraph in shape.text_frame.paragraphs:
            if text := _clean_text("".join(run.text for run in paragraph.runs) or paragraph.text):
                contents.add_text(f"{'  ' * paragraph.level}{text}\n")
    elif hasattr(shape, "image") or shape.shape_type is None:
        pictures.append(shape)


def _add_chart(chart: Any, contents: FileContents) -> None:
    title = chart.chart_title.text_frame.text if chart.has_title and chart.chart_title.has_text_frame else ""
    contents.add_text(f"[chart{': ' + _clean_text(title) if title else ''}]\n")
    for plot in chart.plots:
        names = [str(category) for category in plot.categories][:_MAX_CHART_POINTS]
        for series in plot.series:
            values = [f"{value:g}" if value is not None else "" for value in series.values[:_MAX_CHART_POINTS]]
            points = [f"{name} {value}" for name, value in zip(names, values, strict=False)] if names else values
            contents.add_text(f"{series.name}: {', '.join(points)}\n")


def _clean_text(text: str) -> str:
    return text.replace("\v", "\n").strip()
