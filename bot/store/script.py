"""A script for a server, its arguments and a failed write, for modules that do not import the server's client."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bot.store.values import StoreError

Arg = str | bytes | int | float


@dataclass(frozen=True, slots=True)
class Script:
    """A script's text and the sha1 (hex) that the server knows it by."""

    name: str
    text: str
    sha: str


class Unconfirmed(StoreError):
    """A write that no replica is known to have. It was done on the primary, which answered `reply`."""

    def __init__(self, shown: str, wanted: int, reply: Any) -> None:
        replica = "no replica has" if wanted == 1 else f"fewer than {wanted} replicas have"
        super().__init__(
            f"The Redis server at {shown} took a write that {replica} confirmed, so the write does not count: the "
            f"server may be cut off. Bring its replicas back, or do without: put ?replicas=0 at the end of REDIS_URL."
        )
        self.reply = reply
