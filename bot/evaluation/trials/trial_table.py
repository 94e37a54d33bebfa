"""The table of trials: how the cases of each set are played."""

from __future__ import annotations

from collections.abc import Mapping

from bot.evaluation.outcome import CaseTrial
from bot.evaluation.trials.answer_trials import aggregate, aggregate_naively
from bot.evaluation.trials.contradiction_trials import contradiction_naive, contradiction_product
from bot.evaluation.trials.free_trials import figures_product
from bot.evaluation.trials.hearing_trials import dispatcher_naively, dispatcher_product
from bot.evaluation.trials.plan_trials import plan_naive, plan_product, route_naive, route_product
from bot.evaluation.trials.review_trials import review_naively, review_product
from bot.evaluation.trials.specialist_trials import ask_specialist, ask_specialist_naively
from bot.evaluation.trials.verifier_trials import verify_naively, verify_product

TRIALS: Mapping[str, CaseTrial] = {
    "routing": CaseTrial(route_product, route_naive),
    "planning": CaseTrial(plan_product, plan_naive),
    "specialists": CaseTrial(ask_specialist, ask_specialist_naively),
    "aggregation": CaseTrial(aggregate, aggregate_naively),
    "figures": CaseTrial(figures_product),
    "contradictions": CaseTrial(contradiction_product, contradiction_naive),
    "verifier": CaseTrial(verify_product, verify_naively),
    "dispatcher": CaseTrial(dispatcher_product, dispatcher_naively),
    "reviews": CaseTrial(review_product, review_naively),
}
