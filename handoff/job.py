"""The state of a job, as `engine.apply` builds it from the log. Values only: no rule lives here.

Dataclasses rather than pydantic models: nothing here crosses a boundary, and
a job is rebuilt with every event.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

from handoff.contracts import Artifact, Member, Note, Place, Plan, Request, Result, Subtask, Tier, Usage
from handoff.events import ToolReturned, TurnTaken

RequestState = Literal["submitted", "working", "input_required", "synthesizing", "completed", "failed", "cancelled"]
SubtaskState = Literal["pending", "in_progress", "input_required", "complete", "error", "skipped"]

ENDED: frozenset[RequestState] = frozenset({"completed", "failed", "cancelled"})
SETTLED: frozenset[SubtaskState] = frozenset({"complete", "error", "skipped"})
NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Question:
    """What a subtask asks people. `number` counts its questions from 1; `asked` is seconds since the epoch."""

    number: int
    message: str
    options: tuple[str, ...]
    asked: float


@dataclass(frozen=True, slots=True)
class Failure:
    """Why an attempt, or a request, came to nothing. `step` is a subtask's title or a stage of the job."""

    step: str
    reason: str
    advice: str = ""


@dataclass(frozen=True, slots=True)
class Work:
    """One subtask as it goes. Times are seconds since the epoch.

    `checkpoints` are the TurnTaken and ToolReturned events of the running
    attempt. `reason` says why it is in error or skipped. `answers` are
    people's, kept over attempts.
    """

    subtask: Subtask
    specialist: str
    tier: Tier | None = None
    state: SubtaskState = "pending"
    attempt: int = 0
    not_before: float = 0.0
    started: float | None = None
    attempt_started: float = 0.0
    ended: float | None = None
    checkpoints: tuple[TurnTaken | ToolReturned, ...] = ()
    failures: tuple[str, ...] = ()
    reason: str = ""
    question: Question | None = None
    questions: int = 0
    answers: tuple[Note, ...] = ()
    result: Result | None = None
    usage: Usage = Usage()

    @property
    def duration(self) -> float:
        """Seconds from its first start to its end, waiting for people included; 0 while it runs."""
        return self.ended - self.started if self.started is not None and self.ended is not None else 0.0


@dataclass(frozen=True, slots=True)
class Ask:
    """One request of a job, from its arrival to its visible end.

    `posted` maps the keys of its messages to their Slack ids (an empty id: it can never be posted).
    `outcome` is how it will end once its last message is in the thread.
    """

    request: Request
    state: RequestState = "submitted"
    refusal: str = ""
    fetched: bool = False
    artifacts: tuple[Artifact, ...] = ()
    file_faults: tuple[str, ...] = ()
    plan: Plan | None = None
    members: Mapping[str, Member] = field(default_factory=lambda: NOTHING)
    rejections: tuple[tuple[str, ...], ...] = ()
    planned: float | None = None
    work: Mapping[str, Work] = field(default_factory=lambda: NOTHING)
    answer: str | None = None
    failure: Failure | None = None
    cancelled_by: str = ""
    posted: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    usage: Usage = Usage()
    written: float | None = None
    ended: float | None = None

    @property
    def id(self) -> str:
        """The request's id: the `ts` of its message."""
        return self.request.id

    @property
    def over(self) -> bool:
        """Whether people have seen its end."""
        return self.state in ENDED

    @property
    def missing(self) -> tuple[Work, ...]:
        """The subtasks that brought no result."""
        return tuple(work for work in self.work.values() if work.state in {"error", "skipped"})

    @property
    def gaps(self) -> tuple[str, ...]:
        """What the answer lacks, each in words fit for people."""
        lines = [f"{work.subtask.title}: {work.reason}" for work in self.missing]
        lines += [gap for work in self.work.values() if work.result is not None for gap in work.result.gaps]
        return (*self.file_faults, *dict.fromkeys(lines))

    @property
    def side_by_side(self) -> float:
        """The gain: the sum of subtask times over the wall time from the first start to the last end."""
        works = [work for work in self.work.values() if work.started is not None and work.ended is not None]
        if len(works) < 2:
            return 1.0
        wall = max(work.ended or 0.0 for work in works) - min(work.started or 0.0 for work in works)
        return sum(work.duration for work in works) / wall if wall > 0 else 1.0


@dataclass(frozen=True, slots=True)
class Job:
    """A thread and everything asked in it. `seq` is the number of events folded in."""

    place: Place
    asks: tuple[Ask, ...] = ()
    seq: int = 0

    @property
    def id(self) -> str:
        """The job's id, which follows from its place."""
        return self.place.job_id

    @property
    def current(self) -> Ask | None:
        """The first request that has not ended: requests of one thread are worked on in order."""
        return next((ask for ask in self.asks if not ask.over), None)

    @property
    def latest(self) -> Ask:
        """The current request, or the last one where all have ended."""
        return self.current or self.asks[-1]

    def ask(self, request_id: str) -> Ask | None:
        """The request of that id, or None."""
        return next((ask for ask in self.asks if ask.id == request_id), None)
