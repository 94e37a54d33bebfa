"""The facts of a job, in the past tense. Its log is a list of these, and its trace is its log.

An event says what happened and never what to do about it: that is for
`handoff.engine.engine` to work out. `SCHEMA` rises when the meaning of a log changes;
an instance leaves jobs alone whose log was written by a newer one.
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter, ValidationError

from handoff.contracts import (
    Artifact,
    Conflict,
    Contract,
    Escalation,
    Estimate,
    Member,
    Note,
    Packed,
    Place,
    Plan,
    PlanChange,
    Request,
    Result,
    Terms,
    Tier,
    ToolReply,
    Turn,
    Usage,
)
from handoff.upcasters import UPCASTERS, Json, lifted

SCHEMA = 3

FailureKind = Literal["model", "tool", "timeout", "bad_reply", "lost", "unavailable", "crew"]
"""The reason why an attempt failed. `lost`: its instance died or let go of it too often; `unavailable`: a breaker, a
limit or a budget forbade it; `crew`: it was given to a crew, and nothing that this one tried brought anything."""
Verdict = Literal["accepted", "revise", "best_effort"]
"""The verdict on a result that was looked at. `best_effort`: taken as it is, its faults named as gaps."""


class Fact(Contract):
    """Fields of all events. `at` is seconds since the epoch, on the clock of who wrote it; `v` the schema it has."""

    at: float
    v: int = SCHEMA


class OfRequest(Fact):
    """An event of one request, named by its id."""

    request: str


class OfAttempt(OfRequest):
    """An event of one attempt (counted from 1) at one subtask of a request."""

    subtask: str
    attempt: int


class RequestAdded(Fact):
    """Somebody asked for something in the thread. The first of a log makes the job.

    `refusal`, if not empty, says why it will not be worked on (an empty mention, say).
    """

    type: Literal["RequestAdded"] = "RequestAdded"
    place: Place
    request: Request
    refusal: str = ""


class AttachmentsFetched(OfRequest):
    """The files of a request are in the store; `faults` name those that could not be had, and why."""

    type: Literal["AttachmentsFetched"] = "AttachmentsFetched"
    artifacts: tuple[Artifact, ...] = ()
    faults: tuple[str, ...] = ()


class PlanProposed(OfRequest):
    """There is a plan that passed every check: the planner's, or that of a routing rule."""

    type: Literal["PlanProposed"] = "PlanProposed"
    within: str = ""
    """The subtask that a crew inside the crew planned; ids and names are those outside of it. Empty: the request."""
    plan: Plan
    members: tuple[Member, ...] = ()
    """The crew as it stood, so that the job can be followed without it."""
    terms: Terms = Terms()
    estimates: tuple[Estimate, ...] = ()
    """The likely usage of each subtask; none if nothing is known of what calls take."""
    rule: str = ""
    """The routing rule that made the plan in the planner's place, by its name."""
    reasons: tuple[str, ...] = ()
    """Decisions about it, each with its reason: who of equals, which ad-hoc specialist."""
    pack: Packed = Packed()
    usage: Usage = Usage()


class PlanRejected(OfRequest):
    """The planner's answer did not pass; `faults` are the exact ones that it was, or will be, told."""

    type: Literal["PlanRejected"] = "PlanRejected"
    within: str = ""
    faults: tuple[str, ...]
    pack: Packed = Packed()
    usage: Usage = Usage()


class PlanRevised(OfRequest):
    """The planner looked at its plan again, since `subtask` brought or met with something that it may be wrong about.

    `plan` is the one that follows, None if it stays as it was; `faults` then say why. `within` is the subtask
    whose own plan it is, empty for that of the request. `estimates` are those of what was added or changed.
    """

    type: Literal["PlanRevised"] = "PlanRevised"
    within: str = ""
    subtask: str
    plan: Plan | None = None
    changes: tuple[PlanChange, ...] = ()
    faults: tuple[str, ...] = ()
    estimates: tuple[Estimate, ...] = ()
    pack: Packed = Packed()
    usage: Usage = Usage()


class AttemptStarted(OfAttempt):
    """A specialist took up a subtask."""

    type: Literal["AttemptStarted"] = "AttemptStarted"
    specialist: str
    tier: Tier
    pack: Packed = Packed()


class TurnTaken(OfAttempt):
    """A model turn ended: a checkpoint."""

    type: Literal["TurnTaken"] = "TurnTaken"
    turn: Turn


class ToolReturned(OfAttempt):
    """A tool call of the last turn ended: a checkpoint."""

    type: Literal["ToolReturned"] = "ToolReturned"
    reply: ToolReply
    artifacts: tuple[Artifact, ...] = ()
    gaps: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()


class ToolStarted(OfAttempt):
    """A tool that writes is about to run: kept before the call, as its intent.

    `call` is the id of the call in the turn, `key` what makes it safe to repeat (empty: it is not), `what` says
    in a few words for people what it does. Calls of the same tool with the same arguments have the same `digest`.
    """

    type: Literal["ToolStarted"] = "ToolStarted"
    call: str
    tool: str
    what: str
    key: str = ""
    digest: str = ""


class ToolInDoubt(OfAttempt):
    """Nobody knows whether a call of a tool that writes was carried out: people are asked. `reason` says why.

    `usage` is what the attempt has spent so far: it counts only if people end the subtask here.
    """

    type: Literal["ToolInDoubt"] = "ToolInDoubt"
    call: str
    tool: str
    what: str
    reason: str
    usage: Usage = Usage()


class ResultReturned(OfAttempt):
    """A specialist handed back a result: the subtask is done, if the free checks found nothing.

    `faults` are what they are sure of and `doubts` what somebody should look at, each with what it quotes.
    `took` is the attempt's own seconds, as with all ends of attempts.
    """

    type: Literal["ResultReturned"] = "ResultReturned"
    result: Result
    faults: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    took: float = 0.0


class ResultJudged(OfAttempt):
    """The result of an attempt was looked at: by the free checks alone, or the judge. `faults` quote what is wrong."""

    type: Literal["ResultJudged"] = "ResultJudged"
    verdict: Verdict
    by: Literal["checks", "model"] = "model"
    faults: tuple[str, ...] = ()
    pack: Packed = Packed()
    usage: Usage = Usage()


class BriefRefined(OfAttempt):
    """The brief was rewritten from what the attempt failed at. `intent` is the new one; empty: there is none."""

    type: Literal["BriefRefined"] = "BriefRefined"
    intent: str = ""
    fault: str = ""
    pack: Packed = Packed()
    usage: Usage = Usage()


class DeadlineReached(OfRequest):
    """The time is up: for a subtask, or (`subtask` empty) for the whole request."""

    type: Literal["DeadlineReached"] = "DeadlineReached"
    subtask: str = ""


class AttemptFailed(OfAttempt):
    """An attempt ended without a result. `transient`: the same again may work, in `pause` seconds at the earliest.

    `failed_calls` counts the calls that brought nothing. `partial` is what there was by then.
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


class Escalated(OfAttempt):
    """A specialist said "I can't", and why."""

    type: Literal["Escalated"] = "Escalated"
    escalation: Escalation
    usage: Usage = Usage()
    took: float = 0.0


class QuestionAnswered(OfRequest):
    """A person answered the open question of a subtask, by a click or a reply.

    `number` is that of the question, so that a late second click answers none that was asked since; 0: the open one.
    """

    type: Literal["QuestionAnswered"] = "QuestionAnswered"
    subtask: str
    user: str
    text: str
    number: int = 0


class CancelRequested(Fact):
    """A person asked for the job to stop: the Stop button, a command, or a word in the thread."""

    type: Literal["CancelRequested"] = "CancelRequested"
    user: str


class TakenOver(Fact):
    """Owners of the job were lost, `lost` in a row without progress: a lease ran out, or the work stalled or broke.

    `owner` has it now.
    """

    type: Literal["TakenOver"] = "TakenOver"
    owner: str
    lost: int


class WorkResumed(Fact):
    """Nobody had worked on the job for `away` seconds, which count against none of its deadlines."""

    type: Literal["WorkResumed"] = "WorkResumed"
    away: float


class SetAside(Fact):
    """The job brought down or stalled its owners too often, or cannot be read: it rests until an admin releases it."""

    type: Literal["SetAside"] = "SetAside"
    step: str
    reason: str


class Released(Fact):
    """An admin let a job that was set aside go on."""

    type: Literal["Released"] = "Released"
    user: str


class ConflictsJudged(OfRequest):
    """The arbiter looked at what contradicts itself in the results. `unjudged` are claims that were too many for it.

    `within`, here and below, is the subtask that a crew inside the crew is at; empty: the request itself.
    """

    type: Literal["ConflictsJudged"] = "ConflictsJudged"
    within: str = ""
    conflicts: tuple[Conflict, ...] = ()
    unjudged: tuple[str, ...] = ()
    pack: Packed = Packed()
    usage: Usage = Usage()


class MaterialReduced(OfRequest):
    """One part of a round of condensing is done: `notes` stand in the place of what went into it.

    Both are counted from 1. `left_out` names what the notes lack, each in words.
    """

    type: Literal["MaterialReduced"] = "MaterialReduced"
    within: str = ""
    round: int
    part: int = 1
    notes: tuple[Note, ...] = ()
    left_out: tuple[str, ...] = ()
    pack: Packed = Packed()
    usage: Usage = Usage()


class AnswerReviewed(OfRequest):
    """The critic read the answer against the request and the findings. `faults` quote what is wrong with it.

    `doubt` says why it came to no verdict, in which case the answer goes out as it is.
    """

    type: Literal["AnswerReviewed"] = "AnswerReviewed"
    within: str = ""
    faults: tuple[str, ...] = ()
    doubt: str = ""
    pack: Packed = Packed()
    usage: Usage = Usage()


class AnswerWritten(OfRequest):
    """The answer's text is fixed; what remains is to show it. A `draft` is read by the critic first.

    `chosen` is the subtask whose result was picked among rivals, `why` the reason; the others stay in the log.
    `unjudged` are claims that may contradict each other and are not told in it, where there was no time to judge any.
    """

    type: Literal["AnswerWritten"] = "AnswerWritten"
    within: str = ""
    text: str
    draft: bool = False
    chosen: str = ""
    why: str = ""
    unjudged: tuple[str, ...] = ()
    pack: Packed = Packed()
    usage: Usage = Usage()


class RequestFailed(OfRequest):
    """The request cannot be answered: the step, the reason and what people can do next."""

    type: Literal["RequestFailed"] = "RequestFailed"
    step: str
    reason: str
    advice: str
    usage: Usage = Usage()


class Posted(OfRequest):
    """A message of the request is in the thread. `key` names it once for all; `ts` is Slack's id of it.

    If it cannot be posted ever (the bot was removed), `ts` is empty and `fault` says why.
    """

    type: Literal["Posted"] = "Posted"
    key: str
    ts: str
    fault: str = ""


class FeedbackGiven(OfRequest):
    """A person said whether an answer helped."""

    type: Literal["FeedbackGiven"] = "FeedbackGiven"
    user: str
    good: bool


Event = Annotated[
    RequestAdded
    | AttachmentsFetched
    | PlanProposed
    | PlanRejected
    | PlanRevised
    | AttemptStarted
    | TurnTaken
    | ToolReturned
    | ToolStarted
    | ToolInDoubt
    | ResultReturned
    | ResultJudged
    | BriefRefined
    | DeadlineReached
    | AttemptFailed
    | Escalated
    | QuestionAnswered
    | CancelRequested
    | TakenOver
    | WorkResumed
    | SetAside
    | Released
    | ConflictsJudged
    | MaterialReduced
    | AnswerReviewed
    | AnswerWritten
    | RequestFailed
    | Posted
    | FeedbackGiven,
    Field(discriminator="type"),
]

_adapter: TypeAdapter[Event] = TypeAdapter(Event)


def dump(event: Event) -> str:
    """Write the event as one line of JSON, defaults left out but for its type; its last names are `type` and `v`."""
    line = event.model_dump_json(exclude_defaults=True, exclude={"v"})
    return f'{line[:-1]},"type":"{event.type}","v":{SCHEMA}}}'


def load(line: str | bytes) -> Event:
    """Read the event of one line of JSON, lifted to the present schema if an older release wrote it.

    Raises:
        NewerEvent: A newer release wrote it.
        ValueError: It is no event of ours.
    """
    text = line if isinstance(line, str) else line.decode()
    if not text.endswith(f',"v":{SCHEMA}}}'):
        event = lifted(json.loads(text), SCHEMA, UPCASTERS)
    else:  # as nearly all are: nothing is parsed twice
        try:
            return _adapter.validate_json(text)
        except ValidationError:
            event = json.loads(text)
    return _adapter.validate_python({**event, **_salvaged(event)})


_LEAST: dict[str, tuple[str, Turn | ToolReply]] = {
    "TurnTaken": ("turn", Turn(text="", stop="tool_use", usage=Usage())),
    "ToolReturned": ("reply", ToolReply(call_id="", text="")),
}
"""By type of event: the field that earlier releases kept without a look at it, and what stands for unreadable parts."""


def _salvaged(event: Json) -> Json:
    """Read the field of such an event as far as it can be read, part by part: one odd turn must not cost a job."""
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
