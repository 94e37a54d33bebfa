"""Finds the primary behind Sentinels, and leaves it when it is the primary no longer."""

from __future__ import annotations

import asyncio
from typing import Any

from redis.asyncio import Redis
from redis.asyncio.connection import AbstractConnection
from redis.asyncio.retry import Retry
from redis.asyncio.sentinel import MasterNotFoundError, Sentinel, SentinelConnectionPool
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as Unreachable
from redis.exceptions import TimeoutError as Silence

from bot.store.server_diagnosis import NO_OTHER

ANSWER_WITHIN = 0.5
"""Seconds for a Sentinel to answer: one that does not must not use up the time of the call that needs the primary."""


class Sentinels(Sentinel):
    """Asks all Sentinels at once and believes the one with the newest configuration.

    redis-py takes the first answer. That may come from a Sentinel which a partition has shut in with the old
    primary, and then a client that reaches both sides would stay with the old one.
    """

    def __init__(self, hosts: list[tuple[str, int]], asking: dict[str, Any], **options: Any) -> None:
        patience = {"socket_timeout": ANSWER_WITHIN, "socket_connect_timeout": ANSWER_WITHIN}
        asking = {**asking, **patience, "retry": Retry(NoBackoff(), 0)}
        super().__init__(hosts, sentinel_kwargs=asking, **options)  # type: ignore[no-untyped-call]
        self.replicas = 0
        """The most replicas that any Sentinel has told of, whether up or down."""

    async def discover_master(self, service_name: str) -> tuple[str, int]:
        """Give the primary's host and port. Raises MasterNotFoundError, whose text says why there is none."""
        answers = await asyncio.gather(*(self._ask_sentinel(sentinel, service_name) for sentinel in self.sentinels))
        states = [answer for answer in answers if isinstance(answer, dict)]
        if not states:
            faults = [str(answer) for answer in answers if isinstance(answer, Exception)]
            raise MasterNotFoundError(f"none of them answers: {faults[0]}" if faults else f"no {service_name!r}")
        self.replicas = max(self.replicas, *(state["num-slaves"] for state in states))
        newest = max(state["config-epoch"] for state in states)
        for state in states:
            if state["config-epoch"] == newest and self.check_master_state(state, service_name):
                return state["ip"], state["port"]
        raise MasterNotFoundError(f"{service_name!r} {NO_OTHER}")

    async def _ask_sentinel(self, sentinel: Redis, name: str) -> dict[str, Any] | Exception | None:
        try:
            async with asyncio.timeout(2 * ANSWER_WITHIN):
                known: Any = await sentinel.sentinel_masters()
        except (Unreachable, Silence, TimeoutError) as error:
            return error
        found: dict[str, Any] | None = known.get(name)
        return found


class Primary(SentinelConnectionPool):
    """Connections to the primary. One to a former primary is never used again once the new one is known."""

    def is_former(self, connection: AbstractConnection | None) -> bool:
        """True if a connection leads to a server that, as far as we heard, is the primary no longer."""
        known: tuple[str, int] | None = self.master_address
        if known is None or connection is None:
            return False
        return (getattr(connection, "host", None), getattr(connection, "port", None)) != known

    async def release(self, connection: AbstractConnection) -> None:
        """Take a connection back. One to a former primary is closed: it would answer with what is gone."""
        if self.is_former(connection):
            connection.mark_for_reconnect()  # type: ignore[no-untyped-call]
        await super().release(connection)

    async def look_again(self) -> None:
        """Ask for the primary, because the one at hand may have been shut off from the others."""
        await self.get_master_address()  # type: ignore[no-untyped-call]
