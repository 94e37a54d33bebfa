"""Removes from a job the copies of messages and files that people deleted in Slack. Pure.

The name of a file stays in the log. Its bytes, text and pictures are deleted from the store, unless another file has
the same ones; from the text of a thread the words of the message are deleted.
"""

from __future__ import annotations

from collections.abc import Iterable

from handoff.contracts import Material
from handoff.state.job_state import Job, RequestState, replace
from handoff.state.state_values import DeletedCopy

FAULT = "It was deleted in Slack, and my copy with it."
BLANK = "(This message was deleted.)"


def delete_sources(job: Job, *sources: str) -> Job:
    """Return the job with these sources, ids of files and messages, marked as deleted.

    Their copies are added to `Job.copies`, for deletion from the store.
    """
    return mark_deleted_materials(replace(job, deleted=(*job.deleted, *sources)))


def mark_deleted_materials(job: Job) -> Job:
    """Return the job with the materials of deleted sources marked, and their copies added to `Job.copies`."""
    if not job.deleted:
        return job
    copies: list[DeletedCopy] = []
    asks = tuple(_delete_from_request(ask, job.deleted, copies) for ask in job.asks)
    if not copies:
        return job
    living = {digest for ask in asks for one in ask.materials for digest in _list_digests(one)}
    new = [one for one in copies if one not in job.copies and (one.end or one.digest not in living)]
    return replace(job, asks=asks, copies=(*job.copies, *new))


def blank_spans(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """Replace the spans of a text by `BLANK` in the same length, so that outlines stay valid. Line ends stay."""
    for start, end in spans:
        words = text[start:end].rstrip("\n")
        text = text[:start] + BLANK[: len(words)].ljust(len(words)) + text[start + len(words) :]
    return text


def _delete_from_request(ask: RequestState, gone: tuple[str, ...], copies: list[DeletedCopy]) -> RequestState:
    materials = tuple(_mark_if_deleted(one, gone, copies) for one in ask.materials)
    return ask if materials == ask.materials else replace(ask, materials=materials)


def _mark_if_deleted(one: Material, gone: tuple[str, ...], copies: list[DeletedCopy]) -> Material:
    if one.kind in {"thread", "memory"}:
        return _delete_from_thread(one, gone, copies)
    if not {one.file_id, one.message} & set(gone) or not _list_digests(one):
        return one
    copies += [DeletedCopy(digest) for digest in _list_digests(one)]
    left = {"text": "", "size": 0, "file": None, "pictures": (), "outline": (), "gaps": (), "notes": (), "fault": FAULT}
    return one.model_copy(update=left)


def _delete_from_thread(one: Material, gone: tuple[str, ...], copies: list[DeletedCopy]) -> Material:
    """Mark deleted messages of a thread, or forgotten memories, and add their spans to `copies`.

    Their sections stay, so that the other sections keep their places.
    """
    if not one.outline:
        return one
    ends = [*(section.start for section in one.outline[1:]), one.size]
    for section, end in zip(one.outline, ends, strict=True):
        if section.message in gone and one.text:
            copies.append(DeletedCopy(one.text, section.start, end))
    kept = (each.model_copy(update={"message": ""}) if each.message in gone else each for each in one.outline)
    return one.model_copy(update={"outline": tuple(kept)}) if gone else one


def _list_digests(one: Material) -> tuple[str, ...]:
    """Return the digests of the copies that the store keeps of a material: file, text and pictures."""
    file = (one.file.id,) if one.file is not None else ()
    return tuple(filter(None, (*file, one.text, *(picture.id for picture in one.pictures))))
