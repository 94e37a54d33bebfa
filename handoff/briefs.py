"""Builds the handoff of a subtask from the state of the job: its brief, its context, its files."""

from __future__ import annotations

from handoff.contracts import Artifact, Constraints, Handoff, Note
from handoff.job import Ask, Job, Work

WHOLE_CONTENT = 3_000
"""Characters up to which a dependency's whole content is passed on; beyond, only its summary."""
ATTEMPT_SECONDS = 300.0


def handoff_for(job: Job, ask: Ask, work: Work) -> Handoff:
    """What the specialist of this subtask gets, and nothing else."""
    return Handoff(
        to_agent=work.specialist,
        intent=work.subtask.intent,
        context=(*_dependencies(ask, work), *work.answers, *_lessons(work), *_written(work)),
        artifacts=_files(job, ask, work),
        constraints=Constraints(tier=work.tier or "balanced", timeout=ATTEMPT_SECONDS),
    )


def _dependencies(ask: Ask, work: Work) -> list[Note]:
    notes = []
    for name in work.subtask.after:
        other = ask.work[name]
        if other.result is None:
            text = f"(not available: {other.reason}. Work without it, and say what is missing.)"
        elif 0 < len(other.result.content) <= WHOLE_CONTENT:
            text = other.result.content
        else:
            text = other.result.summary
        notes.append(Note(source=other.subtask.title, text=text))
    return notes


def _lessons(work: Work) -> list[Note]:
    """What earlier attempts failed at, so that the next one can avoid it."""
    return [Note(source="An earlier attempt failed", text=work.failures[-1])] if work.failures else []


def _written(work: Work) -> list[Note]:
    """What earlier attempts wrote, or may have written: it must not be written again."""
    if not work.writes:
        return []
    known = {True: "carried out", False: "may have been carried out"}
    lines = [f"- {known[one.known]}: {one.what}" for one in work.writes]
    return [Note(source="Already begun in an earlier attempt (do not do it again)", text="\n".join(lines))]


def _files(job: Job, ask: Ask, work: Work) -> tuple[Artifact, ...]:
    """What people attached in this thread so far, and what the direct dependencies made."""
    files = {
        artifact.id: artifact
        for earlier in job.asks
        for artifact in earlier.artifacts
        if earlier.request.at <= ask.request.at
    }
    for name in work.subtask.after:
        result = ask.work[name].result
        files.update({artifact.id: artifact for artifact in (result.artifacts if result else ())})
    return tuple(files.values())
