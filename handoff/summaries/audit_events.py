"""Derives the entries of the audit log from the events of a job: who did what, with what outcome. Pure.

Refusals without an event in a job's log, such as a trace that somebody may not see, are recorded where they happen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from handoff import events as ev
from handoff.access.audit_entry import AuditAction, AuditEntry
from handoff.approval_values import Approval
from handoff.engine import answer
from handoff.state.job_state import Job, RequestState

NO_REQUEST_REASON = "no request in it, or not from a person"
CLOSED_REASON = "not asked, or closed by then"
DECISION_REFUSED_REASON = "closed by then, changed since, or not theirs to decide"
MAX_TARGET_LENGTH = 200
NOTHING_TO_STOP_REASON = "nothing that they may stop was under way"
_UNAUDITED_EVENTS = (ev.TurnTaken, ev.MessageHeard, ev.MessageAcknowledged, ev.TakenOver, ev.WorkResumed)
"""Events that never lead to an entry. Most events of a log are of these types."""


def derive_audit_entries(before: Job | None, event: ev.Event, after: Job) -> tuple[AuditEntry, ...]:
    """Return the audit entries of an event. `before` and `after` are the job without and with the event."""
    if isinstance(event, _UNAUDITED_EVENTS) or after.requests[0].spec.opens:  # the opened thread has a job of its own
        return ()
    common_fields: dict[str, Any] = {
        "at": event.at,
        "team": after.place.team,
        "channel": after.place.channel,
        "job": after.id,
    }
    deeds = [*_yield_request_deeds(before, after), *_yield_event_deeds(event, before, after)]
    return tuple(AuditEntry(deed=deed, **common_fields, **more) for deed, more in deeds)


AuditedDeed = tuple[AuditAction, dict[str, Any]]


def _yield_request_deeds(before: Job | None, after: Job) -> Iterator[AuditedDeed]:
    """Yield the deeds (audited actions) that follow from changed requests: asked, answered, stopped, ended."""
    for request, old in after.list_changed_requests(before):
        request_fields = {"request": request.id}
        if old is None:
            extra_fields = {"outcome": "refused", "why": NO_REQUEST_REASON} if request.refusal else {}
            if request.retry_ref is not None:
                extra_fields["target"] = (
                    f"{request.retry_ref.mode} {request.retry_ref.of} {request.retry_ref.step}".strip()[
                        :MAX_TARGET_LENGTH
                    ]
                )
            yield "asked", {**request_fields, "user": request.spec.user, **extra_fields}
        for subtask, user in (_count_answers(request) - _count_answers(old)).elements():
            yield "answered", {**request_fields, "user": user, "target": subtask}
        if request.cancelled_by and (old is None or not old.cancelled_by):
            yield (
                "stopped",
                {
                    **request_fields,
                    "user": request.cancelled_by,
                    "why": "its message was deleted" if request.is_withdrawn else "",
                },
            )
        if request.is_over and (old is None or not old.is_over):
            yield (
                "ended",
                {
                    **request_fields,
                    "user": request.spec.user,
                    "why": _name_request_end(request),
                    "cost": request.usage.cost or 0.0,
                },
            )


def _yield_event_deeds(event: ev.Event, before: Job | None, after: Job) -> Iterator[AuditedDeed]:
    """Yield the deed that an event itself records, such as a call of a writing tool, or a refused try at a deed."""
    match event:
        case ev.QuestionAnswered() if _count_request_answers(before, event.request) == _count_request_answers(
            after, event.request
        ):
            answer_fields = {"request": event.request, "user": event.user, "target": event.subtask}
            yield "answered", {**answer_fields, "outcome": "refused", "why": CLOSED_REASON}
        case ev.ApprovalDecided():
            yield _make_decision_deed(event, before, after)
        case ev.CancelRequested() if before is None or _count_cancelled_requests(before) == _count_cancelled_requests(
            after
        ):
            yield "stopped", {"user": event.user, "outcome": "refused", "why": NOTHING_TO_STOP_REASON}
        case ev.Released():
            yield "released", {"user": event.user}
        case ev.FeedbackGiven() if not event.reason:  # a reason follows a counted thumb
            target = "taken back" if event.withdrawn else "up" if event.good else "down"
            yield "rated", {"request": event.request, "user": event.user, "target": target}
        case ev.ToolStarted():
            yield "wrote", {**_make_deed_fields(after, event), "target": event.tool, "approved_by": event.approved_by}
        case _:
            pass


_CHOICE_WORDS = {"approve_alike": "and similar calls", "edit": "as edited", "apart": "to be decided one by one"}


def _make_decision_deed(event: ev.ApprovalDecided, before: Job | None, after: Job) -> AuditedDeed:
    """Return the deed of a decision on an approval.

    A decision that changed nothing counts as refused: it came too late, or from somebody who may not decide.
    """
    approval = _find_approval(before, event)
    # For other kinds, a model wrote the target.
    where = approval.target if approval is not None and approval.kind in {"egress", "sign_in"} else ""
    target = f"{approval.tool} {where}".strip()[:MAX_TARGET_LENGTH] if approval is not None else event.subtask
    fields: dict[str, Any] = {"request": event.request, "user": event.user, "target": target}
    if before is None or before.find_request(event.request) is after.find_request(event.request):
        fields |= {"outcome": "refused", "why": DECISION_REFUSED_REASON}
    elif event.decision != "deny":
        fields["why"] = _CHOICE_WORDS.get(event.decision, "")
    return ("denied" if event.decision == "deny" else "approved"), fields


def _find_approval(job: Job | None, event: ev.ApprovalDecided) -> Approval | None:
    """Return the approval of a decision, whether open or closed; None if it is unknown."""
    request = job.find_request(event.request) if job is not None else None
    subtask = request.subtasks.get(event.subtask) if request is not None else None
    if subtask is None:
        return None
    questions = [
        *(one.question for one in subtask.question_answers),
        *([subtask.question] if subtask.question is not None else []),
    ]
    return next((one.approval for one in questions if one.number == event.number and one.approval is not None), None)


def _make_deed_fields(job: Job, event: ev.RequestEvent) -> dict[str, Any]:
    request = job.find_request(event.request)
    return {"request": event.request, "user": request.spec.user if request is not None else ""}


def _count_answers(request: RequestState | None) -> Counter[tuple[str, str]]:
    """Count the accepted answers to questions by (subtask, user), with `planner` for the planner's questions.

    Approvals do not count, nor do answers that a second try took over.
    """
    if request is None:
        return Counter()
    own = (("planner", one) for one in request.question_answers)
    all_answers = [
        *own,
        *((name, one) for name, subtask in request.subtasks.items() for one in subtask.question_answers),
    ]
    own_answers = (each for each in all_answers if request.earlier_try is None or each[1].at >= request.spec.at)
    return Counter([(name, one.user) for name, one in own_answers if one.question.approval is None])


def _count_request_answers(job: Job | None, request: str) -> int:
    return _count_answers(job.find_request(request)).total() if job is not None else 0


def _count_cancelled_requests(job: Job) -> int:
    return sum(bool(request.cancelled_by) for request in job.requests)


def _name_request_end(request: RequestState) -> str:
    if request.run.answer is not None and answer.list_answer_gaps(request, request.run):
        return "answered in part"
    return {"completed": "answered", "cancelled": "stopped"}.get(request.state, "failed")
