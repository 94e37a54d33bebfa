"""Builds handoffs and completes results with the texts of their material, from the job's log or from the store."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping

from bot.store.redis.redis_store import Store
from bot.store.values import JobKey
from handoff.briefs.addresses import find_cited_addresses, find_material_addresses
from handoff.briefs.context import list_needed_texts, make_handoff
from handoff.contracts import Handoff, PackedSize, Result
from handoff.evidence.binding import ReadDocument
from handoff.materials.material_lists import collect_log_texts, find_needed_material, list_material
from handoff.state.job_state import Job, RequestState, SubtaskState

MAX_INLINE_CHARS = 300_000
"""With more characters of text than this, a handoff is built in a thread, so as not to block the event loop."""


async def build_handoff(
    job: Job, ask: RequestState, work: SubtaskState, now: float, store: Store, key: JobKey
) -> tuple[Handoff, PackedSize]:
    """Return the handoff of a subtask and its size, see `make_handoff`. Raises StoreError while the store is away."""
    texts = await load_texts(list_needed_texts(job, ask, work), job, ask, store, key)
    if sum(map(len, texts.values())) < MAX_INLINE_CHARS:
        return make_handoff(job, ask, work, now, texts)
    return await asyncio.to_thread(make_handoff, job, ask, work, now, texts)


async def add_material_addresses(
    result: Result, job: Job, ask: RequestState, subtask: str, store: Store, key: JobKey
) -> Result:
    """Return the result with the addresses it cites that its material contains word for word added as known.

    Material that a model wrote does not count. Raises StoreError while the store is away.
    """
    unknown = find_cited_addresses(result) - set(result.addresses)
    if not unknown:
        return result
    texts = [
        one
        for one in find_needed_material(job, ask, ask.work[subtask]).all_material
        if one.text and one.origin != "model"
    ]
    found = await load_texts((one.text for one in texts), job, ask, store, key)
    given = {address for one in texts for address in find_material_addresses(one, found.get(one.text, ""))}
    known = (*result.addresses, *(unknown & given))
    return result.model_copy(update={"addresses": tuple(sorted(known))})


async def load_documents(job: Job, ask: RequestState, store: Store, key: JobKey) -> tuple[ReadDocument, ...]:
    """Return the texts of a request's material, without results. Raises StoreError while the store is away."""
    given = [one for one in list_material(job, ask) if one.text and one.kind != "result"]
    found = await load_texts((one.text for one in given), job, ask, store, key)
    texts = ((one, found[one.text]) for one in given if one.text in found)
    return tuple(ReadDocument(one.name, text, one.outline, is_table=one.is_table) for one, text in texts)


async def load_texts(
    digests: Iterable[str], job: Job, ask: RequestState, store: Store, key: JobKey
) -> Mapping[str, str]:
    """Return texts by digest, without those no longer kept. Raises StoreError while the store is away."""
    wanted = dict.fromkeys(digests)
    known = (
        collect_log_texts(job, ask) if wanted else {}
    )  # skipped without digests, since it hashes all texts of the log
    found: dict[str, str] = {}
    for digest in wanted:
        if digest in known:
            found[digest] = known[digest]
            continue
        try:
            found[digest] = (await store.blobs.get(key, digest)).decode("utf-8", "replace")
        except KeyError:
            continue
    return found
