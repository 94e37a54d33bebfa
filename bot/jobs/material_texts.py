"""Loads the texts of material for a brief: those in the job's log, and those that the store keeps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from bot.store.interface import JobKey, Store
from handoff.context import texts_needed
from handoff.materials.at_hand import texts_of
from handoff.state import Ask, Job, Work


async def needed_texts(job: Job, ask: Ask, work: Work, store: Store, key: JobKey) -> Mapping[str, str]:
    """Return the texts of a subtask's handoff by digest. Raises StoreError while the store is away."""
    digests = texts_needed(job, ask, work)
    return await load(digests, job, ask, store, key) if digests else {}


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
