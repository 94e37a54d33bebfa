"""The state of a job, as `handoff.engine.engine` builds it from the log. Values only: the rules are in the engine.

From the outside in: a `Job` is a thread, a `RequestState` is one request in it, a `PlanRun` is one plan under way, and
a `SubtaskState` is one subtask of a plan. Dataclasses rather than pydantic models: nothing here crosses a boundary, and
a job is rebuilt with every event.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from handoff.approval_values import Approval, RulingOutcome
from handoff.contracts import (
    Artifact,
    Estimate,
    Material,
    Member,
    Note,
    PackedSize,
    Place,
    Plan,
    PrivateSource,
    Request,
    RequestSetting,
    Result,
    Subtask,
    Terms,
    Tier,
    Usage,
)
from handoff.conversation.retry_words import RetryRef
from handoff.events import AnswerVerified, ToolReturned, ToolStarted
from handoff.state.derived_values import CACHE_KEY, cache_on_value
from handoff.state.state_values import (
    Candidate,
    CheckedWrite,
    Checkpoint,
    Correction,
    DeletedCopy,
    EarlierWrite,
    EngineDecision,
    Failure,
    FailureCause,
    HeardMessage,
    Question,
    QuestionAnswer,
    RecoveryStep,
    ReplanTrigger,
    Ruling,
    ThreadTalk,
    list_private_sources,
)

T = TypeVar("T")
RequestStatus = Literal["submitted", "working", "input_required", "synthesizing", "completed", "failed", "cancelled"]
"""The state of a run. Only the request's own run reaches the last three states.

- `submitted`: there is no plan yet.
- `working`: a subtask runs, or can begin.
- `input_required`: everything that is left waits for people.
- `synthesizing`: all subtasks have ended, and the answer is being made or is on its way to the thread.
- `completed`: people see the answer, whole or in part.
- `failed`: people see why there is no answer.
- `cancelled`: a person stopped it, and people see the report.
"""
SubtaskStatus = Literal["pending", "in_progress", "input_required", "complete", "error", "skipped"]
"""The state of a subtask.

- `pending`: it waits for other subtasks, for its next attempt, or for a rewritten brief.
- `in_progress`: an attempt runs, or a crew works on it.
- `input_required`: it waits for a person's answer.
- `complete`: it has a result.
- `error`: its attempts brought no result.
- `skipped`: it never began, or a revision of the plan dropped or replaced it.
"""

SETTLED: frozenset[SubtaskStatus] = frozenset({"complete", "error", "skipped"})
NOTHING: Mapping[Any, Any] = MappingProxyType({})
DEFAULT_TERMS = Terms()
"""The terms that hold if neither the settings nor a crew say otherwise."""

if TYPE_CHECKING:
    from dataclasses import replace as replace  # noqa: PLC0414 - as itself: the type checker knows its fields
else:

    def replace(value: T, /, **changes: Any) -> T:
        """Copy `value` with some fields changed, like `dataclasses.replace`, for the classes here without slots.

        With that one, reading a long log takes more than twice as long: it makes thousands of copies.
        """
        fields = value.__dict__.copy()
        fields.pop(CACHE_KEY, None)
        fields.update(changes)
        copy = object.__new__(type(value))
        object.__setattr__(copy, "__dict__", fields)  # the class is frozen
        return copy


@dataclass(frozen=True)
class PlanRun:
    """One plan under way: the plan of a request, or the plan of a crew that works on a subtask.

    `within` is the id of that subtask; empty: the request's own run. `fixed`: the plan is the crew's pipeline.
    `is_first`: it is the crew's first responder alone, and `handed_over` is why that passed it on to the planner.
    `since` is when its time began to run: for a request when its plan was made, for a crew when the attempt began.
    `paused` is the seconds in which nobody could work on it, and `waits_since` is when it began to wait for people. All
    times are seconds since the epoch.

    On the way from the results to the answer: `reduced` holds the condensed notes by round and part, and `left_out`
    names what they lack. `draft` is an answer that is read or written once more (`is_rewritten`: it was), and
    `verified` is what the verifier found in it (None: it has not read it). `unsupported` are figures of the draft or
    answer that no source has, and `invented` those of the draft that no result has either. `chosen` is the subtask
    whose result was picked among rivals. The run ends with an `answer` or a `failure`, at `written`.
    """

    within: str = ""
    state: RequestStatus = "submitted"
    plan: Plan | None = None
    fixed: bool = False
    is_first: bool = False
    handed_over: str = ""
    members: Mapping[str, Member] = field(default_factory=lambda: NOTHING)
    rejections: tuple[tuple[str, ...], ...] = ()
    terms: Terms = DEFAULT_TERMS
    since: float | None = None
    paused: float = 0.0
    waits_since: float | None = None
    reduced: Mapping[tuple[int, int], tuple[Note, ...]] = field(default_factory=lambda: NOTHING)
    left_out: tuple[str, ...] = ()
    draft: str | None = None
    is_rewritten: bool = False
    verified: AnswerVerified | None = None
    unsupported: tuple[str, ...] = ()
    invented: tuple[str, ...] = ()
    workings: tuple[str, ...] = ()
    chosen: str = ""
    answer: str | None = None
    failure: Failure | None = None
    written: float | None = None

    @property
    def is_concluded(self) -> bool:
        """True once the answer or the failure is fixed."""
        return self.answer is not None or self.failure is not None

    @property
    def deadline(self) -> float | None:
        """The time at which the run's time is up; None before its time runs, and while it waits for people."""
        if self.since is None or self.waits_since is not None:
            return None
        return self.since + self.terms.job_seconds + self.paused


@dataclass(frozen=True)
class SubtaskState:
    """One subtask and how far it is. Times are seconds since the epoch.

    The attempts: `attempt_started` moves on by the time that people took to settle a doubt. `checkpoints` are the
    steps of the running attempt. `writes` are the calls that earlier attempts made or may have made. `spent` is the
    seconds that finished attempts and pauses took, and `resumed` is when the running attempt was last taken up again.
    `failed_calls` counts model calls that brought nothing.

    People: `questions` counts the questions that its specialists asked or the ladder asked for them, `doubts` those
    about calls in doubt, and `approvals` what people were asked to approve. `cost_approved`: they approved what it is
    likely to cost. `answers` are people's answers, kept over attempts.

    Trouble: `rungs` are the rungs of the ladder that were taken, and `tried` the specialists that had the subtask
    before the present one. `brief`, if not empty, replaces the intent of the plan. `refining` is the error from which
    the brief is to be rewritten, and `trouble` is the trouble that led to a rewrite or a replan. `reason` says why the
    subtask is in error or skipped.

    Results on the way to acceptance: `wanting` is the last result that was sent back, `best` the best one so far, and
    `rounds` counts the results that were found wanting.

    `within` is the id of the subtask that it is inside; empty: it belongs to the request's own plan. `run` is the run
    of the crew that works or worked on it; None: a specialist works on it.
    """

    subtask: Subtask
    specialist: str
    within: str = ""
    run: PlanRun | None = None
    tier: Tier | None = None
    state: SubtaskStatus = "pending"
    attempt: int = 0
    not_before: float = 0.0
    started: float | None = None
    attempt_started: float = 0.0
    ended: float | None = None
    checkpoints: tuple[Checkpoint, ...] = ()
    writes: tuple[EarlierWrite, ...] = ()
    failures: tuple[str, ...] = ()
    reason: str = ""
    question: Question | None = None
    questions: int = 0
    doubts: int = 0
    approvals: int = 0
    cost_approved: bool = False
    rungs: tuple[RecoveryStep, ...] = ()
    tried: tuple[str, ...] = ()
    failed_calls: int = 0
    spent: float = 0.0
    resumed: float = 0.0
    brief: str = ""
    refining: str = ""
    trouble: FailureCause | None = None
    best: Candidate | None = None
    wanting: Candidate | None = None
    rounds: int = 0
    answered: tuple[QuestionAnswer, ...] = ()
    answers: tuple[Note, ...] = ()
    result: Result | None = None
    usage: Usage = Usage()
    estimate: Estimate | None = None
    changed: str = ""
    """The change that a revision of the plan made to the subtask, and its reason, in words for people."""
    dropped: bool = False
    """True if a revision, or its own `only_for`, made the subtask needless, so that nothing is missing without it."""
    handed_over: bool = False
    """True if it is that of a first responder who gave the request to the planner: no step that people are shown."""
    instead_of: str = ""
    """The id of the subtask that this one replaces."""
    private: bool = False
    """True if a tool gave something private in an attempt that is over, see `handoff.briefs.provenance`."""
    sources: tuple[PrivateSource, ...] = ()
    """What it gave that was private."""
    kept: bool = False
    """True if a second try took it over with its result: nobody works on it again."""

    @property
    def brief_text(self) -> str:
        """The brief of the specialist: the rewritten one, or the intent of the plan."""
        return self.brief or self.subtask.intent

    @property
    def duration(self) -> float:
        """Seconds from the first start to the end, waits for people included; 0 while the subtask runs."""
        return self.ended - self.started if self.started is not None and self.ended is not None else 0.0

    def end_attempt(
        self, took: float = 0.0, *, private: bool | None = None, sources: tuple[PrivateSource, ...] = ()
    ) -> SubtaskState:
        """Drop the attempt's checkpoints and add its seconds, but keep its tool writes (carried out or in doubt).

        `private` says whether a tool gave it something private, and `sources` what; None: its checkpoints say both. For
        a crew, its own subtasks keep that.
        """
        if private is None:
            private, sources = self.has_read_private, self.private_sources
        else:
            mine = self.run is None
            private, sources = self.private or (private and mine), (*self.sources, *(sources if mine else ()))
        over = replace(self, checkpoints=(), writes=self.own_writes, spent=self.spent + took, resumed=0.0)
        return replace(over, private=private, sources=tuple(dict.fromkeys(sources)))

    @property
    def has_read_private(self) -> bool:
        """True if a tool gave something private in this attempt or an earlier one."""
        return self.private or any(isinstance(point, ToolReturned) and point.private for point in self.checkpoints)

    @property
    def private_sources(self) -> tuple[PrivateSource, ...]:
        """The private sources that tools gave it, in this attempt and in earlier ones."""
        return tuple(dict.fromkeys((*self.sources, *list_private_sources(self.checkpoints))))

    @property
    def last_question_number(self) -> int:
        """The number of the last question to people about it, of whatever kind; 0: nobody was asked."""
        return self.questions + self.doubts + self.approvals

    @property
    def intents(self) -> tuple[ToolStarted, ...]:
        """Calls of writing tools that were begun and have no outcome yet."""
        return list_open_intents(self.checkpoints)

    @property
    def own_writes(self) -> tuple[EarlierWrite, ...]:
        """What its attempts wrote, or may have written, in order."""
        return (*self.writes, *list_written_calls(self.checkpoints))

    @property
    def unknown_writes(self) -> tuple[str, ...]:
        """Calls that may or may not have been carried out, each in a few words for people."""
        return tuple(one.what for one in self.own_writes if not one.known)

    @property
    def unapproved_calls(self) -> tuple[tuple[Approval, RulingOutcome], ...]:
        """Calls that people denied or did not decide on, unless they approved a later call of the same tool.

        A later call is one that was asked for after the denial, not beside it in the same turn.
        """
        found: dict[tuple[str, str], tuple[Approval, Ruling]] = {}
        for one in self.answered:
            approval, ruling = one.question.approval, one.ruling
            if approval is None or ruling is None or approval.kind == "cost":
                continue
            for call in approval.calls:
                if ruling.is_approved:
                    asked = one.question.asked
                    found = {key: each for key, each in found.items() if key[0] != call.tool or each[1].at >= asked}
                else:
                    found[call.tool, call.digest] = (call, ruling)
        return tuple((call, ruling.outcome) for call, ruling in found.values())


ENDED: frozenset[RequestStatus] = frozenset({"completed", "failed", "cancelled"})
CORRECTIONS_HEADING = "Said since then, by the same person:"
"""What stands before a correction in the text of its request."""
ENDED_KEY = "_over"
"""The key in a job's `__dict__` of its first requests that are known to have ended. `replace` hands them to copies."""


@dataclass(frozen=True)
class RequestState:
    """One request of a job, from its arrival to its visible end.

    `run` is the request's own run. `work` holds the subtasks of all its runs by id, those of the crews inside
    included. `materials` is what was fetched and read for it. `posted` maps the keys of its messages to their Slack ids
    (an empty id: it can never be posted). `replans` are triggers that the planner is still to be asked about, one after
    the other, and `revisions` counts how often it was asked. `question` is the planner's open question, and `answered`
    the one that it had answered.
    `setting` says who asks and where; None: nobody has looked yet. `speakers` are the Slack ids of those who wrote in
    the thread before. `correction_messages` are the messages that correct the request, the oldest first. `changes` are
    the words in which those who work on it are told of each change, edits of the request included. `edited` is
    the stamp of the last edit. `withdrawn`: its message was deleted.
    A second try takes up `before`, as `again` says; its words are those of that request. `done` are the calls of the
    tries before it that are not made again.
    """

    request: Request
    run: PlanRun = PlanRun()
    work: Mapping[str, SubtaskState] = field(default_factory=lambda: NOTHING)
    refusal: str = ""
    gathered: bool = False
    materials: tuple[Material, ...] = ()
    file_faults: tuple[str, ...] = ()
    setting: RequestSetting | None = None
    speakers: tuple[str, ...] = ()
    question: Question | None = None
    answered: tuple[QuestionAnswer, ...] = ()
    decisions: tuple[EngineDecision, ...] = ()
    replans: tuple[ReplanTrigger, ...] = ()
    revisions: int = 0
    cancelled_by: str = ""
    withdrawn: bool = False
    correction_messages: tuple[Correction, ...] = ()
    changes: tuple[str, ...] = ()
    edited: float = 0.0
    posted: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    usage: Usage = Usage()
    ended: float | None = None
    again: RetryRef | None = None
    before: RequestState | None = None
    done: tuple[EarlierWrite, ...] = ()

    @property
    def id(self) -> str:
        """The request's id: the `ts` of its message."""
        return self.request.id

    @property
    def text(self) -> str:
        """What is asked: the words of the request's own message, and below them its corrections."""
        later = (f"{CORRECTIONS_HEADING} {one.text}" for one in self.correction_messages)
        return "\n\n".join((self.request.text, *later)) if self.correction_messages else self.request.text

    @property
    def artifacts(self) -> tuple[Artifact, ...]:
        """The files that people attached, as far as they could be had."""
        return tuple(one.file for one in self.materials if one.file is not None)

    @property
    def state(self) -> RequestStatus:
        """The state of the request's own run."""
        return self.run.state

    @property
    def corrections(self) -> int:
        """The number of times that the requester changed the request while it was under way."""
        return len(self.changes)

    @property
    def answers(self) -> tuple[Note, ...]:
        """The requester's answers to the planner."""
        return tuple(one.note for one in self.answered if not one.question.second_try)

    @property
    def tries(self) -> tuple[RequestState, ...]:
        """The earlier tries at the same request, the latest first; none if it is no second try."""
        return () if self.before is None else (self.before, *self.before.tries)

    @property
    def open_questions(self) -> Mapping[str, Question]:
        """The questions that wait for people, by subtask; that of the planner has an empty id."""
        if self.run.is_concluded:
            return NOTHING
        own = {"": self.question} if self.question is not None else {}
        waiting = (work for work in self.work.values() if work.state == "input_required")
        return own | {work.subtask.id: work.question for work in waiting if work.question is not None}

    @property
    def asks_for_costs(self) -> bool:
        """True if the terms of a run have costly subtasks approved before they begin."""
        runs = (self.run, *(work.run for work in self.work.values() if work.run is not None))
        return any(run.terms.ask_above_tokens or run.terms.ask_above_cost for run in runs)

    @property
    def is_over(self) -> bool:
        """True once people have seen how the request ended."""
        return self.run.state in ENDED

    def run_of(self, within: str) -> PlanRun:
        """Return the run of the crew at the subtask `within`; the request's own run for an empty id.

        Raises KeyError if there is no such subtask, ValueError if no crew works or worked on it.
        """
        run = self.work[within].run if within else self.run
        if run is None:
            raise ValueError(f"no crew works on subtask {within}")
        return run

    def find_enclosing_run(self, work: SubtaskState) -> PlanRun:
        """Return the run that a subtask belongs to; the request's own if the crew around it no longer works on it."""
        outer = self.work.get(work.within)
        return self.run if outer is None or outer.run is None else outer.run

    def member_of(self, work: SubtaskState) -> Member | None:
        """Return the member that a subtask is given to; None if the plan does not list it."""
        return self.find_enclosing_run(work).members.get(work.specialist)

    def with_run(self, run: PlanRun) -> RequestState:
        """Return the request with `run` in place of the earlier version of that run."""
        if not run.within:
            return replace(self, run=run)
        return self.with_work(replace(self.work[run.within], run=run))

    def with_work(self, work: SubtaskState) -> RequestState:
        """Return the request with `work` in place of the earlier version of that subtask."""
        return replace(self, work=MappingProxyType({**self.work, work.subtask.id: work}))

    def with_decision(self, at: float, subtask: str, what: str, why: str) -> RequestState:
        """Return the request with one more decision, for its trace. `subtask` is empty if it is about all of it."""
        return replace(self, decisions=(*self.decisions, EngineDecision(at, subtask, what, why)))

    def with_pack(self, at: float, subtask: str, pack: PackedSize) -> RequestState:
        """Return the request with one more decision if something was left out of a call to fit its budget."""
        if not pack.left_out:
            return self
        why = f"{pack.tokens:,} of {pack.budget:,} tokens; left out: " + "; ".join(pack.left_out)
        decision = EngineDecision(at, subtask, "pack", why, pack.left_out)
        return replace(self, decisions=(*self.decisions, decision))

    def charge(self, work: SubtaskState, usage: Usage) -> tuple[RequestState, SubtaskState]:
        """Add `usage` to a subtask, which is returned, and to the request and the subtasks around it."""
        if not usage.model_fields_set:  # nothing was used
            return self, work
        return self.charge_around(work.within, usage), replace(work, usage=work.usage + usage)

    def charge_around(self, name: str, usage: Usage) -> RequestState:
        """Return the request with `usage` added to it, to the subtask of that id, and to its enclosing subtasks."""
        ask = self
        while work := ask.work.get(name):
            ask = ask.with_work(replace(work, usage=work.usage + usage))
            name = work.within
        return replace(ask, usage=ask.usage + usage)

    def list_subtasks(self, within: str) -> tuple[SubtaskState, ...]:
        """Return the subtasks of one run: of the crew at `within`, or of the request itself for an empty id."""
        return tuple([work for work in self.work.values() if work.within == within])

    def list_all_subtasks(self, within: str) -> tuple[SubtaskState, ...]:
        """Return the subtasks of a run and of all runs inside it, each before those inside it."""
        found: tuple[SubtaskState, ...] = ()
        for work in self.list_subtasks(within):
            found += (work, *(self.list_all_subtasks(work.subtask.id) if work.run is not None else ()))
        return found

    @property
    def unknown_writes(self) -> tuple[str, ...]:
        """Writes of its subtasks that may or may not have been carried out, each in a few words for people."""
        return tuple(what for work in self.work.values() for what in work.unknown_writes)


@dataclass(frozen=True)
class Job:
    """A thread and everything asked in it. `seq` is the number of events in its log so far.

    `takeovers` counts the takeovers after a lost owner. `quarantine` is the step and the reason while the job is set
    aside. `heard` are messages of the thread that are still to be sorted or acknowledged. `deleted` are the ids of
    messages and files that are gone, and `copies` what is still to be dropped of them.
    """

    place: Place
    asks: tuple[RequestState, ...] = ()
    seq: int = 0
    takeovers: int = 0
    quarantine: Failure | None = None
    talk: ThreadTalk = field(default_factory=ThreadTalk)
    heard: tuple[HeardMessage, ...] = ()
    people: frozenset[str] = frozenset()
    """Slack ids of all who asked, answered or said something in the thread."""
    deleted: tuple[str, ...] = ()
    copies: tuple[DeletedCopy, ...] = ()

    @property
    def id(self) -> str:
        """The job's id, which follows from its place."""
        return self.place.job_id

    @property
    def current(self) -> RequestState | None:
        """The first request that has not ended: the requests of a thread are worked on in order.

        Threads have hundreds of requests, and this is asked again and again: requests that had ended in the job that
        this one was copied from are skipped, as long as they are the same.
        """
        ended: tuple[RequestState, ...] = self.__dict__.get(ENDED_KEY, ())
        place = len(ended) if self.asks[: len(ended)] == ended else 0
        while place < len(self.asks) and self.asks[place].run.state in ENDED:
            place += 1
        if place != len(ended):
            self.__dict__[ENDED_KEY] = self.asks[:place]
        return self.asks[place] if place < len(self.asks) else None

    @property
    def latest(self) -> RequestState:
        """The current request, or the last one if all have ended."""
        return self.current or self.asks[-1]

    def find_request(self, request_id: str) -> RequestState | None:
        """Return the request of that id, or None."""
        place = self.find_request_index(request_id)
        return None if place is None else self.asks[place]

    @cache_on_value
    def list_earlier_requests(self, ask: RequestState) -> tuple[RequestState, ...]:
        """Return the requests before one, oldest first; before a second try, those before the first try.

        A try that was answered takes the place of the tries before it.
        """
        own, first = ask.id, (ask, *ask.tries)[-1].request.at
        before = [one for one in self.asks if (asked := one.request).at < first and asked.id != own]
        tries = [one for one in before if one.before is not None and one.run.answer is not None]
        bettered = {other.id for one in tries for other in one.tries}
        return tuple([one for one in before if one.request.id not in bettered] if bettered else before)

    def changes_since(self, before: Job | None) -> list[tuple[RequestState, RequestState | None]]:
        """Return the requests that some events added or changed, each with its earlier state.

        A thread may have hundreds of requests, and an event changes one or two.
        """
        were = before.asks if before is not None else ()
        changed = [(ask, was) for ask, was in zip(self.asks, were, strict=False) if ask is not was]
        return [*changed, *((ask, None) for ask in self.asks[len(were) :])]

    def with_ask(self, ask: RequestState) -> Job:
        """Return the job with `ask` in place of the earlier version of that request."""
        place = self.find_request_index(ask.id)
        return self if place is None else replace(self, asks=(*self.asks[:place], ask, *self.asks[place + 1 :]))

    def find_request_index(self, request_id: str) -> int | None:
        """Return the index in `asks` of the request of that id.

        Search from the end, as most events are about the last request.
        """
        for place in range(len(self.asks) - 1, -1, -1):
            if self.asks[place].request.id == request_id:
                return place
        return None


def list_open_intents(checkpoints: Sequence[Checkpoint]) -> tuple[ToolStarted, ...]:
    """List the intents that have no outcome, oldest first."""
    return tuple(intent for intent, end in _pair_writes(checkpoints) if end is None)


def list_written_calls(checkpoints: Sequence[Checkpoint]) -> tuple[EarlierWrite, ...]:
    """List the calls that an attempt made, or may have made, in order."""
    kept = (_record_write(intent, end) for intent, end in _pair_writes(checkpoints))
    return tuple(one for one in kept if one is not None)


def _pair_writes(checkpoints: Iterable[Checkpoint]) -> list[tuple[ToolStarted, ToolReturned | CheckedWrite | None]]:
    """Pair each intent with its outcome.

    If an id occurs again in a later turn, the first open intent of that id is meant.
    """
    found: list[tuple[ToolStarted, ToolReturned | CheckedWrite | None]] = []
    for point in checkpoints:
        if isinstance(point, ToolStarted):
            found.append((point, None))
        elif isinstance(point, ToolReturned | CheckedWrite):
            call = point.call if isinstance(point, CheckedWrite) else point.reply.call_id
            for index, (intent, end) in enumerate(found):
                if end is None and intent.call == call:
                    found[index] = (intent, point)
                    break
    return found


def _record_write(intent: ToolStarted, end: ToolReturned | CheckedWrite | None) -> EarlierWrite | None:
    """Return the call as it must be remembered; None if it certainly was not carried out."""
    if isinstance(end, ToolReturned):
        address = next((one for one in end.sources if "://" in one), "")
        return None if end.reply.failed else EarlierWrite(intent.what, intent.digest, True, end.reply.text, address)
    if isinstance(end, CheckedWrite) and end.verdict == "not_happened":
        return None
    known = isinstance(end, CheckedWrite) and end.verdict == "happened"
    return EarlierWrite(intent.what, intent.digest, known, end.words if isinstance(end, CheckedWrite) else "")
