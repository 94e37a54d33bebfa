"""Random histories, played on the server and on its twin side by side: same answers, and the promises hold."""

import asyncio
import hashlib
import secrets
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

from handoff.store.interface import Claim, Commit, Head, JobKey, StoreError
from handoff.store.memory import MemoryStore
from handoff.store.redis import RedisStore
from handoff.store.script import Script, load

JOBS = [JobKey("T1", f"J{n}") for n in range(3)]
LEASE = 10.0
# No sum of steps comes within a second of a lease or a delay, so that real time passing changes nothing.
STEPS = [3.0, 11.0, 61.0]
DELAY = 4.5


class Machine(RuleBasedStateMachine):
    """Owners that work, stall, repeat themselves and come back late, on three jobs."""

    url = ""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.server: RedisStore = self.wait(
            RedisStore.connect(self.url, prefix=f"m{secrets.token_hex(4)}", partitions=2)
        )
        self.time = 0.0
        self.twin = MemoryStore(clock=lambda: self.time)
        self.claims: list[tuple[Claim, Claim]] = []
        self.held: dict[JobKey, int] = {}
        """The index in `claims` of each job's owner."""
        self.acknowledged: dict[JobKey, set[str]] = {key: set() for key in JOBS}
        self.done: dict[JobKey, dict[int, list[str]]] = {key: {} for key in JOBS}
        self.logs: dict[JobKey, list[str]] = {key: [] for key in JOBS}
        self.epochs = dict.fromkeys(JOBS, 0)
        self.schemas = dict.fromkeys(JOBS, 0)
        self.counter = 0
        self.touched: set[JobKey] = set()

    def wait(self, call: Any) -> Any:
        return self.loop.run_until_complete(call)

    def both(self, name: str, *args: Any, **options: Any) -> Any:
        """The answer of both stores, which must agree."""
        real = self.wait(getattr(self.server, name)(*args, **options))
        self.tick()
        twin = self.wait(getattr(self.twin, name)(*args, **options))
        assert real == twin, f"{name}{args}: the server says {real}, its twin {twin}"
        return real

    def with_claim(self, name: str, pair: tuple[Claim, Claim], *args: Any, **options: Any) -> Any:
        real = self.wait(getattr(self.server, name)(pair[0], *args, **options))
        self.tick()
        twin = self.wait(getattr(self.twin, name)(pair[1], *args, **options))
        assert real == twin, f"{name}{args}: the server says {real}, its twin {twin}"
        return real

    def tick(self) -> None:
        self.time = self.wait(self.server.now())

    def text(self) -> str:
        self.counter += 1
        return f'{{"n":{self.counter}}}'

    def pick(self, number: int) -> tuple[tuple[Claim, Claim], bool]:
        """A claim that holds, or (by every other number, or where none does) any ever granted; and whether it holds."""
        holding = sorted(self.held.values())
        index = number % len(self.claims) if number % 2 == 0 or not holding else holding[number % len(holding)]
        pair = self.claims[index]
        self.touched.add(pair[0].key)
        return pair, self.held.get(pair[0].key) == index

    @initialize()
    def begin(self) -> None:
        self.tick()
        for n, key in enumerate(JOBS):
            self.ingest(key, n)
            self.claim(2, None)

    @rule(key=st.sampled_from(JOBS), event=st.integers(0, 5))
    def ingest(self, key: JobKey, event: int) -> None:
        payload = self.text()
        self.touched.add(key)
        if self.both("ingest", key, payload, dedupe=[f"e{event}"], user="U1", fields={"first": str(event)}):
            self.acknowledged[key].add(payload)

    @rule(key=st.sampled_from(JOBS))
    def signal(self, key: JobKey) -> None:
        payload = self.text()
        self.touched.add(key)
        if self.both("signal", key, payload, dedupe=[payload]):
            self.acknowledged[key].add(payload)

    @rule(seconds=st.sampled_from(STEPS))
    def pass_time(self, seconds: float) -> None:
        self.server.clock_offset_ms += round(seconds * 1000)
        self.tick()

    @rule(schema=st.sampled_from([1, 2, 2, 2]), prefer=st.none() | st.sampled_from(JOBS))
    def claim(self, schema: int, prefer: JobKey | None) -> None:
        real = self.wait(self.server.claim("o", lease=LEASE, schema=schema, prefer=prefer))
        self.tick()
        expired = [key for key, index in self.held.items() if self.claims[index][0].expires <= self.time]
        # Which of several ready jobs comes first is open, so the twin is asked for the same one.
        twin = self.wait(self.twin.claim("o", lease=LEASE, schema=schema, prefer=real.key if real else None))
        assert (real is None) == (twin is None)
        if real is None or twin is None:
            return
        key = real.key
        self.touched.add(key)
        assert (key, real.epoch) == (twin.key, twin.epoch)
        assert key not in self.held or key in expired, "a live lease was taken"
        assert self.schemas[key] <= schema
        if schema == 2 and expired and prefer != key:
            assert key in expired, "an expired lease goes first"
        assert real.epoch > self.epochs[key]
        self.epochs[key] = real.epoch
        self.held[key] = len(self.claims)
        self.claims.append((real, twin))

    @precondition(lambda self: self.claims)
    @rule(number=st.integers(0, 20))
    def beat(self, number: int) -> None:
        pair, holds = self.pick(number)
        assert self.with_claim("beat", pair, lease=LEASE) == holds
        if holds:
            expires = self.time + LEASE
            self.claims[self.held[pair[0].key]] = tuple(  # type: ignore[assignment]
                Claim(claim.key, claim.epoch, claim.owner, expires) for claim in pair
            )

    @precondition(lambda self: self.claims)
    @rule(number=st.integers(0, 20), due=st.sampled_from([None, 0.0, DELAY]))
    def release(self, number: int, due: float | None) -> None:
        pair, holds = self.pick(number)
        at = None if due is None else self.time + due
        assert self.with_claim("release", pair, due=at) == holds
        if holds:
            del self.held[pair[0].key]

    @precondition(lambda self: self.claims)
    @rule(
        number=st.integers(0, 20),
        operation=st.integers(0, 6),
        wrong=st.sampled_from([0, 0, 0, 0, 1, -1]),
        more=st.integers(0, 2),
        take=st.booleans(),
        schema=st.sampled_from([1, 1, 1, 2]),
        ends=st.booleans(),
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
    ) -> None:
        pair, holds = self.pick(number)
        key = pair[0].key
        waiting = self.wait(self.server.inbox(key)) if take else []
        payloads = [entry.payload for entry in waiting] + [self.text() for _ in range(more)]
        expected = len(self.logs[key]) + wrong
        reply = self.with_claim(
            "commit",
            pair,
            f"op{operation}",
            expected,
            payloads,
            taken=[entry.seq for entry in waiting],
            fields={"last": str(operation)},
            schema=schema,
            ends=ends,
        )
        if operation in self.done[key]:
            assert reply is Commit.DUP
        elif not holds:
            assert reply is Commit.FENCED
        elif wrong:
            assert reply is Commit.CONFLICT
        else:
            assert reply is Commit.OK
            self.done[key][operation] = payloads
            self.logs[key] += payloads
            self.schemas[key] = schema

    @precondition(lambda self: self.claims)
    @rule(number=st.integers(0, 20), message=st.sampled_from("ab"), operation=st.sampled_from("xy"))
    def begin_message(self, number: int, message: str, operation: str) -> None:
        pair, holds = self.pick(number)
        real = self.wait(self.server.outbox_begin(pair[0], message, operation))
        twin = self.wait(self.twin.outbox_begin(pair[1], message, operation))
        assert (real is not None) == (twin is not None) == holds
        if real is not None and twin is not None:
            assert (real.first, real.ts, real.draft_ts) == (twin.first, twin.ts, twin.draft_ts)

    @precondition(lambda self: self.claims)
    @rule(number=st.integers(0, 20), message=st.sampled_from("ab"), ts=st.sampled_from(["1.1", "2.2"]))
    def end_message(self, number: int, message: str, ts: str) -> None:
        pair, holds = self.pick(number)
        assert self.with_claim("outbox_done", pair, message, ts) == holds

    @rule(due=st.sampled_from([1.0, 2.0]), following=st.sampled_from([None, 1.0, 2.0]), put=st.booleans())
    def schedule(self, due: float, following: float | None, put: bool) -> None:  # noqa: FBT001 - drawn by Hypothesis
        if put:
            self.both("put_schedule", "T1", "s", "payload", due)
        else:
            self.both("fire_schedule", "T1", "s", due, following)
        self.both("due_schedules")

    @invariant()
    def the_promises_hold(self) -> None:
        """For the jobs of this step; `teardown` looks at all of them once more."""
        for key in self.touched:
            self.check_events(key)
            self.check_place(key)
        self.touched.clear()

    def check_events(self, key: JobKey) -> None:
        """Nothing acknowledged is lost or kept twice, and the log has no gap."""
        log, inbox = self.both("log", key), self.both("inbox", key)
        assert [entry.seq for entry in log] == list(range(1, len(log) + 1))
        assert [entry.payload for entry in log] == self.logs[key]
        kept = [entry.payload for entry in (*log, *inbox)]
        assert self.acknowledged[key] <= set(kept)
        assert len(kept) == len(set(kept))

    def check_place(self, key: JobKey) -> None:
        """A job is owned, or due, or has nothing to do; and its head says so."""
        head, twin = self.wait(self.server.head(key)), self.wait(self.twin.head(key))
        assert head is not None
        assert _shape(head) == _shape(twin)
        name = f"{key.team}/{key.job}"
        due, lease = self.wait(
            self.server._server.commands([("ZSCORE", part, name) for part in self.server._keys(key)[6:]])
        )
        assert (lease is not None) == bool(head.owner) == (key in self.held)
        assert (due is None) == (head.due is None)
        assert lease is None or due is None
        assert lease is not None or due is not None or not self.both("inbox", key), "work that nobody would find"

    def teardown(self) -> None:
        try:
            self.touched = set(JOBS)
            self.the_promises_hold()
        finally:
            self.wait(self.server.close())
            self.loop.close()


def _shape(head: Head | None) -> object:
    if head is None:
        return None
    return head.seq, head.schema, head.epoch, head.due is None, bool(head.owner), head.fields


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
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_random_histories(server_url: str) -> None:
    _play(server_url, 25, shrink=True)


@pytest.mark.parametrize(
    ("script", "kept", "broken"),
    [
        ("commit", "state[1] ~= ARGV[3] or state[2] ~= ARGV[4]", "false"),
        ("commit", "tonumber(state[3]) ~= expected", "false"),
        ("commit", "redis.call('ZSCORE', OPS, operation)", "false"),
        ("beat", "not owns(ARGV[3], ARGV[4])", "false"),
        ("release", "redis.call('XLEN', INBOX) > 0", "false"),
        ("ingest", "not redis.call('ZSCORE', LEASE, member)", "true"),
        ("claim", "ipairs({ LEASE, DUE })", "ipairs({ DUE })"),
        ("claim", "redis.call('ZREM', DUE, member)\n  redis.call('ZADD'", "redis.call('ZADD'"),
        ("outbox_begin", "record).operation == operation", "record).operation ~= ''"),
    ],
)
def test_random_histories_notice_a_broken_script(
    server_url: str, monkeypatch: pytest.MonkeyPatch, script: str, kept: str, broken: str
) -> None:
    sound = load(script)
    assert kept in sound.text
    text = sound.text.replace(kept, broken)
    mutant = Script(script, text, hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest())
    monkeypatch.setattr("handoff.store.redis.load", lambda name: mutant if name == script else load(name))
    with pytest.raises((AssertionError, StoreError)):
        _play(server_url, 40, shrink=False)
