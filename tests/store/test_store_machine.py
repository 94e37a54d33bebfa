"""Random histories, played on the server and on its twin side by side: same answers, and the promises hold."""

import asyncio
import hashlib
import math
import secrets
import time
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

from bot.store import bounds
from bot.store.interface import Claim, Commit, Head, JobKey, StoreError
from bot.store.memory import MemoryStore
from bot.store.redis.redis_store import RedisStore
from bot.store.script import Script, load

JOBS = [JobKey("T1", f"J{n}") for n in range(3)]
LEASE = 10.0
# No sum of steps comes within a second of a lease or a delay, so that real time passing changes nothing.
DAYS = 5 * 86_400.0
STEPS = [3.0, 11.0, 61.0, DAYS]
DELAY = 4.5
HOUR = 3600.0
SETTLES_IN = 30.5
INSTANCES = ["o", "p"]


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
        self.lost = dict.fromkeys(JOBS, 0)
        self.owners = dict.fromkeys(JOBS, "")
        """The instance that had each job last."""
        self.begun: dict[tuple[JobKey, str], float] = {}
        """When each message was begun; infinite once it is known to be there."""
        self.aside: set[JobKey] = set()
        self.let_go_of: set[JobKey] = set()
        self.pauses = 5  # no finished job may come to its end
        self.real_time = time.time
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
            self.claim(2, None, "o")

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

    @rule(off=st.sampled_from([0.0, HOUR, -HOUR]))
    def set_the_machines_clock(self, off: float) -> None:
        """The worker's own clock is wrong from now on; nothing that follows may differ for it."""
        real = self.real_time
        time.time = lambda: real() + off

    @rule(seconds=st.sampled_from(STEPS))
    def pass_time(self, seconds: float) -> None:
        if seconds == DAYS and not self.pauses:
            return
        self.server._clock.offset_ms += round(seconds * 1000)
        if seconds == DAYS:
            self.pauses -= 1
            self.wait(self.age(seconds))
            for key in self.let_go_of:
                self.done[key].clear()
        self.tick()

    async def age(self, seconds: float) -> None:
        """The server's own clock stands, so what it forgets in so many seconds is brought about."""
        server = self.server._server
        names = await server.command("KEYS", f"{self.server._keys.prefix}:*")
        lives = await server.commands([("PTTL", name) for name in names])
        left = {name: life - round(seconds * 1000) for name, life in zip(names, lives, strict=True) if life > 0}
        await server.commands([("PEXPIRE", name, life) for name, life in left.items()])

    @rule(
        schema=st.sampled_from([1, 1, 2, 2, 2]),
        prefer=st.none() | st.sampled_from(JOBS),
        name=st.sampled_from(INSTANCES),
    )
    def claim(self, schema: int, prefer: JobKey | None, name: str) -> None:
        # When a store puts by what is too new is open until it has nothing else to give.
        while self.claim_one(schema, prefer, name) and schema == 1:
            prefer = None

    def claim_one(self, schema: int, prefer: JobKey | None, name: str) -> bool:
        real = self.wait(self.server.claim(name, lease=LEASE, schema=schema, prefer=prefer))
        self.tick()
        expired = [key for key, index in self.held.items() if self.claims[index][0].expires <= self.time]
        for key in expired:
            # A job that this instance knows nothing of leaves its lease, too.
            if self.schemas[key] > schema and self.wait(self.server.head(key)).owner == "":
                del self.held[key]
                self.lost[key] += self.owners[key] != name
        self.touched.update(expired)
        # Which of several ready jobs comes first is open, so the twin is asked for the same one.
        twin = self.wait(self.twin.claim(name, lease=LEASE, schema=schema, prefer=real.key if real else prefer))
        assert (real is None) == (twin is None)
        if real is None or twin is None:
            return False
        key = real.key
        self.touched.add(key)
        assert (key, real.epoch, real.lost) == (twin.key, twin.epoch, twin.lost)
        assert key not in self.aside, "it was set aside"
        self.lost[key] += key in self.held and self.owners[key] != name
        self.owners[key] = name
        self.let_go_of.discard(key)
        assert real.lost == self.lost[key]
        assert key not in self.held or key in expired, "a live lease was taken"
        assert self.schemas[key] <= schema
        if schema == 2 and expired and prefer != key:
            assert key in expired, "an expired lease goes first"
        assert real.epoch > self.epochs[key]
        self.epochs[key] = real.epoch
        self.held[key] = len(self.claims)
        self.claims.append((real, twin))
        return True

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
    @rule(number=st.integers(0, 20), due=st.sampled_from([None, 0.0, DELAY]), lost=st.sampled_from([False, True, None]))
    def release(self, number: int, due: float | None, lost: bool | None) -> None:  # noqa: FBT001 - drawn by Hypothesis
        pair, holds = self.pick(number)
        at = None if due is None else self.server.clock() + due
        assert self.with_claim("release", pair, due=at, lost=lost) == holds
        if holds:
            self.let_go(pair[0].key)
            if lost is not None:
                self.lost[pair[0].key] = self.lost[pair[0].key] + 1 if lost else 0
            head = self.wait(self.server.head(pair[0].key))
            assert head.due is None or head.due < self.time + DELAY + 1

    def let_go(self, key: JobKey) -> None:
        del self.held[key]
        self.let_go_of.add(key)
        for operation in list(self.done[key])[: -bounds.OPERATIONS_LEFT]:
            del self.done[key][operation]

    @precondition(lambda self: self.claims)
    @rule(number=st.integers(0, 20), schema=st.sampled_from([1, 2]))
    def set_aside(self, number: int, schema: int) -> None:
        pair, holds = self.pick(number)
        key, payload = pair[0].key, self.text()
        assert self.with_claim("set_aside", pair, payload, schema=schema, fields={"last": "aside"}) == holds
        if holds:
            self.let_go(key)
            self.logs[key].append(payload)
            self.schemas[key] = max(self.schemas[key], schema)
            self.aside.add(key)

    @rule(key=st.sampled_from(JOBS))
    def reinstate(self, key: JobKey) -> None:
        payload = self.text()
        self.touched.add(key)
        if self.both("reinstate", key, payload):
            assert key in self.aside
            self.aside.discard(key)
            self.lost[key] = 0
            self.acknowledged[key].add(payload)

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
            progress=progress,
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
            self.lost[key] = 0 if progress else self.lost[key]

    @precondition(lambda self: self.claims)
    @rule(number=st.integers(0, 20), message=st.sampled_from("ab"), operation=st.sampled_from("xy"))
    def begin_message(self, number: int, message: str, operation: str) -> None:
        pair, holds = self.pick(number)
        key = pair[0].key
        real = self.wait(self.server.outbox_begin(pair[0], message, operation))
        self.tick()
        twin = self.wait(self.twin.outbox_begin(pair[1], message, operation))
        assert (real is not None) == (twin is not None) == holds
        if real is not None and twin is not None:
            assert (real.first, real.ts, real.draft_ts) == (twin.first, twin.ts, twin.draft_ts)
            if self.time - self.begun.setdefault((key, message), self.time) < SETTLES_IN:
                self.lost[key] = 0

    @precondition(lambda self: self.claims)
    @rule(number=st.integers(0, 20), message=st.sampled_from("ab"), ts=st.sampled_from(["1.1", "2.2"]))
    def end_message(self, number: int, message: str, ts: str) -> None:
        pair, holds = self.pick(number)
        assert self.with_claim("outbox_done", pair, message, ts) == holds
        if holds:
            self.begun[pair[0].key, message] = -math.inf

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
        """A job is owned, or due, or waits for a newer instance, or has nothing to do; and its head says so."""
        head, twin = self.wait(self.server.head(key)), self.wait(self.twin.head(key))
        assert head is not None
        assert _shape(head) == _shape(twin)
        name = f"{key.team}/{key.job}"
        due, lease, newer = self.wait(
            self.server._server.commands([("ZSCORE", part, name) for part in self.server._keys.of_job(key)[6:]])
        )
        assert (lease is not None) == bool(head.owner) == (key in self.held)
        places = [place for place in (due, lease, newer) if place is not None]
        assert len(places) <= 1
        assert (due is None and newer is None) == (head.due is None)
        assert newer is None or float(newer) == head.schema
        assert places or key in self.aside or not self.both("inbox", key), "work that nobody would find"
        assert not places or key not in self.aside
        assert (head.lost, head.aside) == (self.lost[key], key in self.aside)
        assert abs(self.server.clock() - self.wait(self.server.now())) < 1

    def teardown(self) -> None:
        try:
            self.touched = set(JOBS)
            self.the_promises_hold()
        finally:
            time.time = self.real_time
            self.wait(self.server.close())
            self.loop.close()


def _shape(head: Head | None) -> object:
    if head is None:
        return None
    known = head.seq, head.schema, head.epoch, head.due is None, bool(head.owner), head.lost, head.aside
    return *known, head.fields


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
    monkeypatch.setattr(bounds, "SETTLES_IN", SETTLES_IN)


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
        ("claim", "{ LEASE, stamp(time) }, ", ""),
        ("claim", "place == LEASE", "false"),
        ("claim", "instance(state[3] or '') ~= instance(owner)", "true"),
        ("release", "'_lost') or 0) + 1", "'_lost') or 0) + 0"),
        ("set_aside", "redis.call('ZREM', LEASE, member)", ""),
        ("ingest", "if aside then\n  fade_on()", "if false then\n  fade_on()"),
        ("claim", "redis.call('ZREM', DUE, member)\n  redis.call('ZREM', NEWER", "redis.call('ZREM', NEWER"),
        ("outbox_begin", "known.operation == operation", "known.operation ~= ''"),
    ],
)
def test_random_histories_notice_a_broken_script(
    server_url: str, monkeypatch: pytest.MonkeyPatch, script: str, kept: str, broken: str
) -> None:
    sound = load(script)
    assert kept in sound.text
    text = sound.text.replace(kept, broken)
    mutant = Script(script, text, hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest())
    monkeypatch.setattr("bot.store.redis.script_calls.load", lambda name: mutant if name == script else load(name))
    with pytest.raises((AssertionError, StoreError)):
        _play(server_url, 150, shrink=False)
