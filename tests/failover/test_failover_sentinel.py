"""A partition that shuts in the primary with one of three Sentinels, while clients reach both sides."""

import asyncio
from pathlib import Path

import pytest

from bot.store.redis.redis_store import Store
from bot.store.values import JobKey, StoreError
from tests.failover.servers import NEEDS_SIDES, WatchedServers, watched_servers
from tests.failover.writers import PromiseRecord, Writer, list_broken_promises, more, run_writers
from tests.patience import eventually
from tests.store.kit import hearing

pytestmark = NEEDS_SIDES

JOBS = [JobKey("T1", f"J{n:010}") for n in range(8)]
CALL = JobKey("T1", "call")
TIMEOUT = 1.0
"""Seconds of silence until the store gives up a call, here; a write waits half of it for a replica."""


async def _through_a_partition(servers: WatchedServers, options: str) -> list[PromiseRecord]:
    """Write on both sides, before, during and after."""
    inside = await Store.connect(servers.url(0, options=options), timeout=TIMEOUT)
    outside = await Store.connect(servers.url(1, 2, options=options), timeout=TIMEOUT)
    both = await Store.connect(servers.url(options=options), timeout=TIMEOUT)
    writers = [Writer("inside", inside, JOBS), Writer("outside", outside, JOBS[::-1]), Writer("both", both, JOBS[3:])]
    heard: list[JobKey] = []

    async def hears() -> bool:
        await outside.jobs.ingest(CALL, "{}", dedupe=[])
        return CALL in heard

    async with hearing(outside.listen(), heard), run_writers(writers):
        await more(writers)
        await asyncio.to_thread(servers.part)
        await eventually(lambda: asyncio.to_thread(servers.has_new_primary))
        # Whoever asks a Sentinel of the others goes on at the new primary.
        await more(writers[1:])
        if not options:
            await _starts_where_nothing_counts(servers)
        # And hears what is said there, though nobody has closed its line to the old one.
        await eventually(hears)
        await asyncio.to_thread(servers.heal)
        await eventually(lambda: asyncio.to_thread(servers.is_whole))
        await more(writers)
    for store in (inside, outside, both):
        await store.close()
    return [writer.promise_record for writer in writers]


async def _starts_where_nothing_counts(servers: WatchedServers) -> None:
    """Who meets the shut-in primary only now must not take it for one that never had a replica."""
    late = await Store.connect(servers.url(0), timeout=TIMEOUT)
    with pytest.raises(StoreError, match="no replica has confirmed"):
        await late.jobs.ingest(JobKey("T1", "late"), "{}", dedupe=[])
    await late.close()


async def test_nothing_acknowledged_is_lost(tmp_path: Path) -> None:
    with watched_servers(tmp_path) as servers:
        promises = await _through_a_partition(servers, "")
        store = await Store.connect(servers.url())
        assert await list_broken_promises(store, promises) == []
        assert any("no replica has confirmed" in text for text in promises[0].refusal_counts)

        async def has_two_replicas() -> bool:
            return (await store.describe()).endswith("2 replicas, each write waits for 1")

        await eventually(has_two_replicas)  # the third server may still be on its way to the new primary
        await store.close()


async def test_without_waiting_for_a_replica_some_of_it_is(tmp_path: Path) -> None:
    with watched_servers(tmp_path) as servers:
        promises = await _through_a_partition(servers, "?replicas=0")
        store = await Store.connect(servers.url())
        assert any("lost" in fault for fault in await list_broken_promises(store, promises))
        await store.close()
