"""Payloads on their way to the app: what both Socket Mode and HTTP mode offer."""

from dataclasses import dataclass
from typing import Any, Literal, Protocol

PayloadKind = Literal["events_api", "interactive", "slash_commands"]


@dataclass(frozen=True)
class Retry:
    """A repeated attempt: its number (1 for the first repeat) and the reason."""

    attempt: int
    reason: str


@dataclass(frozen=True)
class Ack:
    """The app's answer to a payload: the body it answered with, or why there is none in time.

    `final`: the app asked not to be told again. `waited`: seconds before there was a connection to send it on.
    `detail`: more on the failure, for people.
    """

    ok: bool
    body: dict[str, Any] | None = None
    failure: str = ""
    final: bool = False
    waited: float = 0.0
    detail: str = ""


class Transport(Protocol):
    """Socket Mode or HTTP."""

    async def send(self, kind: PayloadKind, payload: dict[str, Any], retry: Retry | None = None) -> Ack:
        """Send a payload and wait for its acknowledgement, as long as Slack waits."""
        ...
