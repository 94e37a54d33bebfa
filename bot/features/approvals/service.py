"""The approval service: records people's decisions on open approvals, and refuses those that do not count.

A decision is recorded in the job's inbox; the core counts it when it folds the log. Of two simultaneous decisions the
first in the log counts. Each is checked again after it was recorded, so that the second person gets a note.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import BaseModel, ValidationError

from bot.jobs.effect_handlers import FindApprovers, leave_approvers_to_crew
from bot.jobs.job_records import read_job
from bot.slack.show.people import FindActor, FindGroups, find_no_groups, refuse_any_actor
from bot.slack.views.approval import ApprovalRef
from bot.store.redis.redis_store import Store
from bot.store.values import JobKey
from handoff import events as ev
from handoff.access.audit_entry import AuditAction, AuditEntry, AuditRecorder, discard_entry
from handoff.access.rights import Actor
from handoff.approval_values import Approval, ApprovalChoice
from handoff.contracts import Place
from handoff.engine.approvals import list_deciders, list_excluded_users, may_decide
from handoff.state.job_state import Job, RequestState, SubtaskState
from handoff.state.state_values import Question, QuestionAnswer, Ruling
from specialists.crew import Crew
from specialists.crew_set import CrewSet
from specialists.tools.tool import Tool
from specialists.tools.tool_sign_in import SignIn
from specialists.turns.argument_names import find_name_fault
from specialists.turns.call_approval import digest_sign_in, dump_arguments
from specialists.turns.egress import describe_request
from specialists.turns.finish_tools import describe_argument_faults

RefusalReason = Literal[
    "unknown", "late", "over", "apart", "changed", "not_yours", "own", "again", "no_tool", "no_server", "wrong"
]
"""Why a decision does not count.

- `unknown`: the job has no such approval.
- `late`: somebody else decided, or the approval expired.
- `over`: the work that needed the approval ended before anybody decided.
- `apart`: somebody chose to decide one by one.
- `changed`: the arguments have changed since the card was drawn.
- `not_yours`: only others may decide.
- `own`: the requester may not approve it, only others may.
- `again`: this person has approved it already, and more approvals are needed.
- `no_tool`, `no_server`: the tool, or the server to sign in to, is gone.
- `wrong`: the edited arguments do not fit the tool.
"""


@dataclass(frozen=True, slots=True)
class ApprovalDecision:
    """A person's choice, with the arguments of an edit or the reason of a denial.

    `has_signed_in`: the person has signed in, which is the only way to approve a sign-in.
    """

    choice: ApprovalChoice
    arguments: Mapping[str, Any] = field(default_factory=dict)
    reason: str = ""
    has_signed_in: bool = False


@dataclass(frozen=True, slots=True)
class DecisionAccepted:
    """The outcome of a decision that was recorded and counts."""


@dataclass(frozen=True, slots=True)
class DecisionRefused:
    """The outcome of a decision that does not count.

    `deciders` may decide instead. `ruling` says how the approval ended. `message` says what is wrong with the argument
    `field`.
    """

    reason: RefusalReason
    deciders: tuple[str, ...] = ()
    ruling: Ruling | None = None
    field: str = ""
    message: str = ""


DecisionOutcome = DecisionAccepted | DecisionRefused


@dataclass(frozen=True, slots=True)
class ApprovalSubject:
    """An approval with the JSON schema of its tool's arguments (empty if the tool is gone)."""

    approval: Approval
    schema: Mapping[str, Any]


class ApprovalService:
    """Records decisions on approvals. Coroutines raise StoreError; then the decision is not recorded.

    Args:
        store: The store of the jobs.
        nudge: Wakes the runner of a job after a decision.
        crews: The crews whose tools check the arguments that people edit.
        admins: Slack ids of the admins.
        find_groups: Returns the ids of a person's user groups.
        find_actor: Returns a person's present rights in a place; None if they may not act there any more.
        find_approvers: Returns the ids of those who may now approve in a channel of a team; empty: as the crew says.
        record_audit: Stores an audit entry for each person who was refused.
    """

    def __init__(
        self,
        store: Store,
        nudge: Callable[[JobKey], None],
        crews: CrewSet,
        *,
        admins: frozenset[str],
        find_groups: FindGroups = find_no_groups,
        find_actor: FindActor = refuse_any_actor,
        find_approvers: FindApprovers = leave_approvers_to_crew,
        record_audit: AuditRecorder = discard_entry,
    ) -> None:
        self._store = store
        self._record_audit = record_audit
        self._nudge = nudge
        self._crews = crews
        self._admins = admins
        self._find_groups = find_groups
        self._find_actor = find_actor
        self._find_approvers = find_approvers

    async def find_subject(
        self, place: Place, ref: ApprovalRef, user: str, *, must_decide: bool
    ) -> ApprovalSubject | DecisionRefused:
        """Return an approval and its tool's schema. If the person `must_decide` and may not, return the refusal."""
        job = await self._read_job(place)
        refusal = await self._find_refusal(job, ref, place, user) if must_decide else None
        if refusal is not None:
            await self._record_refusal(place, ref, user, "approved", refusal)
            return refusal
        question_pair = _find_approval(job, ref)
        if question_pair is None:
            return DecisionRefused("unknown")
        question, subtask = question_pair
        approval = question.approval
        if approval is None:
            return DecisionRefused("unknown")
        tool = self._find_call_tool(job, ref, subtask, approval)
        return ApprovalSubject(approval, tool.spec.parameters if tool is not None else {})

    async def decide(
        self, place: Place, ref: ApprovalRef, user: str, decision: ApprovalDecision, *, dedupe: tuple[str, ...]
    ) -> DecisionOutcome:
        """Record a decision. The outcome says whether it counts, judged by the log after the decision was recorded."""
        job = await self._read_job(place)
        refusal = await self._find_refusal(job, ref, place, user)
        question_pair = _find_approval(job, ref)
        if refusal is not None or question_pair is None:
            refusal = refusal or DecisionRefused("unknown")
            await self._record_refusal(place, ref, user, "denied" if decision.choice == "deny" else "approved", refusal)
            return refusal
        approval = question_pair[0].approval
        if (
            approval is not None
            and approval.kind == "sign_in"
            and not (decision.choice == "deny" or decision.has_signed_in)
        ):
            return DecisionRefused("unknown")  # no card has such a button
        edit_fields = self._check_edit(job, ref, question_pair[1], approval, decision)
        if isinstance(edit_fields, DecisionRefused):
            return edit_fields
        event = ev.ApprovalDecided(
            at=self._store.clock(),
            request=ref.request,
            subtask=ref.subtask,
            number=ref.number,
            digest=ref.digest,
            user=user,
            groups=await self._find_groups(user),
            admin=user in self._admins,
            decision=decision.choice,
            reason=decision.reason,
            lapsed=await self._find_lapsed_voters(job, ref, place, question_pair[0]),
            **edit_fields,
        )
        key = JobKey(place.team, place.job_id)
        new = await self._store.jobs.signal(key, ev.dump_event(event), dedupe=dedupe)
        self._nudge(key)
        return _judge_recorded_decision(await self._read_job(place), ref, event) if new else DecisionAccepted()

    async def _find_lapsed_voters(
        self, job: Job | None, ref: ApprovalRef, place: Place, question: Question
    ) -> tuple[str, ...]:
        """Return the people among the earlier approvers who may not decide on the approval any more."""
        request = job.find_request(ref.request) if job is not None else None
        if request is None or question.approval is None:
            return ()
        users = [vote.user for vote in question.votes]
        actors = {user: await self._find_actor(place, user) for user in users}
        return list_excluded_users(question.approval.terms, request.spec.user, users, actors)

    async def find_sign_in(self, place: Place, ref: ApprovalRef, user: str) -> SignIn | DecisionRefused:
        """Return the sign-in that an open approval waits for, or the refusal if this person may not sign in."""
        subject = await self.find_subject(place, ref, user, must_decide=True)
        if isinstance(subject, DecisionRefused):
            return subject
        job = await self._read_job(place)
        request = job.find_request(ref.request) if job is not None else None
        crew = self._crews.find_crew(request.spec.crew) if request is not None else None
        if crew is None or subject.approval.kind != "sign_in":
            return DecisionRefused("no_server")
        # The tool is not looked up by the specialist's name: ad-hoc specialists are in no crew.
        ways = (
            one.signs_in
            for one in _iterate_tools(crew)
            if one.name == subject.approval.tool and one.signs_in is not None
        )
        return next(
            (way for way in ways if digest_sign_in(way) == subject.approval.digest), DecisionRefused("no_server")
        )

    def _check_edit(
        self,
        job: Job | None,
        ref: ApprovalRef,
        subtask: SubtaskState,
        approval: Approval | None,
        decision: ApprovalDecision,
    ) -> dict[str, Any] | DecisionRefused:
        """Validate edited arguments as the tool does. Returns the event's fields for them; {} for any other choice."""
        if decision.choice != "edit" or approval is None:
            return {}
        tool = self._find_call_tool(job, ref, subtask, approval)
        if tool is None:
            return DecisionRefused("no_tool")
        before = approval.arguments  # with values that the tool filled in, which its schema does not list
        edits = {name: to for name, to in decision.arguments.items() if name not in before or before[name] != to}
        if fault := find_name_fault(tool.arguments, edits):
            return DecisionRefused("wrong", message=f"That is not sent: {fault}.")
        try:
            arguments = tool.arguments.model_validate(decision.arguments)
        except ValidationError as error:
            where = next((str(one["loc"][0]) for one in error.errors() if one["loc"]), "")
            return DecisionRefused("wrong", field=where, message=describe_argument_faults(error))
        return _render_edited_call(tool, arguments)

    def _find_call_tool(
        self, job: Job | None, ref: ApprovalRef, subtask: SubtaskState, approval: Approval
    ) -> Tool | None:
        request = job.find_request(ref.request) if job is not None else None
        crew = self._crews.find_crew(request.spec.crew) if request is not None else None
        specialist = crew.all_specialists.get(subtask.specialist) if crew is not None else None
        return specialist.toolbox.get(approval.tool) if specialist is not None else None

    async def _find_refusal(self, job: Job | None, ref: ApprovalRef, place: Place, user: str) -> DecisionRefused | None:
        """Return why a person's decision would not count, or None if it would."""
        request = job.find_request(ref.request) if job is not None else None
        if request is None or ref.subtask not in request.subtasks:
            return DecisionRefused("unknown")
        question = request.open_questions.get(ref.subtask)
        if question is None or question.number != ref.number or question.approval is None:
            return _explain_closed_approval(request, ref)
        if question.approval.digest != ref.digest:
            return DecisionRefused("changed")
        actor = Actor(user, await self._find_groups(user), user in self._admins)
        if not may_decide(question, request.spec.user, user, actor.groups, admin=actor.is_admin):
            own = user == request.spec.user and not question.approval.terms.own
            return DecisionRefused("own" if own else "not_yours", deciders=question.whom)
        approvers = await self._find_approvers(place.team, place.channel) or ()
        now = question.approval.terms.with_approvers(approvers)  # the channel's approvers may have changed
        if list_excluded_users(now, request.spec.user, [user], {user: actor}):
            return DecisionRefused("not_yours", deciders=list_deciders(now, request.spec.user))
        if any(vote.user == user for vote in question.votes):
            return DecisionRefused("again")
        return None

    async def _record_refusal(
        self, place: Place, ref: ApprovalRef, user: str, deed: AuditAction, refusal: DecisionRefused
    ) -> None:
        """Store in the audit that a person's decision was refused."""
        context_fields = {"at": self._store.clock(), "team": place.team, "channel": place.channel, "job": place.job_id}
        what = {"request": ref.request[:80], "target": ref.subtask[:80], "why": refusal.reason}
        await self._record_audit(AuditEntry(deed=deed, user=user, outcome="refused", **context_fields, **what))

    async def _read_job(self, place: Place) -> Job | None:
        """Read the job with its inbox, even events that its owner has not folded yet; None if it is unreadable."""
        job = await read_job(self._store.jobs, JobKey(place.team, place.job_id))
        return job if isinstance(job, Job) else None


def _render_edited_call(tool: Tool, arguments: BaseModel) -> dict[str, Any] | DecisionRefused:
    """Return the event's fields for a call with edited arguments: the arguments, and the texts for its card."""
    outgoing_request = tool.sends(arguments) if tool.sends is not None else None
    outgoing_text = describe_request(outgoing_request) if outgoing_request is not None else ""
    if outgoing_text is None:
        return DecisionRefused(
            "wrong", message="That is too long to be shown whole, and what cannot be shown is not sent."
        )
    target = (tool.target(arguments) if tool.target is not None else "") or (
        outgoing_request.to if outgoing_request is not None else ""
    )
    return {
        "arguments": dump_arguments(arguments),
        "what": tool.describe_call(arguments),
        "target": target,
        "leaves": outgoing_text,
    }


def _iterate_tools(crew: Crew) -> Iterator[Tool]:
    """Yield all tools of a crew and of the crews inside it, including those lent to ad-hoc specialists."""
    for specialist in crew.specialists.values():
        yield from specialist.tools
    yield from crew.lent_tools.values()
    for inside in crew.crews.values():
        yield from _iterate_tools(inside)


def _find_approval(job: Job | None, ref: ApprovalRef) -> tuple[Question, SubtaskState] | None:
    """Return the question of an approval, open or closed, and its subtask; None if there is no such approval."""
    request = job.find_request(ref.request) if job is not None else None
    subtask = request.subtasks.get(ref.subtask) if request is not None else None
    if subtask is None:
        return None
    questions = [one.question for one in subtask.question_answers] + (
        [subtask.question] if subtask.question is not None else []
    )
    question = next((one for one in questions if one.number == ref.number and one.approval is not None), None)
    return (question, subtask) if question is not None else None


def _find_closed_question(request: RequestState, ref: ApprovalRef) -> QuestionAnswer | None:
    subtask = request.subtasks.get(ref.subtask)
    question_answers = subtask.question_answers if subtask is not None else ()
    return next((one for one in question_answers if one.question.number == ref.number), None)


def _explain_closed_approval(request: RequestState, ref: ApprovalRef) -> DecisionRefused:
    """Return the refusal for an approval that is not open any more: it says how the approval ended."""
    question_answer = _find_closed_question(request, ref)
    if question_answer is None:
        return DecisionRefused("over")
    return (
        DecisionRefused("late", ruling=question_answer.ruling)
        if question_answer.ruling is not None
        else DecisionRefused("apart")
    )


def _judge_recorded_decision(job: Job | None, ref: ApprovalRef, event: ev.ApprovalDecided) -> DecisionOutcome:
    """Judge by the log whether a recorded decision counts, as another may have been recorded just before it."""
    request = job.find_request(ref.request) if job is not None else None
    if request is None:
        return DecisionRefused("unknown")
    question = request.open_questions.get(ref.subtask)
    if question is not None and question.number == ref.number:
        mine = any((vote.user, vote.at) == (event.user, event.at) for vote in question.votes)
        return DecisionAccepted() if mine else DecisionRefused("again")
    question_answer = _find_closed_question(request, ref)
    if question_answer is None:
        return DecisionRefused("over")
    votes = {(vote.user, vote.at) for vote in question_answer.question.votes}
    mine = (event.user, event.at) in votes or (event.user, event.at) == (question_answer.user, question_answer.at)
    return DecisionAccepted() if mine else _explain_closed_approval(request, ref)
