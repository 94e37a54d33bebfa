"""A log that lost something, and a server that runs out of memory."""

from pathlib import Path

import pytest

from bot.store.redis import layout
from bot.store.redis.redis_store import Store
from bot.store.values import Claim, Commit, LogBroken, LogEntry, StoreError
from tests.patience import eventually
from tests.store.kit import JOB, Kit, ask, read_head, take_job, tcp_server

LARGE = "x" * 20_000


@pytest.fixture
async def five_event_job(server_kit: Kit) -> tuple[Store, Claim]:
    """A job with five events, the third of them in a blob key."""
    claim = await server_kit.claim_new_job()
    await server_kit.store.jobs.commit(
        claim, "a", 0, ['{"e":1}', '{"e":2}', LARGE, '{"e":4}', '{"e":5}'], taken_entries=[1]
    )
    return server_kit.store, claim


@pytest.mark.parametrize(
    ("command", "expected_words"),
    [
        (("XDEL", "log", "4-0"), "jumps from event 3 to 5"),
        (("XDEL", "log", "1-0", "2-0"), "begins with event 3"),
        (("XDEL", "log", "5-0"), "ends with event 4 of 5"),
        (("DEL", "log"), "ends with event 0 of 5"),
        (("DEL", "blobs"), "contents of event 3"),
    ],
)
async def test_a_damaged_log_is_named_and_its_job_can_be_quarantined(
    five_event_job: tuple[Store, Claim], command: tuple[str, ...], expected_words: str
) -> None:
    store, claim = five_event_job
    name, key, *rest = command
    await store._server.run_command(name, store._keys.list_job_keys(JOB)[0].removesuffix("head") + key, *rest)
    with pytest.raises(LogBroken, match=f"{expected_words}.*{JOB.job}|{JOB.job}.*{expected_words}") as caught:
        await store.jobs.read_log(JOB)
    assert "\n" not in str(caught.value)
    assert "backup" in str(caught.value)
    assert await store.jobs.quarantine(claim, '{"why":"damaged"}', schema=1)
    last = await store._server.run_command("XREVRANGE", store._keys.list_job_keys(JOB)[1], "+", "-", "COUNT", 1)
    assert (last[0][0], last[0][1][b"p"]) == (b"6-0", b'{"why":"damaged"}')
    head = await read_head(store)
    assert (head.seq, head.is_quarantined) == (6, True)
    with pytest.raises(LogBroken):
        await store.jobs.read_log(JOB)
    assert await store.jobs.read_log(JOB, after_seq=5) == [LogEntry(6, '{"why":"damaged"}')]
    assert await store.jobs.release_quarantined(JOB, "{}")
    again = await take_job(store)
    assert await store.jobs.quarantine(again, "{}", schema=1), "and again, as long as nobody repairs it"


async def test_a_log_that_is_ahead_of_its_head_can_be_quarantined(five_event_job: tuple[Store, Claim]) -> None:
    store, claim = five_event_job
    await store._server.run_command("XADD", store._keys.list_job_keys(JOB)[1], "9-0", "p", "{}")
    assert await store.jobs.quarantine(claim, "{}", schema=1)
    head = await read_head(store)
    assert head.seq == 10


async def test_a_job_whose_inbox_lost_a_payload_is_named(server_kit: Kit) -> None:
    store = server_kit.store
    await store.jobs.ingest(JOB, LARGE, dedupe=["1"])
    await store._server.run_command("DEL", store._keys.list_job_keys(JOB)[4])
    with pytest.raises(LogBroken, match=JOB.job):
        await store.jobs.read_inbox(JOB)


async def test_a_log_read_in_many_pages_is_whole(server_kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.store.redis.redis_jobs.LOG_PAGE_ENTRIES", 2)
    claim = await server_kit.claim_new_job()
    for count in range(6):
        assert len(await server_kit.store.jobs.read_log(JOB)) == count
        assert len(await server_kit.store.jobs.read_log(JOB, after_seq=2)) == max(0, count - 2)
        assert await server_kit.store.jobs.commit(claim, f"{count}", count, ["{}"]) is Commit.OK


async def test_a_server_that_gets_full_says_so_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(layout, "FULLNESS_SECONDS", 0.0)  # a quick machine writes a fifth of it within a moment
    limit = 8 * 1024 * 1024
    with tcp_server(tmp_path, "--maxmemory", str(limit), "--appendonly", "yes") as port:
        store = await Store.connect(f"redis://127.0.0.1:{port}")
        assert await store.explain_fullness() == ""
        await store.jobs.ingest(JOB, '{"n":1}', dedupe=["1"])
        claim = await take_job(store, lease=30)
        blobs = [bytes([number]) * 100_000 for number in range(100)]
        kept = [(await store.blobs.put(JOB, blob), blob) for blob in blobs if not await store.explain_fullness()]
        text = await eventually(store.explain_fullness)
        assert "% full" in text
        assert "maxmemory" in text
        assert "nothing is lost" in text

        used = (await store._server.run_command("INFO", "memory"))["used_memory"]
        ask(port, "CONFIG", "SET", "maxmemory", str(used - 500_000))
        for call in (
            lambda: store.jobs.ingest(JOB, '{"n":2}', dedupe=["2"]),
            lambda: store.jobs.commit(claim, "op", 0, ["{}"], taken_entries=[1]),
            lambda: store.outbox.record_intent(claim, "m", "o"),
        ):
            with pytest.raises(StoreError, match="out of memory"):
                await call()
        assert await store.jobs.beat(claim, lease=30), "no owner is lost for lack of memory"

        ask(port, "CONFIG", "SET", "maxmemory", str(2 * limit))

        async def has_room() -> bool:
            return await store.explain_fullness() == ""

        await eventually(has_room)
        assert await store.jobs.read_log(JOB) == []
        assert await store.jobs.read_inbox(JOB) == [LogEntry(1, '{"n":1}')]
        assert await store.outbox.read_messages(JOB) == {}
        assert kept
        assert all([await store.blobs.get(JOB, digest) == blob for digest, blob in kept])
        assert await store.jobs.commit(claim, "op", 0, ["{}"], taken_entries=[1]) is Commit.OK
        assert await store.jobs.ingest(JOB, '{"n":2}', dedupe=["2"])
        await store.close()


async def test_a_full_server_can_be_started_on_and_lets_go_of_jobs_but_gives_none(tmp_path: Path) -> None:
    with tcp_server(tmp_path, "--appendonly", "yes") as port:
        store = await Store.connect(f"redis://127.0.0.1:{port}")
        await store.jobs.ingest(JOB, "{}", dedupe=["1"])
        claim = await take_job(store, lease=30)
        ask(port, "CONFIG", "SET", "maxmemory", "1mb")
        other = await Store.connect(f"redis://127.0.0.1:{port}")
        assert "% full" in await other.explain_fullness()
        assert await other.explain_fullness() in await other.list_faults()
        assert await store.jobs.release(claim, due=0)
        with pytest.raises(StoreError, match="out of memory"):
            await other.jobs.claim("me", lease=30, schema=1)
        head = await read_head(other)
        assert (head.epoch, head.owner, head.lost_owners) == (1, "", 0)
        ask(port, "CONFIG", "SET", "maxmemory", "0")
        assert await other.jobs.claim("me", lease=30, schema=1) is not None
        await store.close()
        await other.close()
