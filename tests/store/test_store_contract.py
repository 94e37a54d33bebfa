"""One suite for every store: on a server, on a server that gets everything twice, on a cluster."""

import asyncio
import hashlib
import itertools

import pytest

from bot.store.redis import layout
from bot.store.values import (
    ANY_TEAM,
    BLOB_LIMIT,
    EVENT_LIMIT,
    INLINE_LIMIT,
    LOG_LIMIT,
    MEMORIES_LIMIT,
    Claim,
    Commit,
    Head,
    JobKey,
    LogEntry,
    PayloadTooLarge,
)
from tests.patience import eventually
from tests.store.kit import JOB, OTHER_JOB, Kit, hearing, read_head, take_job


async def test_what_comes_in_makes_a_job_that_is_due_at_once(kit: Kit) -> None:
    before = await kit.store.read_time()
    assert await kit.store.jobs.ingest(JOB, '{"n":1}', dedupe=["e1"], fields={"title": "ä"})
    head = await read_head(kit.store)
    assert (head.key, head.seq, head.epoch, head.owner, head.fields) == (JOB, 0, 0, "", {"title": "ä"})
    assert head.due is not None
    assert before <= head.due <= await kit.store.read_time()
    assert await kit.store.jobs.read_next_due() == head.due
    assert await kit.store.jobs.read_inbox(JOB) == [LogEntry(1, '{"n":1}')]
    assert await kit.store.jobs.read_log(JOB) == []


async def test_a_dedupe_id_seen_before_changes_nothing(kit: Kit) -> None:
    assert await kit.store.jobs.ingest(JOB, '{"n":1}', dedupe=["event 1", "message 1"])
    before = await kit.store.jobs.read_head(JOB)
    assert not await kit.store.jobs.ingest(JOB, '{"n":2}', dedupe=["event 2", "message 1"], fields={"a": "b"})
    assert not await kit.store.jobs.signal(JOB, '{"n":3}', dedupe=["event 1"])
    assert await kit.store.jobs.read_head(JOB) == before
    assert len(await kit.store.jobs.read_inbox(JOB)) == 1
    assert await kit.store.jobs.ingest(JOB, '{"n":4}', dedupe=["event 2"]), "a refused event leaves no id behind"
    assert await kit.store.jobs.ingest(OTHER_JOB, '{"n":1}', dedupe=["event 1"]), "ids belong to a job"
    assert await kit.store.jobs.ingest(JobKey("T2", JOB.job), '{"n":1}', dedupe=["event 1"]), "and to a team"


async def test_of_racing_deliveries_of_one_event_one_is_taken(kit: Kit) -> None:
    stores = [kit.store, *kit.others] * 3
    taken = await asyncio.gather(*(store.jobs.ingest(JOB, "{}", dedupe=["e1"]) for store in stores))
    assert sorted(taken) == [False] * 8 + [True]
    assert len(await kit.store.jobs.read_inbox(JOB)) == 1


async def test_events_without_ids_are_all_taken(kit: Kit) -> None:
    assert await kit.store.jobs.ingest(JOB, "{}", dedupe=[])
    assert await kit.store.jobs.ingest(JOB, "{}", dedupe=[])
    assert [entry.seq for entry in await kit.store.jobs.read_inbox(JOB)] == [1, 2]


async def test_fields_of_an_event_fill_gaps_and_replace_nothing(kit: Kit) -> None:
    await kit.store.jobs.ingest(JOB, "{}", dedupe=[], fields={"a": "1"})
    await kit.store.jobs.ingest(JOB, "{}", dedupe=[], fields={"a": "2", "b": "3"})
    head = await read_head(kit.store)
    assert head.fields == {"a": "1", "b": "3"}
    with pytest.raises(ValueError, match="underscore"):
        await kit.store.jobs.ingest(JOB, "{}", dedupe=[], fields={"_seq": "9"})


async def test_a_signal_is_for_jobs_that_exist(kit: Kit) -> None:
    assert not await kit.store.jobs.signal(JOB, "{}", dedupe=["click"])
    assert await kit.store.jobs.read_head(JOB) is None
    claim = await kit.claim_new_job()
    await kit.store.jobs.commit(claim, "op", 0, [], taken_entries=[1])
    await kit.store.jobs.release(claim, due=None)
    assert await kit.store.jobs.claim("me", lease=10, schema=1) is None
    assert await kit.store.jobs.signal(JOB, '{"click":1}', dedupe=["click"])
    assert await kit.store.jobs.claim("me", lease=10, schema=1) is not None, "a sleeping job becomes due"


async def test_a_job_has_one_owner_at_a_time(kit: Kit) -> None:
    keys = [JobKey("T1", f"J{n}") for n in range(12)]
    for key in keys:
        await kit.store.jobs.ingest(key, "{}", dedupe=[])
    stores = [kit.store, *kit.others] * 8
    claims = await asyncio.gather(*(store.jobs.claim(f"o{n}", lease=30, schema=1) for n, store in enumerate(stores)))
    granted = [claim for claim in claims if claim is not None]
    assert sorted(claim.key.job for claim in granted) == sorted(key.job for key in keys)
    assert len({claim.owner for claim in granted}) == len(keys)
    assert await kit.store.jobs.claim("late", lease=30, schema=1) is None


async def test_a_claim_tells_until_when_it_holds(kit: Kit) -> None:
    claim = await kit.claim_new_job(lease=25)
    now = await kit.store.read_time()
    assert now + 20 < claim.expires_at <= now + 25
    assert claim.epoch == 1
    head = await read_head(kit.store)
    assert (head.owner, head.epoch, head.due) == (claim.owner, 1, None)


async def test_an_expired_lease_goes_before_what_is_due(kit: Kit) -> None:
    old = await kit.claim_new_job(JOB, lease=10)
    for n in range(20):
        await kit.store.jobs.ingest(JobKey("T1", f"backlog{n}"), "{}", dedupe=[])
    kit.advance(11)
    claim = await take_job(kit.store, "next")
    assert (claim.key, claim.epoch) == (JOB, old.epoch + 1)


async def test_due_jobs_of_some_people_are_left_to_wait(kit: Kit) -> None:
    for n in range(40):
        await kit.store.jobs.ingest(JobKey("T1", f"A{n}"), "{}", dedupe=[], fields={"user": "UANA"})
    await kit.store.jobs.ingest(JobKey("T1", "B"), "{}", dedupe=[], fields={"user": "UBEN"})
    ana = JobKey("T1", "A7")
    first = await take_job(kit.store, preferred_job=ana, skipped_holders=[("T1", "UANA"), ("T1", "UCLEO")])
    assert (first.key.job, first.user) == ("B", "UBEN"), "also before a preferred one"
    assert await kit.store.jobs.claim("me", lease=10, schema=1, skipped_holders=[("T1", "UANA")]) is None
    later = await take_job(kit.store, preferred_job=ana)
    assert (later.key, later.user) == (ana, "UANA")
    kit.advance(11)
    lost = [
        await kit.store.jobs.claim("other", lease=10, schema=1, skipped_holders=[("T1", "UANA"), ("T1", "UBEN")])
        for _ in range(3)
    ]
    assert sorted(one.key.job for one in lost if one) == ["A7", "B"], "work that was begun waits for nobody's turn"


async def test_due_jobs_of_a_team_are_left_to_wait_however_many_they_are(kit: Kit) -> None:
    """They lie in one partition with the one of another team, and before it, which has a person of the same id."""
    jobs, keys = kit.store.jobs, kit.store._keys
    other = JobKey("T2", "J1")
    named = (JobKey("T1", f"J{number}") for number in itertools.count())
    for key in itertools.islice(
        (key for key in named if keys.compute_partition_prefix(key) == keys.compute_partition_prefix(other)), 300
    ):
        await jobs.ingest(key, "{}", dedupe=[], fields={"user": "UANA"})
    kit.advance(1)
    await jobs.ingest(other, "{}", dedupe=[], fields={"user": "UANA"})
    assert await jobs.claim("me", lease=10, schema=1, skipped_holders=[("T1", ""), ("T2", "UANA")]) is None
    for leave in ([("T1", "")], [("T1", ""), ("T2", "UBEN")]):
        claim = await jobs.claim("me", lease=10, schema=1, skipped_holders=leave)
        assert claim is not None
        assert claim.key == other
        await jobs.release(claim, due=kit.store.clock() - 1)
    first = await jobs.claim("me", lease=10, schema=1, skipped_holders=[("T2", "")])
    assert first is not None
    assert first.key.team == "T1"


async def test_the_preferred_job_goes_first_if_it_is_ready(kit: Kit) -> None:
    for n in range(5):
        await kit.store.jobs.ingest(JobKey("T1", f"J{n}"), "{}", dedupe=[])
    claim = await take_job(kit.store, preferred_job=JobKey("T1", "J4"))
    assert claim.key.job == "J4"
    other = await kit.store.jobs.claim("me", lease=10, schema=1, preferred_job=JobKey("T1", "J4"))
    assert other is not None, "a preferred job that is owned keeps nobody from the others"
    assert other.key.job != "J4"


async def test_jobs_of_a_newer_schema_are_left_alone(kit: Kit) -> None:
    claim = await kit.claim_new_job()
    assert kit.ok(await kit.store.jobs.commit(claim, "op", 0, ["{}"], schema=2))
    kit.advance(11)
    assert await kit.store.jobs.claim("old", lease=10, schema=1) is None
    newer = await take_job(kit.store, "new", schema=2)
    assert await kit.store.jobs.release(newer, due=0)
    assert await kit.store.jobs.claim("old", lease=10, schema=1) is None
    assert await kit.store.jobs.claim("old", lease=10, schema=1, preferred_job=JOB) is None


async def test_a_beat_renews_only_what_is_ours(kit: Kit) -> None:
    claim = await kit.claim_new_job(lease=10)
    kit.advance(8)
    assert await kit.store.jobs.beat(claim, lease=10)
    kit.advance(8)
    assert await kit.store.jobs.claim("thief", lease=10, schema=1) is None
    kit.advance(3)
    assert await kit.store.jobs.claim("thief", lease=10, schema=1) is not None
    assert not await kit.store.jobs.beat(claim, lease=10)


async def test_a_lease_that_nobody_took_can_be_renewed_late(kit: Kit) -> None:
    claim = await kit.claim_new_job(lease=10)
    kit.advance(15)
    assert await kit.store.jobs.beat(claim, lease=10)
    assert await kit.store.jobs.claim("thief", lease=10, schema=1) is None


async def test_a_released_job_sleeps_until_it_is_due(kit: Kit) -> None:
    claim = await kit.claim_new_job()
    await kit.store.jobs.commit(claim, "op", 0, ["{}"], taken_entries=[1])
    due = await kit.store.read_time() + 60
    assert await kit.store.jobs.release(claim, due=due)
    assert await kit.store.jobs.read_next_due() == pytest.approx(due, abs=0.001)
    assert await kit.store.jobs.claim("me", lease=10, schema=1) is None
    kit.advance(61)
    assert await kit.store.jobs.claim("me", lease=10, schema=1) is not None


async def test_a_job_with_something_in_its_inbox_is_due_at_once_when_released(kit: Kit) -> None:
    claim = await kit.claim_new_job()
    await kit.store.jobs.commit(claim, "op", 0, ["{}"], taken_entries=[1])
    assert await kit.store.jobs.signal(JOB, '{"reply":1}', dedupe=["r1"])
    assert await kit.store.jobs.claim("other", lease=10, schema=1) is None, "what comes in takes no job from its owner"
    assert await kit.store.jobs.release(claim, due=None)
    assert await kit.store.jobs.claim("other", lease=10, schema=1) is not None


async def test_who_let_go_or_lost_a_job_can_do_nothing_to_it(kit: Kit) -> None:
    claim = await kit.claim_new_job()
    assert await kit.store.jobs.release(claim, due=None)
    await _can_do_nothing(kit, claim)
    successor = await take_job(kit.store, "other")
    await _can_do_nothing(kit, claim)
    kit.advance(11)
    assert await kit.store.jobs.claim("third", lease=10, schema=1) is not None
    await _can_do_nothing(kit, successor)


async def _can_do_nothing(kit: Kit, claim: Claim) -> None:
    before = (
        await kit.store.jobs.read_head(JOB),
        await kit.store.jobs.read_log(JOB),
        await kit.store.jobs.read_inbox(JOB),
    )
    assert not await kit.store.jobs.beat(claim, lease=10)
    assert not await kit.store.jobs.release(claim, due=0)
    assert await kit.store.jobs.commit(claim, f"late {claim.epoch}", 0, ["{}"], taken_entries=[1]) is Commit.FENCED
    assert await kit.store.outbox.record_intent(claim, "answer", "o") is None
    assert not await kit.store.outbox.record_draft(claim, "answer", "1.1")
    assert not await kit.store.outbox.record_sent_message(claim, "answer", "1.1")
    assert (
        await kit.store.jobs.read_head(JOB),
        await kit.store.jobs.read_log(JOB),
        await kit.store.jobs.read_inbox(JOB),
    ) == before
    assert await kit.store.outbox.read_messages(JOB) == {}


async def test_the_same_owner_with_another_epoch_is_another_owner(kit: Kit) -> None:
    first = await kit.claim_new_job()
    kit.advance(11)
    second = await take_job(kit.store)
    forged = Claim(JOB, second.epoch, first.owner, second.expires_at)
    assert await kit.store.jobs.commit(forged, "op", 0, ["{}"]) is Commit.FENCED
    forged = Claim(JOB, first.epoch, second.owner, second.expires_at)
    assert await kit.store.jobs.commit(forged, "op", 0, ["{}"]) is Commit.FENCED


async def test_a_commit_appends_in_order_takes_from_the_inbox_and_updates_the_head(kit: Kit) -> None:
    claim = await kit.claim_new_job()
    await kit.store.jobs.signal(JOB, '{"n":2}', dedupe=["2"])
    reply = await kit.store.jobs.commit(
        claim, "a", 0, ['{"e":1}', '{"e":2}'], taken_entries=[1], fields={"state": "working"}
    )
    assert kit.ok(reply)
    assert kit.ok(await kit.store.jobs.commit(claim, "b", 2, ['{"e":3}'], fields={"step": "2"}))
    assert await kit.store.jobs.read_log(JOB) == [
        LogEntry(1, '{"e":1}'),
        LogEntry(2, '{"e":2}'),
        LogEntry(3, '{"e":3}'),
    ]
    assert await kit.store.jobs.read_log(JOB, after_seq=2) == [LogEntry(3, '{"e":3}')]
    assert await kit.store.jobs.read_inbox(JOB) == [LogEntry(2, '{"n":2}')]
    head = await read_head(kit.store)
    assert (head.seq, head.schema, head.fields) == (3, 1, {"state": "working", "step": "2"})


async def test_a_commit_is_checked_for_its_operation_then_its_token_then_its_sequence(kit: Kit) -> None:
    claim = await kit.claim_new_job()
    assert kit.ok(await kit.store.jobs.commit(claim, "a", 0, ["{}"]))
    assert await kit.store.jobs.commit(claim, "a", 0, ["{}"]) is Commit.DUP
    assert await kit.store.jobs.commit(claim, "b", 0, ["{}"]) is Commit.CONFLICT
    assert await kit.store.jobs.commit(claim, "b", 2, ["{}"]) is Commit.CONFLICT
    kit.advance(11)
    successor = await take_job(kit.store, "other")
    assert await kit.store.jobs.commit(claim, "a", 7, ["{}"]) is Commit.DUP
    assert await kit.store.jobs.commit(claim, "b", 7, ["{}"]) is Commit.FENCED
    assert await kit.store.jobs.read_log(JOB) == [LogEntry(1, "{}")]
    assert kit.ok(await kit.store.jobs.commit(successor, "b", 1, ["{}"])), "a refused operation is not remembered"


async def test_of_racing_commits_at_one_sequence_one_is_done(kit: Kit) -> None:
    claim = await kit.claim_new_job()
    stores = [kit.store, *kit.others] * 3
    replies = await asyncio.gather(
        *(store.jobs.commit(claim, f"op{n}", 0, [f'{{"n":{n}}}']) for n, store in enumerate(stores))
    )
    assert sum(kit.ok(reply) for reply in replies) == 1
    assert replies.count(Commit.CONFLICT) == 8
    assert len(await kit.store.jobs.read_log(JOB)) == 1


async def test_a_commit_may_only_take_or_only_describe(kit: Kit) -> None:
    claim = await kit.claim_new_job()
    assert kit.ok(await kit.store.jobs.commit(claim, "a", 0, [], taken_entries=[1, 99]))
    assert kit.ok(await kit.store.jobs.commit(claim, "b", 0, [], fields={"x": ""}))
    assert await kit.store.jobs.read_inbox(JOB) == []
    head = await read_head(kit.store)
    assert (head.seq, head.fields) == (0, {"x": ""})


async def test_operations_are_remembered_for_a_while(kit: Kit) -> None:
    claim = await kit.claim_new_job()
    for n in range(layout.JOB_OPERATIONS_LIMIT):
        assert kit.ok(await kit.store.jobs.commit(claim, f"op{n}", n, ["{}"]))
    assert await kit.store.jobs.commit(claim, "op0", 0, ["{}"]) is Commit.DUP


async def test_large_payloads_come_back_whole(kit: Kit) -> None:
    small, large = '{"é":"%s"}' % ("ü" * (INLINE_LIMIT // 3)), '{"é":"%s"}' % ("ü" * INLINE_LIMIT)
    await kit.store.jobs.ingest(JOB, large, dedupe=["1"])
    assert await kit.store.jobs.read_inbox(JOB) == [LogEntry(1, large)]
    claim = await take_job(kit.store)
    assert kit.ok(await kit.store.jobs.commit(claim, "op", 0, [large, small, large], taken_entries=[1]))
    assert [entry.payload for entry in await kit.store.jobs.read_log(JOB)] == [large, small, large]


async def test_what_is_too_large_is_refused_and_changes_nothing(kit: Kit) -> None:
    claim = await kit.claim_new_job()
    too_large = "x" * (EVENT_LIMIT + 1)
    with pytest.raises(PayloadTooLarge, match="event"):
        await kit.store.jobs.ingest(JOB, too_large, dedupe=["big"])
    with pytest.raises(PayloadTooLarge, match="event"):
        await kit.store.jobs.commit(claim, "big", 0, ["{}", too_large])
    with pytest.raises(PayloadTooLarge, match="file"):
        await kit.store.blobs.put(JOB, bytes(BLOB_LIMIT + 1))
    with pytest.raises(PayloadTooLarge, match="10000 events"):
        await kit.store.jobs.commit(claim, "long", LOG_LIMIT - 1, ["{}", "{}"])
    assert len(await kit.store.jobs.read_inbox(JOB)) == 1
    assert await kit.store.jobs.read_log(JOB) == []
    assert await kit.store.jobs.ingest(JOB, "{}", dedupe=["big"])


async def test_an_inbox_and_a_job_have_bounds(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout, "INBOX_LIMIT", 2)
    monkeypatch.setattr(layout, "JOB_BYTES_LIMIT", 50_000)
    monkeypatch.setattr(layout, "OUTBOX_LIMIT", 1)
    claim = await kit.claim_new_job()
    await kit.store.jobs.ingest(JOB, "{}", dedupe=[])
    with pytest.raises(PayloadTooLarge, match="new thread"):
        await kit.store.jobs.ingest(JOB, "{}", dedupe=[])
    await kit.store.blobs.put(JOB, bytes(30_000))
    with pytest.raises(PayloadTooLarge, match="new thread"):
        await kit.store.blobs.put(JOB, b"x" * 30_000)
    with pytest.raises(PayloadTooLarge, match="new thread"):
        await kit.store.jobs.commit(claim, "op", 0, ["x" * 30_000])
    assert await kit.store.jobs.read_log(JOB) == []
    assert await kit.store.outbox.record_intent(claim, "one", "o") is not None
    with pytest.raises(PayloadTooLarge, match="new thread"):
        await kit.store.outbox.record_intent(claim, "two", "o")


async def test_a_message_is_begun_by_one_operation(kit: Kit) -> None:
    claim = await kit.claim_new_job()
    first = await kit.store.outbox.record_intent(claim, "answer", "op1")
    assert first is not None
    assert (first.is_first, first.ts, first.draft_ts) == (True, "", "")
    assert first.began_at == pytest.approx(await kit.store.read_time(), abs=5)
    kit.advance(11)
    successor = await take_job(kit.store, "other")
    again = await kit.store.outbox.record_intent(successor, "answer", "op1")
    assert again == first, "the same operation is the same attempt"
    second = await kit.store.outbox.record_intent(successor, "answer", "op2")
    assert second is not None
    assert (second.is_first, second.began_at) == (False, first.began_at)
    assert await kit.store.outbox.record_draft(successor, "answer", "1.5")
    assert await kit.store.outbox.record_sent_message(successor, "answer", "1.5")
    known = (await kit.store.outbox.read_messages(JOB))["answer"]
    assert (known.is_first, known.began_at, known.ts, known.draft_ts) == (False, first.began_at, "1.5", "1.5")


async def test_a_message_sent_without_an_intent_is_recorded_too(kit: Kit) -> None:
    claim = await kit.claim_new_job()
    assert await kit.store.outbox.record_sent_message(claim, "card", "2.5")
    assert (await kit.store.outbox.read_messages(JOB))["card"].ts == "2.5"
    intent = await kit.store.outbox.record_intent(claim, "card", "op")
    assert intent is not None
    assert (intent.is_first, intent.ts) == (False, "2.5")


async def test_blobs_are_kept_beside_their_job(kit: Kit) -> None:
    data = bytes(range(256)) * 100
    digest = await kit.store.blobs.put(JOB, data)
    assert digest == hashlib.sha256(data).hexdigest()
    assert await kit.store.blobs.put(JOB, data) == digest
    assert await kit.store.blobs.get(JOB, digest) == data
    of_another_team = JobKey("T2", JOB.job)
    for key, unknown in ((OTHER_JOB, digest), (of_another_team, digest), (JOB, "0" * 64), (JOB, "size")):
        with pytest.raises(KeyError):
            await kit.store.blobs.get(key, unknown)


async def test_people_find_the_jobs_they_asked_for(kit: Kit) -> None:
    for n in range(5):
        await kit.store.jobs.ingest(JobKey("T1", f"J{n}"), "{}", dedupe=[], user="U1")
    await kit.store.jobs.ingest(JobKey("T1", "J9"), "{}", dedupe=[], user="U2")
    await kit.store.jobs.ingest(JobKey("T2", "J9"), "{}", dedupe=[], user="U1")
    await kit.store.jobs.ingest(JobKey("T1", "J1"), "{}", dedupe=[], user="U1")
    assert [head.key.job for head in await kit.store.jobs.read_heads_asked_by("T1", "U1")] == [
        "J1",
        "J4",
        "J3",
        "J2",
        "J0",
    ]
    assert [head.key.job for head in await kit.store.jobs.read_heads_asked_by("T1", "U1", limit=2)] == ["J1", "J4"]
    assert [head.key.team for head in await kit.store.jobs.read_heads_asked_by("T2", "U1")] == ["T2"]
    assert await kit.store.jobs.read_heads_asked_by("T1", "nobody") == []


async def test_a_schedule_fires_for_one_caller_only(kit: Kit) -> None:
    now = await kit.store.read_time()
    due = now - 0.123456789
    await kit.store.schedules.put("T1", "daily", '{"ask":"x"}', due)
    await kit.store.schedules.put("T1", "later", "{}", now + 60)
    assert await kit.store.schedules.list_due() == [("T1", "daily", '{"ask":"x"}', due)]
    stores = [kit.store, *kit.others] * 3
    fired = await asyncio.gather(*(store.schedules.fire("T1", "daily", due, due + 30) for store in stores))
    assert sorted(fired) == [False] * 8 + [True]
    assert await kit.store.schedules.list_due() == []
    kit.advance(31)
    assert [row[1] for row in await kit.store.schedules.list_due()] == ["daily"]
    assert await kit.store.schedules.fire("T1", "daily", due + 30, None)
    assert not await kit.store.schedules.fire("T1", "daily", due + 30, None)
    kit.advance(31)
    assert [row[1] for row in await kit.store.schedules.list_due()] == ["later"]


async def test_a_schedule_can_be_changed_switched_off_and_removed(kit: Kit) -> None:
    await kit.store.schedules.put("T1", "s", "a", 1.0)
    await kit.store.schedules.put("T1", "s", "b", 2.0)
    assert not await kit.store.schedules.fire("T1", "s", 1.0, 3.0), "somebody changed it meanwhile"
    assert await kit.store.schedules.list_due() == [("T1", "s", "b", 2.0)]
    await kit.store.schedules.put("T1", "s", "b", None)
    assert await kit.store.schedules.list_due() == []
    await kit.store.schedules.put("T1", "s", "", None)
    assert not await kit.store.schedules.fire("T1", "s", 2.0, None)
    await kit.store.schedules.put("T2", "s", "c", 5.0)
    await kit.store.schedules.put("T1", "s", "d", 4.0)
    assert await kit.store.schedules.list_due(limit=1) == [("T1", "s", "d", 4.0)]


async def test_everybody_hears_of_what_comes_in_and_of_jobs_that_are_let_go(kit: Kit) -> None:
    heard: list[JobKey] = []

    async def hears() -> bool:
        await kit.store.jobs.ingest(OTHER_JOB, "{}", dedupe=[])
        return OTHER_JOB in heard

    async def is_heard() -> bool:
        return JOB in heard

    async with hearing(kit.others[0].listen(), heard):
        await eventually(hears)
        await kit.store.jobs.ingest(JOB, "{}", dedupe=["1"])
        await eventually(is_heard)
        claim = await take_job(kit.store, preferred_job=JOB)
        heard.clear()
        await kit.store.jobs.signal(JOB, "{}", dedupe=["2"])
        await eventually(is_heard)
        heard.clear()
        await kit.store.jobs.release(claim, due=None)
        await eventually(is_heard)


async def test_names_that_could_be_confused_are_refused(kit: Kit) -> None:
    for key in (JobKey("T/1", "J"), JobKey("", "J"), JobKey("T1", "")):
        with pytest.raises(ValueError, match="not usable"):
            await kit.store.jobs.ingest(key, "{}", dedupe=[])
        with pytest.raises(ValueError, match="not usable"):
            await kit.store.blobs.put(key, b"x")


async def test_a_sound_server_has_no_faults_worse_than_a_warning(kit: Kit) -> None:
    for _ in range(2):
        assert [fault for fault in await kit.store.list_faults() if not fault.startswith("Warning")] == []


async def test_an_unknown_job_is_empty(kit: Kit) -> None:
    assert await kit.store.jobs.read_head(JOB) is None
    assert await kit.store.jobs.read_log(JOB) == []
    assert await kit.store.jobs.read_inbox(JOB) == []
    assert await kit.store.outbox.read_messages(JOB) == {}
    assert await kit.store.jobs.read_next_due() is None
    assert await kit.store.jobs.claim("me", lease=10, schema=1) is None
    assert await kit.store.jobs.claim("me", lease=10, schema=1, preferred_job=JOB) is None


async def test_what_is_remembered_is_kept_by_place_and_nobody_undoes_anothers_change(kit: Kit) -> None:
    kept, raced = kit.store.memories, [store.memories for store in (kit.store, *kit.others)]
    assert await kept.put("T1", "C1", "a", "one")
    assert await kept.put("T1", "U1", "a", "ä")
    assert not await kept.put("T1", "C1", "a", "other"), "there is one of that name"
    assert await kept.put("T1", "C1", "a", "two", old_payload="one")
    assert not await kept.put("T1", "C1", "a", "three", old_payload="one")
    assert await kept.read_place("T1", "C1") == {"a": "two"}
    assert await kept.read_place("T2", "C1") == {}
    assert await kept.read_places("T1") == {"C1", "U1"}
    changes = (each.put("T1", "U1", "a", f"by {number}", old_payload="ä") for number, each in enumerate(raced))
    assert sum(await asyncio.gather(*changes)) == 1
    assert not await kept.put("T1", "C1", "a", "", old_payload="one")
    assert await kept.put("T1", "C1", "a", "", old_payload="two")
    assert not await kept.put("T1", "C1", "a", "back", old_payload="two"), (
        "a change brings back nothing that was forgotten"
    )
    assert await kept.read_places("T1") == {"U1"}
    await asyncio.gather(*(kept.put("T1", "C2", str(number), "x") for number in range(MEMORIES_LIMIT)))
    for place, text in (("C2", "one more"), ("C3", "x" * (INLINE_LIMIT + 1))):
        with pytest.raises(PayloadTooLarge):
            await kept.put("T1", place, "more", text)
    assert len(await kept.read_place("T1", "C2")) == MEMORIES_LIMIT


async def test_a_sign_in_is_kept_for_its_team_ends_by_itself_and_is_taken_once(kit: Kit) -> None:
    kept = kit.store.sign_ins
    await kept.put("T1", "grant:a", "old")
    await kept.put("T1", "grant:a", "ä token")
    await kept.put("T1", "pending:b", "proof", seconds=0.05)
    assert await kept.read("T1", "grant:a") == "ä token"
    assert await kept.read("T2", "grant:a") == ""
    await eventually(lambda: _is_gone(kit))
    assert await kept.pop("T1", "pending:b") == ""
    assert sorted(await asyncio.gather(*(kept.pop("T1", "grant:a") for _ in range(3))))[:2] == ["", ""]
    assert await kept.read("T1", "grant:a") == ""
    with pytest.raises(PayloadTooLarge):
        await kept.put("T1", "grant:a", "x" * (INLINE_LIMIT + 1))


async def _is_gone(kit: Kit) -> bool:
    return not await kit.store.sign_ins.read("T1", "pending:b")


async def test_an_installation_is_changed_only_as_it_was_seen(kit: Kit) -> None:
    kept, raced = kit.store.installations, [store.installations for store in (kit.store, *kit.others)]
    assert await kept.put("T1", "one", old_payload="")
    assert not await kept.put("T1", "other", old_payload=""), "there is one of that name"
    assert await kept.put("E1", "ä", old_payload="")
    assert await kept.put("T1", "two", old_payload="one")
    assert not await kept.put("T1", "three", old_payload="one")
    assert (await kept.read("T1"), await kept.read("T2")) == ("two", "")
    assert await kept.read_all() == {"T1": "two", "E1": "ä"}
    changes = (each.put("E1", f"by {number}", old_payload="ä") for number, each in enumerate(raced))
    assert sum(await asyncio.gather(*changes)) == 1
    assert await kept.put("T1", "", old_payload="two")
    assert not await kept.put("T1", "back", old_payload="two"), "a change brings back nothing that was dropped"
    assert list(await kept.read_all()) == ["E1"]
    with pytest.raises(PayloadTooLarge):
        await kept.put("T3", "x" * (INLINE_LIMIT + 1), old_payload="")


async def test_the_state_of_an_installation_is_taken_once_and_ends_by_itself(kit: Kit) -> None:
    stores = [kit.store, *kit.others, kit.store]
    await kit.store.installations.put_state("a", 60)
    await kit.store.installations.put_state("b", 0.05)
    assert sorted(await asyncio.gather(*(store.installations.consume_state("a") for store in stores)))[-2:] == [
        False,
        True,
    ]
    assert not await kit.store.installations.consume_state("never issued")
    assert not await kit.store.installations.consume_state("")
    await asyncio.sleep(0.1)
    assert not await kit.store.installations.consume_state("b")


async def test_schedules_are_read_for_one_team_alone(kit: Kit) -> None:
    now, schedules = await kit.store.read_time(), kit.store.schedules
    for team, due in (("T1", now - 20), ("T2", now - 10), ("T22", now - 5)):
        await schedules.put(team, "work:U1:S1", team, due)
    assert [row[0] for row in await schedules.list_due(team="T2", kind="work:")] == ["T2"]
    assert [row[0] for row in await schedules.list_due(team="T2", kind="work:", limit=1)] == ["T2"]
    assert await schedules.read_next_due("work:", team="T2") == now - 10
    assert await schedules.read_next_due("work:", team="T3") is None
    assert len(await schedules.list_due(kind="work:")) == 3


async def test_a_team_is_forgotten_whole_and_its_neighbour_stays(kit: Kit) -> None:
    store, now = kit.store, await kit.store.read_time()
    for team in ("T1", "T11"):
        mine, idle = JobKey(team, "J1"), JobKey(team, "J2")
        await store.jobs.ingest(mine, "{}", dedupe=["e"], user="U1")
        await store.jobs.ingest(idle, "{}", dedupe=["e"], user="U1")
        await store.blobs.put(mine, b"x")
        await store.schedules.put(team, "work:U1:S1", "x", now + 60)
        await store.settings.put(team, "C1", "{}")
        await store.memories.put(team, "C1", "a", "x")
        await store.sign_ins.put(team, "grant", "x")
        await store.homes.put(team, "U1", "x")
        await store.audit.add_entry(team, "J1", f'{{"team":"{team}"}}')
    assert await store.forget_team("T1") > 8
    assert await store.jobs.read_head(JobKey("T1", "J1")) is None
    assert await store.jobs.read_heads_asked_by("T1", "U1") == []
    assert await store.schedules.list_all("T1", "") == []
    assert await store.settings.read_team("T1") == await store.memories.read_place("T1", "C1") == {}
    assert await store.memories.read_places("T1") == frozenset()
    assert await store.sign_ins.read("T1", "grant") == ""
    assert await store.homes.read_rows("T1") == {}
    assert {key.team for key in await store.jobs.list_keys_under_way(limit=50)} == {"T11"}
    assert len(await store.jobs.read_heads_asked_by("T11", "U1")) == 2
    assert await store.settings.read_team("T11") == {"C1": "{}"}
    assert await store.memories.read_place("T11", "C1") == {"a": "x"}
    assert await store.schedules.read("T11", "work:U1:S1") == ("x", now + 60)
    assert len([line async for line in store.audit.read()]) == 2, "the audit has a time of its own"
    assert await store.forget_team("T1") == 0
    with pytest.raises(ValueError, match="not usable"):
        await store.forget_team("T*")


async def test_a_store_is_opened_to_the_jobs_of_any_team(kit: Kit) -> None:
    assert await kit.store.claim_home_team("T1") == "T1"
    await kit.store.allow_any_team()
    assert await kit.store.claim_home_team("T1") == await kit.store.claim_home_team("") == ANY_TEAM


async def test_schedules_are_listed_by_kind_and_changed_only_as_they_were_seen(kit: Kit) -> None:
    now, schedules = await kit.store.read_time(), kit.store.schedules
    await schedules.put("T1", "forget:1", "x", now - 10)
    await schedules.put("T1", "work:U1:S1", "a", now - 5)
    await schedules.put("T1", "work:U2:S2", "b", now + 60)
    await schedules.put("T2", "work:U1:S3", "c", None)
    assert await schedules.list_all("T1", "work:") == [("work:U1:S1", "a", now - 5), ("work:U2:S2", "b", now + 60)]
    assert await schedules.list_all("T2", "work:U1:") == [("work:U1:S3", "c", None)]
    assert await schedules.read("T1", "work:U1:S1") == ("a", now - 5)
    assert await schedules.read("T2", "work:U1:S3") == ("c", None)
    assert await schedules.read("T2", "work:U1:S1") is None
    assert [row[1] for row in await schedules.list_due(kind="work:")] == ["work:U1:S1"]
    assert await schedules.read_next_due("work:") == now - 5
    assert await schedules.read_next_due("other:") is None
    assert await schedules.compare_and_set("T1", "work:U1:S1", "a", "a2")
    assert not await schedules.compare_and_set("T1", "work:U1:S1", "a", "a3"), "somebody changed it meanwhile"
    assert [row[1:] for row in await schedules.list_due(kind="work:")] == [("work:U1:S1", "a2", now - 5)]
    assert await schedules.compare_and_set("T1", "work:U1:S1", "a2", "a4", now + 30)
    assert await schedules.read_next_due("work:") == now + 30
    assert await schedules.compare_and_set("T1", "work:U2:S2", "b", "b2", None)
    assert not await schedules.compare_and_set("T1", "work:U1:S1", "a2", "")
    assert await schedules.compare_and_set("T1", "work:U1:S1", "a4", "")
    assert not await schedules.compare_and_set("T1", "work:U1:S1", "a4", "a5"), "it was removed"
    assert await schedules.list_all("T1", "work:") == [("work:U2:S2", "b2", None)]


async def test_jobs_that_wait_are_known_by_whom_they_wait_for(kit: Kit) -> None:
    first, second = JobKey("T1", "J1"), JobKey("T1", "J2")
    for key in (first, second):
        await kit.store.jobs.ingest(key, "{}", dedupe=[], user="U1")
    await kit.store.homes.record_waits(first, people=["U1", "S1", "*"])
    kit.advance(1)
    await kit.store.homes.record_waits(second, people=["U1", "*"])
    await kit.store.homes.record_waits(JobKey("T1", "J9"), people=["U1"])  # of which no job was ever kept

    async def list_waiting_heads(team: str, who: list[str]) -> list[Head]:
        other = kit.others[0] if kit.others else kit.store
        return await other.jobs.read_heads(await other.homes.list_waiting_jobs(team, who))

    assert [head.key.job for head in await list_waiting_heads("T1", ["U1", "S1"])] == ["J1", "J2"], (
        "who waits longest first"
    )
    assert await list_waiting_heads("T2", ["U1"]) == []
    await kit.store.homes.record_waits(first, people=["U2"], former_people=["U1", "S1", "*"])
    assert [head.key.job for head in await list_waiting_heads("T1", ["U1"])] == ["J2"]
    assert [head.key.job for head in await list_waiting_heads("T1", ["U2"])] == ["J1"]
    assert [head.key.job for head in await list_waiting_heads("T1", ["*"])] == ["J2"]


async def test_open_homes_are_known_to_all(kit: Kit) -> None:
    homes = kit.store.homes
    await homes.put("T1", "U1", "a")
    await homes.put("T1", "U2", "b")
    await homes.put("T1", "U1", "c")
    assert await homes.read_rows("T1") == {"U1": "c", "U2": "b"}
    await homes.drop("T1", ["U1"])
    await homes.drop("T1", [])
    assert await homes.read_rows("T1") == {"U2": "b"}
    assert await homes.read_rows("T2") == {}


async def test_a_persons_jobs_are_read_by_the_page_and_all_under_way_are_found(kit: Kit) -> None:
    for number in range(7):
        await kit.store.jobs.ingest(JobKey("T1", f"J{number}"), "{}", dedupe=[], user="U1")
        kit.advance(1)
    jobs = kit.store.jobs
    assert [head.key.job for head in await jobs.read_heads_asked_by("T1", "U1", limit=3, skip=2)] == ["J4", "J3", "J2"]
    assert await jobs.count_jobs_asked_by("T1", "U1") == 7
    assert await jobs.count_jobs_asked_by("T1", "U2") == 0
    claim = await jobs.claim("me", lease=60, schema=1)
    assert claim is not None
    every = await jobs.list_keys_under_way(limit=50)
    assert sorted(key.job for key in every) == [f"J{number}" for number in range(7)]
    assert len(await jobs.list_keys_under_way(limit=2)) == 2
    glances = await jobs.read_statuses([*every, JobKey("T1", "J99")])
    assert [(one.key, one.state) for one in glances] == [(key, "submitted") for key in every]
    await jobs.commit(claim, "1", 0, ["{}"], taken_entries=[1], schema=1, starts_expiry=True)
    await jobs.release(claim, due=None)
    assert claim.key not in await jobs.list_keys_under_way(limit=50)


async def test_whose_jobs_they_are_can_be_asked_by_nobody(kit: Kit) -> None:
    assert await kit.store.claim_home_team("") == ""
    assert await kit.store.claim_home_team("T1") == "T1", "who only asked took it for nobody"
    assert await kit.store.claim_home_team("") == "T1"
