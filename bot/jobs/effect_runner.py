"""Runs the engine's effects.

The table `EFFECT_HANDLERS` has the handler of each effect and its fallback event after a bug. An effect without an
entry that names a role of the supervisor is a step towards the answer: that role performs it, and a bug in it ends the
run. No bug leads to endless retries.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from bot.jobs import effect_handlers as handlers
from bot.jobs.effect_handlers import NO_THREAD_OPENERS, EffectInputs, EffectServices, FindApprovers, FindTerms
from bot.jobs.job_runner import JobRunner
from bot.jobs.lease import Fenced
from bot.limits.call_limits import CallLimits
from bot.limits.limit_rules import make_payer
from bot.models.chosen_model import ChosenModel
from bot.slack.send.web_calls import JobGone
from bot.slack.show.people import FindActor, refuse_any_actor
from bot.slack.show.thread_view import ThreadView
from bot.store.redis.redis_store import Store
from bot.store.values import Claim, StoreError
from bot.supervisor.crew_planner import CrewPlanner
from bot.supervisor.instance_board import InstanceBoard
from bot.supervisor.track_record import TrackRecord
from handoff import effects as ef
from handoff import events as ev
from handoff.access.audit_entry import AuditRecorder, discard_entry
from handoff.contracts import Terms
from handoff.state.job_state import Job, RequestState
from handoff.summaries.summary import QuarantineNotice, TrialNotice
from specialists.crew import Crew
from specialists.crew_set import CrewSet

log = logging.getLogger(__name__)

# ---------------------------------------------------------------- the event that follows a bug in an effect

RunEffect = ef.MakePlan | ef.AnswerEffect
"""The effects of a plan run: of a request, or of a crew at the subtask `within`."""


@dataclass(frozen=True, slots=True)
class EffectBug:
    """An unexpected exception, in words for people. `request` is as committed when it was caught."""

    reason: str
    at: float
    request: RequestState


def make_bug(error: Exception, *, at: float, request: RequestState) -> EffectBug:
    """Describe an exception without its text, which may quote contents."""
    return EffectBug(f"an internal error ({type(error).__name__}); whoever runs me finds it in the log", at, request)


def make_nothing_gathered(effect: ef.GatherMaterial, bug: EffectBug) -> ev.Event:
    """Return the event that nothing was gathered; its fault names the attached files as missing."""
    faults = (f"The attached files: {bug.reason}",)
    return ev.MaterialGathered(at=bug.at, request=effect.request, faults=faults)


def make_copies_left(effect: ef.DropCopies, bug: EffectBug) -> ev.Event:
    """Record that copies could not be dropped. They are deleted together with the job."""
    return ev.CopiesDropped(at=bug.at, count=len(effect.copies), fault=bug.reason)


def make_failure_factory(step: str) -> Callable[[RunEffect, EffectBug], ev.Event]:
    """Return a function that fails the request at `step`, or the attempt at the subtask if an inner crew runs it."""

    def make_failure(effect: RunEffect, bug: EffectBug) -> ev.Event:
        if effect.within:
            return _make_attempt_failure(effect.within, bug)
        return _make_request_failure(effect.request, step, bug)

    return make_failure


def make_crew_failure(effect: ef.ReportCrewOutcome, bug: EffectBug) -> ev.Event:
    """Fail the attempt at the subtask that was given to a crew."""
    return _make_attempt_failure(effect.subtask, bug)


def make_deadline_failure(effect: ef.RecordDeadline, bug: EffectBug) -> ev.Event:
    """Fail the request at the step of writing the answer."""
    return _make_request_failure(effect.request, "writing the answer", bug)


def make_unchanged_plan(effect: ef.RevisePlan, bug: EffectBug) -> ev.Event:
    """Record that the plan stays as it was."""
    of: dict[str, Any] = {"request": effect.request, "within": effect.within, "subtask": effect.subtask}
    return ev.PlanRevised(at=bug.at, **of, faults=(f"The planner broke ({bug.reason}).",))


def make_tool_failure(effect: ef.RunSubtask, bug: EffectBug) -> ev.Event:
    """Fail the attempt with the kind `tool`."""
    return ev.AttemptFailed(at=bug.at, **_make_attempt_fields(effect), kind="tool", message=bug.reason)


def make_unverified_answer(effect: ef.VerifyAnswer, bug: EffectBug) -> ev.Event:
    """Release the answer as it is, marked as not verified."""
    return ev.AnswerVerified(at=bug.at, request=effect.request, within=effect.within, doubt=bug.reason)


def make_unchanged_brief(effect: ef.RefineBrief, bug: EffectBug) -> ev.Event:
    """Retry the subtask with its brief unchanged."""
    return ev.BriefRefined(at=bug.at, **_make_attempt_fields(effect), fault=bug.reason)


def make_default_aim(effect: ef.ClassifyMessage, bug: EffectBug) -> ev.Event:
    """Give a message its default aim."""
    return ev.MessageSorted(at=bug.at, message=effect.message, aim=effect.default_aim, why=bug.reason)


def make_skipped_receipt(effect: ef.AcknowledgeMessage, bug: EffectBug) -> ev.Event:
    """Record the message as acknowledged, without another try to show the receipt."""
    return ev.MessageAcknowledged(at=bug.at, receipt=effect.receipt)


def make_skipped_reminder(effect: ef.RemindOfQuestion, bug: EffectBug) -> ev.Event:
    """Record the reminder as sent, so that it is not tried again and again."""
    of: dict[str, Any] = {"request": effect.request, "subtask": effect.subtask, "number": effect.number}
    return ev.QuestionReminded(at=bug.at, **of, to=effect.recipients)


def make_expired_question(effect: ef.ExpireQuestion, bug: EffectBug) -> ev.Event:
    """Expire the question anyway."""
    of: dict[str, Any] = {"request": effect.request, "subtask": effect.subtask, "number": effect.number}
    return ev.QuestionExpired(at=bug.at, **of)


def make_thread_not_opened(effect: ef.OpenThread, bug: EffectBug) -> ev.Event:
    """Record that the thread was not opened."""
    return ev.ThreadOpened(at=bug.at, request=effect.request, why=bug.reason)


def make_skipped_post(effect: ef.PostMessage, bug: EffectBug) -> ev.Event:
    """Record the message as posted with a fault, so that the job goes on without it."""
    return ev.Posted(at=bug.at, request=effect.request, key=effect.key, ts="", fault=bug.reason)


def _make_attempt_fields(effect: ef.RunSubtask | ef.RefineBrief) -> dict[str, Any]:
    return {"request": effect.request, "subtask": effect.subtask, "attempt": effect.attempt}


def _make_attempt_failure(subtask: str, bug: EffectBug) -> ev.Event:
    of: dict[str, Any] = {
        "request": bug.request.id,
        "subtask": subtask,
        "attempt": bug.request.subtasks[subtask].attempt,
    }
    return ev.AttemptFailed(at=bug.at, **of, kind="crew", message=bug.reason)


def _make_request_failure(request: str, step: str, bug: EffectBug) -> ev.Event:
    advice = "Mention me again to try once more."
    return ev.RequestFailed(at=bug.at, request=request, step=step, reason=bug.reason, advice=advice)


# ---------------------------------------------------------------- the table

E = TypeVar("E")


@dataclass(frozen=True, slots=True)
class EffectHandler(Generic[E]):
    """The functions for one type of effect: `run`; `make_bug_event` makes the event after an unexpected exception."""

    run: Callable[[E, EffectInputs], Awaitable[ev.Event]]
    make_bug_event: Callable[[E, EffectBug], ev.Event]


EFFECT_HANDLERS: Mapping[type, EffectHandler[Any]] = {
    ef.GatherMaterial: EffectHandler(handlers.gather_material, make_nothing_gathered),
    ef.OpenThread: EffectHandler(handlers.open_thread, make_thread_not_opened),
    ef.DropCopies: EffectHandler(handlers.drop_copies, make_copies_left),
    ef.MakePlan: EffectHandler(handlers.make_plan, make_failure_factory("planning")),
    ef.RevisePlan: EffectHandler(handlers.revise_plan, make_unchanged_plan),
    ef.RunSubtask: EffectHandler(handlers.run_subtask, make_tool_failure),
    ef.VerifyAnswer: EffectHandler(handlers.perform_role, make_unverified_answer),
    ef.RefineBrief: EffectHandler(handlers.perform_role, make_unchanged_brief),
    ef.RecordDeadline: EffectHandler(handlers.record_deadline, make_deadline_failure),
    ef.ReportCrewOutcome: EffectHandler(handlers.make_crew_outcome_event, make_crew_failure),
    ef.RemindOfQuestion: EffectHandler(handlers.record_reminder, make_skipped_reminder),
    ef.ExpireQuestion: EffectHandler(handlers.record_expiry, make_expired_question),
    ef.PostMessage: EffectHandler(handlers.post_message, make_skipped_post),
    ef.ClassifyMessage: EffectHandler(handlers.classify_message, make_default_aim),
    ef.AcknowledgeMessage: EffectHandler(handlers.acknowledge_message, make_skipped_receipt),
}


def find_handler(effect: ef.Effect) -> EffectHandler[Any]:
    """Return the handler of an effect. Raises KeyError if the effect has no entry in the table and names no role."""
    if type(effect) not in EFFECT_HANDLERS and hasattr(effect, "role"):
        return EffectHandler(handlers.perform_role, make_failure_factory("writing the answer"))
    return EFFECT_HANDLERS[type(effect)]


_CREW_EFFECTS = (ef.MakePlan, ef.RevisePlan, ef.RunSubtask, ef.RoleEffect)
"""The effects that need the request's crew."""


def list_load_shared_specialists(crew: Crew) -> tuple[str, ...]:
    """Return the names of specialists in a crew and its inner crews that share work with equals, by load."""
    groups = [*crew.equals, *(rule.to for rule in crew.rules if len(rule.to) > 1)]
    inside = [list_load_shared_specialists(inner) for inner in crew.crews.values()]
    return tuple(dict.fromkeys(name for group in (*groups, *inside) for name in group))


async def is_crew_only_elsewhere(crews: CrewSet, board: InstanceBoard, request: RequestState) -> bool:
    """Return True if this instance lacks the crew of a request and another instance has it."""
    name = request.spec.crew
    return bool(name) and name not in crews.by_name and await board.has_crew_elsewhere(name)


class EffectRunner:
    """Implements `Effects` for all jobs of one workspace that an instance runs."""

    def __init__(  # noqa: PLR0913 - the parts of an instance
        self,
        store: Store,
        thread: ThreadView,
        model: ChosenModel,
        crews: CrewSet,
        limits: CallLimits,
        terms: Terms,
        board: InstanceBoard,
        *,
        record_audit: AuditRecorder = discard_entry,
        find_approvers: FindApprovers = handlers.leave_approvers_to_crew,
        find_actor: FindActor = refuse_any_actor,
        find_terms: FindTerms = handlers.find_no_terms,
        openers: Mapping[str, handlers.ThreadOpener] = NO_THREAD_OPENERS,
    ) -> None:
        def make_services(crew: Crew) -> EffectServices:
            is_breaker_open, equals = limits.breakers.is_open, list_load_shared_specialists(crew)
            record = TrackRecord(is_breaker_open, crew=crew.name, equals=equals, board=board)
            planning = CrewPlanner(crew, model, record, terms)
            return EffectServices(
                store,
                thread,
                crew,
                limits.breakers,
                record,
                planning,
                record_audit,
                find_approvers,
                find_actor,
                find_terms,
                openers,
            )

        self._services = {name: make_services(crew) for name, crew in crews.by_name.items()}
        self._default_crew = crews.usual_crew.name
        self._thread = thread
        self._limits = limits

    async def run(self, effect: ef.Effect, runner: JobRunner) -> ev.Event | None:
        """Run an effect and return its event, or the event of `make_bug_event` after an unexpected exception.

        Raises Fenced if the job is gone or no longer ours, and StoreError.
        """
        effect_handler = find_handler(effect)
        job, request = runner.find_request(effect.request)
        services = self._find_services(request)
        if services is None and isinstance(effect, _CREW_EFFECTS):
            return self._make_missing_crew_failure(request, at=runner.now())
        try:
            model = self._limits.bind(make_payer(job, request))
            services = services or self._services[self._default_crew]
            return await effect_handler.run(effect, EffectInputs(services, runner, job, request, model))
        except JobGone as error:
            raise Fenced from error
        except (Fenced, StoreError):
            raise
        except Exception as error:
            log.exception("job %s: %s broke", runner.claim.key.job, type(effect).__name__)
            _, request = runner.find_request(effect.request)  # as it stands now
            return effect_handler.make_bug_event(effect, make_bug(error, at=runner.now(), request=request))

    def _find_services(self, request: RequestState) -> EffectServices | None:
        """Return the services for the crew of a request; None if this instance has no such crew."""
        return self._services.get(request.spec.crew or self._default_crew)

    def _make_missing_crew_failure(self, request: RequestState, *, at: float) -> ev.RequestFailed:
        """Return the failure of a request whose crew does not exist (any more)."""
        crew_names = ", ".join(self._services)
        reason = f"it is for the crew {request.spec.crew!r}, which is not there (any more)"
        advice = (
            f"Begin with the name of another, such as “{self._default_crew}: ...”, or ask whoever runs me. There is "
            f"{crew_names}."
        )
        return ev.RequestFailed(at=at, request=request.id, step="finding the crew", reason=reason, advice=advice)

    def show_job_change(self, runner: JobRunner, before: Job, after: Job) -> None:
        """Update the card and the session's status. Skipped while the job's thread is still to be opened."""
        if not after.requests[0].spec.opens:
            self._thread.show_job_change(runner.claim.key, before, after, check_allowed=runner.may_show)

    async def stop_showing_job(self, runner: JobRunner) -> bool:
        """Stop drawing the card of a job, and drop its streams. Returns False if Slack did not take the last edits."""
        return await self._thread.stop_showing_job(runner.claim.key, idle=runner.is_idle)

    async def announce_trial(self, claim: Claim, notice: TrialNotice) -> None:
        """Tell the thread that an instance is about to run its job alone. Raises Fenced if the job is gone."""
        try:
            await self._thread.announce_trial(claim, notice)
        except JobGone as error:
            raise Fenced from error

    async def announce_quarantine(self, claim: Claim, notice: QuarantineNotice) -> None:
        """Tell the thread that its job is quarantined. Raises Fenced if the job is gone."""
        try:
            await self._thread.announce_quarantine(claim, notice)
        except JobGone as error:
            raise Fenced from error
