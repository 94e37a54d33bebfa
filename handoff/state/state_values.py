"""Small values in the state of a job: questions, approvals, failures, calls in doubt, decisions and candidates."""

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
"""The reason why an attempt brought no result. `passing`: a provider's error that is likely to go away."""
RecoveryStep = Literal["retry", "refine", "stronger", "fallback", "replan", "ask", "without"]
"""A step of the ladder in `handoff.engine.ladder`, which has the meaning of each."""

UNKNOWN_WRITE_WORDS = "unknown, please check"
"""The words that tell people of a call that may or may not have been carried out."""

DoubtVerdict = Literal["happened", "not_happened", "stop", "words"]
"""The meaning of a person's answer about a call in doubt. `words`: the answer is free text and decides nothing."""


@dataclass(frozen=True, slots=True)
class UnknownWrite:
    """A call of a writing tool that may or may not have been carried out. People are asked about it."""

    call: str
    """The id of the call in its turn."""
    tool: str
    what: str
    """A few words for people about what the call does."""
    reason: str
    """The reason why the outcome is unknown."""
    usage: Usage = Usage()
    """The usage of the attempt up to that point."""


@dataclass(frozen=True, slots=True)
class WriteVerdict:
    """A person's answer about a call in doubt. As a checkpoint, it takes the place of the call's outcome."""

    at: float
    call: str
    verdict: DoubtVerdict
    user: str
    words: str


@dataclass(frozen=True, slots=True)
class EarlierWrite:
    """A call of an earlier attempt that must not be made again."""

    what: str
    """A few words for people about what the call does."""
    digest: str
    """The digest of the tool and its arguments."""
    is_confirmed: bool
    """True if the call was certainly carried out; False if it may have been."""
    outcome_text: str
    """The tool's reply, or the words of the person who was asked about the call."""
    address: str = ""
    """The web address of what the call created; empty if the tool named none."""


@dataclass(frozen=True, slots=True)
class Ruling:
    """The end of an approval: a checkpoint that decides whether the call is made.

    An approved or edited call is made once, with exactly these `arguments`. A denied or expired one is not made.
    """

    at: float
    call: str
    """The id of the call in its turn."""
    tool: str
    outcome: RulingOutcome
    digest: str
    """The digest of `tool` and `arguments`."""
    arguments: Mapping[str, Any]
    users: tuple[str, ...] = ()
    """The people who decided; empty if the approval expired."""
    reason: str = ""
    """The reason of a denial, in the person's words; may be empty."""
    covers_similar: bool = False
    """True if similar calls of the requester are approved, too, see `handoff.engine.approvals.list_precedents`."""
    is_first_of_batch: bool = True
    """False for all but the first of several calls that were decided together."""
    requester: str = ""
    """The Slack id of the requester whose request the call was for."""
    target: str = ""
    """The destination of the call with these arguments."""
    leaves: str = ""
    """The exact text that the call with these arguments sends out."""

    def split_by_call(self, approval: Approval) -> tuple[Ruling, ...]:
        """Return one ruling for each call of `approval`, which this ruling ended."""
        if not approval.parts:
            return (self,)
        return tuple(
            replace(
                self,
                call=one.call,
                tool=one.tool,
                digest=one.digest,
                arguments=one.arguments,
                is_first_of_batch=place == 0,
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
class ApplicableRuling:
    """The earlier ruling that applies to a call, if there is one."""

    ruling: Ruling | None = None
    """The ruling that applies; None: no ruling does."""
    new_source_ids: tuple[str, ...] = ()
    """The ids of the private sources that were read after people approved similar calls, so that no ruling applies."""


def make_private_source(kind: str, text: str, name: str, tool: str = "", target: str = "") -> PrivateSource:
    """Return the private source of a text. The source's id is a digest of all arguments except `name`."""
    digest = hashlib.sha256(json.dumps([kind, tool, target, text]).encode()).hexdigest()
    return PrivateSource(id=digest[:20], name=name, tool=tool, target=target)


Checkpoint = TurnTaken | ToolReturned | ToolStarted | WriteVerdict | Ruling
"""One step of an attempt. A new owner of the job continues after the last checkpoint."""


def list_private_sources(checkpoints: Iterable[Checkpoint]) -> tuple[PrivateSource, ...]:
    """Return the private sources among the tool replies of an attempt, in order, each once."""
    sources: list[PrivateSource] = []
    names: dict[str, str] = {}
    for point in checkpoints:
        if isinstance(point, TurnTaken):
            names = {call.id: call.name for call in point.turn.calls}
        elif isinstance(point, ToolReturned) and point.private:
            sources.append(make_reply_source(names.get(point.reply.call_id, "a tool"), point.target, point.reply.text))
    return tuple(dict.fromkeys(sources))


def make_reply_source(tool: str, target: str, text: str) -> PrivateSource:
    """Return the private source of a tool's reply."""
    return make_private_source("reply", text, f"what {tool} gave", tool, target)


def may_answer(addressees: tuple[str, ...], user: str, groups: tuple[str, ...] = ()) -> bool:
    """Return True if a person may answer a question for `addressees` (people and user groups; empty: anybody).

    `groups` are the user groups of the person.
    """
    return not addressees or user in addressees or any(group in addressees for group in groups)


@dataclass(frozen=True, slots=True)
class Reminder:
    """A reminder of a question. `at` is seconds since the epoch, `to` are ids of people and user groups."""

    at: float
    to: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Vote:
    """One person's approval, where several are needed. `choice` is never `deny`, since a denial ends the approval."""

    user: str
    choice: ApprovalChoice
    at: float


@dataclass(frozen=True, slots=True)
class Question:
    """A question of a subtask, or of the planner, to people."""

    number: int
    """The number of the question in its subtask, from 1."""
    message: str
    options: tuple[str, ...]
    """The answers that it offers."""
    asked_at: float
    """The time at which it was asked, in seconds since the epoch."""
    whom: tuple[str, ...] = ()
    """The ids of the people and user groups who may answer; empty: anybody in the thread."""
    doubt: UnknownWrite | None = None
    """The call in doubt, if people are asked whether it was carried out; None: they are asked something else."""
    approval: Approval | None = None
    """The approval that is asked for, which only clicks answer, see `engine.approvals`; None: it is no approval."""
    votes: tuple[Vote, ...] = ()
    """The approvals so far."""
    assumption: str = ""
    """The answer to assume if nobody answers; empty: none."""
    asking_terms: AskingTerms = field(default_factory=AskingTerms)
    """The rules for reminders and expiry."""
    reminders: tuple[Reminder, ...] = ()
    """The reminders so far."""
    is_retry_question: bool = False
    """True if it is asked before a second try begins."""
    repeatable_writes: tuple[EarlierWrite, ...] = ()
    """Before a second try: the calls about which people decide whether to repeat them."""

    @property
    def is_exclusive(self) -> bool:
        """True if only the people in `whom` may ever answer, so that reminders go to nobody else."""
        return self.approval is not None or self.doubt is not None

    def may_answer(self, user: str, groups: tuple[str, ...] = ()) -> bool:
        """Return True if a person in these user groups may answer in words. No words answer an approval."""
        return self.approval is None and may_answer(self.whom, user, groups)


@dataclass(frozen=True, slots=True)
class QuestionAnswer:
    """An answer to a question."""

    question: Question
    user: str
    """The Slack id of the person who answered; empty: nobody did, so the text is an assumption or the approval
    expired."""
    text: str
    at: float
    """Seconds since the epoch."""
    ruling: Ruling | None = None
    """The ruling, if the question was an approval that has ended."""

    @property
    def note(self) -> Note:
        """The question and its answer, as a note in later briefs."""
        if not self.user:
            return Note(source=f"Asked: {self.question.message}", text=f"Nobody answered; assume: {self.text}")
        return Note(source=f"Asked: {self.question.message}", text=f"Answered by a person: {self.text}")


@dataclass(frozen=True, slots=True)
class EngineDecision:
    """A decision of the engine and its reason, in words for people."""

    at: float
    """Seconds since the epoch."""
    subtask: str
    """The subtask concerned; empty: the whole request."""
    what: str
    why: str
    left_out: tuple[str, ...] = ()
    """The texts that a model call contained only in part or not at all, each with its share in characters."""


@dataclass(frozen=True, slots=True)
class ReplanTrigger:
    """A reason to ask the planner for a revision: a finding or failure of a subtask, or a correction."""

    subtask: str
    """The subtask with the finding or failure; for a correction, a name that no subtask has."""
    words: str
    """The finding, failure or correction in its own words."""
    cause: Literal["finding", "failure", "correction"]
    within: str = ""
    """The subtask whose inner plan is in question; empty: the request's own plan."""


@dataclass(frozen=True, slots=True)
class Failure:
    """The reason why a run or a job failed. `step` is the title of a subtask, or a stage of the job."""

    step: str
    reason: str
    advice: str = ""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A result that is not accepted yet."""

    result: Result
    faults: tuple[str, ...] = ()
    """Its faults, each with a quotation of the text concerned."""
    is_partial: bool = False
    """True if the attempt failed, and this is its result up to that point."""


@dataclass(frozen=True, slots=True)
class ThreadActivity:
    """The conversation in the thread since the bot's last message."""

    bot_spoke_at: float = 0.0
    """The time of the bot's last message, in seconds since the epoch."""
    speakers: tuple[str, ...] = ()
    """The authors of the last messages since then, one per message, oldest first."""
    is_for_others: bool = False
    """True if the last message since then was for somebody else."""


@dataclass(frozen=True, slots=True)
class CopyToDelete:
    """The stored copy of a deleted message or file, which is to be deleted from the store."""

    digest: str
    """The digest under which the store keeps the copy."""
    start: int = 0
    """The first character to delete, if only a part of a text is deleted."""
    end: int = 0
    """The character after the last one to delete; 0: the whole copy is deleted."""


@dataclass(frozen=True, slots=True)
class Correction:
    """A message by which the requester changed a request under way."""

    message: str
    """The id of the message."""
    text: str
    """The text of the message after its last edit."""
    edit_stamp: float = 0.0
    """The stamp of its last edit; 0: never edited."""


MessageOutcome = Literal[
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
"""The outcome of a message in the thread.

- empty: its purpose is not decided yet.
- `request`: it becomes a request.
- `queued`: it is a request that waits until the one under way has ended.
- `applied`: it corrects the request under way.
- `dropped`: it is a correction that its author deleted.
- `replaced`: it is an edit of a request that has not begun.
- `too_late`: it is an edit of a request whose answer is written.
- `taken`: it answered a question.
- `which`: it could answer more than one question, and its author is asked which.
- `explained`: it asked what a question means, and the question is put again with its reason. Or it answered an
  approval in words, and its author is shown the buttons.
- `thanks`: it was a thank-you.
- `unsorted`: its purpose could not be decided yet. The dispatcher is asked again later.
- `unclear`: its purpose could not be decided, and the dispatcher is not asked again.
"""


@dataclass(frozen=True, slots=True)
class HeardMessage:
    """A message of the thread that is still to be sorted or acknowledged."""

    receipt: str
    """The name of its receipt within the job."""
    message: Request
    is_mention: bool = False
    groups: tuple[str, ...] = ()
    """The user groups of its author."""
    activity_before: ThreadActivity = field(default_factory=ThreadActivity)
    """The conversation before it."""
    outcome: MessageOutcome = ""
    question_subtask: str = ""
    """The subtask whose question it refers to; empty: the planner's."""
    told_count: int = 0
    """For a correction: the number of running subtasks that are told of it."""
    waiting_count: int = 0
    """For a correction: the number of subtasks that wait for the planner's revision."""
    sorting_tries: int = 0
    """The number of times that its purpose could not be decided."""
    not_before: float = 0.0
    """The time at which the dispatcher is asked again, in seconds since the epoch."""


@dataclass(frozen=True, slots=True)
class Provenance:
    """The origins of a brief, and the private content in the view of the specialist that works on it."""

    requester_texts: tuple[str, ...] = ()
    """The texts that the requester wrote in the job."""
    has_derived_content: bool = False
    """True if the brief may contain words of models or tools as well."""
    private_names: tuple[str, ...] = ()
    """The names, for people, of the private content in view, each once; empty: nothing in view is private."""
    sources: tuple[PrivateSource, ...] = ()
    """The sources that the private content in view originally comes from."""
    leak_share: float = 1.0
    """The attempt's share, from 0 to 1, of the bits that the request may leak.

    A choice among texts that are free to send leaks bits. The shares of all attempts at all subtasks of a plan add up
    to at most 1.
    """
