"""Makes jobs in memory whose subtasks have ended with the results of a case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from bot.evaluation.cases import CannedResult
from bot.evaluation.counting_model import CountingModel
from bot.evaluation.staged_job import REQUEST_ID, CaseEnvironment, StagedJob
from handoff import events as ev
from handoff.contracts import Finding, Plan, Result, Strategy, Subtask


def stage_job_with_results(
    environment: CaseEnvironment,
    model: CountingModel,
    request: str,
    results: Sequence[CannedResult],
    *,
    strategy: Strategy = "merge",
    instruction: str = "",
    with_verifier: bool = False,
    texts: Mapping[str, str] = MappingProxyType({}),
) -> StagedJob:
    """Return a job whose subtasks have ended with `results`, so that only the answer is left to be written.

    `texts` are attached to the request as files, by file name. With `with_verifier`, the answer is verified.
    """
    job = StagedJob(environment, model, request, texts=texts)
    subtasks = tuple(
        Subtask(id=f"part{number}", title=one.title, intent=f"{one.title}, as it was asked for", specialist=one.by)
        for number, one in enumerate(results, start=1)
    )
    plan = Plan(goal=request, subtasks=subtasks, strategy=strategy, instruction=instruction)
    job.set_plan(plan, with_verifier=with_verifier, with_fallbacks=False)
    for subtask, canned_result in zip(subtasks, results, strict=True):
        event_fields: dict[str, Any] = {"at": job.now(), "request": REQUEST_ID, "subtask": subtask.id, "attempt": 1}
        job.report_soon(ev.AttemptStarted(**event_fields, specialist=canned_result.by, tier="balanced"))
        if canned_result.failed:
            job.report_soon(ev.AttemptFailed(**event_fields, kind="unavailable", message=canned_result.failed))
        else:
            job.report_soon(ev.ResultReturned(**event_fields, result=_make_result(canned_result), private=False))
    return job


def _make_result(canned_result: CannedResult) -> Result:
    findings = (
        (Finding(message=canned_result.title, source=canned_result.source, confidence=canned_result.confidence),)
        if canned_result.source
        else ()
    )
    return Result(
        summary=canned_result.content,
        content=canned_result.content,
        findings=findings,
        confidence=canned_result.confidence,
        gaps=canned_result.gaps,
    )
