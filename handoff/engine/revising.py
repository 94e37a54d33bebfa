"""What a second look at a plan changes in its request: values in, values out, for `handoff.engine.transitions`.

What is done or under way is never touched: an event that would is refused as a whole, and the plan stays as it was.
"""

from __future__ import annotations

from types import MappingProxyType

from handoff import events as ev
from handoff.contracts import Estimate, Plan, PlanChange, Subtask
from handoff.engine import ladder, replan
from handoff.engine.nested import below, put_back
from handoff.engine.subtask import charged_around, decided, packed, settle
from handoff.state import Ask, Upset, Work, replace

_WORDS = {
    "added": "new",
    "dropped": "no longer needed",
    "reassigned": "given to another",
    "rebriefed": "new brief",
    "replaced": "replaced",
}


def revised(ask: Ask, event: ev.PlanRevised) -> Ask:
    """The plan as it is from now on. Where the rung of a failure led here and brought it nothing, the next follows."""
    upset = next((one for one in ask.revising if (one.within, one.subtask) == (event.within, event.subtask)), None)
    if upset is None or ask.failure is not None or ask.answer is not None:
        return ask
    free, matters = replan.touchable(ask, upset), replan.matters(ask, upset)
    ask = replan.without(replace(ask, usage=ask.usage + event.usage), upset)
    ask = packed(charged_around(ask, event.within, event.usage), event.at, event.subtask, event.pack)
    if not matters:
        return decided(ask, event.at, event.subtask, "plan kept", "all that it was about had started or ended by then")
    view = below(ask, event.within)
    plan, old = event.plan, view.plan
    faults = event.faults if plan is None or old is None else _refused(view, event, old, plan, free)
    if faults or plan is None:
        view = decided(view, event.at, event.subtask, "plan kept", " ".join(faults) or "the planner gave no other")
    else:
        view = _changed(view, event, plan)
    ask = _next_rung(put_back(ask, view), upset, event)
    return settle(ask, event.at, event.within)


def _refused(ask: Ask, event: ev.PlanRevised, old: Plan, plan: Plan, free: frozenset[str]) -> tuple[str, ...]:
    """Why a plan cannot stand in the place of the present one: it changes what has started since it was asked for."""
    new = {subtask.id: subtask for subtask in plan.subtasks}
    known = {subtask.id: subtask for subtask in old.subtasks}
    changed = {change.subtask for change in event.changes} & set(ask.work)
    changed |= {name for name, subtask in known.items() if new.get(name) != subtask}
    faults = [f"{name} has started, and would be changed." for name in sorted(changed - free)]
    faults += [f"{name} was dropped before." for name in new if name not in known and name in ask.work]
    faults += [
        f"{subtask.id} would wait for {name}, which is not in the plan."
        for subtask in plan.subtasks
        for name in subtask.after
        if name not in new
    ]
    strangers = {subtask.specialist for subtask in plan.subtasks} - set(ask.members)
    return (*faults, *(f"There is no {name} in the crew." for name in sorted(strangers)))


def _changed(ask: Ask, event: ev.PlanRevised, plan: Plan) -> Ask:
    """The request under its new plan, with each change and its reason among the decisions."""
    changes = {change.subtask: change for change in event.changes}
    estimates = {estimate.subtask: estimate for estimate in event.estimates}
    new = {subtask.id: subtask for subtask in plan.subtasks}
    instead = {name: change.subtask for change in event.changes for name in change.by}
    fresh = {
        name: _added(ask, subtask, changes.get(name), estimates.get(name), ask.work.get(instead.get(name, "")))
        for name, subtask in new.items()
        if name not in ask.work
    }
    work: dict[str, Work] = {}
    for name, one in ask.work.items():
        mine = one.within == ask.within and not one.dropped
        work[name] = _renewed(ask, one, new.get(name), changes.get(name), event) if mine else one
        if name in estimates:
            work[name] = replace(work[name], estimate=estimates[name])
        work.update({other: fresh[other] for other, replaced in instead.items() if replaced == name and other in fresh})
    work.update({name: one for name, one in fresh.items() if name not in work})
    for change in event.changes:
        ask = decided(ask, event.at, change.subtask, f"plan changed: {change.kind}", change.why)
    return replace(ask, plan=plan, work=MappingProxyType(work))


def _added(
    ask: Ask, subtask: Subtask, change: PlanChange | None, estimate: Estimate | None, before: Work | None
) -> Work:
    """A new part. What stands in for another knows what people told that one."""
    return Work(
        subtask=subtask,
        specialist=subtask.specialist,
        within=ask.within,
        tier=subtask.tier or ask.members[subtask.specialist].tier,
        estimate=estimate,
        changed=_words(change),
        instead_of=before.subtask.id if before is not None else "",
        answers=before.answers if before is not None else (),
    )


def _renewed(ask: Ask, work: Work, subtask: Subtask | None, change: PlanChange | None, event: ev.PlanRevised) -> Work:
    """A part of the old plan under the new one. Without a change of its own, it may have others to wait for."""
    if subtask is None or (change is not None and change.kind in {"dropped", "replaced"}):
        gone = subtask is None
        reason = _words(change) if gone or change is None else change.why
        over = replace(work, subtask=subtask or work.subtask, state="skipped", dropped=gone, reason=reason)
        return replace(over, ended=event.at, changed=_words(change), refining="", trouble=None, question=None)
    if change is None:
        return work if work.subtask == subtask else replace(work, subtask=subtask)
    return replace(
        work,
        subtask=subtask,
        specialist=subtask.specialist,
        tier=subtask.tier or ask.members[subtask.specialist].tier,
        brief="" if subtask.intent != work.subtask.intent else work.brief,
        wanting=None,
        trouble=None,
        not_before=0.0,
        changed=_words(change),
    )


def _words(change: PlanChange | None) -> str:
    return f"{_WORDS[change.kind]}: {change.why}" if change is not None else "no longer in the plan"


def _next_rung(ask: Ask, upset: Upset, event: ev.PlanRevised) -> Ask:
    """What failed and was left as it is goes on up its ladder."""
    work = ask.work.get(upset.subtask)
    if upset.cause != "failure" or work is None or work.state != "pending" or work.trouble is None:
        return ask
    return ladder.step(ask, replace(work, trouble=None), work.trouble, upset.words, event.at)
