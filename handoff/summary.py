"""What is known of a job without replaying its log: kept beside the log, written with each commit."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from handoff.contracts import Place, Request
from handoff.effects import JudgeConflicts, ReduceMaterial, ReviewAnswer
from handoff.engine import answer
from handoff.engine.replan import current
from handoff.state import SETTLED, Ask, Job, Work
from handoff.summary_rows import at_hand, title_of

TITLE = 200
"""Characters of a job's title."""
STEP_TITLE = 60
NOT_BEGUN = "taking up the request"
"""The step of a job whose log holds nothing yet."""


@dataclass(frozen=True, slots=True)
class QuarantineNotice:
    """What the thread is told of a job in quarantine, once for each `key`.

    `job` is the job as it stands then, or None where its log cannot, or must not, be folded.
    """

    key: str
    place: Place
    step: str
    reason: str
    title: str
    user: str
    readable: bool
    job: Job | None


def begun(place: Place, request: Request) -> dict[str, str]:
    """The fields of the head of a job that nobody has taken up yet."""
    return {
        "state": "submitted",
        "title": request.text[:TITLE],
        "user": request.user,
        "channel": place.channel,
        "thread_ts": place.thread_ts,
        "asked": str(request.at),
    }


def projection(job: Job) -> dict[str, str]:
    """The fields of the job's head."""
    ask = job.latest
    questions = [
        {"request": ask.id, "subtask": name, "number": work.question.number, "user": ask.request.user}
        for name, work in ask.work.items()
        if work.state == "input_required" and work.question is not None and ask.answer is None and ask.failure is None
    ]
    return {
        **begun(job.place, ask.request),
        "state": ask.state,
        "step": step(ask),
        "in_part": "1" if ask.answer is not None and ask.gaps else "",
        "title": (ask.plan.goal if ask.plan else ask.request.text)[:TITLE],
        "questions": json.dumps(questions) if questions else "",
    }


def step(ask: Ask) -> str:
    """What the request is at, in a few words for people; empty once it is over."""
    if ask.over:
        return ""
    if ask.answer is not None:
        return "posting the answer"
    if ask.failure is not None:
        return "saying how it ended"
    if not ask.fetched:
        return "reading the attached files"
    if ask.plan is None:
        return "planning"
    works = at_hand(ask)
    return _answering(ask) if all(work.state in SETTLED for work in works) else _working(ask, works)


def _working(ask: Ask, works: Sequence[Work]) -> str:
    if current(ask) is not None and not any(work.state == "in_progress" for work in works):
        return "taking a second look at the plan"
    for state in ("in_progress", "pending", "input_required"):
        if found := [work for work in works if work.state == state]:
            return _names(ask, found)
    return "working"


def _answering(ask: Ask) -> str:
    """Which of the steps from the results to the answer comes next."""
    effect = answer.steps(ask, 0.0)[0][0]
    if isinstance(effect, JudgeConflicts):
        return "judging contradictions"
    if isinstance(effect, ReduceMaterial):
        return "condensing the results"
    return "reviewing the answer" if isinstance(effect, ReviewAnswer) else "writing the answer"


def _names(ask: Ask, works: Sequence[Work]) -> str:
    shown = [f"{title_of(ask, work)[:STEP_TITLE]} ({work.specialist})" for work in works[:2]]
    more = len(works) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")
