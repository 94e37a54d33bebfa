"""What the tests of the store share: stores whose clock can be moved, and real servers."""

import asyncio
import contextlib
import os
import secrets
import signal
import socket
import subprocess
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bot.store.embedded import find_server_program
from bot.store.redis.redis_store import Store
from bot.store.redis_server import Server
from bot.store.script import Arg, Script
from bot.store.values import Claim, Commit, Head, JobKey
from handoff import events as ev
from handoff.contracts import Place, Request
from tests.patience import patience

JOB = JobKey("T1", "J0000000001")
OTHER_JOB = JobKey("T1", "J0000000002")


class TwiceServer(Server):
    """Sends every script twice, as a client does that lost a reply, and goes on with the second answer."""

    async def run_script(
        self, script: Script, keys: Sequence[str], args: Sequence[Arg], *, durable: bool = False
    ) -> Any:
        await super().run_script(script, keys, args, durable=durable)
        return await super().run_script(script, keys, args, durable=durable)


@dataclass
class Kit:
    """A store under test. `others` are further instances of the same one."""

    store: Store
    advance: Callable[[float], None]
    repeats: bool = False
    others: list[Store] = field(default_factory=list)

    def ok(self, reply: Commit) -> bool:
        """Whether a commit was done; where each call is repeated, the repeat says DUP."""
        return reply is (Commit.DUP if self.repeats else Commit.OK)

    async def claim_new_job(self, key: JobKey = JOB, payload: str = '{"n":1}', *, lease: float = 10.0) -> Claim:
        """A new job that is owned, its one event still in the inbox."""
        assert await self.store.jobs.ingest(key, payload, dedupe=[f"first {key.job}"])
        claim = await take_job(self.store, lease=lease)
        assert claim.key == key
        return claim


async def add_request(store: Store, place: Place, user: str = "U1", *, has_fields: bool = True) -> JobKey:
    """Put a person's request into the inbox of the job of a place. `has_fields`: also the first fields of its head."""
    request = Request(id=place.thread_ts, user=user, text="do", at=store.clock())
    event = ev.RequestAdded(at=request.at, place=place, request=request)
    key = JobKey(place.team, place.job_id)
    fields = {"channel": place.channel, "thread_ts": place.thread_ts, "user": user, "title": request.text}
    assert await store.jobs.ingest(key, ev.dump_event(event), dedupe=(), user=user, fields=fields if has_fields else {})
    return key


async def take_job(store: Store, owner: str = "me", *, lease: float = 10, schema: int = 1, **more: Any) -> Claim:
    """Claim a job where one is ready."""
    claim = await store.jobs.claim(owner, lease=lease, schema=schema, **more)
    assert claim is not None
    return claim


async def read_head(store: Store, key: JobKey = JOB) -> Head:
    """The head of a job that is there."""
    head = await store.jobs.read_head(key)
    assert head is not None
    return head


@contextlib.asynccontextmanager
async def hearing(signals: AsyncIterator[Any], heard: list[Any]) -> AsyncIterator[None]:
    """Collect what is heard, until the end of the block."""

    async def listen() -> None:
        async for one in signals:
            heard.append(one)  # noqa: PERF401 - a comprehension would show nothing before its end

    task = asyncio.create_task(listen())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def read_entries(store: Store, name: bytes) -> list[tuple[str, bytes]]:
    """Read the entries of a key of any kind, each with what names it within the key."""
    server = store._server
    kind = await server.run_command("TYPE", name)
    if kind == b"hash":
        rows = await server.run_command("HGETALL", name)
        return [(field.decode("utf-8", "replace"), value) for field, value in rows.items()]
    if kind == b"stream":
        rows = await server.run_command("XRANGE", name, "-", "+")
        return [(seq.decode(), b" ".join(fields.values())) for seq, fields in rows]
    read = {b"zset": ("ZRANGE", name, 0, -1), b"list": ("LRANGE", name, 0, -1), b"set": ("SMEMBERS", name)}.get(kind)
    if read is not None:
        return [("", member) for member in await server.run_command(*read)]
    value = await server.run_command("GET", name) if kind == b"string" else b""
    return [("", value or b"")]


class MovedClock:
    """The clock of one store, moved on by tests."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @property
    def seconds_ahead(self) -> float:
        """Seconds that it is ahead of the server's."""
        return self._store._clock.offset_ms / 1000

    def advance(self, seconds: float) -> None:
        self._store._clock.offset_ms += round(seconds * 1000)


async def age(store: Store, seconds: float) -> None:
    """Bring about what the server forgets in so many seconds, its own clock standing still."""
    names = await store._server.run_command("KEYS", f"{store._keys.prefix}:*")
    lives = await store._server.run_commands([("PTTL", name) for name in names])
    left = {name: life - round(seconds * 1000) for name, life in zip(names, lives, strict=True) if life > 0}
    await store._server.run_commands([("PEXPIRE", name, life) for name, life in left.items()])


async def fresh_store(url: str, **options: Any) -> Store:
    """An empty store on a server: its prefix is its own."""
    return await Store.connect(url, prefix=f"t{secrets.token_hex(4)}", **options)


@contextlib.asynccontextmanager
async def open_store(url: str, **options: Any) -> AsyncIterator[Store]:
    """The same, until the end of the block."""
    store = await fresh_store(url, **options)
    try:
        yield store
    finally:
        await store.close()


async def redis_kit(url: str, *, repeats: bool = False, instances: int = 3, **options: Any) -> Kit:
    """A store on a server, under a prefix of its own."""
    prefix = f"t{secrets.token_hex(4)}"
    timeout = patience(4.0)  # a server that shares two busy cores is slow, not away
    stores = [await Store.connect(url, prefix=prefix, timeout=timeout, **options) for _ in range(instances)]
    if repeats:
        for store in stores:
            await store.close()
        stores = [Store(TwiceServer(url, timeout), prefix=prefix, **options) for _ in stores]
        for store in stores:
            await store.read_time()

    def advance(seconds: float) -> None:
        for store in stores:
            store._clock.offset_ms += round(seconds * 1000)

    return Kit(stores[0], advance, repeats=repeats, others=list(stores[1:] or stores * 2))


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@contextlib.contextmanager
def tcp_server(folder: Path, *settings: str, port: int | None = None) -> Iterator[int]:
    """A server on a port of the loopback; yields the port once it listens."""
    port = port or free_port()
    folder.mkdir(parents=True, exist_ok=True)
    command = [str(find_server_program()), *settings, "--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder)]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)
    try:
        until(lambda: listens(port), f"no server on {port}: {(folder / 'log').read_text()[-500:]}")
        yield port
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def ask(port: int, *words: str) -> bytes:
    """One command to a server on the loopback, and the start of its reply."""
    with socket.create_connection(("127.0.0.1", port), timeout=patience()) as connection:
        parts = b"".join(b"$%d\r\n%s\r\n" % (len(word.encode()), word.encode()) for word in words)
        connection.sendall(b"*%d\r\n%s" % (len(words), parts))
        return connection.recv(65536)


def until(condition: Callable[[], bool], fault: str) -> None:
    deadline = time.monotonic() + patience()
    while not condition():
        assert time.monotonic() < deadline, fault
        time.sleep(0.01)


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that ended and that nobody asked after counts as gone."""
    try:
        os.kill(pid, 0)
        return " Z " not in Path(f"/proc/{pid}/stat").read_text()
    except (ProcessLookupError, FileNotFoundError):
        return False
