"""Reads documents for the knowledge index in child processes, many in each; one that breaks its child has a fault."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from handoff.contracts import Section
from specialists.sandbox.child_process import ChildInputs, ChildLimits, run_child
from specialists.tools.knowledge.knowledge_files import SIDECAR_ENDING, KnowledgeFile

MAX_FILES, MAX_BYTES = 100, 8 * 1024 * 1024
"""Most files, and bytes, that one child reads; a single file may be larger."""
_LIMITS = ChildLimits(memory_mb=1500, cpu_seconds=30)
_READING_SECONDS = 90.0
_LARGEST_REPLY = 256 * 1024 * 1024
_FAILURES = {
    "time": "takes too long to read; split it",
    "cpu": "takes too long to read; split it",
    "crash": "cannot be read: it is damaged, or far larger inside than it looks",
    "unwalled": "was not read: LEADHAND_SANDBOX=required asks for all walls, and one is missing; see leadhand check",
    "too_much": "holds more than can be indexed; split it",
}


@dataclass(frozen=True, slots=True)
class KnowledgeDocument:
    """A document that was read. `fault` says why there is no text, in words that follow the path; "" with a text."""

    file: KnowledgeFile
    title: str = ""
    link: str = ""
    text: str = ""
    outline: tuple[Section, ...] = ()
    fault: str = ""


class NoFreeChild(Exception):
    """No child process became free in time, because too many other files are being read."""


def split_into_batches(files: Sequence[KnowledgeFile]) -> Iterator[list[KnowledgeFile]]:
    """Split files into batches, one for each child."""
    batch: list[KnowledgeFile] = []
    size = 0
    for one in files:
        if batch and (len(batch) >= MAX_FILES or size + one.size > MAX_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(one)
        size += one.size
    if batch:
        yield batch


async def read_documents(files: Sequence[KnowledgeFile]) -> list[KnowledgeDocument]:
    """Read files in a child process, and return their documents in the same order.

    If the child fails, the halves of the files are read again, until the file that breaks it is found and has a fault.

    Raises:
        NoFreeChild: No child process became free; try again later.
    """
    given: dict[str, Path | bytes] = {}
    told: list[dict[str, str]] = []
    for number, one in enumerate(files):
        given[str(number)] = one.file
        sidecar = one.file.with_name(one.file.name + SIDECAR_ENDING)
        link = f"{number}{SIDECAR_ENDING}" if sidecar.is_file() and not sidecar.is_symlink() else ""
        if link:
            given[link] = sidecar
        told.append({"file": str(number), "name": PurePosixPath(one.path).name, "link": link})
    reply = await run_child(
        "specialists.tools.knowledge.knowledge_child",
        {"files": told},
        limits=_LIMITS,
        deadline=_READING_SECONDS,
        largest_reply=_LARGEST_REPLY,
        inputs=ChildInputs(files=given),
    )
    if reply.failure == "busy":
        raise NoFreeChild
    if not reply.failure:
        lines = [json.loads(line) for line in reply.output.splitlines()]
        return [_make_document(one, line) for one, line in zip(files, lines, strict=True)]
    if len(files) == 1:
        return [KnowledgeDocument(files[0], fault=_FAILURES[reply.failure])]
    half = len(files) // 2
    return [*await read_documents(files[:half]), *await read_documents(files[half:])]


def _make_document(file: KnowledgeFile, reply: dict[str, Any]) -> KnowledgeDocument:
    if reply["fault"]:  # the readers' words are for people who attach a file; here the file is in a folder
        return KnowledgeDocument(file, fault=reply["fault"].replace("attach ", "provide "))
    outline = tuple(Section(name=name, start=start) for name, start in reply["outline"])
    title = reply["title"] or PurePosixPath(file.path).stem
    return KnowledgeDocument(file, title, reply["link"], reply["text"], outline)
