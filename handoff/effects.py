"""What is left to do, in the imperative. The engine names effects; the shell performs them and reports an event.

Two effects that compare equal are the same piece of work: the shell starts
what is new, and cancels what it runs that is no longer outstanding.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from handoff.answering.reducing import Part
from handoff.contracts import Handoff, Packed, Tier

Brief = Callable[[], tuple[Handoff, Packed]]
"""What a subtask is given, and how much of its budget that takes. Made when it is asked for: the same work is named
after each event until it ends, and begun once."""


@dataclass(frozen=True, slots=True)
class FetchAttachments:
    """Bring what people attached into the store."""

    request: str


@dataclass(frozen=True, slots=True)
class MakePlan:
    """Ask the planner. `faults` are those of its last answer, to be told to it; empty the first time.

    `within` is the subtask that a crew inside the crew is to plan, in that `attempt`; empty: the request itself.
    """

    request: str
    faults: tuple[str, ...] = ()
    within: str = ""
    attempt: int = 0
    brief: Brief | None = field(default=None, compare=False, repr=False)

    @property
    def handoff(self) -> Handoff | None:
        """What the subtask is given that it is about; None for a request."""
        return self.brief()[0] if self.brief is not None else None

    @property
    def pack(self) -> Packed:
        """How much of its budget that takes."""
        return self.brief()[1] if self.brief is not None else Packed()


@dataclass(frozen=True, slots=True)
class RevisePlan:
    """Ask the planner whether what has not started should change, for the `reason` that a subtask gave.

    `within` is the subtask whose own plan it is, empty for that of the request.
    """

    request: str
    within: str
    subtask: str
    reason: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class RunSubtask:
    """Have a specialist work on a subtask, from its last checkpoint where it has one."""

    request: str
    subtask: str
    attempt: int
    specialist: str = field(compare=False)
    tier: Tier = field(compare=False)
    brief: Brief = field(compare=False, repr=False)
    done_when: str = field(default="", compare=False)

    @property
    def handoff(self) -> Handoff:
        """What the specialist is given."""
        return self.brief()[0]

    @property
    def pack(self) -> Packed:
        """How much of its budget that takes."""
        return self.brief()[1]


@dataclass(frozen=True, slots=True)
class JudgeResult:
    """Look at the result of an attempt. Where `faults` are certain no model is asked."""

    request: str
    subtask: str
    attempt: int
    faults: tuple[str, ...] = field(default=(), compare=False)
    doubts: tuple[str, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class RefineBrief:
    """Ask the refiner for another brief, from what the attempt failed at."""

    request: str
    subtask: str
    attempt: int
    error: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class ReachDeadline:
    """Say that the time is up, for a subtask or (empty) for the whole request."""

    request: str
    subtask: str = ""


@dataclass(frozen=True, slots=True)
class JudgeConflicts:
    """Ask the arbiter about the claims that may contradict each other.

    `within`, here and below, is the subtask that a crew inside the crew is at; empty: the request itself.
    """

    request: str
    within: str = ""


@dataclass(frozen=True, slots=True)
class ReduceMaterial:
    """Condense one part of a round; both are counted from 1."""

    request: str
    round: int
    part: int
    material: Part = field(compare=False)
    within: str = ""


@dataclass(frozen=True, slots=True)
class WriteAnswer:
    """Ask the synthesizer for the answer. `faults` are those that the critic found in the last one; empty: none yet."""

    request: str
    faults: tuple[str, ...] = ()
    within: str = ""


@dataclass(frozen=True, slots=True)
class ReviewAnswer:
    """Ask the critic to read the answer before people do. `late`: let it out, there is no time left."""

    request: str
    late: bool = False
    within: str = ""


@dataclass(frozen=True, slots=True)
class HandUp:
    """Say to the crew around it what a crew made of the subtask that it was given."""

    request: str
    subtask: str
    attempt: int


@dataclass(frozen=True, slots=True)
class Post:
    """Put a message into the thread, once. `key` names it within the job, see `handoff.post_keys`."""

    request: str
    key: str


Effect = (
    FetchAttachments
    | MakePlan
    | RevisePlan
    | RunSubtask
    | JudgeResult
    | RefineBrief
    | ReachDeadline
    | JudgeConflicts
    | ReduceMaterial
    | WriteAnswer
    | ReviewAnswer
    | HandUp
    | Post
)
