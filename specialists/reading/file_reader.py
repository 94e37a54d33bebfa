"""Reads a file of any kind in a child process with limits. This process never parses it."""

from __future__ import annotations

import asyncio
import json
import logging
from pathlib import Path
from typing import Any

from handoff.contracts import Section
from specialists.model import Picture
from specialists.reading.file_reading import FileReading, InnerFile
from specialists.sandbox.child_process import ChildInputs, ChildLimits, run_child

log = logging.getLogger(__name__)

LARGEST_FILE_BYTES = 32 * 1024 * 1024
CPU_SECONDS = 15
"""Most seconds of processor time for one file."""
_TIMEOUT_SECONDS = 40.0
_LARGEST_REPLY_BYTES = 128 * 1024 * 1024
_INPUT_NAME = "file"
_FAILURE_TEXTS = {
    "time": "takes too long to read. Attach the part that matters, or save it again with the program that made it",
    "cpu": "takes too long to read. Attach the part that matters, or save it again with the program that made it",
    "crash": "cannot be read: it is damaged, or far larger inside than it looks. "
    "Open it, save it again (PDF or plain text always works) and attach that",
    "busy": "was not read, as too many files and pages are being read here at this moment. Attach it again",
    "unwalled": "was not read: this bot reads files only in its full sandbox, and a wall of that is missing on its "
    "machine. Whoever runs it can see which, and what to do, with leadhand check",
    "too_much": "holds more than can be passed on. Attach the part that matters",
}


async def read_file(
    path: Path, name: str, media_type: str, *, only_columns: bool = False, cpu_seconds: int = CPU_SECONDS
) -> FileReading:
    """Read a file: its text with an outline, its pictures and the files inside it.

    A file that cannot be read raises nothing: `FileReading.fault` says why and what to do, in one sentence.

    Args:
        path: where the file lies.
        name: what people call it. Its kind follows from its bytes first, then from this name.
        media_type: what Slack or a mail says, perhaps "". It is used last.
        only_columns: True to read only the columns of a table, as the outline.
        cpu_seconds: most seconds of processor time.
    """
    path, size = await asyncio.to_thread(lambda: (path.absolute(), path.stat().st_size))
    if not size:
        return FileReading(fault=f"{name} is empty (0 bytes). Attach it again.")
    if size > LARGEST_FILE_BYTES:
        megabytes = f"{size / 2**20:,.0f} MB"
        return FileReading(
            fault=f"{name} has {megabytes}; at most {LARGEST_FILE_BYTES // 2**20} MB are read. Attach less of it."
        )
    reply = await run_child(
        "specialists.reading.reading_child",
        {"file": _INPUT_NAME, "name": name, "media_type": media_type, "columns": only_columns},
        limits=ChildLimits(memory_mb=1500, cpu_seconds=cpu_seconds),
        timeout_seconds=_TIMEOUT_SECONDS,
        max_reply_bytes=_LARGEST_REPLY_BYTES,
        inputs=ChildInputs(files={_INPUT_NAME: path}),
    )
    if reply.failure:
        return FileReading(fault=f"{name} {_FAILURE_TEXTS[reply.failure]}.")
    return parse_child_reply(reply.output, name)


def parse_child_reply(output: bytes, name: str) -> FileReading:
    """Parse the child's reply: 8 bytes with the length of the JSON, the JSON, then the bytes of its blobs in order."""
    length = int.from_bytes(output[:8], "big")
    fields: dict[str, Any] = json.loads(output[8 : 8 + length])
    if fields["broke"]:
        log.warning("a reader gave up: %s", fields["broke"])
    if fields["fault"]:
        return FileReading(fault=f"{name} {fields['fault']}.")
    blobs, place = [], 8 + length
    for blob in fields["blobs"]:
        blobs.append((blob, output[place : place + blob["size"]]))
        place += blob["size"]
    return FileReading(
        text=fields["text"],
        outline=tuple(
            Section(name=name, start=start, unnamed=unnamed_count) for name, start, unnamed_count in fields["outline"]
        ),
        pictures=tuple(
            Picture(name=blob["name"], media_type=blob["media_type"], data=data)
            for blob, data in blobs
            if blob["what"] == "picture"
        ),
        inner_files=tuple(
            InnerFile(name=blob["name"], media_type=blob["media_type"], data=data)
            for blob, data in blobs
            if blob["what"] == "inside"
        ),
        gaps=tuple(fields["gaps"]),
        notes=tuple(fields["notes"]),
    )
