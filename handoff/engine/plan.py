"""Transitions for the planner's replies: a question, a first plan, a rejected plan, a revision.

A revision never changes subtasks that have started. One that would is rejected as a whole, and the plan stays as it
was.
"""

from __future__ import annotations

from types import MappingProxyType

from handoff import events as ev
from handoff.contracts import Estimate, Member, Plan, PlanChange, Subtask
from handoff.engine import ladder, questions, replan, reused_subtasks
from handoff.engine.nested import count_subtasks_left
from handoff.engine.subtask import settle_run
from handoff.state.job_state import PlanRun, RequestState, SubtaskState, replace
from handoff.state.state_values import Failure, QuestionAnswer, ReplanTrigger

MAX_REJECTED_PLANS = 2
"""The number of rejected plans after which the run fails: the planner may correct its plan once."""
PLANNED_ANEW_DECISION = "planned again"
"""The name of the decision that a second try gets a new plan."""
_CHANGE_WORDS = {
    "added": "new",
    "dropped": "no longer needed",
    "reassigned": "given to another",
    "rebriefed": "new brief",
    "replaced": "replaced",
}

# ---------------------------------------------------------------- a question before there is a plan


def open_planner_question(ask: RequestState, event: ev.PlannerAsked) -> RequestState:
    """Open the planner's question. The planner may ask one question per request."""
    if ask.run.is_concluded or ask.run.plan is not None or ask.question is not None or ask.answer_notes:
        return ask
    ask = ask.with_pack_decision(event.at, "", event.pack)
    ask = ask.with_decision(event.at, "", "ask before planning", "; ".join((event.question, *event.reasons)))
    return replace(ask, question=questions.make_planner_question(ask, event), usage=ask.usage + event.usage)


def record_planner_answer(ask: RequestState, event: ev.QuestionAnswered) -> RequestState:
    """Record the answer to the planner's question. The planner is then asked again with the answer."""
    question = ask.question
    if ask.run.is_concluded or question is None or not question.may_answer(event.user, event.groups):
        return ask
    if event.number not in {0, question.number}:
        return ask
    answered = QuestionAnswer(question, event.user, event.text, event.at)
    return replace(ask, question=None, answered=(*ask.answered, answered))


# ---------------------------------------------------------------- a first plan


def apply_plan(ask: RequestState, run: PlanRun, event: ev.PlanProposed) -> RequestState:
    """Begin to follow a plan: add its subtasks to those of the request."""
    if run.plan is not None or (ask.question is not None and not run.within):
        return ask
    if run.within and (fault := _find_plan_misfit(ask, event.plan)):
        ask = ask.with_decision(event.at, run.within, "plan rejected", fault)
        return _record_rejection(ask, run, (fault,), event.at)
    members = {member.name: member for member in event.members}
    taken = reused_subtasks.reuse_subtasks(ask, event) if not run.within else None
    estimates = {estimate.subtask: estimate for estimate in event.estimates}
    work = make_subtask_states(event.plan, members, estimates, run.within) if taken is None else taken
    ask = ask.with_pack_decision(event.at, run.within, event.pack)
    for reason in event.reasons:
        ask = ask.with_decision(event.at, run.within, "planned", reason)
    if event.anew:
        ask = ask.with_decision(event.at, run.within, PLANNED_ANEW_DECISION, event.anew)
    goes_on = bool(run.handed_over)
    run = replace(
        run, plan=event.plan, fixed=event.pipeline, is_first=event.is_first, members=MappingProxyType(members)
    )
    if not run.within and not goes_on:  # a crew's run got its terms and its start time when its attempt began
        run = replace(run, since=event.at, paused=0.0, terms=event.terms)
        ask, run = reused_subtasks.resume_stopped_run(ask, run, event)
    ask = replace(ask, work=MappingProxyType({**ask.work, **work})).with_run(run)
    return ask if taken is None else settle_run(ask, event.at)


def _find_plan_misfit(ask: RequestState, plan: Plan) -> str:
    """Return the reason why a crew's plan does not fit into the request; empty if it fits.

    Other subtasks may have been added since the planner was asked, so there may be too many, or the same ids.
    """
    if len(plan.subtasks) > (room := count_subtasks_left(ask)):
        return f"The plan has {len(plan.subtasks)} subtasks, and only {room} are left for all of this request."
    taken = [subtask.id for subtask in plan.subtasks if subtask.id in ask.work]
    return f"The ids {', '.join(taken)} are taken; choose others." if taken else ""


def make_subtask_states(
    plan: Plan, members: dict[str, Member], estimates: dict[str, Estimate], within: str = ""
) -> dict[str, SubtaskState]:
    """Return the initial states of a plan's subtasks, by id. `within` is the id of the enclosing subtask."""
    return {
        subtask.id: SubtaskState(
            subtask=subtask,
            specialist=subtask.specialist,
            within=within,
            tier=subtask.tier or members[subtask.specialist].tier,
            estimate=estimates.get(subtask.id),
        )
        for subtask in plan.subtasks
    }


def apply_rejection(ask: RequestState, run: PlanRun, event: ev.PlanRejected) -> RequestState:
    """Record a rejected plan: the planner may try once more, or the run fails."""
    if run.within and run.plan is not None:
        return ask
    ask = ask.with_pack_decision(event.at, run.within, event.pack)
    return _record_rejection(ask, run, event.faults, event.at)


def _record_rejection(ask: RequestState, run: PlanRun, faults: tuple[str, ...], at: float) -> RequestState:
    run = replace(run, rejections=(*run.rejections, faults))
    if len(run.rejections) >= MAX_REJECTED_PLANS:
        failure = Failure(
            "planning",
            "the planner returned no usable plan: " + " ".join(faults[:3]),
            "Say it in other words, or in smaller steps, and mention me again.",
        )
        run = replace(run, failure=failure, written=at)
    return ask.with_run(run)


# ---------------------------------------------------------------- a revision


def apply_revised_plan(ask: RequestState, event: ev.PlanRevised) -> RequestState:
    """Apply a revision of a plan, if it is still valid, or keep the plan.

    If the trigger was a failure and the planner left the failed subtask unchanged, take the next step of the ladder.
    """
    trigger = next((one for one in ask.replans if (one.within, one.subtask) == (event.within, event.subtask)), None)
    if trigger is None or ask.run.is_concluded:
        return ask
    free, matters = replan.list_changeable_ids(ask, trigger), replan.is_relevant_trigger(ask, trigger)
    ask = replan.remove_trigger(ask, trigger).charge_enclosing(event.within, event.usage)
    ask = ask.with_pack_decision(event.at, _find_trigger_subtask(trigger), event.pack)
    if not matters:
        why = "all that it was about had started or ended by then"
        return ask.with_decision(event.at, _find_trigger_subtask(trigger), "plan kept", why)
    run = ask.get_run(event.within)
    faults = event.faults
    if event.plan is not None and run.plan is not None:
        faults = _find_revision_faults(ask, run, event, run.plan, event.plan, free)
    if faults or event.plan is None:
        why = " ".join(faults) or "the planner gave no other"
        ask = ask.with_decision(event.at, _find_trigger_subtask(trigger), "plan kept", why)
    else:
        ask = _apply_revision(ask, run, event, event.plan)
    return settle_run(_take_next_step(ask, trigger, event), event.at, event.within)


def _find_trigger_subtask(trigger: ReplanTrigger) -> str:
    return "" if trigger.cause == "correction" else trigger.subtask


def _find_revision_faults(
    ask: RequestState,
    run: PlanRun,
    event: ev.PlanRevised,
    old_plan: Plan,
    new_plan: Plan,
    changeable_ids: frozenset[str],
) -> tuple[str, ...]:
    """Return the reasons why the new plan cannot replace the old one, such as subtasks that have started meanwhile.

    `changeable_ids` are the ids of the subtasks that may be changed.
    """
    new = {subtask.id: subtask for subtask in new_plan.subtasks}
    known = {subtask.id: subtask for subtask in old_plan.subtasks}
    changed = {change.subtask for change in event.changes} & set(ask.work)
    changed |= {name for name, subtask in known.items() if new.get(name) != subtask}
    faults = [f"{name} has started, and would be changed." for name in sorted(changed - changeable_ids)]
    faults += [f"{name} was dropped before." for name in new if name not in known and name in ask.work]
    faults += [
        f"{subtask.id} would wait for {name}, which is not in the plan."
        for subtask in new_plan.subtasks
        for name in subtask.after
        if name not in new
    ]
    strangers = {subtask.specialist for subtask in new_plan.subtasks} - set(run.members)
    return (*faults, *(f"There is no {name} in the crew." for name in sorted(strangers)))


def _apply_revision(ask: RequestState, run: PlanRun, event: ev.PlanRevised, plan: Plan) -> RequestState:
    """Return the request with its new plan, and with a decision in the trace for each change."""
    changes = {change.subtask: change for change in event.changes}
    estimates = {estimate.subtask: estimate for estimate in event.estimates}
    new = {subtask.id: subtask for subtask in plan.subtasks}
    instead = {name: change.subtask for change in event.changes for name in change.by}
    fresh = {
        name: _make_added_subtask(
            run, subtask, changes.get(name), estimates.get(name), ask.work.get(instead.get(name, ""))
        )
        for name, subtask in new.items()
        if name not in ask.work
    }
    work: dict[str, SubtaskState] = {}
    for name, one in ask.work.items():
        mine = one.within == run.within and not one.dropped
        work[name] = _revise_subtask(run, one, new.get(name), changes.get(name), event) if mine else one
        if name in estimates:
            work[name] = replace(work[name], estimate=estimates[name])
        work.update({other: fresh[other] for other, replaced in instead.items() if replaced == name and other in fresh})
    work.update({name: one for name, one in fresh.items() if name not in work})
    for change in event.changes:
        ask = ask.with_decision(event.at, change.subtask, f"plan changed: {change.kind}", change.why)
    return replace(ask, work=MappingProxyType(work)).with_run(replace(run, plan=plan))


def _make_added_subtask(
    run: PlanRun, subtask: Subtask, change: PlanChange | None, estimate: Estimate | None, replaced: SubtaskState | None
) -> SubtaskState:
    """Return the state of an added subtask.

    If it replaces the subtask `replaced`, it inherits the answers of people.
    """
    return SubtaskState(
        subtask=subtask,
        specialist=subtask.specialist,
        within=run.within,
        tier=subtask.tier or run.members[subtask.specialist].tier,
        estimate=estimate,
        changed=_describe_plan_change(change),
        instead_of=replaced.subtask.id if replaced is not None else "",
        answers=replaced.answers if replaced is not None else (),
    )


def _revise_subtask(
    run: PlanRun, work: SubtaskState, subtask: Subtask | None, change: PlanChange | None, event: ev.PlanRevised
) -> SubtaskState:
    """Return the state of an old subtask under the new plan.

    `subtask` is its new definition (None: it left the plan). Without a `change` only its dependencies may differ.
    """
    if subtask is None or (change is not None and change.kind in {"dropped", "replaced"}):
        gone = subtask is None
        reason = _describe_plan_change(change) if gone or change is None else change.why
        over = replace(work, subtask=subtask or work.subtask, state="skipped", dropped=gone, reason=reason)
        return replace(
            over, ended=event.at, changed=_describe_plan_change(change), refining="", trouble=None, question=None
        )
    if change is None:
        return work if work.subtask == subtask else replace(work, subtask=subtask)
    return replace(
        work,
        subtask=subtask,
        specialist=subtask.specialist,
        tier=subtask.tier or run.members[subtask.specialist].tier,
        brief="" if subtask.intent != work.subtask.intent else work.brief,
        wanting=None,
        trouble=None,
        not_before=0.0,
        changed=_describe_plan_change(change),
    )


def _describe_plan_change(change: PlanChange | None) -> str:
    return f"{_CHANGE_WORDS[change.kind]}: {change.why}" if change is not None else "no longer in the plan"


def _take_next_step(ask: RequestState, trigger: ReplanTrigger, event: ev.PlanRevised) -> RequestState:
    """Take the next step of the ladder for a failed subtask that the planner left unchanged."""
    work = ask.work.get(trigger.subtask)
    if trigger.cause != "failure" or work is None or work.state != "pending" or work.trouble is None:
        return ask
    return ladder.take_recovery_step(ask, replace(work, trouble=None), work.trouble, trigger.words, event.at)
