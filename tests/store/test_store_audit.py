"""The audit of a store: added to with commits and beside them, read in order, kept for its own time."""

import pytest

from bot.store.redis.redis_store import Store
from bot.store.values import JobKey, Retention
from tests.patience import eventually
from tests.store.kit import JOB, OTHER_JOB, Kit, open_store, take_job


async def read(kit: Kit, since: float = 0.0) -> list[str]:
    return [entry async for entry in kit.store.audit.read(since=since)]


async def test_entries_come_with_their_commit_and_once(kit: Kit) -> None:
    claim = await kit.claim_new_job()
    done = await kit.store.jobs.commit(claim, "1", 0, ['{"e":1}'], audit_entries=['{"a":1}', '{"a":2}'])
    assert kit.ok(done)
    await kit.store.jobs.commit(claim, "1", 0, ['{"e":1}'], audit_entries=['{"a":1}', '{"a":2}'])
    await kit.store.jobs.commit(claim, "2", 7, ['{"e":1}'], audit_entries=['{"a":3}'])
    assert await read(kit) == ['{"a":1}', '{"a":2}'], "a repeat and a commit that is refused leave nothing"


async def test_an_owner_that_is_fenced_adds_nothing(kit: Kit) -> None:
    claim = await kit.claim_new_job(lease=1.0)
    kit.advance(2.0)
    assert await kit.store.jobs.claim("other", lease=10.0, schema=1) is not None
    await kit.store.jobs.commit(claim, "1", 0, ['{"e":1}'], audit_entries=['{"a":1}'])
    assert await read(kit) == []


async def test_what_follows_from_no_event_is_noted_beside_it_in_order(kit: Kit) -> None:
    await kit.store.audit.add_entry("T1", JOB.job, '{"a":1}')
    kit.advance(5.0)
    await kit.store.audit.add_entry("T2", "", '{"a":2}')
    later = await kit.store.read_time()
    kit.advance(5.0)
    await kit.store.audit.add_entry("T1", OTHER_JOB.job, '{"a":3}')
    assert await read(kit) == ['{"a":1}', '{"a":2}', '{"a":3}']
    assert await read(kit, since=later + 1) == ['{"a":3}']


async def test_many_entries_are_read_page_by_page(server_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.store.redis.redis_audit.PAGE_ENTRIES", 5)
    async with open_store(server_url, partitions=3) as store:
        jobs = [JobKey("T1", f"J{number:010}") for number in range(9)]
        for number in range(100):
            await store.audit.add_entry("T1", jobs[number % 9].job, f'{{"a":{number}}}')
        found = [entry async for entry in store.audit.read()]
    assert sorted(found) == sorted(f'{{"a":{number}}}' for number in range(100))


async def test_an_entry_outlives_its_job_and_goes_after_its_own_time(server_url: str) -> None:
    async with open_store(server_url, partitions=1, retention=Retention(jobs=0.1, audit=1.5)) as store:
        await store.jobs.ingest(JOB, "{}", dedupe=["1"])
        claim = await take_job(store)
        taken = [entry.seq for entry in await store.jobs.read_inbox(JOB)]
        await store.jobs.commit(
            claim, "1", 0, ["{}"], taken_entries=taken, starts_expiry=True, audit_entries=['{"a":1}']
        )
        await store.jobs.release(claim, due=None)
        await eventually(lambda: _is_gone(store))
        assert [entry async for entry in store.audit.read()] == ['{"a":1}']
        kit = store._clock
        kit.offset_ms += 1_600
        await store.audit.add_entry("T1", "", '{"a":2}')
        assert [entry async for entry in store.audit.read()] == ['{"a":2}']


async def _is_gone(store: Store) -> bool:
    return await store.jobs.read_head(JOB) is None


async def test_a_clock_that_goes_back_loses_no_entry(server_url: str) -> None:
    async with open_store(server_url, partitions=1) as store:
        store._clock.offset_ms = 60_000
        await store.audit.add_entry("T1", "", '{"a":1}')
        store._clock.offset_ms = 0
        await store.audit.add_entry("T1", "", '{"a":2}')
        assert [entry async for entry in store.audit.read()] == ['{"a":1}', '{"a":2}']
