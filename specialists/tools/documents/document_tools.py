"""The tool `publish_document`: turns a finished text into a Word document or a Slack canvas."""

from __future__ import annotations

import json
import re
import unicodedata
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, Field

from handoff.contracts import Artifact
from handoff.text.invisible_characters import remove_invisible
from specialists.sandbox.child_process import (
    BUSY_MESSAGE,
    UNSANDBOXED_MESSAGE,
    ChildInputs,
    ChildLimits,
    ChildReply,
    run_child,
)
from specialists.tools.extras import describe_unavailable_tool
from specialists.tools.tool import Tool, ToolOutcome, Workbench

DOCX_MEDIA_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
MARKDOWN_MEDIA_TYPE = "text/markdown"
RENDERING_SECONDS = 30.0
"""Seconds that making a document may take, including the wait for a free child process."""
_LIMITS = ChildLimits(memory_mb=1000, cpu_seconds=25)
_MAX_DOCUMENT_BYTES = 64 * 1024 * 1024
_TIMEOUT_MESSAGE = f"The document took longer than {RENDERING_SECONDS:g} s to make; shorten or split it."
_FAILURE_MESSAGES = {
    "time": _TIMEOUT_MESSAGE,
    "cpu": _TIMEOUT_MESSAGE,
    "crash": "The document could not be made: it needs too much memory. Shorten or split it.",
    "too_much": "The document became too large: embed fewer or smaller pictures, or split it.",
    "busy": BUSY_MESSAGE,
    "unwalled": UNSANDBOXED_MESSAGE,
}

_MAX_NAME_CHARS = 60
_PICTURE_START = re.compile(r"(?<!\\)!\[")


class PublishArguments(BaseModel):
    """Arguments of publish_document."""

    title: str = Field(min_length=1, max_length=200)
    markdown: str = Field(min_length=1, max_length=200_000)
    format: Literal["docx", "canvas"] = "docx"


def tools() -> tuple[Tool, ...]:
    """Return the tool. Its access is `read`, since it only adds a file to the result and sends nothing."""
    return (Tool("publish_document", "read", PublishArguments, publish_document, public=True),)


async def publish_document(arguments: PublishArguments, workbench: Workbench) -> ToolOutcome:
    """Publish a finished text in the thread, as a Word file (docx) or a Slack canvas.

    Write whole Markdown; ![caption](chart.png) embeds a picture from the files (docx only).
    """
    visible_fields = {"title": remove_invisible(arguments.title), "markdown": remove_invisible(arguments.markdown)}
    arguments = arguments.model_copy(update=visible_fields)
    if not arguments.markdown.strip():
        return _make_failed_outcome("The text is empty; give the whole of it as Markdown.")
    if arguments.format == "canvas":
        return await _publish_canvas(arguments, workbench)
    problem = describe_unavailable_tool("documents", "docx", "markdown_it")
    if problem:
        return _make_failed_outcome(problem)
    return await _publish_docx(arguments, workbench)


async def _publish_canvas(arguments: PublishArguments, workbench: Workbench) -> ToolOutcome:
    # A canvas would load a picture from its address for every reader, so it stays a link.
    text = _PICTURE_START.sub("[", _drop_title(arguments.markdown.strip(), arguments.title)) + "\n"
    artifact = await workbench.keep(
        make_file_name(arguments.title, ".md"),
        text.encode("utf-8", "replace"),
        media_type=MARKDOWN_MEDIA_TYPE,
        about=_flatten_title(arguments.title),
        publish_as="canvas",
    )
    return _report_artifact(artifact, "a canvas")


def _drop_title(text: str, title: str) -> str:
    """Drop a first heading that repeats the title, which stands above the text anyway."""
    first, _, rest = text.partition("\n")
    return rest.lstrip() if rest.strip() and first.lstrip("#").strip() == title.strip() and first[:1] == "#" else text


async def _publish_docx(arguments: PublishArguments, workbench: Workbench) -> ToolOutcome:
    artifacts_by_name = {artifact.name: artifact for artifact in workbench.artifacts}
    reply = await _render_document(arguments, {})
    picture_names = json.loads(_read_reply_head(reply)).get("wanted", [])
    if picture_names:  # only the process that reads the text knows which pictures it embeds
        unknown_names = [name for name in picture_names if name not in artifacts_by_name]
        if unknown_names:
            file_names = ", ".join(artifacts_by_name) or "none"
            return _make_failed_outcome(
                f"There is no file {', '.join(unknown_names)} to embed. The files are: {file_names}."
            )
        reply = await _render_document(
            arguments, {name: await workbench.path(artifacts_by_name[name]) for name in picture_names}
        )
    if reply.failure:
        return _make_failed_outcome(_FAILURE_MESSAGES[reply.failure])
    reply_head: dict[str, Any] = json.loads(_read_reply_head(reply))
    if "unusable" in reply_head:
        return _make_failed_outcome(
            f"{reply_head['unusable']} is no picture that Word can show; embed a PNG, JPEG or GIF, or leave it out."
        )
    artifact = await workbench.keep(
        make_file_name(arguments.title, ".docx"),
        reply.output.partition(b"\n")[2],
        media_type=DOCX_MEDIA_TYPE,
        about=_flatten_title(arguments.title),
        publish_as="file",
    )
    return _report_artifact(artifact, "a Word document")


async def _render_document(arguments: PublishArguments, pictures: dict[str, Path]) -> ChildReply:
    """Make the document in a child process; `pictures` are the files to embed, by name."""
    numbered_pictures = dict(enumerate(pictures.items()))
    return await run_child(
        "specialists.tools.documents.document_child",
        {
            "title": arguments.title,
            "markdown": arguments.markdown,
            "names": {str(number): name for number, (name, _) in numbered_pictures.items()},
        },
        limits=_LIMITS,
        timeout_seconds=RENDERING_SECONDS,
        max_reply_bytes=_MAX_DOCUMENT_BYTES,
        inputs=ChildInputs(files={str(number): path for number, (_, path) in numbered_pictures.items()}),
    )


def _read_reply_head(reply: ChildReply) -> bytes:
    return reply.output.partition(b"\n")[0] or b"{}"


def make_file_name(title: str, suffix: str) -> str:
    """Make a safe, short file name out of a title: letters, digits and single hyphens."""
    plain = unicodedata.normalize("NFC", title)
    words = re.sub(r"[^\w]+|_+", "-", plain).strip("-")
    if len(words) > _MAX_NAME_CHARS:
        words = words[:_MAX_NAME_CHARS].rpartition("-")[0] or words[:_MAX_NAME_CHARS]
    return (words or "document") + suffix


def _flatten_title(title: str) -> str:
    return " ".join(title.split())


def _report_artifact(artifact: Artifact, kind: str) -> ToolOutcome:
    text = f"Kept as {artifact.name} ({artifact.size:,} bytes); it is posted in the thread as {kind} with the answer."
    return ToolOutcome(text, artifacts=(artifact,))


def _make_failed_outcome(text: str) -> ToolOutcome:
    return ToolOutcome(text, failed=True)
