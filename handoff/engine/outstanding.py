"""Derives the outstanding effects of a job from its state. Effects are never stored, since they follow from the job."""

from __future__ import annotations

from handoff.effects import (
    DropCopies,
    Effect,
    ExpireQuestion,
    GatherMaterial,
    HandUp,
    MakePlan,
    Post,
    ReachDeadline,
    RefineBrief,
    RemindOfQuestion,
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
from handoff.engine.ladder import compute_attempt_seconds, compute_seconds_left
from handoff.engine.nested import is_crew_working
from handoff.engine.opening import find_opening_effect
from handoff.engine.subtask import list_ready_subtasks
from handoff.state.job_state import SETTLED_STATES, Job, PlanRun, RequestState, SubtaskState

CUTOFF_DELAY = 20.0
"""Seconds after its deadline at which an attempt that has not ended by itself is cut off."""
MAX_CARD_WAIT = 5.0
"""Seconds that an answer waits for its plan card to be posted. Otherwise the answer of a request without a plan could
overtake the card, which would then stand below it."""


def list_outstanding_effects(job: Job, now: float) -> tuple[list[Effect], float | None]:
    """Return the effects that should be in progress at `now`, and the time to look again (None: at the next event)."""
    ask = job.current_request
    effects, due = _list_request_effects(ask, now) if ask is not None else ([], None)
    copies = [DropCopies(job.asks[0].id, job.copies)] if job.copies else []
    heard, later = thread_messages.list_message_effects(job, now)
    return [*effects, *heard, *copies], _choose_earlier_time(due, later)


def _list_request_effects(ask: RequestState, now: float) -> tuple[list[Effect], float | None]:
    run = ask.run
    if run.is_concluded:
        return _list_closing_effects(ask, now)
    if (opens := find_opening_effect(ask)) is not None:
        return [opens], None
    if not ask.gathered or ask.question is not None or run.plan is None:
        return _list_planning_effects(ask, now)
    effects: list[Effect] = [Post(ask.id, make_card_key(ask.id))] if make_card_key(ask.id) not in ask.posted else []
    unsettled = any(work.state not in SETTLED_STATES for work in ask.list_subtasks(""))
    if unsettled and run.deadline is not None and run.deadline <= now:
        return [*effects, ReachDeadline(ask.id)], None
    running, due = _list_subtask_effects(ask, run, now)
    waiting, later = _list_question_effects(ask, now)
    effects += [*waiting, *running]
    due = _choose_earlier_time(due, later)
    if trigger := replan.find_due_trigger(ask):
        effects.append(RevisePlan(ask.id, trigger.within, trigger.subtask, trigger.words))
    effects += _list_file_effects(ask)
    if unsettled:
        return effects, _choose_earlier_time(due, run.deadline)
    steps, due = answer.list_answer_effects(ask, run, now)
    return effects + steps, due


def _list_planning_effects(ask: RequestState, now: float) -> tuple[list[Effect], float | None]:
    """Return the effects before the work on a plan begins, and the time to look again."""
    effects: list[Effect] = []
    if make_card_key(ask.id) not in ask.posted:
        effects.append(Post(ask.id, make_card_key(ask.id)))
    if not ask.gathered:
        return [*effects, GatherMaterial(ask.id, ask.edited)], None
    if ask.question is None:
        return [*effects, _make_plan_effect(ask)], None
    waiting, due = _list_question_effects(ask, now)
    if effects and ask.question.second_try:  # the question is there from the start, and would stand above the card
        return effects, due
    return [*effects, *waiting], due


def _make_plan_effect(ask: RequestState) -> MakePlan:
    faults = ask.run.rejections[-1] if ask.run.rejections else ()
    return MakePlan(ask.id, faults, corrected=ask.correction_count)


def _list_subtask_effects(ask: RequestState, run: PlanRun, now: float) -> tuple[list[Effect], float | None]:
    """Return the effects for the subtasks of a run, and the time to look again."""
    effects: list[Effect] = []
    due: float | None = None
    free = {work.subtask.id for work in list_ready_subtasks(ask, run)}
    for work in ask.list_subtasks(run.within):
        name = work.subtask.id
        later: float | None = None
        if work.run is not None and is_crew_working(work):
            found, later = _list_crew_run_effects(ask, work, work.run, now)
            effects += found
        elif (work.state == "in_progress" or name in free) and not replan.is_awaiting_revision(ask, work):
            effect, later = _choose_attempt_effect(ask, work, now)
            effects += [effect] if effect is not None else []
        due = _choose_earlier_time(due, later)
    return effects, due


def _list_crew_run_effects(
    ask: RequestState, work: SubtaskState, run: PlanRun, now: float
) -> tuple[list[Effect], float | None]:
    """Return the effects for the run of a crew at a subtask, and the time to look again."""
    name = work.subtask.id
    if run.is_concluded:
        return [HandUp(ask.id, name, work.attempt)], None
    if run.deadline is not None and run.deadline <= now:
        return [ReachDeadline(ask.id, name)], None
    if run.plan is None:
        return [MakePlan(ask.id, run.rejections[-1] if run.rejections else (), name, work.attempt)], run.deadline
    effects, due = _list_subtask_effects(ask, run, now)
    if all(one.state in SETTLED_STATES for one in ask.list_subtasks(name)):
        steps, due = answer.list_answer_effects(ask, run, now)
        effects += steps
    return effects, _choose_earlier_time(due, run.deadline)


def _choose_attempt_effect(ask: RequestState, work: SubtaskState, now: float) -> tuple[Effect | None, float | None]:
    """Return the effect of a subtask that has begun or can begin, and the time to look at it again."""
    name = work.subtask.id
    if work.refining:
        return RefineBrief(ask.id, name, work.attempt, work.refining), None
    if work.state == "pending" and work.not_before > now:
        return None, work.not_before
    number = work.attempt if work.state == "in_progress" else work.attempt + 1
    member = ask.find_member(work)
    if member is not None and member.crew is not None:
        return MakePlan(ask.id, (), name, number), None
    ends: float | None = None
    if work.state == "in_progress" and not work.open_intents:  # an attempt with a call in doubt has no deadline
        ends = max(work.attempt_started, work.resumed) + compute_seconds_left(ask, work) + CUTOFF_DELAY
        if ends <= now:
            return ReachDeadline(ask.id, name), None
    tier, timeout = work.tier or "balanced", compute_attempt_seconds(ask, work)
    return RunSubtask(ask.id, name, number, work.specialist, tier, timeout, work.subtask.done_when), ends


def _list_question_effects(ask: RequestState, now: float) -> tuple[list[Effect], float | None]:
    """Return the effects of the open questions, and the time to look again.

    An expired question is closed. Otherwise its missing messages are posted, and then its next reminder is recorded.
    """
    effects: list[Effect] = []
    due: float | None = None
    for name, question in ask.open_questions.items():
        number, count = question.number, len(question.reminders)
        keys = [make_question_key(ask.id, name, number)]
        keys += [make_reminder_key(ask.id, name, number, reminder) for reminder in range(1, count + 1)]
        posts = [Post(ask.id, key) for key in keys if key not in ask.posted]
        closes, reminder = questions.compute_expiry_time(question), questions.find_next_reminder(ask, question)
        if closes is not None and closes <= now:
            effects.append(ExpireQuestion(ask.id, name, number))
        elif posts:
            effects += posts
        elif reminder is not None and reminder[0] <= now:
            effects.append(RemindOfQuestion(ask.id, name, number, reminder[1]))
        due = _choose_earlier_time(due, _choose_earlier_time(closes, reminder[0] if reminder is not None else None))
    return effects, due


def _list_file_effects(ask: RequestState) -> list[Effect]:
    shown = {artifact for one in ask.earlier_tries for artifact in _list_posted_files(one)}
    return [
        Post(ask.id, key)
        for work in ask.list_subtasks("")  # a crew's result contains the files made inside it
        if work.result is not None
        for artifact in work.result.artifacts
        if artifact.publish_as != "nothing" and (key := make_file_key(ask.id, artifact.id)) not in ask.posted
        if not (work.kept and artifact.id in shown)
    ]


def _list_posted_files(ask: RequestState) -> set[str]:
    """Return the ids of the files that a request has posted in the thread."""
    made = (one for work in ask.list_subtasks("") if work.result is not None for one in work.result.artifacts)
    return {one.id for one in made if ask.posted.get(make_file_key(ask.id, one.id))}


def _list_closing_effects(ask: RequestState, now: float) -> tuple[list[Effect], float | None]:
    """Return the last posts of a request, and the time to look again if its visible end waits for the plan card.

    The files come before the visible end. The card, or its last edit, is posted in parallel.
    """
    effects: list[Effect] = [] if ask.cancelled_by else _list_file_effects(ask)
    due = _find_card_deadline(ask, now)
    if not effects and due is None and make_answer_key(ask.id) not in ask.posted:
        effects.append(Post(ask.id, make_answer_key(ask.id)))
    if not ask.refusal:
        if make_card_key(ask.id) not in ask.posted:
            effects.append(Post(ask.id, make_card_key(ask.id)))
        elif make_card_end_key(ask.id) not in ask.posted:
            effects.append(Post(ask.id, make_card_end_key(ask.id)))
    return effects, due


def _find_card_deadline(ask: RequestState, now: float) -> float | None:
    """Return the time until which the visible end of a request waits for its plan card; None if it does not wait."""
    if ask.refusal or ask.cancelled_by or ask.run.written is None or make_card_key(ask.id) in ask.posted:
        return None
    until = ask.run.written + MAX_CARD_WAIT
    return until if now < until else None


def _choose_earlier_time(first: float | None, other: float | None) -> float | None:
    return min((each for each in (first, other) if each is not None), default=None)
