"""The connection to a server: runs scripts and commands, and turns every error into a `StoreError`."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

from redis.asyncio import Redis, RedisCluster
from redis.exceptions import NoScriptError, RedisClusterException, RedisError
from redis.exceptions import TimeoutError as Silence

from bot.store.address import MAX_CONCURRENT_COMMANDS, RETRIES, make_client, parse_url
from bot.store.script import Arg, Script, WriteUnconfirmed
from bot.store.server_diagnosis import (
    ServerFault,
    describe_full_memory,
    describe_replicas,
    describe_server,
    explain_error,
    is_not_primary_error,
    list_faults,
    list_replica_faults,
)
from bot.store.values import StoreError

if TYPE_CHECKING:
    from bot.store.address import PrimaryPool

log = logging.getLogger(__name__)

T = TypeVar("T")
CONNECTION_ERRORS = (RedisError, RedisClusterException, OSError)
SCAN_PAGE_SIZE = 1000
"""Keys that one page of a scan covers."""
REPLICA_PATIENCE_SECONDS = 1.5
"""Seconds that a write may take to reach the replicas; less if the timeout of calls is short."""
FAILOVER_PAUSE_SECONDS = (0.05, 0.1, 0.2, 0.4, 0.7)
"""Seconds before each repeat of a call to a server that is no primary. Slack waits 3 s for an answer."""
SERVER_CHECK_SECONDS = 3.0
"""Seconds between two checks of which server the URL leads to."""
_ROLE, _RUN_ID = re.compile(rb"^role:(\w+)", re.MULTILINE), re.compile(rb"^run_id:(\w+)", re.MULTILINE)


class Server:
    """One server, Sentinel or Cluster behind a URL. Not connected until it is used.

    Args:
        url: The store's URL, as `parse_url` takes it.
        timeout: Seconds of silence after which a call is given up.
    """

    def __init__(self, url: str, timeout: float) -> None:
        self._address = parse_url(url)
        self._client = make_client(self._address, timeout)
        self._timeout = timeout
        self._patience = min(REPLICA_PATIENCE_SECONDS, timeout / 2)
        self._command_slots = asyncio.Semaphore(MAX_CONCURRENT_COMMANDS)
        self._replicas_seen = False
        self._generation = 0
        """Rises whenever all connections are replaced, because they may lead to a server that is no primary."""

    @property
    def is_cluster(self) -> bool:
        """True for a cluster, where a script may touch one slot only."""
        return self._address.mode == "cluster"

    @property
    def required_replicas(self) -> int:
        """The number of replicas that must have a durable write: as the URL says, otherwise 1 if there ever was any.

        Replicas that are down count, too: a primary that has lost all of them may be the one that a network partition
        has cut off.
        """
        if self._address.replicas is not None:
            return self._address.replicas
        if not self._replicas_seen:
            if isinstance(self._client, RedisCluster):
                self._replicas_seen = bool(self._client.get_replicas())
            elif self._sentinel_primary is not None:
                self._replicas_seen = self._sentinel_primary.sentinel_manager.replica_count > 0
        return int(self._replicas_seen)

    async def run_script(
        self, script: Script, keys: Sequence[str], args: Sequence[Arg], *, durable: bool = False
    ) -> Any:
        """Run a script by its sha1, sending its text only to a server that does not know it.

        The writes of a `durable` script count only once as many replicas as `required_replicas` says have them. If that
        is 0, it runs like any other script.

        Raises:
            WriteUnconfirmed: Too few replicas have confirmed the writes. A repeat asks them again.
        """
        replica_count = self.required_replicas if durable else 0

        async def call() -> Any:
            try:
                return await self._send_command(("EVALSHA", script.sha, len(keys), *keys, *args), keys, replica_count)
            except NoScriptError:
                return await self._send_command(("EVAL", script.text, len(keys), *keys, *args), keys, replica_count)

        try:
            return await self._make_call(call)
        except WriteUnconfirmed:
            await self._rediscover_primary()
            raise

    async def _send_command(self, command: tuple[Arg, ...], keys: Sequence[str], replica_count: int) -> Any:
        if not replica_count:
            return await self._client.execute_command(*command)
        from bot.store import replicas  # noqa: PLC0415 - only where a write waits for replicas

        commands = [command, *replicas.make_wait_commands(keys[0], replica_count, self._patience)]
        reply, *proof = await replicas.send_on_one_connection(self._client, commands, keys[0])
        if isinstance(reply, Exception):
            raise reply
        if not replicas.is_confirmed(proof, replica_count):
            raise WriteUnconfirmed(self._address.display_name, replica_count, reply)
        return reply

    async def _rediscover_primary(self) -> None:
        """Look up the primary again: a server whose write no replica has may no longer be the primary."""
        if self._sentinel_primary is not None:
            with contextlib.suppress(*CONNECTION_ERRORS):
                await self._sentinel_primary.rediscover()
        elif not self.is_cluster:
            await self._replace_connections(self._generation)

    @property
    def _sentinel_primary(self) -> PrimaryPool | None:
        """The pool of connections to the primary that Sentinels name; None for a URL without Sentinels."""
        pool = self._client.connection_pool if isinstance(self._client, Redis) else None
        return cast("PrimaryPool", pool) if self._address.mode == "sentinel" else None

    async def run_command(self, *args: Arg) -> Any:
        """Run one command."""
        return await self._make_call(lambda: self._client.execute_command(*args))

    async def run_commands(self, commands: Sequence[tuple[Arg, ...]]) -> list[Any]:
        """Run commands that do not depend on each other, in one round trip for each node."""

        async def call() -> Any:
            pipeline = self._client.pipeline(transaction=False)
            for args in commands:
                pipeline.execute_command(*args)
            return await pipeline.execute()

        return list(await self._make_call(call))

    async def scan_keys(self, pattern: str) -> list[bytes]:
        """List the names of all keys that match a pattern, of all nodes of a cluster."""
        if isinstance(self._client, RedisCluster):
            every = self._client.scan_iter(match=pattern, count=SCAN_PAGE_SIZE)

            async def collect() -> list[bytes]:
                return [name async for name in every]

            return list(await self._make_call(collect))
        names, cursor = dict[bytes, None](), b"0"
        while True:
            cursor, page = await self.run_command("SCAN", cursor, "MATCH", pattern, "COUNT", SCAN_PAGE_SIZE)
            names |= dict.fromkeys(page)
            if int(cursor) == 0:
                return list(names)

    async def _make_call(self, call: Callable[[], Awaitable[Any]]) -> Any:
        try:
            async with self._command_slots:
                return await await_cancellable(
                    self._call_in_time(call) if self.is_cluster else self._call_with_retries(call)
                )
        except CONNECTION_ERRORS as error:
            raise explain_error(error, self._address.display_name) from error

    async def _call_in_time(self, call: Callable[[], Awaitable[Any]]) -> Any:
        """Make a call to a cluster within a time limit: its client retries by itself, and for ever if nodes hang."""
        try:
            async with asyncio.timeout((1 + RETRIES) * self._timeout):
                return await call()
        except TimeoutError:
            raise Silence(f"no answer within {(1 + RETRIES) * self._timeout:g} s") from None

    async def _call_with_retries(self, call: Callable[[], Awaitable[Any]]) -> Any:
        """Make a call, and again on new connections if the server stays silent or is no primary.

        A server that is no primary has refused the call, so that a repeat does nothing twice.
        """
        silences, pauses = 0, iter(FAILOVER_PAUSE_SECONDS)
        while True:
            generation = self._generation
            try:
                async with asyncio.timeout(self._timeout):
                    return await call()
            except TimeoutError:
                await self._close_idle_connections()
                silences += 1
                if silences > RETRIES:
                    raise Silence(f"no answer within {self._timeout:g} s") from None
            except RedisError as error:
                if not is_not_primary_error(error):
                    raise
                await self._replace_connections(generation)
                pause = next(pauses, None)
                if pause is None:
                    raise
                await asyncio.sleep(pause)

    async def _close_idle_connections(self) -> None:
        """Close idle connections: if one is dead the others may be too, and each would cost another timeout."""
        if isinstance(self._client, Redis):
            await self._client.connection_pool.disconnect(inuse_connections=False)

    async def _replace_connections(self, generation: int) -> None:
        """Replace all connections, those in use after their call, so that the next call resolves the URL's host again.

        Does nothing if that has happened since `generation`.
        """
        if generation == self._generation and isinstance(self._client, Redis):
            self._generation += 1
            pool = self._client.connection_pool
            await pool.update_active_connections_for_reconnect()  # type: ignore[no-untyped-call]
            await pool.disconnect(inuse_connections=False)

    async def listen(self, *channels: str) -> AsyncIterator[bytes]:
        """Yield the messages of channels. A lost connection is opened again; messages in between are missed.

        Meanwhile it checks every few seconds whether the URL leads to another server, and then connects to that one.
        """
        watch_task = (
            None if self.is_cluster else asyncio.create_task(self._watch_server(await self._reconnect_if_moved(b"")))
        )
        pause = 0.05
        try:
            while True:
                listener, generation = self._client.pubsub(), self._generation
                try:
                    async with asyncio.timeout(self._timeout):
                        await await_cancellable(listener.subscribe(*channels))
                    async for data in self._iterate_messages(listener, generation):
                        pause = 0.05
                        if data is not None:
                            yield data
                except CONNECTION_ERRORS:
                    await asyncio.sleep(pause)
                    pause = min(2 * pause, 1.0)
                finally:
                    await listener.aclose()  # type: ignore[no-untyped-call]
        finally:
            if watch_task is not None:
                watch_task.cancel()

    async def _iterate_messages(self, listener: Any, generation: int) -> AsyncIterator[bytes | None]:
        """Yield a listener's messages, and None for each sign of life, while `generation` is the current one.

        Raises:
            Silence: The server did not answer a ping.
        """
        is_pinged = False
        while generation == self._generation and not self._is_to_former_primary(listener.connection):
            # Shorter than the socket's own timeout, which would look like a lost connection.
            message = await await_cancellable(listener.get_message(timeout=self._timeout / 2))
            if message is not None:
                is_pinged = False
                yield message["data"] if message["type"] == "message" else None
            elif is_pinged:
                raise Silence(f"no answer within {self._timeout / 2:g} s")
            else:
                async with asyncio.timeout(self._timeout):
                    await await_cancellable(listener.ping())
                is_pinged = True

    def _is_to_former_primary(self, connection: Any) -> bool:
        return self._sentinel_primary is not None and self._sentinel_primary.is_to_former_primary(connection)

    async def _watch_server(self, known_run_id: bytes) -> None:
        """Check every few seconds which server the URL leads to, until the task is cancelled."""
        while True:
            await asyncio.sleep(SERVER_CHECK_SECONDS)
            known_run_id = await self._reconnect_if_moved(known_run_id)

    async def _reconnect_if_moved(self, known_run_id: bytes) -> bytes:
        """Replace all connections if a new one reaches another server than `known_run_id`, or a replica.

        A connection that only listens gets no error when the primary changes. A connection to a former primary may get
        none either: that server may still take writes, which the new primary never receives.

        Returns:
            The run id of the server that was reached; `known_run_id` if none was.
        """
        try:
            async with asyncio.timeout(self._timeout):
                role, run_id = await await_cancellable(self._probe_server())
        except (*CONNECTION_ERRORS, TimeoutError) as error:
            log.debug("a look at the store failed (%s)", type(error).__name__)  # calls fail likewise, and report it
            return known_run_id
        if role == b"slave" or run_id != known_run_id:
            await self._replace_connections(self._generation)
        return run_id

    async def _probe_server(self) -> tuple[bytes, bytes]:
        """Open a new connection and return the server's role and run id, each empty if it does not report it."""
        connection = self._client.connection_pool.make_connection()  # type: ignore[union-attr]
        try:
            await connection.connect()
            await connection.send_command("INFO", "server", "replication")
            text = await connection.read_response()
        finally:
            await connection.disconnect(nowait=True)
        matches = (pattern.search(text) for pattern in (_ROLE, _RUN_ID))
        role, run_id = (match[1] if match else b"" for match in matches)
        return role, run_id

    async def find_faults(self) -> list[ServerFault]:
        """List the faults of the server, or of all primaries of a cluster."""
        save = await self._read_save_setting()
        if isinstance(self._client, RedisCluster):
            reply = await self._make_call(lambda: self._client.execute_command("INFO", target_nodes="primaries"))
            infos = list(reply.values()) if "redis_version" not in reply else [reply]
        else:
            infos = [await self.run_command("INFO")]
        faults = [fault for info in infos for fault in list_faults(info, save)]
        if not self.is_cluster and int(infos[0].get("cluster_enabled", 0)):
            faults.insert(0, ServerFault("The server is part of a cluster. Use redis+cluster:// in REDIS_URL."))
        faults += list_replica_faults(infos, self.required_replicas, is_single_server=self._address.mode == "single")
        return list(dict.fromkeys(faults))

    async def explain_fullness(self) -> str:
        """Return a warning if the memory of the server, or of any primary of a cluster, is nearly full; else ""."""
        return next((text for text in map(describe_full_memory, await self._read_memory_info()) if text), "")

    async def read_memory(self) -> tuple[int, int]:
        """Return the used bytes and `maxmemory` (0: none) of the server, or of the fullest primary of a cluster."""
        sizes = (
            (int(info.get("used_memory", 0)), int(info.get("maxmemory", 0))) for info in await self._read_memory_info()
        )
        return max(sizes, key=lambda size: (size[0] / size[1] if size[1] else 0.0, size[0]))

    async def _read_memory_info(self) -> list[dict[str, Any]]:
        where = {"target_nodes": "primaries"} if self.is_cluster else {}
        reply = await self._make_call(lambda: self._client.execute_command("INFO", "memory", **where))
        return [reply] if "used_memory" in reply else list(reply.values())

    async def describe(self) -> str:
        """Describe program, version, persistence, eviction and replicas in words; for a cluster, its default node."""
        where = {"target_nodes": RedisCluster.DEFAULT_NODE} if self.is_cluster else {}
        info = await self._make_call(lambda: self._client.execute_command("INFO", **where))
        words = describe_replicas(int(info.get("connected_slaves", 0)), self.required_replicas)
        return ", ".join(filter(None, (describe_server(info, await self._read_save_setting()), words)))

    async def _read_save_setting(self) -> str | None:
        """Read the setting `save`; None if the server does not report it (hosted ones forbid CONFIG)."""
        where = {"target_nodes": RedisCluster.DEFAULT_NODE} if self.is_cluster else {}
        try:
            reply = await self._make_call(lambda: self._client.execute_command("CONFIG GET", "save", **where))
        except StoreError as error:
            if isinstance(error.__cause__, RedisError) and "CONFIG" in str(error).upper():
                return None
            raise
        pairs = reply if isinstance(reply, dict) else dict(zip(reply[::2], reply[1::2], strict=True))
        return {_decode_text(key): _decode_text(value) for key, value in pairs.items()}.get("save")

    async def close(self) -> None:
        """Close all connections."""
        await self._client.aclose()
        if self._sentinel_primary is not None:
            await self._sentinel_primary.sentinel_manager.aclose()


async def await_cancellable(call: Awaitable[T]) -> T:
    """Await a call of the client without losing a cancellation.

    The client sends through `asyncio.wait_for`. On Python 3.11 that drops a cancellation which arrives just as the
    sending ends, and a cancelled task would go on for ever.
    """
    task = asyncio.current_task()
    before = task.cancelling() if task is not None else 0
    try:
        return await call
    finally:
        if task is not None and task.cancelling() > before:
            raise asyncio.CancelledError


def _decode_text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
