"""The small values that the state of a job is made of: troubles, questions, calls in doubt, decisions, candidates."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from handoff.approval_values import Approval, ApprovalChoice, RulingOutcome
from handoff.contracts import AskingTerms, EscalationReason, Note, PrivateSource, Request, Result, Usage
from handoff.events import FailureKind, ToolReturned, ToolStarted, TurnTaken

FailureCause = FailureKind | EscalationReason | Literal["passing"]
"""The reason why an attempt brought no result. `passing`: a fault of the provider that is likely to go away."""
RecoveryStep = Literal["retry", "refine", "stronger", "fallback", "replan", "ask", "without"]

PLEASE_CHECK = "unknown, please check"
"""The words that tell people of a call that may or may not have been carried out."""

DoubtVerdict = Literal["happened", "not_happened", "stop", "words"]
"""The meaning of a person's answer about a call in doubt. `words`: the answer is free text and settles nothing."""


@dataclass(frozen=True, slots=True)
class UnknownWrite:
    """A call of a writing tool of which nobody knows whether it was carried out: people are asked.

    `call` is its id in the turn, `what` says in a few words for people what it does, `reason` says why nobody knows,
    and `usage` is the usage of its attempt by then.
    """

    call: str
    tool: str
    what: str
    reason: str
    usage: Usage = Usage()


@dataclass(frozen=True, slots=True)
class CheckedWrite:
    """A person's answer on a call that was in doubt. As a checkpoint it takes the place of the call's outcome."""

    at: float
    call: str
    verdict: DoubtVerdict
    user: str
    words: str


@dataclass(frozen=True, slots=True)
class EarlierWrite:
    """A call of an earlier attempt that must not be made again.

    `known` is True if it was certainly carried out; otherwise it may have been. `came_of_it` is its reply, or the
    words of the person who was asked. `address` leads to what was made, if its tool said so.
    """

    what: str
    digest: str
    known: bool
    came_of_it: str
    address: str = ""


@dataclass(frozen=True, slots=True)
class Ruling:
    """How an approval ended. As a checkpoint it says what becomes of the call that was asked about.

    `call` is the id of that call. If it is approved or edited, it is made once, with exactly these `arguments` and
    this `digest`; in all other cases it is not made. `users` are the people who decided, none if it expired. `reason`
    is in the words of who denied it; it may be empty. `alike`: similar calls are approved too, see
    `handoff.engine.approvals.precedents`. `leads` is False for all but the first of several calls that were decided
    together. `requester` made the request that the call was for. `target` and `leaves` are those of the approval, as
    they are with these arguments.
    """

    at: float
    call: str
    tool: str
    outcome: RulingOutcome
    digest: str
    arguments: Mapping[str, Any]
    users: tuple[str, ...] = ()
    reason: str = ""
    alike: bool = False
    leads: bool = True
    requester: str = ""
    target: str = ""
    leaves: str = ""

    def split_by_call(self, approval: Approval) -> tuple[Ruling, ...]:
        """Return a ruling for each call of the approval that this one ended."""
        if not approval.parts:
            return (self,)
        return tuple(
            replace(
                self,
                call=one.call,
                tool=one.tool,
                digest=one.digest,
                arguments=one.arguments,
                leads=place == 0,
                target=one.target,
                leaves=one.leaves,
            )
            for place, one in enumerate(approval.parts)
        )

    @property
    def is_approved(self) -> bool:
        """True if the call may be made."""
        return self.outcome in {"approved", "edited"}


@dataclass(frozen=True, slots=True)
class EarlierRulings:
    """What earlier rulings say of a call: the `ruling` that holds for it as well, if one does.

    `new` are the ids of the private sources that have come into view since people approved similar calls, if that is
    why none holds.
    """

    ruling: Ruling | None = None
    new: tuple[str, ...] = ()


def make_source(kind: str, text: str, name: str, tool: str = "", target: str = "") -> PrivateSource:
    """Make the source of a text; those of different kinds differ."""
    digest = hashlib.sha256(json.dumps([kind, tool, target, text]).encode()).hexdigest()
    return PrivateSource(id=digest[:20], name=name, tool=tool, target=target)


Checkpoint = TurnTaken | ToolReturned | ToolStarted | CheckedWrite | Ruling
"""One step of an attempt, kept so that the next owner can go on after it."""


def list_private_sources(checkpoints: Iterable[Checkpoint]) -> tuple[PrivateSource, ...]:
    """Return the private sources that tools gave an attempt, in order."""
    found: list[PrivateSource] = []
    names: dict[str, str] = {}
    for point in checkpoints:
        if isinstance(point, TurnTaken):
            names = {call.id: call.name for call in point.turn.calls}
        elif isinstance(point, ToolReturned) and point.private:
            found.append(reply_source(names.get(point.reply.call_id, "a tool"), point.target, point.reply.text))
    return tuple(dict.fromkeys(found))


def reply_source(tool: str, target: str, text: str) -> PrivateSource:
    """Return the source that a tool's reply is."""
    return make_source("reply", text, f"what {tool} gave", tool, target)


def may_answer(whom: tuple[str, ...], user: str, groups: tuple[str, ...] = ()) -> bool:
    """Return True if a person may answer a question that is for `whom`; anybody may if it names nobody.

    `whom` holds ids of people and of user groups; `groups` are those that the person is in.
    """
    return not whom or user in whom or any(group in whom for group in groups)


@dataclass(frozen=True, slots=True)
class Reminder:
    """A reminder of a question: when (seconds since the epoch), and for which people and user groups, by id."""

    at: float
    to: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Vote:
    """One person's approval, where several are needed. `choice` is never a denial: a denial ends the approval."""

    user: str
    choice: ApprovalChoice
    at: float


@dataclass(frozen=True, slots=True)
class Question:
    """A question of a subtask, or of the planner, to people. `number` counts its questions from 1.

    `asked` is seconds since the epoch.

    `whom` are the ids of the people and user groups who may answer it; empty: anybody in the thread. `doubt`, if there
    is one, is the tool call that people are asked about: was it carried out? `approval`, if there is one, is what they
    are asked to approve, and `votes` are the approvals so far; words do not answer such a question (see
    `engine.approvals`).

    What follows if nobody answers is in `asking`. `assumption` is what is taken for the answer then; empty: nothing
    can be.

    `second_try`: it is asked before a second try begins, and `done` are the calls about which people decide.
    """

    number: int
    message: str
    options: tuple[str, ...]
    asked: float
    whom: tuple[str, ...] = ()
    doubt: UnknownWrite | None = None
    approval: Approval | None = None
    votes: tuple[Vote, ...] = ()
    assumption: str = ""
    asking: AskingTerms = field(default_factory=AskingTerms)
    reminders: tuple[Reminder, ...] = ()
    second_try: bool = False
    done: tuple[EarlierWrite, ...] = ()

    @property
    def is_exclusive(self) -> bool:
        """True if only the people in `whom` may ever answer: reminders bring in nobody else."""
        return self.approval is not None or self.doubt is not None

    def may_answer(self, user: str, groups: tuple[str, ...] = ()) -> bool:
        """Return True if an answer by this person, who is in these user groups, counts."""
        return self.approval is None and may_answer(self.whom, user, groups)


@dataclass(frozen=True, slots=True)
class QuestionAnswer:
    """An answer to a question: who gave it, its text, and when (seconds since the epoch).

    Without a `user` nobody did: the text was assumed. `ruling`, if the question was about an approval, is how that
    ended; `user` decided it, nobody if it expired.
    """

    question: Question
    user: str
    text: str
    at: float
    ruling: Ruling | None = None

    @property
    def note(self) -> Note:
        """The question and its answer, for those who work on."""
        if not self.user:
            return Note(source=f"Asked: {self.question.message}", text=f"Nobody answered; assume: {self.text}")
        return Note(source=f"Asked: {self.question.message}", text=f"Answered by a person: {self.text}")


@dataclass(frozen=True, slots=True)
class EngineDecision:
    """A decision of the engine and its reason, in words for people.

    `at` is seconds since the epoch. `subtask` is empty if the decision is about the whole request. `left_out` names
    what a model was given in part, or not at all, and how much of it.
    """

    at: float
    subtask: str
    what: str
    why: str
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReplanTrigger:
    """A reason to ask the planner again: a finding or a failure of a subtask, in the subtask's own `words`.

    `within` is the subtask whose inner plan is in question; empty: the request's own plan. For a correction, `words`
    are the requester's, and `subtask` is a name that no subtask has.
    """

    subtask: str
    words: str
    cause: Literal["finding", "failure", "correction"]
    within: str = ""


@dataclass(frozen=True, slots=True)
class Failure:
    """The reason why an attempt or a request failed. `step` is the title of a subtask or a stage of the job."""

    step: str
    reason: str
    advice: str = ""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A result that is not accepted yet.

    `faults` each quote the text that they are about. `partial` is True if the attempt failed and this is what it had
    by then.
    """

    result: Result
    faults: tuple[str, ...] = ()
    partial: bool = False


@dataclass(frozen=True, slots=True)
class ThreadTalk:
    """What people said in the thread since the bot last did.

    `spoke` is when the bot last posted something (seconds since the epoch). `speakers` are the authors of the messages
    since then, oldest first. `others`: the last of these messages was for somebody else.
    """

    spoke: float = 0.0
    speakers: tuple[str, ...] = ()
    others: bool = False


@dataclass(frozen=True, slots=True)
class DeletedCopy:
    """A copy of something that was deleted: what the store keeps under `digest`.

    With an `end`, it is only the characters from `start` to there: the rest of that text stays.
    """

    digest: str
    start: int = 0
    end: int = 0


@dataclass(frozen=True, slots=True)
class Correction:
    """A message by which the requester changed a request under way, as it reads now; `message` is its id.

    `edited` is the stamp of its last edit.
    """

    message: str
    text: str
    edited: float = 0.0


Outcome = Literal[
    "",
    "request",
    "queued",
    "applied",
    "dropped",
    "replaced",
    "too_late",
    "taken",
    "which",
    "explained",
    "thanks",
    "unsorted",
    "unclear",
]
"""What became of a message.

- empty: nobody has looked yet what it is for.
- `request`: it is to be handed in as a request.
- `queued`: it is a request that waits until the one under way has ended.
- `applied`: it corrects the request under way.
- `dropped`: it is a correction that its author deleted.
- `replaced`: it is an edit of a request that nobody has begun.
- `too_late`: it is an edit of a request whose answer is written.
- `taken`: it answered a question.
- `which`: it could answer more than one question, and its author is asked which.
- `explained`: it asked back, and the question is put again, with its reason.
- `thanks`: it was a thank-you.
- `unsorted`: nobody could tell yet what it is for, and the dispatcher is asked again later.
- `unclear`: nobody could tell what it is for, and nobody is asked any more.
"""


@dataclass(frozen=True, slots=True)
class HeardMessage:
    """A message of the thread that is still to be sorted or acknowledged.

    `receipt` names it within the job. `groups` are the user groups of its author. `before` is what was said before it.
    `question` is the subtask whose question it is about; empty: the planner's. For a correction, `told` counts the
    subtasks under way that are told of it, and `waiting` those that the planner looks at again. `tries` counts how
    often nobody could tell what it is for, and `not_before` is when the dispatcher is asked again.
    """

    receipt: str
    message: Request
    mentioned: bool = False
    groups: tuple[str, ...] = ()
    before: ThreadTalk = field(default_factory=ThreadTalk)
    outcome: Outcome = ""
    question: str = ""
    told: int = 0
    waiting: int = 0
    tries: int = 0
    not_before: float = 0.0


@dataclass(frozen=True, slots=True)
class Provenance:
    """The sources of a brief.

    `words` are the texts that the requester wrote in the job. `has_derived_content` is True if the brief may also hold
    content that models or tools produced. `private` names what is private in the view of whoever works on it, each once
    and in words for people; empty: nothing is. `sources` are where all of that came from in the end. `share` is the
    attempt's share of the bits that a request may give away by choosing among what is free to send: the shares of all
    attempts at all subtasks of a plan add up to 1 at most.
    """

    words: tuple[str, ...] = ()
    has_derived_content: bool = False
    private: tuple[str, ...] = ()
    sources: tuple[PrivateSource, ...] = ()
    share: float = 1.0
