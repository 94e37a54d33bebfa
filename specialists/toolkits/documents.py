"""The writer's tool: a finished text becomes a Word document or a Slack canvas."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, Field

from handoff.contracts import Artifact
from handoff.visible_text import visible
from specialists.toolkits.blocking import in_thread
from specialists.toolkits.extras import missing
from specialists.toolkits.tool import Tool, ToolOutcome, Workbench

DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
MARKDOWN = "text/markdown"
RENDERING_TIME = 30.0
"""Seconds that making a document may take."""

_LONGEST_NAME = 60
_PICTURE = re.compile(r"(?<!\\)!\[")


class PublishArguments(BaseModel):
    """Arguments of publish_document."""

    title: str = Field(min_length=1, max_length=200)
    markdown: str = Field(min_length=1, max_length=200_000)
    format: Literal["docx", "canvas"] = "docx"


def tools() -> tuple[Tool, ...]:
    """Make the tool. It only reads in the sense of `Tool.access`: it adds a file to the result and sends nothing."""
    return (Tool("publish_document", "read", PublishArguments, publish_document, public=True),)


async def publish_document(arguments: PublishArguments, workbench: Workbench) -> ToolOutcome:
    """Publish a finished text in the thread, as a Word file (docx) or a Slack canvas.

    Write whole Markdown; ![caption](chart.png) embeds a picture from the files (docx only).
    """
    seen = {"title": visible(arguments.title), "markdown": visible(arguments.markdown)}
    arguments = arguments.model_copy(update=seen)
    if not arguments.markdown.strip():
        return _failed("The text is empty; give the whole of it as Markdown.")
    if arguments.format == "canvas":
        return await _canvas(arguments, workbench)
    absent = missing("documents", "docx", "markdown_it")
    if absent:
        return _failed(absent)
    return await _docx(arguments, workbench)


async def _canvas(arguments: PublishArguments, workbench: Workbench) -> ToolOutcome:
    # A picture in a canvas is loaded from its address by whoever looks: it stays a link.
    text = _PICTURE.sub("[", _without_title(arguments.markdown.strip(), arguments.title)) + "\n"
    artifact = await workbench.keep(
        file_name(arguments.title, ".md"),
        text.encode("utf-8", "replace"),
        media_type=MARKDOWN,
        about=_about(arguments.title),
        publish_as="canvas",
    )
    return _kept(artifact, "a canvas")


def _without_title(text: str, title: str) -> str:
    """Take out a first heading that repeats the title, which stands above the text anyway."""
    first, _, rest = text.partition("\n")
    return rest.lstrip() if rest.strip() and first.lstrip("#").strip() == title.strip() and first[:1] == "#" else text


async def _docx(arguments: PublishArguments, workbench: Workbench) -> ToolOutcome:
    await in_thread(_load, RENDERING_TIME)
    from specialists.toolkits import markdown_docx  # noqa: PLC0415  # loaded a moment ago, off the loop

    try:
        tree = await in_thread(lambda: markdown_docx.parse(arguments.markdown), RENDERING_TIME)
        files, unknown = await _files(markdown_docx.pictures(tree), workbench)
        if unknown:
            offered = ", ".join(artifact.name for artifact in workbench.artifacts) or "none"
            return _failed(f"There is no file {', '.join(unknown)} to embed. The files are: {offered}.")
        data = await in_thread(lambda: markdown_docx.render(arguments.title, tree, files), RENDERING_TIME)
    except TimeoutError:
        return _failed(f"The document took longer than {RENDERING_TIME:g} s to make; shorten or split it.")
    except markdown_docx.PictureUnusable as error:
        return _failed(f"{error} is no picture that Word can show; embed a PNG, JPEG or GIF, or leave it out.")
    artifact = await workbench.keep(
        file_name(arguments.title, ".docx"), data, media_type=DOCX, about=_about(arguments.title), publish_as="file"
    )
    return _kept(artifact, "a Word document")


def _load() -> None:
    """Import what is slow to import, in a thread, so that nothing else waits for it."""
    from specialists.toolkits import markdown_docx  # noqa: F401, PLC0415  # see above


async def _files(names: list[str], workbench: Workbench) -> tuple[dict[str, Path], list[str]]:
    """Find local copies of the named files, and the names that no file has. The newest of a name counts."""
    known = {artifact.name: artifact for artifact in workbench.artifacts}
    unknown = [name for name in names if name not in known]
    if unknown:
        return {}, unknown
    return {name: await workbench.path(known[name]) for name in names}, []


def file_name(title: str, suffix: str) -> str:
    """Make a safe, short file name out of a title: letters, digits and single hyphens."""
    plain = unicodedata.normalize("NFC", title)
    words = re.sub(r"[^\w]+|_+", "-", plain).strip("-")
    if len(words) > _LONGEST_NAME:
        words = words[:_LONGEST_NAME].rpartition("-")[0] or words[:_LONGEST_NAME]
    return (words or "document") + suffix


def _about(title: str) -> str:
    return " ".join(title.split())


def _kept(artifact: Artifact, kind: str) -> ToolOutcome:
    text = f"Kept as {artifact.name} ({artifact.size:,} bytes); it is posted in the thread as {kind} with the answer."
    return ToolOutcome(text, artifacts=(artifact,))


def _failed(text: str) -> ToolOutcome:
    return ToolOutcome(text, failed=True)
