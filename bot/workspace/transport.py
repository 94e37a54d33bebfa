"""The interface that Socket Mode and HTTP mode share: sending payloads to the app."""

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
    """The app's acknowledgement of a payload, or the failure if there was none in time."""

    ok: bool
    body: dict[str, Any] | None = None
    """The JSON body of the app's answer; None if it had no body."""
    failure: str = ""
    """A code such as `timeout`; empty if the payload was acknowledged."""
    is_final: bool = False
    """True if the app asked for no further attempts."""
    wait_seconds: float = 0.0
    """Seconds for which the payload waited for a connection."""
    detail: str = ""
    """More on the failure, for people."""


class Transport(Protocol):
    """Sends payloads to the app, by Socket Mode or HTTP."""

    async def send(self, kind: PayloadKind, payload: dict[str, Any], retry: Retry | None = None) -> Ack:
        """Send a payload, and wait for its acknowledgement as long as Slack does. A failure is an `Ack` too."""
        ...
