"""Runs the engine's effects. The table `HANDLERS` has for each effect its handler and the event that follows a bug.

An effect without an entry that names a role of the supervisor is a step towards the answer: that role performs it, and
a bug in it ends the run. No bug leads to endless retries.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from bot.jobs import effect_handlers as handlers
from bot.jobs.effect_handlers import NO_OPENERS, EffectServices, FindApprovers, FindTerms, HandlerInputs
from bot.jobs.job_runner import JobRunner
from bot.jobs.lease import Fenced
from bot.limits.call_limits import CallLimits
from bot.limits.rules import make_payer
from bot.models.chosen_model import ChosenModel
from bot.slack.send.web_calls import JobGone
from bot.slack.show.people import FindActor, find_no_actor
from bot.slack.show.thread import ThreadView
from bot.store.redis.redis_store import Store
from bot.store.values import Claim, StoreError
from bot.supervisor.instance_board import InstanceBoard
from bot.supervisor.planning import Planning
from bot.supervisor.track_record import TrackRecord
from handoff import effects as ef
from handoff import events as ev
from handoff.access.audit_entry import AuditRecorder, discard_entry
from handoff.contracts import Terms
from handoff.state.job_state import Job, RequestState
from handoff.summaries.summary import QuarantineNotice, TrialNotice
from specialists.crew import Crew
from specialists.several_crews import CrewSet

log = logging.getLogger(__name__)

# ---------------------------------------------------------------- the event that follows a bug in an effect

RunEffect = ef.MakePlan | ef.AnswerEffect
"""The effects of a plan run: of a request, or of a crew at the subtask `within`."""


@dataclass(frozen=True, slots=True)
class Bug:
    """An unexpected exception, in words for people. `ask` is the request as committed when the exception was caught."""

    reason: str
    at: float
    ask: RequestState


def describe_bug(error: Exception, *, at: float, ask: RequestState) -> Bug:
    """Describe an exception without its text, which may quote contents."""
    return Bug(f"an internal error ({type(error).__name__}); whoever runs me finds it in the log", at, ask)


def report_nothing_gathered(effect: ef.GatherMaterial, bug: Bug) -> ev.Event:
    """Go on without the attached files, and name them as missing."""
    faults = (f"The attached files: {bug.reason}",)
    return ev.MaterialGathered(at=bug.at, request=effect.request, faults=faults)


def report_copies_left(effect: ef.DropCopies, bug: Bug) -> ev.Event:
    """Record that copies could not be dropped. They are deleted together with the job."""
    return ev.CopiesDropped(at=bug.at, count=len(effect.copies), fault=bug.reason)


def make_run_failure_handler(step: str) -> Callable[[RunEffect, Bug], ev.Event]:
    """Return a function that fails the request at `step`, or the attempt at the subtask if an inner crew runs it."""

    def make_failure(effect: RunEffect, bug: Bug) -> ev.Event:
        if effect.within:
            return _make_attempt_failure(effect.within, bug)
        return _make_request_failure(effect.request, step, bug)

    return make_failure


def fail_crew_attempt(effect: ef.HandUp, bug: Bug) -> ev.Event:
    """Fail the attempt at the subtask that was given to a crew."""
    return _make_attempt_failure(effect.subtask, bug)


def fail_request(effect: ef.ReachDeadline, bug: Bug) -> ev.Event:
    """Fail the request."""
    return _make_request_failure(effect.request, "writing the answer", bug)


def keep_plan(effect: ef.RevisePlan, bug: Bug) -> ev.Event:
    """Leave the plan as it was, and go on."""
    of: dict[str, Any] = {"request": effect.request, "within": effect.within, "subtask": effect.subtask}
    return ev.PlanRevised(at=bug.at, **of, faults=(f"The planner broke ({bug.reason}).",))


def fail_attempt(effect: ef.RunSubtask, bug: Bug) -> ev.Event:
    """Fail the attempt."""
    return ev.AttemptFailed(at=bug.at, **_make_attempt_fields(effect), kind="tool", message=bug.reason)


def release_unverified_answer(effect: ef.VerifyAnswer, bug: Bug) -> ev.Event:
    """Release the answer as it is, marked as not verified."""
    return ev.AnswerVerified(at=bug.at, request=effect.request, within=effect.within, doubt=bug.reason)


def keep_brief(effect: ef.RefineBrief, bug: Bug) -> ev.Event:
    """Retry the subtask with its brief unchanged."""
    return ev.BriefRefined(at=bug.at, **_make_attempt_fields(effect), fault=bug.reason)


def take_default_aim(effect: ef.SortMessage, bug: Bug) -> ev.Event:
    """Give a message its default aim."""
    return ev.MessageSorted(at=bug.at, message=effect.message, aim=effect.otherwise, why=bug.reason)


def skip_receipt(effect: ef.Acknowledge, bug: Bug) -> ev.Event:
    """Go on without the receipt."""
    return ev.MessageAcknowledged(at=bug.at, receipt=effect.receipt)


def skip_reminder(effect: ef.RemindOfQuestion, bug: Bug) -> ev.Event:
    """Record the reminder as sent: otherwise it would be tried again and again."""
    of: dict[str, Any] = {"request": effect.request, "subtask": effect.subtask, "number": effect.number}
    return ev.QuestionReminded(at=bug.at, **of, to=effect.to)


def expire_question_after_bug(effect: ef.ExpireQuestion, bug: Bug) -> ev.Event:
    """Expire the question anyway."""
    of: dict[str, Any] = {"request": effect.request, "subtask": effect.subtask, "number": effect.number}
    return ev.QuestionExpired(at=bug.at, **of)


def report_thread_not_opened(effect: ef.OpenThread, bug: Bug) -> ev.Event:
    """Record that the thread was not opened."""
    return ev.ThreadOpened(at=bug.at, request=effect.request, why=bug.reason)


def make_skipped_post(effect: ef.Post, bug: Bug) -> ev.Event:
    """Go on without the message."""
    return ev.Posted(at=bug.at, request=effect.request, key=effect.key, ts="", fault=bug.reason)


def _make_attempt_fields(effect: ef.RunSubtask | ef.RefineBrief) -> dict[str, Any]:
    return {"request": effect.request, "subtask": effect.subtask, "attempt": effect.attempt}


def _make_attempt_failure(subtask: str, bug: Bug) -> ev.Event:
    of: dict[str, Any] = {"request": bug.ask.id, "subtask": subtask, "attempt": bug.ask.work[subtask].attempt}
    return ev.AttemptFailed(at=bug.at, **of, kind="crew", message=bug.reason)


def _make_request_failure(request: str, step: str, bug: Bug) -> ev.Event:
    advice = "Mention me again to try once more."
    return ev.RequestFailed(at=bug.at, request=request, step=step, reason=bug.reason, advice=advice)


# ---------------------------------------------------------------- the table

E = TypeVar("E")


@dataclass(frozen=True, slots=True)
class Handler(Generic[E]):
    """The functions for one type of effect: `run` runs it; `on_bug` returns the event after an unexpected exception."""

    run: Callable[[E, HandlerInputs], Awaitable[ev.Event]]
    on_bug: Callable[[E, Bug], ev.Event]


HANDLERS: Mapping[type, Handler[Any]] = {
    ef.GatherMaterial: Handler(handlers.gather_material, report_nothing_gathered),
    ef.OpenThread: Handler(handlers.open_thread, report_thread_not_opened),
    ef.DropCopies: Handler(handlers.drop_copies, report_copies_left),
    ef.MakePlan: Handler(handlers.make_plan, make_run_failure_handler("planning")),
    ef.RevisePlan: Handler(handlers.revise_plan, keep_plan),
    ef.RunSubtask: Handler(handlers.run_subtask, fail_attempt),
    ef.VerifyAnswer: Handler(handlers.perform_role, release_unverified_answer),
    ef.RefineBrief: Handler(handlers.perform_role, keep_brief),
    ef.ReachDeadline: Handler(handlers.record_deadline, fail_request),
    ef.HandUp: Handler(handlers.return_crew_outcome, fail_crew_attempt),
    ef.RemindOfQuestion: Handler(handlers.record_reminder, skip_reminder),
    ef.ExpireQuestion: Handler(handlers.record_expiry, expire_question_after_bug),
    ef.Post: Handler(handlers.post_message, make_skipped_post),
    ef.SortMessage: Handler(handlers.sort_message, take_default_aim),
    ef.Acknowledge: Handler(handlers.acknowledge_message, skip_receipt),
}


def find_handler(effect: ef.Effect) -> Handler[Any]:
    """Return the handler of an effect. Raises KeyError if the effect has no entry in the table and names no role."""
    if type(effect) not in HANDLERS and hasattr(effect, "role"):
        return Handler(handlers.perform_role, make_run_failure_handler("writing the answer"))
    return HANDLERS[type(effect)]


_CREW_EFFECTS = (ef.MakePlan, ef.RevisePlan, ef.RunSubtask, ef.RoleEffect)
"""The effects that need the request's crew."""


def list_equal_specialists(crew: Crew) -> tuple[str, ...]:
    """Return the names of specialists, in a crew and its inner crews, that share work with others by their load."""
    groups = [*crew.equals, *(rule.to for rule in crew.rules if len(rule.to) > 1)]
    inside = [list_equal_specialists(inner) for inner in crew.crews.values()]
    return tuple(dict.fromkeys(name for group in (*groups, *inside) for name in group))


async def is_crew_elsewhere(crews: CrewSet, board: InstanceBoard, ask: RequestState) -> bool:
    """Return True if this instance lacks the crew of a request and another instance has it."""
    name = ask.request.crew
    return bool(name) and name not in crews.by_name and await board.has_crew_elsewhere(name)


class EffectRunner:
    """The `Effects` of the bot of one workspace, for all jobs of it that an instance runs."""

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
        find_actor: FindActor = find_no_actor,
        find_terms: FindTerms = handlers.find_no_terms,
        openers: Mapping[str, handlers.Opener] = NO_OPENERS,
    ) -> None:
        def make_services(crew: Crew) -> EffectServices:
            is_out, equals = limits.breakers.is_open, list_equal_specialists(crew)
            record = TrackRecord(is_out, crew=crew.name, equals=equals, board=board)
            planning = Planning(crew, model, record, terms)
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
        """Run an effect and return its event. After an unexpected exception, return that of the handler's `on_bug`.

        Raises Fenced if the job is gone or no longer ours, and StoreError.
        """
        handler = find_handler(effect)
        job, ask = runner.find_request(effect.request)
        services = self._find_services(ask)
        if services is None and isinstance(effect, _CREW_EFFECTS):
            return self._fail_for_missing_crew(ask, at=runner.now())
        try:
            model = self._limits.bind(make_payer(job, ask))
            services = services or self._services[self._default_crew]
            return await handler.run(effect, HandlerInputs(services, runner, job, ask, model))
        except JobGone as error:
            raise Fenced from error
        except (Fenced, StoreError):
            raise
        except Exception as error:
            log.exception("job %s: %s broke", runner.claim.key.job, type(effect).__name__)
            _, ask = runner.find_request(effect.request)  # as it stands now
            return handler.on_bug(effect, describe_bug(error, at=runner.now(), ask=ask))

    def _find_services(self, ask: RequestState) -> EffectServices | None:
        """Return the services for the crew of a request; None if this instance has no such crew."""
        return self._services.get(ask.request.crew or self._default_crew)

    def _fail_for_missing_crew(self, ask: RequestState, *, at: float) -> ev.RequestFailed:
        """Return the failure of a request whose crew does not exist (any more)."""
        there = ", ".join(self._services)
        reason = f"it is for the crew {ask.request.crew!r}, which is not there (any more)"
        advice = (
            f"Begin with the name of another, such as “{self._default_crew}: ...”, or ask whoever runs me. There is "
            f"{there}."
        )
        return ev.RequestFailed(at=at, request=ask.id, step="finding the crew", reason=reason, advice=advice)

    def show_job_change(self, runner: JobRunner, before: Job, after: Job) -> None:
        """Update the card and the session's status. Skipped while the job's thread is still to be opened."""
        if not after.asks[0].request.opens:
            self._thread.show_job_change(runner.claim.key, before, after, allowed=runner.may_show)

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
