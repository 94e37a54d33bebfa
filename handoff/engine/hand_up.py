"""A crew at a subtask of the crew around it: how it begins, and what it hands up when all inside has ended. Pure."""

from __future__ import annotations

from types import MappingProxyType

from handoff import events as ev
from handoff.answering.disputes import with_contradictions
from handoff.answering.material import whole
from handoff.checking import checks
from handoff.contracts import Finding, Handoff, Result, Terms
from handoff.engine.answer import told
from handoff.engine.nested import all_inside, below, members_of, terms_of
from handoff.state import Ask, Job, Level, Work, replace, written

SUMMARY = 1_200
"""Characters of a summary that is made of those of several results."""


def opened(ask: Ask, work: Work, specialist: str, at: float) -> tuple[Ask, Work]:
    """Both as an attempt begins, from when the time of a crew runs.

    Nothing is inside by then: of an earlier attempt only what it wrote is kept.
    """
    if work.level is not None:
        gone = all_inside(ask, work.subtask.id)
        wrote = [one for each in gone for one in (*each.writes, *written(each.checkpoints))]
        names = {each.subtask.id for each in gone}
        kept = {name: each for name, each in ask.work.items() if name not in names}
        ask = replace(ask, work=MappingProxyType(kept))
        work = replace(work, level=None, writes=(*work.writes, *wrote))
    member = members_of(ask, work.within).get(specialist)
    if member is None or member.crew is None:
        return ask, work
    left = max(0.0, min(member.crew.job_seconds - work.spent, terms_of(ask, work.within).job_seconds))
    own = {"job_seconds": left, "subtask_seconds": min(member.crew.subtask_seconds, left)}
    terms = Terms.model_validate({**member.crew.model_dump(), **own})
    return ask, replace(work, level=Level(terms=terms, planned=at))


def job_of(job: Job, view: Ask, handoff: Handoff) -> Job:
    """The job as the planner of a crew inside the crew sees it: what it was given, and nothing of the thread."""
    return Job(place=job.place, asks=(replace(view, artifacts=handoff.artifacts),))


def gathered(view: Ask, content: str = "") -> Result | None:
    """What came back inside, as one result; None where nothing did. `content`: what was made of it, if anything.

    Its usage is charged already where it was spent.
    """
    results = [(work, work.result) for work in view.own if work.result is not None]
    if view.chosen:
        results = [(work, result) for work, result in results if work.subtask.id == view.chosen]
    if not results:
        return None
    findings = dict.fromkeys(finding for _, result in results for finding in result.findings)
    files = {file.id: file for _, result in results for file in result.artifacts}
    evidence = dict.fromkeys(line for _, result in results for line in result.evidence)
    alone = results[0][1] if len(results) == 1 else None
    apart = "\n\n".join(f"## {work.subtask.title}\n{whole(result)}" for work, result in results)
    return Result(
        summary=alone.summary if alone is not None else _summary(results),
        content=content or with_contradictions(whole(alone) if alone is not None else apart, told(view)),
        findings=tuple(findings),
        confidence=min(result.confidence for _, result in results),
        artifacts=tuple(files.values()),
        gaps=view.gaps,
        evidence=tuple(evidence),
    )


def _summary(results: list[tuple[Work, Result]]) -> str:
    """One line a result, those on which no other builds last; the longest are cut where they are too many."""
    share = max(120, SUMMARY // len(results))
    lines = []
    for work, result in results:
        text = " ".join(result.summary.split())
        lines.append(f"{work.subtask.title}: {text if len(text) <= share else text[: share - 1] + '…'}")
    return "\n".join(lines)


def handed_up(ask: Ask, work: Work, at: float) -> ev.ResultReturned | ev.AttemptFailed:
    """What a crew that is through with a subtask says of it to the crew around it. Raises ValueError before that."""
    view = below(ask, work.subtask.id)
    took = max(0.0, at - work.attempt_started - view.paused)
    of = {"at": at, "request": ask.id, "subtask": work.subtask.id, "attempt": work.attempt, "took": took}
    if view.failure is not None:
        message = f"{view.failure.step}: {view.failure.reason}"
        return ev.AttemptFailed.model_validate({**of, "kind": "crew", "message": message})
    result = gathered(view, view.answer or "")
    if view.answer is None or result is None:
        raise ValueError(f"subtask {work.subtask.id} is not through")
    seen = checks.Seen(result, work.brief or work.subtask.intent, work.subtask.done_when, _said(view), _sources(view))
    found = checks.look(seen)
    return ev.ResultReturned.model_validate({**of, "result": result, "faults": found.faults, "doubts": found.doubts})


def _said(view: Ask) -> tuple[str, ...]:
    """What the figures of an answer are held against: what came back inside, and what tools said there."""
    results = [work.result for work in view.own if work.result is not None]
    return tuple(text for result in results for text in (*result.evidence, whole(result)))


def _sources(view: Ask) -> tuple[str, ...]:
    found: list[Finding] = [finding for work in view.own if work.result for finding in work.result.findings]
    return tuple(dict.fromkeys(finding.source for finding in found if finding.source))
