"""The state of a job, as `handoff.engine.engine` builds it from the log. Values only: the rules are in the engine.

From the outside in: a `Job` is a thread, a `RequestState` is one request in it, a `PlanRun` is one plan under way, and
a `SubtaskState` is one subtask of a plan. These are dataclasses, not pydantic models: none of them is stored or sent,
and every event builds new ones.
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
from handoff.state.state_values import (
    Candidate,
    Checkpoint,
    CopyToDelete,
    Correction,
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
    ThreadActivity,
    WriteVerdict,
    list_private_sources,
)
from handoff.state.value_cache import CACHE_KEY, cache_on_value

T = TypeVar("T")
RequestStatus = Literal["submitted", "working", "input_required", "synthesizing", "completed", "failed", "cancelled"]
"""The state of a run. Only the request's own run reaches the last three states.

- `submitted`: there is no plan yet.
- `working`: a subtask runs, or can begin.
- `input_required`: all open subtasks wait for people.
- `synthesizing`: all subtasks have ended, and the answer is being written or posted.
- `completed`: the answer is in the thread, in full or in part.
- `failed`: the thread shows why there is no answer.
- `cancelled`: a person stopped the request, and the thread shows a report.
"""
SubtaskStatus = Literal["pending", "in_progress", "input_required", "complete", "error", "skipped"]
"""The state of a subtask.

- `pending`: it waits for other subtasks, for its next attempt, or for a rewritten brief.
- `in_progress`: an attempt runs, or a crew works on it.
- `input_required`: it waits for a person's answer.
- `complete`: it has a result.
- `error`: its attempts brought no result.
- `skipped`: it never began, a revision of the plan dropped or replaced it, or a first responder handed it over.
"""

SETTLED_STATES: frozenset[SubtaskStatus] = frozenset({"complete", "error", "skipped"})
EMPTY_MAPPING: Mapping[Any, Any] = MappingProxyType({})
DEFAULT_TERMS = Terms()
"""The terms if neither the settings nor a crew set others."""

if TYPE_CHECKING:
    from dataclasses import replace as replace  # noqa: PLC0414 - as itself: the type checker knows its fields
else:

    def replace(value: T, /, **changes: Any) -> T:
        """Return a copy of `value` with some fields changed, like `dataclasses.replace`, for classes without slots.

        It is faster: with `dataclasses.replace`, reading a long log takes more than twice as long.
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

    Times are seconds since the epoch. The run ends with an `answer` or a `failure`.
    """

    within: str = ""
    """The id of the subtask that the crew works on; empty: it is the request's own run."""
    state: RequestStatus = "submitted"
    plan: Plan | None = None
    """The plan; None: there is none yet."""
    is_pipeline: bool = False
    """True if the plan is the crew's pipeline."""
    is_first_responder: bool = False
    """True if the plan is the crew's first responder alone."""
    handover_reason: str = ""
    """The reason why the first responder handed the request over to the planner; empty: it did not."""
    members: Mapping[str, Member] = field(default_factory=lambda: EMPTY_MAPPING)
    """The members of the crew by name."""
    rejections: tuple[tuple[str, ...], ...] = ()
    """The faults of each rejected plan."""
    terms: Terms = DEFAULT_TERMS
    clock_started: float | None = None
    """The start of the run's clock: for a request the time of its plan, for a crew the start of the attempt."""
    paused_seconds: float = 0.0
    """The seconds in which nobody could work on the run, since it waited for people or had no instance."""
    waits_since: float | None = None
    """The time since which it waits for people; None: it does not wait."""
    condensed_notes: Mapping[tuple[int, int], tuple[Note, ...]] = field(default_factory=lambda: EMPTY_MAPPING)
    """The condensed notes, by (round, part)."""
    left_out_passages: tuple[str, ...] = ()
    """The passages that the condensed notes lack."""
    draft: str | None = None
    """The text that the verifier reads, or that is written once more, before it is the answer; None: there is none."""
    is_rewritten: bool = False
    """True if the draft is the second one."""
    verification: AnswerVerified | None = None
    """The verifier's report on the draft; None: it has not read the draft."""
    unsupported_figures: tuple[str, ...] = ()
    """The figures of the draft or answer that no source has."""
    invented_figures: tuple[str, ...] = ()
    """The unsupported figures of the draft that no result has either."""
    workings: tuple[str, ...] = ()
    """The calculations of figures of the draft or answer."""
    chosen_subtask: str = ""
    """The id of the subtask whose result was selected among rivals; empty: none was selected."""
    answer: str | None = None
    failure: Failure | None = None
    concluded_at: float | None = None
    """The time of the answer or the failure."""

    @property
    def is_concluded(self) -> bool:
        """True once there is an answer or a failure."""
        return self.answer is not None or self.failure is not None

    @property
    def deadline(self) -> float | None:
        """The deadline of the run; None before its clock starts, and while it waits for people."""
        if self.clock_started is None or self.waits_since is not None:
            return None
        return self.clock_started + self.terms.job_seconds + self.paused_seconds


@dataclass(frozen=True)
class SubtaskState:
    """The state of one subtask. Times are seconds since the epoch."""

    spec: Subtask
    specialist: str
    """The specialist or crew that works on it now; the plan's own choice is `spec.specialist`."""
    within: str = ""
    """The id of the enclosing subtask; empty: it belongs to the request's own plan."""
    run: PlanRun | None = None
    """The run of the crew that works or worked on it; None: a specialist works on it."""
    tier: Tier | None = None
    state: SubtaskStatus = "pending"
    attempt: int = 0
    """The number of the last attempt, from 1; 0: none has begun."""
    not_before: float = 0.0
    """The earliest time of the next attempt."""
    started_at: float | None = None
    """The start of the first attempt."""
    attempt_started: float = 0.0
    """The start of the present attempt, moved on by the time that people took for questions during the attempt."""
    ended_at: float | None = None
    checkpoints: tuple[Checkpoint, ...] = ()
    """The steps of the present attempt."""
    earlier_writes: tuple[EarlierWrite, ...] = ()
    """The calls that earlier attempts made or may have made."""
    failures: tuple[str, ...] = ()
    """The messages of its failures, oldest first."""
    reason: str = ""
    """The reason why it is in error or skipped, in words for people."""
    question: Question | None = None
    """The open question; None: there is none."""
    question_count: int = 0
    """The number of questions that its specialists asked, or that the ladder asked about it."""
    doubt_count: int = 0
    """The number of questions about calls in doubt."""
    approval_count: int = 0
    """The number of approvals that people were asked for."""
    is_cost_approved: bool = False
    """True if people approved its estimated cost."""
    recovery_steps: tuple[RecoveryStep, ...] = ()
    """The steps of the ladder that were taken, in order."""
    tried_specialists: tuple[str, ...] = ()
    """The specialists that worked on it before the present one."""
    failed_call_count: int = 0
    """The number of model calls that failed."""
    spent_seconds: float = 0.0
    """The seconds of finished attempts, and of pauses between attempts."""
    resumed_at: float = 0.0
    """The time at which the present attempt was last resumed; 0: never."""
    rewritten_brief: str = ""
    """A rewritten brief in place of the plan's intent; empty: none."""
    refining_error: str = ""
    """The error that the refiner is told for a rewrite of the brief; empty: no rewrite is outstanding."""
    failure_cause: FailureCause | None = None
    """The cause of the failure while a rewrite or a revision is outstanding, and after the subtask has failed."""
    best_candidate: Candidate | None = None
    """The best of the results that were not accepted; None: there is none."""
    rejected_candidate: Candidate | None = None
    """The last result that was sent back, with its faults; None: there is none."""
    faulty_result_count: int = 0
    """The number of results that were not accepted at once because of faults."""
    question_answers: tuple[QuestionAnswer, ...] = ()
    """The questions that were answered, decided or expired."""
    answer_notes: tuple[Note, ...] = ()
    """The answers and corrections of people, as notes for the brief of every attempt."""
    result: Result | None = None
    """The accepted result."""
    usage: Usage = Usage()
    estimate: Estimate | None = None
    change_note: str = ""
    """The last change that a revision of the plan made to the subtask, with the reason, in words for people."""
    is_dropped: bool = False
    """True if a revision, or its own `only_for`, made the subtask needless. It is then no gap of the answer."""
    is_handed_over: bool = False
    """True for the subtask of a first responder that handed the request over to the planner. People do not see it."""
    replaced_id: str = ""
    """The id of the subtask that this one replaces; empty: none."""
    had_private_content: bool = False
    """True if a tool returned something private in an earlier attempt, see `handoff.briefs.provenance`."""
    earlier_private_sources: tuple[PrivateSource, ...] = ()
    """The private sources that earlier attempts read."""
    is_reused: bool = False
    """True if a second try reuses the subtask with its result."""

    @property
    def brief_text(self) -> str:
        """The present brief: the rewritten one if there is one, otherwise the intent of the plan."""
        return self.rewritten_brief or self.spec.intent

    @property
    def duration(self) -> float:
        """Seconds from the first start to the end, including waits for people; 0 while the subtask runs."""
        return self.ended_at - self.started_at if self.started_at is not None and self.ended_at is not None else 0.0

    def end_attempt(
        self, seconds: float = 0.0, *, private: bool | None = None, sources: tuple[PrivateSource, ...] = ()
    ) -> SubtaskState:
        """Return the subtask after its attempt: without checkpoints, but with the attempt's writes and `seconds`.

        `had_private_content` is True if a tool returned something private to the attempt, and `earlier_private_sources`
        are the private sources;
        None: take both from the checkpoints. Both are ignored for a crew, whose own subtasks record them.
        """
        if private is None:
            private, sources = self.has_read_private, self.private_sources
        else:
            is_own = self.run is None
            private, sources = (
                self.had_private_content or (private and is_own),
                (*self.earlier_private_sources, *(sources if is_own else ())),
            )
        ended_subtask = replace(
            self,
            checkpoints=(),
            earlier_writes=self.all_writes,
            spent_seconds=self.spent_seconds + seconds,
            resumed_at=0.0,
        )
        return replace(
            ended_subtask, had_private_content=private, earlier_private_sources=tuple(dict.fromkeys(sources))
        )

    @property
    def has_read_private(self) -> bool:
        """True if a tool returned something private in this attempt or an earlier one."""
        return self.had_private_content or any(
            isinstance(point, ToolReturned) and point.private for point in self.checkpoints
        )

    @property
    def private_sources(self) -> tuple[PrivateSource, ...]:
        """The private sources that this attempt and earlier ones read."""
        return tuple(dict.fromkeys((*self.earlier_private_sources, *list_private_sources(self.checkpoints))))

    @property
    def last_question_number(self) -> int:
        """The number of its last question to people, of any kind; 0: it asked none."""
        return self.question_count + self.doubt_count + self.approval_count

    @property
    def open_intents(self) -> tuple[ToolStarted, ...]:
        """The calls of writing tools that were begun and have no outcome yet."""
        return list_open_intents(self.checkpoints)

    @property
    def all_writes(self) -> tuple[EarlierWrite, ...]:
        """The calls that its attempts made or may have made, in order."""
        return (*self.earlier_writes, *list_written_calls(self.checkpoints))

    @property
    def unknown_writes(self) -> tuple[str, ...]:
        """The calls that may or may not have been carried out, each in a few words for people."""
        return tuple(one.what for one in self.all_writes if not one.is_confirmed)

    @property
    def unapproved_calls(self) -> tuple[tuple[Approval, RulingOutcome], ...]:
        """The calls that people denied or did not decide on, each with the outcome.

        A call is left out if people approved a call of the same tool that was asked for after the denial.
        """
        unapproved_rulings: dict[tuple[str, str], tuple[Approval, Ruling]] = {}
        for one in self.question_answers:
            approval, ruling = one.question.approval, one.ruling
            if approval is None or ruling is None or approval.kind == "cost":
                continue
            for call in approval.calls:
                if ruling.is_approved:
                    asked_at = one.question.asked_at
                    unapproved_rulings = {
                        key: each
                        for key, each in unapproved_rulings.items()
                        if key[0] != call.tool or each[1].at >= asked_at
                    }
                else:
                    unapproved_rulings[call.tool, call.digest] = (call, ruling)
        return tuple((call, ruling.outcome) for call, ruling in unapproved_rulings.values())


ENDED_STATES: frozenset[RequestStatus] = frozenset({"completed", "failed", "cancelled"})
CORRECTIONS_HEADING = "Said since then, by the same person:"
"""The heading of each correction in the text of its request."""
ENDED_REQUESTS_KEY = "_over"
"""The key, in a job's `__dict__`, of the leading requests that are known to have ended. `replace` copies it."""


@dataclass(frozen=True)
class RequestState:
    """The state of one request of a job."""

    spec: Request
    run: PlanRun = PlanRun()
    """The request's own run."""
    subtasks: Mapping[str, SubtaskState] = field(default_factory=lambda: EMPTY_MAPPING)
    """The subtasks of all its runs by id, including those of inner crews."""
    refusal: str = ""
    """The reason why the request is not worked on; empty: it is worked on."""
    is_gathered: bool = False
    """True once its material was fetched and read, or if there is none to fetch."""
    materials: tuple[Material, ...] = ()
    """The material that was fetched and read for it."""
    file_faults: tuple[str, ...] = ()
    """One line for people for each material that could not be read in full."""
    setting: RequestSetting | None = None
    """The requester and the channel, as Slack described them; None: Slack has not been asked yet."""
    speakers: tuple[str, ...] = ()
    """The Slack ids of the people who wrote in the thread before the request."""
    question: Question | None = None
    """The open question of the planner, or the one before a second try; None: there is none."""
    question_answers: tuple[QuestionAnswer, ...] = ()
    """The questions of the planner, of a first responder and before a second try that were answered or expired."""
    decisions: tuple[EngineDecision, ...] = ()
    replan_triggers: tuple[ReplanTrigger, ...] = ()
    """The triggers about which the planner is still to be asked, one after the other."""
    revision_count: int = 0
    """The number of times that the planner was asked for a revision, apart from corrections."""
    cancelled_by: str = ""
    """The Slack id of the person who stopped it; empty: nobody did."""
    is_withdrawn: bool = False
    """True if its message was deleted."""
    correction_messages: tuple[Correction, ...] = ()
    """The messages that correct the request, oldest first."""
    correction_texts: tuple[str, ...] = ()
    """The text of each correction and edit, as the request's roles and specialists are told it, oldest first."""
    edit_stamp: float = 0.0
    """The stamp of the last edit; 0: never edited."""
    posted_ids: Mapping[str, str] = field(default_factory=lambda: EMPTY_MAPPING)
    """The Slack ids of its messages by key; an empty id: the message can never be posted."""
    usage: Usage = Usage()
    ended_at: float | None = None
    """The time at which people saw its end, in seconds since the epoch; None: it has not ended."""
    retry_ref: RetryRef | None = None
    """For a second try: what is tried again, and how; None: it is no second try."""
    earlier_try: RequestState | None = None
    """For a second try: the request that is tried again. The second try has the words of that request."""
    kept_writes: tuple[EarlierWrite, ...] = ()
    """For a second try: the calls of the earlier tries that must not be made again."""

    @property
    def id(self) -> str:
        """The request's id: the `ts` of its message."""
        return self.spec.id

    @property
    def text(self) -> str:
        """The text of the request's message, and below it its corrections."""
        later = (f"{CORRECTIONS_HEADING} {one.text}" for one in self.correction_messages)
        return "\n\n".join((self.spec.text, *later)) if self.correction_messages else self.spec.text

    @property
    def artifacts(self) -> tuple[Artifact, ...]:
        """The files among the material: attached ones and those that links name, as far as they could be fetched."""
        return tuple(one.file for one in self.materials if one.file is not None)

    @property
    def state(self) -> RequestStatus:
        """The state of the request's own run."""
        return self.run.state

    @property
    def correction_count(self) -> int:
        """The number of corrections and edits of the request while it was under way."""
        return len(self.correction_texts)

    @property
    def answer_notes(self) -> tuple[Note, ...]:
        """The answers to questions about the request, as notes; without those before a second try."""
        return tuple(one.note for one in self.question_answers if not one.question.is_retry_question)

    @property
    def earlier_tries(self) -> tuple[RequestState, ...]:
        """The earlier tries at the same request, the latest first; none if it is no second try."""
        return () if self.earlier_try is None else (self.earlier_try, *self.earlier_try.earlier_tries)

    @property
    def open_questions(self) -> Mapping[str, Question]:
        """The open questions, by the id of the subtask that asks.

        The planner's question, and the question before a second try, have an empty id.
        """
        if self.run.is_concluded:
            return EMPTY_MAPPING
        own = {"": self.question} if self.question is not None else {}
        waiting_subtasks = (subtask for subtask in self.subtasks.values() if subtask.state == "input_required")
        return own | {subtask.spec.id: subtask.question for subtask in waiting_subtasks if subtask.question is not None}

    @property
    def has_cost_limits(self) -> bool:
        """True if the terms of one of its runs require approvals for costly subtasks."""
        runs = (self.run, *(subtask.run for subtask in self.subtasks.values() if subtask.run is not None))
        return any(run.terms.ask_above_tokens or run.terms.ask_above_cost for run in runs)

    @property
    def is_over(self) -> bool:
        """True once people see the answer, the failure or the report."""
        return self.run.state in ENDED_STATES

    def get_run(self, within: str) -> PlanRun:
        """Return the run of the crew that works on the subtask `within`; the request's own run for an empty id.

        Raises KeyError if there is no such subtask, and ValueError if no crew works or worked on it.
        """
        run = self.subtasks[within].run if within else self.run
        if run is None:
            raise ValueError(f"no crew works on subtask {within}")
        return run

    def find_enclosing_run(self, subtask: SubtaskState) -> PlanRun:
        """Return the run that a subtask belongs to; the request's own run if the enclosing crew's run is gone."""
        outer = self.subtasks.get(subtask.within)
        return self.run if outer is None or outer.run is None else outer.run

    def find_member(self, subtask: SubtaskState) -> Member | None:
        """Return the crew member that works on a subtask; None if the run does not list it."""
        return self.find_enclosing_run(subtask).members.get(subtask.specialist)

    def with_run(self, run: PlanRun) -> RequestState:
        """Return the request with `run` in place of the earlier version of that run."""
        if not run.within:
            return replace(self, run=run)
        return self.with_subtask(replace(self.subtasks[run.within], run=run))

    def with_subtask(self, subtask: SubtaskState) -> RequestState:
        """Return the request with `subtasks` in place of the earlier version of that subtask."""
        return replace(self, subtasks=MappingProxyType({**self.subtasks, subtask.spec.id: subtask}))

    def with_decision(self, at: float, subtask: str, what: str, why: str) -> RequestState:
        """Return the request with one more decision in its trace. An empty `subtask` stands for the whole request."""
        return replace(self, decisions=(*self.decisions, EngineDecision(at, subtask, what, why)))

    def with_pack_decision(self, at: float, subtask: str, pack: PackedSize) -> RequestState:
        """Return the request with a decision for its trace if `pack` left something out of a model call."""
        if not pack.left_out:
            return self
        why = f"{pack.tokens:,} of {pack.budget:,} tokens; left out: " + "; ".join(pack.left_out)
        decision = EngineDecision(at, subtask, "pack", why, pack.left_out)
        return replace(self, decisions=(*self.decisions, decision))

    def charge_subtask(self, subtask: SubtaskState, usage: Usage) -> tuple[RequestState, SubtaskState]:
        """Return the request and the subtask with `usage` added, to the enclosing subtasks as well.

        The returned request still contains the old version of the subtask itself, so the caller has to put it in.
        """
        if not usage.model_fields_set:  # nothing was used
            return self, subtask
        return self.charge_with_enclosing(subtask.within, usage), replace(subtask, usage=subtask.usage + usage)

    def charge_with_enclosing(self, subtask_id: str, usage: Usage) -> RequestState:
        """Return the request with `usage` added to it, to the subtask `subtask_id`, and to its enclosing subtasks."""
        request = self
        while subtask := request.subtasks.get(subtask_id):
            request = request.with_subtask(replace(subtask, usage=subtask.usage + usage))
            subtask_id = subtask.within
        return replace(request, usage=request.usage + usage)

    def list_subtasks(self, within: str) -> tuple[SubtaskState, ...]:
        """Return the subtasks of one run: of the crew at the subtask `within`, or of the request for an empty id."""
        return tuple([subtask for subtask in self.subtasks.values() if subtask.within == within])

    def list_all_subtasks(self, within: str) -> tuple[SubtaskState, ...]:
        """Return the subtasks of a run and of all its inner runs, each subtask before its inner ones."""
        all_subtasks: tuple[SubtaskState, ...] = ()
        for subtask in self.list_subtasks(within):
            all_subtasks += (subtask, *(self.list_all_subtasks(subtask.spec.id) if subtask.run is not None else ()))
        return all_subtasks

    @property
    def unknown_writes(self) -> tuple[str, ...]:
        """The calls of its subtasks that may or may not have been carried out, each in a few words for people."""
        return tuple(what for subtask in self.subtasks.values() for what in subtask.unknown_writes)


@dataclass(frozen=True)
class Job:
    """The state of a job: a thread and everything asked in it."""

    place: Place
    requests: tuple[RequestState, ...] = ()
    """The requests, oldest first."""
    seq: int = 0
    """The number of events in the log."""
    takeover_count: int = 0
    """The number of times that a new owner took the job over from a lost one."""
    quarantine: Failure | None = None
    """The step and the reason while the job is in quarantine; None: it is not in quarantine."""
    thread_activity: ThreadActivity = field(default_factory=ThreadActivity)
    pending_messages: tuple[HeardMessage, ...] = ()
    """The messages of the thread that are still to be sorted or acknowledged."""
    people: frozenset[str] = frozenset()
    """The Slack ids of all who made a request, answered or wrote something in the thread."""
    deleted_ids: tuple[str, ...] = ()
    """The ids of messages and files that people deleted in Slack."""
    copies_to_delete: tuple[CopyToDelete, ...] = ()
    """The stored copies of deleted messages and files that are still to be deleted."""

    @property
    def id(self) -> str:
        """The job's id, which follows from its place."""
        return self.place.job_id

    @property
    def current_request(self) -> RequestState | None:
        """The first request that has not ended, which is the one to work on; None if all have ended.

        The leading requests that have ended are cached in `__dict__`, since a thread may have hundreds of requests. A
        copy of the job inherits the cache, which counts only while these requests are equal.
        """
        ended_requests: tuple[RequestState, ...] = self.__dict__.get(ENDED_REQUESTS_KEY, ())
        place = len(ended_requests) if self.requests[: len(ended_requests)] == ended_requests else 0
        while place < len(self.requests) and self.requests[place].run.state in ENDED_STATES:
            place += 1
        if place != len(ended_requests):
            self.__dict__[ENDED_REQUESTS_KEY] = self.requests[:place]
        return self.requests[place] if place < len(self.requests) else None

    @property
    def latest_request(self) -> RequestState:
        """The current request, or the last one if all have ended."""
        return self.current_request or self.requests[-1]

    def find_request(self, request_id: str) -> RequestState | None:
        """Return the request of that id; None if the job has none."""
        place = self.find_request_index(request_id)
        return None if place is None else self.requests[place]

    @cache_on_value
    def list_earlier_requests(self, request: RequestState) -> tuple[RequestState, ...]:
        """Return the requests before `request`, oldest first; for a second try, those before the first try.

        Tries that a later, answered try replaced are left out.
        """
        own, first = request.id, (request, *request.earlier_tries)[-1].spec.at
        before = [one for one in self.requests if (spec := one.spec).at < first and spec.id != own]
        tries = [one for one in before if one.earlier_try is not None and one.run.answer is not None]
        replaced_ids = {other.id for one in tries for other in one.earlier_tries}
        return tuple([one for one in before if one.spec.id not in replaced_ids] if replaced_ids else before)

    def list_changed_requests(self, earlier: Job | None) -> list[tuple[RequestState, RequestState | None]]:
        """Return the requests that differ from those in `earlier`, as pairs (request, earlier state or None if new)."""
        earlier_requests = earlier.requests if earlier is not None else ()
        changed_pairs = [
            (request, was) for request, was in zip(self.requests, earlier_requests, strict=False) if request is not was
        ]
        return [*changed_pairs, *((request, None) for request in self.requests[len(earlier_requests) :])]

    def with_request(self, request: RequestState) -> Job:
        """Return the job with `request` in place of the earlier version of that request."""
        place = self.find_request_index(request.id)
        return (
            self
            if place is None
            else replace(self, requests=(*self.requests[:place], request, *self.requests[place + 1 :]))
        )

    def find_request_index(self, request_id: str) -> int | None:
        """Return the index in `requests` of the request of that id; None if there is none.

        The search starts from the end, since most events concern the last request.
        """
        for place in range(len(self.requests) - 1, -1, -1):
            if self.requests[place].spec.id == request_id:
                return place
        return None


def list_open_intents(checkpoints: Sequence[Checkpoint]) -> tuple[ToolStarted, ...]:
    """Return the intents (calls of writing tools) that have no outcome, oldest first."""
    return tuple(intent for intent, end in _pair_writes(checkpoints) if end is None)


def list_written_calls(checkpoints: Sequence[Checkpoint]) -> tuple[EarlierWrite, ...]:
    """Return the calls of writing tools that an attempt made or may have made, in order."""
    earlier_writes = (_make_earlier_write(intent, end) for intent, end in _pair_writes(checkpoints))
    return tuple(one for one in earlier_writes if one is not None)


def _pair_writes(checkpoints: Iterable[Checkpoint]) -> list[tuple[ToolStarted, ToolReturned | WriteVerdict | None]]:
    """Pair each intent with its outcome, or with None if it has none.

    Call ids may repeat in later turns, so an outcome belongs to the first open intent of its id.
    """
    pairs: list[tuple[ToolStarted, ToolReturned | WriteVerdict | None]] = []
    for point in checkpoints:
        if isinstance(point, ToolStarted):
            pairs.append((point, None))
        elif isinstance(point, ToolReturned | WriteVerdict):
            call = point.call if isinstance(point, WriteVerdict) else point.reply.call_id
            for index, (intent, end) in enumerate(pairs):
                if end is None and intent.call == call:
                    pairs[index] = (intent, point)
                    break
    return pairs


def _make_earlier_write(intent: ToolStarted, outcome: ToolReturned | WriteVerdict | None) -> EarlierWrite | None:
    """Return the call as an earlier write; None if it certainly was not carried out."""
    if isinstance(outcome, ToolReturned):
        address = next((one for one in outcome.sources if "://" in one), "")
        return (
            None
            if outcome.reply.failed
            else EarlierWrite(intent.what, intent.digest, True, outcome.reply.text, address)
        )
    if isinstance(outcome, WriteVerdict) and outcome.verdict == "not_happened":
        return None
    is_confirmed = isinstance(outcome, WriteVerdict) and outcome.verdict == "happened"
    return EarlierWrite(
        intent.what, intent.digest, is_confirmed, outcome.words if isinstance(outcome, WriteVerdict) else ""
    )
