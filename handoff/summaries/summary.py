"""The read model of a job: texts for people, and the summary fields, which give its status without a replay.

The first part is about a whole job. The second is about the rows of its plan card: which subtasks are shown, and how.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from handoff.contracts import PATH_SEPARATOR, Place, Request
from handoff.engine import answer
from handoff.engine.nested import is_crew_working
from handoff.engine.plan import PLANNED_ANEW_DECISION
from handoff.engine.questions import list_assumptions
from handoff.engine.replan import find_due_trigger
from handoff.materials.material_lists import list_unneeded_thread_files
from handoff.state.job_state import SETTLED_STATES, Job, RequestState, SubtaskState
from handoff.state.state_values import may_answer

MAX_TITLE_LENGTH = 200
"""The most characters of a job's title."""
MAX_STEP_TITLE_LENGTH = 60
"""The most characters of a step's title."""
_MIN_SPEED_UP = 1.1
"""The least speed-up that people are told."""
NOT_BEGUN_STEP = "taking up the request"
"""The step of a job whose log is still empty."""


QUARANTINE_KEY_PREFIX, TRIAL_KEY_PREFIX = "aside:", "trial:"
"""The key prefixes of messages about a job's lost owners. Posting one does not count as progress of the job."""


@dataclass(frozen=True, slots=True)
class TrialNotice:
    """The message in a thread that an instance tries its job alone, after it brought down several owners."""

    key: str
    """The key of the message, which is posted once."""
    place: Place
    step: str
    """The step of the job at that time, as from `describe_step`."""
    lost_owners: int
    """The number of owners that the job lost in a row."""


@dataclass(frozen=True, slots=True)
class QuarantineNotice:
    """The message in a thread that its job is in quarantine."""

    key: str
    """The key of the message, which is posted once."""
    place: Place
    step: str
    reason: str
    title: str
    user: str
    is_readable: bool
    """True if the log of the job can be read."""
    job: Job | None
    """The job at that time; None if its log cannot, or must not, be read."""


def build_initial_summary(place: Place, request: Request) -> dict[str, str]:
    """Return the summary fields of a job that no instance has claimed yet."""
    return {
        "state": "submitted",
        "title": request.text[:MAX_TITLE_LENGTH],
        "user": request.user,
        "channel": place.channel,
        "thread_ts": place.thread_ts,
        "asked": str(request.at),
    }


def make_summary_fields(job: Job) -> dict[str, str]:
    """Return the summary fields of a job."""
    ask = job.latest_request
    questions = [
        # earlier releases, with one person per question, read `user`
        {
            "request": ask.id,
            "subtask": name,
            "number": one.number,
            "user": ask.request.user,
            "whom": one.whom,
            **({"options": one.options} if one.options else {}),
            **({"approval": True} if one.approval is not None else {}),
        }
        for name, one in ask.open_questions.items()
    ]
    return {
        **build_initial_summary(job.place, ask.request),
        "state": ask.state,
        "step": describe_step(ask),
        "title": (ask.run.plan.goal if ask.run.plan else ask.text)[:MAX_TITLE_LENGTH],
        "questions": json.dumps(questions) if questions else "",
        "in_part": "1" if ask.run.answer is not None and answer.list_answer_gaps(ask, ask.run) else "",
    }


def list_awaited_people(ask: RequestState, within: str = "") -> tuple[str, ...] | None:
    """Return the ids of the people and user groups who may answer the open questions of a request.

    With `within`, only questions of that subtask and those inside it count. An empty tuple: anybody in the thread may
    answer. None: there is no open question.
    """
    works = {within, *(work.subtask.id for work in ask.list_all_subtasks(within))}
    found = [question.whom for name, question in ask.open_questions.items() if name in works or not within]
    return merge_answerers(found) if found else None


def merge_answerers(addressee_lists: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Return the ids of the people and user groups who may answer one of several questions, each once.

    `addressee_lists` has the ids for each question. An empty tuple, there and in the result, stands for anybody in the
    thread.
    """
    return tuple(dict.fromkeys(one for whom in addressee_lists for one in whom)) if all(addressee_lists) else ()


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """An open question as the summary fields of a job contain it."""

    request: str
    subtask: str
    """The subtask that asks; empty: the planner."""
    number: int
    whom: tuple[str, ...]
    """The ids of the people and user groups who may answer; empty: anybody in the thread."""
    options: tuple[str, ...] = ()
    """The answers that it offers."""
    is_approval: bool = False
    """True for an approval, which only clicks answer."""

    def may_answer(self, user: str, groups: tuple[str, ...] = ()) -> bool:
        """Return True if a person in these user groups may answer with a message. Only clicks answer an approval."""
        return not self.is_approval and may_answer(self.whom, user, groups)


def parse_open_questions(fields: Mapping[str, str]) -> tuple[OpenQuestion, ...]:
    """Parse the open questions from the summary fields of a job, whichever release wrote them."""
    found = json.loads(fields.get("questions") or "[]")
    return tuple(
        OpenQuestion(
            one["request"],
            one["subtask"],
            one["number"],
            tuple(one.get("whom", [one["user"]])),
            tuple(one.get("options", ())),
            bool(one.get("approval")),
        )
        for one in found
    )


def describe_step(ask: RequestState) -> str:
    """Return the present step of a request in a few words for people; empty once it is over."""
    if ask.is_over:
        return ""
    if ask.run.answer is not None:
        return "posting the answer"
    if ask.run.failure is not None:
        return "saying how it ended"
    if not ask.gathered and ask.request.look_back == "thread":
        return "reading the thread"
    if not ask.gathered and ask.request.look_back != "files":
        return "reading the attached files" if ask.request.attachments else "looking at what it names"
    if ask.question is not None:
        return "asking what is kept" if ask.question.second_try else "asking what is meant"
    if ask.run.plan is None:
        return "planning"
    works = list_innermost_subtasks(ask)
    return (
        _describe_answering(ask)
        if all(work.state in SETTLED_STATES for work in works)
        else _describe_working(ask, works)
    )


def _describe_working(ask: RequestState, works: Sequence[SubtaskState]) -> str:
    if find_due_trigger(ask) is not None and not any(work.state == "in_progress" for work in works):
        return "taking a second look at the plan"
    for state in ("in_progress", "pending", "input_required"):
        if found := [work for work in works if work.state == state]:
            return _describe_workers(ask, found)
    return "working"


def _describe_answering(ask: RequestState) -> str:
    """Return the present step between the results and the answer in a few words."""
    effect = answer.list_answer_effects(ask, ask.run, 0.0)[0][0]
    return getattr(effect, "doing", "writing the answer")


def _describe_workers(ask: RequestState, works: Sequence[SubtaskState]) -> str:
    shown = [f"{render_title(ask, work)[:MAX_STEP_TITLE_LENGTH]} ({work.specialist})" for work in works[:2]]
    more = len(works) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def compute_speed_up(ask: RequestState) -> float:
    """Return the speed-up by parallel work: the sum of subtask times over the time from first start to last end."""
    apart, together = measure_parallel_work(ask)
    return apart / together if together > 0 else 1.0


def measure_parallel_work(ask: RequestState) -> tuple[float, float]:
    """Return the sum of the seconds of all subtasks, and the seconds from the first start to the last end.

    Both are 0 if fewer than two subtasks have ended, or if a script or rules replied in place of a model.
    """
    if ask.usage.calls and not ask.usage.tokens_in + ask.usage.tokens_out:
        return 0.0, 0.0
    around = {work.within for work in ask.work.values()}  # enclosing subtasks are not counted as well
    works = [
        work
        for work in ask.work.values()
        if work.started is not None and work.ended is not None and work.subtask.id not in around and not work.kept
    ]
    if len(works) < 2:
        return 0.0, 0.0
    wall = max(work.ended or 0.0 for work in works) - min(work.started or 0.0 for work in works)
    return sum(work.duration for work in works), max(0.0, wall)


def describe_speed_up(ask: RequestState) -> str:
    """Return the number of parallel specialists and the speed-up in words; empty if the speed-up is small."""
    if (gain := compute_speed_up(ask)) <= _MIN_SPEED_UP:
        return ""
    workers = sum(work.started is not None and work.run is None and not work.kept for work in ask.work.values())
    return f"{workers} specialists side by side: {gain:.1f}x faster than one by one"


# ---------------------------------------------------------------- the rows of a plan

TITLE_SEPARATOR = " \u203a "
"""The separator between the names of the enclosing crews and a subtask's own title."""


def render_title(ask: RequestState, work: SubtaskState) -> str:
    """Return a subtask's title after the names of its enclosing crews, the outermost first."""
    return TITLE_SEPARATOR.join((*_list_enclosing_crews(ask, work), work.subtask.title))


def _list_enclosing_crews(ask: RequestState, work: SubtaskState) -> tuple[str, ...]:
    outer = ask.work.get(work.within)
    if outer is None:
        return ()
    crew = outer.specialist.rpartition(PATH_SEPARATOR)[2].replace("_", " ").replace("-", " ")
    return (*_list_enclosing_crews(ask, outer), crew[:1].upper() + crew[1:])


def list_card_rows(ask: RequestState) -> tuple[SubtaskState, ...]:
    """Return the subtasks that the plan card shows, each before those inside it.

    Subtasks inside a completed one are left out, unless it is the request's only subtask. `describe_parts` counts them.
    """
    own = [work.subtask.id for work in ask.list_subtasks("") if not work.dropped]
    done = {work.subtask.id for work in ask.list_all_subtasks("") if work.state == "complete"}
    done -= set(own) if len(own) == 1 else set()
    return tuple(
        work for work in ask.list_all_subtasks("") if not work.handed_over and not done & _list_enclosing_ids(ask, work)
    )


def _list_enclosing_ids(ask: RequestState, work: SubtaskState) -> set[str]:
    return {work.within} | _list_enclosing_ids(ask, ask.work[work.within]) if work.within else set()


def describe_parts(ask: RequestState, work: SubtaskState) -> str:
    """Return the progress of a crew with its subtask in a few words; empty if no crew works or worked on it."""
    parts = [one for one in ask.list_subtasks(work.subtask.id) if not one.dropped]
    if work.run is None:
        return ""
    if not parts:
        return "planning" if is_crew_working(work) else ""
    count = f"{len(parts)} part{'' if len(parts) == 1 else 's'}"
    if is_crew_working(work):
        return f"{sum(one.state == 'complete' for one in parts)} of {count} done"
    return f"{count} inside"


def list_notes(ask: RequestState) -> list[str]:
    """Return the notes for readers of an answer that are no gaps, each once.

    In this order: why a second try has a new plan, assumptions for unanswered questions, how files were read, and the
    notes of results.
    """
    results = [work.result for work in ask.work.values() if work.result is not None]
    anew = [one.why for one in ask.decisions if one.what == PLANNED_ANEW_DECISION]
    unneeded = {one.name for one in list_unneeded_thread_files(ask)}
    read = [note for one in ask.materials if one.name not in unneeded for note in one.notes]
    told = [*anew, *list_assumptions(ask), *read, *(note for result in results for note in result.notes)]
    return list(dict.fromkeys(told))


def list_innermost_subtasks(ask: RequestState) -> tuple[SubtaskState, ...]:
    """Return the innermost subtasks: each subtask that a crew works on now is replaced by those inside it."""
    return tuple(_yield_innermost(ask, ask.list_subtasks("")))


def _yield_innermost(ask: RequestState, works: Iterable[SubtaskState]) -> Iterable[SubtaskState]:
    for work in works:
        parts = ask.list_subtasks(work.subtask.id) if is_crew_working(work) else ()
        yield from _yield_innermost(ask, parts) if parts else (work,)
