"""Derives the spans of the supervisor's steps from a log: planning, judging, writing, posting.

The log has the end of such a step. The step began when its effect became outstanding, which is derived from the log by
the same function that tells the bot what to do next (`handoff.engine.outstanding_effects`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from bot.tracing.attempt_spans import DERIVED_FROM_DURATION, AttemptSpans, find_lane
from bot.tracing.role_outcomes import describe_outcome
from bot.tracing.span import SUPERVISORS_LANE, SpanKind
from bot.tracing.span_book import SpanBook, SpanDraft, has_usage
from handoff import effects as ef
from handoff import events as ev
from handoff.contracts import Usage
from handoff.engine.outstanding_effects import list_outstanding_effects
from handoff.state.job_state import Job, RequestState

DERIVED_FROM_EFFECT = "its end is logged; it began when the event before it called for it"


class RoleStepKey(NamedTuple):
    """Identifies a step of a role. `numbers` holds its attempt, its round and part, or the key of its post."""

    kind: SpanKind
    role: str
    request: str
    within: str = ""
    subtask: str = ""
    numbers: tuple[Any, ...] = ()


class RoleSpans:
    """Builds the spans of the steps of roles while a log is read."""

    def __init__(self, book: SpanBook, attempts: AttemptSpans) -> None:
        self._book = book
        self._attempts = attempts
        self._open_steps: dict[RoleStepKey, SpanDraft] = {}
        self._ready_subtasks: set[tuple[str, str]] = set()
        self._unmatched_event: Any = None
        self.last_inner_steps: dict[str, str] = {}
        """By the id of a crew's attempt, the id of its last inner step."""

    def apply_event(self, event: ev.Event) -> None:
        """End the step that this event reports. If the event does not identify it, `update_steps` finds it."""
        self._unmatched_event = None
        for key, draft in [*self._open_steps.items()]:
            if _reports_step(event, key):
                del self._open_steps[key]
                self._close_step(draft, key, event)
                return
        if isinstance(event, ev.RequestEvent) and not isinstance(event, ev.AttemptEvent):
            self._unmatched_event = event

    def _record_late_step(self, event: Any) -> None:
        """Add a span for a step that this release would not have begun, as its model calls were paid for."""
        within = getattr(event, "within", "")
        start = event.at - _get_usage(event).duration
        key = RoleStepKey(
            "plan" if isinstance(event, _PLAN_EVENTS) else "synthesis", _UNKNOWN_ROLE_NAME, event.request, within
        )
        parent = self._attempts.find_parent_id(event.request, within)
        span_fields = {"parent": parent, "request": event.request, "subtask": within}
        self._close_step(self._book.begin_span(key.kind, key.role, SUPERVISORS_LANE, start, **span_fields), key, event)

    def _close_step(self, draft: SpanDraft, key: RoleStepKey, event: ev.Event) -> None:
        usage = _get_usage(event)
        end, derivation = event.at, DERIVED_FROM_EFFECT
        if isinstance(event, ev.PlanRevised):  # its time is that of the call of the planner
            draft.set(start=max(draft["start"], event.at))
            end, derivation = (
                event.at + usage.duration,
                "the log holds when it began, and how long its model calls took",
            )
        state, outcome_fields = describe_outcome(event)
        if has_usage(usage):
            self._book.add_ended_span(
                "chat",
                usage.model or "model",
                draft["lane"],
                (max(draft["start"], end - usage.duration), end),
                parent=draft["id"],
                request=draft["request"],
                subtask=draft.get("subtask"),
                words=f"{key.role}: {usage.calls} model call{'' if usage.calls == 1 else 's'}",
                model=usage.model,
                usage=usage,
                derived=DERIVED_FROM_DURATION,
            )
        self._book.end_span(draft, end, state, **outcome_fields, derived=derivation)

    def update_steps(self, job: Job, at: float) -> None:
        """Begin the steps whose effects have become outstanding, and end those whose effects no longer are."""
        effects, _ = list_outstanding_effects(job, at)
        outstanding = {key: one for one in effects if (key := self._find_step_key(one)) is not None}
        for key in [key for key in self._open_steps if key not in outstanding]:
            self._end_step(key, self._open_steps.pop(key))
        if self._unmatched_event is not None and has_usage(_get_usage(self._unmatched_event)):
            self._record_late_step(self._unmatched_event)
        for key, effect in outstanding.items():
            if key not in self._open_steps:
                request = job.find_request(key.request)
                self._open_steps[key] = self._begin_step(key, effect, request)
        self._record_ready_subtasks(effects)

    def _end_step(self, key: RoleStepKey, draft: SpanDraft) -> None:
        """End a step that is no longer outstanding: with the event that reports it, otherwise as stopped."""
        event = self._unmatched_event
        place = (event.request, getattr(event, "within", None)) if event is not None else ()
        if key.kind == "synthesis" and place == (key.request, key.within):
            self._unmatched_event = None
            self._close_step(draft, key, event)
            return
        self._book.end_span(draft, self._book.entry_time, "stopped", words="it was called for no more")

    def _find_step_key(self, effect: ef.Effect) -> RoleStepKey | None:
        """Return the key of an effect's step; None if it has none, or if an inner crew's attempt has not begun."""
        inner = effect.within if isinstance(effect, ef.MakePlan) else ""
        if inner and self._attempts.find_attempt_span(effect.request, inner) is None:
            return None
        return _make_step_key(effect)

    def _record_ready_subtasks(self, effects: list[ef.Effect]) -> None:
        ready = {
            (one.request, name)
            for one in effects
            if isinstance(one, ef.RunEffect) and (name := _find_started_subtask(one))
        }
        for place in ready - self._ready_subtasks:
            self._attempts.ready_seqs[place] = self._book.entry_seq
        self._ready_subtasks = ready
        for one in effects:
            if isinstance(one, ef.ReportCrewOutcome):
                crew = self._attempts.find_attempt_span(one.request, one.subtask)
                if crew is not None:
                    self.last_inner_steps.setdefault(crew["id"], self._book.find_cause_id(self._book.entry_seq))

    def _begin_step(self, key: RoleStepKey, effect: ef.Effect, request: RequestState | None) -> SpanDraft:
        lane, parent = SUPERVISORS_LANE, ""
        subtask = request.subtasks.get(key.subtask) if request is not None and key.kind == "refine" else None
        if request is not None and subtask is not None:
            lane, parent = subtask.specialist, self._attempts.ensure_subtask_span(request, subtask)["id"]
        elif request is not None and key.kind != "sort":
            lane, parent = find_lane(request, key.within), self._attempts.find_parent_id(request.id, key.within)
        start = self._book.entry_time
        inner = self._attempts.find_attempt_span(key.request, key.within) if key.within else None
        if inner is not None:
            start = max(start, inner["start"])
        return self._book.begin_span(
            key.kind,
            key.role,
            lane,
            start,
            parent=parent,
            after=self._book.find_cause_id(self._book.entry_seq),
            request="" if key.kind == "sort" else key.request,
            subtask=key.subtask or key.within,
            attempt=getattr(effect, "attempt", 0),
            words=getattr(effect, "doing", ""),
            derived=DERIVED_FROM_EFFECT,
            brief="; ".join(getattr(effect, "faults", ())),
        )


_PLAN_EVENTS = (ev.PlanProposed, ev.PlanRejected, ev.PlannerAsked, ev.PlanRevised)
_UNKNOWN_ROLE_NAME = "a role"


def _get_usage(event: ev.Event) -> Usage:
    usage = getattr(event, "usage", None)
    return usage if isinstance(usage, Usage) else Usage()


def _find_started_subtask(effect: ef.Effect) -> str:
    """Return the id of the subtask at which an effect begins an attempt; empty for other effects."""
    if isinstance(effect, ef.RunSubtask):
        return effect.subtask
    return effect.within if isinstance(effect, ef.MakePlan) else ""


_STEP_KINDS: dict[type, SpanKind] = {
    ef.MakePlan: "plan",
    ef.RevisePlan: "plan",
    ef.VerifyAnswer: "verify",
    ef.RefineBrief: "refine",
}
"""The kind of step by effect. An effect of a role that is not listed has the kind `synthesis`."""


def _make_step_key(effect: ef.Effect) -> RoleStepKey | None:
    if isinstance(effect, ef.GatherMaterial):
        return RoleStepKey("gather", "reader", effect.request)
    if isinstance(effect, ef.PostMessage):
        return RoleStepKey("post", _name_post(effect.request, effect.key), effect.request, "", "", (effect.key,))
    if isinstance(effect, ef.OpenThread):
        return RoleStepKey("post", THREAD_POST_NAME, effect.request)
    if isinstance(effect, ef.ClassifyMessage):
        return RoleStepKey("sort", effect.role, effect.message)
    role = getattr(effect, "role", "")
    if not role:
        return None
    within, subtask = getattr(effect, "within", ""), getattr(effect, "subtask", "")
    numbers = ("round", "part") if isinstance(effect, ef.ReduceMaterial) else ("attempt",) if subtask else ()
    extra = tuple(getattr(effect, name, 0) for name in numbers)
    return RoleStepKey(_STEP_KINDS.get(type(effect), "synthesis"), role, effect.request, within, subtask, extra)


THREAD_POST_NAME = "the thread of the run"
POST_NAMES = {"card": "the plan card", "card_end": "the card's last state", "answer": "the answer", "file": "a file"}


def _name_post(request: str, key: str) -> str:
    kind = key.removeprefix(f"{request}:").partition(":")[0]
    return POST_NAMES.get(kind, f"a {kind}")


_ANSWERING_ROLES = frozenset({"synthesizer", "selector", "planner"})


def _reports_step(event: ev.Event, key: RoleStepKey) -> bool:  # noqa: C901, PLR0911 - one line for each kind of event
    step = (key.kind, key.role, key.request)
    match event:
        case ev.MaterialGathered():
            return step == ("gather", "reader", event.request)
        case ev.PlanProposed() | ev.PlanRejected():
            return (*step, key.within) == ("plan", "planner", event.request, event.within)
        case ev.PlannerAsked():
            return (*step, key.within) == ("plan", "planner", event.request, "")
        case ev.PlanRevised():
            return (*step, key.within, key.subtask) == ("plan", "replanner", event.request, event.within, event.subtask)
        case ev.BriefRefined():
            there = (key.kind, key.request, key.subtask, key.numbers)
            return there == ("refine", event.request, event.subtask, (event.attempt,))
        case ev.AttemptFailed() | ev.Escalated():
            return (*step, key.within) == ("plan", "planner", event.request, event.subtask)
        case ev.ThreadOpened():
            return step == ("post", THREAD_POST_NAME, event.request)
        case ev.Posted():
            return key.numbers == (event.key,)
        case ev.MessageSorted():
            return (key.kind, key.request) == ("sort", event.message)
        case ev.RequestFailed():
            return key.kind in {"plan", "synthesis", "verify"} and key.request == event.request
        case _:
            return _reports_answer(event, key)


def _reports_answer(event: ev.Event, key: RoleStepKey) -> bool:
    """Return True if an event reports this step, for the steps from the results to the answer."""
    if not isinstance(event, ev.AnswerVerified | ev.MaterialReduced | ev.AnswerWritten):
        return False
    if (key.request, key.within) != (event.request, event.within):
        return False
    if isinstance(event, ev.AnswerWritten):
        return key.role in _ANSWERING_ROLES
    if isinstance(event, ev.MaterialReduced):
        return (key.role, key.numbers) == ("reducer", (event.round, event.part))
    return key.role == "verifier"
