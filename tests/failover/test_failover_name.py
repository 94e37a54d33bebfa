"""A failover behind one name: the store's URL stays, and leads to another server.

What the store holds open leads to the former primary, which may be a replica by now, may hang, or may go on as if
nothing had happened.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from redis._parsers.base import BaseParser

from bot.store.redis.redis_store import Store
from bot.store.server_diagnosis import is_not_primary_error
from bot.store.values import JobKey
from tests.failover.names import NAMES, Name, follows, forwarder, furthest, is_primary, replicated_servers
from tests.failover.servers import Node
from tests.failover.writers import Writer, list_broken_promises, more, run_writers
from tests.patience import eventually
from tests.store.kit import JOB, hearing, until

JOBS = [JobKey("T1", f"J{n:010}") for n in range(8)]


def demote(former: Node, new: Node) -> None:
    """Hand over as a planned failover does: the former primary stops, lets the other catch up, and follows it."""
    assert former.ask("FAILOVER", "TO", "127.0.0.1", str(new.port)).startswith(b"+OK")
    until(lambda: is_primary(new) and follows(former), "no failover")


@contextlib.asynccontextmanager
async def stores(place: str, count: int, options: str = "") -> AsyncIterator[list[Store]]:
    made = [await Store.connect(f"redis://{place}{options}", timeout=1.0) for _ in range(count)]
    try:
        yield made
    finally:
        for store in made:
            await store.close()


@pytest.mark.parametrize(("kind", "must_cut"), [("proxy", True), ("dns", False)])
async def test_a_primary_that_became_a_replica_is_left(kind: str, tmp_path: Path, *, must_cut: bool) -> None:
    with replicated_servers(tmp_path) as (former, new), NAMES[kind](former) as name:
        async with stores(name.place, 2, "?replicas=1") as both:
            writers = [Writer("one", both[0], JOBS), Writer("two", both[1], JOBS[::-1])]
            async with run_writers(writers):
                await more(writers)
                await asyncio.to_thread(demote, former, new)
                name.move(new, must_cut=must_cut)
                await more(writers)
            assert await list_broken_promises(both[0], [writer.promise_record for writer in writers]) == []


async def test_a_primary_that_hangs_is_left(tmp_path: Path) -> None:
    with replicated_servers(tmp_path, replicas=2) as (former, *replicas), NAMES["dns"](former) as name:
        async with stores(name.place, 2, "?replicas=1") as both:
            writers = [Writer("one", both[0], JOBS), Writer("two", both[1], JOBS[::-1])]
            async with run_writers(writers):
                await more(writers)
                former.freeze()
                await asyncio.to_thread(promote_furthest, name, replicas)
                await more(writers)
            assert await list_broken_promises(both[0], [writer.promise_record for writer in writers]) == []


def promote_furthest(name: Name, replicas: list[Node]) -> None:
    new = furthest(replicas)
    (other,) = (node for node in replicas if node is not new)
    assert new.ask("REPLICAOF", "NO", "ONE").startswith(b"+OK")
    assert other.ask("REPLICAOF", "127.0.0.1", str(new.port)).startswith(b"+OK")
    until(lambda: follows(other), "no link")
    name.move(new)


@pytest.mark.parametrize(("kind", "fate"), [("proxy", "a replica"), ("dns", "hangs"), ("proxy", "goes on")])
async def test_who_only_listens_hears_what_is_said_at_the_new_primary(kind: str, fate: str, tmp_path: Path) -> None:
    with replicated_servers(tmp_path) as (former, new), NAMES[kind](former) as name:
        async with stores(name.place, 1) as (idle,):
            heard: list[JobKey] = []
            async with hearing(idle.listen(), heard):
                await eventually(lambda: _hears(former, heard))
                assert new.ask("REPLICAOF", "NO", "ONE").startswith(b"+OK")
                if fate == "hangs":
                    former.freeze()
                elif fate == "a replica":
                    # Of nobody: a replica of the new one would pass on what is published there.
                    assert former.ask("REPLICAOF", "127.0.0.1", "1").startswith(b"+OK")
                name.move(new)
                heard.clear()
                await eventually(lambda: _hears(new, heard))


async def _hears(node: Node, heard: list[JobKey]) -> bool:
    """Whether what is said at a server has arrived."""
    async with stores(f"127.0.0.1:{node.port}", 1) as (there,):
        await there.jobs.ingest(JOB, "{}", dedupe=[])
        await asyncio.sleep(0.05)
    return JOB in heard


async def test_a_former_primary_that_goes_on_gets_no_writes_for_long(tmp_path: Path) -> None:
    """It answers everything, so that no call meets an error: only a new connection shows where the name leads."""
    with replicated_servers(tmp_path) as (former, new), forwarder(former) as name:
        async with stores(name.place, 1) as (store,):
            heard: list[JobKey] = []
            async with hearing(store.listen(), heard):
                await store.jobs.ingest(JOB, '{"n":0}', dedupe=["0"])
                assert new.ask("REPLICAOF", "NO", "ONE").startswith(b"+OK")
                name.move(new)

                async def arrives() -> bool:
                    await store.settings.put("T1", "mark", "there")
                    return b"there" in new.ask("HGET", store._keys.make_settings_key("T1"), "mark")

                await eventually(arrives)


async def test_what_was_recorded_before_a_primary_died_is_known_to_the_new_one(tmp_path: Path) -> None:
    with replicated_servers(tmp_path) as (former, new), forwarder(former) as name:
        async with stores(name.place, 1) as (store,):
            await store.jobs.ingest(JOB, "{}", dedupe=["1"])
            former.kill()
            name.move(new, must_cut=True)
            assert new.ask("REPLICAOF", "NO", "ONE").startswith(b"+OK")
            assert not await store.jobs.ingest(JOB, "{}", dedupe=["1"]), "what was recorded is known"


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("READONLY You can't write against a read only replica.", True),
        ("READONLY You can't write against a read only replica. script: 1a2b, on @user_script:3.", True),
        ("ERR Error running script (call to f_1a2b): @user_script:1: -READONLY You can't write against it.", True),
        ("MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.", True),
        ("NOREPLICAS Not enough good replicas to write.", True),
        ("UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)", True),
        ("LOADING Redis is loading the dataset in memory", True),
        ("OOM command not allowed when used memory > 'maxmemory'.", False),
        ("NOSCRIPT No matching script. Please use EVAL.", False),
        ("WRONGTYPE Operation against a key holding the wrong kind of value", False),
        ("WRONGPASS invalid username-password pair or user is disabled.", False),
    ],
)
def test_the_errors_of_a_server_that_is_no_primary_are_known(text: str, *, refused: bool) -> None:
    assert is_not_primary_error(BaseParser.parse_error(text)) is refused
