"""The table of trials: the functions that play the cases of each set. Includes the trial that calls no model."""

from __future__ import annotations

from collections.abc import Mapping

from bot.evaluation.cases import FiguresCase
from bot.evaluation.counting_model import CountingModel
from bot.evaluation.outcome import CaseOutcome, CaseTrial
from bot.evaluation.staged_job import CaseEnvironment
from bot.evaluation.trials.answer_trials import (
    aggregate_results,
    aggregate_results_naively,
    score_contradiction_check,
    score_contradiction_naively,
    verify_statement,
    verify_statement_naively,
)
from bot.evaluation.trials.message_trials import classify_message, classify_message_naively
from bot.evaluation.trials.plan_trials import plan_request, plan_request_naively, route_request, route_request_naively
from bot.evaluation.trials.specialist_trials import (
    ask_specialist,
    ask_specialist_naively,
    review_change,
    review_change_naively,
)
from handoff.contracts import Result
from handoff.evidence.evidence_check import SourceDocument, check_result


async def check_figures(case: FiguresCase, _environment: CaseEnvironment, _model: CountingModel) -> CaseOutcome:
    """Check a result's figures as the product does when a specialist returns it, and score the remarks."""
    sources = [SourceDocument("a tool", text, is_material=False) for text in case.known]
    remarks = check_result(Result(summary=case.result, content=case.result), sources).faults
    reply = "; ".join(remarks)
    if not case.wrong:
        measures = {"right results doubted": bool(remarks)}
        return CaseOutcome(not remarks, reply, f"it is right: {reply}" if remarks else "", measures)
    has_all_figures = all(any(figure in remark for remark in remarks) for figure in case.wrong)
    measures = {"wrong results found": bool(remarks), "each wrong figure named": has_all_figures}
    return CaseOutcome(bool(remarks), reply, "" if remarks else f"not found: {', '.join(case.wrong)}", measures)


TRIALS: Mapping[str, CaseTrial] = {
    "routing": CaseTrial(route_request, route_request_naively),
    "planning": CaseTrial(plan_request, plan_request_naively),
    "specialists": CaseTrial(ask_specialist, ask_specialist_naively),
    "aggregation": CaseTrial(aggregate_results, aggregate_results_naively),
    "figures": CaseTrial(check_figures),
    "contradictions": CaseTrial(score_contradiction_check, score_contradiction_naively),
    "verifier": CaseTrial(verify_statement, verify_statement_naively),
    "dispatcher": CaseTrial(classify_message, classify_message_naively),
    "reviews": CaseTrial(review_change, review_change_naively),
}
