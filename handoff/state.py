"""The state of a job, as `engine.apply` builds it from the log. Values only: no rule lives here.

Dataclasses rather than pydantic models: nothing here crosses a boundary, and
a job is rebuilt with every event.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from handoff.contracts import (
    Artifact,
    Conflict,
    EscalationReason,
    Estimate,
    Member,
    Note,
    Place,
    Plan,
    Request,
    Result,
    Subtask,
    Terms,
    Tier,
    Usage,
)
from handoff.events import FailureKind, ToolReturned, ToolStarted, TurnTaken

T = TypeVar("T")
RequestState = Literal["submitted", "working", "input_required", "synthesizing", "completed", "failed", "cancelled"]
"""Where a run stands; only the request's own run comes to the last three.

- `submitted`: there is no plan yet.
- `working`: a subtask runs, or can begin.
- `input_required`: everything that is left waits for people.
- `synthesizing`: all subtasks have ended, and the answer is in the making or on its way to the thread.
- `completed`: people see the answer, whole or in part.
- `failed`: people see why there is no answer.
- `cancelled`: a person stopped it, and people see the report.
"""
SubtaskState = Literal["pending", "in_progress", "input_required", "complete", "error", "skipped"]
"""Where a subtask stands.

- `pending`: it waits for others, for its next attempt, or for a rewritten brief.
- `in_progress`: an attempt runs, a crew works on it, or its result is being looked at.
- `input_required`: it waits for a person's answer.
- `complete`: it has a result.
- `error`: its attempts brought nothing.
- `skipped`: it never began, or a revision of the plan dropped it.
"""

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


Trouble = FailureKind | EscalationReason | Literal["passing"]
"""What went wrong with an attempt. `passing`: a fault of the provider's that is likely to go away."""
Rung = Literal["retry", "refine", "stronger", "fallback", "replan", "ask", "without"]

PLEASE_CHECK = "unknown, please check"
"""How people are told of a call that may or may not have been carried out."""

DoubtVerdict = Literal["happened", "not_happened", "stop", "words"]
"""What a person's answer says. `words`: something else, which settles nothing."""


@dataclass(frozen=True, slots=True)
class UnknownWrite:
    """A call of a tool that writes of which nobody knows whether it was carried out: people are asked.

    `call` is its id in the turn, `what` says in a few words for people what it does, `reason` why nobody knows, and
    `usage` is what its attempt had spent by then.
    """

    call: str
    tool: str
    what: str
    reason: str
    usage: Usage = Usage()


@dataclass(frozen=True, slots=True)
class Checked:
    """A person's word on a call that was in doubt; a checkpoint, in the place of the call's outcome."""

    at: float
    call: str
    verdict: DoubtVerdict
    user: str
    words: str


@dataclass(frozen=True, slots=True)
class Written:
    """A call of an attempt that is over, which must not be made again.

    `known`: it was carried out for certain, else it may have been. `came_of_it` is its reply, or people's words.
    """

    what: str
    digest: str
    known: bool
    came_of_it: str


Checkpoint = TurnTaken | ToolReturned | ToolStarted | Checked
"""One step of an attempt, kept so that the next owner goes on after it."""


@dataclass(frozen=True, slots=True)
class Question:
    """A subtask's question to people. `number` counts its questions from 1; `asked` is seconds since the epoch.

    `whom` are the ids of the people who may answer it; empty: anybody in the thread. `doubt`, if there is one, is the
    tool call that people are asked about: was it carried out?
    """

    number: int
    message: str
    options: tuple[str, ...]
    asked: float
    whom: tuple[str, ...] = ()
    doubt: UnknownWrite | None = None

    def may_answer(self, user: str) -> bool:
        """True if an answer by that person counts."""
        return not self.whom or user in self.whom


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
class ReplanTrigger:
    """A reason to ask the planner again, in a subtask's own `words`: what it found, or its failure.

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
class Run:
    """One plan under way: that of a request, or that of a crew at a subtask of the plan around it.

    `within` is that subtask's id, empty for the request's own run. `since` is when its time began to run: with the
    plan of a request, with the attempt of a crew. `paused` is the seconds in which nobody could work on it, and
    `waits_since` when it began to wait for people. All times are seconds since the epoch.

    From results to the answer: `conflicts` is what the arbiter left of the claims that may contradict each other
    (None: it has not looked), `unjudged` those too many for it; `reduced` the condensed notes by round and part, and
    `left_out` what they lack; `draft` an answer that the critic reads first, `review` its faults (None: it has not
    read it); `chosen` the subtask whose result was picked among rivals. `answer` or `failure` is how it came out, at
    `written`.
    """

    within: str = ""
    state: RequestState = "submitted"
    plan: Plan | None = None
    members: Mapping[str, Member] = field(default_factory=lambda: NOTHING)
    rejections: tuple[tuple[str, ...], ...] = ()
    terms: Terms = PLAIN
    since: float | None = None
    paused: float = 0.0
    waits_since: float | None = None
    unjudged: tuple[str, ...] = ()
    conflicts: tuple[Conflict, ...] | None = None
    reduced: Mapping[tuple[int, int], tuple[Note, ...]] = field(default_factory=lambda: NOTHING)
    left_out: tuple[str, ...] = ()
    draft: str | None = None
    review: tuple[str, ...] | None = None
    chosen: str = ""
    answer: str | None = None
    failure: Failure | None = None
    written: float | None = None

    @property
    def concluded(self) -> bool:
        """True once its answer or its failure is fixed."""
        return self.answer is not None or self.failure is not None

    @property
    def deadline(self) -> float | None:
        """When its time is up; None before the time runs, and while it waits for people."""
        if self.since is None or self.waits_since is not None:
            return None
        return self.since + self.terms.job_seconds + self.paused


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

    `within` is the id of the subtask that it is inside (empty: one of the request's own plan), and `run` the run of
    the crew that it was given to, while that crew works on it or after it ended (None: a specialist's).
    """

    subtask: Subtask
    specialist: str
    within: str = ""
    run: Run | None = None
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
    def brief_text(self) -> str:
        """What its specialist is asked for: the rewritten brief, or the intent of the plan."""
        return self.brief or self.subtask.intent

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


ENDED: frozenset[RequestState] = frozenset({"completed", "failed", "cancelled"})


@dataclass(frozen=True)
class Ask:
    """One request of a job, from its arrival to its visible end.

    `run` is its plan under way. `work` holds the subtasks of all runs by id: its own, and those of the crews inside.
    `posted` maps the keys of its messages to their Slack ids (an empty id: it can never be posted). `replans` are the
    triggers that the planner is still to be asked about, one after the other; it was asked `revisions` times.
    """

    request: Request
    run: Run = Run()
    work: Mapping[str, Work] = field(default_factory=lambda: NOTHING)
    refusal: str = ""
    fetched: bool = False
    artifacts: tuple[Artifact, ...] = ()
    file_faults: tuple[str, ...] = ()
    decisions: tuple[Decision, ...] = ()
    replans: tuple[ReplanTrigger, ...] = ()
    revisions: int = 0
    cancelled_by: str = ""
    posted: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    usage: Usage = Usage()
    ended: float | None = None

    @property
    def id(self) -> str:
        """The request's id: the `ts` of its message."""
        return self.request.id

    @property
    def state(self) -> RequestState:
        """The state of its own run."""
        return self.run.state

    @property
    def over(self) -> bool:
        """True once people have seen its end."""
        return self.run.state in ENDED

    def run_of(self, within: str) -> Run:
        """The run of the crew at that subtask; the request's own for an empty id.

        Raises KeyError if there is no such subtask, ValueError if no crew has begun to work on it.
        """
        run = self.work[within].run if within else self.run
        if run is None:
            raise ValueError(f"no crew works on subtask {within}")
        return run

    def with_run(self, run: Run) -> Ask:
        """The request with that run in the place of the one before."""
        if not run.within:
            return replace(self, run=run)
        return self.with_work(replace(self.work[run.within], run=run))

    def with_work(self, work: Work) -> Ask:
        """The request with that subtask as it is now."""
        return replace(self, work=MappingProxyType({**self.work, work.subtask.id: work}))

    def inside(self, within: str) -> tuple[Work, ...]:
        """The subtasks of one run: of the crew at that subtask, or of the request itself for an empty id."""
        return tuple([work for work in self.work.values() if work.within == within])

    def all_inside(self, within: str) -> tuple[Work, ...]:
        """The subtasks of a run and of all runs inside it, each before those inside it."""
        found: tuple[Work, ...] = ()
        for work in self.inside(within):
            found += (work, *(self.all_inside(work.subtask.id) if work.run is not None else ()))
        return found

    @property
    def unknown(self) -> tuple[str, ...]:
        """What its subtasks began to write and nobody knows the end of, each in a few words for people."""
        return tuple(what for work in self.work.values() for what in work.unknown)


@dataclass(frozen=True)
class Job:
    """A thread and everything asked in it. `seq` is the number of events folded in.

    `takeovers` counts the owners that were lost. `quarantine`, while the job is in it, is the step and the reason.
    """

    place: Place
    asks: tuple[Ask, ...] = ()
    seq: int = 0
    takeovers: int = 0
    quarantine: Failure | None = None

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


def open_intents(checkpoints: Sequence[Checkpoint]) -> tuple[ToolStarted, ...]:
    """List the intents that have no outcome, oldest first."""
    return tuple(intent for intent, end in _writes(checkpoints) if end is None)


def written(checkpoints: Sequence[Checkpoint]) -> tuple[Written, ...]:
    """List what an attempt wrote, or may have written, in order."""
    kept = (_written(intent, end) for intent, end in _writes(checkpoints))
    return tuple(one for one in kept if one is not None)


def _writes(checkpoints: Iterable[Checkpoint]) -> list[tuple[ToolStarted, ToolReturned | Checked | None]]:
    """Pair each intent with its end. An id may come again in later turns: the first open intent of it is meant."""
    found: list[tuple[ToolStarted, ToolReturned | Checked | None]] = []
    for point in checkpoints:
        if isinstance(point, ToolStarted):
            found.append((point, None))
        elif isinstance(point, ToolReturned | Checked):
            call = point.call if isinstance(point, Checked) else point.reply.call_id
            for index, (intent, end) in enumerate(found):
                if end is None and intent.call == call:
                    found[index] = (intent, point)
                    break
    return found


def _written(intent: ToolStarted, end: ToolReturned | Checked | None) -> Written | None:
    """Say what the call came to; None if it certainly was not carried out."""
    if isinstance(end, ToolReturned):
        return None if end.reply.failed else Written(intent.what, intent.digest, True, end.reply.text)
    if isinstance(end, Checked) and end.verdict == "not_happened":
        return None
    known = isinstance(end, Checked) and end.verdict == "happened"
    return Written(intent.what, intent.digest, known, end.words if isinstance(end, Checked) else "")
