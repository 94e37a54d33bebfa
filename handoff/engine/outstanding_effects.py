"""Derives the outstanding effects of a job from its state. Effects are never stored, since they follow from the job."""

from __future__ import annotations

from handoff.effects import (
    DropCopies,
    Effect,
    ExpireQuestion,
    GatherMaterial,
    MakePlan,
    PostMessage,
    RecordDeadline,
    RefineBrief,
    RemindOfQuestion,
    ReportCrewOutcome,
    RevisePlan,
    RunSubtask,
    make_answer_key,
    make_card_end_key,
    make_card_key,
    make_file_key,
    make_question_key,
    make_reminder_key,
)
from handoff.engine import answer, questions, replan, thread_messages
from handoff.engine.crew_runs import is_crew_working
from handoff.engine.ladder import compute_attempt_seconds, compute_seconds_left
from handoff.engine.opening_requests import find_opening_effect
from handoff.engine.subtask import list_ready_subtasks
from handoff.state.job_state import SETTLED_STATES, Job, PlanRun, RequestState, SubtaskState

CUTOFF_DELAY_SECONDS = 20.0
"""The seconds between the deadline of an attempt and the time at which it is cut off if it has not ended by itself."""
MAX_CARD_WAIT_SECONDS = 5.0
"""The most seconds that an answer waits for its plan card. Without the wait, a fast answer could be posted above the
card."""


def list_outstanding_effects(job: Job, now: float) -> tuple[list[Effect], float | None]:
    """Return the effects that should be in progress at `now`, and the time to look again (None: at the next event)."""
    request = job.current_request
    effects, due = _list_request_effects(request, now) if request is not None else ([], None)
    copies = [DropCopies(job.requests[0].id, job.copies_to_delete)] if job.copies_to_delete else []
    message_effects, later = thread_messages.list_message_effects(job, now)
    return [*effects, *message_effects, *copies], _choose_earlier_time(due, later)


def _list_request_effects(request: RequestState, now: float) -> tuple[list[Effect], float | None]:
    run = request.run
    if run.is_concluded:
        return _list_closing_effects(request, now)
    if (opens := find_opening_effect(request)) is not None:
        return [opens], None
    if not request.is_gathered or request.question is not None or run.plan is None:
        return _list_planning_effects(request, now)
    effects: list[Effect] = (
        [PostMessage(request.id, make_card_key(request.id))]
        if make_card_key(request.id) not in request.posted_ids
        else []
    )
    has_unsettled_subtasks = any(subtask.state not in SETTLED_STATES for subtask in request.list_subtasks(""))
    if has_unsettled_subtasks and run.deadline is not None and run.deadline <= now:
        return [*effects, RecordDeadline(request.id)], None
    running, due = _list_subtask_effects(request, run, now)
    question_effects, later = _list_question_effects(request, now)
    effects += [*question_effects, *running]
    due = _choose_earlier_time(due, later)
    if trigger := replan.find_due_trigger(request):
        effects.append(RevisePlan(request.id, trigger.within, trigger.subtask, trigger.words))
    effects += _list_file_effects(request)
    if has_unsettled_subtasks:
        return effects, _choose_earlier_time(due, run.deadline)
    steps, due = answer.list_answer_effects(request, run, now)
    return effects + steps, due


def _list_planning_effects(request: RequestState, now: float) -> tuple[list[Effect], float | None]:
    """Return the effects before the work on a plan begins, and the time to look again."""
    effects: list[Effect] = []
    if make_card_key(request.id) not in request.posted_ids:
        effects.append(PostMessage(request.id, make_card_key(request.id)))
    if not request.is_gathered:
        return [*effects, GatherMaterial(request.id, request.edit_stamp)], None
    if request.question is None:
        return [*effects, _make_plan_effect(request)], None
    question_effects, due = _list_question_effects(request, now)
    # The question is there from the start, and would stand above the card.
    if effects and request.question.is_retry_question:
        return effects, due
    return [*effects, *question_effects], due


def _make_plan_effect(request: RequestState) -> MakePlan:
    faults = request.run.rejections[-1] if request.run.rejections else ()
    return MakePlan(request.id, faults, correction_count=request.correction_count)


def _list_subtask_effects(request: RequestState, run: PlanRun, now: float) -> tuple[list[Effect], float | None]:
    """Return the effects for the subtasks of a run, and the time to look again."""
    effects: list[Effect] = []
    due: float | None = None
    free = {subtask.spec.id for subtask in list_ready_subtasks(request, run)}
    for subtask in request.list_subtasks(run.within):
        name = subtask.spec.id
        later: float | None = None
        if subtask.run is not None and is_crew_working(subtask):
            run_effects, later = _list_crew_run_effects(request, subtask, subtask.run, now)
            effects += run_effects
        elif (subtask.state == "in_progress" or name in free) and not replan.is_awaiting_revision(request, subtask):
            effect, later = _choose_attempt_effect(request, subtask, now)
            effects += [effect] if effect is not None else []
        due = _choose_earlier_time(due, later)
    return effects, due


def _list_crew_run_effects(
    request: RequestState, subtask: SubtaskState, run: PlanRun, now: float
) -> tuple[list[Effect], float | None]:
    """Return the effects for the run of a crew at a subtask, and the time to look again."""
    name = subtask.spec.id
    if run.is_concluded:
        return [ReportCrewOutcome(request.id, name, subtask.attempt)], None
    if run.deadline is not None and run.deadline <= now:
        return [RecordDeadline(request.id, name)], None
    if run.plan is None:
        return [MakePlan(request.id, run.rejections[-1] if run.rejections else (), name, subtask.attempt)], run.deadline
    effects, due = _list_subtask_effects(request, run, now)
    if all(one.state in SETTLED_STATES for one in request.list_subtasks(name)):
        steps, due = answer.list_answer_effects(request, run, now)
        effects += steps
    return effects, _choose_earlier_time(due, run.deadline)


def _choose_attempt_effect(
    request: RequestState, subtask: SubtaskState, now: float
) -> tuple[Effect | None, float | None]:
    """Return the effect of a subtask that has begun or can begin (None: it has to wait), and the time to look again."""
    name = subtask.spec.id
    if subtask.refining_error:
        return RefineBrief(request.id, name, subtask.attempt, subtask.refining_error), None
    if subtask.state == "pending" and subtask.not_before > now:
        return None, subtask.not_before
    number = subtask.attempt if subtask.state == "in_progress" else subtask.attempt + 1
    member = request.find_member(subtask)
    if member is not None and member.crew is not None:
        return MakePlan(request.id, (), name, number), None
    ends: float | None = None
    if subtask.state == "in_progress" and not subtask.open_intents:  # an attempt with a call in doubt has no deadline
        ends = (
            max(subtask.attempt_started, subtask.resumed_at)
            + compute_seconds_left(request, subtask)
            + CUTOFF_DELAY_SECONDS
        )
        if ends <= now:
            return RecordDeadline(request.id, name), None
    tier, timeout = subtask.tier or "balanced", compute_attempt_seconds(request, subtask)
    return RunSubtask(request.id, name, number, subtask.specialist, tier, timeout, subtask.spec.done_when), ends


def _list_question_effects(request: RequestState, now: float) -> tuple[list[Effect], float | None]:
    """Return the effects of the open questions, and the time to look again.

    An expired question is closed. Otherwise its missing messages are posted, and then its next reminder is recorded.
    """
    effects: list[Effect] = []
    due: float | None = None
    for name, question in request.open_questions.items():
        number, count = question.number, len(question.reminders)
        keys = [make_question_key(request.id, name, number)]
        keys += [make_reminder_key(request.id, name, number, reminder) for reminder in range(1, count + 1)]
        posts = [PostMessage(request.id, key) for key in keys if key not in request.posted_ids]
        closes, reminder = questions.compute_expiry_time(question), questions.find_next_reminder(request, question)
        if closes is not None and closes <= now:
            effects.append(ExpireQuestion(request.id, name, number))
        elif posts:
            effects += posts
        elif reminder is not None and reminder[0] <= now:
            effects.append(RemindOfQuestion(request.id, name, number, reminder[1]))
        due = _choose_earlier_time(due, _choose_earlier_time(closes, reminder[0] if reminder is not None else None))
    return effects, due


def _list_file_effects(request: RequestState) -> list[Effect]:
    posted_file_ids = {artifact for one in request.earlier_tries for artifact in _list_posted_files(one)}
    return [
        PostMessage(request.id, key)
        for subtask in request.list_subtasks("")  # a crew's result contains the files made inside it
        if subtask.result is not None
        for artifact in subtask.result.artifacts
        if artifact.publish_as != "nothing"
        and (key := make_file_key(request.id, artifact.id)) not in request.posted_ids
        if not (subtask.is_reused and artifact.id in posted_file_ids)
    ]


def _list_posted_files(request: RequestState) -> set[str]:
    """Return the ids of the files that a request has posted in the thread."""
    artifacts = (
        one for subtask in request.list_subtasks("") if subtask.result is not None for one in subtask.result.artifacts
    )
    return {one.id for one in artifacts if request.posted_ids.get(make_file_key(request.id, one.id))}


def _list_closing_effects(request: RequestState, now: float) -> tuple[list[Effect], float | None]:
    """Return the last posts of a request, and the time to look again if its visible end waits for the plan card.

    The files come before the visible end. The card, or its last edit, is posted in parallel.
    """
    effects: list[Effect] = [] if request.cancelled_by else _list_file_effects(request)
    due = _find_card_deadline(request, now)
    if not effects and due is None and make_answer_key(request.id) not in request.posted_ids:
        effects.append(PostMessage(request.id, make_answer_key(request.id)))
    if not request.refusal:
        if make_card_key(request.id) not in request.posted_ids:
            effects.append(PostMessage(request.id, make_card_key(request.id)))
        elif make_card_end_key(request.id) not in request.posted_ids:
            effects.append(PostMessage(request.id, make_card_end_key(request.id)))
    return effects, due


def _find_card_deadline(request: RequestState, now: float) -> float | None:
    """Return the time until which the visible end of a request waits for its plan card; None if it does not wait."""
    if (
        request.refusal
        or request.cancelled_by
        or request.run.concluded_at is None
        or make_card_key(request.id) in request.posted_ids
    ):
        return None
    until = request.run.concluded_at + MAX_CARD_WAIT_SECONDS
    return until if now < until else None


def _choose_earlier_time(first: float | None, other: float | None) -> float | None:
    return min((each for each in (first, other) if each is not None), default=None)
