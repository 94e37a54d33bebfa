"""A subtask as it goes, and what a crew inside the crew has come to with one. Values only: no rule lives here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from handoff.contracts import (
    Conflict,
    Estimate,
    Member,
    Note,
    Plan,
    Result,
    Subtask,
    Terms,
    Tier,
    Usage,
)
from handoff.doubts import Checkpoint, Doubt, Written, open_intents, written
from handoff.events import ToolStarted
from handoff.policy import Rung, Trouble

T = TypeVar("T")
RequestState = Literal["submitted", "working", "input_required", "synthesizing", "completed", "failed", "cancelled"]
SubtaskState = Literal["pending", "in_progress", "input_required", "complete", "error", "skipped"]

SETTLED: frozenset[SubtaskState] = frozenset({"complete", "error", "skipped"})
NOTHING: Mapping[Any, Any] = MappingProxyType({})
PLAIN = Terms()
"""Where neither the settings nor a crew say otherwise."""

if TYPE_CHECKING:
    from dataclasses import replace as replace  # noqa: PLC0414 - as itself: the type checker knows its fields
else:

    def replace(value: T, /, **changes: Any) -> T:
        """A copy with some fields changed, as `dataclasses.replace` makes it, for the classes here without slots.

        A long log is thousands of these, and it is five times as fast.
        """
        fields = value.__dict__.copy()
        fields.update(changes)
        copy = object.__new__(type(value))
        object.__setattr__(copy, "__dict__", fields)  # the class is frozen
        return copy


@dataclass(frozen=True, slots=True)
class Question:
    """What a subtask asks people. `number` counts its questions from 1; `asked` is seconds since the epoch.

    `doubt`, where there is one, is the call of which people are asked whether it was carried out.
    """

    number: int
    message: str
    options: tuple[str, ...]
    asked: float
    doubt: Doubt | None = None


@dataclass(frozen=True, slots=True)
class Answered:
    """Who answered a question, with what, and when (seconds since the epoch)."""

    question: Question
    user: str
    text: str
    at: float


@dataclass(frozen=True, slots=True)
class Decision:
    """What policy decided, and why, in words for people. `at`: seconds since the epoch; `subtask`: empty for all."""

    at: float
    subtask: str
    what: str
    why: str


@dataclass(frozen=True, slots=True)
class Upset:
    """What a subtask met with that makes its plan doubtful, in its `words`: a finding, or its own failure.

    `within` is the subtask whose own plan that is, empty for that of the request.
    """

    subtask: str
    words: str
    cause: Literal["finding", "failure"]
    within: str = ""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why an attempt, or a request, came to nothing. `step` is a subtask's title or a stage of the job."""

    step: str
    reason: str
    advice: str = ""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A result that is not accepted yet: what is wrong with it, and what somebody should look at, each quoted."""

    result: Result
    faults: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    partial: bool = False


@dataclass(frozen=True)
class Level:
    """What a crew inside a crew has come to with the subtask that it was given: fields of `Ask`, with their meanings.

    `handoff.levels.below` shows them as a request of its own. What is asked of it is never `over` here: it ends with
    the result, or the failure, of the subtask that it is inside. Its time runs from when it began: `planned` says so.
    """

    state: RequestState = "submitted"
    plan: Plan | None = None
    members: Mapping[str, Member] = field(default_factory=lambda: NOTHING)
    rejections: tuple[tuple[str, ...], ...] = ()
    planned: float | None = None
    terms: Terms = PLAIN
    paused: float = 0.0
    waits_since: float | None = None
    unjudged: tuple[str, ...] = ()
    conflicts: tuple[Conflict, ...] | None = None
    reduced: Mapping[tuple[int, int], tuple[Note, ...]] = field(default_factory=lambda: NOTHING)
    let_go: tuple[str, ...] = ()
    draft: str | None = None
    review: tuple[str, ...] | None = None
    answer: str | None = None
    chosen: str = ""
    failure: Failure | None = None


@dataclass(frozen=True)
class Work:
    """One subtask as it goes. Times are seconds since the epoch.

    `attempt_started` moves on by the time that people took to clear a doubt.
    `checkpoints` are what the running attempt can go on from. `reason` says
    why it is in error or skipped. `answers` are people's, kept over attempts,
    and so are `writes`, what earlier attempts wrote or may have written.
    `questions` counts what its specialists asked, `doubts` what the bot did.

    `rungs` were taken of the ladder. `spent` is the seconds of its attempts that are over, `resumed` when the one
    under way was last taken up again. `brief`, where not empty, stands in the place of its intent; `refining` is
    what it is to be rewritten from, after a `trouble`. `look` is a result that somebody should look at, `best` the
    best one that was found wanting in `rounds`, and `wanting` the last.

    `within` is the id of the subtask that it is inside (empty: one of the request's own plan), and `level` what the
    crew has come to that it was given to, while one is at it or after it ended (None: a specialist's).
    """

    subtask: Subtask
    specialist: str
    within: str = ""
    level: Level | None = None
    tier: Tier | None = None
    state: SubtaskState = "pending"
    attempt: int = 0
    not_before: float = 0.0
    started: float | None = None
    attempt_started: float = 0.0
    ended: float | None = None
    checkpoints: tuple[Checkpoint, ...] = ()
    writes: tuple[Written, ...] = ()
    failures: tuple[str, ...] = ()
    reason: str = ""
    question: Question | None = None
    questions: int = 0
    doubts: int = 0
    rungs: tuple[Rung, ...] = ()
    failed_calls: int = 0
    spent: float = 0.0
    resumed: float = 0.0
    brief: str = ""
    refining: str = ""
    trouble: Trouble | None = None
    look: Candidate | None = None
    best: Candidate | None = None
    wanting: Candidate | None = None
    rounds: int = 0
    answered: tuple[Answered, ...] = ()
    answers: tuple[Note, ...] = ()
    result: Result | None = None
    usage: Usage = Usage()
    estimate: Estimate | None = None
    changed: str = ""
    """What a revision of the plan changed in it, and why, in words for people."""
    dropped: bool = False
    """Whether a revision found it needless, so that nothing is missing without it."""
    instead_of: str = ""
    """The id of the subtask that it replaces."""

    @property
    def plan(self) -> Plan | None:
        """The plan of the crew that is at it, once it is made; ids as they stand in `Ask.work`."""
        return self.level.plan if self.level is not None else None

    @property
    def duration(self) -> float:
        """Seconds from its first start to its end, waiting for people included; 0 while it runs."""
        return self.ended - self.started if self.started is not None and self.ended is not None else 0.0

    @property
    def intents(self) -> tuple[ToolStarted, ...]:
        """The calls of tools that write which were begun, and have no outcome."""
        return open_intents(self.checkpoints)

    @property
    def unknown(self) -> tuple[str, ...]:
        """What may or may not have been carried out, each in a few words for people."""
        return tuple(one.what for one in (*self.writes, *written(self.checkpoints)) if not one.known)
