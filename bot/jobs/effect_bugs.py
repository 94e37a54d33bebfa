"""The event that a bug in an effect leads to: its step fails, or the job goes on without it; never a retry for ever."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from handoff import effects as ef
from handoff import events as ev
from handoff.state import Ask

OfRun = ef.MakePlan | ef.Step
"""The effects that belong to the run of a request, or of a crew inside it (`within`)."""


@dataclass(frozen=True, slots=True)
class Bug:
    """An exception that nobody expected, in words for people. `ask` is the request as it stands."""

    reason: str
    at: float
    ask: Ask


def bug_of(error: Exception, *, at: float, ask: Ask) -> Bug:
    """Describe an exception without its text, which may quote contents."""
    return Bug(f"an internal error ({type(error).__name__}); whoever runs me finds it in the log", at, ask)


def attachments_unread(effect: ef.FetchAttachments, bug: Bug) -> ev.Event:
    """Go on without the attached files, and name them as missing."""
    faults = (f"The attached files: {bug.reason}",)
    return ev.AttachmentsFetched(at=bug.at, request=effect.request, faults=faults)


def run_failed(step: str) -> Callable[[OfRun, Bug], ev.Event]:
    """Fail the request at `step`; for a crew inside the crew, fail the attempt at its subtask."""

    def failed(effect: OfRun, bug: Bug) -> ev.Event:
        if effect.within:
            return _subtask_failed(effect.within, bug)
        return _request_failed(effect.request, step, bug)

    return failed


def crew_failed(effect: ef.HandUp, bug: Bug) -> ev.Event:
    """Fail the attempt at the subtask that was given to a crew."""
    return _subtask_failed(effect.subtask, bug)


def request_failed(effect: ef.ReachDeadline, bug: Bug) -> ev.Event:
    """Fail the request."""
    return _request_failed(effect.request, "writing the answer", bug)


def plan_kept(effect: ef.RevisePlan, bug: Bug) -> ev.Event:
    """Leave the plan as it was, and go on."""
    of: dict[str, Any] = {"request": effect.request, "within": effect.within, "subtask": effect.subtask}
    return ev.PlanRevised(at=bug.at, **of, faults=(f"The planner broke ({bug.reason}).",))


def attempt_failed(effect: ef.RunSubtask, bug: Bug) -> ev.Event:
    """Fail the attempt."""
    return ev.AttemptFailed(at=bug.at, **_attempt(effect), kind="tool", message=bug.reason)


def result_unchecked(effect: ef.JudgeResult, bug: Bug) -> ev.Event:
    """Take the result as it is, and say that it was not checked."""
    faults = (*effect.faults, *effect.doubts, f"it could not be checked ({bug.reason})")
    return ev.ResultJudged(at=bug.at, **_attempt(effect), verdict="best_effort", faults=faults)


def brief_kept(effect: ef.RefineBrief, bug: Bug) -> ev.Event:
    """Try again with the brief as it was."""
    return ev.BriefRefined(at=bug.at, **_attempt(effect), fault=bug.reason)


def post_failed(effect: ef.Post, bug: Bug) -> ev.Event:
    """Go on without the message."""
    return ev.Posted(at=bug.at, request=effect.request, key=effect.key, ts="", fault=bug.reason)


def _attempt(effect: ef.RunSubtask | ef.JudgeResult | ef.RefineBrief) -> dict[str, Any]:
    return {"request": effect.request, "subtask": effect.subtask, "attempt": effect.attempt}


def _subtask_failed(subtask: str, bug: Bug) -> ev.Event:
    of: dict[str, Any] = {"request": bug.ask.id, "subtask": subtask, "attempt": bug.ask.work[subtask].attempt}
    return ev.AttemptFailed(at=bug.at, **of, kind="crew", message=bug.reason)


def _request_failed(request: str, step: str, bug: Bug) -> ev.Event:
    advice = "Mention me again to try once more."
    return ev.RequestFailed(at=bug.at, request=request, step=step, reason=bug.reason, advice=advice)
