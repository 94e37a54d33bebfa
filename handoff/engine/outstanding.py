"""Reads off the state of a job what is left to do. Effects are never stored, as they follow from the job alone."""

from __future__ import annotations

from handoff.effects import (
    DropCopies,
    Effect,
    GatherMaterial,
    HandUp,
    JudgeResult,
    MakePlan,
    Post,
    ReachDeadline,
    RefineBrief,
    RevisePlan,
    RunSubtask,
    answer_key,
    card_end_key,
    card_key,
    file_key,
    question_key,
)
from handoff.engine import answer, hearing, replan
from handoff.engine.ladder import attempt_seconds, seconds_left
from handoff.engine.nested import is_open
from handoff.engine.subtask import ready
from handoff.state import SETTLED, Ask, Job, Run, Work

BEYOND = 20.0
"""Seconds after its deadline at which an attempt that did not end by itself is cut off."""


def outstanding(job: Job, now: float) -> tuple[list[Effect], float | None]:
    """Return the effects that should be under way at `now`, and the time to look again (None: at the next event)."""
    ask = job.current
    effects, due = _of_request(ask, now) if ask is not None else ([], None)
    copies = [DropCopies(job.asks[0].id, job.copies)] if job.copies else []
    return [*effects, *hearing.effects(job), *copies], due


def _of_request(ask: Ask, now: float) -> tuple[list[Effect], float | None]:
    run = ask.run
    if run.concluded:
        return _closing(ask), None
    effects: list[Effect] = []
    if card_key(ask.id) not in ask.posted:
        effects.append(Post(ask.id, card_key(ask.id)))
    if not ask.gathered:
        return [*effects, GatherMaterial(ask.id)], None
    if ask.question is not None:
        return [*effects, *_questions(ask)], None
    if run.plan is None:
        return [*effects, _planning(ask)], None
    unsettled = any(work.state not in SETTLED for work in ask.inside(""))
    if unsettled and run.deadline is not None and run.deadline <= now:
        return [*effects, ReachDeadline(ask.id)], None
    running, due = _subtasks(ask, run, now)
    effects += [*_questions(ask), *running]
    if trigger := replan.current_trigger(ask):
        effects.append(RevisePlan(ask.id, trigger.within, trigger.subtask, trigger.words))
    effects += _files(ask)
    if unsettled:
        return effects, _earlier(due, run.deadline)
    steps, due = answer.steps(ask, run, now)
    return effects + steps, due


def _planning(ask: Ask) -> MakePlan:
    faults = ask.run.rejections[-1] if ask.run.rejections else ()
    return MakePlan(ask.id, faults, corrected=ask.corrections)


def _subtasks(ask: Ask, run: Run, now: float) -> tuple[list[Effect], float | None]:
    """Return the effects for the subtasks of a run, and the time to look again."""
    effects: list[Effect] = []
    due: float | None = None
    free = {work.subtask.id for work in ready(ask, run)}
    for work in ask.inside(run.within):
        name = work.subtask.id
        later: float | None = None
        if work.run is not None and is_open(work):
            found, later = _inside(ask, work, work.run, now)
            effects += found
        elif (work.state == "in_progress" or name in free) and not replan.holds(ask, work):
            effect, later = _attempt(ask, work, now)
            effects += [effect] if effect is not None else []
        due = _earlier(due, later)
    return effects, due


def _inside(ask: Ask, work: Work, run: Run, now: float) -> tuple[list[Effect], float | None]:
    """Return the effects for the run of a crew at a subtask, and the time to look again."""
    name = work.subtask.id
    if run.concluded:
        return [HandUp(ask.id, name, work.attempt)], None
    if run.deadline is not None and run.deadline <= now:
        return [ReachDeadline(ask.id, name)], None
    if run.plan is None:
        return [MakePlan(ask.id, run.rejections[-1] if run.rejections else (), name, work.attempt)], run.deadline
    effects, due = _subtasks(ask, run, now)
    if all(one.state in SETTLED for one in ask.inside(name)):
        steps, due = answer.steps(ask, run, now)
        effects += steps
    return effects, _earlier(due, run.deadline)


def _attempt(ask: Ask, work: Work, now: float) -> tuple[Effect | None, float | None]:
    """Return the effect for a subtask that has begun or can begin, and the time to look at it again."""
    name = work.subtask.id
    if work.look is not None:
        return JudgeResult(ask.id, name, work.attempt, work.look.faults, work.look.doubts), None
    if work.refining:
        return RefineBrief(ask.id, name, work.attempt, work.refining), None
    if work.state == "pending" and work.not_before > now:
        return None, work.not_before
    number = work.attempt if work.state == "in_progress" else work.attempt + 1
    member = ask.member_of(work)
    if member is not None and member.crew is not None:
        return MakePlan(ask.id, (), name, number), None
    ends: float | None = None
    if work.state == "in_progress" and not work.intents:  # only a person ends an attempt with a call in doubt
        ends = max(work.attempt_started, work.resumed) + seconds_left(ask, work) + BEYOND
        if ends <= now:
            return ReachDeadline(ask.id, name), None
    tier, timeout = work.tier or "balanced", attempt_seconds(ask, work)
    return RunSubtask(ask.id, name, number, work.specialist, tier, timeout, work.subtask.done_when), ends


def _questions(ask: Ask) -> list[Effect]:
    """Return the posts of the open questions that the thread does not show yet."""
    keys = (question_key(ask.id, name, question.number) for name, question in ask.open_questions.items())
    return [Post(ask.id, key) for key in keys if key not in ask.posted]


def _files(ask: Ask) -> list[Effect]:
    return [
        Post(ask.id, key)
        for work in ask.inside("")  # a subtask's result has the files made inside it, too
        if work.result is not None
        for artifact in work.result.artifacts
        if artifact.publish_as != "nothing" and (key := file_key(ask.id, artifact.id)) not in ask.posted
    ]


def _closing(ask: Ask) -> list[Effect]:
    """Return the last posts of a request: its files, then its visible end, with the card's last edit beside them."""
    effects: list[Effect] = [] if ask.cancelled_by else _files(ask)
    if not effects and answer_key(ask.id) not in ask.posted:
        effects.append(Post(ask.id, answer_key(ask.id)))
    if not ask.refusal:
        if card_key(ask.id) not in ask.posted:
            effects.append(Post(ask.id, card_key(ask.id)))
        elif card_end_key(ask.id) not in ask.posted:
            effects.append(Post(ask.id, card_end_key(ask.id)))
    return effects


def _earlier(one: float | None, other: float | None) -> float | None:
    return min((each for each in (one, other) if each is not None), default=None)
