"""Writes that count only once replicas have them as well.

A primary that a network partition has cut off still takes writes, and loses all
of them when it returns, as the others have chosen a new primary. So a write that
somebody relies on (a claim, an intent, a commit, an event that came in) is
followed by WAIT on the same connection.

WAIT refers to the last write of its own connection, and answers at once if there
was none. A repeat of an operation does not write. So a tiny write in the same
slot, the mark, precedes each WAIT.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from redis.asyncio import Redis, RedisCluster
from redis.asyncio.cluster import ClusterNode, PipelineCommand
from redis.exceptions import (
    AskError,
    ClusterDownError,
    MovedError,
    ReadOnlyError,
    RedisClusterException,
    SlotNotCoveredError,
    TryAgainError,
)
from redis.exceptions import ConnectionError as Unreachable
from redis.exceptions import TimeoutError as Silence

from bot.store.address import RETRIES

MARK_MS = 60_000
MAX_REDIRECTS = 5
"""How often a cluster may redirect a call to another node."""
RETRY_PAUSE_SECONDS = 0.1
TRANSIENT_ERRORS = (Unreachable, Silence, ClusterDownError, SlotNotCoveredError, RedisClusterException, TryAgainError)
"""Errors of a cluster that pass by themselves, such as during a failover."""

Command = tuple[Any, ...]


def make_wait_commands(key: str, replica_count: int, seconds: float) -> list[Command]:
    """Return the two commands that follow a write to `key`: the mark, and a WAIT for `seconds` seconds."""
    mark = key.partition("}")[0] + "}:mark"
    return [("SET", mark, 1, "PX", MARK_MS), ("WAIT", replica_count, round(1000 * seconds))]


def is_confirmed(replies: Sequence[Any], replica_count: int) -> bool:
    """Return True if the replies to `make_wait_commands` show that enough replicas have the write."""
    mark, count = replies
    return not isinstance(mark, Exception) and isinstance(count, int) and count >= replica_count


async def send_on_one_connection(client: Redis | RedisCluster, commands: Sequence[Command], key: str) -> list[Any]:
    """Send commands together to the server with `key`. Returns the replies in order, the server's errors among them."""
    if isinstance(client, RedisCluster):
        return await _run_in_cluster(client, commands, key)
    pipeline = client.pipeline(transaction=False)
    for command in commands:
        pipeline.execute_command(*command)
    return list(await pipeline.execute(raise_on_error=False))


async def _run_in_cluster(client: RedisCluster, commands: Sequence[Command], key: str) -> list[Any]:
    # redis-py would send redirected commands one by one, and so the WAIT to a node where nothing was written.
    failures = hops = 0
    redirect_node: ClusterNode | None = None
    while True:
        error: Exception
        try:
            await client.initialize()
            node = redirect_node or client.get_node_from_key(key)
            if node is None:
                raise SlotNotCoveredError(key)
            replies = await _run_on_node(node, commands, sends_asking=redirect_node is not None)
            error = replies[0]
        except TRANSIENT_ERRORS as caught:
            error = caught
        redirect_node = None
        if isinstance(error, MovedError | AskError) and hops < MAX_REDIRECTS:
            hops += 1
            if isinstance(error, AskError):
                redirect_node = client.get_node(error.host, error.port)
            else:
                await client.nodes_manager.move_slot(error)
        elif isinstance(error, (*TRANSIENT_ERRORS, ReadOnlyError)):
            failures += 1
            if failures > RETRIES:
                raise error
            await asyncio.sleep(failures * RETRY_PAUSE_SECONDS)
            await _refresh_nodes(client)
        else:
            return replies


async def _run_on_node(node: ClusterNode, commands: Sequence[Command], *, sends_asking: bool) -> list[Any]:
    batch: list[PipelineCommand] = []
    for command in commands:
        if sends_asking and command[0] != "WAIT":
            batch.append(PipelineCommand(len(batch), "ASKING"))
        batch.append(PipelineCommand(len(batch), *command))
    try:
        await node.execute_pipeline(batch)
    except (Unreachable, Silence):
        # Its other connections lead to the same dead server.
        node.update_active_connections_for_reconnect()
        await node.disconnect_free_connections()
        raise
    return [command.result for command in batch if command.args[0] != "ASKING"]


async def _refresh_nodes(client: RedisCluster) -> None:
    try:
        await client.nodes_manager.initialize()
    except RedisClusterException:
        return  # the next attempt raises it
