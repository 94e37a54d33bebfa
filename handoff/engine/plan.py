"""Transitions for the planner's replies: a question, a first plan, a rejected plan, a revision.

A revision never changes subtasks that have started. A revision that would change one is rejected as a whole, and the
plan stays as it was.
"""

from __future__ import annotations

from types import MappingProxyType

from handoff import events as ev
from handoff.contracts import Estimate, Member, Plan, PlanChange, Subtask
from handoff.engine import ladder, questions, replan, reused_subtasks
from handoff.engine.crew_runs import count_addable_subtasks
from handoff.engine.subtask import settle_run
from handoff.state.job_state import PlanRun, RequestState, SubtaskState, replace
from handoff.state.state_values import Failure, QuestionAnswer, ReplanTrigger

MAX_REJECTED_PLANS = 2
"""The number of rejected plans after which the run fails: the planner may correct its plan once."""
PLANNED_ANEW_DECISION = "planned again"
"""The name, in the trace, of the decision to make a new plan for a retry."""
_CHANGE_WORDS = {
    "added": "new",
    "dropped": "no longer needed",
    "reassigned": "given to another",
    "rebriefed": "new brief",
    "replaced": "replaced",
}

# ---------------------------------------------------------------- a question before there is a plan


def open_planner_question(request: RequestState, event: ev.PlannerAsked) -> RequestState:
    """Open the planner's question. Ignore a second one: the planner may ask one question per request."""
    if request.run.is_concluded or request.run.plan is not None or request.question is not None or request.answer_notes:
        return request
    request = request.with_pack_decision(event.at, "", event.pack)
    request = request.with_decision(event.at, "", "ask before planning", "; ".join((event.question, *event.reasons)))
    return replace(request, question=questions.make_planner_question(request, event), usage=request.usage + event.usage)


def record_planner_answer(request: RequestState, event: ev.QuestionAnswered) -> RequestState:
    """Record the answer to the planner's question. The planner is then asked again with the answer."""
    question = request.question
    if request.run.is_concluded or question is None or not question.may_answer(event.user, event.groups):
        return request
    if event.number not in {0, question.number}:
        return request
    question_answer = QuestionAnswer(question, event.user, event.text, event.at)
    return replace(request, question=None, question_answers=(*request.question_answers, question_answer))


# ---------------------------------------------------------------- a first plan


def apply_plan(request: RequestState, run: PlanRun, event: ev.PlanProposed) -> RequestState:
    """Begin to follow a proposed plan: add its subtasks to those of the request. Ignore it if the run has a plan."""
    if run.plan is not None or (request.question is not None and not run.within):
        return request
    if run.within and (fault := _find_plan_misfit(request, event.plan)):
        request = request.with_decision(event.at, run.within, "plan rejected", fault)
        return _record_rejection(request, run, (fault,), event.at)
    members = {member.name: member for member in event.members}
    reused_states = reused_subtasks.reuse_subtasks(request, event) if not run.within else None
    estimates = {estimate.subtask: estimate for estimate in event.estimates}
    subtasks = (
        make_subtask_states(event.plan, members, estimates, run.within) if reused_states is None else reused_states
    )
    request = request.with_pack_decision(event.at, run.within, event.pack)
    for reason in event.reasons:
        request = request.with_decision(event.at, run.within, "planned", reason)
    if event.anew:
        request = request.with_decision(event.at, run.within, PLANNED_ANEW_DECISION, event.anew)
    goes_on = bool(run.handover_reason)
    run = replace(
        run,
        plan=event.plan,
        is_pipeline=event.pipeline,
        is_first_responder=event.is_first,
        members=MappingProxyType(members),
    )
    if not run.within and not goes_on:  # a crew's run got its terms and its start time when its attempt began
        run = replace(run, clock_started=event.at, paused_seconds=0.0, terms=event.terms)
        request, run = reused_subtasks.resume_stopped_run(request, run, event)
    request = replace(request, subtasks=MappingProxyType({**request.subtasks, **subtasks})).with_run(run)
    return request if reused_states is None else settle_run(request, event.at)


def _find_plan_misfit(request: RequestState, plan: Plan) -> str:
    """Return the reason why a crew's plan does not fit into the request; empty if it fits.

    Subtasks that were added since the planner was asked may leave too little room, or use the same ids.
    """
    if len(plan.subtasks) > (room := count_addable_subtasks(request)):
        return f"The plan has {len(plan.subtasks)} subtasks, and only {room} are left for all of this request."
    used_ids = [subtask.id for subtask in plan.subtasks if subtask.id in request.subtasks]
    return f"The ids {', '.join(used_ids)} are taken; choose others." if used_ids else ""


def make_subtask_states(
    plan: Plan, members: dict[str, Member], estimates: dict[str, Estimate], within: str = ""
) -> dict[str, SubtaskState]:
    """Return the initial states of a plan's subtasks, by id. `within` is the id of the enclosing subtask."""
    return {
        subtask.id: SubtaskState(
            spec=subtask,
            specialist=subtask.specialist,
            within=within,
            tier=subtask.tier or members[subtask.specialist].tier,
            estimate=estimates.get(subtask.id),
        )
        for subtask in plan.subtasks
    }


def apply_rejected_plan(request: RequestState, run: PlanRun, event: ev.PlanRejected) -> RequestState:
    """Record a rejected plan: the planner may try once more, or the run fails."""
    if run.within and run.plan is not None:
        return request
    request = request.with_pack_decision(event.at, run.within, event.pack)
    return _record_rejection(request, run, event.faults, event.at)


def _record_rejection(request: RequestState, run: PlanRun, faults: tuple[str, ...], at: float) -> RequestState:
    run = replace(run, rejections=(*run.rejections, faults))
    if len(run.rejections) >= MAX_REJECTED_PLANS:
        failure = Failure(
            "planning",
            "the planner returned no usable plan: " + " ".join(faults[:3]),
            "Say it in other words, or in smaller steps, and mention me again.",
        )
        run = replace(run, failure=failure, concluded_at=at)
    return request.with_run(run)


# ---------------------------------------------------------------- a revision


def apply_revised_plan(request: RequestState, event: ev.PlanRevised) -> RequestState:
    """Apply a revision of a plan if it is still valid; otherwise keep the plan.

    If the trigger was a failure and the planner left the failed subtask unchanged, take the next step of the ladder.
    """
    trigger = next(
        (one for one in request.replan_triggers if (one.within, one.subtask) == (event.within, event.subtask)), None
    )
    if trigger is None or request.run.is_concluded:
        return request
    changeable_ids, is_relevant = (
        replan.list_changeable_ids(request, trigger),
        replan.is_relevant_trigger(request, trigger),
    )
    request = replan.remove_trigger(request, trigger).charge_with_enclosing(event.within, event.usage)
    request = request.with_pack_decision(event.at, _find_trigger_subtask(trigger), event.pack)
    if not is_relevant:
        why = "all that it was about had started or ended by then"
        return request.with_decision(event.at, _find_trigger_subtask(trigger), "plan kept", why)
    run = request.get_run(event.within)
    faults = event.faults
    if event.plan is not None and run.plan is not None:
        faults = _find_revision_faults(request, run, event, run.plan, event.plan, changeable_ids)
    if faults or event.plan is None:
        why = " ".join(faults) or "the planner gave no other"
        request = request.with_decision(event.at, _find_trigger_subtask(trigger), "plan kept", why)
    else:
        request = _apply_revision(request, run, event, event.plan)
    return settle_run(_take_next_recovery_step(request, trigger, event), event.at, event.within)


def _find_trigger_subtask(trigger: ReplanTrigger) -> str:
    return "" if trigger.cause == "correction" else trigger.subtask


def _find_revision_faults(
    request: RequestState,
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
    old_subtasks = {subtask.id: subtask for subtask in old_plan.subtasks}
    changed_ids = {change.subtask for change in event.changes} & set(request.subtasks)
    changed_ids |= {name for name, subtask in old_subtasks.items() if new.get(name) != subtask}
    faults = [f"{name} has started, and would be changed." for name in sorted(changed_ids - changeable_ids)]
    faults += [f"{name} was dropped before." for name in new if name not in old_subtasks and name in request.subtasks]
    faults += [
        f"{subtask.id} would wait for {name}, which is not in the plan."
        for subtask in new_plan.subtasks
        for name in subtask.after
        if name not in new
    ]
    strangers = {subtask.specialist for subtask in new_plan.subtasks} - set(run.members)
    return (*faults, *(f"There is no {name} in the crew." for name in sorted(strangers)))


def _apply_revision(request: RequestState, run: PlanRun, event: ev.PlanRevised, plan: Plan) -> RequestState:
    """Return the request with its new plan, and with a decision in the trace for each change."""
    changes = {change.subtask: change for change in event.changes}
    estimates = {estimate.subtask: estimate for estimate in event.estimates}
    new = {subtask.id: subtask for subtask in plan.subtasks}
    replaced_ids = {name: change.subtask for change in event.changes for name in change.by}
    added_subtasks = {
        name: _make_added_subtask(
            run, subtask, changes.get(name), estimates.get(name), request.subtasks.get(replaced_ids.get(name, ""))
        )
        for name, subtask in new.items()
        if name not in request.subtasks
    }
    subtasks: dict[str, SubtaskState] = {}
    for name, one in request.subtasks.items():
        mine = one.within == run.within and not one.is_dropped
        subtasks[name] = _revise_subtask(run, one, new.get(name), changes.get(name), event) if mine else one
        if name in estimates:
            subtasks[name] = replace(subtasks[name], estimate=estimates[name])
        subtasks.update(
            {
                other: added_subtasks[other]
                for other, replaced_id in replaced_ids.items()
                if replaced_id == name and other in added_subtasks
            }
        )
    subtasks.update({name: one for name, one in added_subtasks.items() if name not in subtasks})
    for change in event.changes:
        request = request.with_decision(event.at, change.subtask, f"plan changed: {change.kind}", change.why)
    return replace(request, subtasks=MappingProxyType(subtasks)).with_run(replace(run, plan=plan))


def _make_added_subtask(
    run: PlanRun,
    subtask: Subtask,
    change: PlanChange | None,
    estimate: Estimate | None,
    replaced_subtask: SubtaskState | None,
) -> SubtaskState:
    """Return the state of an added subtask.

    If it replaces the subtask `replaced_subtask`, it inherits the answers of people.
    """
    return SubtaskState(
        spec=subtask,
        specialist=subtask.specialist,
        within=run.within,
        tier=subtask.tier or run.members[subtask.specialist].tier,
        estimate=estimate,
        change_note=_describe_plan_change(change),
        replaced_id=replaced_subtask.spec.id if replaced_subtask is not None else "",
        answer_notes=replaced_subtask.answer_notes if replaced_subtask is not None else (),
    )


def _revise_subtask(
    run: PlanRun, subtask: SubtaskState, spec: Subtask | None, change: PlanChange | None, event: ev.PlanRevised
) -> SubtaskState:
    """Return the state of an old subtask under the new plan.

    `spec` is its new definition (None: it left the plan). Without a `change` only its dependencies may differ.
    """
    if spec is None or (change is not None and change.kind in {"dropped", "replaced"}):
        has_left_plan = spec is None
        reason = _describe_plan_change(change) if has_left_plan or change is None else change.why
        ended_subtask = replace(
            subtask, spec=spec or subtask.spec, state="skipped", is_dropped=has_left_plan, reason=reason
        )
        return replace(
            ended_subtask,
            ended_at=event.at,
            change_note=_describe_plan_change(change),
            refining_error="",
            failure_cause=None,
            question=None,
        )
    if change is None:
        return subtask if subtask.spec == spec else replace(subtask, spec=spec)
    return replace(
        subtask,
        spec=spec,
        specialist=spec.specialist,
        tier=spec.tier or run.members[spec.specialist].tier,
        rewritten_brief="" if spec.intent != subtask.spec.intent else subtask.rewritten_brief,
        rejected_candidate=None,
        failure_cause=None,
        not_before=0.0,
        change_note=_describe_plan_change(change),
    )


def _describe_plan_change(change: PlanChange | None) -> str:
    return f"{_CHANGE_WORDS[change.kind]}: {change.why}" if change is not None else "no longer in the plan"


def _take_next_recovery_step(request: RequestState, trigger: ReplanTrigger, event: ev.PlanRevised) -> RequestState:
    """Take the next step of the ladder for a failed subtask that the planner left unchanged."""
    subtask = request.subtasks.get(trigger.subtask)
    if trigger.cause != "failure" or subtask is None or subtask.state != "pending" or subtask.failure_cause is None:
        return request
    return ladder.take_recovery_step(
        request, replace(subtask, failure_cause=None), subtask.failure_cause, trigger.words, event.at
    )
