"""What is left to do, in the imperative. The engine names effects, and whoever performs one reports an event.

Two effects that compare equal are the same piece of work: what is new is started, and what is no longer outstanding is
cancelled. An effect is data only: what a specialist or a role is given is made of the job when the work begins.
`role`, if an effect has one, is the supervisor's role that performs it, and `doing` the words for people meanwhile.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, get_args

from handoff.contracts import Tier


@dataclass(frozen=True, slots=True)
class FetchAttachments:
    """Bring what people attached into the store."""

    request: str


@dataclass(frozen=True, slots=True)
class MakePlan:
    """Ask the planner. `faults` are those of its last answer, to be told to it; empty the first time.

    `within` is the subtask that a crew inside the crew is to plan, in that `attempt`; empty: the request itself.
    """

    role: ClassVar[str] = "planner"
    doing: ClassVar[str] = "planning"
    request: str
    faults: tuple[str, ...] = ()
    within: str = ""
    attempt: int = 0


@dataclass(frozen=True, slots=True)
class RevisePlan:
    """Ask the planner whether what has not started should change, for the `reason` that a subtask gave.

    `within` is the subtask whose own plan it is, empty for that of the request.
    """

    role: ClassVar[str] = "replanner"
    doing: ClassVar[str] = "taking a second look at the plan"
    request: str
    within: str
    subtask: str
    reason: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class RunSubtask:
    """Have a specialist work on a subtask, from its last checkpoint if it has one. It has `timeout` seconds for it."""

    request: str
    subtask: str
    attempt: int
    specialist: str = field(compare=False)
    tier: Tier = field(compare=False)
    timeout: float = field(compare=False)
    done_when: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class JudgeResult:
    """Look at the result of an attempt. Where `faults` are certain no model is asked."""

    role: ClassVar[str] = "judge"
    request: str
    subtask: str
    attempt: int
    faults: tuple[str, ...] = field(default=(), compare=False)
    doubts: tuple[str, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class RefineBrief:
    """Ask the refiner for another brief, from what the attempt failed at."""

    role: ClassVar[str] = "refiner"
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

    role: ClassVar[str] = "arbiter"
    doing: ClassVar[str] = "judging contradictions"
    request: str
    within: str = ""


@dataclass(frozen=True, slots=True)
class ReduceMaterial:
    """Condense one part of a round; both are counted from 1."""

    role: ClassVar[str] = "reducer"
    doing: ClassVar[str] = "condensing the results"
    request: str
    round: int
    part: int
    within: str = ""


@dataclass(frozen=True, slots=True)
class WriteAnswer:
    """Ask the synthesizer for the answer. `faults` are those that the critic found in the last one; empty: none yet."""

    role: ClassVar[str] = "synthesizer"
    doing: ClassVar[str] = "writing the answer"
    request: str
    faults: tuple[str, ...] = ()
    within: str = ""


@dataclass(frozen=True, slots=True)
class SelectAnswer:
    """Ask the selector for the best of rival results. `faults` are those that the critic found in the last choice."""

    role: ClassVar[str] = "selector"
    doing: ClassVar[str] = "choosing between the results"
    request: str
    faults: tuple[str, ...] = ()
    within: str = ""


@dataclass(frozen=True, slots=True)
class ReviewAnswer:
    """Ask the critic to read the answer before people do. `late`: let it out, there is no time left."""

    role: ClassVar[str] = "critic"
    doing: ClassVar[str] = "reviewing the answer"
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


Step = JudgeConflicts | ReduceMaterial | WriteAnswer | SelectAnswer | ReviewAnswer
"""A step of a role on the way from the results of a run to its answer."""
OfRole = JudgeResult | RefineBrief | Step
"""All that a role does by itself, but for planning, for which it has to know the crew."""
Effect = FetchAttachments | MakePlan | RevisePlan | RunSubtask | OfRole | ReachDeadline | HandUp | Post

ROLES: tuple[str, ...] = tuple(one.role for one in get_args(Effect) if hasattr(one, "role"))
"""The supervisor's roles: each performs one effect, by the module and the prompt of its name in `bot/supervisor/`."""
