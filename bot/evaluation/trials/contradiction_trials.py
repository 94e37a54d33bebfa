"""Contradictions: pairs of results on one question, by the way in which the product finds them."""

from __future__ import annotations

from bot.evaluation.cases import ContradictionCase, GivenResult
from bot.evaluation.counted_model import CountedModel
from bot.evaluation.naive_prompts import ask_naively, yes_or_no
from bot.evaluation.outcome import Outcome
from bot.evaluation.staged_job import CaseBench
from bot.evaluation.trials.given_results import stage_results


async def contradiction_product(case: ContradictionCase, bench: CaseBench, model: CountedModel) -> Outcome:
    """Have the product make an answer of two results, and see if it finds that they contradict each other."""
    one, *more = bench.crew.specialists
    other = more[0] if more else one
    results = (
        GivenResult(by=one, title=f"{case.question} (first)", content=case.a),
        GivenResult(by=other, title=f"{case.question} (second)", content=case.b),
    )
    job = stage_results(bench, model, case.question, results, verifier=True)
    await job.play(lambda ask: ask.run.verified is not None)
    verified = job.ask.run.verified
    found = verified is not None and bool(verified.contradictions)
    return _score_case(case, found=found, said="; ".join(f"{one.what}: {one.why}" for one in job.ask.decisions))


async def contradiction_naive(case: ContradictionCase, _bench: CaseBench, model: CountedModel) -> Outcome:
    """Ask whether two statements contradict each other."""
    text = await ask_naively(model, "contradictions", f"A: {case.a}\nB: {case.b}")
    return _score_case(case, found=yes_or_no(text) or False, said=text)


def _score_case(case: ContradictionCase, *, found: bool, said: str) -> Outcome:
    right = found == case.contradict
    measure = "contradictions found" if case.contradict else "harmless pairs called contradictions"
    why = "" if right else ("not found" if case.contradict else "there is none")
    return Outcome(right, said, why, {measure: found})
