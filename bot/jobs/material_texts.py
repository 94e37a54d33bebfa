"""Makes handoffs with the texts of their material: those in the job's log, and those that the store keeps."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping

from bot.store.interface import JobKey, Store
from handoff.context import handoff_for, texts_needed
from handoff.contracts import Handoff, Packed
from handoff.materials.at_hand import texts_of
from handoff.state import Ask, Job, Work

LARGE = 300_000
"""Characters from which on the passages of texts are looked for beside the event loop."""


async def handed(job: Job, ask: Ask, work: Work, now: float, store: Store, key: JobKey) -> tuple[Handoff, Packed]:
    """Return the handoff of a subtask, see `handoff_for`. Raises StoreError while the store is away."""
    digests = texts_needed(job, ask, work)
    texts = await load(digests, job, ask, store, key) if digests else {}
    if sum(map(len, texts.values())) < LARGE:
        return handoff_for(job, ask, work, now, texts)
    return await asyncio.to_thread(handoff_for, job, ask, work, now, texts)


async def load(digests: Iterable[str], job: Job, ask: Ask, store: Store, key: JobKey) -> Mapping[str, str]:
    """Return texts by digest, without those that are no longer kept. Raises StoreError while the store is away."""
    known = texts_of(job, ask)
    found: dict[str, str] = {}
    for digest in dict.fromkeys(digests):
        if digest in known:
            found[digest] = known[digest]
            continue
        try:
            found[digest] = (await store.blobs.get(key, digest)).decode("utf-8", "replace")
        except KeyError:
            continue
    return found
