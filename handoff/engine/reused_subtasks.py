"""Makes the subtasks of a second try from those of the earlier try: reused, continued, or restarted."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from handoff import events as ev
from handoff.contracts import Estimate, Member, Tier, Usage
from handoff.engine.approvals import list_deciders
from handoff.engine.crew_runs import has_left_plan, is_crew_working
from handoff.state.job_state import SETTLED_STATES, PlanRun, RequestState, SubtaskState, replace
from handoff.state.state_values import Checkpoint, EarlierWrite, Ruling


def reuse_subtasks(request: RequestState, event: ev.PlanProposed) -> dict[str, SubtaskState] | None:
    """Return the subtasks of a second try that reuses the earlier plan, by id; None if the plan is a new one."""
    before = request.earlier_try
    if before is None or event.kept is None:
        return None
    members = {member.name: member for member in event.members}
    estimates = {one.subtask: one for one in event.estimates}
    reuse = _SubtaskReuse(request, before, frozenset(event.kept), members, estimates, event.at)
    return reuse.reuse_run("")


def resume_stopped_run(request: RequestState, run: PlanRun, event: ev.PlanProposed) -> tuple[RequestState, PlanRun]:
    """Return the request and its run, continued from the stopped try if the second try has the mode `continue`.

    For any other mode, return both unchanged.
    """
    before = request.earlier_try
    if before is None or request.retry_ref is None or request.retry_ref.mode != "continue" or event.kept is None:
        return request, run
    members = {**before.run.members, **{member.name: member for member in event.members}}
    run = replace(before.run, state="submitted", failure=None, answer=None, concluded_at=None, waits_since=None)
    run = replace(run, plan=event.plan, members=members, terms=event.terms, clock_started=event.at, paused_seconds=0.0)
    return replace(request, replan_triggers=before.replan_triggers, revision_count=before.revision_count), run


class _SubtaskReuse:
    """Makes the subtasks of the second try `request` from those of the earlier try `earlier`.

    `kept_ids` are the ids of the subtasks to reuse, `members` the crew as it is now, and `at` the time of the new plan.
    """

    def __init__(
        self,
        request: RequestState,
        earlier: RequestState,
        kept_ids: frozenset[str],
        members: Mapping[str, Member],
        estimates: Mapping[str, Estimate],
        at: float,
    ) -> None:
        self._request, self._earlier_try, self._kept_ids, self._at = request, earlier, kept_ids, at
        self._members, self._estimates = members, estimates
        self._stopped_at = earlier.run.concluded_at or at
        attached_ids = {one.file_id for one in request.spec.attachments}
        self._new_material_names = tuple(one.name for one in request.materials if one.file_id in attached_ids)

    def reuse_run(self, within: str) -> dict[str, SubtaskState]:
        """Return the subtasks of a run by id, with those of its inner runs that are reused."""
        subtasks_by_id: dict[str, SubtaskState] = {}
        for subtask in self._earlier_try.list_subtasks(within):
            name = subtask.spec.id
            if has_left_plan(self._earlier_try, subtask):
                continue
            if name not in self._kept_ids:
                subtasks_by_id[name] = self._restart_subtask(subtask)
            elif self._is_kept_whole(subtask):
                subtasks_by_id |= {
                    each.spec.id: self._keep_or_continue_subtask(each) for each in self._list_with_nested(subtask)
                }
            else:
                subtasks_by_id[name] = self._reopen_crew_run(subtask)
                subtasks_by_id |= self.reuse_run(name)
        return subtasks_by_id

    def _list_with_nested(self, subtask: SubtaskState) -> tuple[SubtaskState, ...]:
        return (subtask, *(self._earlier_try.list_all_subtasks(subtask.spec.id) if subtask.run is not None else ()))

    def _is_kept_whole(self, subtask: SubtaskState) -> bool:
        return all(each.spec.id in self._kept_ids or each.is_dropped for each in self._list_with_nested(subtask))

    def _keep_or_continue_subtask(self, subtask: SubtaskState) -> SubtaskState:
        """Return an ended subtask marked as kept, or a stopped one resumed from its last checkpoint."""
        if subtask.state in SETTLED_STATES:
            return replace(subtask, is_reused=True)
        return drop_others_approvals(resume_subtask(subtask, self._stopped_at, self._at), self._request.spec.user)

    def _restart_subtask(self, subtask: SubtaskState) -> SubtaskState:
        """Return a subtask that starts anew, with people's answers, new attachments and the writes not to repeat."""
        written_digests, spec = {one.digest for one in self._request.kept_writes}, subtask.spec
        if self._new_material_names and spec.needs is not None:
            needs = tuple(dict.fromkeys((*spec.needs, *self._new_material_names)))
            spec = spec.model_copy(update={"needs": needs})
        return SubtaskState(
            spec=spec,
            specialist=subtask.spec.specialist,
            within=subtask.within,
            tier=subtask.spec.tier or self._find_tier(subtask),
            estimate=self._estimates.get(subtask.spec.id, subtask.estimate),
            answer_notes=subtask.answer_notes,
            earlier_writes=tuple(
                one for one in _list_subtask_writes(self._earlier_try, subtask) if one.digest in written_digests
            ),
        )

    def _find_tier(self, subtask: SubtaskState) -> Tier | None:
        """Return the tier of the plan's specialist in the present crew; for an inner subtask, in the earlier run."""
        earlier_members = self._earlier_try.find_enclosing_run(subtask).members
        member = (earlier_members if subtask.within else {**earlier_members, **self._members}).get(
            subtask.spec.specialist
        )
        return member.tier if member is not None else subtask.tier

    def _reopen_crew_run(self, subtask: SubtaskState) -> SubtaskState:
        """Return a crew's subtask in progress on its earlier plan, since only some of its subtasks start anew."""
        before = subtask.run
        if before is None:
            return self._restart_subtask(subtask)
        run = PlanRun(
            within=before.within,
            state="working",
            plan=before.plan,
            is_pipeline=before.is_pipeline,
            members=before.members,
            terms=before.terms,
            clock_started=self._at,
        )
        return SubtaskState(
            spec=subtask.spec,
            specialist=subtask.specialist,
            within=subtask.within,
            run=run,
            tier=subtask.tier,
            state="in_progress",
            attempt=max(1, subtask.attempt),
            started_at=self._at,
            attempt_started=self._at,
            earlier_writes=subtask.earlier_writes,
            answer_notes=subtask.answer_notes,
            estimate=subtask.estimate,
            rewritten_brief=subtask.rewritten_brief,
            had_private_content=subtask.had_private_content,
            earlier_private_sources=subtask.earlier_private_sources,
        )


def resume_subtask(subtask: SubtaskState, stopped_at: float, at: float) -> SubtaskState:
    """Return a subtask that was stopped at the time `stopped_at` and continues at `at` from its last checkpoint.

    Its usage so far stays with the earlier try. An open question is asked again, since the second try has not posted
    it.
    """
    points = tuple(_clear_usage(point) for point in subtask.checkpoints)
    resumed_subtask = replace(subtask, checkpoints=points, resumed_at=at, usage=Usage())
    if (question := subtask.question) is not None:
        waited_seconds = max(0.0, at - question.asked_at)
        reopened_question = dataclasses.replace(question, asked_at=at, votes=(), reminders=())
        resumed_subtask = replace(
            resumed_subtask, question=reopened_question, attempt_started=subtask.attempt_started + waited_seconds
        )
    if (run := subtask.run) is not None and is_crew_working(subtask):
        paused_seconds = max(0.0, at - (stopped_at if run.waits_since is None else run.waits_since))
        run = replace(run, paused_seconds=run.paused_seconds + paused_seconds, waits_since=None, state="working")
        resumed_subtask = replace(resumed_subtask, run=run, state="in_progress")
    return resumed_subtask


def drop_others_approvals(subtask: SubtaskState, requester: str) -> SubtaskState:
    """Remove the approvals that another requester got for calls that have not begun, so that people are asked again.

    An open approval goes to the people who may decide for the requester of this try.
    """
    begun_calls = {point.call for point in subtask.checkpoints if isinstance(point, ev.ToolStarted)}
    points = tuple(
        point
        for point in subtask.checkpoints
        if not (isinstance(point, Ruling) and point.is_approved and point.requester != requester)
        or point.call in begun_calls
    )
    question = subtask.question
    if question is not None and question.approval is not None:
        question = dataclasses.replace(question, whom=list_deciders(question.approval.terms, requester))
    return replace(subtask, checkpoints=points, question=question)


def _clear_usage(point: Checkpoint) -> Checkpoint:
    if not isinstance(point, ev.TurnTaken):
        return point
    return point.model_copy(update={"turn": point.turn.model_copy(update={"usage": Usage()})})


def _list_subtask_writes(request: RequestState, subtask: SubtaskState) -> tuple[EarlierWrite, ...]:
    """Return the calls that a subtask and those inside it made or may have made."""
    inside = request.list_all_subtasks(subtask.spec.id) if subtask.run is not None else ()
    return tuple(dict.fromkeys(one for each in (subtask, *inside) for one in each.all_writes))
