"""Decides when the planner is asked to revise a plan, and which subtasks wait for the revision. Pure.

Three triggers lead to a revision:

- The requester corrects the request. This concerns all plans that are followed.
- A result has news: a finding whose `where` is `plan`, or a grave finding or a gap in a result that a subtask which has
  not started builds on. A crew's pipeline is revised only for a finding whose `where` is `plan`.
- A subtask fails and reaches the step `replan` of the ladder.

Inside a crew, findings and failures concern the crew's own plan. A finding is also part of the crew's result, so it may
concern the enclosing plan later.
"""

from __future__ import annotations

from handoff.contracts import Result
from handoff.engine.nested import is_crew_working
from handoff.evidence.omissions import GRAVE_SEVERITIES
from handoff.state.job_state import RequestState, SubtaskState, replace
from handoff.state.state_values import ReplanTrigger

MAX_REVISIONS = 2
"""The number of times that the planner may be asked to revise the plans of one request, apart from corrections."""
PLAN_PLACE = "plan"
"""The `where` of a finding about the plan."""
MAX_TRIGGER_LENGTH = 600
"""The most characters of a finding, failure or correction that the planner is told."""


def describe_plan_conflict(result: Result) -> str:
    """Return the findings of a result about the plan, joined and in their own words; empty if there are none."""
    said = (one.message for one in result.findings if one.where.strip(" .:#`'\"").casefold() == PLAN_PLACE)
    return " ".join(" ".join(said).split())[:MAX_TRIGGER_LENGTH]


def find_plan_news(ask: RequestState, work: SubtaskState, result: Result) -> str:
    """Return the news of a result that the planner could not foresee, in its own words; empty if there is none."""
    if said := describe_plan_conflict(result):
        return said
    if ask.get_run(work.within).fixed or not _has_unstarted_dependents(ask, work):
        return ""
    grave = [one.message for one in result.findings if one.severity in GRAVE_SEVERITIES]
    return " ".join(" ".join((*grave, *result.gaps)).split())[:MAX_TRIGGER_LENGTH]


def _has_unstarted_dependents(ask: RequestState, work: SubtaskState) -> bool:
    """Return True if a subtask that has not started builds on this one, directly or through others.

    Subtasks with an `only_for` do not count, since the plan foresees findings for them.
    """
    free = {
        one.subtask.id: one.subtask for one in list_unstarted_subtasks(ask, work.within) if one.subtask.only_for is None
    }
    reached, new = {work.subtask.id}, {work.subtask.id}
    while new:
        new = {name for name, one in free.items() if name not in reached and reached & {*one.after}}
        reached |= new
    return len(reached) > 1


def list_unstarted_subtasks(ask: RequestState, within: str) -> tuple[SubtaskState, ...]:
    """Return the subtasks of a plan that have not started, which a revision may change."""
    return tuple(work for work in ask.list_subtasks(within) if work.state == "pending" and work.attempt == 0)


def list_changeable_ids(ask: RequestState, trigger: ReplanTrigger) -> frozenset[str]:
    """Return the ids of the subtasks that a revision may change: those not started, and the one that failed."""
    free = {work.subtask.id for work in list_unstarted_subtasks(ask, trigger.within)}
    failed = ask.work.get(trigger.subtask) if trigger.cause == "failure" else None
    return frozenset(free | {failed.subtask.id} if failed is not None and failed.state == "pending" else free)


def explain_kept_plan(ask: RequestState, within: str) -> str:
    """Return the reason why the planner is not asked about a finding; empty if it is asked."""
    if not may_ask_planner(ask):
        return f"the planner is asked {MAX_REVISIONS} times a request at most"
    return "" if list_unstarted_subtasks(ask, within) else "everything in it has started"


def may_ask_planner(ask: RequestState) -> bool:
    """Return True if the planner may be asked once more, after all triggers that are still open."""
    return ask.revisions + sum(not _is_uncounted(one) for one in _list_open_triggers(ask)) < MAX_REVISIONS


def add_trigger(ask: RequestState, trigger: ReplanTrigger) -> RequestState:
    """Add a trigger to those about which the planner is asked.

    Call it only if `may_ask_planner`, or for a correction.
    """
    return replace(ask, replans=(*_list_open_triggers(ask), trigger))


def remove_trigger(ask: RequestState, trigger: ReplanTrigger) -> RequestState:
    """Remove a trigger, and those that are no longer relevant; count one revision, unless it is a correction."""
    left = tuple(one for one in _list_open_triggers(ask) if one != trigger)
    return replace(ask, replans=left, revisions=ask.revisions + (not _is_uncounted(trigger)))


def find_due_trigger(ask: RequestState) -> ReplanTrigger | None:
    """Return the trigger about which the planner is to be asked now; None if there is none.

    The planner is asked about one trigger at a time.
    """
    spent = ask.revisions >= MAX_REVISIONS
    return next((one for one in _list_open_triggers(ask) if _is_uncounted(one) or not spent), None)


def is_awaiting_revision(ask: RequestState, work: SubtaskState) -> bool:
    """Return True if a subtask has to wait for a revision.

    A subtask that has not started waits for any revision of its plan, and a failed one if its failure is the trigger.
    """
    if not ask.replans:
        return False
    asked = [one for one in _list_open_triggers(ask) if _is_uncounted(one) or ask.revisions < MAX_REVISIONS]
    if work.attempt == 0:
        return any(work.within == one.within for one in asked)
    return any(work.subtask.id == one.subtask and one.cause == "failure" for one in asked)


def _is_uncounted(trigger: ReplanTrigger) -> bool:
    """Return True for a correction, which does not count towards `MAX_REVISIONS`."""
    return trigger.cause == "correction"


def list_followed_plans(ask: RequestState) -> tuple[str, ...]:
    """Return the plans that are followed now: "" for the request's own, and for each crew's the id of its subtask."""
    inner = (
        work.subtask.id for work in ask.list_all_subtasks("") if work.run is not None and work.run.plan is not None
    )
    return ("", *(name for name in inner if _is_followed_plan(ask, name)))


def _list_open_triggers(ask: RequestState) -> tuple[ReplanTrigger, ...]:
    return tuple(one for one in ask.replans if is_relevant_trigger(ask, one))


def is_relevant_trigger(ask: RequestState, trigger: ReplanTrigger) -> bool:
    """Return True if the planner still has to be asked about a trigger.

    It is not if everything has started, if a deadline ended the failed subtask, or if the crew no longer follows that
    plan, since the crew's next attempt makes a new one.
    """
    if trigger.cause == "correction":
        return _is_followed_plan(ask, trigger.within) and bool(list_unstarted_subtasks(ask, trigger.within))
    work = ask.work.get(trigger.subtask)
    if work is None or not _is_followed_plan(ask, trigger.within):
        return False
    return bool(list_unstarted_subtasks(ask, trigger.within)) if trigger.cause == "finding" else work.state == "pending"


def _is_followed_plan(ask: RequestState, within: str) -> bool:
    """Return True if the plan of the subtask `within` and all enclosing plans are followed now."""
    work = ask.work.get(within)
    return not within or (work is not None and is_crew_working(work) and _is_followed_plan(ask, work.within))
