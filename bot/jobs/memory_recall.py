"""Gives a request its memories as material: those of its channel or, in a direct message, those of the requester."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from bot.jobs.material_gathering import GatheredMaterial
from bot.store.redis.redis_store import Store
from bot.store.values import JobKey
from handoff.contracts import Material
from handoff.conversation.memory import Memory, choose_memory_owner
from handoff.materials.memory_text import MEMORY_NAME, render_memories
from handoff.state.job_state import Job, RequestState

if TYPE_CHECKING:
    from bot.slack.show.thread_view import ThreadView

log = logging.getLogger(__name__)


async def gather_memories(
    job: Job, request: RequestState, thread: ThreadView, store: Store, key: JobKey
) -> GatheredMaterial:
    """Store the memories as one material of the request; no material if there are none. Raises StoreError."""
    user = request.spec.user
    memories = await read_memories(store, job.place.team, choose_memory_owner(job.place.channel, user))
    if not memories:
        return GatheredMaterial()
    people = {person for one in memories.values() for person in (one.user, one.edited_by) if person}
    names = await thread.find_names(sorted(people | {user}))
    heading = f"({_load_memory_heading().format(requester=names.get(user) or 'the requester')})"
    offset = await thread.find_utc_offset(user)
    memory_text = render_memories(memories, names, request.text, heading=heading, utc_offset_seconds=offset)
    # Recorded before the text is stored: when a memory is forgotten, the store must know which jobs have a copy.
    await store.blobs.record_file_reads(key, [section.message for section in memory_text.outline])
    digest = await store.blobs.put(key, memory_text.text.encode())
    material_fields = {"size": len(memory_text.text), "text": digest, "outline": memory_text.outline}
    return GatheredMaterial((Material.model_validate({"name": MEMORY_NAME, "kind": "memory", **material_fields}),))


async def read_memories(store: Store, team: str, place: str) -> dict[str, Memory]:
    """Read the memories of a place, by name, without those that this release cannot parse. Raises StoreError."""
    return {
        name: one for name, row in (await store.memories.read_place(team, place)).items() if (one := parse_memory(row))
    }


def parse_memory(row: str) -> Memory | None:
    """Parse a stored memory; None if this release cannot."""
    try:
        return Memory.model_validate_json(row)
    except ValidationError as error:
        # Log only the type of the error: its text quotes what people said.
        log.error("something that is remembered cannot be read (%s)", type(error).__name__)  # noqa: TRY400 - one line
        return None


def sort_newest_first(memories: Mapping[str, Memory]) -> list[tuple[str, Memory]]:
    """Return the memories as pairs (name, memory), the newest first."""
    return sorted(memories.items(), key=lambda one: -one[1].at)


@cache
def _load_memory_heading() -> str:
    return (Path(__file__).parent / "memory_heading.md").read_text(encoding="utf-8").strip()
