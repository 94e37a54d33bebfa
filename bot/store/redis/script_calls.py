"""Calls of the store's scripts, and the ways of writing that the parts of the store share."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Any

from bot.store import quotas
from bot.store.interface import PayloadTooLarge
from bot.store.lua_scripts import load
from bot.store.redis.keys import Keys
from bot.store.redis.server_clock import ServerClock
from bot.store.redis_server import Arg, Server

DURABLE = frozenset(
    {
        "ingest",
        "claim",
        "release",
        "commit",
        "quarantine",
        "outbox_begin",
        "outbox_note",
        "schedule_put",
        "schedule_fire",
    }
)
"""Scripts whose answer somebody relies on: if there are replicas, one must have the write too."""


class Calls:
    """A server, the keys on it and its clock, which every part of the store works with."""

    def __init__(self, server: Server, keys: Keys, clock: ServerClock) -> None:
        self.server = server
        self.keys = keys
        self.clock = clock

    async def run(self, name: str, keys: Sequence[str], *args: Arg) -> Any:
        """Run a script of `scripts/`. Raises StoreError."""
        return await self.server.run(load(name), keys, [self.clock.offset_ms, *args], durable=name in DURABLE)

    async def now(self) -> float:
        """Ask for the server's clock."""
        asked = time.monotonic()
        return self.clock.heard((await self.run("peek", ()))[0], asked)


def nonce() -> str:
    """Draw an id that never comes twice."""
    return os.urandom(8).hex()


def flat(fields: dict[str, str]) -> list[str]:
    """List names and values in turn, as scripts take them."""
    return [part for pair in fields.items() for part in pair]


def unless_full(reply: Any) -> Any:
    """Give the reply. Raises PayloadTooLarge if it says that the job is full."""
    if reply == b"full":
        raise PayloadTooLarge(quotas.JOB_FULL)
    return reply
