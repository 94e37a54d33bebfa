"""A store forgets a job whole and once, keeps its files for their own time, and drops what it is told to."""

import asyncio

import pytest

from bot.store.counters import DAY_SECONDS, Counter
from bot.store.values import Commit, JobForgotten, JobKey, Retention
from tests.patience import eventually
from tests.store.kit import JOB, OTHER_JOB, Kit, open_store, take_job

BIG = '{"n":"' + "x" * 20_000 + '"}'


async def test_a_job_is_erased_whole_and_whoever_owned_it_is_fenced(kit: Kit) -> None:
    store = kit.store
    await store.jobs.ingest(JOB, BIG, dedupe=["0"], user="U1")
    claim = await take_job(store)
    assert kit.ok(await store.jobs.commit(claim, "1", 0, [BIG], taken_entries=[1]))
    digest = await store.blobs.put(JOB, b"file")
    await store.blobs.record_file_reads(JOB, ["F1"])
    await store.outbox.record_intent(claim, "1.0:card", "op")
    await store.outbox.record_sent_message(claim, "1.0:card", "2.0")
    before = await store.read_time()
    done = await store.jobs.forget(JOB, users=["U1"], files=["F1"], audit_entries=['{"a":1}'])
    assert done is not kit.repeats, "a repeat says that there is nothing left"
    assert await store.jobs.forget(JOB, users=["U1"], audit_entries=['{"a":2}']) is False
    assert [entry async for entry in store.audit.read()] == ['{"a":1}']
    assert (await store.jobs.read_forget_time(JOB) or 0.0) >= before
    assert await store.jobs.read_head(JOB) is None
    assert await store.jobs.read_log(JOB) == await store.jobs.read_inbox(JOB) == []
    assert await store.outbox.read_messages(JOB) == {}
    assert {key: one.ts for key, one in (await store.outbox.read_forgotten_messages(JOB)).items()} == {
        "1.0:card": "2.0"
    }
    assert await store.jobs.read_heads_asked_by("T1", "U1") == []
    assert await store.blobs.list_jobs_that_read("T1", "F1") == []
    with pytest.raises(KeyError):
        await store.blobs.get(JOB, digest)
    assert await store.jobs.commit(claim, "2", 1, ["{}"]) is Commit.FENCED
    assert await store.jobs.beat(claim, lease=10.0) is False
    assert await store.outbox.record_intent(claim, "1.0:answer", "op2") is None
    assert await store.jobs.release(claim, due=None) is False
    with pytest.raises(JobForgotten):
        await store.blobs.put(JOB, b"late")
    assert await store.jobs.claim("other", lease=10.0, schema=1) is None
    await store.outbox.erase_forgotten_messages(JOB)
    assert await store.outbox.read_forgotten_messages(JOB) == {}


async def test_what_was_said_before_makes_it_no_job_again_and_what_is_said_later_does(kit: Kit) -> None:
    store = kit.store
    await kit.claim_new_job()
    await store.jobs.forget(JOB, users=[])
    at = await store.jobs.read_forget_time(JOB)
    assert at is not None
    assert await store.jobs.signal(JOB, "{}", dedupe=["2"]) is False
    assert await store.jobs.ingest(JOB, "{}", dedupe=["3"], said_at=at - 1) is False
    assert await store.jobs.read_head(JOB) is None
    assert await store.jobs.ingest(JOB, "{}", dedupe=["4"], said_at=at + 1) is True
    assert await store.jobs.read_head(JOB) is not None
    assert await store.blobs.put(JOB, b"new")


async def test_another_job_and_another_team_keep_everything(kit: Kit) -> None:
    store = kit.store
    others = (OTHER_JOB, JobKey("T2", JOB.job))
    for key in (JOB, *others):
        await store.jobs.ingest(key, "{}", dedupe=[f"first {key}"], user="U1")
        await store.blobs.put(key, b"file")
    await store.jobs.forget(JOB, users=["U1"])
    for key in others:
        assert await store.jobs.read_head(key) is not None
        assert await store.blobs.measure_usage(key) == (1, 4)
    assert [head.key for head in await store.jobs.read_heads_asked_by("T2", "U1")] == [others[1]]


async def test_bytes_are_dropped_or_replaced_and_their_room_is_free_again(kit: Kit) -> None:
    store = kit.store
    await kit.claim_new_job()
    one, two = await store.blobs.put(JOB, b"one"), await store.blobs.put(JOB, b"twotwo")
    await store.blobs.drop(JOB, {one: b"", two: b"2", "0" * 64: b""})
    with pytest.raises(KeyError):
        await store.blobs.get(JOB, one)
    assert await store.blobs.get(JOB, two) == b"2"
    assert await store.blobs.measure_usage(JOB) == (1, 1)


async def test_files_may_go_before_their_job_and_its_record_stays_whole(server_url: str) -> None:
    async with open_store(server_url, retention=Retention(jobs=60.0, materials=0.2)) as store:
        await store.jobs.ingest(JOB, BIG, dedupe=["1"])
        claim = await take_job(store)
        digest = await store.blobs.put(JOB, b"file")
        assert await store.jobs.commit(claim, "1", 0, [BIG], taken_entries=[1], starts_expiry=True) is Commit.OK

        async def is_gone() -> bool:
            return await store.blobs.measure_usage(JOB) == (0, 0)

        await store.jobs.release(claim, due=None)
        await eventually(is_gone)
        with pytest.raises(KeyError):
            await store.blobs.get(JOB, digest)
        assert [entry.payload for entry in await store.jobs.read_log(JOB)] == [BIG]


async def test_files_stay_while_there_is_something_to_do(server_url: str) -> None:
    async with open_store(server_url, retention=Retention(jobs=60.0, materials=0.2)) as store:
        await store.jobs.ingest(JOB, "{}", dedupe=["1"])
        claim = await take_job(store)
        digest = await store.blobs.put(JOB, b"file")
        await store.jobs.commit(claim, "1", 0, ["{}"], taken_entries=[1])
        await store.jobs.release(claim, due=None)  # it waits for a person
        await asyncio.sleep(0.4)
        assert await store.blobs.get(JOB, digest) == b"file"


async def test_what_an_earlier_release_kept_is_found(server_url: str) -> None:
    """It kept files with the large events."""
    async with open_store(server_url) as store:
        await store._server.run_command("HSET", store._keys.list_job_keys(JOB)[4], "abc", b"old", "size", 3)
        assert await store.blobs.get(JOB, "abc") == b"old"
        await store.blobs.drop(JOB, {"abc": b""})
        with pytest.raises(KeyError):
            await store.blobs.get(JOB, "abc")


async def test_counters_of_a_job_go_at_once_and_those_of_a_person_with_the_day(kit: Kit) -> None:
    job, person = Counter("job:T1/J1:micros", "life", 100, 7), Counter("person:T1/U1:micros", "day", 100, 7)
    await kit.store.counters.admit("op", [job, person], patience=0.0, hold=1.0)
    await kit.store.counters.forget_counters([job, person])
    assert await kit.store.counters.read_spending([job, person]) == [0, 7]
    store = kit.store
    left = await store._server.run_command("TTL", f"{store._keys.limits_prefix}day:{person.name}")
    assert 0 < left <= DAY_SECONDS
