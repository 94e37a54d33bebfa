"""Removes from a job the copies of messages and files that people deleted in Slack. Pure.

The name of a file stays in the log. Its bytes, text and pictures are deleted from the store, unless another file has
the same ones. The words of a deleted message are blanked in the stored text of the thread.
"""

from __future__ import annotations

from collections.abc import Iterable

from handoff.contracts import Material
from handoff.state.job_state import Job, RequestState, replace
from handoff.state.state_values import CopyToDelete

DELETED_FAULT = "It was deleted in Slack, and my copy with it."
DELETED_TEXT = "(This message was deleted.)"


def mark_deleted_sources(job: Job, *sources: str) -> Job:
    """Return the job with these sources, ids of files and messages, marked as deleted.

    Their copies are added to `Job.copies_to_delete`, for deletion from the store.
    """
    return mark_deleted_materials(replace(job, deleted_ids=(*job.deleted_ids, *sources)))


def mark_deleted_materials(job: Job) -> Job:
    """Return the job with the materials of deleted sources marked, and their copies added to `Job.copies_to_delete`."""
    if not job.deleted_ids:
        return job
    copies: list[CopyToDelete] = []
    requests = tuple(_mark_deleted_in_request(request, job.deleted_ids, copies) for request in job.requests)
    if not copies:
        return job
    used_digests = {digest for request in requests for one in request.materials for digest in _list_copy_digests(one)}
    new = [one for one in copies if one not in job.copies_to_delete and (one.end or one.digest not in used_digests)]
    return replace(job, requests=requests, copies_to_delete=(*job.copies_to_delete, *new))


def blank_spans(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """Replace the spans of a text by `DELETED_TEXT` in the same length, so that outlines stay valid. Line ends stay."""
    for start, end in spans:
        words = text[start:end].rstrip("\n")
        text = text[:start] + DELETED_TEXT[: len(words)].ljust(len(words)) + text[start + len(words) :]
    return text


def _mark_deleted_in_request(
    request: RequestState, deleted_ids: tuple[str, ...], copies: list[CopyToDelete]
) -> RequestState:
    materials = tuple(_mark_if_deleted(one, deleted_ids, copies) for one in request.materials)
    return request if materials == request.materials else replace(request, materials=materials)


def _mark_if_deleted(material: Material, deleted_ids: tuple[str, ...], copies: list[CopyToDelete]) -> Material:
    if material.kind in {"thread", "memory"}:
        return _mark_deleted_sections(material, deleted_ids, copies)
    if not {material.file_id, material.message} & set(deleted_ids) or not _list_copy_digests(material):
        return material
    copies += [CopyToDelete(digest) for digest in _list_copy_digests(material)]
    cleared_fields = {
        "text": "",
        "size": 0,
        "file": None,
        "pictures": (),
        "outline": (),
        "gaps": (),
        "notes": (),
        "fault": DELETED_FAULT,
    }
    return material.model_copy(update=cleared_fields)


def _mark_deleted_sections(material: Material, deleted_ids: tuple[str, ...], copies: list[CopyToDelete]) -> Material:
    """Mark deleted messages of a thread, or forgotten memories, and add their spans to `copies`.

    Their sections stay in the outline, so that the other sections keep their places.
    """
    if not material.outline:
        return material
    ends = [*(section.start for section in material.outline[1:]), material.size]
    for section, end in zip(material.outline, ends, strict=True):
        if section.message in deleted_ids and material.text:
            copies.append(CopyToDelete(material.text, section.start, end))
    sections = (
        each.model_copy(update={"message": ""}) if each.message in deleted_ids else each for each in material.outline
    )
    return material.model_copy(update={"outline": tuple(sections)}) if deleted_ids else material


def _list_copy_digests(material: Material) -> tuple[str, ...]:
    """Return the digests of the copies that the store keeps of a material: file, text and pictures."""
    file = (material.file.id,) if material.file is not None else ()
    return tuple(filter(None, (*file, material.text, *(picture.id for picture in material.pictures))))
