"""Runs of crews inside a run: a subtask that a crew works on has a plan, subtasks and an outcome of its own.

All subtasks of a request are in `RequestState.subtasks`, each with `within`, the id of its enclosing subtask. The
`PlanRun` of a crew is in the subtask that it works on. It begins with the attempt (`begin_attempt`) and ends with its
outcome for the enclosing run (`make_crew_outcome`), which counts like a specialist's result or failure.
"""

from __future__ import annotations

from types import MappingProxyType

from handoff import events as ev
from handoff.answering.findings import is_graded
from handoff.answering.result_text import render_result
from handoff.checking import result_checks
from handoff.contracts import PATH_SEPARATOR, Finding, Plan, Result, Terms
from handoff.engine.answer import list_answer_gaps, list_graded_findings, render_subtask_result
from handoff.state.job_state import PlanRun, RequestState, SubtaskState, replace
from handoff.state.state_values import EarlierWrite

ATTEMPT_MARK = "~"
"""The mark before the attempt's number in ids of subtasks inside a second or later attempt. It keeps ids unique."""
MAX_SUBTASKS_IN_ALL = 60
"""The most subtasks of a request in all its runs together, as plans inside plans could multiply."""
MAX_SUMMARY_LENGTH = 1_200
"""The most characters of a summary that joins those of several results."""


def is_crew_working(subtask: SubtaskState) -> bool:
    """Return True while a crew works on a subtask."""
    under_way = subtask.state in {"in_progress", "input_required"} and subtask.question is None
    return subtask.run is not None and under_way


def find_crew_path(request: RequestState, within: str) -> str:
    """Return the path of the crew that works on the subtask `within`, as in `specialists.registry.Crew`.

    It is empty for the outermost crew.
    """
    return request.subtasks[within].specialist if within else ""


def find_enclosing_plan(request: RequestState, subtask: SubtaskState) -> Plan | None:
    """Return the plan that a subtask belongs to; None if its run no longer has a plan."""
    outer = request.subtasks.get(subtask.within)
    return (
        request.run.plan
        if not subtask.within
        else outer.run.plan
        if outer is not None and outer.run is not None
        else None
    )


def has_left_plan(request: RequestState, subtask: SubtaskState) -> bool:
    """Return True if a subtask was dropped and has left its plan. One dropped by `only_for` is still in the plan."""
    plan = find_enclosing_plan(request, subtask)
    return subtask.is_dropped and (plan is None or subtask.spec.id not in {one.id for one in plan.subtasks})


def build_run_brief(request: RequestState, run: PlanRun) -> str:
    """Return the task of a run: the brief of a crew's subtask, or the request's text with answers to the planner."""
    if run.within:
        return request.subtasks[run.within].brief_text
    return "\n\n".join((request.text, *(f"{note.source}\n{note.text}" for note in request.answer_notes)))


def list_earlier_writes(request: RequestState, subtask: SubtaskState) -> tuple[EarlierWrite, ...]:
    """Return the calls that earlier attempts at a subtask and at its enclosing subtasks made or may have made.

    The calls of a replaced subtask, and of the subtasks inside it, are included.
    """
    outer, replaced_subtask = request.subtasks.get(subtask.within), request.subtasks.get(subtask.replaced_id)
    earlier_writes = (
        subtask.earlier_writes
        if replaced_subtask is None
        else (*subtask.earlier_writes, *list_earlier_writes(request, replaced_subtask))
    )
    for one in request.list_all_subtasks(replaced_subtask.spec.id) if replaced_subtask is not None else ():
        earlier_writes += one.earlier_writes
    return tuple(
        dict.fromkeys(earlier_writes if outer is None else (*earlier_writes, *list_earlier_writes(request, outer)))
    )


def is_answer_unchanged(request: RequestState, run: PlanRun) -> bool:
    """Return True if people read the answer of a run unchanged.

    This holds for the request's own run. It holds for a crew's run if its subtask is the only one of an enclosing run
    that people read unchanged.
    """
    if not run.within:
        return True
    subtask = request.subtasks[run.within]
    around = request.find_enclosing_run(subtask)
    alone = sum(not one.is_dropped for one in request.list_subtasks(subtask.within)) == 1
    return alone and is_answer_unchanged(request, around)


def count_addable_subtasks(request: RequestState) -> int:
    """Return how many subtasks may be added to a request, in all its runs together (`MAX_SUBTASKS_IN_ALL`)."""
    return max(0, MAX_SUBTASKS_IN_ALL - len(request.subtasks))


def prefix_plan_ids(enclosing: SubtaskState, plan: Plan) -> Plan:
    """Return a crew's plan with its ids prefixed by that of the subtask `enclosing`, as in `RequestState.subtasks`."""
    again = f"{ATTEMPT_MARK}{enclosing.attempt}" if enclosing.attempt > 1 else ""

    def make_id(short: str) -> str:
        return f"{enclosing.spec.id}{PATH_SEPARATOR}{short}{again}"

    subtasks = tuple(
        one.model_copy(update={"id": make_id(one.id), "after": tuple(make_id(other) for other in one.after)})
        for one in plan.subtasks
    )
    return plan.model_copy(update={"subtasks": subtasks})


# ---------------------------------------------------------------- how a crew's run begins and ends


def begin_attempt(
    request: RequestState, subtask: SubtaskState, specialist: str, at: float
) -> tuple[RequestState, SubtaskState]:
    """Return the request and the subtask at the start of an attempt, with a new run if `specialist` is a crew.

    The subtasks inside an earlier attempt are removed; only their writes are kept.
    """
    if subtask.run is not None:
        removed_subtasks = request.list_all_subtasks(subtask.spec.id)
        earlier_writes = [one for each in removed_subtasks for one in each.all_writes]
        names = {each.spec.id for each in removed_subtasks}
        remaining_subtasks = {name: each for name, each in request.subtasks.items() if name not in names}
        request = replace(request, subtasks=MappingProxyType(remaining_subtasks))
        subtask = replace(subtask, run=None, earlier_writes=(*subtask.earlier_writes, *earlier_writes))
    member = request.find_enclosing_run(subtask).members.get(specialist)
    if member is None or member.crew is None:
        return request, subtask
    remaining_seconds = max(
        0.0, min(member.crew.job_seconds - subtask.spent_seconds, request.find_enclosing_run(subtask).terms.job_seconds)
    )
    own = {"job_seconds": remaining_seconds, "subtask_seconds": min(member.crew.subtask_seconds, remaining_seconds)}
    terms = Terms.model_validate({**member.crew.model_dump(), **own})
    return request, replace(subtask, run=PlanRun(within=subtask.spec.id, terms=terms, clock_started=at))


def combine_results(request: RequestState, run: PlanRun, content: str = "") -> Result | None:
    """Combine the results of a run into one; return None if there are none. `content` is the answer made from them.

    Findings that several results share are merged, and unsure ones are left out if `terms.unsure` is `apart`. The usage
    is empty, since the usage of the attempts is charged already.
    """
    results = [(subtask, subtask.result) for subtask in request.list_subtasks(run.within) if subtask.result is not None]
    if run.chosen_subtask:
        results = [(subtask, result) for subtask, result in results if subtask.spec.id == run.chosen_subtask]
    if not results:
        return None
    files = {file.id: file for _, result in results for file in result.artifacts}
    evidence = dict.fromkeys(line for _, result in results for line in result.evidence)
    only_result = results[0][1] if len(results) == 1 else None
    texts = [render_subtask_result(request, run, subtask) for subtask, _ in results]
    joined_texts = "\n\n".join(
        f"## {subtask.spec.title}\n{text}" for (subtask, _), text in zip(results, texts, strict=True)
    )
    return Result(
        summary=only_result.summary if only_result is not None else _summarize_results(results),
        content=content or (texts[0] if only_result is not None else joined_texts),
        findings=_merge_findings(request, run, [result for _, result in results]),
        confidence=min(result.confidence for _, result in results),
        artifacts=tuple(files.values()),
        gaps=list_answer_gaps(request, run),
        evidence=tuple(evidence),
        unsupported=run.unsupported_figures or tuple(one for _, result in results for one in result.unsupported),
    )


def _merge_findings(request: RequestState, run: PlanRun, results: list[Result]) -> tuple[Finding, ...]:
    least = run.terms.confidence if run.terms.unsure == "apart" else 0
    each = dict.fromkeys(one for result in results for one in result.findings if one.confidence >= least)
    if len(results) == 1:
        return tuple(each)
    graded_findings = (one.finding for one in list_graded_findings(request, run))
    return tuple(dict.fromkeys((*graded_findings, *(one for one in each if not is_graded(one)))))


def _summarize_results(results: list[tuple[SubtaskState, Result]]) -> str:
    """Return one line for each result, each cut to an equal share of `MAX_SUMMARY_LENGTH`."""
    share = max(120, MAX_SUMMARY_LENGTH // len(results))
    lines = []
    for subtask, result in results:
        text = " ".join(result.summary.split())
        lines.append(f"{subtask.spec.title}: {text if len(text) <= share else text[: share - 1] + '…'}")
    return "\n".join(lines)


def make_crew_outcome(request: RequestState, subtask: SubtaskState, at: float) -> ev.ResultReturned | ev.AttemptFailed:
    """Return the outcome of a crew's run as an event for the enclosing run.

    A result that people read unchanged (`is_answer_unchanged`) is not checked again: it was checked as an answer.
    Raises ValueError while the run is not concluded.
    """
    run = request.get_run(subtask.spec.id)
    took = max(0.0, at - subtask.attempt_started - run.paused_seconds)
    event_fields = {
        "at": at,
        "request": request.id,
        "subtask": subtask.spec.id,
        "attempt": subtask.attempt,
        "took": took,
    }
    if run.failure is not None:
        message = f"{run.failure.step}: {run.failure.reason}"
        return ev.AttemptFailed.model_validate({**event_fields, "kind": "crew", "message": message})
    result = combine_results(request, run, run.answer or "")
    if run.answer is None or result is None:
        raise ValueError(f"subtask {subtask.spec.id} is not concluded")
    results = [one.result for one in request.list_subtasks(run.within) if one.result is not None]
    task_texts = (request.text, subtask.brief_text)
    said_by_people = "\n\n".join([*task_texts, *(note.text for note in subtask.answer_notes)])
    done_when, sources = subtask.spec.done_when, _list_finding_sources(results)
    subject = result_checks.CheckSubject(
        result, said_by_people, done_when, _list_comparison_texts(results), sources, tasks=task_texts
    )
    remarks = (
        result_checks.run_checks(subject) if not is_answer_unchanged(request, run) else result_checks.CheckRemarks()
    )
    return ev.ResultReturned.model_validate(
        {**event_fields, "result": result, "faults": remarks.faults, "doubts": remarks.doubts}
    )


def _list_comparison_texts(results: list[Result]) -> tuple[str, ...]:
    """Return the texts that the combined result is compared with: the results, and their lines of tool replies."""
    return tuple(text for result in results for text in (*result.evidence, render_result(result)))


def _list_finding_sources(results: list[Result]) -> tuple[str, ...]:
    findings: list[Finding] = [finding for result in results for finding in result.findings]
    return tuple(dict.fromkeys(finding.source for finding in findings if finding.source))
