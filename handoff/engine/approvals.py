"""Approvals: who may decide on a call or a cost, and what follows from a decision.

An approval is a question of a subtask that only clicks answer. Each decision is an event. The decision that completes
the quorum, or denies, becomes a `Ruling`: a checkpoint of the attempt, which then continues and makes the approved call
once, or tells its model why not. A decision counts only for the question number and call digest that the person saw.
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
from handoff.engine.nested import is_crew_working
from handoff.engine.subtask import list_ready_subtasks, settle_run
from handoff.state.job_state import Job, PlanRun, RequestState, SubtaskState, replace
from handoff.state.state_values import ApplicableRuling, Question, QuestionAnswer, Ruling, Vote, may_answer
from handoff.text.counts import format_dollars


def list_deciders(terms: ApprovalTerms, requester: str) -> tuple[str, ...]:
    """Return the Slack ids of those who may decide on approvals, with `admins` standing for the admins.

    If the terms leave nobody else, the admins may decide.
    """
    named = dict.fromkeys(requester if one == REQUESTER else one for one in terms.approvers)
    return tuple(one for one in named if terms.own or one != requester) or (ADMINS,)


def may_decide(question: Question, requester: str, user: str, groups: tuple[str, ...] = (), *, admin: bool) -> bool:
    """Return True if a person in these user groups may decide on an approval, according to its terms."""
    return question.approval is not None and _is_decider(question.approval.terms, requester, Actor(user, groups, admin))


def _is_decider(terms: ApprovalTerms, requester: str, actor: Actor) -> bool:
    if actor.user == requester and not terms.own:
        return False
    named = list_deciders(terms, requester)
    return (actor.admin and ADMINS in named) or may_answer(named, actor.user, actor.groups)


def list_precedents(job: Job, ask: RequestState, approval: Approval) -> tuple[tuple[Approval, Ruling], ...]:
    """Return earlier rulings that approved similar calls and may cover this call, each with its approval.

    A call is similar if it has the same requester, scope and terms. `find_applicable_ruling` decides which one applies.
    """
    if approval.terms.mode != "ask":
        return ()
    return tuple(
        (before, ruling)
        for before, ruling in _yield_rulings(job.asks)
        if ruling.alike
        and ruling.requester == ask.request.user
        and (before.scope, before.terms) == (approval.scope, approval.terms)
    )


def find_applicable_ruling(
    job: Job, ask: RequestState, approval: Approval, actors: Mapping[str, Actor | None]
) -> ApplicableRuling:
    """Return the earlier ruling that applies to a call, so that people are not asked about it again.

    A call that people did not approve in this request is not asked for again. An "approve similar" applies if all who
    decided still may, and if nothing private is in view that was not in view then.

    Args:
        job: The job of the call.
        ask: The request of the call.
        approval: The call, with the private sources in its view.
        actors: The people who decided on `list_precedents`, as they are now; None: the person may no longer act here.
    """
    for before, ruling in _yield_rulings([ask]):
        if not ruling.is_approved and before.scope == approval.scope and ruling.digest == approval.digest:
            return ApplicableRuling(ruling)
    new: tuple[str, ...] = ()
    for before, ruling in list_precedents(job, ask, approval):
        if list_excluded_users(approval.terms, ask.request.user, ruling.users, actors):
            continue
        more = tuple(one for one in approval.in_view if one not in before.in_view)
        if not more:
            return ApplicableRuling(ruling)
        new = min((new or more, more), key=len)
    return ApplicableRuling(None, new)


def list_excluded_users(
    terms: ApprovalTerms, requester: str, users: Iterable[str], actors: Mapping[str, Actor | None]
) -> tuple[str, ...]:
    """Return those of `users` who may not decide for the requester now. `actors` are the people as they are now."""
    now = ((user, actors.get(user)) for user in users)
    return tuple(user for user, actor in now if actor is None or not _is_decider(terms, requester, actor))


def _yield_rulings(asks: Iterable[RequestState]) -> Iterator[tuple[Approval, Ruling]]:
    for answered in (one for ask in asks for work in ask.work.values() for one in work.answered):
        approval, ruling = answered.question.approval, answered.ruling
        if approval is not None and ruling is not None:
            yield from zip(approval.calls, ruling.split_by_call(approval), strict=True)


def open_approval(
    ask: RequestState, work: SubtaskState, approval: Approval, at: float, votes: tuple[Vote, ...] = ()
) -> RequestState:
    """Open an approval as the question of a subtask. The attempt keeps its checkpoints, and continues from them."""
    whom = list_deciders(approval.terms, ask.request.user)
    asking = ask.find_enclosing_run(work).terms.asking
    question = Question(
        work.last_question_number + 1, approval.what, (), at, whom=whom, approval=approval, votes=votes, asking=asking
    )
    return ask.with_subtask(replace(work, state="input_required", question=question, approvals=work.approvals + 1))


def apply_decision(ask: RequestState, event: ev.ApprovalDecided) -> RequestState:
    """Apply a person's decision on an open approval. Ignore it if it is for another call, or if they may not decide."""
    work = ask.work.get(event.subtask)
    question = work.question if work else None
    if ask.run.is_concluded or work is None or work.state != "input_required" or question is None:
        return ask
    approval = question.approval
    if approval is None or (event.number, event.digest) != (question.number, approval.digest):
        return ask
    if not may_decide(question, ask.request.user, event.user, event.groups, admin=event.admin):
        return ask
    if event.decision == "deny":
        ruling = _make_ruling(ask, approval, "denied", event.at, (event.user,), reason=event.reason)
        return _apply_ruling(ask, work, question, ruling)
    if event.decision == "apart":
        return _split_approval(ask, work, question, approval, event)
    if event.decision == "edit" and compute_call_digest(approval.tool, event.arguments) != approval.digest:
        return _apply_edit(ask, work, question, approval, event)
    question = dataclasses.replace(question, votes=tuple(one for one in question.votes if one.user not in event.lapsed))
    if any(vote.user == event.user for vote in question.votes):
        return ask
    alike = event.decision == "approve_alike" and approval.terms.mode == "ask"
    choice: ApprovalChoice = "approve_alike" if alike else "approve"  # an edit that changed nothing approves as well
    question = dataclasses.replace(question, votes=(*question.votes, Vote(event.user, choice, event.at)))
    return _close_if_quorum(ask, work, question, approval, event.at)


def expire_approval(ask: RequestState, work: SubtaskState, question: Question, at: float) -> RequestState:
    """End an approval on which nobody decided in time. The specialist is told that it expired, not denied."""
    if question.approval is None:
        return ask
    return _apply_ruling(ask, work, question, _make_ruling(ask, question.approval, "expired", at, ()))


def _split_approval(
    ask: RequestState, work: SubtaskState, question: Question, approval: Approval, event: ev.ApprovalDecided
) -> RequestState:
    """Replace an approval of several calls by approvals of each call, one after the other."""
    if not approval.parts:
        return ask
    work = _close_question(work, question, QuestionAnswer(question, event.user, "apart", event.at))
    return open_approval(ask, work, _chain_approvals(approval.parts), event.at)


def _chain_approvals(calls: tuple[Approval, ...]) -> Approval:
    return calls[0].model_copy(update={"then": calls[1:]})


def _apply_edit(
    ask: RequestState, work: SubtaskState, question: Question, approval: Approval, event: ev.ApprovalDecided
) -> RequestState:
    """Replace the model's arguments by a person's. The person approves the edited call; earlier approvals are void.

    If the quorum needs more people, they are asked about the edited call.
    """
    if approval.kind != "write" or approval.parts:
        return ask
    changed = approval.model_copy(
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
        asked = dataclasses.replace(question, votes=(vote,))
        return _apply_ruling(ask, work, asked, _make_ruling(ask, changed, "edited", event.at, (event.user,)))
    ruling = _make_ruling(ask, changed, "edited", event.at, (event.user,))
    work = _close_question(work, question, QuestionAnswer(question, event.user, "edited", event.at, ruling))
    return open_approval(ask, work, changed, event.at, (vote,))


def _close_if_quorum(
    ask: RequestState, work: SubtaskState, question: Question, approval: Approval, at: float
) -> RequestState:
    """Apply the ruling if enough people have approved; otherwise keep the question open for the others."""
    votes = question.votes
    if len(votes) < approval.terms.quorum:
        return ask.with_subtask(replace(work, question=question))
    outcome: RulingOutcome = "edited" if any(vote.choice == "edit" for vote in votes) else "approved"
    alike = all(vote.choice == "approve_alike" for vote in votes)
    ruling = _make_ruling(ask, approval, outcome, at, tuple(vote.user for vote in votes), alike=alike)
    return _apply_ruling(ask, work, question, ruling)


def _make_ruling(
    ask: RequestState,
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
        requester=ask.request.user,
        target=approval.target,
        leaves=approval.leaves,
    )


def _apply_ruling(ask: RequestState, work: SubtaskState, question: Question, ruling: Ruling) -> RequestState:
    """Close an approval, and let the attempt continue with the ruling as its last checkpoint."""
    user = ruling.users[-1] if ruling.users else ""
    work = _close_question(work, question, QuestionAnswer(question, user, ruling.outcome, ruling.at, ruling))
    approval = question.approval
    if approval is not None and approval.kind == "cost":
        return _apply_cost_ruling(ask, work, ruling)
    points = (*work.checkpoints, *(ruling.split_by_call(approval) if approval is not None else (ruling,)))
    work = replace(work, state="in_progress", checkpoints=points)
    if approval is not None and approval.then:
        return open_approval(ask, work, _chain_approvals(approval.then), ruling.at)
    return ask.with_subtask(work)


def _close_question(work: SubtaskState, question: Question, answer: QuestionAnswer) -> SubtaskState:
    """Close the question of an attempt. The seconds that people took do not count as time of the attempt."""
    started = work.attempt_started + max(0.0, answer.at - question.asked)
    return replace(work, question=None, answered=(*work.answered, answer), attempt_started=started)


# ---------------------------------------------------------------- costly subtasks

_COST_DENIED = "not begun: a person denied it"
_COST_UNDECIDED = "not begun: nobody approved what it would cost in time"


def open_cost_approvals(ask: RequestState, at: float) -> RequestState:
    """Open an approval for each subtask that could begin now and whose estimate exceeds the limits of its run."""
    runs = [
        ask.run,
        *(work.run for work in ask.list_all_subtasks("") if work.run is not None and is_crew_working(work)),
    ]
    for run in runs:
        for work in list_ready_subtasks(ask, run) if run.plan is not None else ():
            if work.attempt == 0 and not work.cost_approved and (what := _describe_excess_cost(run, work)):
                ask = open_approval(ask, work, _make_cost_approval(run, work, what), at)
    return ask


def _describe_excess_cost(run: PlanRun, work: SubtaskState) -> str:
    """Return the estimate of a subtask in words if it exceeds the limits of the terms; empty if it does not."""
    estimate, terms = work.estimate or Estimate(subtask="", calls=0, tokens=0), run.terms
    if terms.ask_above_cost and estimate.cost is not None and estimate.cost > terms.ask_above_cost:
        limit = format_dollars(terms.ask_above_cost)
        return f"about {format_dollars(estimate.cost)}, and more than {limit} is asked for first"
    if terms.ask_above_tokens and estimate.tokens > terms.ask_above_tokens:
        return f"about {estimate.tokens:,} tokens, and more than {terms.ask_above_tokens:,} is asked for first"
    return ""


def _make_cost_approval(run: PlanRun, work: SubtaskState, what: str) -> Approval:
    arguments = {"specialist": work.specialist, "task": work.brief_text}
    return Approval(
        kind="cost",
        tool=work.specialist,
        what=f"Begin {work.subtask.title!r}",
        arguments=arguments,
        digest=compute_call_digest(work.specialist, arguments),
        why=what,
        terms=make_cost_terms(run.terms),
    )


def make_cost_terms(terms: Terms) -> ApprovalTerms:
    """Return the terms for the approval of costly subtasks."""
    return ApprovalTerms(mode="always", approvers=terms.approvers, quorum=terms.quorum, own=terms.own_approval)


def _apply_cost_ruling(ask: RequestState, work: SubtaskState, ruling: Ruling) -> RequestState:
    """Let the subtask begin if its cost was approved, otherwise skip it."""
    if ruling.is_approved:
        return ask.with_subtask(replace(work, state="pending", cost_approved=True))
    reason = _COST_UNDECIDED if ruling.outcome == "expired" else _COST_DENIED
    reason += f" (“{ruling.reason}”)" if ruling.reason else ""
    return settle_run(
        ask.with_subtask(replace(work, state="skipped", reason=reason, ended=ruling.at)), ruling.at, work.within
    )
