"""The read model of a job: texts for people, and the summary fields, which show its status without a replay.

The first part is about a whole job. The second is about the rows of its plan card: which subtasks are shown, and how.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from handoff.contracts import PATH_SEPARATOR, Place, Request
from handoff.engine import answer
from handoff.engine.crew_runs import is_crew_working
from handoff.engine.plan import PLANNED_ANEW_DECISION
from handoff.engine.questions import list_assumptions
from handoff.engine.replan import find_due_trigger
from handoff.materials.material_lists import list_unneeded_thread_files
from handoff.state.job_state import SETTLED_STATES, Job, RequestState, SubtaskState
from handoff.state.state_values import may_answer
from handoff.text.capitalization import capitalize_first

MAX_TITLE_LENGTH = 200
"""The most characters of a job's title."""
MAX_STEP_TITLE_LENGTH = 60
"""The most characters of a step's title."""
_MIN_SPEED_UP = 1.1
"""People are told of a speed-up above this factor."""
NOT_BEGUN_STEP = "taking up the request"
"""The step of a job whose log is still empty."""


QUARANTINE_KEY_PREFIX, TRIAL_KEY_PREFIX = "aside:", "trial:"
"""The key prefixes of `QuarantineNotice` and `TrialNotice`. Posting one does not count as progress of the job."""


@dataclass(frozen=True, slots=True)
class TrialNotice:
    """A message in a thread: an instance now tries the job alone, since the job brought down several owners."""

    key: str
    """The key of the message, which is posted once."""
    place: Place
    step: str
    """The step of the job at that time, as from `describe_step`."""
    lost_owners: int
    """The number of owners that the job lost in a row."""


@dataclass(frozen=True, slots=True)
class QuarantineNotice:
    """A message in a thread: the job is in quarantine."""

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
    request = job.latest_request
    questions = [
        # earlier releases, with one person per question, read `user`
        {
            "request": request.id,
            "subtask": name,
            "number": one.number,
            "user": request.spec.user,
            "whom": one.whom,
            **({"options": one.options} if one.options else {}),
            **({"approval": True} if one.approval is not None else {}),
        }
        for name, one in request.open_questions.items()
    ]
    return {
        **build_initial_summary(job.place, request.spec),
        "state": request.state,
        "step": describe_step(request),
        "title": (request.run.plan.goal if request.run.plan else request.text)[:MAX_TITLE_LENGTH],
        "questions": json.dumps(questions) if questions else "",
        "in_part": "1" if request.run.answer is not None and answer.list_answer_gaps(request, request.run) else "",
    }


def list_awaited_people(request: RequestState, within: str = "") -> tuple[str, ...] | None:
    """Return the ids of the people and user groups who may answer the open questions of a request.

    With `within`, only questions of that subtask and those inside it count. An empty tuple: anybody in the thread may
    answer. None: there is no open question.
    """
    works = {within, *(subtask.spec.id for subtask in request.list_all_subtasks(within))}
    answerer_groups = [
        question.whom for name, question in request.open_questions.items() if name in works or not within
    ]
    return merge_answerers(answerer_groups) if answerer_groups else None


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
    encoded_questions = json.loads(fields.get("questions") or "[]")
    return tuple(
        OpenQuestion(
            one["request"],
            one["subtask"],
            one["number"],
            tuple(one["whom"] if "whom" in one else [one["user"]]),
            tuple(one.get("options", ())),
            bool(one.get("approval")),
        )
        for one in encoded_questions
    )


def describe_step(request: RequestState) -> str:
    """Return the present step of a request in a few words for people; empty once the request is over."""
    if request.is_over:
        return ""
    if request.run.answer is not None:
        return "posting the answer"
    if request.run.failure is not None:
        return "saying how it ended"
    if not request.is_gathered and request.spec.look_back == "thread":
        return "reading the thread"
    if not request.is_gathered and request.spec.look_back != "files":
        return "reading the attached files" if request.spec.attachments else "looking at what it names"
    if request.question is not None:
        return "asking what is kept" if request.question.is_retry_question else "asking what is meant"
    if request.run.plan is None:
        return "planning"
    subtasks = list_innermost_subtasks(request)
    return (
        _describe_answering(request)
        if all(subtask.state in SETTLED_STATES for subtask in subtasks)
        else _describe_working(request, subtasks)
    )


def _describe_working(request: RequestState, subtasks: Sequence[SubtaskState]) -> str:
    if find_due_trigger(request) is not None and not any(subtask.state == "in_progress" for subtask in subtasks):
        return "taking a second look at the plan"
    for state in ("in_progress", "pending", "input_required"):
        if current_subtasks := [subtask for subtask in subtasks if subtask.state == state]:
            return _describe_workers(request, current_subtasks)
    return "working"


def _describe_answering(request: RequestState) -> str:
    """Return the present step between the results and the answer in a few words."""
    effect = answer.list_answer_effects(request, request.run, 0.0)[0][0]
    return getattr(effect, "doing", "writing the answer")


def _describe_workers(request: RequestState, subtasks: Sequence[SubtaskState]) -> str:
    step_texts = [
        f"{render_title(request, subtask)[:MAX_STEP_TITLE_LENGTH]} ({subtask.specialist})" for subtask in subtasks[:2]
    ]
    more = len(subtasks) - len(step_texts)
    return ", ".join(step_texts) + (f" and {more} more" if more else "")


def compute_speed_up(request: RequestState) -> float:
    """Return the factor by which parallel work was faster than one subtask after the other; 1.0 if it is unknown."""
    subtask_seconds, elapsed_seconds = measure_parallel_work(request)
    return subtask_seconds / elapsed_seconds if elapsed_seconds > 0 else 1.0


def measure_parallel_work(request: RequestState) -> tuple[float, float]:
    """Return the sum of the seconds of all subtasks, and the seconds from the first start to the last end.

    Both are 0 if fewer than two subtasks have ended, or if a script or rules replied in place of a model.
    """
    if request.usage.calls and not request.usage.tokens_in + request.usage.tokens_out:
        return 0.0, 0.0
    # Enclosing subtasks are not counted as well.
    enclosing_ids = {subtask.within for subtask in request.subtasks.values()}
    subtasks = [
        subtask
        for subtask in request.subtasks.values()
        if subtask.started_at is not None
        and subtask.ended_at is not None
        and subtask.spec.id not in enclosing_ids
        and not subtask.is_reused
    ]
    if len(subtasks) < 2:
        return 0.0, 0.0
    elapsed_seconds = max(subtask.ended_at or 0.0 for subtask in subtasks) - min(
        subtask.started_at or 0.0 for subtask in subtasks
    )
    return sum(subtask.duration for subtask in subtasks), max(0.0, elapsed_seconds)


def describe_speed_up(request: RequestState) -> str:
    """Return the number of parallel specialists and the speed-up in words; empty if the speed-up is small."""
    if (gain := compute_speed_up(request)) <= _MIN_SPEED_UP:
        return ""
    workers = sum(
        subtask.started_at is not None and subtask.run is None and not subtask.is_reused
        for subtask in request.subtasks.values()
    )
    return f"{workers} specialists side by side: {gain:.1f}x faster than one by one"


# ---------------------------------------------------------------- the rows of a plan

TITLE_SEPARATOR = " \u203a "
"""The separator between the names of the enclosing crews and a subtask's own title."""


def render_title(request: RequestState, subtask: SubtaskState) -> str:
    """Return a subtask's title after the names of its enclosing crews, the outermost first."""
    return TITLE_SEPARATOR.join((*_list_enclosing_crews(request, subtask), subtask.spec.title))


def _list_enclosing_crews(request: RequestState, subtask: SubtaskState) -> tuple[str, ...]:
    outer = request.subtasks.get(subtask.within)
    if outer is None:
        return ()
    crew = outer.specialist.rpartition(PATH_SEPARATOR)[2].replace("_", " ").replace("-", " ")
    return (*_list_enclosing_crews(request, outer), capitalize_first(crew))


def list_card_rows(request: RequestState) -> tuple[SubtaskState, ...]:
    """Return the subtasks that the plan card shows, each before those inside it.

    Subtasks inside a completed one are left out, unless it is the request's only subtask. `describe_crew_progress`
    counts them.
    """
    own = [subtask.spec.id for subtask in request.list_subtasks("") if not subtask.is_dropped]
    done_ids = {subtask.spec.id for subtask in request.list_all_subtasks("") if subtask.state == "complete"}
    done_ids -= set(own) if len(own) == 1 else set()
    return tuple(
        subtask
        for subtask in request.list_all_subtasks("")
        if not subtask.is_handed_over and not done_ids & _list_enclosing_ids(request, subtask)
    )


def _list_enclosing_ids(request: RequestState, subtask: SubtaskState) -> set[str]:
    return (
        {subtask.within} | _list_enclosing_ids(request, request.subtasks[subtask.within]) if subtask.within else set()
    )


def describe_crew_progress(request: RequestState, subtask: SubtaskState) -> str:
    """Return a crew's progress with its subtask, such as `2 of 3 parts done`; empty if no crew ever worked on it."""
    parts = [one for one in request.list_subtasks(subtask.spec.id) if not one.is_dropped]
    if subtask.run is None:
        return ""
    if not parts:
        return "planning" if is_crew_working(subtask) else ""
    count = f"{len(parts)} part{'' if len(parts) == 1 else 's'}"
    if is_crew_working(subtask):
        return f"{sum(one.state == 'complete' for one in parts)} of {count} done"
    return f"{count} inside"


def list_notes(request: RequestState) -> list[str]:
    """Return the notes below an answer that are no gaps, each once.

    In this order: why a second try has a new plan, assumptions for unanswered questions, how files were read, and the
    notes of results.
    """
    results = [subtask.result for subtask in request.subtasks.values() if subtask.result is not None]
    replan_reasons = [one.why for one in request.decisions if one.what == PLANNED_ANEW_DECISION]
    unneeded_names = {one.name for one in list_unneeded_thread_files(request)}
    reading_notes = [note for one in request.materials if one.name not in unneeded_names for note in one.notes]
    notes = [
        *replan_reasons,
        *list_assumptions(request),
        *reading_notes,
        *(note for result in results for note in result.notes),
    ]
    return list(dict.fromkeys(notes))


def list_innermost_subtasks(request: RequestState) -> tuple[SubtaskState, ...]:
    """Return the innermost subtasks: each subtask that a crew works on now is replaced by those inside it."""
    return tuple(_yield_innermost(request, request.list_subtasks("")))


def _yield_innermost(request: RequestState, subtasks: Iterable[SubtaskState]) -> Iterable[SubtaskState]:
    for subtask in subtasks:
        parts = request.list_subtasks(subtask.spec.id) if is_crew_working(subtask) else ()
        yield from _yield_innermost(request, parts) if parts else (subtask,)
