"""The verifier itself, on statements beside passages: what it refutes, what it does not find, and what it lets pass."""

from __future__ import annotations

from typing import Any

from bot.evaluation.cases import GivenResult, VerifierCase
from bot.evaluation.counted_model import CountedModel
from bot.evaluation.naive_prompts import ask_naively
from bot.evaluation.outcome import Outcome
from bot.evaluation.staged_job import CaseBench
from bot.evaluation.trials.given_results import stage_results

REQUEST = "What does the attached text say?"
SOURCE = "source.txt"


async def verify_product(case: VerifierCase, bench: CaseBench, model: CountedModel) -> Outcome:
    """Have the verifier read an answer of one sentence, beside an attached text."""
    by = next(iter(bench.crew.specialists))
    given = GivenResult(by=by, title="The text", content=case.statement, source=SOURCE)
    job = stage_results(bench, model, REQUEST, (given,), verifier=True, texts={SOURCE: case.passage})
    effect = job.due("verifier")
    if effect is None:
        return _score_verdict(case, "no verdict", "the verifier was not asked")
    event: Any = await job.perform(effect)
    if model.errors or event.doubt.startswith("the verifier"):
        return _score_verdict(case, "no verdict", event.doubt)
    found = "contradicted" if event.refuted else "not_found" if event.unfound else "supported"
    said = "; ".join((*(one.evidence.quotation for one in event.refuted), *event.unfound, event.doubt))
    return _score_verdict(case, found, said)


async def verify_naively(case: VerifierCase, _bench: CaseBench, model: CountedModel) -> Outcome:
    """Ask whether a text bears a statement out."""
    text = await ask_naively(model, "verifier", f"Text: {case.passage}\nStatement: {case.statement}")
    first = text.strip().strip("\"'*.").casefold()
    found = next((one for one in ("supported", "contradicted", "not found") if first.startswith(one)), "no verdict")
    return _score_verdict(case, found.replace(" ", "_") if found != "no verdict" else found, text)


def _score_verdict(case: VerifierCase, found: str, said: str) -> Outcome:
    """Score a verdict. What people see is whether a statement is marked: so both kinds of mark count as one there."""
    right = found == case.expect
    marked = found in {"contradicted", "not_found"}
    measure = "right statements marked" if case.expect == "supported" else "wrong statements let pass"
    return Outcome(
        right,
        said,
        "" if right else f"{found}, not {case.expect}",
        {measure: marked if case.expect == "supported" else not marked},
    )
