"""What goes wrong, and in which order: four tracks, each drawn from the seed alone.

Only the timing is the machine's: the n-th fault of a track is always the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Literal, get_args

from bot.workspace.fault_injection import FaultKind as SlackKind
from tests.chaos.words import CallSubject
from tests.providers.faults import Fault as ModelFault

INSTANCES = 3
BLACK_HOLE = 6.0

ProcessKind = Literal["SIGKILL", "SIGSTOP", "SIGTERM"]
StoreKind = Literal["reply lost", "request lost", "black hole", "server killed", "failover", "failover, frozen"]
"""In a failover another server takes over behind the same name, and the former one goes on as a replica, or hangs."""


@dataclass(frozen=True)
class ProcessFault:
    """Something happens to an instance. `leases` is how long it is frozen."""

    after: float
    kind: ProcessKind
    instance: int
    leases: float


@dataclass(frozen=True)
class StoreFault:
    """Something happens to an instance's way to the server, or to the server, which is away or hangs for `seconds`."""

    after: float
    kind: StoreKind
    instance: int
    times: int
    seconds: float


@dataclass(frozen=True)
class SlackFault:
    """The next call of `method` (or the next delivery of an event) goes wrong; `then` is one more fault beside it.

    Of the token, all calls do, for so many `seconds`.
    """

    after: float
    method: str
    kind: SlackKind
    then: tuple[str, SlackKind] | None = None
    seconds: float = 0.0


def process_faults(seed: int) -> Iterator[ProcessFault]:
    """What happens to the instances."""
    rng = Random(f"{seed}/processes")
    while True:
        (kind,) = rng.choices(get_args(ProcessKind), (35, 40, 25))
        yield ProcessFault(rng.uniform(3.0, 7.0), kind, rng.randrange(INSTANCES), rng.uniform(0.5, 3.0))


def store_faults(seed: int) -> Iterator[StoreFault]:
    """What happens to the store."""
    rng = Random(f"{seed}/store")
    while True:
        (kind,) = rng.choices(get_args(StoreKind), (38, 28, 11, 13, 5, 5))
        times = rng.randint(1, 3)
        yield StoreFault(rng.uniform(2.0, 5.0), kind, rng.randrange(INSTANCES), times, rng.uniform(0.0, 2.0))


_LAG: tuple[str, SlackKind] = ("conversations.replies", "lagging_history")
_POSTS: tuple[SlackKind, ...] = ("lost_reply", "server_error_after", "server_error_before", "rate_limited")
_EVENTS = ("app_mention", "message.channels")


def slack_faults(seed: int) -> Iterator[SlackFault]:
    """Slack on a bad day. A post in doubt sometimes meets a history that lags."""
    rng = Random(f"{seed}/slack")
    methods = {
        "chat.postMessage": 40,
        "chat.update": 12,
        "chat.startStream": 5,
        "chat.appendStream": 5,
        "chat.stopStream": 6,
        "files.completeUploadExternal": 7,
        "files.getUploadURLExternal": 3,
        "agents.sessions.setStatus": 8,
        "conversations.replies": 4,
        "reactions.add": 3,
        "auth.test": 6,
        "an event": 16,
        "the token": 3,
    }
    while True:
        (method,) = rng.choices(list(methods), list(methods.values()))
        after = rng.uniform(1.0, 3.0)
        if method == "an event":
            duplicate = rng.random() < 0.7
            yield SlackFault(after, rng.choice(_EVENTS), "duplicate_delivery" if duplicate else "lost_delivery")
        elif method == "the token":
            yield SlackFault(after, method, "error", seconds=rng.uniform(1.0, 4.0))
        elif method == "auth.test":
            yield SlackFault(after, method, rng.choice((*_POSTS, "error")))
        else:
            kind = rng.choice(_POSTS)
            in_doubt = kind in {"lost_reply", "server_error_after"} and method != "conversations.replies"
            yield SlackFault(after, method, kind, _LAG if in_doubt and rng.random() < 0.4 else None)


_MODEL: tuple[ModelFault, ...] = (
    ModelFault("rate_limited", retry_after="0.3"),
    ModelFault("overloaded"),
    ModelFault("server_error"),
    ModelFault("reset"),
)


SPARED_PURPOSES = frozenset({"specialist:doubter", "specialist:refuser"})
"""Whose calls never fail: they give up by themselves, and with one failure more the part would be given up."""


class ModelFaults:
    """How each call to a model goes: the first of its kind in an errand may fail, and some are slow."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._calls: dict[CallSubject, int] = {}

    def next(self, about: CallSubject, *, streams: bool, calm: bool) -> tuple[ModelFault | None, float]:
        """The fault of the call at hand, if it has one, and the seconds that it takes."""
        count = self._calls[about] = self._calls.get(about, 0) + 1
        rng = Random(f"{self._seed}/{about.name}/{about.purpose}/{about.part}/{count}")
        slow, wrong, which = rng.random() < 0.04, rng.random() < 0.06, rng.randrange(100)
        seconds = rng.uniform(2.0, 4.0) if slow else rng.uniform(0.02, 0.3)
        if about.kind == "cancel" and about.part:
            seconds = 4.0
        if calm or not wrong or count > 1 or about.purpose in SPARED_PURPOSES:
            return None, seconds
        if streams and which < 60:
            return ModelFault("cut_stream", after=1 + which % 8), 0.0
        return _MODEL[which % len(_MODEL)], 0.0


def cuts_stream(seed: int, name: str, kind: str) -> bool:
    """Whether the first writing of that request's answer is cut off in the middle."""
    about = CallSubject(name, kind, "synthesizer", "")
    fault, _ = ModelFaults(seed).next(about, streams=True, calm=False)
    return fault is not None and fault.kind == "cut_stream"
