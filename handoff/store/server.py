"""The connection to a server: runs scripts and commands, and turns every error into a `StoreError`."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, TypeVar

from redis.asyncio import Redis, RedisCluster
from redis.asyncio.sentinel import SentinelConnectionPool
from redis.exceptions import NoScriptError, RedisClusterException, RedisError
from redis.exceptions import TimeoutError as Silence

from handoff.store.address import CONNECTIONS, RETRIES, client, parse
from handoff.store.faults import Fault, describe, examine, explain
from handoff.store.interface import StoreError
from handoff.store.script import Script

T = TypeVar("T")
Arg = str | bytes | int | float
BROKEN = (RedisError, RedisClusterException, OSError)


class Server:
    """One server, Sentinel or Cluster behind a URL. Not connected until it is used.

    Args:
        url: See `handoff.store.address`.
        timeout: Seconds of silence after which a call is given up.
    """

    def __init__(self, url: str, timeout: float) -> None:
        self._address = parse(url)
        self._client = client(self._address, timeout)
        self._timeout = timeout
        self._room = asyncio.Semaphore(CONNECTIONS)

    @property
    def is_cluster(self) -> bool:
        """Whether a script may touch one slot only."""
        return self._address.mode == "cluster"

    async def run(self, script: Script, keys: Sequence[str], args: Sequence[Arg]) -> Any:
        """Run a script by its sha1, sending its text only to a server that does not know it."""

        async def call() -> Any:
            try:
                return await self._client.execute_command("EVALSHA", script.sha, len(keys), *keys, *args)
            except NoScriptError:
                return await self._client.execute_command("EVAL", script.text, len(keys), *keys, *args)

        return await self._guard(call)

    async def command(self, *args: Arg) -> Any:
        """Run one command."""
        return await self._guard(lambda: self._client.execute_command(*args))

    async def commands(self, several: Sequence[tuple[Arg, ...]]) -> list[Any]:
        """Run commands that do not depend on each other, in one round trip for each node."""

        async def call() -> Any:
            pipeline = self._client.pipeline(transaction=False)
            for args in several:
                pipeline.execute_command(*args)
            return await pipeline.execute()

        return list(await self._guard(call))

    async def _guard(self, call: Callable[[], Awaitable[Any]]) -> Any:
        try:
            async with self._room:
                return await cancellable(call() if self.is_cluster else self._answered(call))
        except BROKEN as error:
            raise explain(error, self._address.shown) from error

    async def _answered(self, call: Callable[[], Awaitable[Any]]) -> Any:
        """Make a call, and again where the server stays silent, as the client does where a connection breaks."""
        for _ in range(1 + RETRIES):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._timeout):
                    return await call()
        raise Silence(f"no answer within {self._timeout:g} s")

    async def listen(self, channel: str) -> AsyncIterator[bytes]:
        """Messages of a channel. Connects again by itself; what is sent meanwhile is missed."""
        pause = 0.05
        while True:
            listener = self._client.pubsub(ignore_subscribe_messages=True)
            try:
                async with asyncio.timeout(self._timeout):
                    await cancellable(listener.subscribe(channel))
                while True:
                    # Shorter than the socket's own timeout, which would look like a lost connection.
                    message = await cancellable(listener.get_message(timeout=self._timeout / 2))
                    pause = 0.05
                    if message is not None:
                        yield message["data"]
            except BROKEN:
                await asyncio.sleep(pause)
                pause = min(2 * pause, 1.0)
            finally:
                await listener.aclose()  # type: ignore[no-untyped-call]

    async def faults(self) -> list[Fault]:
        """What is wrong with the server, or with any primary of a cluster."""
        save = await self._setting("save")
        if isinstance(self._client, RedisCluster):
            found = await self._guard(lambda: self._client.execute_command("INFO", target_nodes="primaries"))
            infos = list(found.values()) if "redis_version" not in found else [found]
        else:
            infos = [await self.command("INFO")]
        faults = [fault for info in infos for fault in examine(info, save)]
        if not self.is_cluster and int(infos[0].get("cluster_enabled", 0)):
            faults.insert(0, Fault("The server is part of a cluster. Use redis+cluster:// in REDIS_URL."))
        return list(dict.fromkeys(faults))

    async def about(self) -> str:
        """The program, its version, and how it keeps data, in a few words; of a cluster's first node."""
        where = {"target_nodes": RedisCluster.DEFAULT_NODE} if self.is_cluster else {}
        info = await self._guard(lambda: self._client.execute_command("INFO", **where))
        return describe(info, await self._setting("save"))

    async def _setting(self, name: str) -> str | None:
        """A setting, or None where the server does not tell (hosted ones forbid CONFIG)."""
        where = {"target_nodes": RedisCluster.DEFAULT_NODE} if self.is_cluster else {}
        try:
            reply = await self._guard(lambda: self._client.execute_command("CONFIG GET", name, **where))
        except StoreError as error:
            if isinstance(error.__cause__, RedisError) and "CONFIG" in str(error).upper():
                return None
            raise
        pairs = reply if isinstance(reply, dict) else dict(zip(reply[::2], reply[1::2], strict=True))
        return {_text(key): _text(value) for key, value in pairs.items()}.get(name)

    async def close(self) -> None:
        """Close all connections."""
        await self._client.aclose()
        if isinstance(self._client, Redis) and isinstance(self._client.connection_pool, SentinelConnectionPool):
            for sentinel in self._client.connection_pool.sentinel_manager.sentinels:
                await sentinel.aclose()


async def cancellable(call: Awaitable[T]) -> T:
    """Await a call of the client, so that a cancellation is never lost in it.

    The client sends through `asyncio.wait_for`. On Python 3.11 that drops a cancellation which comes just as
    the sending ends, and a task that was told to stop would go on for ever.
    """
    task = asyncio.current_task()
    before = task.cancelling() if task is not None else 0
    try:
        return await call
    finally:
        if task is not None and task.cancelling() > before:
            raise asyncio.CancelledError


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
