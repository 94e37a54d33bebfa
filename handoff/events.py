"""The facts of a job, in the past tense. The log of a job is a list of events, and it is also the job's trace.

An event says what happened. The engine (`handoff.engine.engine`) decides what follows from it. `SCHEMA` rises when the
meaning of a log changes; an instance does not touch jobs whose log was written by a newer release.
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from handoff.approval_values import Approval, ApprovalChoice
from handoff.contracts import (
    Artifact,
    AskingTerms,
    Attachment,
    Contract,
    Contradiction,
    Escalation,
    Estimate,
    Material,
    Member,
    Note,
    PackedSize,
    Place,
    Plan,
    PlanChange,
    PrivateSource,
    RefutedSentence,
    Request,
    RequestSetting,
    Result,
    Terms,
    Tier,
    ToolReply,
    Turn,
    Usage,
)
from handoff.conversation.retry_words import RetryRef

SCHEMA = 1
"""The schema of the first release. A release that changes the meaning of a log raises it, and converts older logs."""

JsonObject = dict[str, Any]

FailureKind = Literal["model", "tool", "timeout", "bad_reply", "lost", "unavailable", "crew"]
"""The kind of an attempt's failure.

- `model`, `tool`: a model call or a tool failed.
- `timeout`: its time ran out.
- `bad_reply`: the model's reply could not be used.
- `lost`: the instances that ran the attempt died or lost the job too often.
- `unavailable`: a breaker, a limit or a budget forbade the attempt.
- `crew`: a crew worked on the subtask and ended without an answer.
"""
MessageAim = Literal["request", "correction", "answer", "explain", "thanks", "nothing", "unknown"]
"""The purpose of a message in a job's thread.

- `request`: it asks for something new, or for something that follows up on the last answer.
- `correction`: it changes the request under way.
- `answer`: it answers an open question.
- `explain`: it asks what an open question means.
- `thanks`: it asks for nothing.
- `nothing`: it is not meant for the bot.
- `unknown`: its purpose could not be decided yet. The dispatcher is asked again.
"""


class EventBase(Contract):
    """The base of all events. `at` is seconds since the epoch on the writer's clock; `v` is the schema of the event."""

    at: float
    v: int = SCHEMA


class RequestEvent(EventBase):
    """An event of one request. `request` is the request's id."""

    request: str


class AttemptEvent(RequestEvent):
    """An event of one attempt at one subtask of a request. Attempts are counted from 1."""

    subtask: str
    attempt: int


class RequestAdded(EventBase):
    """Somebody made a request in the thread. The first event of this type in a log creates the job."""

    type: Literal["RequestAdded"] = "RequestAdded"
    place: Place
    request: Request
    refusal: str = ""
    """The reason why the request is not worked on, such as an empty mention; empty: it is worked on."""
    usual: str = ""
    """The channel's crew, in a bot with several crews: it gets a thread's first request unless that names another."""
    again: RetryRef | None = None
    """For a second try: the request to try again. `request.text` is then only its author's wish, such as "retry"."""


class MessageHeard(EventBase):
    """Somebody wrote a message in the thread of the job. `MessageSorted` follows, once its purpose is known."""

    type: Literal["MessageHeard"] = "MessageHeard"
    message: Request
    mentioned: bool = False
    """True if the message mentions the bot, or is a direct message."""
    others: bool = False
    """True if the message mentions other people and not the bot. It is for them, so its text is not kept."""
    groups: tuple[str, ...] = ()
    """The user groups of the author at that time."""


class MessageSorted(EventBase):
    """The rules or the dispatcher found the purpose of a message. The engine checks its author's rights."""

    type: Literal["MessageSorted"] = "MessageSorted"
    message: str
    aim: MessageAim
    by: Literal["rules", "model"] = "rules"
    why: str = ""
    usage: Usage = Usage()


class MessageAcknowledged(EventBase):
    """The author of a message was shown its outcome. `receipt` is the name of the receipt within the job."""

    type: Literal["MessageAcknowledged"] = "MessageAcknowledged"
    receipt: str


class RequestEdited(EventBase):
    """The message of a request or of a correction was edited.

    Edits may arrive in any order: the one with the highest `stamp` counts.
    """

    type: Literal["RequestEdited"] = "RequestEdited"
    message: str
    user: str
    text: str
    """The text after the edit."""
    tables: tuple[Attachment, ...] | None = None
    """The tables that the author pasted, as they are after the edit; None: unchanged."""
    stamp: float = 0.0
    """The time of the edit in Slack, which tells edits apart."""
    crew: str = ""
    """The crew that the message names after the edit, in a bot with several; empty: none."""


class RequestWithdrawn(EventBase):
    """A message of the thread was deleted, of a request or any other. Stored copies of it are deleted, too."""

    type: Literal["RequestWithdrawn"] = "RequestWithdrawn"
    message: str


class FileDeleted(EventBase):
    """A file that people attached was deleted in Slack; `file` is its Slack id. Stored copies are deleted, too."""

    type: Literal["FileDeleted"] = "FileDeleted"
    file: str


class CopiesDropped(EventBase):
    """Copies of deleted messages or files were deleted from the store: the first `count` of `Job.copies_to_delete`.

    If they could not be deleted, `fault` is the reason.
    """

    type: Literal["CopiesDropped"] = "CopiesDropped"
    count: int
    fault: str = ""


class MaterialGathered(RequestEvent):
    """The material of a request was fetched and read. Files and texts are in the store, outlines in this event."""

    type: Literal["MaterialGathered"] = "MaterialGathered"
    materials: tuple[Material, ...] = ()
    faults: tuple[str, ...] = ()
    """One line for people for each material that could not be fetched or read, or only in part."""
    speakers: tuple[str, ...] = ()
    """The Slack ids of the people who wrote in the thread before the request."""


class SettingKnown(RequestEvent):
    """Slack described the requester and the channel. This happens once, before the request is planned."""

    type: Literal["SettingKnown"] = "SettingKnown"
    setting: RequestSetting


class PlannerAsked(RequestEvent):
    """The planner asked one question before it planned. `options`, `whom` and `assumption` are as in `Escalation`."""

    type: Literal["PlannerAsked"] = "PlannerAsked"
    question: str
    options: tuple[str, ...] = ()
    whom: tuple[str, ...] = ()
    assumption: str = ""
    asking: AskingTerms = AskingTerms()
    """The rules for questions, from the crew and the settings: there is no plan yet to take them from."""
    reasons: tuple[str, ...] = ()
    corrected: int = 0
    """The number of corrections of the request that the planner knew. If there are more, the planner is asked again."""
    pack: PackedSize = PackedSize()
    usage: Usage = Usage()


class PlanProposed(RequestEvent):
    """A plan passed all checks: from the planner, a routing rule or a pipeline, or the first responder alone."""

    type: Literal["PlanProposed"] = "PlanProposed"
    within: str = ""
    """The subtask that an inner crew planned; empty: the request.

    The ids in the plan are already those of the request, not the crew's own.
    """
    plan: Plan
    members: tuple[Member, ...] = ()
    """The members of the crew at that time, so that the job can be replayed without the crew's files."""
    terms: Terms = Terms()
    estimates: tuple[Estimate, ...] = ()
    """The likely usage of each subtask; empty if the model's calls cost no tokens."""
    rule: str = ""
    """The name of the routing rule that made the plan; empty: no rule did."""
    pipeline: bool = False
    """True if it is the crew's pipeline. Without this, `rule` and `is_first`, the planner made the plan."""
    is_first: bool = False
    """True if the plan is the crew's first responder alone, who may hand the request over to the planner."""
    reasons: tuple[str, ...] = ()
    """Decisions about the plan with their reasons, such as which of several equal specialists gets a subtask."""
    kept: tuple[str, ...] | None = None
    """For a second try that repeats the earlier plan: the ids of the subtasks, at any depth, that are reused.

    None: the plan is a new one.
    """
    anew: str = ""
    """The reason why a second try has a new plan, in words for people; empty: the plan is reused, or is the first."""
    corrected: int = 0
    """The number of corrections of the request that the planner knew."""
    pack: PackedSize = PackedSize()
    usage: Usage = Usage()


class PlanRejected(RequestEvent):
    """The planner's reply did not pass the checks. `faults` are the exact faults that the planner is told."""

    type: Literal["PlanRejected"] = "PlanRejected"
    within: str = ""
    faults: tuple[str, ...]
    corrected: int = 0
    pack: PackedSize = PackedSize()
    usage: Usage = Usage()


class PlanRevised(RequestEvent):
    """The planner was asked to revise its plan, because of a finding, a failure or a correction (the trigger)."""

    type: Literal["PlanRevised"] = "PlanRevised"
    within: str = ""
    """The subtask whose inner plan was in question; empty: the request's own plan."""
    subtask: str
    """The subtask with the finding or failure; for a correction, `ReplanTrigger.subtask`, which names no subtask."""
    plan: Plan | None = None
    """The new plan; None: the plan stays as it was."""
    changes: tuple[PlanChange, ...] = ()
    faults: tuple[str, ...] = ()
    """The reasons why the plan stays as it was."""
    estimates: tuple[Estimate, ...] = ()
    """The likely usage of the subtasks that were added or changed."""
    pack: PackedSize = PackedSize()
    usage: Usage = Usage()


class AttemptStarted(AttemptEvent):
    """A specialist or a crew began to work on a subtask."""

    type: Literal["AttemptStarted"] = "AttemptStarted"
    specialist: str
    tier: Tier
    pack: PackedSize = PackedSize()
    model: str = ""
    """The model that the specialist's own file names; empty: the model of the tier."""


class TurnTaken(AttemptEvent):
    """A model turn ended. This is a checkpoint. `corrected` is the number of corrections that the model call knew."""

    type: Literal["TurnTaken"] = "TurnTaken"
    turn: Turn
    corrected: int = 0


class ToolReturned(AttemptEvent):
    """A tool call of the last turn ended. This is a checkpoint."""

    type: Literal["ToolReturned"] = "ToolReturned"
    reply: ToolReply
    artifacts: tuple[Artifact, ...] = ()
    gaps: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    private: bool = True
    """False if the tool returns nothing private."""
    target: str = ""
    """The destination of the call; empty if the tool does not report one."""


class ToolStarted(AttemptEvent):
    """A writing tool is about to run. The event is stored before the call, as the intent to make it."""

    type: Literal["ToolStarted"] = "ToolStarted"
    call: str
    """The id of the call in its turn."""
    tool: str
    what: str
    """A few words for people about what the call does."""
    key: str = ""
    """The idempotency key, which makes it safe to repeat the call; empty: it is not safe."""
    digest: str = ""
    """A digest of the tool and its arguments: equal calls have the same one."""
    approved_by: tuple[str, ...] = ()
    """The people who approved this call, or similar calls before; empty: the crew requires no approval."""


class ToolInDoubt(AttemptEvent):
    """It is unknown whether a call of a writing tool was carried out, so people are asked."""

    type: Literal["ToolInDoubt"] = "ToolInDoubt"
    call: str
    tool: str
    what: str
    reason: str
    """The reason why the outcome is unknown."""
    usage: Usage = Usage()
    """The attempt's usage so far. It is charged only if people end the subtask here."""


class ApprovalAsked(AttemptEvent):
    """An attempt reached a call that people have to approve. The attempt waits for their decision."""

    type: Literal["ApprovalAsked"] = "ApprovalAsked"
    approval: Approval


class ResultReturned(AttemptEvent):
    """A specialist or a crew returned a result. If the checks found no fault in it, the subtask is complete."""

    type: Literal["ResultReturned"] = "ResultReturned"
    result: Result
    faults: tuple[str, ...] = ()
    """The faults for which the result is sent back; each quotes the text concerned."""
    doubts: tuple[str, ...] = ()
    """Doubts about the result, for the trace; each quotes the text concerned."""
    took: float = 0.0
    """The seconds of the attempt, as in all events that end an attempt."""
    corrected: int = 0
    """The number of corrections of the request that the specialist knew."""
    private: bool = True
    """False if no tool returned anything private to the attempt, as in all events that end an attempt."""
    private_sources: tuple[PrivateSource, ...] = ()
    """The sources of the private content that the attempt read."""


class BriefRefined(AttemptEvent):
    """The refiner was asked to rewrite the brief of a failed attempt.

    `intent` is the new brief; empty: the refiner wrote none, and `fault` is the reason.
    """

    type: Literal["BriefRefined"] = "BriefRefined"
    intent: str = ""
    fault: str = ""
    pack: PackedSize = PackedSize()
    usage: Usage = Usage()


class DeadlineReached(RequestEvent):
    """The time of a subtask ran out, or that of the whole request if `subtask` is empty."""

    type: Literal["DeadlineReached"] = "DeadlineReached"
    subtask: str = ""


class AttemptFailed(AttemptEvent):
    """An attempt ended without a result."""

    type: Literal["AttemptFailed"] = "AttemptFailed"
    kind: FailureKind
    message: str
    transient: bool = False
    """True if the same call may succeed later."""
    usage: Usage = Usage()
    failed_calls: int = 1
    """The number of model calls that failed."""
    pause: float = 0.0
    """The seconds that the provider asks to wait before a retry."""
    took: float = 0.0
    partial: Result | None = None
    """The result so far, if there is one."""
    private: bool = True
    private_sources: tuple[PrivateSource, ...] = ()


class Escalated(AttemptEvent):
    """A specialist said that it cannot do its subtask, with the reason."""

    type: Literal["Escalated"] = "Escalated"
    escalation: Escalation
    usage: Usage = Usage()
    took: float = 0.0
    private: bool = True
    private_sources: tuple[PrivateSource, ...] = ()


class QuestionAnswered(RequestEvent):
    """A person answered an open question, by a click or a reply."""

    type: Literal["QuestionAnswered"] = "QuestionAnswered"
    subtask: str
    """The subtask that asked; empty: the planner."""
    user: str
    text: str
    number: int = 0
    """The number of the question, so that a late second click does not answer a newer one; 0: the open question."""
    groups: tuple[str, ...] = ()
    """The user groups of the person at that time."""
    admin: bool = False
    """True if the person was an admin at that time."""


class QuestionReminded(RequestEvent):
    """A message in the thread reminded people of a question that nobody has answered."""

    type: Literal["QuestionReminded"] = "QuestionReminded"
    subtask: str
    number: int
    to: tuple[str, ...]
    """The ids of the people and user groups. Those who were not asked before may answer from now on."""


class QuestionExpired(RequestEvent):
    """Nobody answered a question in time. Its assumption, if it has one, is taken as the answer."""

    type: Literal["QuestionExpired"] = "QuestionExpired"
    subtask: str
    number: int


class ApprovalDecided(RequestEvent):
    """A person decided on an open approval, by a click. If several people have to approve, each click is an event."""

    type: Literal["ApprovalDecided"] = "ApprovalDecided"
    subtask: str
    number: int
    """The number of the question that the person saw."""
    digest: str
    """The digest of the call that the person saw. The decision counts for that call alone."""
    user: str
    groups: tuple[str, ...] = ()
    """The user groups of the person at that time."""
    admin: bool = False
    """True if the person was an admin at that time."""
    decision: ApprovalChoice
    arguments: dict[str, Any] = Field(default_factory=dict)
    """For an `edit`: the new arguments; `what`, `target` and `leaves` describe the call with these arguments."""
    what: str = ""
    target: str = ""
    leaves: str = ""
    reason: str = ""
    """The reason of a denial, in the person's words; may be empty."""
    lapsed: tuple[str, ...] = ()
    """The people whose earlier approval no longer counts, as they may not decide any more."""


class CancelRequested(EventBase):
    """A person asked to stop the job, by the Stop button, a command, or a word in the thread.

    Only the requests that they may stop end: their own, or all if they are an admin.
    """

    type: Literal["CancelRequested"] = "CancelRequested"
    user: str
    groups: tuple[str, ...] = ()
    admin: bool = False


class TakenOver(EventBase):
    """The job got a new owner, because the last owner lost the lease, stalled or crashed."""

    type: Literal["TakenOver"] = "TakenOver"
    owner: str
    """The new owner."""
    lost: int
    """The number of owners that were lost in a row without progress."""


class WorkResumed(EventBase):
    """Work on the job goes on after `away` seconds without an instance. These seconds count towards no deadline."""

    type: Literal["WorkResumed"] = "WorkResumed"
    away: float


class SetAside(EventBase):
    """The job went into quarantine, until an admin releases it: it lost too many owners, or cannot be read."""

    type: Literal["SetAside"] = "SetAside"
    step: str
    reason: str


class Released(EventBase):
    """An admin released a job from quarantine."""

    type: Literal["Released"] = "Released"
    user: str


class MaterialReduced(RequestEvent):
    """One part of a round of condensing material is done: `notes` replace the material of that part."""

    type: Literal["MaterialReduced"] = "MaterialReduced"
    within: str = ""
    """The subtask that an inner crew works on; empty: the request itself."""
    round: int
    """The number of the round, from 1."""
    part: int = 1
    """The number of the part in its round, from 1."""
    notes: tuple[Note, ...] = ()
    left_out: tuple[str, ...] = ()
    """The passages that the notes lack, in words."""
    pack: PackedSize = PackedSize()
    usage: Usage = Usage()


class AnswerVerified(RequestEvent):
    """The verifier compared the answer with the evidence, sentence by sentence."""

    type: Literal["AnswerVerified"] = "AnswerVerified"
    within: str = ""
    """The subtask that an inner crew works on; empty: the request itself."""
    refuted: tuple[RefutedSentence, ...] = ()
    """The sentences that contradict what was read."""
    unfound: tuple[str, ...] = ()
    """The sentences without support in anything that was read."""
    borne_out: tuple[str, ...] = ()
    """The doubtful figures that are in the material quoted for their sentence, or that follow from it."""
    unanswered: tuple[str, ...] = ()
    """The words of the request that the answer does not deal with."""
    contradictions: tuple[Contradiction, ...] = ()
    """Contradictions within what was read."""
    doubt: str = ""
    """The reason why the verifier gave no verdict, or the parts of its reply that were ignored."""
    pack: PackedSize = PackedSize()
    usage: Usage = Usage()


class AnswerWritten(RequestEvent):
    """The text of an answer, or of a draft, was written. Without a plan it is the planner's own answer."""

    type: Literal["AnswerWritten"] = "AnswerWritten"
    within: str = ""
    """The subtask that an inner crew works on; empty: the request itself."""
    text: str
    draft: bool = False
    """True if the verifier reads the text before it becomes the answer."""
    chosen: str = ""
    """The subtask whose result was selected among rivals; empty: none was. The other results stay in the log."""
    why: str = ""
    """The reason for the selection, or for an answer without a plan."""
    unsupported: tuple[str, ...] = ()
    """The figures of the text that no source has. They are marked in the answer."""
    invented: tuple[str, ...] = ()
    """The unsupported figures that no result has either. If there are any, the text is written once more."""
    workings: tuple[str, ...] = ()
    """The calculations of figures of the text, such as `424 = 1,569 - 1,145`."""
    corrected: int = 0
    """The number of corrections of the request that the writer knew."""
    pack: PackedSize = PackedSize()
    usage: Usage = Usage()


class RequestFailed(RequestEvent):
    """The request cannot be answered. `step` is where it failed, and `advice` what people can do next."""

    type: Literal["RequestFailed"] = "RequestFailed"
    step: str
    reason: str
    advice: str
    usage: Usage = Usage()


class Posted(RequestEvent):
    """A message of the request was posted in the thread.

    `key` is the message's permanent name within the job, and `ts` its Slack id. If the message can never be posted (the
    bot was removed), `ts` is empty and `fault` is the reason.
    """

    type: Literal["Posted"] = "Posted"
    key: str
    ts: str
    fault: str = ""


class ThreadOpened(RequestEvent):
    """A thread was opened for the run of a schedule or for a typed command, and the request was recorded in it."""

    type: Literal["ThreadOpened"] = "ThreadOpened"
    ts: str = ""
    """The id of the thread's first message; empty: no thread was opened."""
    why: str = ""
    """The reason why no thread was opened, in words for people."""
    quiet: bool = False
    """True if a missing thread is intended, and no error."""


class FeedbackGiven(RequestEvent):
    """A person rated an answer with a thumb, or gave the reason for a thumb down."""

    type: Literal["FeedbackGiven"] = "FeedbackGiven"
    user: str
    good: bool
    reason: str = ""
    """The reason for a thumb down, in the person's words. It comes as an event of its own, after the thumb."""
    withdrawn: bool = False
    """True if the person took the thumb back."""


Event = Annotated[
    RequestAdded
    | MessageHeard
    | MessageSorted
    | MessageAcknowledged
    | RequestEdited
    | RequestWithdrawn
    | FileDeleted
    | CopiesDropped
    | MaterialGathered
    | SettingKnown
    | PlannerAsked
    | PlanProposed
    | PlanRejected
    | PlanRevised
    | AttemptStarted
    | TurnTaken
    | ToolReturned
    | ToolStarted
    | ToolInDoubt
    | ApprovalAsked
    | ResultReturned
    | BriefRefined
    | DeadlineReached
    | AttemptFailed
    | Escalated
    | QuestionAnswered
    | QuestionReminded
    | QuestionExpired
    | ApprovalDecided
    | CancelRequested
    | TakenOver
    | WorkResumed
    | SetAside
    | Released
    | MaterialReduced
    | AnswerVerified
    | AnswerWritten
    | RequestFailed
    | Posted
    | ThreadOpened
    | FeedbackGiven,
    Field(discriminator="type"),
]


class NewerEventError(ValueError):
    """Raised for an event with a newer schema than this release knows. An instance of a newer release takes the job."""

    def __init__(self, schema: int, known_schema: int) -> None:
        super().__init__(
            f"an event of schema {schema}, and this release knows up to {known_schema}: "
            "run the newer release, or leave the job to it"
        )
        self.schema = schema


_EVENT_ADAPTER: TypeAdapter[Event] = TypeAdapter(Event, config=ConfigDict(defer_build=True))


def dump_event(event: Event) -> str:
    """Return the event as one line of JSON without default values. The line ends with the fields `type` and `v`."""
    line = event.model_dump_json(exclude_defaults=True, exclude={"v"})
    return f'{line[:-1]},"type":"{event.type}","v":{SCHEMA}}}'


def load_event(line: str | bytes) -> Event:
    """Parse an event from a line of JSON.

    Raises:
        NewerEventError: A newer release wrote the line.
        ValueError: The line is not a valid event.
    """
    text = line if isinstance(line, str) else line.decode()
    if text.endswith(f',"v":{SCHEMA}}}'):  # true of nearly all lines, which are parsed once
        with suppress(ValidationError):
            return _EVENT_ADAPTER.validate_json(text)
    event = json.loads(text)
    if not isinstance(event, dict):
        raise ValueError(f"an event is a JSON object, not {type(event).__name__}")  # noqa: TRY004 - of bad data
    version = event.get("v", SCHEMA)
    if type(version) is not int or version < 1:
        raise ValueError(f"an event's schema is a whole number from 1, not {version!r}")
    if version > SCHEMA:
        raise NewerEventError(version, SCHEMA)
    return _EVENT_ADAPTER.validate_python({**event, **_salvage_field(event)})


_SALVAGED_FIELDS: dict[str, tuple[str, Turn | ToolReply]] = {
    "TurnTaken": ("turn", Turn(text="", stop="tool_use", usage=Usage())),
    "ToolReturned": ("reply", ToolReply(call_id="", text="")),
}
"""By event type: the field that earlier releases stored unchecked, and the value that replaces its unreadable parts."""


def _salvage_field(event: JsonObject) -> JsonObject:
    """Parse the field in `_SALVAGED_FIELDS` part by part, so that one unreadable turn leaves the job readable.

    Returns the field with its unreadable parts replaced; an empty dict if the event has no such field.
    """
    name, salvaged_field = _SALVAGED_FIELDS.get(str(event.get("type")), ("", None))
    stored_field = event.get(name)
    if salvaged_field is None or not isinstance(stored_field, dict):
        return {}
    with suppress(ValidationError):
        return {name: salvaged_field.model_validate(stored_field)}
    for part in type(salvaged_field).model_fields.keys() & stored_field.keys():
        with suppress(ValidationError):
            salvaged_field = salvaged_field.model_validate({**dict(salvaged_field), part: stored_field[part]})
    return {name: salvaged_field}
