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
    """What a subtask asks people. `number` counts its questions from 1; `asked` is seconds since the epoch.

    `doubt`, where there is one, is the call of which people are asked whether it was carried out.
    """

    number: int
    message: str
    options: tuple[str, ...]
    asked: float
    doubt: UnknownWrite | None = None


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

    `handoff.engine.nested.below` shows them as a request of its own. What is asked of it is never `over` here: it
    ends with the result, or the failure, of the subtask that it is inside. Its time runs from `planned`.
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


ENDED: frozenset[RequestState] = frozenset({"completed", "failed", "cancelled"})
UNJUDGED = 5
"""Of the claims that nobody judged, those that people are told by name."""


@dataclass(frozen=True)
class Ask:
    """One request of a job, from its arrival to its visible end.

    `posted` maps the keys of its messages to their Slack ids (an empty id: it can never be posted). `paused` is the
    seconds in which nobody could work on it, `waits_since` when it began to wait for people. `conflicts` is what the
    arbiter left of the claims that may contradict each other (None: it has not looked) and `unjudged` those too many
    for it; `reduced` the condensed notes by round and part and `let_go` what they lack, `draft` an answer that the
    critic reads first, and `review` its faults (None: it has not). `chosen` is the subtask whose result was picked
    among rivals.

    `within`, where it is a crew inside a crew that is looked at, is the subtask that it is at.
    `revising` is what the planner is still to be asked about, one after the other; it was asked `revisions` times.
    """

    request: Request
    within: str = ""
    state: RequestState = "submitted"
    refusal: str = ""
    fetched: bool = False
    artifacts: tuple[Artifact, ...] = ()
    file_faults: tuple[str, ...] = ()
    plan: Plan | None = None
    members: Mapping[str, Member] = field(default_factory=lambda: NOTHING)
    rejections: tuple[tuple[str, ...], ...] = ()
    planned: float | None = None
    terms: Terms = PLAIN
    paused: float = 0.0
    waits_since: float | None = None
    work: Mapping[str, Work] = field(default_factory=lambda: NOTHING)
    decisions: tuple[Decision, ...] = ()
    unjudged: tuple[str, ...] = ()
    conflicts: tuple[Conflict, ...] | None = None
    reduced: Mapping[tuple[int, int], tuple[Note, ...]] = field(default_factory=lambda: NOTHING)
    let_go: tuple[str, ...] = ()
    draft: str | None = None
    review: tuple[str, ...] | None = None
    revising: tuple[Upset, ...] = ()
    revisions: int = 0
    answer: str | None = None
    chosen: str = ""
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
    def own(self) -> tuple[Work, ...]:
        """The subtasks of its own plan, without those inside them."""
        within = self.within
        return tuple([work for work in self.work.values() if work.within == within])

    @property
    def missing(self) -> tuple[Work, ...]:
        """The subtasks that brought no result. What is missing inside a subtask is a gap of its result."""
        return tuple(work for work in self.own if work.state in {"error", "skipped"} and not work.dropped)

    @property
    def out_of_reach(self) -> tuple[str, ...]:
        """What no work could bring, in words: files that could not be had, and what nobody in the crew can do."""
        missing = self.plan.missing if self.plan else ()
        return (*self.file_faults, *(f"nobody in the crew can {part}" for part in missing))

    @property
    def gaps(self) -> tuple[str, ...]:
        """What the answer lacks, each in words fit for people."""
        lines = [f"{work.subtask.title}: {work.reason}" for work in self.missing]
        lines += [gap for work in self.own if work.result is not None for gap in self._gaps_of(work, work.result)]
        if self.let_go:
            lines.append(f"{len(self.let_go)} passages of long results could not be read or kept in full")
        if self.unjudged:
            claims = "; ".join(self.unjudged[:UNJUDGED]) + ("; …" if len(self.unjudged) > UNJUDGED else "")
            lines.append(f"{len(self.unjudged)} more statements may contradict each other, unjudged: {claims}")
        if not self.within:  # it is named once, on the outermost level
            lines += [f"{PLEASE_CHECK}: {what}" for what in self.unknown]
        return tuple(dict.fromkeys((*self.out_of_reach, *lines)))

    def _gaps_of(self, work: Work, result: Result) -> list[str]:
        """Those of one result, by its title where there are several."""
        title = work.subtask.title
        alone = len(self.own) == 1
        return [gap if alone or gap.startswith(title) else f"{title}: {gap}" for gap in result.gaps]

    @property
    def sureness(self) -> int | None:
        """How sure the answer is, 0 to 100: as its least sure part that was handed in whole. None without any."""
        sure = [work.result.confidence for work in self.own if work.result and work.result.confidence]
        return min(sure) if sure else None

    @property
    def deadline(self) -> float | None:
        """When its time is up, in seconds since the epoch; None before there is a plan, and while it waits."""
        if self.planned is None or self.waits_since is not None:
            return None
        return self.planned + self.terms.job_seconds + self.paused

    @property
    def unknown(self) -> tuple[str, ...]:
        """What its subtasks began to write and nobody knows the end of, each in a few words for people."""
        return tuple(what for work in self.work.values() for what in work.unknown)

    @property
    def side_by_side(self) -> float:
        """The gain: the sum of subtask times over the wall time from the first start to the last end."""
        around = {work.within for work in self.work.values()}  # what others are inside of is not counted beside them
        works = [
            work
            for work in self.work.values()
            if work.started is not None and work.ended is not None and work.subtask.id not in around
        ]
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
