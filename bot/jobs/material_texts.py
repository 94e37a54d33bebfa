"""Loads the texts of material from the job's log or the store, and builds handoffs and completes results with them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping

from bot.store.redis.redis_store import Store
from bot.store.values import JobKey
from handoff.briefs.addresses import find_addresses_from_people, find_cited_addresses
from handoff.briefs.handoff_builder import list_needed_texts, make_handoff
from handoff.contracts import Handoff, PackedSize, Result
from handoff.evidence.evidence_check import SourceDocument
from handoff.materials.material_lists import collect_log_texts, find_needed_material, list_material
from handoff.state.job_state import Job, RequestState, SubtaskState

MAX_CHARS_ON_EVENT_LOOP = 300_000
"""With more characters of text than this, a handoff is built in a thread, so as not to block the event loop."""


async def load_handoff(
    job: Job, request: RequestState, subtask: SubtaskState, now: float, store: Store, key: JobKey
) -> tuple[Handoff, PackedSize]:
    """Return the handoff of a subtask, and the size of its material. Raises StoreError while the store is away."""
    texts = await load_texts(list_needed_texts(job, request, subtask), job, request, store, key)
    if sum(map(len, texts.values())) < MAX_CHARS_ON_EVENT_LOOP:
        return make_handoff(job, request, subtask, now, texts)
    return await asyncio.to_thread(make_handoff, job, request, subtask, now, texts)


async def add_material_addresses(
    result: Result, job: Job, request: RequestState, subtask: str, store: Store, key: JobKey
) -> Result:
    """Add those cited addresses to `result.addresses` that stand word for word in its material. Returns the result.

    Material that a model wrote does not count. Raises StoreError while the store is away.
    """
    unknown_addresses = find_cited_addresses(result) - set(result.addresses)
    if not unknown_addresses:
        return result
    materials = [
        one
        for one in find_needed_material(job, request, request.subtasks[subtask]).all_material
        if one.text and one.origin != "model"
    ]
    texts_by_digest = await load_texts((one.text for one in materials), job, request, store, key)
    material_addresses = {
        address for one in materials for address in find_addresses_from_people(one, texts_by_digest.get(one.text, ""))
    }
    known_addresses = (*result.addresses, *(unknown_addresses & material_addresses))
    return result.model_copy(update={"addresses": tuple(sorted(known_addresses))})


async def load_documents(job: Job, request: RequestState, store: Store, key: JobKey) -> tuple[SourceDocument, ...]:
    """Return the material of a request that has a text, except results. Raises StoreError while the store is away."""
    materials = [one for one in list_material(job, request) if one.text and one.kind != "result"]
    texts_by_digest = await load_texts((one.text for one in materials), job, request, store, key)
    texts = ((one, texts_by_digest[one.text]) for one in materials if one.text in texts_by_digest)
    return tuple(SourceDocument(one.name, text, one.outline, is_table=one.is_table) for one, text in texts)


async def load_texts(
    digests: Iterable[str], job: Job, request: RequestState, store: Store, key: JobKey
) -> Mapping[str, str]:
    """Return texts by digest, without those no longer stored. Raises StoreError while the store is away."""
    wanted_digests = dict.fromkeys(digests)
    # Skipped without digests, since it hashes all texts of the log.
    log_texts = collect_log_texts(job, request) if wanted_digests else {}
    texts_by_digest: dict[str, str] = {}
    for digest in wanted_digests:
        if digest in log_texts:
            texts_by_digest[digest] = log_texts[digest]
            continue
        try:
            texts_by_digest[digest] = (await store.blobs.get(key, digest)).decode("utf-8", "replace")
        except KeyError:
            continue
    return texts_by_digest
