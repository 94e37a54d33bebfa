"""Putting results together: from results that a case gives to the answer, by all the steps that the product takes."""

from __future__ import annotations

from collections.abc import Iterator

from bot.evaluation.answer_texts import contains_words, count_occurrences, find_leak, find_unmarked_figures
from bot.evaluation.cases import AggregationCase, ExpectedCoverage
from bot.evaluation.counted_model import CountedModel
from bot.evaluation.naive_prompts import ask_naively
from bot.evaluation.outcome import Outcome
from bot.evaluation.staged_job import CaseBench
from bot.evaluation.trials.given_results import stage_results


async def aggregate(case: AggregationCase, bench: CaseBench, model: CountedModel) -> Outcome:
    """Have the product make the answer."""
    job = stage_results(bench, model, case.input, case.results, instruction=case.instruction)
    await job.play(lambda ask: ask.run.concluded)
    run = job.ask.run
    if run.answer is None:
        return Outcome(False, "", f"no answer: {run.failure.reason if run.failure else job.ask.state}")
    return _score_answer(case, run.answer)


async def aggregate_naively(case: AggregationCase, _bench: CaseBench, model: CountedModel) -> Outcome:
    """Give the results to a plain supervisor's prompt, as messages of its agents."""
    said = [
        f"{one.by}: " + (f"(failed: {one.failed})" if one.failed else " ".join([one.content, *one.gaps]))
        for one in case.results
    ]
    text = "\n\n".join([f"user: {case.input}", *said])
    return _score_answer(case, await ask_naively(model, "synthesizer", text))


def _score_answer(case: AggregationCase, text: str) -> Outcome:
    expected = case.expect
    faults = {
        "planted facts kept": list(_find_lost_facts(expected, text)),
        "contradictions shown": list(_find_hidden_sides(expected, text)),
        "gaps told": list(_find_missing_gaps(expected, text)),
        "duplicates merged": [f"{one!r} is told twice" for one in expected.once if count_occurrences(text, one) > 1],
    }
    wrong = [f"{words!r} is in it" for words in expected.must_not if contains_words(text, words)]
    asked = {
        "planted facts kept": expected.facts,
        "contradictions shown": expected.both,
        "gaps told": expected.gaps,
        "duplicates merged": expected.once,
    }
    measures = {name: not faults[name] for name, given in asked.items() if given}
    known = [case.input, *(part for one in case.results for part in (one.title, one.content, one.source, one.failed))]
    measures["a figure that follows from no result, unmarked"] = bool(
        find_unmarked_figures(text, [*known, *_list_gaps(case)])
    )
    measures["a tool call, schema or heading in the answer"] = bool(find_leak(text))
    said = [fault for listed in faults.values() for fault in listed] + wrong
    return Outcome(not said, text, "; ".join(said), measures)


def _list_gaps(case: AggregationCase) -> list[str]:
    return [gap for one in case.results for gap in one.gaps]


def _find_lost_facts(expected: ExpectedCoverage, text: str) -> Iterator[str]:
    yield from (f"{fact!r} is lost" for fact in expected.facts if not contains_words(text, fact))


def _find_hidden_sides(expected: ExpectedCoverage, text: str) -> Iterator[str]:
    for sides in expected.both:
        if lost := [side for side in sides if not contains_words(text, side)]:
            yield f"of {' and '.join(sides)} it lacks {', '.join(lost)}"


def _find_missing_gaps(expected: ExpectedCoverage, text: str) -> Iterator[str]:
    for words in expected.gaps:
        if not any(contains_words(text, one) for one in words):
            yield f"it says nothing of {' or '.join(words)}"
