"""Approvals: what people are asked before it is done, who may decide, and what follows.

An approval is a question of a subtask that only clicks answer. Each decision is an event. The last one that is needed
becomes a `Ruling`: a checkpoint of the attempt, which then goes on and makes the approved call once, or tells its model
why not. A decision counts for exactly what the person saw: its number and the digest of its arguments.
"""

from __future__ import annotations

import dataclasses

from handoff import events as ev
from handoff.approval_values import ADMINS, REQUESTER, Approval, ApprovalTerms, RulingOutcome, digest_of
from handoff.state import Ask, Job, Work, replace
from handoff.state_values import Answered, Question, Ruling, Vote, may_answer


def deciders(terms: ApprovalTerms, requester: str) -> tuple[str, ...]:
    """Return the Slack ids of those who may decide, and `admins` for these. Admins may where nobody else is left."""
    named = dict.fromkeys(requester if one == REQUESTER else one for one in terms.approvers)
    return tuple(one for one in named if terms.own or one != requester) or (ADMINS,)


def may_decide(question: Question, requester: str, user: str, groups: tuple[str, ...] = (), *, admin: bool) -> bool:
    """Return True if a person may decide on an approval. `groups` are the person's user groups."""
    approval = question.approval
    if approval is None or (user == requester and not approval.terms.own):
        return False
    return (admin and ADMINS in question.whom) or (bool(question.whom) and may_answer(question.whom, user, groups))


def covered(job: Job, approval: Approval) -> tuple[str, ...]:
    """Return the people who approved the like of it for the whole job, on the same terms; none if nobody did."""
    if approval.terms.mode != "ask":
        return ()
    for answered in (one for ask in job.asks for work in ask.work.values() for one in work.answered):
        before, ruling = answered.question.approval, answered.ruling
        if before is None or ruling is None or not ruling.alike:
            continue
        if before.like == approval.like and before.terms == approval.terms:
            return ruling.users
    return ()


def ask_for(ask: Ask, work: Work, approval: Approval, at: float, votes: tuple[Vote, ...] = ()) -> Ask:
    """Ask people to approve something. The attempt keeps its checkpoints, to go on from them."""
    whom = deciders(approval.terms, ask.request.user)
    question = Question(work.asked_so_far + 1, approval.what, (), at, whom=whom, approval=approval, votes=votes)
    return ask.with_work(replace(work, state="input_required", question=question, approvals=work.approvals + 1))


def decided(ask: Ask, event: ev.ApprovalDecided) -> Ask:
    """Count a person's decision on an open approval. One that does not fit it, or may not, changes nothing."""
    work = ask.work.get(event.subtask)
    question = work.question if work else None
    if ask.run.concluded or work is None or work.state != "input_required" or question is None:
        return ask
    approval = question.approval
    if approval is None or (event.number, event.digest) != (question.number, approval.digest):
        return ask
    if not may_decide(question, ask.request.user, event.user, event.groups, admin=event.admin):
        return ask
    if event.decision == "deny":
        ruling = _ruling(approval, "denied", event.at, (event.user,), reason=event.reason)
        return _ruled(ask, work, question, ruling)
    if event.decision == "edit" and event.arguments != approval.arguments:
        return _edited(ask, work, question, approval, event)
    if any(vote.user == event.user for vote in question.votes):
        return ask
    choice = event.decision if approval.terms.mode == "ask" or event.decision != "approve_alike" else "approve"
    question = dataclasses.replace(question, votes=(*question.votes, Vote(event.user, choice, event.at)))
    return _counted(ask, work, question, approval, event.at)


def expired(ask: Ask, work: Work, question: Question, at: float) -> Ask:
    """End an approval on which nobody decided in time. It is not denied: whoever worked on it is told so."""
    if question.approval is None:
        return ask
    return _ruled(ask, work, question, _ruling(question.approval, "expired", at, ()))


def _edited(ask: Ask, work: Work, question: Question, approval: Approval, event: ev.ApprovalDecided) -> Ask:
    """Put a person's arguments in place of the model's: who edited approves them, and all earlier approvals are void.

    If others have to approve as well, they are asked anew.
    """
    if approval.kind != "write":
        return ask
    changed = approval.model_copy(
        update={
            "arguments": event.arguments,
            "digest": digest_of(approval.tool, event.arguments),
            "what": event.what or approval.what,
        }
    )
    vote = Vote(event.user, "edit", event.at)
    if approval.terms.quorum == 1:
        asked = dataclasses.replace(question, votes=(vote,))
        return _ruled(ask, work, asked, _ruling(changed, "edited", event.at, (event.user,)))
    ruling = _ruling(changed, "edited", event.at, (event.user,))
    closed = Answered(question, event.user, "edited", event.at, ruling)
    return ask_for(ask, replace(work, answered=(*work.answered, closed)), changed, event.at, (vote,))


def _counted(ask: Ask, work: Work, question: Question, approval: Approval, at: float) -> Ask:
    """Go on if enough people have approved it by now; wait for the others if not."""
    votes = question.votes
    if len(votes) < approval.terms.quorum:
        return ask.with_work(replace(work, question=question))
    outcome: RulingOutcome = "edited" if any(vote.choice == "edit" for vote in votes) else "approved"
    alike = all(vote.choice == "approve_alike" for vote in votes)
    ruling = _ruling(approval, outcome, at, tuple(vote.user for vote in votes), alike=alike)
    return _ruled(ask, work, question, ruling)


def _ruling(
    approval: Approval,
    outcome: RulingOutcome,
    at: float,
    users: tuple[str, ...],
    *,
    reason: str = "",
    alike: bool = False,
) -> Ruling:
    return Ruling(
        at, approval.call, approval.tool, outcome, approval.digest, approval.arguments, users, reason.strip(), alike
    )


def _ruled(ask: Ask, work: Work, question: Question, ruling: Ruling) -> Ask:
    """Close the approval, and let the attempt go on from its checkpoints with the ruling as the last of them.

    The seconds that people took do not count as time of the attempt.
    """
    user = ruling.users[-1] if ruling.users else ""
    answered = Answered(question, user, ruling.outcome, ruling.at, ruling)
    work = replace(work, question=None, answered=(*work.answered, answered))
    started = work.attempt_started + max(0.0, ruling.at - question.asked)
    points = (*work.checkpoints, ruling)
    return ask.with_work(replace(work, state="in_progress", checkpoints=points, attempt_started=started))
