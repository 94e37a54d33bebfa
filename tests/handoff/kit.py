"""Builders of logs and jobs for the tests of the core: a request, its plan, what its specialists report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from handoff import events as ev
from handoff.briefs.handoff_builder import make_handoff
from handoff.contracts import Escalation, Handoff, Member, Place, Plan, Request, Result, Subtask, Usage
from handoff.effects import Effect, MakePlan, RunSubtask, make_answer_key, make_card_end_key, make_card_key
from handoff.engine.engine import fold_log
from handoff.engine.outstanding_effects import list_outstanding_effects
from handoff.engine.replay import parse_log
from handoff.planning.adhoc import AdhocAllowance
from handoff.planning.plan_brief import PlanBrief
from handoff.planning.planner_reply import parse_reply
from handoff.state.job_state import Job, RequestState

T = TypeVar("T")

PLACE = Place(team="T1", channel="C1", thread_ts="1.0")
R = "1.0"
NOW = 100.0
MEMBERS = (
    Member(name="analyst", tier="balanced"),
    Member(name="researcher", tier="fast", fallback="analyst"),
    Member(name="writer", tier="balanced"),
)


def make_request_event(request: str = R, at: float = 1.0, refusal: str = "", **more: object) -> ev.RequestAdded:
    body = Request.model_validate({"id": request, "user": "U1", "text": "why did churn rise", "at": at, **more})
    return ev.RequestAdded(at=at, place=PLACE, request=body, refusal=refusal)


def subtask(name: str, *after: str, **more: object) -> Subtask:
    fields = {"title": f"Part {name}", "intent": "Do the whole of it", "specialist": "analyst", **more}
    return Subtask.model_validate({"id": name, "after": after, **fields})


def make_plan_event(*subtasks: Subtask, **more: object) -> ev.PlanProposed:
    plan = Plan(goal="Find out", subtasks=subtasks)
    return ev.PlanProposed.model_validate({"at": 2.0, "request": R, "plan": plan, "members": MEMBERS, **more})


def make_start_event(name: str, attempt: int = 1, at: float = 3.0, **more: object) -> ev.AttemptStarted:
    fields = {"request": R, "subtask": name, "attempt": attempt, "specialist": "analyst", "tier": "balanced", **more}
    return ev.AttemptStarted.model_validate({"at": at, **fields})


def make_result_event(
    name: str, attempt: int = 1, at: float = 5.0, *, request: str = R, **more: object
) -> ev.ResultReturned:
    fields = {"summary": f"sum {name}", "content": f"all of {name}", "usage": Usage(calls=2, tokens_in=10), **more}
    result = Result.model_validate(fields)
    return ev.ResultReturned(at=at, request=request, subtask=name, attempt=attempt, result=result)


def make_failure_event(name: str, attempt: int = 1, at: float = 4.0, **more: object) -> ev.AttemptFailed:
    fields = {"kind": "model", "message": "the model broke", **more}
    return ev.AttemptFailed.model_validate({"at": at, "request": R, "subtask": name, "attempt": attempt, **fields})


def make_escalation_event(name: str, reason: str, attempt: int = 1, at: float = 4.0, **more: object) -> ev.Escalated:
    escalation = Escalation.model_validate({"reason": reason, "message": "which one?", **more})
    return ev.Escalated(at=at, request=R, subtask=name, attempt=attempt, escalation=escalation)


RUNNING_LOG = (make_request_event(), make_plan_event(subtask("a")), make_start_event("a"))
"""A request whose one subtask is under way."""


def make_answer_event(
    text: str = "x", name: str = "a", user: str = "U1", at: float = 9.0, number: int = 0
) -> ev.QuestionAnswered:
    return ev.QuestionAnswered(at=at, request=R, subtask=name, user=user, text=text, number=number)


def make_end_events(request: str = R, text: str | None = "the answer", at: float = 7.0) -> list[ev.Event]:
    """People see the end."""
    written = [ev.AnswerWritten(at=at, request=request, text=text)] if text is not None else []
    keys = (make_card_key(request), make_answer_key(request), make_card_end_key(request))
    return [*written, *(ev.Posted(at=at, request=request, key=key, ts="9.9") for key in keys)]


def require(value: T | None) -> T:
    """A value that may be missing, and is not."""
    assert value is not None
    return value


def job(*log: ev.Event) -> Job:
    """The job of a log, which opens from the store as it folds."""
    folded = fold_log(log)
    assert parse_log([ev.dump_event(event) for event in log]) == folded
    return require(folded)


def ask(state: Job) -> RequestState:
    return state.requests[-1]


def effects(state: Job, now: float = 100.0) -> list[Effect]:
    return list_outstanding_effects(state, now)[0]


def running(state: Job, now: float = 100.0) -> list[tuple[str, int, str]]:
    return [(e.subtask, e.attempt, e.specialist) for e in effects(state, now) if isinstance(e, RunSubtask)]


def read_plan(
    text: str, members: Mapping[str, Member], allowance: AdhocAllowance | None = None, *, is_second_try: bool = False
) -> tuple[Plan | None, tuple[str, ...]]:
    """The plan in a planner's reply, or its faults. Whatever file it names was named in the request."""
    reply = parse_reply(text, PlanBrief(text), members, allowance, is_second_try=is_second_try)
    return reply.plan, reply.faults


def make_subtask_handoff(state: Job, effect: RunSubtask | MakePlan) -> Handoff:
    """The handoff of the subtask that a specialist is to work on, or a crew is to plan."""
    name = effect.subtask if isinstance(effect, RunSubtask) else effect.within
    return make_handoff(state, ask(state), ask(state).subtasks[name], NOW)[0]


def to_run(state: Job, now: float = 100.0) -> RunSubtask:
    """The only subtask that is to be run."""
    (effect,) = [one for one in effects(state, now) if isinstance(one, RunSubtask)]
    return effect


def level(request: RequestState, subtask: str) -> int:
    """How many subtasks a subtask is inside: 0 for those of the request's own plan."""
    work = request.subtasks.get(subtask)
    return 0 if work is None or not work.within else 1 + level(request, work.within)
