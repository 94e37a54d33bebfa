"""A cluster that loses a primary in the middle of writes."""

import asyncio
from pathlib import Path

from bot.store.redis.redis_store import Store
from bot.store.values import JobKey, StoreError
from tests.failover.servers import Cluster, cluster
from tests.failover.writers import Writer, list_broken_promises, more, run_writers
from tests.patience import eventually
from tests.store.kit import hearing

JOBS = [JobKey("T1", f"J{n:010}") for n in range(24)]
"""Enough for every primary to have some."""


async def _lose_a_primary(nodes: Cluster) -> None:
    await asyncio.to_thread(nodes.nodes[0].kill)
    await eventually(lambda: asyncio.to_thread(nodes.is_primary, nodes.nodes[3]))
    # Until it is back, as a replica, the new one has nobody to confirm its writes.
    await asyncio.to_thread(nodes.start_node, nodes.nodes[0])
    await asyncio.to_thread(nodes.wait)


async def _is_whole(store: Store) -> bool:
    try:
        return (await store.describe()).endswith(
            "1 replica, each write waits for 1"
        ) and await store.list_faults() == []
    except StoreError:
        return False


async def test_nothing_acknowledged_is_lost_with_a_primary(tmp_path: Path) -> None:
    with cluster(tmp_path) as nodes:
        stores = [await Store.connect(nodes.url, timeout=1.0) for _ in range(2)]
        writers = [Writer("one", stores[0], JOBS), Writer("two", stores[1], JOBS[::-1])]
        heard: list[JobKey] = []
        async with hearing(stores[1].listen(), heard), run_writers(writers):
            await more(writers, 100)
            assert heard
            await _lose_a_primary(nodes)
            heard.clear()
            await more(writers, 100)
        assert set(heard) >= set(JOBS), "signals of all nodes are heard again"
        promises = [writer.promise_record for writer in writers]
        assert await list_broken_promises(stores[0], promises) == []
        assert any(promised.refusal_counts for promised in promises)
        # On a busy machine, nodes of a cluster may take each other for down once more, and change places.
        await eventually(lambda: _is_whole(stores[0]))
        for store in stores:
            await store.close()
