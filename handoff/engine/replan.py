"""Decides when the planner is asked to revise a plan, and which subtasks wait for the revision. Pure.

Three triggers lead to a revision:

- The requester corrects the request. This concerns all plans that are followed.
- A result has a finding whose `where` is `plan`. Grave findings and gaps count as well, if a subtask that has not
  started builds on the result and the plan is no pipeline.
- A subtask fails and reaches the step `replan` of the ladder.

Inside a crew, findings and failures concern the crew's own plan. A finding is also part of the crew's result, so it may
concern the enclosing plan later.
"""

from __future__ import annotations

from handoff.contracts import Result
from handoff.engine.crew_runs import is_crew_working
from handoff.evidence.omissions import GRAVE_SEVERITIES
from handoff.state.job_state import RequestState, SubtaskState, replace
from handoff.state.state_values import ReplanTrigger

MAX_REVISIONS = 2
"""The number of times that the planner may be asked to revise the plans of one request, apart from corrections."""
PLAN_FINDING_WHERE = "plan"
"""The `where` of a finding about the plan."""
MAX_TRIGGER_LENGTH = 600
"""The most characters of a finding, failure or correction that the planner is told."""


def join_plan_findings(result: Result) -> str:
    """Return the findings of a result about the plan, joined and in their own words; empty if there are none."""
    messages = (one.message for one in result.findings if one.where.strip(" .:#`'\"").casefold() == PLAN_FINDING_WHERE)
    return " ".join(" ".join(messages).split())[:MAX_TRIGGER_LENGTH]


def find_replan_reason(request: RequestState, subtask: SubtaskState, result: Result) -> str:
    """Return the findings of a result about the plan, or else its grave findings and gaps; empty if none counts.

    Grave findings and gaps count only outside a pipeline, and if a subtask that has not started builds on the result.
    """
    if plan_findings := join_plan_findings(result):
        return plan_findings
    if request.get_run(subtask.within).is_pipeline or not _has_unstarted_dependents(request, subtask):
        return ""
    grave = [one.message for one in result.findings if one.severity in GRAVE_SEVERITIES]
    return " ".join(" ".join((*grave, *result.gaps)).split())[:MAX_TRIGGER_LENGTH]


def _has_unstarted_dependents(request: RequestState, subtask: SubtaskState) -> bool:
    """Return True if a subtask that has not started builds on this one, directly or through others.

    Subtasks with an `only_for` do not count, since the plan foresees findings for them.
    """
    unstarted_specs = {
        one.spec.id: one.spec for one in list_unstarted_subtasks(request, subtask.within) if one.spec.only_for is None
    }
    reached_ids, new = {subtask.spec.id}, {subtask.spec.id}
    while new:
        new = {name for name, one in unstarted_specs.items() if name not in reached_ids and reached_ids & {*one.after}}
        reached_ids |= new
    return len(reached_ids) > 1


def list_unstarted_subtasks(request: RequestState, within: str) -> tuple[SubtaskState, ...]:
    """Return the subtasks of a plan that have not started, which a revision may change."""
    return tuple(
        subtask for subtask in request.list_subtasks(within) if subtask.state == "pending" and subtask.attempt == 0
    )


def list_changeable_ids(request: RequestState, trigger: ReplanTrigger) -> frozenset[str]:
    """Return the ids of the subtasks that a revision may change: those not started, and the one that failed."""
    unstarted_ids = {subtask.spec.id for subtask in list_unstarted_subtasks(request, trigger.within)}
    failed_subtask = request.subtasks.get(trigger.subtask) if trigger.cause == "failure" else None
    return frozenset(
        unstarted_ids | {failed_subtask.spec.id}
        if failed_subtask is not None and failed_subtask.state == "pending"
        else unstarted_ids
    )


def explain_kept_plan(request: RequestState, within: str) -> str:
    """Return the reason why the planner is not asked about a finding; empty if it is asked."""
    if not may_ask_planner(request):
        return f"the planner is asked {MAX_REVISIONS} times a request at most"
    return "" if list_unstarted_subtasks(request, within) else "everything in it has started"


def may_ask_planner(request: RequestState) -> bool:
    """Return True if `MAX_REVISIONS` allows one more trigger besides those that are still open."""
    return request.revision_count + sum(not _is_correction(one) for one in _list_open_triggers(request)) < MAX_REVISIONS


def add_trigger(request: RequestState, trigger: ReplanTrigger) -> RequestState:
    """Add a trigger to those about which the planner is asked.

    Call it only if `may_ask_planner`, or for a correction.
    """
    return replace(request, replan_triggers=(*_list_open_triggers(request), trigger))


def remove_trigger(request: RequestState, trigger: ReplanTrigger) -> RequestState:
    """Remove a trigger, and those that are no longer relevant; count one revision, unless it is a correction."""
    remaining_triggers = tuple(one for one in _list_open_triggers(request) if one != trigger)
    return replace(
        request,
        replan_triggers=remaining_triggers,
        revision_count=request.revision_count + (not _is_correction(trigger)),
    )


def find_due_trigger(request: RequestState) -> ReplanTrigger | None:
    """Return the trigger about which the planner is to be asked now; None if there is none.

    The planner is asked about one trigger at a time.
    """
    is_limit_reached = request.revision_count >= MAX_REVISIONS
    return next((one for one in _list_open_triggers(request) if _is_correction(one) or not is_limit_reached), None)


def is_awaiting_revision(request: RequestState, subtask: SubtaskState) -> bool:
    """Return True if a subtask has to wait for a revision.

    A subtask that has not started waits for any revision of its plan, and a failed one if its failure is the trigger.
    """
    if not request.replan_triggers:
        return False
    due_triggers = [
        one for one in _list_open_triggers(request) if _is_correction(one) or request.revision_count < MAX_REVISIONS
    ]
    if subtask.attempt == 0:
        return any(subtask.within == one.within for one in due_triggers)
    return any(subtask.spec.id == one.subtask and one.cause == "failure" for one in due_triggers)


def _is_correction(trigger: ReplanTrigger) -> bool:
    """Return True for a correction, which does not count towards `MAX_REVISIONS`."""
    return trigger.cause == "correction"


def list_active_plan_ids(request: RequestState) -> tuple[str, ...]:
    """Return the plans that are followed now: "" for the request's own, and for each crew's the id of its subtask."""
    inner = (
        subtask.spec.id
        for subtask in request.list_all_subtasks("")
        if subtask.run is not None and subtask.run.plan is not None
    )
    return ("", *(name for name in inner if _is_active_plan(request, name)))


def _list_open_triggers(request: RequestState) -> tuple[ReplanTrigger, ...]:
    return tuple(one for one in request.replan_triggers if is_relevant_trigger(request, one))


def is_relevant_trigger(request: RequestState, trigger: ReplanTrigger) -> bool:
    """Return True if the planner still has to be asked about a trigger.

    A correction or finding is no longer relevant once all subtasks of its plan have started, and a failure once its
    subtask has ended. No trigger is relevant if its plan is not followed any more.
    """
    if trigger.cause == "correction":
        return _is_active_plan(request, trigger.within) and bool(list_unstarted_subtasks(request, trigger.within))
    subtask = request.subtasks.get(trigger.subtask)
    if subtask is None or not _is_active_plan(request, trigger.within):
        return False
    return (
        bool(list_unstarted_subtasks(request, trigger.within))
        if trigger.cause == "finding"
        else subtask.state == "pending"
    )


def _is_active_plan(request: RequestState, within: str) -> bool:
    """Return True if the plan of the subtask `within` and all enclosing plans are followed now."""
    subtask = request.subtasks.get(within)
    return not within or (subtask is not None and is_crew_working(subtask) and _is_active_plan(request, subtask.within))
