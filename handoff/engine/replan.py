"""What makes a plan doubtful, and what waits while the planner looks at it again. Pure.

A specialist says so in a finding whose `where` is `plan`: explicit, so that nobody is asked after each step, and
nothing is guessed from its words. Or a subtask fails and comes to the rung `replan` of its ladder.
Inside a crew both are first about its own plan. A finding travels up with the crew's result, and then is about the plan
around it, too: what upsets a part may well upset the whole.
"""

from __future__ import annotations

from handoff.contracts import Result
from handoff.engine.nested import is_open
from handoff.state import Ask, ReplanTrigger, Work, replace

MAX_REVISIONS = 2
"""Times that the planner looks at the plans of a request again, whatever came of it."""
WHERE = "plan"
"""The place of a finding that is about the plan."""
LONGEST = 600
"""Characters of what a finding or a failure says that are passed on."""


def said_of_the_plan(result: Result) -> str:
    """What a result says against the plan, in its own words; empty for nothing."""
    said = (one.message for one in result.findings if one.where.strip(" .:#`'\"").casefold() == WHERE)
    return " ".join(" ".join(said).split())[:LONGEST]


def waiting(ask: Ask, within: str) -> tuple[Work, ...]:
    """The subtasks of a plan that have not started: all that a revision may touch, but for a failure's own."""
    return tuple(work for work in ask.inside(within) if work.state == "pending" and work.attempt == 0)


def touchable(ask: Ask, trigger: ReplanTrigger) -> frozenset[str]:
    """The ids of what a revision may change: what has not started, and what failed and is to be planned anew."""
    free = {work.subtask.id for work in waiting(ask, trigger.within)}
    failed = ask.work.get(trigger.subtask) if trigger.cause == "failure" else None
    return frozenset(free | {failed.subtask.id} if failed is not None and failed.state == "pending" else free)


def why_not(ask: Ask, within: str) -> str:
    """Why the planner is not asked because of a finding; empty where it is."""
    if not may_ask(ask):
        return f"the planner is asked {MAX_REVISIONS} times a request at most"
    return "" if waiting(ask, within) else "everything in it has started"


def may_ask(ask: Ask) -> bool:
    """Whether the planner may be asked once more, after all that it is still to be asked about."""
    return ask.revisions + len(_open(ask)) < MAX_REVISIONS


def with_trigger(ask: Ask, trigger: ReplanTrigger) -> Ask:
    """The request with one more thing to ask the planner about. Only where `may_ask`."""
    return replace(ask, replans=(*_open(ask), trigger))


def without(ask: Ask, trigger: ReplanTrigger) -> Ask:
    """The request once the planner was asked about that. What became pointless meanwhile goes as well."""
    left = tuple(one for one in _open(ask) if one != trigger)
    return replace(ask, replans=left, revisions=ask.revisions + 1)


def current_trigger(ask: Ask) -> ReplanTrigger | None:
    """What the planner is to be asked about now: one thing at a time."""
    return next(iter(_open(ask)), None) if ask.revisions < MAX_REVISIONS else None


def holds(ask: Ask, work: Work) -> bool:
    """Whether a subtask has to wait for the planner: it has not started, or is the one that failed."""
    if not ask.replans or ask.revisions >= MAX_REVISIONS:
        return False
    if work.attempt == 0:
        return any(work.within == one.within for one in _open(ask))
    return any(work.subtask.id == one.subtask and one.cause == "failure" for one in _open(ask))


def _open(ask: Ask) -> tuple[ReplanTrigger, ...]:
    return tuple(one for one in ask.replans if matters(ask, one))


def matters(ask: Ask, trigger: ReplanTrigger) -> bool:
    """Whether there is a point in asking: not where a failure was ended by a deadline, or all has started.

    Nor where the crew whose plan it is has let go of it: its next attempt has another plan.
    """
    work = ask.work.get(trigger.subtask)
    if work is None or not _at_it(ask, trigger.within):
        return False
    return bool(waiting(ask, trigger.within)) if trigger.cause == "finding" else work.state == "pending"


def _at_it(ask: Ask, within: str) -> bool:
    """Whether somebody works by that plan, and by those around it."""
    work = ask.work.get(within)
    return not within or (work is not None and is_open(work) and _at_it(ask, work.within))
