"""Trials of answers: aggregating results, finding contradictions, and verifying statements."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bot.evaluation.answer_search import contains_words, count_occurrences, find_leak, find_unmarked_figures
from bot.evaluation.cases import AggregationCase, CannedResult, ContradictionCase, ExpectedCoverage, VerifierCase
from bot.evaluation.counting_model import CountingModel
from bot.evaluation.naive_prompts import call_baseline, parse_yes_or_no
from bot.evaluation.outcome import CaseOutcome
from bot.evaluation.staged_job import CaseEnvironment
from bot.evaluation.trials.canned_results import stage_job_with_results


async def aggregate_results(case: AggregationCase, environment: CaseEnvironment, model: CountingModel) -> CaseOutcome:
    """Have the product write an answer from the results, and score the answer."""
    job = stage_job_with_results(environment, model, case.input, case.results, instruction=case.instruction)
    await job.play(lambda request: request.run.is_concluded)
    run = job.request.run
    if run.answer is None:
        return CaseOutcome(False, "", f"no answer: {run.failure.reason if run.failure else job.request.state}")
    return _score_answer(case, run.answer)


async def aggregate_results_naively(
    case: AggregationCase, _environment: CaseEnvironment, model: CountingModel
) -> CaseOutcome:
    """Call a plain synthesizer prompt with the results as messages of agents, and score its answer."""
    messages = [
        f"{one.by}: " + (f"(failed: {one.failed})" if one.failed else " ".join([one.content, *one.gaps]))
        for one in case.results
    ]
    text = "\n\n".join([f"user: {case.input}", *messages])
    return _score_answer(case, await call_baseline(model, "synthesizer", text))


def _score_answer(case: AggregationCase, text: str) -> CaseOutcome:
    expected = case.expect
    faults = {
        "planted facts kept": list(_find_lost_facts(expected, text)),
        "contradictions shown": list(_find_missing_sides(expected, text)),
        "gaps told": list(_find_missing_gaps(expected, text)),
        "duplicates merged": [f"{one!r} is told twice" for one in expected.once if count_occurrences(text, one) > 1],
    }
    wrong = [f"{words!r} is in it" for words in expected.must_not if contains_words(text, words)]
    expected_by_measure = {
        "planted facts kept": expected.facts,
        "contradictions shown": expected.both,
        "gaps told": expected.gaps,
        "duplicates merged": expected.once,
    }
    measures = {name: not faults[name] for name, expected_items in expected_by_measure.items() if expected_items}
    source_texts = [
        case.input,
        *(part for one in case.results for part in (one.title, one.content, one.source, one.failed)),
    ]
    measures["a figure that follows from no result, unmarked"] = bool(
        find_unmarked_figures(text, [*source_texts, *_list_gaps(case)])
    )
    measures["a tool call, schema or heading in the answer"] = bool(find_leak(text))
    all_faults = [fault for measure_faults in faults.values() for fault in measure_faults] + wrong
    return CaseOutcome(not all_faults, text, "; ".join(all_faults), measures)


def _list_gaps(case: AggregationCase) -> list[str]:
    return [gap for one in case.results for gap in one.gaps]


def _find_lost_facts(expected: ExpectedCoverage, text: str) -> Iterator[str]:
    yield from (f"{fact!r} is lost" for fact in expected.facts if not contains_words(text, fact))


def _find_missing_sides(expected: ExpectedCoverage, text: str) -> Iterator[str]:
    for sides in expected.both:
        if missing_sides := [side for side in sides if not contains_words(text, side)]:
            yield f"of {' and '.join(sides)} it lacks {', '.join(missing_sides)}"


def _find_missing_gaps(expected: ExpectedCoverage, text: str) -> Iterator[str]:
    for words in expected.gaps:
        if not any(contains_words(text, one) for one in words):
            yield f"it says nothing of {' or '.join(words)}"


async def score_contradiction_check(
    case: ContradictionCase, environment: CaseEnvironment, model: CountingModel
) -> CaseOutcome:
    """Have the product write an answer from two results, and score whether its verifier finds a contradiction."""
    one, *more = environment.crew.specialists
    other = more[0] if more else one
    results = (
        CannedResult(by=one, title=f"{case.question} (first)", content=case.a),
        CannedResult(by=other, title=f"{case.question} (second)", content=case.b),
    )
    job = stage_job_with_results(environment, model, case.question, results, with_verifier=True)
    await job.play(lambda request: request.run.verification is not None)
    verification = job.request.run.verification
    has_contradiction = verification is not None and bool(verification.contradictions)
    return _score_contradiction(
        case,
        found_contradiction=has_contradiction,
        reply="; ".join(f"{one.what}: {one.why}" for one in job.request.decisions),
    )


async def score_contradiction_naively(
    case: ContradictionCase, _environment: CaseEnvironment, model: CountingModel
) -> CaseOutcome:
    """Call a plain prompt that asks whether two statements contradict each other, and score its reply."""
    text = await call_baseline(model, "contradictions", f"A: {case.a}\nB: {case.b}")
    return _score_contradiction(case, found_contradiction=parse_yes_or_no(text) or False, reply=text)


def _score_contradiction(case: ContradictionCase, *, found_contradiction: bool, reply: str) -> CaseOutcome:
    right = found_contradiction == case.contradict
    measure = "contradictions found" if case.contradict else "harmless pairs called contradictions"
    why = "" if right else ("not found" if case.contradict else "there is none")
    return CaseOutcome(right, reply, why, {measure: found_contradiction})


VERIFIER_REQUEST = "What does the attached text say?"
SOURCE_FILE = "source.txt"


async def verify_statement(case: VerifierCase, environment: CaseEnvironment, model: CountingModel) -> CaseOutcome:
    """Have the verifier compare an answer of one sentence with an attached text, and score its verdict."""
    by = next(iter(environment.crew.specialists))
    canned_result = CannedResult(by=by, title="The text", content=case.statement, source=SOURCE_FILE)
    job = stage_job_with_results(
        environment, model, VERIFIER_REQUEST, (canned_result,), with_verifier=True, texts={SOURCE_FILE: case.passage}
    )
    effect = job.find_due_effect("verifier")
    if effect is None:
        return _score_verdict(case, "no verdict", "the verifier was not asked")
    event: Any = await job.perform(effect)
    if model.errors or event.doubt.startswith("the verifier"):
        return _score_verdict(case, "no verdict", event.doubt)
    verdict = "contradicted" if event.refuted else "not_found" if event.unfound else "supported"
    reply = "; ".join((*(one.evidence.quotation for one in event.refuted), *event.unfound, event.doubt))
    return _score_verdict(case, verdict, reply)


async def verify_statement_naively(
    case: VerifierCase, _environment: CaseEnvironment, model: CountingModel
) -> CaseOutcome:
    """Call a plain prompt that asks whether a text supports a statement, and score its verdict."""
    text = await call_baseline(model, "verifier", f"Text: {case.passage}\nStatement: {case.statement}")
    first = text.strip().strip("\"'*.").casefold()
    verdict = next((one for one in ("supported", "contradicted", "not found") if first.startswith(one)), "no verdict")
    return _score_verdict(case, verdict.replace(" ", "_") if verdict != "no verdict" else verdict, text)


def _score_verdict(case: VerifierCase, verdict: str, reply: str) -> CaseOutcome:
    """Score a verdict. The measure does not distinguish contradicted from not found: people see the same mark."""
    right = verdict == case.expect
    is_marked = verdict in {"contradicted", "not_found"}
    measure = "right statements marked" if case.expect == "supported" else "wrong statements let pass"
    return CaseOutcome(
        right,
        reply,
        "" if right else f"{verdict}, not {case.expect}",
        {measure: is_marked if case.expect == "supported" else not is_marked},
    )
