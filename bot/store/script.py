"""The types of a script, its arguments and an unconfirmed write, for modules that do not import the Redis client."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bot.store.values import StoreError

Arg = str | bytes | int | float


@dataclass(frozen=True, slots=True)
class Script:
    """A Lua script: its name, its text, and the sha1 (hex) by which the server knows it."""

    name: str
    text: str
    sha: str


class WriteUnconfirmed(StoreError):
    """A write that too few replicas have confirmed. The primary has done it, and answered `reply`."""

    def __init__(self, address: str, replica_count: int, reply: Any) -> None:
        replica = "no replica has" if replica_count == 1 else f"fewer than {replica_count} replicas have"
        super().__init__(
            f"The Redis server at {address} took a write that {replica} confirmed, so the write does not count: the "
            f"server may be cut off. Bring its replicas back, or do without: put ?replicas=0 at the end of REDIS_URL."
        )
        self.reply = reply
