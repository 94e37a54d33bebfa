"""What a write waits for, and what it costs where there is nothing to wait for."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from bot.store.redis.redis_store import Store
from bot.store.values import Commit, StoreError
from tests.failover.names import replicated_servers
from tests.failover.servers import Node
from tests.store.kit import JOB, take_job


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Node, Node]]:
    """A primary and its replica."""
    with replicated_servers(tmp_path_factory.mktemp("replicas")) as (primary, replica):
        yield primary, replica


@pytest.fixture
def pair(servers: tuple[Node, Node]) -> tuple[Node, Node]:
    """The same, empty."""
    servers[0].ask("FLUSHALL")
    return servers


@contextmanager
def _frozen(node: Node) -> Iterator[None]:
    node.freeze()
    try:
        yield
    finally:
        node.resume()


async def test_what_no_replica_has_counts_only_once_it_has_it(pair: tuple[Node, Node]) -> None:
    primary, replica = pair
    url = f"redis://127.0.0.1:{primary.port}?replicas=1"
    store = await Store.connect(url, timeout=0.3)
    await store.jobs.ingest(JOB, '{"n":1}', dedupe=["1"])
    claim = await take_job(store, lease=60)
    (asked,) = await store.jobs.read_inbox(JOB)
    with _frozen(replica):
        for attempt in range(2):  # a repeat, which writes nothing, must prove as much
            with pytest.raises(StoreError, match=r"no replica has confirmed.*replicas=0"):
                await store.jobs.commit(claim, "op", 0, ["{}"], taken_entries=[asked.seq])
            with pytest.raises(StoreError, match="no replica has confirmed"):
                await store.jobs.ingest(JOB, '{"n":2}', dedupe=["2"])
            with pytest.raises(StoreError, match="no replica has confirmed"):
                await store.outbox.record_intent(claim, "message", "operation")
            assert await store.jobs.beat(claim, lease=60), f"renewed without it, attempt {attempt}"
    assert await store.jobs.commit(claim, "op", 0, ["{}"], taken_entries=[asked.seq]) is Commit.DUP
    assert not await store.jobs.ingest(JOB, '{"n":2}', dedupe=["2"])
    intent = await store.outbox.record_intent(claim, "message", "operation")
    assert intent is not None
    assert intent.is_first
    assert len(await store.jobs.read_log(JOB)) == len(await store.jobs.read_inbox(JOB)) == 1
    await store.close()


async def test_a_claim_that_no_replica_has_is_not_one_and_counts_as_no_lost_owner(pair: tuple[Node, Node]) -> None:
    primary, replica = pair
    store = await Store.connect(f"redis://127.0.0.1:{primary.port}?replicas=1", timeout=0.3)
    await store.jobs.ingest(JOB, "{}", dedupe=["1"])
    with _frozen(replica):
        for _ in range(4):
            with pytest.raises(StoreError, match="no replica has confirmed"):
                await store.jobs.claim("me", lease=0.01, schema=1, preferred_job=JOB)
    claim = await take_job(store, lease=60, preferred_job=JOB)
    assert claim.lost_owners == 0
    await store.close()


async def test_a_script_that_the_server_forgot_is_confirmed_too(pair: tuple[Node, Node]) -> None:
    primary, replica = pair
    store = await Store.connect(f"redis://127.0.0.1:{primary.port}?replicas=1", timeout=0.3)
    with _frozen(replica):
        primary.ask("SCRIPT", "FLUSH")
        with pytest.raises(StoreError, match="no replica has confirmed"):
            await store.jobs.ingest(JOB, "{}", dedupe=["1"])
    primary.ask("SCRIPT", "FLUSH")
    assert not await store.jobs.ingest(JOB, "{}", dedupe=["1"])
    await store.close()


async def test_a_single_server_pays_nothing(pair: tuple[Node, Node]) -> None:
    primary, _ = pair
    for options, waits in (("", False), ("?replicas=1", True)):
        store = await Store.connect(f"redis://127.0.0.1:{primary.port}{options}")
        await store.jobs.ingest(JOB, "{}", dedupe=[])
        primary.ask("CONFIG", "RESETSTAT")
        assert await store.jobs.ingest(JOB, "{}", dedupe=[])
        said = primary.ask("INFO", "commandstats")
        assert (b"cmdstat_wait:" in said) is waits
        assert b"cmdstat_info:" not in said
        assert b"cmdstat_evalsha:calls=1," in said
        await store.close()


async def test_replicas_are_told_of(pair: tuple[Node, Node]) -> None:
    primary, _ = pair
    base = f"redis://127.0.0.1:{primary.port}"
    for options, words in (
        ("", "1 replica, no write waits for it"),
        ("?replicas=1", "1 replica, each write waits for 1"),
        ("?replicas=2", "1 replica, each write waits for 2"),
    ):
        store = await Store.connect(base + options)
        assert (await store.describe()).endswith(words)
        faults = await store.list_faults()
        assert bool(faults) is options.endswith("2"), faults
        assert all("its writes do not count" in fault for fault in faults)
        await store.close()
    for options in ("?replicas=x", "?replicas=-1", "?replicas=99"):
        with pytest.raises(StoreError, match="replicas is a number from 0 to 9"):
            await Store.connect(base + options)


async def test_what_a_cut_off_primary_numbered_is_not_taken_for_another(pair: tuple[Node, Node]) -> None:
    primary, _ = pair
    store = await Store.connect(f"redis://127.0.0.1:{primary.port}?replicas=1")
    await store.jobs.ingest(JOB, '{"n":1}', dedupe=["1"])
    claim = await take_job(store, lease=60)
    kept = [
        (key, await store._server.run_command("DUMP", key))
        for key in (store._keys.list_job_keys(JOB)[0], store._keys.list_job_keys(JOB)[2])
    ]
    await store.jobs.ingest(JOB, '{"n":"gone"}', dedupe=["2"])
    seen = await store.jobs.read_inbox(JOB)
    for key, state in kept:  # as a replica has it that the last event did not reach
        await store._server.run_command("RESTORE", key, 0, state, "REPLACE")
    await store.jobs.ingest(JOB, '{"n":"kept"}', dedupe=["3"])
    assert await store.jobs.commit(claim, "op", 0, ["{}"], taken_entries=[entry.seq for entry in seen]) is Commit.OK
    assert [entry.payload for entry in await store.jobs.read_inbox(JOB)] == ['{"n":"kept"}']
    await store.close()
