"""What jobs cost a server: those that wait for a person, those that are too new, and those that are over."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest

from bot.store.redis import layout
from bot.store.redis.redis_store import Store
from bot.store.values import DEFAULT_RETENTION, JobKey, Retention
from tests.patience import eventually
from tests.store.kit import Kit, redis_kit, take_job

T = TypeVar("T")
BAR = 4096
"""Bytes that a paused job may take beyond its contents."""
JOBS = 200
TOO_NEW = 300
"""More than one call of the script moves out of the way."""
EVENTS = 20
EVENT = json.dumps({"type": "TurnTaken", "at": 1795273287.6, "request": "1795273287.589579", "turn": "x" * 500})
FIELDS = {
    "state": "input_required",
    "title": "Compare the churn of our two plans over the last four quarters, and say what drives it",
    "user": "U0123456789",
    "channel": "C0123456789",
    "thread_ts": "1795273287.589579",
    "asked": "1795273287.5958014",
    "questions": '[{"request": "1795273287.589579", "subtask": "analysis", "number": 1, "user": "U0123456789"}]',
}
CONTENTS = EVENTS * len(EVENT) + sum(len(name) + len(value) for name, value in FIELDS.items())


async def pause(store: Store, number: int) -> JobKey:
    """A job that has a card and a question in its thread, and waits for the answer."""
    key = JobKey("T0123456789", f"J{number:010d}")
    seen = [f"event:Ev{number:010d}", f"message:C0123456789:1795273287.{number:06d}"]
    assert await store.jobs.ingest(key, EVENT, dedupe=seen, user=f"U{number % 20}", fields=FIELDS)
    claim = await take_job(store, "0123456789ab", lease=30, schema=2, preferred_job=key)
    for seq in range(0, EVENTS, 5):
        operation = f"{claim.owner}:{claim.epoch}:{seq}"
        await store.jobs.commit(claim, operation, seq, [EVENT] * 5, taken_entries=[1], fields=FIELDS, schema=2)
    for message in ("1795273287.589579:card", "1795273287.589579:question:analysis:1"):
        await store.outbox.record_intent(claim, message, f"{claim.owner}:{claim.epoch}:{message}")
        await store.outbox.record_sent_message(claim, message, "1795273287.621244")
    assert await store.jobs.release(claim, due=None)
    return key


async def in_turns(work: Callable[[int], Awaitable[T]], count: int) -> list[T]:
    """Do something so many times, twenty at once."""
    return [done for at in range(0, count, 20) for done in await asyncio.gather(*map(work, range(at, at + 20)))]


async def sizes(store: Store, pattern: str) -> dict[str, int]:
    """Bytes of each key of a pattern, as the server counts them."""
    names = [name.decode() for name in await store._server.run_command("KEYS", f"{store._keys.prefix}:{pattern}")]
    found = await store._server.run_commands([("MEMORY", "USAGE", name, "SAMPLES", "0") for name in names])
    return dict(zip(names, found, strict=True))


async def idle_round(store: Store) -> int:
    """How many commands the server carries out for an instance that looks for work and finds none."""
    before = await store._server.run_command("INFO", "commandstats")
    assert await store.jobs.claim("idle", lease=10, schema=2) is None
    assert await store.jobs.read_next_due() is None
    after = await store._server.run_command("INFO", "commandstats")
    return sum(int(row["calls"]) for row in after.values()) - sum(int(row["calls"]) for row in before.values())


async def test_a_paused_job_costs_little_beyond_its_contents_and_no_work(server_kit: Kit) -> None:
    store = server_kit.store
    alone = await idle_round(store)
    keys = await in_turns(lambda number: pause(store, number), JOBS)
    assert await idle_round(store) == alone
    taken = await sizes(store, "*")
    passing = [name for name in taken if ":claim:" in name]
    assert len(passing) == JOBS, "each is gone after a minute"
    all_bytes = sum(taken.values()) - sum(taken[name] for name in passing)
    assert all_bytes / JOBS - CONTENTS < BAR
    for key in keys[:: JOBS // 10]:
        own = [size for name, size in taken.items() if f"/{key.job}:" in name]
        assert sum(own) - CONTENTS < BAR
    for name in ("due", "lease", "newer", "in"):
        assert not await sizes(store, f"*:{name}"), "a paused job waits in no set, and keeps no empty stream"


async def test_jobs_that_are_too_new_cost_an_older_instance_nothing(server_url: str) -> None:
    kit = await redis_kit(server_url, instances=1, partitions=1)
    store = kit.store

    async def make(number: int) -> None:
        key = JobKey("T1", f"N{number}")
        await store.jobs.ingest(key, "{}", dedupe=[])
        claim = await take_job(store, "new", schema=2, preferred_job=key)
        await store.jobs.commit(claim, "op", 0, [], schema=2)
        if number % 2:
            await store.jobs.release(claim, due=0)

    await in_turns(make, TOO_NEW)
    kit.advance(11)
    await store.jobs.ingest(JobKey("T1", "old"), "{}", dedupe=[])
    claim = await take_job(store, "old")
    assert claim.key.job == "old"
    assert await store.jobs.claim("old", lease=10, schema=1) is None
    assert await store.jobs.read_next_due() == pytest.approx(claim.expires_at), "nobody is woken for them"
    assert await store.jobs.claim("old", lease=10, schema=1) is None

    async def take(_: int) -> JobKey:
        claim = await take_job(store, "new", schema=2)
        return claim.key

    assert len(set(await in_turns(take, TOO_NEW))) == TOO_NEW
    await store.close()


async def test_finished_jobs_leave_nothing_behind(server_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout, "DEDUPE_SECONDS", 0.3)
    kit = await redis_kit(server_url, instances=1, retention=Retention(jobs=0.3))
    store = kit.store
    key = JobKey("T1", "J1")
    await store.jobs.ingest(key, EVENT, dedupe=["e1"], user="U1")
    claim = await take_job(store, lease=30, schema=2)
    await store.jobs.commit(claim, "a", 0, [EVENT, "x" * 20_000], taken_entries=[1], schema=2)
    await store.outbox.record_intent(claim, "card", "o")
    await store.outbox.record_sent_message(claim, "card", "1.1")
    await store.blobs.put(key, b"table")
    await store.jobs.commit(claim, "b", 2, [EVENT], schema=2, starts_expiry=True)
    await store.jobs.release(claim, due=None)

    async def list_left_names() -> set[str]:
        names = await store._server.run_command("KEYS", f"{store._keys.prefix}:*")
        return {name.decode().partition("}:")[2].partition(":")[0] for name in names}

    async def nothing_is_left() -> bool:
        return await list_left_names() <= {"partitions", "claim"}

    assert "T1/J1" in await list_left_names()
    assert "user" in await list_left_names()
    await eventually(nothing_is_left)
    for name in await store._server.run_command("KEYS", f"{store._keys.prefix}:*:claim:*"):
        assert 0 < await store._server.run_command("PTTL", name) <= 60_000
    assert await store.jobs.read_heads_asked_by("T1", "U1") == []
    assert await store.jobs.read_head(key) is None
    assert await store.jobs.read_log(key) == []
    await store.close()


async def test_a_job_set_aside_fades_whatever_comes_in(server_kit: Kit) -> None:
    store = server_kit.store
    claim = await server_kit.claim_new_job()
    await store.jobs.commit(claim, "a", 0, ["x" * 20_000], taken_entries=[1])
    assert await store.jobs.quarantine(claim, "{}", schema=1)
    assert await store.jobs.ingest(claim.key, "{}", dedupe=["2"])
    names = await store._server.run_command("KEYS", f"{store._keys.prefix}:*")
    lives = await store._server.run_commands([("PTTL", name) for name in names])
    assert [name for name, life in zip(names, lives, strict=True) if life == -1 and b"partitions" not in name] == []
    head = await store._server.run_command("PTTL", store._keys.list_job_keys(claim.key)[0])
    assert head > (DEFAULT_RETENTION.waiting_jobs - 60) * 1000, "and not before its time"
    assert await store.jobs.release_quarantined(claim.key, "{}")
    assert await store._server.run_command("PTTL", store._keys.list_job_keys(claim.key)[0]) == -1
