"""Owners that were lost, jobs quarantined for it, and jobs that are too new: the same for every store."""

import secrets

import pytest

from bot.store.redis import layout
from bot.store.values import Claim, Commit, JobKey, LogEntry
from tests.store.kit import JOB, OTHER_JOB, Kit, read_head, take_job


async def taken_over(kit: Kit, *, lease: float = 10) -> Claim:
    """The job, claimed by another instance after the lease of its owner ran out."""
    kit.advance(lease + 1)
    return await take_job(kit.store, f"next{secrets.token_hex(2)}", lease=lease)


async def count_lost_owners(kit: Kit, key: JobKey = JOB) -> int:
    head = await read_head(kit.store, key)
    return head.lost_owners


async def test_owners_count_as_lost_whose_lease_ran_out_without_progress(kit: Kit) -> None:
    claim = await kit.claim_new_job()
    assert (claim.lost_owners, await count_lost_owners(kit)) == (0, 0)
    for count in (1, 2, 3):
        claim = await taken_over(kit)
        assert (claim.lost_owners, await count_lost_owners(kit)) == (count, count)
        operation = f"taken over {count}"
        assert kit.ok(await kit.store.jobs.commit(claim, operation, count - 1, ["{}"], is_progress=False))
        assert await count_lost_owners(kit) == count, "to say that it was taken over is no progress"
    assert kit.ok(await kit.store.jobs.commit(claim, "progress", 3, ["{}"]))
    assert await count_lost_owners(kit) == 0
    assert (await taken_over(kit)).lost_owners == 1


async def test_a_message_about_lost_owners_is_no_progress(kit: Kit) -> None:
    await kit.claim_new_job()
    claim = await taken_over(kit)
    for operation in ("first", "second"):  # to record the intent, and to find it in doubt
        assert await kit.store.outbox.record_intent(claim, "trial:1", operation, is_progress=False)
        assert await count_lost_owners(kit) == 1
    assert await kit.store.outbox.record_intent(claim, "trial:1", "third")
    assert await count_lost_owners(kit) == 0


async def test_a_job_that_was_let_go_of_lost_no_owner(kit: Kit) -> None:
    await kit.claim_new_job()
    claim = await taken_over(kit)
    assert await kit.store.jobs.release(claim, due=0)
    assert await count_lost_owners(kit) == 0
    again = await take_job(kit.store)
    assert again.lost_owners == 0


async def test_a_job_let_go_of_in_the_middle_of_its_work_goes_on_counting(kit: Kit) -> None:
    await kit.claim_new_job()
    claim = await taken_over(kit)
    assert await kit.store.jobs.release(claim, due=0, counts_as_lost=None)
    again = await take_job(kit.store)
    assert again.lost_owners == await count_lost_owners(kit) == 1
    assert (await taken_over(kit)).lost_owners == 2


async def test_an_instance_that_takes_up_its_own_job_again_lost_nobody(kit: Kit) -> None:
    await kit.claim_new_job()
    kit.advance(11)
    again = await take_job(kit.store)
    assert again.lost_owners == await count_lost_owners(kit) == 0


async def test_an_owner_whose_work_broke_counts_as_lost_at_once(kit: Kit) -> None:
    claim = await kit.claim_new_job()
    for count in (1, 2):
        assert await kit.store.jobs.release(claim, due=0, counts_as_lost=True)
        again = await take_job(kit.store)
        assert again.lost_owners == await count_lost_owners(kit) == count
        claim = again


async def test_to_see_to_a_young_message_is_progress(kit: Kit) -> None:
    claim = await kit.claim_new_job()
    assert await kit.store.outbox.record_intent(claim, "card", "first")
    claim = await taken_over(kit)
    assert await kit.store.outbox.record_intent(claim, "card", "second")
    assert await count_lost_owners(kit) == 0, "it is not known yet whether it was sent"
    claim = await taken_over(kit, lease=layout.INTENT_SECONDS)
    assert await kit.store.outbox.record_intent(claim, "card", "third")
    assert await count_lost_owners(kit) == 1, "that should be known by now"
    assert await kit.store.outbox.record_intent(claim, "answer", "third")
    assert await count_lost_owners(kit) == 0


async def test_an_owner_that_renews_late_is_not_lost(kit: Kit) -> None:
    claim = await kit.claim_new_job()
    kit.advance(15)
    assert await kit.store.jobs.beat(claim, lease=10)
    assert await count_lost_owners(kit) == 0


async def test_a_refused_commit_is_no_progress(kit: Kit) -> None:
    first = await kit.claim_new_job()
    assert kit.ok(await kit.store.jobs.commit(first, "a", 0, ["{}"]))
    second = await taken_over(kit)
    assert await kit.store.jobs.commit(first, "b", 1, ["{}"]) is Commit.FENCED
    assert await kit.store.jobs.commit(second, "a", 1, ["{}"]) is Commit.DUP
    assert await kit.store.jobs.commit(second, "c", 7, ["{}"]) is Commit.CONFLICT
    assert await count_lost_owners(kit) == 1


async def test_a_job_set_aside_is_given_to_nobody(kit: Kit) -> None:
    claim = await kit.claim_new_job()
    assert kit.ok(await kit.store.jobs.commit(claim, "a", 0, ["{}"], taken_entries=[1], fields={"state": "working"}))
    assert await kit.store.jobs.quarantine(claim, '{"why":1}', schema=2, fields={"state": "quarantined"})
    head = await read_head(kit.store)
    assert (head.is_quarantined, head.owner, head.due, head.seq, head.schema) == (True, "", None, 2, 2)
    assert head.fields == {"state": "quarantined"}
    assert await kit.store.jobs.read_log(JOB) == [LogEntry(1, "{}"), LogEntry(2, '{"why":1}')]
    assert await kit.store.jobs.ingest(JOB, '{"n":2}', dedupe=["2"])
    assert await kit.store.jobs.signal(JOB, '{"n":3}', dedupe=["3"])
    assert [entry.payload for entry in await kit.store.jobs.read_inbox(JOB)] == ['{"n":2}', '{"n":3}']
    assert await kit.store.jobs.read_next_due() is None
    kit.advance(100)
    for prefer in (None, JOB):
        assert await kit.store.jobs.claim("me", lease=10, schema=9, preferred_job=prefer) is None


async def test_the_schema_of_a_job_set_aside_never_falls(kit: Kit) -> None:
    claim = await kit.claim_new_job()
    assert kit.ok(await kit.store.jobs.commit(claim, "a", 0, ["{}"], schema=3))
    assert await kit.store.jobs.quarantine(claim, "{}", schema=2)
    head = await read_head(kit.store)
    assert head.schema == 3


async def test_only_its_owner_sets_a_job_aside_and_that_ends_the_claim(kit: Kit) -> None:
    first = await kit.claim_new_job()
    second = await taken_over(kit)
    before = await kit.store.jobs.read_head(JOB)
    assert not await kit.store.jobs.quarantine(first, "{}", schema=9)
    assert await kit.store.jobs.read_head(JOB) == before
    assert await kit.store.jobs.quarantine(second, "{}", schema=1)
    assert not await kit.store.jobs.quarantine(second, "{}", schema=1), "another operation, not its repeat"
    assert not await kit.store.jobs.beat(second, lease=10)
    assert not await kit.store.jobs.release(second, due=0)
    assert await kit.store.jobs.commit(second, "late", 1, ["{}"]) is Commit.FENCED
    assert await kit.store.outbox.record_intent(second, "m", "o") is None
    assert len(await kit.store.jobs.read_log(JOB)) == 1
    with pytest.raises(ValueError, match="underscore"):
        await kit.store.jobs.quarantine(second, "{}", schema=1, fields={"_aside": ""})


async def test_a_job_set_aside_is_reinstated_once(kit: Kit) -> None:
    await kit.claim_new_job()
    assert not await kit.store.jobs.release_quarantined(JOB, "{}")
    claim = await taken_over(kit)
    assert await kit.store.jobs.quarantine(claim, "{}", schema=1)
    assert await count_lost_owners(kit) == 1
    assert await kit.store.jobs.release_quarantined(JOB, '{"released":1}')
    assert not await kit.store.jobs.release_quarantined(JOB, '{"released":2}')
    head = await read_head(kit.store)
    assert (head.is_quarantined, head.lost_owners) == (False, 0)
    assert head.due is not None
    again = await take_job(kit.store)
    assert (again.key, again.lost_owners) == (JOB, 0)
    assert [entry.payload for entry in await kit.store.jobs.read_inbox(JOB)] == ['{"n":1}', '{"released":1}']
    assert kit.ok(await kit.store.jobs.commit(again, "on", 1, ["{}", "{}"], taken_entries=[1, 2]))
    assert not await kit.store.jobs.release_quarantined(OTHER_JOB, "{}"), "there is no such job"
    assert await kit.store.jobs.read_head(OTHER_JOB) is None


async def test_a_job_with_a_full_inbox_can_be_released(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout, "INBOX_LIMIT", 1)
    claim = await kit.claim_new_job()
    assert await kit.store.jobs.quarantine(claim, "{}", schema=1)
    assert await kit.store.jobs.release_quarantined(JOB, "{}")
    assert len(await kit.store.jobs.read_inbox(JOB)) == 2


async def newer(kit: Kit, count: int) -> list[JobKey]:
    """So many jobs, half with expired leases and half due, that only schema 2 can read."""
    keys = [JobKey("T1", f"N{n}") for n in range(count)]
    for n, key in enumerate(keys):
        await kit.store.jobs.ingest(key, "{}", dedupe=[])
        claim = await take_job(kit.store, "new", schema=2, preferred_job=key)
        assert kit.ok(await kit.store.jobs.commit(claim, "op", 0, ["{}"], taken_entries=[1], schema=2))
        if n % 2:
            assert await kit.store.jobs.release(claim, due=0)
    kit.advance(11)
    return keys


async def test_newer_jobs_hide_no_older_one_and_wake_nobody(kit: Kit) -> None:
    keys = await newer(kit, 6)
    await kit.store.jobs.ingest(JOB, "{}", dedupe=[])
    claim = await take_job(kit.store, "old")
    assert claim.key == JOB
    assert kit.ok(await kit.store.jobs.commit(claim, "op", 0, ["{}"], taken_entries=[1]))
    assert await kit.store.jobs.release(claim, due=kit.store.clock() + 50)
    assert await kit.store.jobs.claim("old", lease=10, schema=1) is None
    due = await kit.store.jobs.read_next_due()
    assert due is not None
    assert due > await kit.store.read_time() + 40, "nothing is left for an older instance to look at"
    for key in keys:
        head = await read_head(kit.store, key)
        assert (head.owner, head.lost_owners) == ("", 1 - int(key.job[1:]) % 2), "an owner counts as lost all the same"


async def test_newer_jobs_are_there_at_once_for_who_knows_them(kit: Kit) -> None:
    keys = await newer(kit, 6)
    assert await kit.store.jobs.claim("old", lease=10, schema=1, preferred_job=keys[5]) is None
    preferred = await take_job(kit.store, "new", schema=2, preferred_job=keys[4])
    assert (preferred.key, preferred.lost_owners) == (keys[4], 1)
    claims = [await kit.store.jobs.claim("new", lease=10, schema=3) for _ in keys[1:]]
    assert {claim.key for claim in claims if claim} == set(keys) - {keys[4]}
    assert await kit.store.jobs.claim("new", lease=10, schema=2) is None


async def test_what_comes_in_for_a_newer_job_waits_for_who_knows_it(kit: Kit) -> None:
    (key,) = await newer(kit, 1)
    assert await kit.store.jobs.claim("old", lease=10, schema=1) is None
    assert await kit.store.jobs.signal(key, "{}", dedupe=["click"])
    assert await kit.store.jobs.read_next_due() is None
    assert await kit.store.jobs.claim("old", lease=10, schema=1, preferred_job=key) is None
    await take_job(kit.store, "new", schema=2)
    assert len(await kit.store.jobs.read_inbox(key)) == 1


async def test_a_late_owner_of_a_newer_job_that_was_put_by_is_fenced(kit: Kit) -> None:
    claim = await kit.claim_new_job()
    assert kit.ok(await kit.store.jobs.commit(claim, "op", 0, ["{}"], schema=2))
    kit.advance(11)
    assert await kit.store.jobs.claim("old", lease=10, schema=1) is None
    assert not await kit.store.jobs.beat(claim, lease=10)
    assert await kit.store.jobs.commit(claim, "late", 1, ["{}"], schema=2) is Commit.FENCED


async def test_the_clock_is_the_stores_own(kit: Kit) -> None:
    assert abs(kit.store.clock() - await kit.store.read_time()) < 1
    kit.advance(3600)
    assert abs(kit.store.clock() - await kit.store.read_time()) < 1


async def test_there_is_room(kit: Kit) -> None:
    assert await kit.store.explain_fullness() == ""
