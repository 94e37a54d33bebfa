"""Faults that a test switches on for calls or deliveries, such as a rate limit or a lost reply."""

from collections import defaultdict, deque
from dataclasses import dataclass
from typing import Literal

FaultKind = Literal[
    "lost_reply",
    "slow_reply",
    "rate_limited",
    "server_error_before",
    "server_error_after",
    "error",
    "lagging_history",
    "duplicate_delivery",
    "lost_delivery",
    "late_delivery",
    "without_files",
]
DELIVERY_FAULTS: frozenset[str] = frozenset({"duplicate_delivery", "lost_delivery", "late_delivery", "without_files"})


@dataclass(frozen=True)
class InjectedFault:
    """One fault for one call or delivery. `FaultInjection.add` explains the fields."""

    kind: FaultKind
    retry_after: int
    seconds: float
    error: str


class FaultInjection:
    """The faults that are switched on. Each applies to one call or delivery, the next of its method or event."""

    def __init__(self) -> None:
        self._calls: dict[str, deque[InjectedFault]] = defaultdict(deque)
        self._deliveries: dict[str, deque[InjectedFault]] = defaultdict(deque)

    def add(  # one call with named arguments reads better in a test than an object
        self,
        method: str,
        kind: FaultKind,
        *,
        times: int = 1,
        retry_after: int = 1,
        seconds: float = 5,
        error: str = "internal_error",
    ) -> None:
        """Let the next calls of a method, or the next deliveries of an event, go wrong.

        Args:
            method: A Web API method such as `chat.postMessage`; for the kinds
                that are about deliveries an event such as `app_mention` or
                `message.channels`.
            kind: `lost_reply`: done, but the connection breaks before the answer.
                `slow_reply`: done, the answer comes `seconds` later.
                `rate_limited`: not done, 429 with Retry-After `retry_after`.
                `server_error_before`: not done, 500. `server_error_after`: done, 500.
                `error`: not done, answered with the code in `error`.
                `lagging_history`: messages of the last `seconds` are not found yet.
                `duplicate_delivery`: the event comes twice with the same event_id.
                `lost_delivery`: the first attempt is never sent and counts as unacknowledged.
                `late_delivery`: the first attempt is made `seconds` later, so that other events overtake it.
                `without_files`: the event lacks the `files` of its message, as an `app_mention` of Slack's may.
            times: How many calls or deliveries in a row.
            retry_after: Seconds, for `rate_limited`.
            seconds: For `slow_reply`, `lagging_history` and `late_delivery`.
            error: Slack's code, for `error`.
        """
        queue = (self._deliveries if kind in DELIVERY_FAULTS else self._calls)[method]
        queue.extend([InjectedFault(kind, retry_after, seconds, error)] * times)

    def pop_call_fault(self, method: str) -> InjectedFault | None:
        """Remove and return the next fault for this method; None if there is none."""
        return self._pop_next(self._calls, method)

    def pop_delivery_fault(self, event: str) -> InjectedFault | None:
        """Remove and return the next fault for deliveries of this event; None if there is none."""
        return self._pop_next(self._deliveries, event)

    def clear(self) -> None:
        """Switch every fault off."""
        self._calls.clear()
        self._deliveries.clear()

    @staticmethod
    def _pop_next(queues: dict[str, deque[InjectedFault]], name: str) -> InjectedFault | None:
        queue = queues.get(name)
        return queue.popleft() if queue else None
