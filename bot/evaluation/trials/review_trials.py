"""The lenses of a review: does each find what was planted in a change, at its line, and how often does it cry wolf."""

from __future__ import annotations

from collections.abc import Iterable

from bot.evaluation.cases import ReviewCase
from bot.evaluation.counted_model import CountedModel
from bot.evaluation.naive_prompts import ask_naively
from bot.evaluation.outcome import Outcome
from bot.evaluation.staged_job import CaseBench, StagedJob, file_bytes
from handoff.answering.code_places import CodePlace, place_in
from handoff.contracts import Finding, Plan, Subtask

SHOWN = 80
"""The confidence from which on a finding counts: less sure ones are only counted in a review."""
DONE_WHEN = "Each fault is a finding with its path and line."


async def review_product(case: ReviewCase, bench: CaseBench, model: CountedModel) -> Outcome:
    """Have the lens look at the change as a part of a plan, with its real tools."""
    job = StagedJob(bench, model, case.input, case.files)
    part = Subtask(id="part", title=case.lens, intent=case.input, specialist=case.lens, done_when=DONE_WHEN)
    job.plan(Plan(goal=case.input, subtasks=(part,)), stand_ins=False)
    await job.play(lambda ask: ask.run.concluded)
    work = job.ask.work["part"]
    if work.result is None:
        return Outcome(False, work.reason, f"no result: {work.reason}", _measure_review(case, (), ()))
    found = work.result.findings
    said = "\n".join(_render_finding(one) for one in found) or "no findings"
    return _score_review(case, said, [one for one in found if one.confidence >= SHOWN], found)


async def review_naively(case: ReviewCase, bench: CaseBench, model: CountedModel) -> Outcome:
    """Ask the same model once, with the same files: a line of its reply that names a place is a finding."""
    texts = [f"## {name}\n{(file_bytes(name, bench.folders) or b'').decode()}" for name in case.files]
    reply = await ask_naively(model, "lens", "\n\n".join((f"Look for: {case.lens}. {case.input}", *texts)))
    found = [Finding(message=line, where=line) for line in reply.splitlines() if place_in(line)]
    return _score_review(case, reply, found, found)


def _score_review(case: ReviewCase, said: str, shown: Iterable[Finding], found: Iterable[Finding]) -> Outcome:
    seen = tuple(place for one in shown if (place := place_in(one.where)))
    missed = [place for place in case.expect if not _is_met(place, seen)]
    every = tuple(place for one in found if (place := place_in(one.where)))
    why = f"nothing shown at {', '.join(missed)}" if missed else ""
    return Outcome(not missed, said, why, _measure_review(case, seen, every))


def _measure_review(case: ReviewCase, seen: tuple[CodePlace, ...], every: tuple[CodePlace, ...]) -> dict[str, bool]:
    planted = [place for text in (*case.expect, *case.others) if (place := place_in(text))]
    wolf = any(not any(one.is_near(place) for place in planted) for one in seen)
    met = all(_is_met(place, seen) for place in case.expect)
    return {
        f"all found by {case.lens}": met,
        "all found, less sure ones counted": all(_is_met(place, every) for place in case.expect),
        "a false alarm among what is shown": wolf,
    }


def _is_met(text: str, found: Iterable[CodePlace]) -> bool:
    place = place_in(text)
    return place is not None and any(one.is_near(place) for one in found)


def _render_finding(one: Finding) -> str:
    return f"{one.confidence} {one.severity} {one.where}: {one.message}"
