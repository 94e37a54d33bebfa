"""Trials of routing and planning: the product's planner, with its rules and checks, against one plain prompt."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bot.evaluation.cases import ExpectedPlan, PlanningCase, RoutingCase
from bot.evaluation.counting_model import CountingModel
from bot.evaluation.naive_prompts import call_baseline
from bot.evaluation.outcome import CaseOutcome
from bot.evaluation.staged_job import CaseEnvironment, StagedJob
from bot.supervisor.prompts import parse_json_object
from handoff.engine.plan import MAX_REJECTED_PLANS
from handoff.state.job_state import RequestState
from handoff.text.counts import format_count

NOBODY = "nobody"
ORDER_SIGN = ">"
NO_SUBTASK_LABELS = ("answer", "ask", NOBODY)
"""Labels of decisions by which no specialist gets work."""


@dataclass(frozen=True, slots=True)
class ScoredPart:
    """The parts of a subtask that are scored. `after` has the ids of the subtasks that it depends on."""

    id: str
    specialist: str
    after: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PlanDecision:
    """The decision on a request.

    `reply` is `plan`, one of `NO_SUBTASK_LABELS`, `failed`, or `any` for an empty plan, which may mean any of
    `NO_SUBTASK_LABELS`. `strategy` and `has_missing_parts` are None if the form of the plan has no field for them.
    """

    reply: str
    parts: tuple[ScoredPart, ...] = ()
    strategy: str | None = None
    has_missing_parts: bool | None = None
    reason: str = ""

    @property
    def specialists(self) -> tuple[str, ...]:
        """The specialists that have a subtask, each once."""
        return tuple(dict.fromkeys(part.specialist for part in self.parts))

    def __str__(self) -> str:
        """Render the decision in one line."""
        if not self.parts:
            return f"{self.reply}: {self.reason}" if self.reason else self.reply
        parts = [
            f"{part.specialist}({', '.join(part.after)})" if part.after else part.specialist for part in self.parts
        ]
        return " + ".join(parts) + (f" [{self.strategy}]" if self.strategy not in {None, "merge"} else "")


# ---------------------------------------------------------------- decisions


def extract_decision(request: RequestState, *, has_erred: bool = False) -> PlanDecision:
    """Return the planner's decision from the state of a request.

    A failed request is `failed` if `has_erred` (a call failed, or the model declined) or if too many plans were
    rejected; otherwise it is `nobody`: no specialist can do any part of it.
    """
    run = request.run
    if run.plan is not None and run.plan.subtasks:
        parts = tuple(ScoredPart(one.id, one.specialist, one.after) for one in run.plan.subtasks)
        return PlanDecision("plan", parts, run.plan.strategy, bool(run.plan.missing))
    if run.answer is not None:
        return PlanDecision("answer", has_missing_parts=False, reason=run.answer)
    if request.state == "input_required":
        return PlanDecision("ask", has_missing_parts=False)
    why = run.failure.reason if run.failure else "no plan"
    has_failed = has_erred or run.failure is None or len(run.rejections) >= MAX_REJECTED_PLANS
    return PlanDecision("failed" if has_failed else NOBODY, has_missing_parts=True, reason=why)


def parse_naive_plan(text: str) -> PlanDecision:
    """Parse the plan of the plain prompt, ignoring parts without a specialist. Without a list, it is `failed`."""
    plan_fields = parse_json_object(text)
    entries = plan_fields.get("parts")
    if not isinstance(entries, list):
        return PlanDecision("failed", reason=f"no plan in: {text[:120]}")
    parts = tuple(
        ScoredPart(str(one.get("id")), str(one.get("specialist")), _list_dependencies(one))
        for one in entries
        if _is_part(one)
    )
    return PlanDecision("plan", parts) if parts else PlanDecision("any")


def _is_part(entry: object) -> bool:
    return isinstance(entry, dict) and bool(entry.get("specialist"))


def _list_dependencies(entry: dict[str, object]) -> tuple[str, ...]:
    after = entry.get("after")
    dependencies = after if isinstance(after, list) else [after] if after else []
    return tuple(str(each) for each in dependencies)


async def _run_planner(
    case: RoutingCase | PlanningCase, environment: CaseEnvironment, model: CountingModel
) -> PlanDecision:
    job = StagedJob(environment, model, case.input, case.files)
    await job.play(lambda request: request.run.plan is not None)
    return extract_decision(job.request, has_erred=bool(model.errors) or model.has_refused)


def _write_naive_prompt(case: RoutingCase | PlanningCase, environment: CaseEnvironment) -> str:
    members = [f"- {one.name}: {one.description}" for one in environment.crew.specialists.values()]
    members += [f"- {path}: {inner.about.description}" for path, inner in environment.crew.crews.items()]
    files = f"\nFiles: {', '.join(case.files)}" if case.files else ""
    return "Specialists:\n" + "\n".join(members) + f"\n{files}\nMessage: {case.input}"


# ---------------------------------------------------------------- routing


async def route_request(case: RoutingCase, environment: CaseEnvironment, model: CountingModel) -> CaseOutcome:
    """Have the product decide who gets a request. It is right only if one expected specialist gets it alone."""
    decision = await _run_planner(case, environment, model)
    choice = "+".join(sorted(decision.specialists)) if decision.parts else decision.reply
    includes_expected = bool(set(decision.specialists) & set(case.expect)) or choice in case.expect
    return _score_route(case, choice, str(decision), includes_expected=includes_expected)


async def route_request_naively(case: RoutingCase, environment: CaseEnvironment, model: CountingModel) -> CaseOutcome:
    """Call a plain prompt that asks for the name of a specialist, and score its reply."""
    text = await call_baseline(model, "router", _write_naive_prompt(case, environment))
    names = [*environment.crew.specialists, *environment.crew.crews, *NO_SUBTASK_LABELS]
    match = re.search("|".join(rf"\b{re.escape(name)}\b" for name in names), text, re.IGNORECASE)
    choice = match[0].lower() if match else "none"
    return _score_route(case, choice, text, includes_expected=choice in case.expect)


def _score_route(case: RoutingCase, choice: str, reply: str, *, includes_expected: bool) -> CaseOutcome:
    right = choice in case.expect
    why = "" if right else f"{choice}, not {' or '.join(case.expect)}"
    return CaseOutcome(right, reply, why, {"the right one is among them": includes_expected})


# ---------------------------------------------------------------- planning


async def plan_request(case: PlanningCase, environment: CaseEnvironment, model: CountingModel) -> CaseOutcome:
    """Have the product plan a request, and score the plan."""
    return _score_plan(case.expect, await _run_planner(case, environment, model))


async def plan_request_naively(case: PlanningCase, environment: CaseEnvironment, model: CountingModel) -> CaseOutcome:
    """Call a plain prompt that asks for a plan, and score the plan."""
    return _score_plan(
        case.expect, parse_naive_plan(await call_baseline(model, "planner", _write_naive_prompt(case, environment)))
    )


def _score_plan(expected: ExpectedPlan, decision: PlanDecision) -> CaseOutcome:
    faults = list(_find_plan_faults(expected, decision))
    expected_names = {one for one in (*expected.must, *expected.may) if ORDER_SIGN not in one}
    extra = sorted(set(decision.specialists) - expected_names)
    clean = not faults and not extra
    return CaseOutcome(not faults, str(decision), "; ".join(faults), {"clean: nothing but what was asked for": clean})


def _find_plan_faults(expected: ExpectedPlan, decision: PlanDecision) -> Iterator[str]:
    """Yield the faults that make a plan wrong."""
    if decision.reply == "failed":
        yield f"no plan: {decision.reason}"
        return
    reply = "plan" if decision.reply == NOBODY else decision.reply
    if reply not in expected.reply and not (reply == "any" and _may_be_empty(expected)):
        yield f"it is {decision.reply}, not {' or '.join(expected.reply)}"
        return
    if reply != "plan":
        return
    for one in expected.must:
        if ORDER_SIGN in one:
            yield from _find_order_faults(one, decision.parts)
        elif one not in decision.specialists:
            yield f"no part for {one}"
    yield from (f"a part for {one}" for one in expected.must_not if one in decision.specialists)
    least, most = expected.parts
    if not least <= len(decision.parts) <= most:
        yield f"{format_count(len(decision.parts), 'part')}, not {least} to {most}"
    if decision.strategy is not None and len(decision.parts) > 1 and decision.strategy not in expected.strategy:
        yield f"strategy {decision.strategy}"
    if None not in {expected.missing, decision.has_missing_parts} and expected.missing != decision.has_missing_parts:
        yield "it does not say what nobody can do" if expected.missing else "it says that nobody can do a part"


def _may_be_empty(expected: ExpectedPlan) -> bool:
    return expected.reply != ("plan",) or (expected.parts[0] == 0 and not expected.must)


def _find_order_faults(order: str, parts: Sequence[ScoredPart]) -> Iterator[str]:
    first, second = (name.strip() for name in order.split(ORDER_SIGN))
    by_id = {part.id: part for part in parts}
    if not any(_builds_on(part, first, by_id) for part in parts if part.specialist == second):
        yield f"no part of {second} builds on one of {first}"


def _builds_on(part: ScoredPart, specialist: str, by_id: dict[str, ScoredPart]) -> bool:
    seen_ids: set[str] = set()
    open_ids = list(part.after)
    while open_ids:
        other = by_id.get(name := open_ids.pop())
        if other is None or name in seen_ids:
            continue
        seen_ids.add(name)
        if other.specialist == specialist:
            return True
        open_ids += other.after
    return False
