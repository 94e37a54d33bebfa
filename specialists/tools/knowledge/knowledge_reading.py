"""Reads documents for the knowledge index in child processes; a document that breaks its child gets a fault."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from handoff.contracts import Section
from specialists.sandbox.child_process import ChildInputs, ChildLimits, run_child
from specialists.tools.knowledge.knowledge_files import SIDECAR_ENDING, KnowledgeFile

MAX_BATCH_FILES, MAX_BATCH_BYTES = 100, 8 * 1024 * 1024
"""Most files, and bytes, that one child reads; a single file may be larger."""
_LIMITS = ChildLimits(memory_mb=1500, cpu_seconds=30)
_READING_SECONDS = 90.0
_MAX_REPLY_BYTES = 256 * 1024 * 1024
_FAILURE_MESSAGES = {
    "time": "takes too long to read; split it",
    "cpu": "takes too long to read; split it",
    "crash": "cannot be read: it is damaged, or far larger inside than it looks",
    "unwalled": "was not read: LEADHAND_SANDBOX=required asks for all walls, and one is missing; see leadhand check",
    "too_much": "holds more than can be indexed; split it",
}


@dataclass(frozen=True, slots=True)
class KnowledgeDocument:
    """The result of reading a document. `fault` says why it was not read, in words that follow the path."""

    file: KnowledgeFile
    title: str = ""
    link: str = ""
    text: str = ""
    outline: tuple[Section, ...] = ()
    fault: str = ""


class NoFreeChild(Exception):
    """No child process became free in time, because too many other files are being read."""


def split_into_batches(files: Sequence[KnowledgeFile]) -> Iterator[list[KnowledgeFile]]:
    """Yield batches of at most `MAX_BATCH_FILES` files and `MAX_BATCH_BYTES` bytes; a larger file comes alone."""
    batch: list[KnowledgeFile] = []
    size = 0
    for one in files:
        if batch and (len(batch) >= MAX_BATCH_FILES or size + one.size > MAX_BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(one)
        size += one.size
    if batch:
        yield batch


async def read_documents(files: Sequence[KnowledgeFile]) -> list[KnowledgeDocument]:
    """Read files in a child process, and return their documents in the same order.

    If the child fails, each half of the files is read again, until the file that breaks it is alone and gets a fault.

    Raises:
        NoFreeChild: No child process became free; try again later.
    """
    child_files: dict[str, Path | bytes] = {}
    file_requests: list[dict[str, str]] = []
    for number, one in enumerate(files):
        child_files[str(number)] = one.file
        sidecar = one.file.with_name(one.file.name + SIDECAR_ENDING)
        link = f"{number}{SIDECAR_ENDING}" if sidecar.is_file() and not sidecar.is_symlink() else ""
        if link:
            child_files[link] = sidecar
        file_requests.append({"file": str(number), "name": PurePosixPath(one.path).name, "link": link})
    reply = await run_child(
        "specialists.tools.knowledge.knowledge_reading_child",
        {"files": file_requests},
        limits=_LIMITS,
        timeout_seconds=_READING_SECONDS,
        max_reply_bytes=_MAX_REPLY_BYTES,
        inputs=ChildInputs(files=child_files),
    )
    if reply.failure == "busy":
        raise NoFreeChild
    if not reply.failure:
        lines = [json.loads(line) for line in reply.output.splitlines()]
        return [_make_document(one, line) for one, line in zip(files, lines, strict=True)]
    if len(files) == 1:
        return [KnowledgeDocument(files[0], fault=_FAILURE_MESSAGES[reply.failure])]
    half = len(files) // 2
    return [*await read_documents(files[:half]), *await read_documents(files[half:])]


def _make_document(file: KnowledgeFile, reply: dict[str, Any]) -> KnowledgeDocument:
    if reply["fault"]:  # the readers' words are for people who attach a file; here the file is in a folder
        return KnowledgeDocument(file, fault=reply["fault"].replace("attach ", "provide "))
    outline = tuple(Section(name=name, start=start) for name, start in reply["outline"])
    title = reply["title"] or PurePosixPath(file.path).stem
    return KnowledgeDocument(file, title, reply["link"], reply["text"], outline)
