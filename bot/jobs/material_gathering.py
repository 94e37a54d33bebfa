"""Gathers material: fetches files, has each read, and keeps file and text in the store.

The store keeps a text once, under its digest; events, plans and handoffs carry only its name, size and outline. The
outline of a table is the names of its columns: tools read the rows.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bot.store.redis.redis_store import Store
from bot.store.values import JobKey, PayloadTooLarge
from handoff.contracts import Artifact, Attachment, Material, Section
from specialists.formats.table_detection import TABLE_TOOL_SUFFIXES
from specialists.model import Picture
from specialists.reading.file_reader import read_file
from specialists.reading.file_reading import FileReading
from specialists.sandbox.scratch_folder import get_scratch_folder

MAX_PARALLEL_FILES = 3
"""Maximum files of a request that are fetched and read at the same time: each is held in memory meanwhile."""
MAX_INNER_FILES = 20
"""Maximum files that are read inside one file, such as a ZIP."""
MAX_TEXT_CHARS = 4_000_000
"""Maximum characters of a text that are kept: about two thousand pages."""
MAX_SECTIONS = 1_000
"""Maximum sections of an outline: outlines are kept in the job's log. A longer outline is dropped."""
MAX_SECTION_NAME_CHARS, MAX_SENTENCE_CHARS = 100, 300
MAX_GAPS_PER_FILE = 5
MAX_EVENT_BYTES = 160_000
"""Maximum bytes of all materials of a request as JSON, without their texts: an event of the log is limited in size."""
MAX_FAULTS = 40
MAX_COLUMNS = 60
MAX_WORKBOOK_BYTES = 2 * 1024 * 1024

_TEXT_TABLE_ENDINGS = frozenset({".csv", ".tsv", ".tab", ".jsonl", ".ndjson"})
_TABLE_ENDINGS = TABLE_TOOL_SUFFIXES - {".txt", ".json"}  # files of these endings need not be tables
_HEAD_BYTES = 64 * 1024
"""Bytes at the start of a table that are searched for a zero byte, which no text contains."""

FetchAttachment = Callable[[Attachment], Awaitable[tuple[Attachment, bytes] | str]]


@dataclass(frozen=True, slots=True)
class GatheredMaterial:
    """The material that was fetched and read."""

    materials: tuple[Material, ...] = ()
    faults: tuple[str, ...] = ()
    """Sentences for people on files that could not be read, or only in part."""
    speakers: tuple[str, ...] = ()
    """The Slack ids of the people who wrote in the thread that was read."""

    def __add__(self, other: GatheredMaterial) -> GatheredMaterial:
        speakers = (*self.speakers, *other.speakers)
        return GatheredMaterial((*self.materials, *other.materials), (*self.faults, *other.faults), speakers)


async def gather_attachments(
    attachments: Sequence[Attachment], fetch: FetchAttachment, store: Store, key: JobKey
) -> GatheredMaterial:
    """Fetch and read files, a few side by side, in the order in which they were attached.

    `fetch` returns the attachment with its bytes, or a sentence that says why it cannot be fetched.
    """
    semaphore = asyncio.Semaphore(MAX_PARALLEL_FILES)
    # Recorded before the fetch: when a file is deleted in Slack, the store must know which jobs have a copy.
    await store.blobs.record_file_reads(key, [one.file_id for one in attachments])

    async def gather_attachment(attachment: Attachment) -> GatheredMaterial:
        async with semaphore:
            fetch_outcome = await fetch(attachment)
            if isinstance(fetch_outcome, str):
                return GatheredMaterial(faults=(fetch_outcome,))
            file, data = fetch_outcome
            try:
                if file.kind == "message":
                    return GatheredMaterial((await _store_message(file, data, store, key),))
                stored_material = await read_and_store_file(file.name, file.media_type, data, store, key)
                origin_fields = {
                    "file_id": attachment.file_id,
                    "author": file.author,
                    "is_inline": file.kind == "table",
                }
                return GatheredMaterial(
                    tuple(one.model_copy(update=origin_fields) for one in stored_material.materials),
                    stored_material.faults,
                )
            except PayloadTooLarge as error:
                return GatheredMaterial(faults=(f"{file.name} could not be kept: {error}.",))

    return sum(await asyncio.gather(*map(gather_attachment, attachments)), GatheredMaterial())


def fit_into_log_event(material: GatheredMaterial) -> GatheredMaterial:
    """Return as much of the material as one event of the log can hold.

    First the longest outlines are dropped, then the last files. A text without its outline is cited by its lines.
    """
    materials = list(material.materials)
    sizes = [len(one.model_dump_json(exclude_defaults=True).encode()) for one in materials]
    while sum(sizes) > MAX_EVENT_BYTES:
        outlined_places = [place for place, one in enumerate(materials) if one.outline]
        if not outlined_places:
            sizes.pop()
            materials.pop()
            continue
        place = max(outlined_places, key=sizes.__getitem__)
        materials[place] = materials[place].model_copy(update={"outline": ()})
        sizes[place] = len(materials[place].model_dump_json(exclude_defaults=True).encode())
    faults = list(material.faults)
    if dropped_count := len(material.materials) - len(materials):
        faults.insert(
            0, f"{dropped_count:,} of {len(material.materials):,} files are more than one request can hold: not read."
        )
    if len(faults) > MAX_FAULTS:
        faults[MAX_FAULTS:] = [f"and {len(faults) - MAX_FAULTS:,} more files that could not be read in full."]
    return replace(material, materials=tuple(materials), faults=tuple(faults))


async def read_and_store_file(name: str, media_type: str, data: bytes, store: Store, key: JobKey) -> GatheredMaterial:
    """Read a file and the files inside it (one level deep), store all files and texts, and return them as material."""
    file_reading = await _read_file(name, media_type, data)
    material = await _store_file(name, media_type, data, file_reading, store, key)
    for inner_file in file_reading.inner_files[:MAX_INNER_FILES]:
        inner_reading = await _read_file(inner_file.name, inner_file.media_type, inner_file.data)
        material += await _store_file(
            f"{name}/{inner_file.name}", inner_file.media_type, inner_file.data, inner_reading, store, key
        )
    if (more := len(file_reading.inner_files) - MAX_INNER_FILES) > 0:
        unread_fault = f"{name}: {more:,} of the {len(file_reading.inner_files):,} files in it were not read."
        material += GatheredMaterial(faults=(unread_fault,))
    return material


async def _store_message(message: Attachment, data: bytes, store: Store, key: JobKey) -> Material:
    """Store a message that was attached to a request, such as a forwarded one, as material of the kind `thread`."""
    text, source = data.decode(), message.file_id.partition("/")[0]
    author_suffix = f" by {message.author}" if message.author else ""
    return Material(
        name=message.name,
        kind="thread",
        size=len(text),
        text=await store.blobs.put(key, data),
        outline=(Section(name=f"{message.name}{author_suffix}"[:MAX_SECTION_NAME_CHARS], message=source),),
        author=message.author,
        file_id=message.file_id,
    )


async def _store_file(
    name: str, media_type: str, data: bytes, file_reading: FileReading, store: Store, key: JobKey
) -> GatheredMaterial:
    """Store a file, its text and its pictures, and return them as material."""
    own_picture = next((one for one in file_reading.pictures if one.name == name.rpartition("/")[2]), None)
    if own_picture is not None:  # the version for models: turned upright, small enough, without GPS data
        data, media_type = own_picture.data, own_picture.media_type
    digest = await store.blobs.put(key, data)
    file = Artifact(id=digest, name=name, media_type=media_type, size=len(data), about="attached")
    if is_table(name, data) and not file_reading.text:
        return GatheredMaterial((make_table_material(file, data, file_reading.outline),))
    text, gaps = file_reading.text, [_make_gap_sentence(name, gap) for gap in file_reading.gaps[:MAX_GAPS_PER_FILE]]
    if len(text) > MAX_TEXT_CHARS:
        gaps.append(f"{name}: the first {MAX_TEXT_CHARS:,} of {len(text):,} characters are read.")
        text = text[:MAX_TEXT_CHARS]
    fault = _make_gap_sentence(name, file_reading.fault) if file_reading.fault else ""
    material = Material(
        name=name,
        size=len(text),
        text=await store.blobs.put(key, text.encode()) if text else "",
        file=file,
        outline=_fit_outline(file_reading.outline, len(text)),
        fault=fault,
        gaps=tuple(gaps),
        notes=tuple(_make_gap_sentence(name, note) for note in file_reading.notes[:MAX_GAPS_PER_FILE]),
        is_table=is_table(name, data),
        pictures=tuple(
            [await _store_picture(one, name, store, key) for one in file_reading.pictures if one is not own_picture]
        ),
    )
    return GatheredMaterial((material,), tuple(filter(None, (fault, *gaps))))


async def _store_picture(picture: Picture, file_name: str, store: Store, key: JobKey) -> Artifact:
    digest = await store.blobs.put(key, picture.data)
    about = f"a picture in {file_name}"
    return Artifact(id=digest, name=picture.name, media_type=picture.media_type, size=len(picture.data), about=about)


async def _read_file(name: str, media_type: str, data: bytes) -> FileReading:
    """Read a file: all of it, only the columns of a table in text form, or nothing of a large workbook."""
    if is_table(name, data):
        ending = Path(name).suffix.lower()
        if ending in _TEXT_TABLE_ENDINGS or ending == ".json":
            return await _read_from_temp_folder(name, media_type, data, columns_only=True)
        if len(data) > MAX_WORKBOOK_BYTES:
            return FileReading()
        workbook_reading = await _read_from_temp_folder(name, media_type, data)
        sheets = (
            workbook_reading.outline
            if workbook_reading.outline and workbook_reading.outline[0].name.startswith("sheet ")
            else ()
        )
        outline = sheets or (await _read_from_temp_folder(name, media_type, data, columns_only=True)).outline
        return FileReading(workbook_reading.text[:MAX_TEXT_CHARS], outline)  # without gaps: the table tools report them
    return await _read_from_temp_folder(name, media_type, data)


async def _read_from_temp_folder(name: str, media_type: str, data: bytes, *, columns_only: bool = False) -> FileReading:
    """Write the data to a temporary folder, read the file there, and remove the folder."""
    folder = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="leadhand-", dir=get_scratch_folder()))
    try:
        path = folder / f"file{Path(name).suffix.lower()[:12]}"
        await asyncio.to_thread(path.write_bytes, data)
        return await read_file(path, name, media_type, only_columns=columns_only)
    finally:
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


def make_table_material(file: Artifact, data: bytes, columns: Sequence[Section]) -> Material:
    """Return a table as material, with its columns as the outline. It has a text only if the file is UTF-8 text."""
    text = _decode_table_text(file.name, data)
    column_names = (" ".join(one.name.split())[:MAX_SECTION_NAME_CHARS] for one in columns[:MAX_COLUMNS])
    outline = tuple(Section(name=one) for one in column_names if one)
    return Material(
        name=file.name, file=file, is_table=True, size=len(text), text=file.id if text else "", outline=outline
    )


def is_table(name: str, data: bytes) -> bool:
    """Return True if the file is certainly a table: by its ending, or for .json if the data begins as a list."""
    ending = Path(name).suffix.lower()
    return ending in _TABLE_ENDINGS or (ending == ".json" and data.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"[")


def _decode_table_text(name: str, data: bytes) -> str:
    """Return the text of a table in a text format; empty if it is another format or not UTF-8."""
    if Path(name).suffix.lower() not in {*_TEXT_TABLE_ENDINGS, ".json"} or b"\0" in data[:_HEAD_BYTES]:
        return ""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return ""


def _fit_outline(outline: Sequence[Section], size: int) -> tuple[Section, ...]:
    """Return the outline without sections past the end of the text; empty if it is too long for the log."""
    inside_text = [one for one in outline if one.start < size]
    if len(inside_text) > MAX_SECTIONS:
        return ()
    return tuple(
        one.model_copy(update={"name": " ".join(one.name.split())[:MAX_SECTION_NAME_CHARS]}) for one in inside_text
    )


def _make_gap_sentence(name: str, text: str) -> str:
    line = " ".join(text.split())[:MAX_SENTENCE_CHARS]
    return line if name in line else f"{name}: {line}"
