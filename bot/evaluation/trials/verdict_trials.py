"""The judge, the critic and the arbiter themselves, on labelled cases: what they refuse, and what they let pass."""

from __future__ import annotations

from typing import Any

from bot.evaluation.cases import ArbiterCase, CriticCase, JudgeCase, Statement
from bot.evaluation.counted_model import CountedModel
from bot.evaluation.naive_prompts import DEADLINE, ask_naively, yes_or_no
from bot.evaluation.outcome import Outcome
from bot.evaluation.staged_job import REQUEST, Bench, StagedJob
from bot.evaluation.trials.given_results import with_results
from bot.supervisor import arbiter
from bot.supervisor.prompts import prompt
from handoff import events as ev
from handoff.checking import checks
from handoff.contracts import Conflict, Plan, Result, Side, Subtask
from specialists.turns.model import ModelCall, ModelMessage

NO_VERDICT = "no verdict"


def _scored(expected: str, found: str, said: str, measures: dict[str, bool]) -> Outcome:
    right = found == expected
    return Outcome(right, said, "" if right else f"{found}, not {expected}", measures)


# ---------------------------------------------------------------- the judge


async def judge_product(case: JudgeCase, bench: Bench, model: CountedModel) -> Outcome:
    """Have the judge look at a result. What the free checks say is a doubt for it, so that it is always asked."""
    job = StagedJob(bench, model, case.input)
    result = Result(
        summary=case.result, content=case.result, confidence=case.confidence, gaps=case.gaps, evidence=case.evidence
    )
    part = Subtask(
        id="part",
        title="The part",
        intent=case.input,
        specialist=next(iter(bench.crew.specialists)),
        done_when=case.done_when,
        critical=True,
    )
    job.plan(Plan(goal=case.input, subtasks=(part,)), stand_ins=False)
    of: dict[str, Any] = {"at": job.now(), "request": REQUEST, "subtask": "part", "attempt": 1}
    found = checks.look(checks.Seen(result, intent=case.input, done_when=case.done_when, evidence=case.evidence))
    job.report_soon(
        ev.AttemptStarted(**of, specialist=part.specialist, tier="balanced"),
        ev.ResultReturned(**of, result=result, doubts=(*found.faults, *found.doubts)),
    )
    effect = job.due("judge")
    if effect is None:
        return _judged(case, "accept", "no judge was asked")
    event: Any = await job.perform(effect)
    if event.verdict == "best_effort":
        return _judged(case, NO_VERDICT, "; ".join(event.faults))
    return _judged(case, "accept" if event.verdict == "accepted" else "revise", "; ".join(event.faults))


async def judge_naively(case: JudgeCase, _bench: Bench, model: CountedModel) -> Outcome:
    """Ask whether a result is right."""
    parts = [f"Task: {case.input}", case.done_when, *case.evidence, f"Result: {case.result}"]
    text = await ask_naively(model, "judge", "\n".join(filter(None, parts)))
    verdict = yes_or_no(text)
    return _judged(case, NO_VERDICT if verdict is None else "accept" if verdict else "revise", text)


def _judged(case: JudgeCase, found: str, said: str) -> Outcome:
    measure = "right results refused" if case.expect == "accept" else "wrong results accepted"
    wrong = "revise" if case.expect == "accept" else "accept"
    return _scored(case.expect, found, said, {measure: found == wrong})


# ---------------------------------------------------------------- the critic


async def critic_product(case: CriticCase, bench: Bench, model: CountedModel) -> Outcome:
    """Have the critic read an answer."""
    job = with_results(bench, model, case.input, case.results, critic=True)
    job.draft(case.answer)
    effect = job.due("critic")
    if effect is None:
        return _read(case, NO_VERDICT, "the critic was not asked")
    event: Any = await job.perform(effect)
    found = "faults" if event.faults else NO_VERDICT if model.errors else "none"
    return _read(case, found, "; ".join(event.faults) or event.doubt)


async def critic_naively(case: CriticCase, _bench: Bench, model: CountedModel) -> Outcome:
    """Ask whether an answer is right."""
    results = [f"{one.by}: {one.failed or one.content}" for one in case.results]
    text = await ask_naively(model, "critic", "\n".join([f"Request: {case.input}", *results, f"Answer: {case.answer}"]))
    verdict = yes_or_no(text)
    return _read(case, NO_VERDICT if verdict is None else "none" if verdict else "faults", text)


def _read(case: CriticCase, found: str, said: str) -> Outcome:
    measure = "right answers faulted" if case.expect == "none" else "wrong answers let pass"
    return _scored(case.expect, found, said, {measure: found == ("faults" if case.expect == "none" else "none")})


# ---------------------------------------------------------------- the arbiter


async def arbiter_product(case: ArbiterCase, bench: Bench, model: CountedModel) -> Outcome:
    """Have the arbiter judge a pair of statements. The one place that knows how it is asked of a single pair."""
    conflict = Conflict(claim="this", sides=(_side("A", case.a), _side("B", case.b)))
    terms = bench.terms.model_copy(update={"roles": {**bench.terms.roles, **bench.crew.roles}})
    call = ModelCall(
        purpose="arbiter",
        system=prompt("arbiter"),
        messages=(ModelMessage(role="user", text=arbiter.describe([conflict], terms.room_of("arbiter")).text),),
        tier=terms.tier_of("arbiter"),
        max_tokens=arbiter.MAX_TOKENS,
        deadline=DEADLINE,
        answer_schema=arbiter.SCHEMA,
    )
    turn = await model.reply(call)
    (judged,) = arbiter.read(turn.text, [conflict])
    return _arbitrated(case, judged.verdict, judged.favours or "none", judged.reason)


async def arbiter_naively(case: ArbiterCase, _bench: Bench, model: CountedModel) -> Outcome:
    """Ask whether two statements contradict each other."""
    said = [
        f"{name}: {one.statement}"
        + (f" (source: {one.source})" if one.source else "")
        + "".join(f"\n  {line}" for line in one.evidence)
        for name, one in (("A", case.a), ("B", case.b))
    ]
    text = await ask_naively(model, "arbiter", "\n".join(said))
    verdict = yes_or_no(text)
    return _arbitrated(case, NO_VERDICT if verdict is None else "contradict" if verdict else "same", "", text)


def _side(name: str, given: Statement) -> Side:
    return Side(subtask=name, statement=given.statement, source=given.source, evidence=given.evidence)


def _arbitrated(case: ArbiterCase, found: str, supported: str, said: str) -> Outcome:
    measure = "harmless pairs called contradictions" if case.expect == "same" else "contradictions called harmless"
    measures = {measure: found == ("contradict" if case.expect == "same" else "same")}
    if case.supported and supported:
        measures["the better supported side named"] = found == case.expect and supported == case.supported
    return _scored(case.expect, found, said, measures)
