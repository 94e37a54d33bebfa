"""The facts of a job, in the past tense. The log of a job is a list of events, and it is also the job's trace.

An event says what happened and never what to do about it: that is for the engine (`handoff.engine.engine`) to work
out. `SCHEMA` rises when the meaning of a log changes; an instance leaves alone the jobs whose log was written by a
newer one.
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

Json = dict[str, Any]

FailureKind = Literal["model", "tool", "timeout", "bad_reply", "lost", "unavailable", "crew"]
"""The kind of an attempt's failure.

- `lost`: its instance died or let go of it too often.
- `unavailable`: a breaker, a limit or a budget forbade it.
- `crew`: a crew worked on it and ended without an answer.
"""
Aim = Literal["request", "correction", "answer", "explain", "thanks", "nothing", "unknown"]
"""The purpose of a message in a job's thread.

- `request`: something new to do, or to do with the last answer.
- `correction`: it changes the request that is under way.
- `answer`: it answers an open question.
- `explain`: it asks back what an open question means.
- `thanks`: it wants no work.
- `nothing`: it is not for the bot.
- `unknown`: nobody could tell yet. It is looked at again.
"""


class Fact(Contract):
    """Fields of all events. `at` is seconds since the epoch on the writer's clock; `v` is the schema of the event."""

    at: float
    v: int = SCHEMA


class RequestEvent(Fact):
    """An event of one request, named by its id."""

    request: str


class AttemptEvent(RequestEvent):
    """An event of one attempt (counted from 1) at one subtask of a request."""

    subtask: str
    attempt: int


class RequestAdded(Fact):
    """Somebody asked for something in the thread. The first one in a log creates the job.

    `refusal`, if not empty, says why the request will not be worked on (an empty mention, for example).
    """

    type: Literal["RequestAdded"] = "RequestAdded"
    place: Place
    request: Request
    refusal: str = ""
    usual: str = ""
    """The crew of the channel in a bot with several: it gets a thread's first request that names none itself."""
    again: RetryRef | None = None
    """The request that it takes up, if it is a second try: its own text is then only what its author said."""


class MessageHeard(Fact):
    """Somebody wrote in the thread of the job. Whether it is for the bot is decided later: see `MessageSorted`.

    `mentioned`: it names the bot, or is in a direct message. `others`: it names other people and not the bot; it is
    for them, so its text is not kept.
    """

    type: Literal["MessageHeard"] = "MessageHeard"
    message: Request
    mentioned: bool = False
    others: bool = False
    groups: tuple[str, ...] = ()
    """The user groups that its author was in at that time."""


class MessageSorted(Fact):
    """The rules or the dispatcher found what a message is for. The engine decides whether its author may do that."""

    type: Literal["MessageSorted"] = "MessageSorted"
    message: str
    aim: Aim
    by: Literal["rules", "model"] = "rules"
    why: str = ""
    usage: Usage = Usage()


class MessageAcknowledged(Fact):
    """The author of a message has been shown what became of it. `receipt` names the receipt within the job."""

    type: Literal["MessageAcknowledged"] = "MessageAcknowledged"
    receipt: str


class RequestEdited(Fact):
    """The message of a request was edited. `text` is how it reads now, and `stamp` is Slack's id of the edit.

    `tables` are those that its author pasted, as they are now; None: as they were.

    Of two edits the one with the higher stamp counts, as they may come in any order.
    """

    type: Literal["RequestEdited"] = "RequestEdited"
    message: str
    user: str
    text: str
    tables: tuple[Attachment, ...] | None = None
    stamp: float = 0.0
    crew: str = ""
    """The crew that the message names now, in a bot with several; empty: none."""


class RequestWithdrawn(Fact):
    """A message was deleted: that of a request, or one of the thread that was read. Our copies of it go, too."""

    type: Literal["RequestWithdrawn"] = "RequestWithdrawn"
    message: str


class FileDeleted(Fact):
    """A file that people attached was deleted; `file` is the id that their place gave it. Our copies of it go, too."""

    type: Literal["FileDeleted"] = "FileDeleted"
    file: str


class CopiesDropped(Fact):
    """Our copies of deleted messages or files left the store: the first `count` of those that waited for that.

    If they could not be dropped, `fault` says why.
    """

    type: Literal["CopiesDropped"] = "CopiesDropped"
    count: int
    fault: str = ""


class MaterialGathered(RequestEvent):
    """What there is to work on was read: files and their texts are in the store, and outlines are here.

    `faults` name what could not be fetched or read, or only in part, each in words for people.
    """

    type: Literal["MaterialGathered"] = "MaterialGathered"
    materials: tuple[Material, ...] = ()
    faults: tuple[str, ...] = ()
    speakers: tuple[str, ...] = ()
    """Slack ids of those who wrote in the thread before."""


class SettingKnown(RequestEvent):
    """Slack was asked who made the request and where. It happens once, before the request is planned."""

    type: Literal["SettingKnown"] = "SettingKnown"
    setting: RequestSetting


class PlannerAsked(RequestEvent):
    """The planner asks one question before it plans. `options` are likely answers.

    `whom` and `assumption` are as in `Escalation`.
    """

    type: Literal["PlannerAsked"] = "PlannerAsked"
    question: str
    options: tuple[str, ...] = ()
    whom: tuple[str, ...] = ()
    assumption: str = ""
    asking: AskingTerms = AskingTerms()
    """The crew's and the settings' word on questions: there is no plan yet to hold it."""
    reasons: tuple[str, ...] = ()
    corrected: int = 0
    """How many corrections of the request the planner knew, here and below. If there are more, it is asked again."""
    pack: PackedSize = PackedSize()
    usage: Usage = Usage()


class PlanProposed(RequestEvent):
    """There is a plan that passed every check: the planner's, that of a routing rule, or the crew's pipeline."""

    type: Literal["PlanProposed"] = "PlanProposed"
    within: str = ""
    """The subtask that an inner crew planned; ids and names in the plan are already those of the request.

    Empty: the request.
    """
    plan: Plan
    members: tuple[Member, ...] = ()
    """The members of the crew at that time, so that the job can be followed without the crew's files."""
    terms: Terms = Terms()
    estimates: tuple[Estimate, ...] = ()
    """The likely usage of each subtask; empty if the model's calls cost no tokens."""
    rule: str = ""
    """The name of the routing rule that made the plan; empty if none did."""
    pipeline: bool = False
    """True if it is the crew's fixed plan. Where there is neither rule nor pipeline, the planner made it."""
    is_first: bool = False
    """True if it is the crew's first responder alone, who may hand the request over to the planner."""
    reasons: tuple[str, ...] = ()
    """Decisions about the plan, each with its reason: which of equal specialists, which specialist made for the job."""
    kept: tuple[str, ...] | None = None
    """For a second try by the earlier plan: the ids of the subtasks, at any depth, that are taken over as they stood.
    None: the plan is a new one."""
    anew: str = ""
    """Why a second try has a new plan, in words for people; empty: it has not, or there was none before."""
    corrected: int = 0
    pack: PackedSize = PackedSize()
    usage: Usage = Usage()


class PlanRejected(RequestEvent):
    """The planner's answer did not pass the checks. `faults` are the exact faults that the planner is told."""

    type: Literal["PlanRejected"] = "PlanRejected"
    within: str = ""
    faults: tuple[str, ...]
    corrected: int = 0
    pack: PackedSize = PackedSize()
    usage: Usage = Usage()


class PlanRevised(RequestEvent):
    """The planner looked at its plan again, because `subtask` found or met something that may make the plan wrong.

    If the requester corrected the request, `subtask` is the name of that trigger.

    `plan` is the new plan; None if the plan stays as it was, and then `faults` say why. `within` is the subtask whose
    inner plan it is; empty: the request's own plan. `estimates` are for the subtasks that were added or changed.
    """

    type: Literal["PlanRevised"] = "PlanRevised"
    within: str = ""
    subtask: str
    plan: Plan | None = None
    changes: tuple[PlanChange, ...] = ()
    faults: tuple[str, ...] = ()
    estimates: tuple[Estimate, ...] = ()
    pack: PackedSize = PackedSize()
    usage: Usage = Usage()


class AttemptStarted(AttemptEvent):
    """A specialist took up a subtask, or a crew did. `model` is the one that it names in place of its tier's."""

    type: Literal["AttemptStarted"] = "AttemptStarted"
    specialist: str
    tier: Tier
    pack: PackedSize = PackedSize()
    model: str = ""


class TurnTaken(AttemptEvent):
    """A model turn ended: a checkpoint. `corrected` counts the corrections of the request that its call knew."""

    type: Literal["TurnTaken"] = "TurnTaken"
    turn: Turn
    corrected: int = 0


class ToolReturned(AttemptEvent):
    """A tool call of the last turn ended: a checkpoint.

    `private` is False if its tool gives nothing private. `target` is where the call went to, if its tool says so.
    """

    type: Literal["ToolReturned"] = "ToolReturned"
    reply: ToolReply
    artifacts: tuple[Artifact, ...] = ()
    gaps: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    private: bool = True
    target: str = ""


class ToolStarted(AttemptEvent):
    """A writing tool is about to run. The event is kept before the call, as its intent.

    `call` is the id of the call in the turn. `key` makes it safe to repeat the call (empty: it is not safe). `what`
    says in a few words for people what the call does. Calls of the same tool with the same arguments have the same
    `digest`.
    """

    type: Literal["ToolStarted"] = "ToolStarted"
    call: str
    tool: str
    what: str
    key: str = ""
    digest: str = ""
    approved_by: tuple[str, ...] = ()
    """The people who approved it, or similar calls before; none if the crew lets it be made without asking."""


class ToolInDoubt(AttemptEvent):
    """Nobody knows whether a call of a writing tool was carried out: people are asked. `reason` says why nobody knows.

    `usage` is what the attempt has spent so far: it counts only if people end the subtask here.
    """

    type: Literal["ToolInDoubt"] = "ToolInDoubt"
    call: str
    tool: str
    what: str
    reason: str
    usage: Usage = Usage()


class ApprovalAsked(AttemptEvent):
    """An attempt came to a call that people have to approve first: it rests until they have decided."""

    type: Literal["ApprovalAsked"] = "ApprovalAsked"
    approval: Approval


class ResultReturned(AttemptEvent):
    """A specialist or a crew handed back a result. The subtask is done if the free checks found nothing.

    With `faults` it is sent back once; `doubts` are for the trace. Each quotes what it is about. `took` is the
    attempt's own seconds, as in all events that end an attempt.
    """

    type: Literal["ResultReturned"] = "ResultReturned"
    result: Result
    faults: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    took: float = 0.0
    corrected: int = 0
    """The corrections of the request that the specialist knew when it handed in."""
    private: bool = True
    """False if no tool gave the attempt anything private, as in all events that end an attempt."""
    private_sources: tuple[PrivateSource, ...] = ()
    """The sources of what was private."""


class BriefRefined(AttemptEvent):
    """The refiner was asked to rewrite the brief of a failed attempt.

    `intent` is the new brief; empty: there is none.
    """

    type: Literal["BriefRefined"] = "BriefRefined"
    intent: str = ""
    fault: str = ""
    pack: PackedSize = PackedSize()
    usage: Usage = Usage()


class DeadlineReached(RequestEvent):
    """The time is up: for a subtask or, if `subtask` is empty, for the whole request."""

    type: Literal["DeadlineReached"] = "DeadlineReached"
    subtask: str = ""


class AttemptFailed(AttemptEvent):
    """An attempt ended without a result.

    `transient`: the same call may work later, after at least `pause` seconds. `failed_calls` counts the model calls
    that brought nothing. `partial` is the result so far, if there is one.
    """

    type: Literal["AttemptFailed"] = "AttemptFailed"
    kind: FailureKind
    message: str
    transient: bool = False
    usage: Usage = Usage()
    failed_calls: int = 1
    pause: float = 0.0
    took: float = 0.0
    partial: Result | None = None
    private: bool = True
    private_sources: tuple[PrivateSource, ...] = ()


class Escalated(AttemptEvent):
    """A specialist said "I can't", and why."""

    type: Literal["Escalated"] = "Escalated"
    escalation: Escalation
    usage: Usage = Usage()
    took: float = 0.0
    private: bool = True
    private_sources: tuple[PrivateSource, ...] = ()


class QuestionAnswered(RequestEvent):
    """A person answered the open question of a subtask, by a click or a reply; empty `subtask`: the planner's question.

    `number` is the number of that question, so that a late second click does not answer a newer question; 0: the open
    one.
    """

    type: Literal["QuestionAnswered"] = "QuestionAnswered"
    subtask: str
    user: str
    text: str
    number: int = 0
    groups: tuple[str, ...] = ()
    """The user groups that the person was in at that time, here and below."""
    admin: bool = False
    """True if the person was an admin at that time, here and below."""


class QuestionReminded(RequestEvent):
    """Nobody has answered a question for a while: people are reminded of it, by a message in the thread.

    `to` are ids of people and user groups. Those who were not asked before may answer from now on.
    """

    type: Literal["QuestionReminded"] = "QuestionReminded"
    subtask: str
    number: int
    to: tuple[str, ...]


class QuestionExpired(RequestEvent):
    """Nobody answered a question in time: what was to be assumed then is taken for the answer."""

    type: Literal["QuestionExpired"] = "QuestionExpired"
    subtask: str
    number: int


class ApprovalDecided(RequestEvent):
    """A person decided on an open approval of a subtask, by a click. If it needs several people, each is an event.

    `number` and `digest` are those of what the person saw: it counts for exactly that. `groups` are the person's user
    groups at the click, and `admin` is True for an admin. `lapsed` are those who approved it before and may not decide
    any more. `arguments`, `what`, `target` and `leaves` are those of an `edit`; `reason` is why it was denied, which
    may be empty.
    """

    type: Literal["ApprovalDecided"] = "ApprovalDecided"
    subtask: str
    number: int
    digest: str
    user: str
    groups: tuple[str, ...] = ()
    admin: bool = False
    decision: ApprovalChoice
    arguments: dict[str, Any] = Field(default_factory=dict)
    what: str = ""
    target: str = ""
    leaves: str = ""
    reason: str = ""
    lapsed: tuple[str, ...] = ()


class CancelRequested(Fact):
    """A person asked for the job to stop: the Stop button, a command, or a word in the thread.

    Only what they may stop ends: their own requests, for an admin all.
    """

    type: Literal["CancelRequested"] = "CancelRequested"
    user: str
    groups: tuple[str, ...] = ()
    admin: bool = False


class TakenOver(Fact):
    """An owner of the job was lost: its lease ran out, or its work stalled or broke.

    `lost` counts the owners that were lost in a row without progress. `owner` is the new owner.
    """

    type: Literal["TakenOver"] = "TakenOver"
    owner: str
    lost: int


class WorkResumed(Fact):
    """Nobody had worked on the job for `away` seconds. They count against none of its deadlines."""

    type: Literal["WorkResumed"] = "WorkResumed"
    away: float


class SetAside(Fact):
    """The job stopped or stalled its owners too often, or cannot be read. It rests until an admin releases it."""

    type: Literal["SetAside"] = "SetAside"
    step: str
    reason: str


class Released(Fact):
    """An admin let a job that was set aside go on."""

    type: Literal["Released"] = "Released"
    user: str


class MaterialReduced(RequestEvent):
    """One part of a round of condensing is done: `notes` replace the material of that part.

    Rounds and parts are counted from 1. `left_out` names what the notes lack. `within`, here and below, is the subtask
    that an inner crew works on; empty: the request itself.
    """

    type: Literal["MaterialReduced"] = "MaterialReduced"
    within: str = ""
    round: int
    part: int = 1
    notes: tuple[Note, ...] = ()
    left_out: tuple[str, ...] = ()
    pack: PackedSize = PackedSize()
    usage: Usage = Usage()


class AnswerVerified(RequestEvent):
    """The verifier read the answer, sentence by sentence, beside the evidence.

    `refuted` are sentences that something read contradicts, and `unfound` those that nothing read bears out.
    `borne_out` are figures in doubt that the material quoted for their sentence does say, or that follow from it.
    `unanswered` are words of the request that the answer leaves out, and `contradictions` are within what was read.
    `doubt` says why the verifier came to no verdict, or which of its words were not taken.
    """

    type: Literal["AnswerVerified"] = "AnswerVerified"
    within: str = ""
    refuted: tuple[RefutedSentence, ...] = ()
    unfound: tuple[str, ...] = ()
    borne_out: tuple[str, ...] = ()
    unanswered: tuple[str, ...] = ()
    contradictions: tuple[Contradiction, ...] = ()
    doubt: str = ""
    pack: PackedSize = PackedSize()
    usage: Usage = Usage()


class AnswerWritten(RequestEvent):
    """The text of the answer is fixed; what remains is to post it. A `draft` is read by the verifier first.

    Without a plan it is the planner's own answer: there was nothing to plan. `chosen` is the subtask whose result was
    picked among rivals; the other results stay in the log. `why` is the reason for that, or for an answer without a
    plan. `unsupported` are figures of the text that no source has; they are marked. `invented` are those of them that
    no result has either: because of these it is written once more. `workings` say how figures of it were worked out.
    """

    type: Literal["AnswerWritten"] = "AnswerWritten"
    within: str = ""
    text: str
    draft: bool = False
    chosen: str = ""
    why: str = ""
    unsupported: tuple[str, ...] = ()
    invented: tuple[str, ...] = ()
    workings: tuple[str, ...] = ()
    corrected: int = 0
    pack: PackedSize = PackedSize()
    usage: Usage = Usage()


class RequestFailed(RequestEvent):
    """The request cannot be answered: the step, the reason and what people can do next."""

    type: Literal["RequestFailed"] = "RequestFailed"
    step: str
    reason: str
    advice: str
    usage: Usage = Usage()


class Posted(RequestEvent):
    """A message of the request is in the thread. `key` names the message for good; `ts` is its Slack id.

    If it can never be posted (the bot was removed), `ts` is empty and `fault` says why.
    """

    type: Literal["Posted"] = "Posted"
    key: str
    ts: str
    fault: str = ""


class ThreadOpened(RequestEvent):
    """The thread of a schedule's run was opened, and its request recorded there: `ts` is the thread's first message.

    An empty `ts`: no thread was opened; `why` is the reason in words for people, and `quiet` says that it is no fault.
    """

    type: Literal["ThreadOpened"] = "ThreadOpened"
    ts: str = ""
    why: str = ""
    quiet: bool = False


class FeedbackGiven(RequestEvent):
    """A person said whether an answer helped.

    `reason` is why it did not, in their words; it follows the thumb. `withdrawn`: they took their thumb back.
    """

    type: Literal["FeedbackGiven"] = "FeedbackGiven"
    user: str
    good: bool
    reason: str = ""
    withdrawn: bool = False


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


class NewerEvent(ValueError):
    """An event was written by a newer release, of schema `schema`. An instance of that release has to take the job."""

    def __init__(self, schema: int, known: int) -> None:
        super().__init__(
            f"an event of schema {schema}, and this release knows up to {known}: "
            "run the newer release, or leave the job to it"
        )
        self.schema = schema


_adapter: TypeAdapter[Event] = TypeAdapter(Event, config=ConfigDict(defer_build=True))


def dump(event: Event) -> str:
    """Write the event as one line of JSON without defaults, except for its type. The line ends with `type` and `v`."""
    line = event.model_dump_json(exclude_defaults=True, exclude={"v"})
    return f'{line[:-1]},"type":"{event.type}","v":{SCHEMA}}}'


def load(line: str | bytes) -> Event:
    """Read an event from a line of JSON.

    Raises:
        NewerEvent: A newer release wrote it.
        ValueError: It is no event of ours.
    """
    text = line if isinstance(line, str) else line.decode()
    if text.endswith(f',"v":{SCHEMA}}}'):  # nearly all lines: they are parsed once
        with suppress(ValidationError):
            return _adapter.validate_json(text)
    event = json.loads(text)
    if not isinstance(event, dict):
        raise ValueError(f"an event is a JSON object, not {type(event).__name__}")  # noqa: TRY004 - of bad data
    version = event.get("v", SCHEMA)
    if type(version) is not int or version < 1:
        raise ValueError(f"an event's schema is a whole number from 1, not {version!r}")
    if version > SCHEMA:
        raise NewerEvent(version, SCHEMA)
    return _adapter.validate_python({**event, **_salvage_field(event)})


_LEAST: dict[str, tuple[str, Turn | ToolReply]] = {
    "TurnTaken": ("turn", Turn(text="", stop="tool_use", usage=Usage())),
    "ToolReturned": ("reply", ToolReply(call_id="", text="")),
}
"""For each such event type: the field that earlier releases kept unchecked, and what replaces its unreadable parts."""


def _salvage_field(event: Json) -> Json:
    """Read the field that `_LEAST` names part by part, so that one odd turn does not cost the whole job."""
    name, least = _LEAST.get(str(event.get("type")), ("", None))
    given = event.get(name)
    if least is None or not isinstance(given, dict):
        return {}
    with suppress(ValidationError):
        return {name: least.model_validate(given)}
    for part in type(least).model_fields.keys() & given.keys():
        with suppress(ValidationError):
            least = least.model_validate({**dict(least), part: given[part]})
    return {name: least}
