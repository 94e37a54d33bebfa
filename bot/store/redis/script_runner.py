"""Calls of the Lua scripts, the server's clock, and helpers that the parts of the store share.

Scripts are read from `scripts/` on first use, and run by their sha1 (EVALSHA, not Functions). So each instance runs the
scripts of its own release, even in the middle of a rolling deploy.
"""

from __future__ import annotations

import functools
import hashlib
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bot.store.redis import layout
from bot.store.redis.layout import Keys
from bot.store.script import Arg, Script
from bot.store.values import JobForgotten, PayloadTooLarge

if TYPE_CHECKING:
    from bot.store.redis_server import Server

CLOCK_ROUND_TRIP_SECONDS = 0.25
"""Seconds above which a round trip is too long for its answer to set the clock."""


class ServerClock:
    """The server's clock, by its last answer. `offset_ms` moves it, here and in scripts, for tests and demos."""

    def __init__(self, offset_ms: int = 0) -> None:
        self.offset_ms = offset_ms
        self._offset = 0.0

    def __call__(self) -> float:
        """Return the time. This machine's own clock may be wrong, so only its seconds since the last answer count."""
        return time.monotonic() + self._offset + self.offset_ms / 1000

    def set_from_answer(self, answer: bytes, asked_at: float) -> float:
        """Return the time in a server's answer, and set the clock by it unless the answer took too long to be exact.

        Args:
            answer: The time as scripts return it, the offset included.
            asked_at: `time.monotonic()` when the request was sent.
        """
        at, heard_at = float(answer), time.monotonic()
        if self._offset == 0 or heard_at - asked_at < CLOCK_ROUND_TRIP_SECONDS:
            self._offset = at - self.offset_ms / 1000 - heard_at
        return at


SCRIPTS_FOLDER = Path(__file__).parent.parent / "scripts"
JOB_SCRIPTS = frozenset(
    {"ingest", "beat", "release", "quarantine", "commit", "outbox_begin", "outbox_note", "keep", "drop", "forget"},
)
"""The scripts about one job. They take its keys first, as `Keys.list_job_keys` lists them and `job.lua` names them."""
AUDIT_SCRIPTS = frozenset({"commit", "forget", "audit_note"})
"""The scripts that add to the audit, with the functions of `audit.lua`."""
COUNTER_SCRIPTS = frozenset({"admit", "raise", "settle", "spent", "turns", "hold_turns"})
"""The scripts about rates, slots, budgets and lanes, with the functions of `counters.lua`."""
DURABLE_SCRIPTS = frozenset(
    {
        "ingest",
        "claim",
        "release",
        "commit",
        "quarantine",
        "forget",
        "audit_note",
        "outbox_begin",
        "outbox_note",
        "settings_put",
        "installation_put",
        "schedule_put",
        "schedule_fire",
        "memory_put",
        "schedule_swap",
    }
)
"""Scripts whose writes must not be lost in a failover: as many replicas as `Server.required_replicas` says must have
them."""


@functools.cache
def load_script(name: str) -> Script:
    """Read a script by name. Its text begins with the Lua functions that it shares with other scripts."""
    shared_parts = ["job"] if name in JOB_SCRIPTS else ["counters"] if name in COUNTER_SCRIPTS else []
    shared_parts += ["audit"] if name in AUDIT_SCRIPTS else []
    parts = ["clock", *shared_parts, name]
    text = "\n".join((SCRIPTS_FOLDER / f"{part}.lua").read_text(encoding="utf-8") for part in parts)
    return Script(name, text, hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest())


class ScriptRunner:
    """Runs the scripts, and holds the server, its keys and its clock for all parts of the store."""

    def __init__(self, server: Server, keys: Keys, clock: ServerClock) -> None:
        self.server = server
        self.keys = keys
        self.clock = clock

    async def run(self, name: str, keys: Sequence[str], *args: Arg) -> Any:
        """Run a script of `scripts/`. Raises StoreError."""
        return await self.server.run_script(
            load_script(name), keys, [self.clock.offset_ms, *args], durable=name in DURABLE_SCRIPTS
        )

    async def read_time(self) -> float:
        """Ask the server for its time (seconds since the epoch)."""
        asked_at = time.monotonic()
        return self.clock.set_from_answer((await self.run("peek", ()))[0], asked_at)


def make_nonce() -> str:
    """Return a random id of 16 hex digits, which no other call returns."""
    return os.urandom(8).hex()


def to_milliseconds(seconds: float) -> int:
    """Return a time to live in milliseconds, as the server takes it."""
    return round(seconds * 1000)


def flatten_pairs(fields: dict[str, str]) -> list[str]:
    """List names and values alternately, as scripts take them."""
    return [part for pair in fields.items() for part in pair]


def check_reply(reply: Any) -> Any:
    """Return the reply. Raises PayloadTooLarge if it says "full", and JobForgotten if it says "gone"."""
    if reply == b"full":
        raise PayloadTooLarge(layout.JOB_FULL_MESSAGE)
    if reply == b"gone":
        raise JobForgotten("the job was forgotten meanwhile, so nothing is kept for it")
    return reply
