"""Approvals: who may decide on a call or a cost, and what follows from a decision.

An approval is a question of a subtask that only clicks answer. Each decision is an event. The decision that completes
the quorum, or denies, becomes a `Ruling`, a checkpoint of the attempt. The attempt then makes the approved call once,
or tells its model why it was not approved. A decision counts only for the question number and call digest that the
person saw.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping

from handoff import events as ev
from handoff.access.rights import Actor
from handoff.approval_values import (
    ADMINS,
    Approval,
    ApprovalChoice,
    ApprovalTerms,
    RulingOutcome,
    compute_call_digest,
)
from handoff.contracts import REQUESTER, Estimate, Terms
from handoff.engine.crew_runs import is_crew_working
from handoff.engine.subtask import list_ready_subtasks, settle_run
from handoff.state.job_state import Job, PlanRun, RequestState, SubtaskState, replace
from handoff.state.state_values import ApplicableRuling, Question, QuestionAnswer, Ruling, Vote, may_answer
from handoff.text.counts import format_dollars


def list_deciders(terms: ApprovalTerms, requester: str) -> tuple[str, ...]:
    """Return the Slack ids of those who may decide on approvals, with `admins` standing for the admins.

    If the terms leave nobody else, the admins may decide.
    """
    approver_ids = dict.fromkeys(requester if one == REQUESTER else one for one in terms.approvers)
    return tuple(one for one in approver_ids if terms.own or one != requester) or (ADMINS,)


def may_decide(question: Question, requester: str, user: str, groups: tuple[str, ...] = (), *, admin: bool) -> bool:
    """Return True if `user`, with these user groups, may decide on an approval; False for any other question."""
    return question.approval is not None and _is_decider(question.approval.terms, requester, Actor(user, groups, admin))


def _is_decider(terms: ApprovalTerms, requester: str, actor: Actor) -> bool:
    if actor.user == requester and not terms.own:
        return False
    decider_ids = list_deciders(terms, requester)
    return (actor.is_admin and ADMINS in decider_ids) or may_answer(decider_ids, actor.user, actor.groups)


def list_precedents(job: Job, request: RequestState, approval: Approval) -> tuple[tuple[Approval, Ruling], ...]:
    """Return earlier rulings that approved similar calls and may cover this call, each with its approval.

    A call is similar if it has the same requester, scope and terms. `find_applicable_ruling` decides which one applies.
    """
    if approval.terms.mode != "ask":
        return ()
    return tuple(
        (before, ruling)
        for before, ruling in _yield_rulings(job.requests)
        if ruling.covers_similar
        and ruling.requester == request.spec.user
        and (before.scope, before.terms) == (approval.scope, approval.terms)
    )


def find_applicable_ruling(
    job: Job, request: RequestState, approval: Approval, actors: Mapping[str, Actor | None]
) -> ApplicableRuling:
    """Return the earlier ruling that applies to a call, so that people are not asked about it again.

    A call that was denied or expired in this request is not asked about again. An approval of similar calls applies if
    all who decided still may decide, and if the view has no private source that it did not have then.

    Args:
        job: The job of the call.
        request: The request of the call.
        approval: The call, with the private sources in its view.
        actors: The people who decided on `list_precedents`, as they are now; None: the person may no longer act here.
    """
    for before, ruling in _yield_rulings([request]):
        if not ruling.is_approved and before.scope == approval.scope and ruling.digest == approval.digest:
            return ApplicableRuling(ruling)
    new: tuple[str, ...] = ()
    for before, ruling in list_precedents(job, request, approval):
        if list_excluded_users(approval.terms, request.spec.user, ruling.users, actors):
            continue
        more = tuple(one for one in approval.in_view if one not in before.in_view)
        if not more:
            return ApplicableRuling(ruling)
        new = min((new or more, more), key=len)
    return ApplicableRuling(None, new)


def list_excluded_users(
    terms: ApprovalTerms, requester: str, users: Iterable[str], actors: Mapping[str, Actor | None]
) -> tuple[str, ...]:
    """Return the members of `users` who may not decide for the requester now. `actors` has their present rights."""
    now = ((user, actors.get(user)) for user in users)
    return tuple(user for user, actor in now if actor is None or not _is_decider(terms, requester, actor))


def _yield_rulings(asks: Iterable[RequestState]) -> Iterator[tuple[Approval, Ruling]]:
    for answer in (
        one for request in asks for subtask in request.subtasks.values() for one in subtask.question_answers
    ):
        approval, ruling = answer.question.approval, answer.ruling
        if approval is not None and ruling is not None:
            yield from zip(approval.calls, ruling.split_by_call(approval), strict=True)


def open_approval(
    request: RequestState, subtask: SubtaskState, approval: Approval, at: float, votes: tuple[Vote, ...] = ()
) -> RequestState:
    """Open an approval as the question of a subtask. The attempt keeps its checkpoints, and continues from them."""
    whom = list_deciders(approval.terms, request.spec.user)
    asking = request.find_enclosing_run(subtask).terms.asking
    question = Question(
        subtask.last_question_number + 1,
        approval.what,
        (),
        at,
        whom=whom,
        approval=approval,
        votes=votes,
        asking_terms=asking,
    )
    return request.with_subtask(
        replace(subtask, state="input_required", question=question, approval_count=subtask.approval_count + 1)
    )


def apply_decision(request: RequestState, event: ev.ApprovalDecided) -> RequestState:
    """Apply a person's decision on an open approval. Ignore it if it is for another call, or if they may not decide."""
    subtask = request.subtasks.get(event.subtask)
    question = subtask.question if subtask else None
    if request.run.is_concluded or subtask is None or subtask.state != "input_required" or question is None:
        return request
    approval = question.approval
    if approval is None or (event.number, event.digest) != (question.number, approval.digest):
        return request
    if not may_decide(question, request.spec.user, event.user, event.groups, admin=event.admin):
        return request
    if event.decision == "deny":
        ruling = _make_ruling(request, approval, "denied", event.at, (event.user,), reason=event.reason)
        return _apply_ruling(request, subtask, question, ruling)
    if event.decision == "apart":
        return _split_approval(request, subtask, question, approval, event)
    if event.decision == "edit" and compute_call_digest(approval.tool, event.arguments) != approval.digest:
        return _apply_edit(request, subtask, question, approval, event)
    question = dataclasses.replace(question, votes=tuple(one for one in question.votes if one.user not in event.lapsed))
    if any(vote.user == event.user for vote in question.votes):
        return request
    alike = event.decision == "approve_alike" and approval.terms.mode == "ask"
    choice: ApprovalChoice = "approve_alike" if alike else "approve"  # an edit that changed nothing approves as well
    question = dataclasses.replace(question, votes=(*question.votes, Vote(event.user, choice, event.at)))
    return _close_if_quorum(request, subtask, question, approval, event.at)


def expire_approval(request: RequestState, subtask: SubtaskState, question: Question, at: float) -> RequestState:
    """End an approval that did not reach its quorum in time. The specialist is told that it expired, not denied."""
    if question.approval is None:
        return request
    return _apply_ruling(request, subtask, question, _make_ruling(request, question.approval, "expired", at, ()))


def _split_approval(
    request: RequestState, subtask: SubtaskState, question: Question, approval: Approval, event: ev.ApprovalDecided
) -> RequestState:
    """Replace an approval of several calls by approvals of each call, one after the other."""
    if not approval.parts:
        return request
    subtask = _close_question(subtask, question, QuestionAnswer(question, event.user, "apart", event.at))
    return open_approval(request, subtask, _queue_approvals(approval.parts), event.at)


def _queue_approvals(calls: tuple[Approval, ...]) -> Approval:
    return calls[0].model_copy(update={"then": calls[1:]})


def _apply_edit(
    request: RequestState, subtask: SubtaskState, question: Question, approval: Approval, event: ev.ApprovalDecided
) -> RequestState:
    """Replace the model's arguments by those of a person, who thereby approves the edited call. Earlier votes are void.

    If the quorum needs more people, they are asked about the edited call.
    """
    if approval.kind != "write" or approval.parts:
        return request
    edited_approval = approval.model_copy(
        update={
            "arguments": event.arguments,
            "digest": compute_call_digest(approval.tool, event.arguments),
            "what": event.what or approval.what,
            "target": event.target,
            "leaves": event.leaves,
        }
    )
    vote = Vote(event.user, "edit", event.at)
    if approval.terms.quorum == 1:
        edited_question = dataclasses.replace(question, votes=(vote,))
        return _apply_ruling(
            request, subtask, edited_question, _make_ruling(request, edited_approval, "edited", event.at, (event.user,))
        )
    ruling = _make_ruling(request, edited_approval, "edited", event.at, (event.user,))
    subtask = _close_question(subtask, question, QuestionAnswer(question, event.user, "edited", event.at, ruling))
    return open_approval(request, subtask, edited_approval, event.at, (vote,))


def _close_if_quorum(
    request: RequestState, subtask: SubtaskState, question: Question, approval: Approval, at: float
) -> RequestState:
    """Apply the ruling if enough people have approved; otherwise keep the question open for the others."""
    votes = question.votes
    if len(votes) < approval.terms.quorum:
        return request.with_subtask(replace(subtask, question=question))
    outcome: RulingOutcome = "edited" if any(vote.choice == "edit" for vote in votes) else "approved"
    alike = all(vote.choice == "approve_alike" for vote in votes)
    ruling = _make_ruling(request, approval, outcome, at, tuple(vote.user for vote in votes), alike=alike)
    return _apply_ruling(request, subtask, question, ruling)


def _make_ruling(
    request: RequestState,
    approval: Approval,
    outcome: RulingOutcome,
    at: float,
    users: tuple[str, ...],
    *,
    reason: str = "",
    alike: bool = False,
) -> Ruling:
    return Ruling(
        at,
        approval.call,
        approval.tool,
        outcome,
        approval.digest,
        approval.arguments,
        users,
        reason.strip(),
        alike,
        requester=request.spec.user,
        target=approval.target,
        leaves=approval.leaves,
    )


def _apply_ruling(request: RequestState, subtask: SubtaskState, question: Question, ruling: Ruling) -> RequestState:
    """Close an approval, and let the attempt continue with the ruling as its last checkpoint."""
    user = ruling.users[-1] if ruling.users else ""
    subtask = _close_question(subtask, question, QuestionAnswer(question, user, ruling.outcome, ruling.at, ruling))
    approval = question.approval
    if approval is not None and approval.kind == "cost":
        return _apply_cost_ruling(request, subtask, ruling)
    points = (*subtask.checkpoints, *(ruling.split_by_call(approval) if approval is not None else (ruling,)))
    subtask = replace(subtask, state="in_progress", checkpoints=points)
    if approval is not None and approval.then:
        return open_approval(request, subtask, _queue_approvals(approval.then), ruling.at)
    return request.with_subtask(subtask)


def _close_question(subtask: SubtaskState, question: Question, answer: QuestionAnswer) -> SubtaskState:
    """Close the question of an attempt. The seconds that people took do not count as time of the attempt."""
    attempt_start = subtask.attempt_started + max(0.0, answer.at - question.asked_at)
    return replace(
        subtask, question=None, question_answers=(*subtask.question_answers, answer), attempt_started=attempt_start
    )


# ---------------------------------------------------------------- costly subtasks

_COST_DENIED = "not begun: a person denied it"
_COST_UNDECIDED = "not begun: nobody approved what it would cost in time"


def open_cost_approvals(request: RequestState, at: float) -> RequestState:
    """Open an approval for each subtask that could begin now and whose estimate exceeds the limits of its run."""
    runs = [
        request.run,
        *(
            subtask.run
            for subtask in request.list_all_subtasks("")
            if subtask.run is not None and is_crew_working(subtask)
        ),
    ]
    for run in runs:
        for subtask in list_ready_subtasks(request, run) if run.plan is not None else ():
            if subtask.attempt == 0 and not subtask.is_cost_approved and (what := _describe_excess_cost(run, subtask)):
                request = open_approval(request, subtask, _make_cost_approval(run, subtask, what), at)
    return request


def _describe_excess_cost(run: PlanRun, subtask: SubtaskState) -> str:
    """Return the estimate of a subtask in words if it exceeds the limits of the terms; empty if it does not."""
    estimate, terms = subtask.estimate or Estimate(subtask="", calls=0, tokens=0), run.terms
    if terms.ask_above_cost and estimate.cost is not None and estimate.cost > terms.ask_above_cost:
        limit = format_dollars(terms.ask_above_cost)
        return f"about {format_dollars(estimate.cost)}, and more than {limit} is asked for first"
    if terms.ask_above_tokens and estimate.tokens > terms.ask_above_tokens:
        return f"about {estimate.tokens:,} tokens, and more than {terms.ask_above_tokens:,} is asked for first"
    return ""


def _make_cost_approval(run: PlanRun, subtask: SubtaskState, what: str) -> Approval:
    arguments = {"specialist": subtask.specialist, "task": subtask.brief_text}
    return Approval(
        kind="cost",
        tool=subtask.specialist,
        what=f"Begin {subtask.spec.title!r}",
        arguments=arguments,
        digest=compute_call_digest(subtask.specialist, arguments),
        why=what,
        terms=make_cost_terms(run.terms),
    )


def make_cost_terms(terms: Terms) -> ApprovalTerms:
    """Return the terms for the approval of costly subtasks."""
    return ApprovalTerms(mode="always", approvers=terms.approvers, quorum=terms.quorum, own=terms.own_approval)


def _apply_cost_ruling(request: RequestState, subtask: SubtaskState, ruling: Ruling) -> RequestState:
    """Let the subtask begin if its cost was approved, otherwise skip it."""
    if ruling.is_approved:
        return request.with_subtask(replace(subtask, state="pending", is_cost_approved=True))
    reason = _COST_UNDECIDED if ruling.outcome == "expired" else _COST_DENIED
    reason += f" (“{ruling.reason}”)" if ruling.reason else ""
    return settle_run(
        request.with_subtask(replace(subtask, state="skipped", reason=reason, ended_at=ruling.at)),
        ruling.at,
        subtask.within,
    )
