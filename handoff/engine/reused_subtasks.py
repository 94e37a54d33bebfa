"""Makes the subtasks of a second try from those of the earlier try: reused, continued, or restarted."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from handoff import events as ev
from handoff.contracts import Estimate, Member, Tier, Usage
from handoff.engine.approvals import list_deciders
from handoff.engine.nested import has_left_plan, is_crew_working
from handoff.state.job_state import SETTLED_STATES, PlanRun, RequestState, SubtaskState, replace
from handoff.state.state_values import Checkpoint, EarlierWrite, Ruling


def reuse_subtasks(ask: RequestState, event: ev.PlanProposed) -> dict[str, SubtaskState] | None:
    """Return the subtasks of a second try that reuses the earlier plan, by id; None if the plan is a new one."""
    before = ask.before
    if before is None or event.kept is None:
        return None
    members = {member.name: member for member in event.members}
    estimates = {one.subtask: one for one in event.estimates}
    taking = _SubtaskReuse(ask, before, frozenset(event.kept), members, estimates, event.at)
    return taking.reuse_run("")


def resume_stopped_run(ask: RequestState, run: PlanRun, event: ev.PlanProposed) -> tuple[RequestState, PlanRun]:
    """Return the request and its run, continued from the stopped try if the second try has the mode `continue`.

    For any other mode, return both unchanged.
    """
    before = ask.before
    if before is None or ask.again is None or ask.again.mode != "continue" or event.kept is None:
        return ask, run
    members = {**before.run.members, **{member.name: member for member in event.members}}
    run = replace(before.run, state="submitted", failure=None, answer=None, written=None, waits_since=None)
    run = replace(run, plan=event.plan, members=members, terms=event.terms, since=event.at, paused=0.0)
    return replace(ask, replans=before.replans, revisions=before.revisions), run


class _SubtaskReuse:
    """Makes the subtasks of the second try `ask` from those of the earlier try `earlier`.

    `kept_ids` are the ids of the subtasks to reuse, `members` the crew as it is now, and `at` the time of the new plan.
    """

    def __init__(
        self,
        ask: RequestState,
        earlier: RequestState,
        kept_ids: frozenset[str],
        members: Mapping[str, Member],
        estimates: Mapping[str, Estimate],
        at: float,
    ) -> None:
        self._ask, self._before, self._kept, self._at = ask, earlier, kept_ids, at
        self._members, self._estimates = members, estimates
        self._left = earlier.run.written or at
        attached = {one.file_id for one in ask.request.attachments}
        self._new = tuple(one.name for one in ask.materials if one.file_id in attached)

    def reuse_run(self, within: str) -> dict[str, SubtaskState]:
        """Return the subtasks of a run by id, with those of its inner runs that are reused."""
        found: dict[str, SubtaskState] = {}
        for work in self._before.list_subtasks(within):
            name = work.subtask.id
            if has_left_plan(self._before, work):
                continue
            if name not in self._kept:
                found[name] = self._restart_subtask(work)
            elif self._is_kept_whole(work):
                found |= {
                    each.subtask.id: self._keep_or_continue_subtask(each) for each in self._list_with_nested(work)
                }
            else:
                found[name] = self._reopen_crew_run(work)
                found |= self.reuse_run(name)
        return found

    def _list_with_nested(self, work: SubtaskState) -> tuple[SubtaskState, ...]:
        return (work, *(self._before.list_all_subtasks(work.subtask.id) if work.run is not None else ()))

    def _is_kept_whole(self, work: SubtaskState) -> bool:
        return all(each.subtask.id in self._kept or each.dropped for each in self._list_with_nested(work))

    def _keep_or_continue_subtask(self, work: SubtaskState) -> SubtaskState:
        """Return a subtask that has ended as it is, or one that was stopped as it continues."""
        if work.state in SETTLED_STATES:
            return replace(work, kept=True)
        return drop_others_approvals(resume_subtask(work, self._left, self._at), self._ask.request.user)

    def _restart_subtask(self, work: SubtaskState) -> SubtaskState:
        """Return a subtask that starts anew, with people's answers, new attachments, and writes not to be repeated."""
        made, subtask = {one.digest for one in self._ask.done}, work.subtask
        if self._new and subtask.needs is not None:
            needs = tuple(dict.fromkeys((*subtask.needs, *self._new)))
            subtask = subtask.model_copy(update={"needs": needs})
        return SubtaskState(
            subtask=subtask,
            specialist=work.subtask.specialist,
            within=work.within,
            tier=work.subtask.tier or self._find_tier(work),
            estimate=self._estimates.get(work.subtask.id, work.estimate),
            answers=work.answers,
            writes=tuple(one for one in _list_subtask_writes(self._before, work) if one.digest in made),
        )

    def _find_tier(self, work: SubtaskState) -> Tier | None:
        """Return the tier of the plan's specialist, according to the crew as it is now."""
        known = self._before.find_enclosing_run(work).members
        member = (known if work.within else {**known, **self._members}).get(work.subtask.specialist)
        return member.tier if member is not None else work.tier

    def _reopen_crew_run(self, work: SubtaskState) -> SubtaskState:
        """Return a crew's subtask with its plan, some subtasks of which start anew."""
        before = work.run
        if before is None:
            return self._restart_subtask(work)
        run = PlanRun(
            within=before.within,
            state="working",
            plan=before.plan,
            fixed=before.fixed,
            members=before.members,
            terms=before.terms,
            since=self._at,
        )
        return SubtaskState(
            subtask=work.subtask,
            specialist=work.specialist,
            within=work.within,
            run=run,
            tier=work.tier,
            state="in_progress",
            attempt=max(1, work.attempt),
            started=self._at,
            attempt_started=self._at,
            writes=work.writes,
            answers=work.answers,
            estimate=work.estimate,
            brief=work.brief,
            private=work.private,
            sources=work.sources,
        )


def resume_subtask(work: SubtaskState, stopped_at: float, at: float) -> SubtaskState:
    """Return a subtask that was stopped at the time `stopped_at` and continues at `at` from its last checkpoint.

    Its usage so far stays with the earlier try. An open question is asked again, since the second try has not posted
    it.
    """
    points = tuple(_clear_usage(point) for point in work.checkpoints)
    now = replace(work, checkpoints=points, resumed=at, usage=Usage())
    if (question := work.question) is not None:
        waited = max(0.0, at - question.asked)
        again = dataclasses.replace(question, asked=at, votes=(), reminders=())
        now = replace(now, question=again, attempt_started=work.attempt_started + waited)
    if (run := work.run) is not None and is_crew_working(work):
        away = max(0.0, at - (stopped_at if run.waits_since is None else run.waits_since))
        run = replace(run, paused=run.paused + away, waits_since=None, state="working")
        now = replace(now, run=run, state="in_progress")
    return now


def drop_others_approvals(work: SubtaskState, requester: str) -> SubtaskState:
    """Remove approvals for another requester's request of calls that have not begun, so that people are asked again.

    An open approval goes to the people who may decide for the requester of this try.
    """
    begun = {point.call for point in work.checkpoints if isinstance(point, ev.ToolStarted)}
    points = tuple(
        point
        for point in work.checkpoints
        if not (isinstance(point, Ruling) and point.is_approved and point.requester != requester) or point.call in begun
    )
    question = work.question
    if question is not None and question.approval is not None:
        question = dataclasses.replace(question, whom=list_deciders(question.approval.terms, requester))
    return replace(work, checkpoints=points, question=question)


def _clear_usage(point: Checkpoint) -> Checkpoint:
    if not isinstance(point, ev.TurnTaken):
        return point
    return point.model_copy(update={"turn": point.turn.model_copy(update={"usage": Usage()})})


def _list_subtask_writes(ask: RequestState, work: SubtaskState) -> tuple[EarlierWrite, ...]:
    """Return the calls that a subtask and those inside it made or may have made."""
    inside = ask.list_all_subtasks(work.subtask.id) if work.run is not None else ()
    return tuple(dict.fromkeys(one for each in (work, *inside) for one in each.all_writes))
