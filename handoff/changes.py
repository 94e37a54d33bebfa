"""What each event changes in its request: one small function an event, and the table that finds it.

Only `handoff.engine` calls these. Each gives back the request as it was when
the event no longer fits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from handoff import doubts
from handoff import events as ev
from handoff.contracts import Note, Result, Usage
from handoff.doubts import Checked, Checkpoint, Doubt
from handoff.job import Ask, Decision, Failure, Question, Work, replace
from handoff.policy import MAX_REJECTED_PLANS, Again, AskPeople, Trouble, after_trouble
from handoff.settling import settle, with_work


def cancelled(ask: Ask, event: ev.CancelRequested) -> Ask:
    """A person stopped it: what is left is the report."""
    return replace(ask, cancelled_by=event.user, failure=Failure("the job", "stopped by a person"), written=event.at)


def _attachments_fetched(ask: Ask, event: ev.AttachmentsFetched) -> Ask:
    return replace(ask, fetched=True, artifacts=event.artifacts, file_faults=event.faults)


def _plan_proposed(ask: Ask, event: ev.PlanProposed) -> Ask:
    if ask.plan is not None:
        return ask
    members = {member.name: member for member in event.members}
    work = {
        subtask.id: Work(
            subtask=subtask,
            specialist=subtask.specialist,
            tier=subtask.tier or members[subtask.specialist].tier,
        )
        for subtask in event.plan.subtasks
    }
    return replace(
        ask,
        plan=event.plan,
        planned=event.at,
        members=MappingProxyType(members),
        work=MappingProxyType(work),
        usage=ask.usage + event.usage,
    )


def _plan_rejected(ask: Ask, event: ev.PlanRejected) -> Ask:
    ask = replace(ask, rejections=(*ask.rejections, event.faults), usage=ask.usage + event.usage)
    if len(ask.rejections) < MAX_REJECTED_PLANS:
        return ask
    return replace(
        ask,
        written=event.at,
        failure=Failure(
            "planning",
            "the planner returned no usable plan: " + " ".join(event.faults[:3]),
            "Say it in other words, or in smaller steps, and mention me again.",
        ),
    )


def _attempt_started(ask: Ask, event: ev.AttemptStarted) -> Ask:
    work = ask.work.get(event.subtask)
    if work is None or work.state != "pending" or event.attempt != work.attempt + 1:
        return ask
    return with_work(
        ask,
        replace(
            work,
            state="in_progress",
            attempt=event.attempt,
            specialist=event.specialist,
            tier=event.tier,
            started=work.started if work.started is not None else event.at,
            attempt_started=event.at,
            checkpoints=(),
        ),
    )


def _running(ask: Ask, event: ev.OfAttempt) -> Work | None:
    """The work that an event of an attempt belongs to, if that attempt is still the one under way."""
    work = ask.work.get(event.subtask)
    if ask.failure is not None or work is None or work.state != "in_progress" or work.attempt != event.attempt:
        return None
    return work


def _checkpoint(ask: Ask, event: ev.TurnTaken | ev.ToolStarted | ev.ToolReturned) -> Ask:
    work = _running(ask, event)
    return with_work(ask, _kept(work, event)) if work else ask


def _kept(work: Work, point: Checkpoint) -> Work:
    return replace(work, checkpoints=(*work.checkpoints, point))


def _attempt_over(work: Work) -> Work:
    """Its checkpoints go; what it wrote, or may have written, is remembered."""
    return replace(work, checkpoints=(), writes=(*work.writes, *doubts.written(work.checkpoints)))


def _tool_in_doubt(ask: Ask, event: ev.ToolInDoubt) -> Ask:
    work = _running(ask, event)
    intent = next((one for one in work.intents if one.call == event.call), None) if work else None
    return _ask_about(ask, work, intent, event.reason, event.usage, event.at) if work and intent else ask


def _ask_about(ask: Ask, work: Work, intent: ev.ToolStarted, reason: str, usage: Usage, at: float) -> Ask:
    """Let people say whether it was carried out. The attempt keeps its checkpoints, to go on from them."""
    number = work.questions + work.doubts + 1
    doubt = Doubt(intent.call, intent.what, reason, usage)
    question = Question(number, f"Was this carried out? {intent.what}", doubts.OPTIONS, at, doubt)
    return with_work(ask, replace(work, state="input_required", question=question, doubts=work.doubts + 1))


def _result_returned(ask: Ask, event: ev.ResultReturned) -> Ask:
    work = _running(ask, event)
    return _complete(ask, work, event.result, event.at) if work else ask


def _complete(ask: Ask, work: Work, result: Result, at: float) -> Ask:
    usage = result.usage
    done = replace(_attempt_over(work), state="complete", result=result, ended=at, usage=work.usage + usage)
    return settle(replace(with_work(ask, done), usage=ask.usage + usage), at)


def _attempt_failed(ask: Ask, event: ev.AttemptFailed) -> Ask:
    work = _running(ask, event)
    if work is None:
        return ask
    if work.intents:
        return _ask_about(ask, work, work.intents[0], event.message, event.usage, event.at)
    trouble: Trouble = "passing" if event.transient and event.kind == "model" else event.kind
    ask, work = _charged(ask, work, event.usage)
    return _climb(ask, work, trouble, event.message, None, event.at)


def _escalated(ask: Ask, event: ev.Escalated) -> Ask:
    work = _running(ask, event)
    if work is None:
        return ask
    escalation = event.escalation
    if work.intents:
        return _ask_about(ask, work, work.intents[0], escalation.message, event.usage, event.at)
    ask, work = _charged(ask, work, event.usage)
    if escalation.reason == "ambiguous_input":
        number = work.questions + work.doubts + 1
        question = Question(number, escalation.message, escalation.options, event.at)
        work = replace(work, question=question)
    return _climb(ask, work, escalation.reason, escalation.message, escalation.partial_result, event.at)


def _charged(ask: Ask, work: Work, usage: Usage) -> tuple[Ask, Work]:
    return replace(ask, usage=ask.usage + usage), replace(work, usage=work.usage + usage)


def _climb(ask: Ask, work: Work, trouble: Trouble, message: str, partial: Result | None, at: float) -> Ask:
    """Take the next rung of the ladder, or end the subtask with what there is. No call may be in doubt by now."""
    asked = trouble == "ambiguous_input"
    failures = work.failures if asked else (*work.failures, message)
    member = ask.members.get(work.specialist)
    following = after_trouble(
        trouble,
        failures=len(failures),
        questions=work.questions,
        specialist=work.specialist,
        fallback=member.fallback if member else "",
        tier=work.tier or "balanced",
    )
    work = replace(_attempt_over(work), failures=failures)
    if isinstance(following, Again):
        return with_work(
            ask,
            replace(
                work,
                state="pending",
                specialist=following.specialist,
                tier=following.tier,
                not_before=at + following.delay if following.delay else 0.0,
            ),
        )
    if isinstance(following, AskPeople):
        return with_work(ask, replace(work, state="input_required", questions=work.questions + 1))
    work = replace(work, question=None)
    if partial is not None:
        kept = partial.model_copy(update={"gaps": (*partial.gaps, message), "usage": Usage()})
        return _complete(ask, work, kept, at)
    return settle(with_work(ask, replace(work, state="error", reason=message, ended=at)), at)


def _question_answered(ask: Ask, event: ev.QuestionAnswered) -> Ask:
    work = ask.work.get(event.subtask)
    question = work.question if work else None
    if ask.failure is not None or work is None or work.state != "input_required" or question is None:
        return ask
    if event.number not in {0, question.number}:
        return ask
    decision = Decision(question, event.user, event.text, event.at)
    work = replace(work, question=None, decisions=(*work.decisions, decision))
    if question.doubt is not None:
        return _doubt_cleared(ask, work, question.doubt, event, waited=event.at - question.asked)
    note = Note(source=f"Asked: {question.message}", text=f"Answered by a person: {event.text}")
    return with_work(ask, replace(work, state="pending", answers=(*work.answers, note)))


def _doubt_cleared(ask: Ask, work: Work, doubt: Doubt, event: ev.QuestionAnswered, *, waited: float) -> Ask:
    """The attempt goes on where it was, on a clock that stood still meanwhile; or people end it here."""
    verdict = doubts.verdict_of(event.text)
    if verdict == "stop":
        ask, work = _charged(ask, _attempt_over(work), doubt.usage)
        work = replace(work, state="error", reason="stopped by a person", ended=event.at)
        return settle(with_work(ask, work), event.at)
    work = _kept(work, Checked(event.at, doubt.call, verdict, event.user, event.text))
    started = work.attempt_started + max(0.0, waited)
    return with_work(ask, replace(work, state="in_progress", attempt_started=started))


def _answer_written(ask: Ask, event: ev.AnswerWritten) -> Ask:
    if ask.answer is not None or ask.failure is not None:
        return ask
    return replace(ask, answer=event.text, usage=ask.usage + event.usage, written=event.at)


def _request_failed(ask: Ask, event: ev.RequestFailed) -> Ask:
    if ask.answer is not None or ask.failure is not None:
        return ask
    failure = Failure(event.step, event.reason, event.advice)
    return replace(ask, failure=failure, usage=ask.usage + event.usage, written=event.at)


def _posted(ask: Ask, event: ev.Posted) -> Ask:
    return replace(ask, posted=MappingProxyType({**ask.posted, event.key: event.ts}))


CHANGES: Mapping[str, Callable[[Ask, Any], Ask]] = {
    "AttachmentsFetched": _attachments_fetched,
    "PlanProposed": _plan_proposed,
    "PlanRejected": _plan_rejected,
    "AttemptStarted": _attempt_started,
    "TurnTaken": _checkpoint,
    "ToolStarted": _checkpoint,
    "ToolReturned": _checkpoint,
    "ToolInDoubt": _tool_in_doubt,
    "ResultReturned": _result_returned,
    "AttemptFailed": _attempt_failed,
    "Escalated": _escalated,
    "QuestionAnswered": _question_answered,
    "AnswerWritten": _answer_written,
    "RequestFailed": _request_failed,
    "Posted": _posted,
    "FeedbackGiven": lambda ask, _: ask,
}
"""By the type of the event."""
