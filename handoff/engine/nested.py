"""Runs inside a run: a subtask of a crew has a plan, subtasks and an end of its own.

All subtasks of a request are in `RequestState.work`, each with `within`, the id of its enclosing subtask. The `PlanRun`
of a crew is in the subtask that it works on. It begins with the attempt (`begin_attempt`) and ends with its outcome for
the enclosing run (`make_crew_outcome`), which counts like a specialist's result or failure.
"""

from __future__ import annotations

from types import MappingProxyType

from handoff import events as ev
from handoff.answering.findings import is_graded
from handoff.answering.material import render_result
from handoff.checking import checks
from handoff.contracts import PATH_SEPARATOR, Finding, Plan, Result, Terms
from handoff.engine.answer import list_answer_gaps, list_graded_findings, render_subtask_result
from handoff.state.job_state import PlanRun, RequestState, SubtaskState, replace
from handoff.state.state_values import EarlierWrite

ATTEMPT_MARK = "~"
"""The mark before the attempt's number in the ids of subtasks inside a second or later attempt. It keeps ids unique."""
MAX_SUBTASKS_IN_ALL = 60
"""The most subtasks of a request in all its runs together, as plans inside plans could multiply."""
MAX_SUMMARY_LENGTH = 1_200
"""The most characters of a summary that joins those of several results."""


def is_crew_working(work: SubtaskState) -> bool:
    """Return True while a crew works on a subtask."""
    under_way = work.state in {"in_progress", "input_required"} and work.question is None
    return work.run is not None and under_way


def find_crew_path(ask: RequestState, within: str) -> str:
    """Return the path (see `specialists.registry.Crew`) of the crew that works on the subtask `within`.

    It is empty for the outermost crew.
    """
    return ask.work[within].specialist if within else ""


def find_enclosing_plan(ask: RequestState, work: SubtaskState) -> Plan | None:
    """Return the plan that a subtask belongs to; None if its run no longer has a plan."""
    outer = ask.work.get(work.within)
    return ask.run.plan if not work.within else outer.run.plan if outer is not None and outer.run is not None else None


def has_left_plan(ask: RequestState, work: SubtaskState) -> bool:
    """Return True if a subtask was dropped and is in no plan any more. If its `only_for` dropped it, it still is."""
    plan = find_enclosing_plan(ask, work)
    return work.dropped and (plan is None or work.subtask.id not in {one.id for one in plan.subtasks})


def build_run_brief(ask: RequestState, run: PlanRun) -> str:
    """Return the task of a run: the brief of a crew's subtask, or the request's text with answers to the planner."""
    if run.within:
        return ask.work[run.within].brief_text
    return "\n\n".join((ask.text, *(f"{note.source}\n{note.text}" for note in ask.answer_notes)))


def list_earlier_writes(ask: RequestState, work: SubtaskState) -> tuple[EarlierWrite, ...]:
    """Return the calls that earlier attempts at a subtask and at its enclosing subtasks made or may have made.

    The calls of the subtask that it replaces, and of those inside that one, are included.
    """
    outer, replaced = ask.work.get(work.within), ask.work.get(work.instead_of)
    found = work.writes if replaced is None else (*work.writes, *list_earlier_writes(ask, replaced))
    for one in ask.list_all_subtasks(replaced.subtask.id) if replaced is not None else ():
        found += one.writes
    return tuple(dict.fromkeys(found if outer is None else (*found, *list_earlier_writes(ask, outer))))


def is_read_unchanged(ask: RequestState, run: PlanRun) -> bool:
    """Return True if people read the answer of a run unchanged.

    This holds for the request's own run, and for a crew's run if its subtask is the only one of such a run.
    """
    if not run.within:
        return True
    work = ask.work[run.within]
    around = ask.find_enclosing_run(work)
    alone = sum(not one.dropped for one in ask.list_subtasks(work.within)) == 1
    return alone and is_read_unchanged(ask, around)


def count_subtasks_left(ask: RequestState) -> int:
    """Return how many more subtasks a request may have, in all its runs together."""
    return max(0, MAX_SUBTASKS_IN_ALL - len(ask.work))


def prefix_plan_ids(enclosing: SubtaskState, plan: Plan) -> Plan:
    """Return a crew's plan with its ids prefixed by that of the subtask `enclosing`, as in `RequestState.work`."""
    again = f"{ATTEMPT_MARK}{enclosing.attempt}" if enclosing.attempt > 1 else ""

    def make_id(short: str) -> str:
        return f"{enclosing.subtask.id}{PATH_SEPARATOR}{short}{again}"

    subtasks = tuple(
        one.model_copy(update={"id": make_id(one.id), "after": tuple(make_id(other) for other in one.after)})
        for one in plan.subtasks
    )
    return plan.model_copy(update={"subtasks": subtasks})


# ---------------------------------------------------------------- how a crew's run begins and ends


def begin_attempt(
    ask: RequestState, work: SubtaskState, specialist: str, at: float
) -> tuple[RequestState, SubtaskState]:
    """Return the request and the subtask for the begin of an attempt, with a new run if `specialist` is a crew.

    The subtasks inside an earlier attempt are removed; only their writes are kept.
    """
    if work.run is not None:
        gone = ask.list_all_subtasks(work.subtask.id)
        wrote = [one for each in gone for one in each.all_writes]
        names = {each.subtask.id for each in gone}
        kept = {name: each for name, each in ask.work.items() if name not in names}
        ask = replace(ask, work=MappingProxyType(kept))
        work = replace(work, run=None, writes=(*work.writes, *wrote))
    member = ask.find_enclosing_run(work).members.get(specialist)
    if member is None or member.crew is None:
        return ask, work
    left = max(0.0, min(member.crew.job_seconds - work.spent, ask.find_enclosing_run(work).terms.job_seconds))
    own = {"job_seconds": left, "subtask_seconds": min(member.crew.subtask_seconds, left)}
    terms = Terms.model_validate({**member.crew.model_dump(), **own})
    return ask, replace(work, run=PlanRun(within=work.subtask.id, terms=terms, since=at))


def combine_results(ask: RequestState, run: PlanRun, content: str = "") -> Result | None:
    """Combine the results of a run into one; return None if there are none. `content` is the answer made from them.

    Findings that several results share are merged, and unsure ones are left out if the terms keep them apart. The usage
    is empty, since that of the attempts is charged already.
    """
    results = [(work, work.result) for work in ask.list_subtasks(run.within) if work.result is not None]
    if run.chosen:
        results = [(work, result) for work, result in results if work.subtask.id == run.chosen]
    if not results:
        return None
    files = {file.id: file for _, result in results for file in result.artifacts}
    evidence = dict.fromkeys(line for _, result in results for line in result.evidence)
    alone = results[0][1] if len(results) == 1 else None
    texts = [render_subtask_result(ask, run, work) for work, _ in results]
    apart = "\n\n".join(f"## {work.subtask.title}\n{text}" for (work, _), text in zip(results, texts, strict=True))
    return Result(
        summary=alone.summary if alone is not None else _summarize_results(results),
        content=content or (texts[0] if alone is not None else apart),
        findings=_merge_findings(ask, run, [result for _, result in results]),
        confidence=min(result.confidence for _, result in results),
        artifacts=tuple(files.values()),
        gaps=list_answer_gaps(ask, run),
        evidence=tuple(evidence),
        unsupported=run.unsupported or tuple(one for _, result in results for one in result.unsupported),
    )


def _merge_findings(ask: RequestState, run: PlanRun, results: list[Result]) -> tuple[Finding, ...]:
    least = run.terms.confidence if run.terms.unsure == "apart" else 0
    each = dict.fromkeys(one for result in results for one in result.findings if one.confidence >= least)
    if len(results) == 1:
        return tuple(each)
    graded = (one.finding for one in list_graded_findings(ask, run))
    return tuple(dict.fromkeys((*graded, *(one for one in each if not is_graded(one)))))


def _summarize_results(results: list[tuple[SubtaskState, Result]]) -> str:
    """Return one line for each result, each cut to an equal share of `MAX_SUMMARY_LENGTH`."""
    share = max(120, MAX_SUMMARY_LENGTH // len(results))
    lines = []
    for work, result in results:
        text = " ".join(result.summary.split())
        lines.append(f"{work.subtask.title}: {text if len(text) <= share else text[: share - 1] + '…'}")
    return "\n".join(lines)


def make_crew_outcome(ask: RequestState, work: SubtaskState, at: float) -> ev.ResultReturned | ev.AttemptFailed:
    """Return the outcome of a crew's run as an event for the enclosing run.

    A result that people read unchanged (`is_read_unchanged`) is not checked again: it was checked as an answer. Raises
    ValueError while the run is not concluded.
    """
    run = ask.get_run(work.subtask.id)
    took = max(0.0, at - work.attempt_started - run.paused)
    of = {"at": at, "request": ask.id, "subtask": work.subtask.id, "attempt": work.attempt, "took": took}
    if run.failure is not None:
        message = f"{run.failure.step}: {run.failure.reason}"
        return ev.AttemptFailed.model_validate({**of, "kind": "crew", "message": message})
    result = combine_results(ask, run, run.answer or "")
    if run.answer is None or result is None:
        raise ValueError(f"subtask {work.subtask.id} is not concluded")
    results = [one.result for one in ask.list_subtasks(run.within) if one.result is not None]
    asked = (ask.text, work.brief_text)
    said_by_people = "\n\n".join([*asked, *(note.text for note in work.answers)])
    done_when, sources = work.subtask.done_when, _list_finding_sources(results)
    seen = checks.CheckSubject(result, said_by_people, done_when, _list_comparison_texts(results), sources, tasks=asked)
    found = checks.run_checks(seen) if not is_read_unchanged(ask, run) else checks.CheckRemarks()
    return ev.ResultReturned.model_validate({**of, "result": result, "faults": found.faults, "doubts": found.doubts})


def _list_comparison_texts(results: list[Result]) -> tuple[str, ...]:
    """Return the texts that the combined result is compared with: the results, and their lines of tool replies."""
    return tuple(text for result in results for text in (*result.evidence, render_result(result)))


def _list_finding_sources(results: list[Result]) -> tuple[str, ...]:
    found: list[Finding] = [finding for result in results for finding in result.findings]
    return tuple(dict.fromkeys(finding.source for finding in found if finding.source))
