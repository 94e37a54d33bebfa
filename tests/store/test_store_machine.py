"""Random histories on the server beside a model of what the store promises: the same answers, and nothing lost."""

import asyncio
import hashlib
import secrets
import time
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from bot.store.redis import layout
from bot.store.redis.layout import encode_job_key
from bot.store.redis.redis_store import Store
from bot.store.redis.script_runner import load_script
from bot.store.script import Script
from bot.store.values import Claim, Commit, JobKey, LogEntry, StoreError
from tests.store.kit import MovedClock, age

JOBS = [JobKey("T1", f"J{n}") for n in range(3)]
LEASE = 60.0
# No sum of steps comes within `MARGIN` seconds of a lease, a delay or the settling, so that real time passing changes
# nothing, also where a machine with other work stands still for some seconds.
DAYS = 5 * 86_400.0
STEPS = [24.0, 84.0, DAYS]
DELAY = 36.0
HOUR = 3600.0
SETTLES_IN = 90.0
MARGIN = 5.0
INSTANCES = ["o", "p"]
PLACES = ["lease", "newer", "due"]
"""The places of a job that can be claimed, in the order in which they are served."""


@dataclass
class Model:
    """What the interface promises of one job."""

    log: list[str] = field(default_factory=list)
    inbox: list[LogEntry] = field(default_factory=list)
    arrival_count: int = 0
    seen_marks: set[str] = field(default_factory=set)
    acknowledged_payloads: set[str] = field(default_factory=set)
    done_operations: dict[int, list[str]] = field(default_factory=dict)
    """The operations that are remembered, with what each appended."""
    forgets: bool = False
    """True once an owner has let go of it: its operations are forgotten after a while."""
    fields: dict[str, str] = field(default_factory=dict)
    schema: int = 0
    epoch: int = 0
    lost_owners: int = 0
    is_quarantined: bool = False
    due: float | None = None
    put_by: bool = False
    claim: Claim | None = None
    """The one that holds."""
    instance: str = ""
    """The instance that had the job last."""
    messages: dict[str, tuple[str, str, float]] = field(default_factory=dict)
    """Of each message the operation that began it, its id, and when it was begun."""

    def arrives(self, payload: str, now: float) -> None:
        """Something comes in."""
        self.arrival_count += 1
        self.inbox.append(LogEntry(self.arrival_count, payload))
        self.acknowledged_payloads.add(payload)
        if self.claim is None and not self.put_by and not self.is_quarantined:
            self.due = now if self.due is None else min(self.due, now)

    def let_go(self) -> None:
        """Nobody owns it any more, and only its last operations are remembered."""
        self.claim, self.forgets = None, True
        for operation in list(self.done_operations)[: -layout.OPERATIONS_AFTER_RELEASE]:
            del self.done_operations[operation]

    def place(self, now: float) -> tuple[str, float] | None:
        """Where it is ready to be claimed, and what decides there who is first."""
        if self.claim is not None:
            return ("lease", self.claim.expires_at) if self.claim.expires_at <= now else None
        if self.due is None or self.due > now:
            return None
        return ("newer", float(self.schema)) if self.put_by else ("due", self.due)


class Machine(RuleBasedStateMachine):
    """Owners that work, stall, repeat themselves and come back late, on three jobs."""

    url = ""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.server: Store = self.wait(Store.connect(self.url, prefix=f"m{secrets.token_hex(4)}", partitions=2))
        self.time = 0.0
        self.jobs = {key: Model() for key in JOBS}
        self.claims: list[Claim] = []
        """All that were ever granted."""
        self.schedule_due: float | None = None
        self.pauses = 5  # no finished job may come to its end
        self.real_time = time.time
        self.counter = 0
        self.touched_keys: set[JobKey] = set()

    def wait(self, call: Any) -> Any:
        return self.loop.run_until_complete(call)

    def tick(self) -> None:
        self.time = self.wait(self.server.read_time())

    def text(self) -> str:
        self.counter += 1
        return f'{{"n":{self.counter}}}'

    def pick(self, number: int) -> tuple[Claim, Model, bool]:
        """A claim that holds, or (by every other number, or if none does) any ever granted; and if it holds."""
        holding = [job.claim for job in self.jobs.values() if job.claim is not None]
        claims = self.claims if number % 2 == 0 or not holding else holding
        claim = claims[number % len(claims)]
        self.touched_keys.add(claim.key)
        job = self.jobs[claim.key]
        return claim, job, job.claim is not None and job.claim.owner == claim.owner

    @initialize()
    def begin(self) -> None:
        self.tick()
        for n, key in enumerate(JOBS):
            self.ingest(key, n)
            self.claim(2, None, "o")

    # What comes in ----------------------------------------------------------------------------------

    @rule(key=st.sampled_from(JOBS), event=st.integers(0, 5))
    def ingest(self, key: JobKey, event: int) -> None:
        payload, job = self.text(), self.jobs[key]
        self.touched_keys.add(key)
        dedupe, fields = f"e{event}", {"first": str(event)}
        taken = self.wait(self.server.jobs.ingest(key, payload, dedupe=[dedupe], user="U1", fields=fields))
        assert taken == (dedupe not in job.seen_marks)
        if taken:
            job.seen_marks.add(dedupe)
            job.fields = fields | job.fields
            self.tick()
            job.arrives(payload, self.time)

    @rule(key=st.sampled_from(JOBS))
    def signal(self, key: JobKey) -> None:
        payload = self.text()
        self.touched_keys.add(key)
        assert self.wait(self.server.jobs.signal(key, payload, dedupe=[payload]))
        self.tick()
        self.jobs[key].arrives(payload, self.time)

    @rule(key=st.sampled_from(JOBS))
    def release_quarantined(self, key: JobKey) -> None:
        payload, job = self.text(), self.jobs[key]
        self.touched_keys.add(key)
        assert self.wait(self.server.jobs.release_quarantined(key, payload)) == job.is_quarantined
        if job.is_quarantined:
            job.is_quarantined, job.lost_owners = False, 0
            self.tick()
            job.arrives(payload, self.time)

    @rule(key=st.sampled_from(JOBS))
    def forget_and_ask_again(self, key: JobKey) -> None:
        """All of it is gone at once, for its owner as well; what is asked for later makes a job like any other."""
        jobs, payload = self.server.jobs, self.text()
        self.touched_keys.add(key)
        before = self.wait(self.server.read_time())
        assert self.wait(jobs.forget(key, users=["U1"]))
        assert not self.wait(jobs.forget(key, users=["U1"]))
        assert self.wait(jobs.read_head(key)) is None
        assert self.wait(jobs.read_log(key)) == self.wait(jobs.read_inbox(key)) == []
        assert not self.wait(jobs.signal(key, payload, dedupe=[payload]))
        assert not self.wait(jobs.ingest(key, payload, dedupe=[payload], said_at=before))
        assert self.wait(jobs.ingest(key, payload, dedupe=[payload], said_at=self.wait(self.server.read_time()) + 1))
        self.tick()
        self.jobs[key] = Model(seen_marks=self.jobs[key].seen_marks)
        self.jobs[key].arrives(payload, self.time)

    # Time -------------------------------------------------------------------------------------------

    @rule(off=st.sampled_from([0.0, HOUR, -HOUR]))
    def set_the_machines_clock(self, off: float) -> None:
        """The worker's own clock is wrong from now on; nothing that follows may differ for it."""
        real = self.real_time
        time.time = lambda: real() + off

    @rule(seconds=st.sampled_from(STEPS))
    def pass_time(self, seconds: float) -> None:
        if seconds == DAYS and not self.pauses:
            return
        MovedClock(self.server).advance(seconds)
        if seconds == DAYS:
            self.pauses -= 1
            self.wait(age(self.server, seconds))
            for job in self.jobs.values():
                job.seen_marks.clear()
                if job.forgets:
                    job.done_operations.clear()
        self.tick()

    # Who works --------------------------------------------------------------------------------------

    @rule(
        schema=st.sampled_from([1, 1, 2, 2, 2]),
        preferred_job=st.none() | st.sampled_from(JOBS),
        name=st.sampled_from(INSTANCES),
    )
    def claim(self, schema: int, preferred_job: JobKey | None, name: str) -> None:
        # When a store puts by what is too new is open until it has nothing else to give.
        while self.claim_one(schema, preferred_job, name) and schema == 1:
            preferred_job = None

    def claim_one(self, schema: int, prefer: JobKey | None, name: str) -> bool:
        claim = self.wait(self.server.jobs.claim(name, lease=LEASE, schema=schema, preferred_job=prefer))
        self.tick()
        ready = {key: place for key, job in self.jobs.items() if (place := job.place(self.time))}
        self.touched_keys.update(ready)
        self.too_new_are_put_by(schema, [*ready], name, all_of_them=claim is None)
        fit = {key: place for key, place in ready.items() if self.jobs[key].schema <= schema}
        assert (claim is not None) == bool(fit), f"of {ready} it gives {claim}"
        if claim is None:
            return False
        key, job = claim.key, self.jobs[claim.key]
        assert key in fit, "it is not ready, or too new, or quarantined, or has a live lease"
        if prefer in fit:
            assert key == prefer
        elif schema == 2:
            assert self.rank(fit[key]) == min(map(self.rank, fit.values())), "others come first"
        job.lost_owners += fit[key][0] == "lease" and job.instance != name
        assert (claim.lost_owners, claim.epoch) == (job.lost_owners, job.epoch + 1)
        assert claim.owner.startswith(f"{name}.")
        assert claim.owner not in {earlier.owner for earlier in self.claims}
        job.epoch, job.instance, job.claim, job.due, job.put_by = claim.epoch, name, claim, None, False
        job.forgets = False
        self.claims.append(claim)
        return True

    @staticmethod
    def rank(place: tuple[str, float]) -> tuple[int, float]:
        return PLACES.index(place[0]), round(place[1], 1)

    def too_new_are_put_by(self, schema: int, ready: list[JobKey], name: str, *, all_of_them: bool) -> None:
        """A job that this instance knows nothing of leaves its lease, too."""
        for key in ready:
            job = self.jobs[key]
            if job.schema <= schema or job.put_by:
                continue
            moved = self.wait(
                self.server._server.run_command("ZSCORE", self.server._keys.list_job_keys(key)[8], encode_job_key(key))
            )
            assert moved is not None or not all_of_them, "it hides others"
            if moved is None:
                continue
            if job.claim is not None:
                job.lost_owners += job.instance != name
                job.claim, job.due = None, self.time
            job.put_by = True

    @rule(name=st.sampled_from(INSTANCES))
    def a_lease_runs_out(self, name: str) -> None:
        """Rare by chance alone, and what most of the rules of `claim` are about."""
        self.pass_time(11.0)
        self.claim(2, None, name)

    @precondition(lambda self: self.claims)
    @rule(number=st.integers(0, 20))
    def beat(self, number: int) -> None:
        claim, job, holds = self.pick(number)
        assert self.wait(self.server.jobs.beat(claim, lease=LEASE)) == holds
        self.tick()
        if holds:
            job.claim = Claim(claim.key, claim.epoch, claim.owner, self.time + LEASE)

    @precondition(lambda self: self.claims)
    @rule(
        number=st.integers(0, 20),
        due=st.sampled_from([None, 0.0, DELAY]),
        counts_as_lost=st.sampled_from([False, True, None]),
    )
    def release(self, number: int, due: float | None, counts_as_lost: bool | None) -> None:  # noqa: FBT001 - drawn by Hypothesis
        claim, job, holds = self.pick(number)
        at = None if due is None else self.server.clock() + due
        assert self.wait(self.server.jobs.release(claim, due=at, counts_as_lost=counts_as_lost)) == holds
        self.tick()
        if holds:
            job.let_go()
            job.due = self.time if job.inbox else at
            if counts_as_lost is not None:
                job.lost_owners = job.lost_owners + 1 if counts_as_lost else 0

    @precondition(lambda self: self.claims)
    @rule(number=st.integers(0, 20), schema=st.sampled_from([1, 2]))
    def quarantine(self, number: int, schema: int) -> None:
        claim, job, holds = self.pick(number)
        payload, fields = self.text(), {"last": "quarantined"}
        assert self.wait(self.server.jobs.quarantine(claim, payload, schema=schema, fields=fields)) == holds
        if holds:
            job.let_go()
            job.log.append(payload)
            job.fields |= fields
            job.schema, job.is_quarantined = max(job.schema, schema), True

    @precondition(lambda self: self.claims)
    @rule(
        number=st.integers(0, 20),
        operation=st.integers(0, 6),
        wrong=st.sampled_from([0, 0, 0, 0, 1, -1]),
        more=st.integers(0, 2),
        take=st.booleans(),
        schema=st.sampled_from([1, 1, 1, 2]),
        ends=st.booleans(),
        progress=st.booleans(),
    )
    def commit(
        self,
        number: int,
        operation: int,
        wrong: int,
        more: int,
        take: bool,  # noqa: FBT001 - drawn by Hypothesis
        schema: int,
        ends: bool,  # noqa: FBT001 - drawn by Hypothesis
        progress: bool,  # noqa: FBT001 - drawn by Hypothesis
    ) -> None:
        claim, job, holds = self.pick(number)
        waiting = list(job.inbox) if take else []
        payloads = [entry.payload for entry in waiting] + [self.text() for _ in range(more)]
        fields = {"last": str(operation)}
        reply = self.wait(
            self.server.jobs.commit(
                claim,
                f"op{operation}",
                len(job.log) + wrong,
                payloads,
                taken_entries=[entry.seq for entry in waiting],
                fields=fields,
                schema=schema,
                starts_expiry=ends,
                is_progress=progress,
            )
        )
        if operation in job.done_operations:
            assert reply is Commit.DUP
        elif not holds:
            assert reply is Commit.FENCED
        elif wrong:
            assert reply is Commit.CONFLICT
        else:
            assert reply is Commit.OK
            job.done_operations[operation] = payloads
            job.log += payloads
            job.inbox = [] if take else job.inbox
            job.fields |= fields
            job.schema = schema
            job.lost_owners = 0 if progress else job.lost_owners

    # Messages and schedules -------------------------------------------------------------------------

    @precondition(lambda self: self.claims)
    @rule(number=st.integers(0, 20), message=st.sampled_from("ab"), operation=st.sampled_from("xy"))
    def begin_message(self, number: int, message: str, operation: str) -> None:
        claim, job, holds = self.pick(number)
        intent = self.wait(self.server.outbox.record_intent(claim, message, operation))
        self.tick()
        assert (intent is not None) == holds
        if intent is not None:
            by, ts, began = job.messages.setdefault(message, (operation, "", self.time))
            assert (intent.is_first, intent.ts, intent.draft_ts) == (by == operation, ts, "")
            assert abs(intent.began_at - began) < MARGIN
            if not ts and self.time - began < SETTLES_IN:
                job.lost_owners = 0

    @precondition(lambda self: self.claims)
    @rule(number=st.integers(0, 20), message=st.sampled_from("ab"))
    def begin_message_twice(self, number: int, message: str) -> None:
        for operation in "xyx":
            self.begin_message(number, message, operation)

    @precondition(lambda self: self.claims)
    @rule(number=st.integers(0, 20), message=st.sampled_from("ab"), ts=st.sampled_from(["1.1", "2.2"]))
    def end_message(self, number: int, message: str, ts: str) -> None:
        claim, job, holds = self.pick(number)
        assert self.wait(self.server.outbox.record_sent_message(claim, message, ts)) == holds
        self.tick()
        if holds:
            by, _, began = job.messages.get(message, ("", "", self.time))
            job.messages[message] = (by, ts, began)

    @rule(due=st.sampled_from([1.0, 2.0]), following=st.sampled_from([None, 1.0, 2.0]), is_put=st.booleans())
    def schedule(self, due: float, following: float | None, is_put: bool) -> None:  # noqa: FBT001 - drawn by Hypothesis
        if is_put:
            self.wait(self.server.schedules.put("T1", "s", "payload", due))
            self.schedule_due = due
        else:
            fired = self.wait(self.server.schedules.fire("T1", "s", due, following))
            assert fired == (self.schedule_due == due)
            self.schedule_due = following if fired else self.schedule_due
        known = [] if self.schedule_due is None else [("T1", "s", "payload", self.schedule_due)]
        assert self.wait(self.server.schedules.list_due()) == known

    # The promises -----------------------------------------------------------------------------------

    @invariant()
    def the_promises_hold(self) -> None:
        """For the jobs of this step; `teardown` looks at all of them once more."""
        for key in self.touched_keys:
            self.check_events(key)
            self.check_place(key)
        self.touched_keys.clear()

    def check_events(self, key: JobKey) -> None:
        """Nothing acknowledged is lost or kept twice, and the log has no gap."""
        job = self.jobs[key]
        log, inbox = self.wait(self.server.jobs.read_log(key)), self.wait(self.server.jobs.read_inbox(key))
        assert log == [LogEntry(seq, payload) for seq, payload in enumerate(job.log, 1)]
        assert inbox == job.inbox
        kept = [entry.payload for entry in (*log, *inbox)]
        assert job.acknowledged_payloads <= set(kept)
        assert len(kept) == len(set(kept))

    def check_place(self, key: JobKey) -> None:
        """A job is owned, or due, or waits for a newer instance, or has nothing to do; and its head says so."""
        job, head = self.jobs[key], self.wait(self.server.jobs.read_head(key))
        assert head is not None
        known = head.seq, head.schema, head.epoch, head.lost_owners, head.is_quarantined, head.fields
        assert known == (len(job.log), job.schema, job.epoch, job.lost_owners, job.is_quarantined, job.fields)
        assert head.owner == (job.claim.owner if job.claim else "")
        assert (head.due is None) == (job.due is None)
        assert head.due is None or job.due is None or abs(head.due - job.due) < MARGIN
        due, lease, newer = self.wait(
            self.server._server.run_commands(
                [("ZSCORE", part, encode_job_key(key)) for part in self.server._keys.list_job_keys(key)[6:9]]
            )
        )
        assert (lease is not None) == (job.claim is not None)
        assert (newer is not None) == job.put_by
        assert (due is not None) == (job.due is not None and not job.put_by)
        assert newer is None or float(newer) == head.schema
        places = [place for place in (due, lease, newer) if place is not None]
        assert len(places) <= 1
        assert places or job.is_quarantined or not job.inbox, "work that nobody would find"
        assert not places or not job.is_quarantined
        assert abs(self.server.clock() - self.wait(self.server.read_time())) < MARGIN

    def teardown(self) -> None:
        try:
            self.touched_keys = set(JOBS)
            self.the_promises_hold()
        finally:
            time.time = self.real_time
            self.wait(self.server.close())
            self.loop.close()


def _play(url: str, examples: int, *, shrink: bool) -> None:
    phases = (Phase.generate, Phase.shrink) if shrink else (Phase.generate,)
    run_state_machine_as_test(
        type("ServerMachine", (Machine,), {"url": url}),
        settings=settings(
            max_examples=examples,
            stateful_step_count=40,
            deadline=None,
            derandomize=True,
            database=None,
            phases=phases,
            report_multiple_bugs=False,
            suppress_health_check=list(HealthCheck),
        ),
    )


@pytest.fixture(autouse=True)
def _settles_between_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """No sum of steps is that long either."""
    monkeypatch.setattr(layout, "INTENT_SECONDS", SETTLES_IN)


def test_random_histories(server_url: str) -> None:
    _play(server_url, 25, shrink=True)


@pytest.mark.parametrize(  # the guards of `commit` and of the outbox are those of tests/mutants
    ("script", "script_part", "broken"),
    [
        ("beat", "not owns(ARGV[3], ARGV[4])", "false"),
        ("release", "redis.call('XLEN', INBOX) > 0", "false"),
        ("ingest", "not redis.call('ZSCORE', LEASE, member)", "true"),
        ("claim", "{ LEASE, stamp(time) }, ", ""),
        ("claim", "place == LEASE", "false"),
        ("claim", "instance(state[3] or '') ~= instance(owner)", "true"),
        ("quarantine", "redis.call('ZREM', LEASE, member)", ""),
        ("ingest", "if quarantined then\n  fade_on()", "if false then\n  fade_on()"),
        ("claim", "redis.call('ZREM', DUE, member)\n  redis.call('ZREM', NEWER", "redis.call('ZREM', NEWER"),
    ],
)
def test_random_histories_notice_a_broken_script(
    server_url: str, monkeypatch: pytest.MonkeyPatch, script: str, script_part: str, broken: str
) -> None:
    sound = load_script(script)
    assert script_part in sound.text
    text = sound.text.replace(script_part, broken)
    mutant = Script(script, text, hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest())
    monkeypatch.setattr(
        "bot.store.redis.script_runner.load_script", lambda name: mutant if name == script else load_script(name)
    )
    with pytest.raises((AssertionError, StoreError)):
        _play(server_url, 150, shrink=False)
