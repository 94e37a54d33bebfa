"""How the parts of the store call its scripts, and the ways of writing that they share."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from bot.store import bounds
from bot.store.interface import PayloadTooLarge
from bot.store.redis.keys import Keys
from bot.store.redis.server_clock import ServerClock
from bot.store.script import load
from bot.store.server import Arg, Server

DURABLE = frozenset(
    {
        "ingest",
        "claim",
        "release",
        "commit",
        "set_aside",
        "outbox_begin",
        "outbox_note",
        "schedule_put",
        "schedule_fire",
    }
)
"""The scripts whose answer somebody relies on: what they wrote must be on a replica too, where there are any."""


class Calls:
    """A server, the keys on it and its clock: what every part of the store works with."""

    def __init__(self, server: Server, keys: Keys, clock: ServerClock) -> None:
        self.server = server
        self.keys = keys
        self.clock = clock

    async def run(self, name: str, keys: Sequence[str], *args: Arg) -> Any:
        """Run a script of `scripts/`. Raises StoreError."""
        return await self.server.run(load(name), keys, [self.clock.offset_ms, *args], durable=name in DURABLE)


def nonce() -> str:
    """An id that never comes twice."""
    return os.urandom(8).hex()


def flat(fields: dict[str, str]) -> list[str]:
    """Names and values in turn, as scripts take them."""
    return [part for pair in fields.items() for part in pair]


def unless_full(reply: Any) -> Any:
    """The reply. Raises PayloadTooLarge where it says that the job is full."""
    if reply == b"full":
        raise PayloadTooLarge(bounds.JOB_FULL)
    return reply
