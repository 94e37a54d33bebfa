"""The state of a job, as `engine.apply` builds it from the log. Values only: no rule lives here.

Dataclasses rather than pydantic models: nothing here crosses a boundary, and
a job is rebuilt with every event.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from handoff.contracts import Artifact, Member, Note, Place, Plan, Request, Result, Subtask, Tier, Usage
from handoff.doubts import PLEASE_CHECK, Checkpoint, Doubt, Written, open_intents, written
from handoff.events import ToolStarted

T = TypeVar("T")
RequestState = Literal["submitted", "working", "input_required", "synthesizing", "completed", "failed", "cancelled"]
SubtaskState = Literal["pending", "in_progress", "input_required", "complete", "error", "skipped"]

ENDED: frozenset[RequestState] = frozenset({"completed", "failed", "cancelled"})
SETTLED: frozenset[SubtaskState] = frozenset({"complete", "error", "skipped"})
NOTHING: Mapping[str, Any] = MappingProxyType({})

if TYPE_CHECKING:
    from dataclasses import replace as replace  # noqa: PLC0414 - as itself: the type checker knows its fields
else:

    def replace(value: T, /, **changes: Any) -> T:
        """A copy with some fields changed, as `dataclasses.replace` makes it, for the classes here without slots.

        A long log is thousands of these, and it is five times as fast.
        """
        copy = object.__new__(type(value))
        copy.__dict__.update(value.__dict__, **changes)
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
class Decision:
    """Who answered a question, with what, and when (seconds since the epoch)."""

    question: Question
    user: str
    text: str
    at: float


@dataclass(frozen=True, slots=True)
class Failure:
    """Why an attempt, or a request, came to nothing. `step` is a subtask's title or a stage of the job."""

    step: str
    reason: str
    advice: str = ""


@dataclass(frozen=True)
class Work:
    """One subtask as it goes. Times are seconds since the epoch.

    `attempt_started` moves on by the time that people took to clear a doubt.
    `checkpoints` are what the running attempt can go on from. `reason` says
    why it is in error or skipped. `answers` are people's, kept over attempts,
    and so are `writes`, what earlier attempts wrote or may have written.
    `questions` counts what its specialists asked, `doubts` what the bot did.
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
    checkpoints: tuple[Checkpoint, ...] = ()
    writes: tuple[Written, ...] = ()
    failures: tuple[str, ...] = ()
    reason: str = ""
    question: Question | None = None
    questions: int = 0
    doubts: int = 0
    decisions: tuple[Decision, ...] = ()
    answers: tuple[Note, ...] = ()
    result: Result | None = None
    usage: Usage = Usage()

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


@dataclass(frozen=True)
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
        lines += [f"{PLEASE_CHECK}: {what}" for what in self.unknown]
        return (*self.file_faults, *dict.fromkeys(lines))

    @property
    def unknown(self) -> tuple[str, ...]:
        """What its subtasks began to write and nobody knows the end of, each in a few words for people."""
        return tuple(what for work in self.work.values() for what in work.unknown)

    @property
    def side_by_side(self) -> float:
        """The gain: the sum of subtask times over the wall time from the first start to the last end."""
        works = [work for work in self.work.values() if work.started is not None and work.ended is not None]
        if len(works) < 2:
            return 1.0
        wall = max(work.ended or 0.0 for work in works) - min(work.started or 0.0 for work in works)
        return sum(work.duration for work in works) / wall if wall > 0 else 1.0


@dataclass(frozen=True)
class Job:
    """A thread and everything asked in it. `seq` is the number of events folded in.

    `takeovers` counts the owners that were lost. `aside`, where the job was set aside, is the step and the reason.
    """

    place: Place
    asks: tuple[Ask, ...] = ()
    seq: int = 0
    takeovers: int = 0
    aside: Failure | None = None

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
        place = self.place_of(request_id)
        return None if place is None else self.asks[place]

    def place_of(self, request_id: str) -> int | None:
        """Where in `asks` the request of that id is. The last ones are looked at first: most events are of those."""
        for place in range(len(self.asks) - 1, -1, -1):
            if self.asks[place].request.id == request_id:
                return place
        return None
