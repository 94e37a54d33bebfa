"""Stages jobs whose subtasks have ended with the results of a case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from bot.evaluation.cases import GivenResult
from bot.evaluation.counted_model import CountingModel
from bot.evaluation.staged_job import REQUEST_ID, CaseEnvironment, StagedJob
from handoff import events as ev
from handoff.contracts import Finding, Plan, Result, Strategy, Subtask


def stage_job_with_results(
    environment: CaseEnvironment,
    model: CountingModel,
    request: str,
    results: Sequence[GivenResult],
    *,
    strategy: Strategy = "merge",
    instruction: str = "",
    verifier: bool = False,
    texts: Mapping[str, str] = MappingProxyType({}),
) -> StagedJob:
    """Return a job whose subtasks have ended with `results`, so that only the answer is left to be written.

    `texts` are attached to the request, by file name.
    """
    job = StagedJob(environment, model, request, texts=texts)
    subtasks = tuple(
        Subtask(id=f"part{number}", title=one.title, intent=f"{one.title}, as it was asked for", specialist=one.by)
        for number, one in enumerate(results, start=1)
    )
    plan = Plan(goal=request, subtasks=subtasks, strategy=strategy, instruction=instruction)
    job.set_plan(plan, with_verifier=verifier, with_fallbacks=False)
    for subtask, given in zip(subtasks, results, strict=True):
        of: dict[str, Any] = {"at": job.now(), "request": REQUEST_ID, "subtask": subtask.id, "attempt": 1}
        job.report_soon(ev.AttemptStarted(**of, specialist=given.by, tier="balanced"))
        if given.failed:
            job.report_soon(ev.AttemptFailed(**of, kind="unavailable", message=given.failed))
        else:
            job.report_soon(ev.ResultReturned(**of, result=_make_result(given), private=False))
    return job


def _make_result(given: GivenResult) -> Result:
    findings = (Finding(message=given.title, source=given.source, confidence=given.confidence),) if given.source else ()
    return Result(
        summary=given.content,
        content=given.content,
        findings=findings,
        confidence=given.confidence,
        gaps=given.gaps,
    )
